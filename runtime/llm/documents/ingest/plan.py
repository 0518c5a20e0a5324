"""Works out what has to change so that a tenant holds exactly a course's chunks; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from runtime.llm.documents.digest import digest_of, metadata_text
from runtime.llm.documents.heading import LESSON, heading_of
from runtime.llm.documents.ingest.corpus import Chunk

PREFIX: Final = "lesson/"
"""Begins the id of every document that comes from a course; others in the tenant are let alone."""

JsonObject = dict[str, str]


@dataclass(frozen=True)
class Wanted:
    """A document that should be in the store."""

    id: str
    text: str
    metadata: JsonObject
    digest: str


@dataclass(frozen=True)
class Plan:
    """What has to be done; each part in order of the ids."""

    write: tuple[Wanted, ...]
    remove: tuple[str, ...]
    unchanged: int


def wanted(chunks: Iterable[Chunk], model: str, base_url: str = "") -> list[Wanted]:
    """The documents of a course. With *base_url* their links are whole, else relative to it."""
    return [_wanted(chunk, model, base_url) for chunk in chunks]


def plan(documents: Iterable[Wanted], stored: Mapping[str, str]) -> Plan:
    """Compare what should be with what is: *stored* are the digests by id."""
    here = {document.id: document for document in documents}
    changed = [one for one in here.values() if stored.get(one.id) != one.digest]
    gone = [name for name in stored if name.startswith(PREFIX) and name not in here]
    return Plan(
        write=tuple(sorted(changed, key=lambda one: one.id)),
        remove=tuple(sorted(gone)),
        unchanged=len(here) - len(changed),
    )


def _wanted(chunk: Chunk, model: str, base_url: str) -> Wanted:
    url = urljoin(base_url, chunk.url) if base_url else chunk.url
    metadata = {
        "kind": LESSON,
        "lessonId": chunk.lessonId,
        "chunkId": chunk.id,
        "title": chunk.title,
        "url": url,
    }
    digest = digest_of(chunk.text, metadata_text(metadata), model, heading_of(metadata))
    return Wanted(f"{PREFIX}{chunk.id}", chunk.text, metadata, digest)
