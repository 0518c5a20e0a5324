"""Single adds and searches over HTTP, beside a bare handler and the store's own graph.

The encoder is left out: the server of this measurement looks its vectors up. So what is measured
is the road of a request through the server, the store and the disk. The vectors lie in overlapping
clusters, as those of texts do.
"""

import asyncio
import json
import math
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from aiohttp import web
from usearch.index import Index

from bench.common import TOOLS, Figure, Server, answer_with, percentiles, serving
from runtime.llm.app import ENDING, assemble, make_app
from runtime.llm.documents.vectors import EXPANSION_SEARCH
from runtime.llm.engine.embedding import Embedder, Passages
from runtime.llm.inference import Vectors
from runtime.llm.models.catalog import Entry
from runtime.llm.settings import LlmSettings
from runtime.web.serve import run

CHUNKS: Final = 30_000
"""Enough for a graph."""
WIDTH: Final = 384
NEAREST: Final = 10
PER_DOCUMENT: Final = 50
ASKED: Final = 500
ADDED: Final = 2_000
CLIENTS: Final = 8
CROWD: Final = 32
"""So many share a commit that the processor is the limit, not the disk."""
MODEL: Final = "looked-up"
SCAN_MS: Final = 60.0
"""A search that takes longer read every row."""
Matrix = npt.NDArray[np.float32]


def clustered(count: int) -> Matrix:
    """Unit vectors in clusters of about fifty."""
    chance = np.random.default_rng(1)
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


class LookUp(Embedder):
    """An encoder that costs nothing: the text ``12 50`` has the rows 12 to 61, one a chunk."""

    def __init__(self, rows: Matrix) -> None:
        self._width = int(rows.shape[1])
        self._data = rows.tobytes()

    async def width(self, entry: Entry) -> int:
        """As of any row."""
        del entry
        return self._width

    async def embed(
        self, entry: Entry, texts: Sequence[str], purpose: object = None, *, client: str = ""
    ) -> Vectors:
        """The row of the number that each text is."""
        del entry, purpose, client
        (text,) = texts
        return self._look_up(int(text), 1)

    async def passages(
        self, entry: Entry, text: str, heading: str = "", *, client: str = ""
    ) -> Passages:
        """As many chunks as the text says."""
        del entry, heading, client
        first, count = map(int, text.split())
        texts = tuple(f"passage {first + n} of a text about corners" for n in range(count))
        return Passages(texts, self._look_up(first, count))

    def drain(self) -> None:
        """Nothing waits."""

    async def close(self) -> None:
        """Nothing runs."""

    def _look_up(self, first: int, count: int) -> Vectors:
        size = 4 * self._width
        at = first * size % len(self._data)
        return Vectors(self._width, self._data[at : at + count * size], 8 * count)


def serve(folder: Path) -> int:
    """The server itself."""
    models = folder / "models"
    models.mkdir(exist_ok=True)
    (models / f"{MODEL}.onnx").write_bytes(b"an encoder")
    (models / f"{MODEL}-vocab.txt").write_text("[PAD]\n")
    settings = LlmSettings().model_copy(update={"data_dir": folder, "keep_awake": False})
    service = assemble(settings)
    service.embedder = LookUp(clustered(CHUNKS))

    async def factory() -> "object":
        return make_app(service)

    return run(factory, "127.0.0.1", 0, ending=ENDING)  # type: ignore[arg-type]


def request(path: str, body: object) -> bytes:
    """One POST as bytes."""
    data = json.dumps(body).encode()
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Client-Id: bench\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    ).encode() + data


def document(number: int, chunks: int) -> bytes:
    """A document whose chunks have the rows that follow *number*."""
    fields = {"id": f"{number:06d}", "text": f"{number} {chunks}", "model": MODEL}
    return request("/v1/documents", fields)


async def ask_all(port: int, requests: Sequence[bytes], clients: int) -> list[tuple[float, bytes]]:
    """Milliseconds and body of each answer; the clients share the requests and ask in turn."""
    answers: list[tuple[float, bytes]] = [(math.nan, b"")] * len(requests)
    queue = iter(range(len(requests)))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in queue:
            began = time.perf_counter()
            writer.write(requests[number])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await reader.readexactly(length)
            answers[number] = (time.perf_counter() - began) * 1e3, body
            if not head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(body.decode())
        writer.close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


def adds(server: Server, bare: Server, clients: int) -> Iterator[Figure]:
    """Documents of one chunk, one a request; the rows alone, and the requests without a store."""
    requests = [document(500_000 + clients * 100_000 + n, 1) for n in range(ADDED)]
    per_s, cpu_ms = [], []
    for program in (server, bare):
        began, used = time.perf_counter(), program.cpu_s()
        asyncio.run(ask_all(program.port, requests, clients))
        per_s.append(ADDED / (time.perf_counter() - began))
        cpu_ms.append((program.cpu_s() - used) / ADDED * 1e3)
    peer = "bare SQLite, a commit each"
    yield Figure(
        f"documents a second, {clients} clients", "1/s", per_s[0], peer, commits_a_second()
    )
    peer = "bare aiohttp, nothing stored"
    yield Figure(f"the same, {clients} clients", "1/s", per_s[0], peer, per_s[1])
    yield Figure(f"one of them, {clients} clients, processor", "ms", cpu_ms[0], peer, cpu_ms[1])


def commits_a_second() -> float:
    """How many rows like those of a document one program stores durably, each by itself."""
    vectors = clustered(ADDED)
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        connection = sqlite3.connect(Path(folder) / "rows.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE chunk (document TEXT, vector BLOB, text TEXT)")
        began = time.perf_counter()
        for number, vector in enumerate(vectors):
            row = f"{number:06d}", vector.tobytes(), f"passage {number} of a text about corners"
            connection.execute("INSERT INTO chunk VALUES (?, ?, ?)", row)
        rate = ADDED / (time.perf_counter() - began)
        connection.close()
    return rate


async def serve_bare() -> None:
    """Take the same requests and store nothing."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"document_id": (await request.json())["id"], "chunk_count": 1})

    app = web.Application()
    app.router.add_post("/v1/documents", answer)
    await answer_with(app)


def fill(server: Server) -> None:
    """All chunks, until their index is built."""
    filling = [document(n, PER_DOCUMENT) for n in range(0, CHUNKS, PER_DOCUMENT)]
    asyncio.run(ask_all(server.port, filling, CLIENTS))
    search = request("/v1/search", {"query": "1", "model": MODEL})
    while asyncio.run(ask_all(server.port, [search], 1))[0][0] > SCAN_MS:
        time.sleep(0.5)


def search_bare(folder: Path, rows: Matrix, queries: Sequence[int]) -> list[float]:
    """Milliseconds of the same questions to the store's own graph, without the store."""
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
    """Questions of one client, one after the other."""
    queries = np.random.default_rng(3).integers(0, len(rows), ASKED).tolist()
    requests = [
        request("/v1/search", {"query": str(n), "model": MODEL, "k": NEAREST}) for n in queries
    ]
    answers = asyncio.run(ask_all(server.port, requests, 1))
    found = 0
    for number, (_, body) in zip(queries, answers, strict=True):
        hits = {int(hit["document_id"]) + hit["chunk_index"] for hit in json.loads(body)["data"]}
        found += len(hits & set(nearest(rows, rows[number])))
    ours_ms, slow_ms = percentiles([ms for ms, _ in answers])
    bare_ms, _ = percentiles(search_bare(folder, rows, queries))
    what = f"search among {len(rows):,} over HTTP"
    yield Figure(f"{what}, p50", "ms", ours_ms, "bare usearch in a loop", bare_ms)
    yield Figure(f"{what}, p99", "ms", slow_ms)
    yield Figure(f"{what}, the nearest {NEAREST} found", "share", found / ASKED / NEAREST)


def figures() -> Iterator[Figure]:
    """Adds to an empty store, then searches of a full one."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    # The document store loads NumPy with one BLAS thread. In the server of this script NumPy is
    # loaded before the store, with a thread for each core.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with (
        tempfile.TemporaryDirectory(dir=TOOLS) as folder,
        serving("bench.documents", folder) as server,
        serving("bench.documents", "bare") as bare,
    ):
        for program in (server, bare):  # what a first request loads is not measured
            asyncio.run(ask_all(program.port, [document(n, 1) for n in range(ASKED)], CLIENTS))
        for clients in (CLIENTS, CROWD):
            yield from adds(server, bare, clients)
    with (
        tempfile.TemporaryDirectory(dir=TOOLS) as folder,
        serving("bench.documents", folder) as server,
    ):
        fill(server)
        yield from searches(server, Path(folder), clustered(CHUNKS))


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        asyncio.run(serve_bare())
    sys.exit(serve(Path(sys.argv[1])))
