"""What the tests of the document store share: documents by formula, and a model to compare with."""

import json
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runtime.llm.documents.document import WIDTH, Hit, NewDocument, Scalar, Where
from runtime.llm.documents.store import DocumentStore

Matrix = npt.NDArray[np.float32]
MODEL = "mini"
EVERYTHING = Where()


def unit(rows: npt.NDArray[np.floating]) -> Matrix:
    """The rows with length 1."""
    shortened: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return shortened


def randoms(count: int, seed: int) -> Matrix:
    """Unit vectors that point anywhere."""
    return unit(np.random.default_rng(seed).standard_normal((count, WIDTH)))


def clustered(count: int, seed: int, topics: int = 100) -> Matrix:
    """Unit vectors around a few topics, as those of real texts are."""
    centres = np.random.default_rng(7).standard_normal((topics, WIDTH))
    source = np.random.default_rng(seed)
    around = 0.6 * source.standard_normal((count, WIDTH))
    return unit(centres[source.integers(0, topics, count)] + around)


def document(
    name: str,
    texts: Sequence[str] = ("one",),
    *,
    vectors: Matrix | None = None,
    seed: int = 0,
    model: str = MODEL,
    metadata: object = None,
) -> NewDocument:
    """A document with a vector a text."""
    rows = randoms(len(texts), seed) if vectors is None else vectors
    return NewDocument(
        id=name,
        model=model,
        texts=tuple(texts),
        vectors=rows.astype("<f4").tobytes(),
        metadata=None if metadata is None else json.dumps(metadata),
        digest=f"{seed:064x}",
        chars=sum(map(len, texts)),
    )


def query(vector: Matrix) -> bytes:
    """The bytes of one vector."""
    return vector.astype("<f4").tobytes()


@dataclass
class Model:
    """What a store should have: plain dictionaries."""

    documents: dict[str, dict[str, NewDocument]] = field(default_factory=dict)

    def replace(self, tenant: str, new: NewDocument) -> None:
        self.documents.setdefault(tenant, {})[new.id] = new

    def delete(self, tenant: str, name: str) -> int:
        old = self.documents.get(tenant, {}).pop(name, None)
        if not self.documents.get(tenant):
            self.documents.pop(tenant, None)
        return len(old.texts) if old else 0

    def delete_tenant(self, tenant: str) -> int:
        return sum(len(old.texts) for old in self.documents.pop(tenant, {}).values())

    def chunks(self) -> int:
        return sum(len(d.texts) for own in self.documents.values() for d in own.values())

    def search(
        self, tenant: str, wanted: bytes, model: str, k: int, where: Where = EVERYTHING
    ) -> list[Hit]:
        """Every chunk compared in double precision."""
        target = np.frombuffer(wanted, "<f4").astype(np.float64)
        hits = [
            Hit(new.id, number, new.texts[number], float(score), new.metadata)
            for new in self.documents.get(tenant, {}).values()
            if new.model == model and admits(where, new)
            for number, score in enumerate(
                np.frombuffer(new.vectors, "<f4").reshape(-1, WIDTH).astype(np.float64) @ target
            )
        ]
        lowest = -2.0 if where.min_score is None else where.min_score
        hits.sort(key=lambda hit: (-np.float32(hit.score), hit.document_id, hit.chunk_index))
        return [hit for hit in hits[:k] if hit.score >= lowest]


def admits(where: Where, new: NewDocument) -> bool:
    """Whether a document may be found."""
    if where.document_ids is not None and new.id not in where.document_ids:
        return False
    data = json.loads(new.metadata) if new.metadata else None
    have: Mapping[str, object] = data if isinstance(data, dict) else {}
    return all(key in have and same(have[key], value) for key, value in where.equal.items())


def same(left: object, right: Scalar) -> bool:
    """Equality of JSON values."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return left == right


def assert_same(found: Sequence[Hit], wanted: Sequence[Hit]) -> None:
    """The same chunks in the same order, with scores that differ by rounding only."""
    assert [named(hit) for hit in found] == [named(hit) for hit in wanted]
    assert np.allclose([h.score for h in found], [h.score for h in wanted], atol=1e-6)


def named(hit: Hit) -> tuple[str, int, str, str | None]:
    return hit.document_id, hit.chunk_index, hit.text, hit.metadata


def files_with(folder: Path, words: Iterable[str]) -> list[str]:
    """Names of the files below a folder in which one of the words stands.

    Read by another process: SQLite's locks of this one end when it closes a file that it reads.
    """
    lines = _grep("-rlaF", *(f"-e{word}" for word in words), str(folder))
    return [Path(line).name for line in lines]


def found_in(folder: Path, pattern: str) -> set[str]:
    """All that matches in the files below a folder."""
    return set(_grep("-rahoE", pattern, str(folder)))


def _grep(*arguments: str) -> list[str]:
    done = subprocess.run(["grep", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


async def fill(store: DocumentStore, tenant: str, vectors: Matrix, each: int = 100) -> None:
    """Store vectors as chunks of documents ``d0000``, ``d0001`` and so on."""
    own = store.for_tenant(tenant)
    for at in range(0, len(vectors), each):
        rows = vectors[at : at + each]
        texts = [f"text {at + number} of {tenant}" for number in range(len(rows))]
        await own.replace(document(f"d{at // each:04}", texts, vectors=rows))
