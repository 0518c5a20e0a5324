"""The tenant of a request; who has stored documents, and deleting all of a tenant's."""

from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import unquote

from aiohttp import web
from pydantic import Field

from runtime.llm.documents.document import StoreFailed
from runtime.llm.errors import ApiFailure
from runtime.llm.identity import header_safe, named_tenant, plain_text, tenant_id
from runtime.llm.service import SERVICE, Service
from runtime.web.errors import BadRequest, Forbidden
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("tenants")
TENANT: Final = web.RequestKey("tenant", str)
"""The tenant of a request, set once its key was good."""
HEADERS: Final[Mapping[str, str]] = {
    "X-Tenant-Id": "the tenant, from the request's X-Client-Id or User-Agent; percent-encoded UTF-8"
}
UNREACHABLE: Final = (".", "..")
"""Names that most clients resolve as folders when they stand in a path, however encoded."""


def check_encoding(request: web.Request) -> None:
    """Raise `BadRequest` for a path that is not UTF-8: once decoded, it would name another id.

    ``%ff`` would be taken for the three characters that ``%25ff`` stands for.
    """
    try:
        unquote(request.raw_path.partition("?")[0], errors="strict")
    except UnicodeDecodeError as error:
        raise BadRequest("the path is not percent-encoded UTF-8") from error


async def resolve(request: web.Request) -> None:
    """Set the tenant of the request; runs before its body is read."""
    headers = request.headers
    request[TENANT] = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    request.app[SERVICE].touch()


async def touch(request: web.Request) -> None:
    """Note that somebody uses the server; for routes that know no tenant."""
    request.app[SERVICE].touch()


async def sign(request: web.Request, response: web.StreamResponse) -> None:
    """Let the client see its tenant, on errors too."""
    if (tenant := request.get(TENANT)) is not None:
        response.headers["X-Tenant-Id"] = header_safe(tenant)


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
    """What was deleted; nothing is no error."""

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
    """List every tenant with documents; only the own one where the setting tenant_admin says so."""
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
    tenant = named_tenant(path.tenant)
    if tenant is None or not plain_text(path.tenant):
        raise BadRequest("the tenant must be a name without control characters", param="tenant")
    if tenant != request[TENANT] and not _may_manage(service):
        raise Forbidden("deleting the documents of another tenant needs a server with an api_key")
    removed = await service.documents.delete_tenant(tenant)
    return TenantDeleted(tenant_id=tenant, deleted=removed > 0, chunks_removed=removed)


def _may_manage(service: Service) -> bool:
    """Whether requests may see and delete other tenants; with a key, each of them carried it."""
    settings = service.settings
    return settings.tenant_admin == "open" or bool(settings.api_key.get_secret_value().strip())
