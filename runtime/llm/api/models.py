"""The list of models, and the embedding model that a request names."""

import asyncio
import time
from pathlib import Path
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from runtime.llm.engine.pool import model_budget
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

HOW_TO_GET_ONE: Final = f"{PROGRAM} pull minilm"
NO_EMBEDDING_MODEL: Final = (
    f"No embedding model is installed, so embeddings and documents wait: {HOW_TO_GET_ONE}"
)
DEMONSTRATION: Final = "a small demonstration that knows driving on a track and little else"
FRESH_S: Final = 0.05
"""How long an embedding model that was found is not looked for again: a look at the disk costs more
than the rest of a small request."""
routes = Routes("models")


class UpstreamPlace(Wire):
    """An upstream that serves a model."""

    url: str
    state: Literal["up", "down"]


class ModelMeta(Wire):
    """What is known of a model without loading it."""

    kind: Literal["chat", "embedding"]
    size: int | None = absent("bytes on disk")
    n_ctx_train: int | None = absent("tokens of context that it was trained with")
    n_ctx: int | None = absent("tokens of prompt and reply that it is served with")
    chat_template: TemplateSource | None = absent(
        "of a chat model: its file's, given by the catalog, plain ChatML since the file has none,"
        " or none: a base model, which gets a chat as a transcript"
    )
    n_params: int | None = absent()
    quant: str | None = absent("type of most weights")
    loaded: bool = Field(description="in memory; of an upstream's model: one that serves it is up")
    upstreams: list[UpstreamPlace] | None = absent("where it runs, if not on this machine")
    selected: bool = Field(description="answers the requests that name no model")
    note: str | None = absent("what to know of it before it is asked")


class ModelEntry(Wire):
    """A model that can be asked by its id."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str
    meta: ModelMeta


class ModelList(Wire):
    """Every model that can be asked."""

    object: Literal["list"] = "list"
    data: list[ModelEntry]
    hints: list[str] | None = absent("what this machine lacks, and the command that brings it")


class ModelPath(Wire):
    """The id of a model."""

    id: str


@routes.get("/v1/models")
async def list_models(request: web.Request) -> ModelList:
    """List the model files on disk, the built-in system model, then those of upstreams."""
    entries = await _every_entry(request)
    embedding = any(entry.meta.kind == "embedding" for entry in entries)
    return ModelList(data=entries, hints=None if embedding else [NO_EMBEDDING_MODEL])


@routes.get("/v1/models/{id:.+}", errors=(ModelNotFound,))
async def one_model(request: web.Request, *, path: ModelPath) -> ModelEntry:
    """One model of the list."""
    for entry in await _every_entry(request):
        if entry.id == path.id:
            return entry
    raise ModelNotFound("this machine has no such model; GET /v1/models lists those it has")


async def _every_entry(request: web.Request) -> list[ModelEntry]:
    """This machine's models and, unless a server of this kind asks, what upstreams have besides."""
    service = request.app[SERVICE]
    entries = await asyncio.to_thread(_entries, service)
    if VIA in request.headers.get("Via", ""):
        return entries
    own = {entry.id for entry in entries}
    served = service.upstreams.models().items()
    return [*entries, *(_elsewhere(service, id_, it) for id_, it in served if id_ not in own)]


def _elsewhere(service: Service, model: str, served: Served) -> ModelEntry:
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


def _entries(service: Service) -> list[ModelEntry]:
    listed = [_local(service, entry) for entry in service.catalog.entries()]
    return [*listed, _system(service)]


def _local(service: Service, entry: Entry) -> ModelEntry:
    meta = service.catalog.meta(entry)
    return ModelEntry(
        id=entry.id,
        created=entry.created,
        owned_by="local",
        meta=ModelMeta(
            **vars(meta) | {"note": meta.note or _note(entry.path)},
            n_ctx=model_budget(entry, meta.n_ctx_train or 0, service.settings.default_context)
            if meta.kind == "chat"
            else None,
            loaded=service.pool.is_loaded(entry.id),
            selected=entry.id == service.settings.selected_model_id,
        ),
    )


def _system(service: Service) -> ModelEntry:
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


async def embedding_model(service: Service, model: str) -> Entry:
    """The embedding model of that id, as it was on the disk at most `FRESH_S` ago.

    Raises `BadField` for a blank id, else `ModelNotFound`.
    """
    wanted = model.strip()
    if not wanted:
        raise BadField("model: must not be blank", param="model")
    entry, until = service.found.get(wanted, (None, 0.0))
    if entry is None or until <= time.monotonic():
        if entry is not None:  # those who ask meanwhile need not look as well
            service.found[wanted] = entry, time.monotonic() + FRESH_S
        try:
            entry = await asyncio.to_thread(_find, service, wanted)
        except ModelNotFound:
            service.found.pop(wanted, None)
            raise
        service.found[wanted] = entry, time.monotonic() + FRESH_S
    return entry


def _find(service: Service, wanted: str) -> Entry:
    entry = service.catalog.find(wanted)
    if entry is not None and service.catalog.meta(entry).kind == "embedding":
        return entry
    if entry is not None or wanted == SYSTEM_MODEL:
        raise ModelNotFound(f"this is a chat model, it makes no embeddings; {_advice(service)}")
    raise ModelNotFound(f"there is no such model on this machine; {_advice(service)}")


def _advice(service: Service) -> str:
    catalog = service.catalog
    if any(catalog.meta(entry).kind == "embedding" for entry in catalog.entries()):
        return "GET /v1/models lists those of the kind embedding"
    return f"no embedding model is installed: {HOW_TO_GET_ONE} brings one"
