"""Measures embeddings a second: our server over HTTP, and sentence-transformers in its process."""

import base64
import contextlib
import http.client
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

import numpy as np

from bench.llm_servers import START_LIMIT_S, Kind, Launch, Server
from bench.vectors_data import Matrix, least_cosine, odd_texts, sentences
from bench.vectors_process import Child, Failed
from runtime.web.instance import address_of

OURS: Final = "Paddock, HTTP"
PEER: Final = "sentence-transformers"
WORDS: Final = (10, 60)
BATCHES: Final = (1, 32)
THREADS: Final = (1, 2)
TEXTS: Final = 512
REQUEST_S: Final = 120.0


class Cell(NamedTuple):
    """What was measured."""

    words: int
    batch: int
    threads: int


class Pace(NamedTuple):
    """How fast texts became vectors."""

    per_s: float
    cpu_ms: float
    """Processor time of a text, all processes of the source together and without the client."""


class Source(NamedTuple):
    """Something that makes vectors."""

    pace: Callable[[Sequence[str], int, float], Pace]
    """Takes texts, how many of them at a time, and for how many seconds."""
    vectors: Callable[[Sequence[str]], Matrix]


class Client:
    """A connection to our server that stays open."""

    def __init__(self, server: Server) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", server.port, timeout=REQUEST_S)
        self._server = server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._link.close()

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """The vectors of the texts as a client gets them; raises `Failed`."""
        fields = {"model": self._server.model, "input": list(texts), "encoding_format": "base64"}
        body = json.dumps(fields).encode()
        try:
            self._link.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
            answer = self._link.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"the server does not answer: {error!r}") from error
        if answer.status != http.HTTPStatus.OK:
            raise Failed(f"status {answer.status}: {data[:300]!r}")
        rows = [base64.b64decode(one["embedding"]) for one in json.loads(data)["data"]]
        return np.frombuffer(b"".join(rows), "<f4").reshape(len(texts), -1)

    def pace(self, texts: Sequence[str], batch: int, seconds: float) -> Pace:
        """One request after the other; raises `Failed`."""
        self.vectors(texts[:batch])
        meter = self._server.meter()  # the encoder's process is there now
        before, done, started = meter(), 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < seconds:
            at = done % len(texts)
            done += len(self.vectors(texts[at : at + batch]))
        return Pace(done / spent, (meter() - before) * 1e3 / done)


@contextlib.contextmanager
def served(model: Path, threads: int, folder: Path) -> Iterator[Source]:
    """Our server with so many threads for the encoder, on a port that it chooses."""
    kind = Kind(OURS, _command, ("--embedding-threads", "{threads}"))
    server = Server(kind, Launch(model, 0, folder, threads))
    try:
        _wait_for(server, folder)
        with Client(server) as client:
            yield Source(client.pace, client.vectors)
    except RuntimeError as error:
        raise Failed(str(error)) from error
    finally:
        server.stop()


@contextlib.contextmanager
def sentence_transformers(
    python: Path, weights: Path, threads: int, folder: Path
) -> Iterator[Source]:
    """The peer in its own environment."""
    log = folder / "sentence-transformers.log"
    with Child("bench.vectors_methods", PEER, log=log, python=python) as child:
        child.ask("load", model=str(weights), threads=threads)

        def pace(texts: Sequence[str], batch: int, seconds: float) -> Pace:
            told = child.ask("pace", texts=list(texts), batch=batch, ms=round(seconds * 1e3))
            done = told.number("texts")
            return Pace(done / told.number("seconds"), told.number("cpu_s") * 1e3 / done)

        def vectors(texts: Sequence[str]) -> Matrix:
            data = base64.b64decode(child.ask("embed", texts=list(texts)).text("vectors"))
            return np.frombuffer(data, "<f4").reshape(len(texts), -1)

        yield Source(pace, vectors)


def likeness(one: Source, other: Source) -> float:
    """The lowest cosine over many texts; each is embedded among others of all lengths."""
    texts = [*odd_texts(), *sentences(64, 10, 1), *sentences(32, 60, 1)]
    parts = [texts[at::4] for at in range(4)]
    return min(least_cosine(one.vectors(part), other.vectors(part)) for part in parts)


def paces(
    sources: dict[str, Source], threads: int, rounds: int, seconds: float
) -> dict[Cell, dict[str, list[Pace]]]:
    """How fast each is, in turns."""
    found: dict[Cell, dict[str, list[Pace]]] = {}
    for _ in range(rounds):
        for words in WORDS:
            texts = sentences(TEXTS, words)
            for batch in BATCHES:
                cell = found.setdefault(Cell(words, batch, threads), {})
                for name, source in sources.items():
                    cell.setdefault(name, []).append(source.pace(texts, batch, seconds))
    return found


def _command(launch: Launch) -> list[str]:
    return [
        *(sys.executable, "-m", "runtime.llm", "--port", str(launch.port)),
        *("--data-dir", str(launch.folder / "data"), "--models-dir", str(launch.model.parent)),
        *("--log-level", "warning"),
    ]


def _wait_for(server: Server, folder: Path) -> None:
    """Wait until the server has told its port and answers; raises RuntimeError."""
    while (address := address_of(folder / "data")) is None:
        if server.state != "running" or time.perf_counter() - server.started > START_LIMIT_S:
            tail = server.log.read_text(errors="replace")[-600:]
            raise RuntimeError(f"the server did not start ({server.state}):\n{tail}")
        time.sleep(0.01)
    server.port = int(address.rpartition(":")[2])
    server.wait_ready()
