"""Routes of the document store: each request sees only the documents of its own tenant."""

import json
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import (
    AliasChoices,
    Field,
    JsonValue,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
)

from runtime.llm.api.models import find_embedding_model
from runtime.llm.api.tenants import (
    HEADERS,
    TENANT,
    UNREACHABLE,
    check_encoding,
    resolve,
)
from runtime.llm.api.wire import Clamped
from runtime.llm.documents.document import (
    WIDTH,
    NewDocument,
    StoreFailed,
    StoreFull,
    StoreLimit,
    Where,
    dump_metadata,
    hash_document,
    read_heading,
)
from runtime.llm.documents.store import TenantDocuments
from runtime.llm.errors import ApiFailure, EmbedBusy, EmbedFailed, ModelNotFound
from runtime.llm.identity import identify_client, is_plain_text
from runtime.llm.models.catalog import Entry
from runtime.llm.service import SERVICE, Service, body_cap
from runtime.web.errors import BadField, BadRequest, TooLarge
from runtime.web.routes import Routes
from runtime.web.wire import Wire

MAX_NAME: Final = 256
MAX_METADATA: Final = 64 * 1024
MAX_HITS: Final = 50
MAX_FILTERS: Final = 32
MAX_IDS: Final = 1000
EMBEDDING_ERRORS: Final = (ModelNotFound, EmbedBusy, EmbedFailed, ApiFailure)
STORE_ERRORS: Final = (StoreFailed, ApiFailure)
routes = Routes("documents")

Name = Annotated[StrictStr, Field(max_length=MAX_NAME)]
FilterValue = StrictStr | bool | StrictInt | StrictFloat | None


class DocumentRequest(Wire):
    """A document to store; unknown fields are ignored."""

    id: StrictStr = Field(description="1 to 256 characters; an existing document is replaced")
    text: StrictStr = Field(description="cut into chunks of about 400 characters, each embedded")
    model: Name = Field(description="an embedding model of GET /v1/models with 384 dimensions")
    metadata: JsonValue = Field(None, description="stored with every chunk, at most 64 KiB as JSON")


class DocumentUsage(Wire):
    """Tokens of all chunks."""

    prompt_tokens: int


class DocumentAnswer(Wire):
    """Summary of the stored document."""

    document_id: str
    chunk_count: int
    model: str
    tenant_id: str
    replaced: bool = Field(description="whether it replaced a document with this id")
    usage: DocumentUsage


class DocumentRecord(Wire):
    """A stored document."""

    document_id: str
    chunk_count: int
    model: str
    tenant_id: str
    created: int = Field(description="Unix seconds of the last write")
    chars: int
    digest: str = Field(description="SHA-256 of text, metadata and model, to detect changes")


class DocumentPage(Wire):
    """Documents in order of their ids."""

    object: Literal["list"] = "list"
    data: list[DocumentRecord]
    tenant_id: str
    has_more: bool


class DocumentsQuery(Wire):
    """Which documents to list; all if there is no limit."""

    limit: Annotated[int, Field(ge=1, le=1000)] | None = None
    after: str | None = Field(None, max_length=MAX_NAME, description="list the ids after this one")


class DocumentPath(Wire):
    """The id of a document, percent-encoded."""

    id: str


class DocumentDeleted(Wire):
    """Result of a deletion; deleting nothing is not an error."""

    document_id: str
    deleted: bool
    chunks_removed: int
    tenant_id: str


class SearchRequest(Wire):
    """A search for chunks of documents; unknown fields are ignored."""

    query: StrictStr
    model: Name = Field(description="the embedding model that the documents were stored with")
    k: Clamped | None = Field(
        None,
        validation_alias=AliasChoices("k", "top_k", "limit"),
        description="number of chunks, 1 to 50; default: 5; also accepted as top_k or limit",
    )
    min_score: Annotated[StrictFloat | StrictInt, Field(ge=-1, le=1)] | None = Field(
        None, description="omit chunks that are less similar"
    )
    document_ids: Annotated[list[StrictStr], Field(max_length=MAX_IDS)] | None = Field(
        None, description="search only these documents"
    )
    filter: Annotated[dict[str, FilterValue], Field(max_length=MAX_FILTERS)] | None = Field(
        None,
        description="top-level metadata keys and the values that they must have; "
        "null: the key exists and is null",
    )

    @field_validator("filter", mode="before")
    @classmethod
    def _filter_is_flat(cls, value: object) -> object:
        """Report one clear error, which the union of types does not."""
        if value is None or isinstance(value, dict):
            values = value.values() if isinstance(value, dict) else ()
            if all(item is None or isinstance(item, str | int | float) for item in values):
                return value
        raise ValueError("must be an object with texts, numbers, true, false or null as values")


class SearchHit(Wire):
    """A matching chunk."""

    document_id: str
    chunk_index: int
    text: str
    score: float = Field(description="cosine similarity, -1 to 1")
    metadata: JsonValue


class SearchAnswer(Wire):
    """Matching chunks, the most similar first."""

    object: Literal["list"] = "list"
    data: list[SearchHit]
    model: str
    tenant_id: str


def document_cap(app: web.Application) -> int:
    """Maximum bytes of a body with a document."""
    return app[SERVICE].settings.document_body_cap


@routes.post(
    "/v1/documents",
    before=resolve,
    body_cap=document_cap,
    headers=HEADERS,
    errors=(*EMBEDDING_ERRORS, StoreFailed, StoreFull, StoreLimit, TooLarge),
    failure=ApiFailure,
)
async def add_document(request: web.Request, *, body: DocumentRequest) -> DocumentAnswer:
    """Store a document, replacing one with the same id."""
    service, tenant = request.app[SERVICE], request[TENANT]
    name = _check_id(body.id)
    if tenant in UNREACHABLE:
        raise BadRequest(f"the tenant name {tenant} is not allowed; send another X-Client-Id")
    if not body.text.strip():
        raise BadField("text: must not be blank", param="text")
    if len(body.text) > service.settings.document_chars:
        limit = service.settings.document_chars
        raise TooLarge(f"the text has more than {limit} characters", param="text")
    metadata = _dump_metadata(body.metadata)
    heading = read_heading(body.metadata)
    entry = await _find_model(service, body.model)
    with service.awake.hold():
        client = identify_client(request.headers, request.remote)
        passages = await service.embedder.passages(entry, body.text, heading, client=client)
        replaced = await service.documents.for_tenant(tenant).replace(
            NewDocument(
                id=name,
                model=entry.id,
                texts=passages.texts,
                vectors=passages.vectors.data,
                metadata=metadata,
                digest=hash_document(body.text, metadata, entry.id, heading),
                chars=len(body.text),
            )
        )
    return DocumentAnswer(
        document_id=name,
        chunk_count=len(passages.texts),
        model=entry.id,
        tenant_id=tenant,
        replaced=replaced,
        usage=DocumentUsage(prompt_tokens=passages.vectors.tokens),
    )


@routes.get(
    "/v1/documents",
    before=resolve,
    headers=HEADERS,
    errors=STORE_ERRORS,
    failure=ApiFailure,
)
async def list_documents(request: web.Request, *, query: DocumentsQuery) -> DocumentPage:
    """List the tenant's documents."""
    tenant = request[TENANT]
    page = await _open_documents(request).documents(limit=query.limit, after=query.after)
    return DocumentPage(
        data=[
            DocumentRecord(**(vars(info) | {"document_id": info.id, "tenant_id": tenant}))
            for info in page.documents
        ],
        tenant_id=tenant,
        has_more=page.more,
    )


@routes.delete(
    "/v1/documents/{id}",
    before=resolve,
    headers=HEADERS,
    errors=STORE_ERRORS,
    failure=ApiFailure,
)
async def delete_document(request: web.Request, *, path: DocumentPath) -> DocumentDeleted:
    """Delete a document of the tenant."""
    check_encoding(request)
    name = path.id.strip()
    if not name:
        raise BadRequest("the id must not be blank", param="id")
    removed = await _open_documents(request).delete(name)
    return DocumentDeleted(
        document_id=name,
        deleted=removed > 0,
        chunks_removed=removed,
        tenant_id=request[TENANT],
    )


@routes.post(
    "/v1/search",
    before=resolve,
    body_cap=body_cap,
    headers=HEADERS,
    errors=(*EMBEDDING_ERRORS, StoreFailed, TooLarge),
    failure=ApiFailure,
)
async def search(request: web.Request, *, body: SearchRequest) -> SearchAnswer:
    """Find the tenant's chunks that are most similar to a text."""
    service = request.app[SERVICE]
    if not body.query.strip():
        raise BadField("query: must not be blank", param="query")
    if len(body.query) > service.settings.max_prompt_chars:
        limit = service.settings.max_prompt_chars
        raise TooLarge(f"the query has more than {limit} characters", param="query")
    entry = await _find_model(service, body.model)
    with service.awake.hold():
        client = identify_client(request.headers, request.remote)
        vectors = await service.embedder.embed(entry, [body.query], "query", client=client)
        hits = await _open_documents(request).search(
            vectors.row(0),
            entry.id,
            5 if body.k is None else min(max(body.k, 1), MAX_HITS),
            Where(
                document_ids=None if body.document_ids is None else frozenset(body.document_ids),
                equal=body.filter or {},
                min_score=body.min_score,
            ),
        )
    data = [
        SearchHit(**(vars(hit) | {"metadata": json.loads(hit.metadata) if hit.metadata else None}))
        for hit in hits
    ]
    return SearchAnswer(data=data, model=entry.id, tenant_id=request[TENANT])


async def _find_model(service: Service, model: str) -> Entry:
    """Find an embedding model whose vectors fit the store. Raises `BadField`, `ModelNotFound`."""
    entry = await find_embedding_model(service, model)
    width = await service.embedder.width(entry)
    if width != WIDTH:
        raise BadField(
            f"model: its vectors have {width} dimensions; the store requires {WIDTH}", param="model"
        )
    return entry


def _open_documents(request: web.Request) -> TenantDocuments:
    return request.app[SERVICE].documents.for_tenant(request[TENANT])


def _check_id(text: str) -> str:
    name = text.strip()
    if not name:
        raise BadField("id: must not be blank", param="id")
    if name in UNREACHABLE:
        raise BadField(
            f"id: {name} is not allowed, because clients resolve it as a folder", param="id"
        )
    if len(name) > MAX_NAME or not is_plain_text(name):
        raise BadField(f"id: at most {MAX_NAME} characters, no control characters", param="id")
    return name


def _dump_metadata(metadata: object) -> str | None:
    """The metadata as JSON text. Raises `BadField`, `TooLarge`."""
    try:
        text = dump_metadata(metadata)
    except ValueError as error:
        raise BadField("metadata: contains a number that JSON cannot represent") from error
    if text is not None and len(text.encode()) > MAX_METADATA:
        raise TooLarge(f"the metadata has more than {MAX_METADATA} bytes", param="metadata")
    return text
