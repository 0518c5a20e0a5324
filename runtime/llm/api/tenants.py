"""Who has stored documents, and deleting all of a tenant's."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.llm.api.tenancy import HEADERS, TENANT, check_encoding, guarded, resolve
from runtime.llm.documents.values import StoreFailed
from runtime.llm.errors import ApiFailure
from runtime.llm.identity import named_tenant
from runtime.llm.service import SERVICE, Service
from runtime.web.errors import BadRequest, Forbidden
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("tenants")


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


@routes.get("/v1/tenants", before=resolve, headers=HEADERS, errors=(StoreFailed, ApiFailure))
@guarded
async def list_tenants(request: web.Request) -> TenantList:
    """List every tenant with documents; only the own one where the setting tenant_admin says so."""
    service = request.app[SERVICE]
    found = await service.documents.tenants()
    return TenantList(
        data=[
            TenantRecord(
                tenant_id=tenant.tenant,
                document_count=tenant.documents,
                chunk_count=tenant.chunks,
            )
            for tenant in found
            if tenant.tenant == request[TENANT] or _may_manage(service)
        ]
    )


@routes.delete(
    "/v1/tenants/{tenantId}",
    before=resolve,
    headers=HEADERS,
    errors=(Forbidden, StoreFailed, ApiFailure),
)
@guarded
async def delete_tenant(request: web.Request, *, path: TenantPath) -> TenantDeleted:
    """Delete every document of a tenant."""
    service = request.app[SERVICE]
    check_encoding(request)
    tenant = named_tenant(path.tenant)
    if tenant is None:
        raise BadRequest("the tenant must not be blank", param="tenant")
    if tenant != request[TENANT] and not _may_manage(service):
        raise Forbidden("deleting the documents of another tenant needs a server with an api_key")
    removed = await service.documents.delete_tenant(tenant)
    return TenantDeleted(tenant_id=tenant, deleted=removed > 0, chunks_removed=removed)


def _may_manage(service: Service) -> bool:
    """Whether requests may see and delete other tenants; with a key, each of them carried it."""
    settings = service.settings
    return settings.tenant_admin == "open" or bool(settings.api_key.get_secret_value().strip())
