"""The values that pass in and out of the document store; plain data, no NumPy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

WIDTH: Final = 384
"""Numbers of every vector in the store."""
VECTOR_BYTES: Final = 4 * WIDTH

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
    """Whether there are further ones behind the last."""


@dataclass(frozen=True)
class Where:
    """Which chunks may be found; the default admits all."""

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
    """A chunk that was found."""

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


class Written(NamedTuple):
    """What storing a document did."""

    chunks: int
    replaced: bool
    """Whether a document of that id was there before."""
