"""Single documents and searches over HTTP, compared with a bare handler and with the bare index.

There is no encoder: the server of this benchmark looks vectors up, so the figures cover the
server, the store and the disk. The vectors form overlapping clusters, as those of texts do.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from aiohttp import web
from usearch.index import Index

from bench.common import (
    Figure,
    Server,
    make_folder,
    percentiles,
    request,
    send_all,
    serve_app,
    start_server,
)
from runtime.llm.app import ENDING, assemble, make_app
from runtime.llm.documents.vectors import EXPANSION_SEARCH
from runtime.llm.engine.embedding import Embedder, Passages
from runtime.llm.inference import Vectors
from runtime.llm.models.catalog import Entry
from runtime.llm.settings import LlmSettings
from runtime.web.serve import run

CHUNKS: Final = 30_000
"""Enough for an HNSW index."""
WIDTH: Final = 384
NEAREST: Final = 10
PER_DOCUMENT: Final = 50
ASKED: Final = 500
ADDED: Final = 2_000
CLIENTS: Final = 8
CROWD: Final = 32
"""Enough clients share each commit for the processor, not the disk, to be the limit."""
MODEL: Final = "looked-up"
SCAN_MS: Final = 60.0
"""A slower search scanned every row: the index is not ready yet."""
Matrix = npt.NDArray[np.float32]


def make_vectors(count: int) -> Matrix:
    """Unit vectors in clusters of about fifty."""
    chance = np.random.default_rng(1)
    middles = np.random.default_rng(2).standard_normal((max(1, count // 50), WIDTH))
    rows = middles[chance.integers(0, len(middles), count)]
    rows = rows + chance.standard_normal((count, WIDTH))
    unit: Matrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


class LookUp(Embedder):
    """An encoder that costs nothing: the text ``12 50`` stands for rows 12 to 61, one a chunk."""

    def __init__(self, rows: Matrix) -> None:
        self._width = int(rows.shape[1])
        self._data = rows.tobytes()

    async def width(self, entry: Entry) -> int:
        """Every row has the same width."""
        del entry
        return self._width

    async def embed(
        self, entry: Entry, texts: Sequence[str], purpose: object = None, *, client: str = ""
    ) -> Vectors:
        """The vector of the row whose number is the text."""
        del entry, purpose, client
        (text,) = texts
        return self._look_up(int(text), 1)

    async def passages(
        self, entry: Entry, text: str, heading: str = "", *, client: str = ""
    ) -> Passages:
        """One chunk for each row that the text stands for."""
        del entry, heading, client
        first, count = map(int, text.split())
        texts = tuple(f"passage {first + n} of a text about corners" for n in range(count))
        return Passages(texts, self._look_up(first, count))

    def drain(self) -> None:
        """Nothing is queued."""

    async def close(self) -> None:
        """There is nothing to close."""

    def _look_up(self, first: int, count: int) -> Vectors:
        size = 4 * self._width
        at = first * size % len(self._data)
        return Vectors(self._width, self._data[at : at + count * size], 8 * count)


def serve(folder: Path) -> int:
    """Run the server with the encoder that looks vectors up."""
    models = folder / "models"
    models.mkdir(exist_ok=True)
    (models / f"{MODEL}.onnx").write_bytes(b"an encoder")
    (models / f"{MODEL}-vocab.txt").write_text("[PAD]\n")
    settings = LlmSettings().model_copy(update={"data_dir": folder, "keep_awake": False})
    service = assemble(settings)
    service.embedder = LookUp(make_vectors(CHUNKS))

    async def factory() -> "object":
        return make_app(service)

    return run(factory, "127.0.0.1", 0, ending=ENDING)  # type: ignore[arg-type]


def document(number: int, chunks: int) -> bytes:
    """A request that adds a document whose chunks are the rows from *number* on."""
    fields = {"id": f"{number:06d}", "text": f"{number} {chunks}", "model": MODEL}
    return request("/v1/documents", json.dumps(fields).encode())


def search(number: int) -> bytes:
    """A request for the neighbours of a row."""
    fields = {"query": str(number), "model": MODEL, "k": NEAREST}
    return request("/v1/search", json.dumps(fields).encode())


def adds(server: Server, bare: Server, clients: int) -> Figure:
    """Documents of one chunk, one a request, and the same requests without a store."""
    requests = [document(500_000 + clients * 100_000 + n, 1) for n in range(ADDED)]
    rates = []
    for program in (server, bare):
        began = time.perf_counter()
        send_all(program.port, [iter(requests)] * clients)
        rates.append(ADDED / (time.perf_counter() - began))
    what = f"documents a second, {clients} clients"
    return Figure(what, "1/s", rates[0], "bare aiohttp, nothing stored", rates[1])


async def serve_bare() -> None:
    """Answer the same requests and store nothing."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"document_id": (await request.json())["id"], "chunk_count": 1})

    app = web.Application()
    app.router.add_post("/v1/documents", answer)
    await serve_app(app)


def fill(server: Server) -> None:
    """Add all chunks and wait until their index is built."""
    filling = (document(n, PER_DOCUMENT) for n in range(0, CHUNKS, PER_DOCUMENT))
    send_all(server.port, [filling] * CLIENTS)
    while send_all(server.port, [iter([search(1)])])[0] > SCAN_MS:
        time.sleep(0.5)


def search_bare(folder: Path, rows: Matrix, queries: Sequence[int]) -> list[float]:
    """Milliseconds of the same searches in the store's own index, without the store."""
    graph = Index(ndim=WIDTH, metric="ip", dtype="f16")
    graph.load(str(next((folder / "documents" / "indexes").glob("*.hnsw"))))
    graph.expansion_search = EXPANSION_SEARCH  # type: ignore[misc] # as in the store
    times = []
    for number in queries:
        began = time.perf_counter()
        graph.search(rows[number], NEAREST, threads=1)
        times.append((time.perf_counter() - began) * 1e3)
    return times


def searches(server: Server, folder: Path, rows: Matrix) -> Iterator[Figure]:
    """Searches of one client, one after the other."""
    queries = np.random.default_rng(3).integers(0, len(rows), ASKED).tolist()
    ours_ms, slow_ms = percentiles(send_all(server.port, [map(search, queries)]))
    bare_ms, _ = percentiles(search_bare(folder, rows, queries))
    what = f"search among {len(rows):,} over HTTP"
    yield Figure(f"{what}, p50", "ms", ours_ms, "bare usearch in a loop", bare_ms)
    yield Figure(f"{what}, p99", "ms", slow_ms)


def figures() -> Iterator[Figure]:
    """The rows of an empty store that is filled, and of searches in a full one."""
    # The document store loads NumPy with one BLAS thread. This script loads NumPy before the store,
    # which would start a thread for each core.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with (
        make_folder() as folder,
        start_server("bench.documents", folder) as server,
        start_server("bench.documents", "bare") as bare,
    ):
        for program in (server, bare):  # warm up: the first requests load modules
            send_all(program.port, [iter([document(n, 1) for n in range(ASKED)])] * CLIENTS)
        for clients in (CLIENTS, CROWD):
            yield adds(server, bare, clients)
    with (
        make_folder() as folder,
        start_server("bench.documents", folder) as server,
    ):
        fill(server)
        yield from searches(server, Path(folder), make_vectors(CHUNKS))


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        asyncio.run(serve_bare())
    sys.exit(serve(Path(sys.argv[1])))
