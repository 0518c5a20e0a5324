"""The methods that the document store is compared with, each a process that answers commands.

Runs in the environment of the peers: ``python -m bench.vectors_methods METHOD``. Only NumPy is
imported before the method is known, so that the growth of memory is the method's own.
"""

import base64
import importlib
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, cast

import numpy as np

from bench.vectors_answer import Fields, Handler, number, serve, text
from bench.vectors_data import NEAREST, WIDTH, Matrix, Numbers, blocks, nearest, read, sentences

CONNECTIVITY: Final = 16
EF_CONSTRUCTION: Final = 128
EF_SEARCH: Final = 64
WARMING: Final = 5
"""Queries before the first one that is timed."""
DURABLE: Final = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")


class Method(Protocol):
    """Something that holds vectors and finds the nearest."""

    def build(self, path: Path) -> None:
        """Take in all rows of a file."""

    def search(self, query: Matrix) -> list[int]:
        """Numbers of the nearest rows."""


class NumPy:
    """Every row is compared."""

    def build(self, path: Path) -> None:
        """Hold the matrix."""
        self._rows = read(path)

    def search(self, query: Matrix) -> list[int]:
        """The best of all scores."""
        found: list[int] = nearest(self._rows, query).tolist()
        return found


class _Graph(Protocol):
    def init_index(self, *, max_elements: int, ef_construction: int, M: int) -> None: ...  # noqa: N803
    def add_items(self, rows: Matrix, ids: Numbers) -> None: ...
    def set_ef(self, ef: int) -> None: ...
    def set_num_threads(self, threads: int) -> None: ...
    def knn_query(self, query: Matrix, k: int) -> tuple[list[Numbers], list[Matrix]]: ...


class Hnswlib:
    """A graph of hnswlib in memory."""

    def __init__(self) -> None:
        make = importlib.import_module("hnswlib").Index
        self._graph = cast("_Graph", make(space="ip", dim=WIDTH))

    def build(self, path: Path) -> None:
        """Build with all cores; searches take one."""
        count = path.stat().st_size // (4 * WIDTH)
        self._graph.init_index(max_elements=count, ef_construction=EF_CONSTRUCTION, M=CONNECTIVITY)
        for first, rows in blocks(path):
            self._graph.add_items(rows, np.arange(first, first + len(rows), dtype=np.int64))
        self._graph.set_ef(EF_SEARCH)
        self._graph.set_num_threads(1)

    def search(self, query: Matrix) -> list[int]:
        """The nearest in the graph."""
        ids, _ = self._graph.knn_query(query, NEAREST)
        return [int(one) for one in ids[0]]


class _Sqlite(Protocol):
    def execute(self, statement: str, values: tuple[object, ...] = ()) -> "_Rows": ...


class _Rows(Protocol):
    def fetchall(self) -> list[tuple[int]]: ...


class SqliteVec:
    """A vec0 table in a file; every row is compared."""

    def __init__(self) -> None:
        self._module = importlib.import_module("sqlite_vec")
        self._apsw = importlib.import_module("apsw")

    def open(self, file: Path) -> _Sqlite:
        """A connection with the extension, durable at each commit."""
        connection = self._apsw.Connection(str(file))
        connection.enable_load_extension(True)
        connection.load_extension(self._module.loadable_path())
        opened = cast("_Sqlite", connection)
        for pragma in DURABLE:
            opened.execute(pragma)
        # by its default distance, the fastest: unit vectors stand in the same order by each
        opened.execute(f"CREATE VIRTUAL TABLE v USING vec0(vector float[{WIDTH}])")
        opened.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
        return opened

    def build(self, path: Path) -> None:
        """Insert everything in one transaction."""
        self._database = self.open(path.with_suffix(".vec.sqlite3"))
        self._database.execute("BEGIN")
        for first, rows in blocks(path):
            for at, row in enumerate(rows):
                values = (first + at, row.tobytes())
                self._database.execute("INSERT INTO v(rowid, vector) VALUES (?, ?)", values)
        self._database.execute("COMMIT")

    def search(self, query: Matrix) -> list[int]:
        """The nearest by SQL."""
        statement = "SELECT rowid FROM v WHERE vector MATCH ? AND k = ? ORDER BY distance"
        found = self._database.execute(statement, (query.tobytes(), NEAREST)).fetchall()
        return [row[0] for row in found]


def searching(method: Method) -> dict[str, Handler]:
    """What a method that searches can be told."""

    def build(command: Fields) -> Fields:
        started = time.perf_counter()
        method.build(Path(text(command, "vectors")))
        return {"build_s": time.perf_counter() - started}

    def ask(command: Fields) -> Fields:
        queries = read(Path(text(command, "queries")))
        for query in queries[:WARMING]:
            method.search(query)
        times: list[float] = []
        found: list[list[int]] = []
        for query in queries:
            started = time.perf_counter()
            found.append(method.search(query))
            times.append((time.perf_counter() - started) * 1e3)
        return {"times_ms": times, "found": found}

    return {"ready": lambda _: {}, "build": build, "ask": ask}


# --- adds that are on disk before the next one


def adding(opened: Callable[[Path], Callable[[int, str, bytes], None]]) -> dict[str, Handler]:
    """What a method that adds can be told; *opened* gives what adds a row durably."""

    def add(command: Fields) -> Fields:
        rows, seconds = read(Path(text(command, "vectors"))), number(command, "ms") / 1e3
        one = opened(Path(text(command, "folder")) / "adds.sqlite3")
        texts = sentences(256, 40)
        done, started = 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < seconds:
            one(done, texts[done % len(texts)], rows[done % len(rows)].tobytes())
            done += 1
        return {"adds": done, "seconds": spent}

    return {"ready": lambda _: {}, "add": add}


def plain(file: Path) -> Callable[[int, str, bytes], None]:
    """One table of SQLite: the least that durable adds cost."""
    database = sqlite3.connect(file, isolation_level=None)
    for pragma in DURABLE:
        database.execute(pragma)
    database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text TEXT, vector BLOB)")

    def one(number: int, words: str, vector: bytes) -> None:
        database.execute("INSERT INTO t VALUES (?, ?, ?)", (number, words, vector))

    return one


def sqlite_vec(file: Path) -> Callable[[int, str, bytes], None]:
    """Text and vector in one transaction, in the tables of sqlite-vec."""
    database = SqliteVec().open(file)

    def one(number: int, words: str, vector: bytes) -> None:
        database.execute("BEGIN IMMEDIATE")
        database.execute("INSERT INTO t(id, text) VALUES (?, ?)", (number, words))
        database.execute("INSERT INTO v(rowid, vector) VALUES (?, ?)", (number, vector))
        database.execute("COMMIT")

    return one


# --- embeddings


class _Encoder(Protocol):
    def encode(
        self, texts: list[str], *, batch_size: int, normalize_embeddings: bool,
        show_progress_bar: bool,
    ) -> Matrix: ...  # fmt: skip


def embedding() -> dict[str, Handler]:
    """sentence-transformers with one or more threads."""
    torch = importlib.import_module("torch")
    make = importlib.import_module("sentence_transformers").SentenceTransformer
    held: list[_Encoder] = []

    def encode(texts: list[str]) -> Matrix:
        return held[0].encode(
            texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        )

    def load(command: Fields) -> Fields:
        torch.set_num_threads(number(command, "threads"))
        held.append(cast("_Encoder", make(text(command, "model"), device="cpu")))
        return {}

    def embed(command: Fields) -> Fields:
        found = encode(cast("list[str]", command["texts"]))
        data = base64.b64encode(found.astype("<f4").tobytes()).decode("ascii")
        return {"vectors": data}

    def pace(command: Fields) -> Fields:
        texts, batch = cast("list[str]", command["texts"]), number(command, "batch")
        seconds = number(command, "ms") / 1e3
        encode(texts[:batch])
        before, done, started = time.process_time(), 0, time.perf_counter()
        while (spent := time.perf_counter() - started) < seconds:
            at = done % len(texts)
            encode(texts[at : at + batch])
            done += batch
        cpu_s = time.process_time() - before  # of all threads
        return {"texts": done, "seconds": spent, "cpu_s": cpu_s}

    return {"load": load, "embed": embed, "pace": pace}


METHODS: Final[dict[str, Callable[[], dict[str, Handler]]]] = {
    "numpy": lambda: searching(NumPy()),
    "hnswlib": lambda: searching(Hnswlib()),
    "sqlite-vec": lambda: searching(SqliteVec()),
    "adds-sqlite": lambda: adding(plain),
    "adds-sqlite-vec": lambda: adding(sqlite_vec),
    "sentence-transformers": embedding,
}

if __name__ == "__main__":
    serve(METHODS[sys.argv[1]]())
