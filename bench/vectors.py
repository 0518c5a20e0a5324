"""Search in the document store beside NumPy comparing every row; embeddings a second.

The vectors lie in overlapping clusters, as those of texts do. Recall is the share of the true ten
nearest that were found. Embeddings are measured over HTTP where an encoder is installed
(`python -m runtime.llm pull minilm`).
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.common import TOOLS, Figure, arguments, percentiles, serving, show
from runtime.llm.documents.store import DocumentStore
from runtime.llm.documents.values import NewDocument
from runtime.places import user_data_dir

WIDTH: Final = 384
NEAREST: Final = 10
PER_DOCUMENT: Final = 50
MODEL: Final = "all-minilm-l6-v2"
Matrix = npt.NDArray[np.float32]


def clustered(count: int, chance: np.random.Generator) -> Matrix:
    """Unit vectors in clusters of about fifty."""
    middles = np.random.default_rng(2).standard_normal((max(1, count // 50), WIDTH))
    rows = middles[chance.integers(0, len(middles), count)]
    rows = rows + chance.standard_normal((count, WIDTH))
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def nearest(rows: Matrix, query: Matrix) -> list[int]:
    """The true neighbours, best first."""
    scores = rows @ query
    best = np.argpartition(-scores, NEAREST)[:NEAREST]
    return [int(row) for row in best[np.argsort(-scores[best])]]


def search_plainly(rows: Matrix, queries: Matrix) -> tuple[list[float], list[list[int]]]:
    """Milliseconds and true neighbours of each query."""
    times, results = [], []
    for query in queries:
        began = time.perf_counter()
        results.append(nearest(rows, query))
        times.append((time.perf_counter() - began) * 1e3)
    return times, results


async def search_store(rows: Matrix, queries: Matrix) -> tuple[list[float], list[list[int]]]:
    """Fill a store, wait for its index, and ask it."""
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        store = await DocumentStore.open(Path(folder))
        tenant = store.for_tenant("bench")
        texts = tuple(f"passage {number}" for number in range(PER_DOCUMENT))
        for at in range(0, len(rows), PER_DOCUMENT):
            vectors = rows[at : at + PER_DOCUMENT].tobytes()
            chars = sum(map(len, texts))
            name = f"{at // PER_DOCUMENT:06d}"
            await tenant.replace(NewDocument(name, MODEL, texts, vectors, chars=chars))
        for query in queries[:5]:
            await tenant.search(query.tobytes(), MODEL, NEAREST)
        await store.settle()
        times, results = [], []
        for query in queries:
            began = time.perf_counter()
            hits = await tenant.search(query.tobytes(), MODEL, NEAREST)
            times.append((time.perf_counter() - began) * 1e3)
            results.append([int(h.document_id) * PER_DOCUMENT + h.chunk_index for h in hits])
        await store.close()
    return times, results


def search_figures(count: int, asked: int) -> Iterator[Figure]:
    """The rows of one size."""
    rows = clustered(count, np.random.default_rng(1))
    queries = clustered(count, np.random.default_rng(3))[:asked]
    times, truth = search_plainly(rows, queries)
    ours, results = asyncio.run(search_store(rows, queries))
    hits = sum(len(set(a) & set(b)) for a, b in zip(results, truth, strict=True))
    exact_ms, ours_ms = ("{:.1f} / {:.1f}".format(*percentiles(t)) for t in (times, ours))
    yield Figure(
        f"search among {count:,}, p50 / p99 ms; recall",
        f"{ours_ms}; {hits / (len(truth) * NEAREST):.3f}",
        f"NumPy, every row: {exact_ms}",
    )


def embedding_figures(models: Path, seconds: float) -> Iterator[Figure]:
    """Texts a second over HTTP, one at a time and 32 at a time."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--port", "0", "--data-dir", folder, "--models-dir", str(models))
        with serving("runtime.llm", *flags) as server:
            listed = json.loads(server.get("/v1/models"))["data"]
            if MODEL not in [model["id"] for model in listed]:
                print(f"embeddings: {MODEL} is not installed in {models}\n")
                return
            for size in (1, 32):
                texts = [f"Brake {n} m later and release more slowly." for n in range(size)]
                body = {"model": MODEL, "input": texts}
                server.post("/v1/embeddings", body)
                done, began = 0, time.perf_counter()
                while time.perf_counter() - began < seconds:
                    server.post("/v1/embeddings", body | {"input": [f"{done} {t}" for t in texts]})
                    done += size
                rate = done / (time.perf_counter() - began)
                yield Figure(f"embeddings a second, {size} at a time", f"{rate:,.0f}")


def main() -> int:
    """Print the table."""
    parser = arguments("vectors", __doc__)
    parser.add_argument("--models-dir", type=Path, default=user_data_dir() / "models")
    options = parser.parse_args()
    TOOLS.mkdir(parents=True, exist_ok=True)
    sizes = (1_000, 10_000) if options.quick else (1_000, 10_000, 100_000)
    rows = [row for size in sizes for row in search_figures(size, 200)]
    rows += embedding_figures(options.models_dir, 1.0 if options.quick else 4.0)
    show("vectors of 384 numbers", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
