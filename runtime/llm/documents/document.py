"""Documents, search results and errors of the document store; plain data without NumPy."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from runtime.web.errors import ApiError, TooLarge

WIDTH: Final = 384
"""Dimensions of every vector in the store."""
VECTOR_BYTES: Final = 4 * WIDTH
LESSON: Final = "lesson"
"""The ``kind`` in the metadata of a passage of a course."""

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class NewDocument:
    """A document to store, with its chunks and their vectors."""

    id: str
    model: str
    """Id of the embedding model of the vectors."""
    texts: tuple[str, ...]
    """The chunks in order; at least one."""
    vectors: bytes
    """Unit vectors, little-endian float32, ``len(texts) * VECTOR_BYTES`` bytes."""
    metadata: str | None = None
    """JSON text or None."""
    digest: str = ""
    """SHA-256 in lower-case hex, from `hash_document`: equal digests mean an unchanged document."""
    chars: int = 0
    """Characters of the original text."""


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
    """Whether more documents follow the last one."""


@dataclass(frozen=True)
class Where:
    """Which chunks a search may return; by default all."""

    document_ids: frozenset[str] | None = None
    """None: any document."""
    equal: Mapping[str, Scalar] = field(default_factory=dict)
    """Top-level metadata keys and the JSON values that they must have."""
    min_score: float | None = None
    """Cosine similarity, -1 to 1."""

    @property
    def narrows(self) -> bool:
        """Whether some documents are excluded."""
        return self.document_ids is not None or bool(self.equal)


@dataclass(frozen=True)
class Hit:
    """A chunk in the result of a search."""

    document_id: str
    chunk_index: int
    text: str
    score: float
    """Cosine similarity to the query, -1 to 1."""
    metadata: str | None


class TenantInfo(NamedTuple):
    """A tenant and how much it has stored."""

    tenant: str
    documents: int
    chunks: int


class StoreFull(ApiError):
    """The disk has no room for the write; nothing was changed, and reads still work."""

    status, code = 503, "disk_full"

    def __init__(self, needed: int | None = None, free: int | None = None, kept: int = 0) -> None:
        """*needed* and *free* are bytes, None if unknown; *kept* bytes are reserved for deletes."""
        facts = [] if needed is None else [f"the write needs about {_format_bytes(needed)}"]
        facts += [f"{_format_bytes(kept)} are reserved for deletes"] if kept else []
        facts += [] if free is None else [f"{_format_bytes(max(0, free))} are free"]
        super().__init__(
            f"the disk is full{': ' if facts else ''}{', '.join(facts)}; nothing was changed,"
            " and documents can still be read and searched",
            headers={"Retry-After": "10"},
        )


class StoreLimit(TooLarge):
    """The write would exceed a limit of the store; nothing was changed."""


class StoreFailed(ApiError):
    """The store cannot be read or written; the log says why."""

    status, code = 500, "api_error"

    def __init__(self, message: str = "the document store failed; the server's log says why"):
        super().__init__(message)


class StoreUnusable(Exception):
    """The store cannot be opened and its file was left unchanged; the text says why."""


def read_heading(metadata: object) -> str:
    """The title of a lesson's passage, on one line; empty for other documents.

    It is embedded in front of each chunk, because passages seldom repeat the words of their title
    and people search by titles.
    """
    if not isinstance(metadata, Mapping) or metadata.get("kind") != LESSON:
        return ""
    title = metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""


def dump_metadata(metadata: object) -> str | None:
    """The JSON text of metadata; None for none.

    Raises ValueError for a number that JSON cannot represent.
    """
    if metadata is None:
        return None
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def hash_document(text: str, metadata: str | None, model: str, heading: str = "") -> str:
    """SHA-256 in lower-case hex over a document's text, the JSON text of its metadata and model.

    It shows whether a document has changed since it was stored. A *heading* is included only if the
    vectors contain it. Each part is preceded by its length, so that different documents never hash
    the same bytes.
    """
    digest = hashlib.sha256()
    for part in (text, metadata or "", model, *([heading] if heading else [])):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _format_bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} kB"
