"""The tenant of a request, and routes that list tenants and delete their documents."""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import unquote

from aiohttp import web
from pydantic import Field

from runtime.llm.documents.document import StoreFailed
from runtime.llm.errors import ApiFailure
from runtime.llm.identity import escape_header, is_plain_text, parse_tenant, tenant_id
from runtime.llm.service import SERVICE, Service
from runtime.web.errors import BadRequest, Forbidden
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("tenants")
TENANT: Final = web.RequestKey("tenant", str)
"""The tenant of a request, set once its key has been accepted."""
HEADERS: Final[Mapping[str, str]] = {
    "X-Tenant-Id": "the tenant, from the request's X-Client-Id or User-Agent; percent-encoded UTF-8"
}
UNREACHABLE: Final = (".", "..")
"""Names that most clients resolve as folders in a path, however they are encoded."""


def check_encoding(request: web.Request) -> None:
    """Raise `BadRequest` for a path that is not UTF-8: decoded, it would name another id.

    ``%ff`` would be read as the three characters that ``%25ff`` encodes.
    """
    try:
        unquote(request.raw_path.partition("?")[0], errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequest("the path is not percent-encoded UTF-8") from error


async def resolve(request: web.Request) -> None:
    """Set the tenant of the request before its body is read."""
    headers = request.headers
    request[TENANT] = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    request.app[SERVICE].touch()


async def touch(request: web.Request) -> None:
    """Note that the server is used, for routes without a tenant."""
    request.app[SERVICE].touch()


async def sign(request: web.Request, response: web.StreamResponse) -> None:
    """Report the tenant in a header, on errors too."""
    if (tenant := request.get(TENANT)) is not None:
        response.headers["X-Tenant-Id"] = escape_header(tenant)


class TenantRecord(Wire):
    """A tenant that has documents."""

    tenant_id: str
    document_count: int
    chunk_count: int


class TenantList(Wire):
    """Tenants in order of their ids."""

    object: Literal["list"] = "list"
    data: list[TenantRecord]


class TenantPath(Wire):
    """The id of a tenant, percent-encoded."""

    tenant: str = Field(alias="tenantId")


class TenantDeleted(Wire):
    """Result of a deletion; deleting nothing is not an error."""

    tenant_id: str
    deleted: bool
    chunks_removed: int


@routes.get(
    "/v1/tenants",
    before=resolve,
    headers=HEADERS,
    errors=(StoreFailed, ApiFailure),
    failure=ApiFailure,
)
async def list_tenants(request: web.Request) -> TenantList:
    """List the tenants with documents, or only the caller's if tenant_admin requires a key."""
    service = request.app[SERVICE]
    return TenantList(
        data=[
            TenantRecord(tenant_id=name, document_count=documents, chunk_count=chunks)
            for name, documents, chunks in await service.documents.tenants()
            if name == request[TENANT] or _may_manage(service)
        ]
    )


@routes.delete(
    "/v1/tenants/{tenantId}",
    before=resolve,
    headers=HEADERS,
    errors=(Forbidden, StoreFailed, ApiFailure),
    failure=ApiFailure,
)
async def delete_tenant(request: web.Request, *, path: TenantPath) -> TenantDeleted:
    """Delete every document of a tenant."""
    service = request.app[SERVICE]
    check_encoding(request)
    tenant = parse_tenant(path.tenant)
    if tenant is None or not is_plain_text(path.tenant):
        raise BadRequest(
            "the tenant must not be blank or contain control characters", param="tenant"
        )
    if tenant != request[TENANT] and not _may_manage(service):
        raise Forbidden("deleting another tenant's documents requires a server with an api_key")
    removed = await service.documents.delete_tenant(tenant)
    return TenantDeleted(tenant_id=tenant, deleted=removed > 0, chunks_removed=removed)


def _may_manage(service: Service) -> bool:
    """Whether requests may list and delete other tenants; if a key is set, they have sent it."""
    settings = service.settings
    return settings.tenant_admin == "open" or bool(settings.api_key.get_secret_value().strip())
