"""The values and errors that pass in and out of the document store; plain data, no NumPy."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from runtime.web.errors import ApiError, TooLarge

WIDTH: Final = 384
"""Numbers of every vector in the store."""
VECTOR_BYTES: Final = 4 * WIDTH
LESSON: Final = "lesson"
"""The ``kind`` in the metadata of a document that is a passage of a course."""

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class NewDocument:
    """A document ready to be stored: its chunks and their vectors."""

    id: str
    model: str
    """Id of the embedding model that made the vectors."""
    texts: tuple[str, ...]
    """The chunks in order; at least one."""
    vectors: bytes
    """Unit vectors, little-endian float32, ``len(texts) * VECTOR_BYTES`` bytes."""
    metadata: str | None = None
    """JSON text; None: there is none."""
    digest: str = ""
    """SHA-256, lower-case hex, of what was sent: an equal one means an unchanged document."""
    chars: int = 0
    """Characters of the whole text."""


@dataclass(frozen=True)
class DocumentInfo:
    """A stored document without its text."""

    id: str
    model: str
    chunk_count: int
    created: int
    """Unix seconds of the last write."""
    chars: int
    digest: str


class Page(NamedTuple):
    """Documents in order of their ids."""

    documents: tuple[DocumentInfo, ...]
    more: bool
    """Whether more documents follow the last."""


@dataclass(frozen=True)
class Where:
    """Which chunks a search may return; the default admits all."""

    document_ids: frozenset[str] | None = None
    """None: any document."""
    equal: Mapping[str, Scalar] = field(default_factory=dict)
    """Top-level keys of the metadata and the JSON values that they must have."""
    min_score: float | None = None
    """Cosine similarity, -1 to 1."""

    @property
    def narrows(self) -> bool:
        """Whether only some documents are eligible."""
        return self.document_ids is not None or bool(self.equal)


@dataclass(frozen=True)
class Hit:
    """A chunk in the answer to a search."""

    document_id: str
    chunk_index: int
    text: str
    score: float
    """Cosine similarity to the query, -1 to 1."""
    metadata: str | None


class TenantInfo(NamedTuple):
    """How much a tenant has stored."""

    tenant: str
    documents: int
    chunks: int


class StoreFull(ApiError):
    """The disk has no room for the write; nothing was changed and reads go on."""

    status, code = 503, "disk_full"

    def __init__(self, needed: int | None = None, free: int | None = None, kept: int = 0) -> None:
        """*needed* and *free* are bytes, None if unknown; *kept* of them are for deletes."""
        facts = [] if needed is None else [f"the write takes about {_format_bytes(needed)}"]
        facts += [f"{_format_bytes(kept)} are kept for deletes"] if kept else []
        facts += [] if free is None else [f"{_format_bytes(max(0, free))} are free"]
        super().__init__(
            f"the disk is full{': ' if facts else ''}{', '.join(facts)}; nothing was changed,"
            " and documents can still be read and searched",
            headers={"Retry-After": "10"},
        )


class StoreLimit(TooLarge):
    """The write would take the store over one of its caps; nothing was changed."""


class StoreFailed(ApiError):
    """The store cannot be read or written; the log says why."""

    status, code = 500, "api_error"

    def __init__(self, message: str = "the document store failed; the server's log says why"):
        super().__init__(message)


class StoreUnusable(Exception):
    """The store cannot be opened and its file was left as it was; the text says why."""


def heading_of(metadata: object) -> str:
    """The title of a lesson's passage, on one line; empty for any other document.

    It is embedded in front of each chunk: a passage seldom repeats the words of its title, and
    people search by titles.
    """
    if not isinstance(metadata, Mapping) or metadata.get("kind") != LESSON:
        return ""
    title = metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""


def metadata_text(metadata: object) -> str | None:
    """The JSON text under which metadata is stored; None for none.

    Raises ValueError for a number that JSON cannot hold.
    """
    if metadata is None:
        return None
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def digest_of(text: str, metadata: str | None, model: str, heading: str = "") -> str:
    """SHA-256, lower-case hex, of a document: its text, the JSON text of its metadata, its model.

    Tells whether a document has changed since it was stored. A *heading* is part of it only where
    the vectors contain one. Each part is preceded by its length, so that no two documents share
    their bytes.
    """
    digest = hashlib.sha256()
    for part in (text, metadata or "", model, *([heading] if heading else [])):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _format_bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} kB"
