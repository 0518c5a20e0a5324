"""The list of models, and the search for a request's embedding model."""

import asyncio
import time
from pathlib import Path
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from runtime.llm.engine.pool import choose_budget
from runtime.llm.errors import ModelNotFound
from runtime.llm.inference import SYSTEM_MODEL
from runtime.llm.models.catalog import Entry
from runtime.llm.models.gguf import TemplateSource
from runtime.llm.models.system.providers import BUNDLED
from runtime.llm.models.upstreams.fleet import Served
from runtime.llm.models.upstreams.forwarding import VIA
from runtime.llm.service import SERVICE, Service
from runtime.llm.settings import PROGRAM
from runtime.web.errors import BadField
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

INSTALL_COMMAND: Final = f"{PROGRAM} pull minilm"
NO_EMBEDDING_MODEL: Final = (
    f"No embedding model is installed; embeddings and documents need one: {INSTALL_COMMAND}"
)
DEMONSTRATION: Final = "a small demonstration that knows track driving and little else"
FRESH_S: Final = 0.05
"""How long an embedding model is not looked up again: a look at the disk costs more than the rest
of a small request."""
routes = Routes("models")


class UpstreamPlace(Wire):
    """An upstream that serves a model."""

    url: str
    state: Literal["up", "down"]


class ModelMeta(Wire):
    """Facts about a model that need no loading."""

    kind: Literal["chat", "embedding"]
    size: int | None = absent("bytes on disk")
    n_ctx_train: int | None = absent("context in tokens that the model was trained with")
    n_ctx: int | None = absent("token budget of prompt and reply")
    chat_template: TemplateSource | None = absent(
        "of a chat model: from its file, from the catalog, plain ChatML if the file has none, or"
        " none for a base model, which gets chats as transcripts"
    )
    n_params: int | None = absent()
    quant: str | None = absent("type of most weights")
    loaded: bool = Field(description="in memory; of an upstream's model: its upstream is up")
    upstreams: list[UpstreamPlace] | None = absent("where the model runs, if not on this machine")
    selected: bool = Field(description="answers requests that name no model")
    note: str | None = absent("a remark for users of the model")


class ModelEntry(Wire):
    """A model that requests can name by its id."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    meta: ModelMeta


class ModelList(Wire):
    """All models that requests can name."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]
    hints: list[str] | None = absent(
        "what is missing on this machine, and the command that installs it"
    )


class ModelPath(Wire):
    """The id of a model."""

    id: str


@routes.get("/v1/models")
async def list_models(request: web.Request) -> ModelList:
    """List the model files on disk, the built-in system model and the models of upstreams."""
    entries = await _list_entries(request)
    embedding = any(entry.meta.kind == "embedding" for entry in entries)
    return ModelList(data=entries, hints=None if embedding else [NO_EMBEDDING_MODEL])


@routes.get("/v1/models/{id:.+}", errors=(ModelNotFound,))
async def one_model(request: web.Request, *, path: ModelPath) -> ModelEntry:
    """Show one model of the list."""
    for entry in await _list_entries(request):
        if entry.id == path.id:
            return entry
    raise ModelNotFound("this machine has no such model; GET /v1/models lists its models")


async def _list_entries(request: web.Request) -> list[ModelEntry]:
    """This machine's models, and those of upstreams unless another Paddock server asks."""
    service = request.app[SERVICE]
    entries = await asyncio.to_thread(_list_local, service)
    if VIA in request.headers.get("Via", ""):
        return entries
    own = {entry.id for entry in entries}
    served = service.upstreams.models().items()
    return [*entries, *(_upstream_entry(service, id_, it) for id_, it in served if id_ not in own)]


def _upstream_entry(service: Service, model: str, served: Served) -> ModelEntry:
    places = [
        UpstreamPlace(url=upstream.url, state="up" if upstream.up else "down")
        for upstream in service.upstreams.serving(model)
    ]
    return ModelEntry(
        id=model,
        created=served.created or int(service.started),
        owned_by="upstream",
        meta=ModelMeta(
            kind=served.kind,
            n_ctx=served.n_ctx,
            loaded=any(place.state == "up" for place in places),
            selected=model == service.settings.selected_model_id,
            upstreams=places,
        ),
    )


def _list_local(service: Service) -> list[ModelEntry]:
    entries = [_local_entry(service, entry) for entry in service.catalog.entries()]
    return [*entries, _system_entry(service)]


def _local_entry(service: Service, entry: Entry) -> ModelEntry:
    meta = service.catalog.meta(entry)
    return ModelEntry(
        id=entry.id,
        created=entry.created,
        owned_by="local",
        meta=ModelMeta(
            **vars(meta) | {"note": meta.note or _note(entry.path)},
            n_ctx=choose_budget(entry, meta.n_ctx_train or 0, service.settings.default_context)
            if meta.kind == "chat"
            else None,
            loaded=service.pool.is_loaded(entry.id),
            selected=entry.id == service.settings.selected_model_id,
        ),
    )


def _system_entry(service: Service) -> ModelEntry:
    last = service.probing.last
    return ModelEntry(
        id=SYSTEM_MODEL,
        created=int(service.started),
        owned_by="sysmodel",
        meta=ModelMeta(
            kind="chat",
            loaded=last is not None and last.code == 3,
            selected=service.settings.selected_model_id == SYSTEM_MODEL,
            note=_note(service.provider.path),
        ),
    )


def _note(model: Path | None) -> str | None:
    return DEMONSTRATION if model == BUNDLED else None


async def find_embedding_model(service: Service, model: str) -> Entry:
    """Find the embedding model with this id, as it was on disk at most `FRESH_S` ago.

    Raises `BadField` for a blank id, else `ModelNotFound`.
    """
    wanted = model.strip()
    if not wanted:
        raise BadField("model: must not be blank", param="model")
    entry, until = service.recent.get(wanted, (None, 0.0))
    if entry is None or until <= time.monotonic():
        if entry is not None:  # concurrent requests need not look it up too
            service.recent[wanted] = entry, time.monotonic() + FRESH_S
        try:
            entry = await asyncio.to_thread(_find, service, wanted)
        except ModelNotFound:
            service.recent.pop(wanted, None)
            raise
        service.recent[wanted] = entry, time.monotonic() + FRESH_S
    return entry


def _find(service: Service, wanted: str) -> Entry:
    entry = service.catalog.find(wanted)
    if entry is not None and service.catalog.meta(entry).kind == "embedding":
        return entry
    if entry is not None or wanted == SYSTEM_MODEL:
        raise ModelNotFound(f"this is a chat model, which makes no embeddings; {_advice(service)}")
    raise ModelNotFound(f"this machine has no such model; {_advice(service)}")


def _advice(service: Service) -> str:
    catalog = service.catalog
    if any(catalog.meta(entry).kind == "embedding" for entry in catalog.entries()):
        return "GET /v1/models lists the embedding models"
    return f"no embedding model is installed: {INSTALL_COMMAND} installs one"
