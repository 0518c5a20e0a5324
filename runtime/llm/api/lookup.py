"""Finds the embedding model that a request names."""

import asyncio
from typing import Final

from runtime.llm.errors import ModelNotFound
from runtime.llm.models.catalog import Entry
from runtime.llm.service import Service
from runtime.llm.values import SYSTEM_MODEL
from runtime.web.errors import BadField

HOW_TO_GET_ONE: Final = "python -m runtime.llm pull minilm"


async def embedding_model(service: Service, model: str) -> Entry:
    """The embedding model of that id. Raises `BadField` for a blank one, else `ModelNotFound`."""
    wanted = model.strip()
    if not wanted:
        raise BadField("model: must not be blank", param="model")
    return await asyncio.to_thread(_find, service, wanted)


def embedding_models(service: Service) -> list[Entry]:
    """Every embedding model on disk; call it off the event loop."""
    catalog = service.catalog
    return [entry for entry in catalog.entries() if catalog.meta(entry).kind == "embedding"]


def _find(service: Service, wanted: str) -> Entry:
    entry = service.catalog.find(wanted)
    if entry is not None and service.catalog.meta(entry).kind == "embedding":
        return entry
    if entry is not None or wanted == SYSTEM_MODEL:
        raise ModelNotFound(f"this is a chat model, it makes no embeddings; {_advice(service)}")
    raise ModelNotFound(f"there is no such model on this machine; {_advice(service)}")


def _advice(service: Service) -> str:
    if embedding_models(service):
        return "GET /v1/models lists those of the kind embedding"
    return f"no embedding model is installed: {HOW_TO_GET_ONE} brings one"
