"""Single adds from one, 8 and 32 clients and searches among 100,000 chunks, over HTTP.

The encoder is left out: the server of this measurement looks its vectors up. So what is measured
is the road of a request through the server, the store and the disk.
"""

import asyncio
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from usearch.index import Index

from bench.common import TOOLS, Figure, Server, arguments, percentiles, serving, show
from bench.vectors import NEAREST, PER_DOCUMENT, Matrix, clustered, nearest
from runtime.llm.app import ENDING, assemble, make_app
from runtime.llm.documents.vectors import EXPANSION_SEARCH
from runtime.llm.engine.embedding import Embedder, Passages, Vectors
from runtime.llm.models.catalog import Entry
from runtime.llm.settings import LlmSettings
from runtime.web.serve import run

CLIENTS: Final = 8
CROWD: Final = 32
"""So many share a commit that the processor is the limit, not the disk."""
MODEL: Final = "looked-up"


class LookUp(Embedder):
    """An encoder that costs nothing: the text ``12 50`` has the rows 12 to 61, one a chunk."""

    def __init__(self, rows: Matrix) -> None:
        self._rows = rows

    async def width(self, entry: Entry) -> int:
        """As of any row."""
        del entry
        return int(self._rows.shape[1])

    async def embed(
        self, entry: Entry, texts: Sequence[str], purpose: object = None, *, client: str = ""
    ) -> Vectors:
        """The row of the number that each text is."""
        del entry, purpose, client
        return self._look_up([int(text) for text in texts])

    async def passages(
        self, entry: Entry, text: str, heading: str = "", *, client: str = ""
    ) -> Passages:
        """As many chunks as the text says."""
        del entry, heading, client
        first, count = map(int, text.split())
        numbers = range(first, first + count)
        texts = tuple(f"passage {number} of a text about corners" for number in numbers)
        return Passages(texts, self._look_up(numbers))

    def drain(self) -> None:
        """Nothing waits."""

    async def close(self) -> None:
        """Nothing runs."""

    def _look_up(self, numbers: Sequence[int]) -> Vectors:
        data = self._rows[np.asarray(numbers) % len(self._rows)].tobytes()
        return Vectors(self._rows.shape[1], data, (8,) * len(numbers))


def serve(argv: Sequence[str]) -> int:
    """The server itself, with the rows of the size that is its first argument."""
    count, folder = int(argv[0]), Path(argv[1])
    models = folder / "models"
    models.mkdir(exist_ok=True)
    (models / f"{MODEL}.onnx").write_bytes(b"an encoder")
    (models / f"{MODEL}-vocab.txt").write_text("[PAD]\n")
    settings = LlmSettings().model_copy(update={"data_dir": folder, "keep_awake": False})
    service = assemble(settings)
    service.embedder = LookUp(clustered(count, np.random.default_rng(1)))

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


def adds(server: Server, count: int, clients: int) -> Figure:
    """Documents of one chunk."""
    requests = [document(500_000 + clients * 100_000 + n, 1) for n in range(count)]
    used, began = server.cpu_s(), time.perf_counter()
    asyncio.run(ask_all(server.port, requests, clients))
    wall, cpu = time.perf_counter() - began, server.cpu_s() - used
    return Figure(
        f"documents of one chunk a second, {clients} at a time; processor time each",
        f"{count / wall:,.0f}; {cpu / count * 1e3:.2f} ms",
    )


def searches(server: Server, rows: Matrix, asked: int, clients: int) -> Figure:
    """Questions, one after the other of each client."""
    queries = np.random.default_rng(3).integers(0, len(rows), asked)
    requests = [
        request("/v1/search", {"query": str(n), "model": MODEL, "k": NEAREST}) for n in queries
    ]
    asyncio.run(ask_all(server.port, requests[:50], clients))
    used = server.cpu_s()
    answers = asyncio.run(ask_all(server.port, requests, clients))
    cpu = server.cpu_s() - used
    found = 0
    for number, (_, body) in zip(queries, answers, strict=True):
        hits = json.loads(body)["data"]
        own = {int(hit["document_id"]) + hit["chunk_index"] for hit in hits}
        found += len(own & set(nearest(rows, rows[number])))
    middle, high = percentiles([ms for ms, _ in answers])
    return Figure(
        f"search among {len(rows):,}, {clients} at a time, p50 / p99 ms; processor time each;"
        " recall",
        f"{middle:.1f} / {high:.1f}; {cpu / asked * 1e3:.2f} ms; {found / asked / NEAREST:.3f}",
    )


def bare(folder: Path, rows: Matrix, asked: int) -> str:
    """The same questions to the store's own graph, without the store; empty where there is none."""
    file = next((folder / "documents" / "indexes").glob("*.hnsw"), None)
    if file is None:
        return ""
    graph = Index(ndim=rows.shape[1], metric="ip", dtype="f16")
    graph.load(str(file))
    graph.expansion_search = EXPANSION_SEARCH  # type: ignore[misc] # as in the store
    times = []
    for number in np.random.default_rng(3).integers(0, len(rows), asked):
        began = time.perf_counter()
        graph.search(rows[number], NEAREST, threads=1)
        times.append((time.perf_counter() - began) * 1e3)
    middle, high = percentiles(times)
    return f"bare usearch in a loop: {middle:.1f} / {high:.1f}"


def figures(count: int, asked: int) -> Iterator[Figure]:
    """The rows of the table."""
    rows = clustered(count, np.random.default_rng(1))
    with (
        tempfile.TemporaryDirectory(dir=TOOLS) as folder,
        serving("bench.documents", "serve", str(count), folder) as server,
    ):
        for clients in (1, CLIENTS, CROWD):
            yield adds(server, asked, clients)
    with (
        tempfile.TemporaryDirectory(dir=TOOLS) as folder,
        serving("bench.documents", "serve", str(count), folder) as server,
    ):
        filling = [document(n, PER_DOCUMENT) for n in range(0, count, PER_DOCUMENT)]
        asyncio.run(ask_all(server.port, filling, CLIENTS))
        search = request("/v1/search", {"query": "1", "model": MODEL})
        while asyncio.run(ask_all(server.port, [search], 1))[0][0] > SCAN_MS:
            time.sleep(0.5)  # the index is being built
        for clients in (1, CLIENTS):
            figure = searches(server, rows, asked, clients)
            yield figure._replace(beside=bare(Path(folder), rows, asked))


SCAN_MS: Final = 60.0
"""A search that takes longer read every row."""


def main() -> int:
    """Print the table."""
    if sys.argv[1:2] == ["serve"]:
        return serve(sys.argv[2:])
    options = arguments("documents", __doc__).parse_args()
    TOOLS.mkdir(parents=True, exist_ok=True)
    # The document store loads NumPy with one BLAS thread. In the server of this script NumPy is
    # loaded before the store, with a thread for each core.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    rows = list(figures(10_000, 500) if options.quick else figures(100_000, 2000))
    show("documents over HTTP, the encoder left out", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
