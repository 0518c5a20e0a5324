"""Measures the document store beside other methods: searches, adds, starts."""

import contextlib
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from bench import vectors_data, vectors_peers
from bench.vectors_process import Child, Failed, several
from bench.vectors_report import FLOOR, NUMPY, OURS, WITH_FILE, WITHOUT_FILE, Restart, Search

SMALL: Final = 200
LARGE_TENANT, SMALL_TENANT = "large", "small"
METHODS: Final = {NUMPY: "numpy", "hnswlib": "hnswlib", "sqlite-vec": "sqlite-vec"}
ADDERS: Final = {FLOOR: "adds-sqlite", "sqlite-vec": "adds-sqlite-vec"}
CALLERS: Final = (1, 8)


class Data(NamedTuple):
    """Vectors in memory and in files."""

    folder: Path
    size: int
    """Vectors of the large tenant."""
    large: vectors_data.Truth
    small: vectors_data.Truth

    @property
    def vectors(self) -> str:
        """File of the large tenant's vectors."""
        return str(self.folder / "vectors.f32")

    @property
    def few(self) -> str:
        """File of the small tenant's vectors."""
        return str(self.folder / "small.f32")

    @property
    def asked(self) -> str:
        """File of the queries."""
        return str(self.folder / "queries.f32")

    @property
    def store(self) -> Path:
        """Folder of our store."""
        return self.folder / "store"


class Place:
    """Where processes run: their folder, their environments, who is told what happens."""

    def __init__(self, work: Path, peers: vectors_peers.Peers, note: Callable[[str], None]) -> None:
        self.note = note
        self._work = work
        self._peers = peers

    def folder(self, name: str) -> Path:
        """A new folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._work))

    def has(self, name: str) -> bool:
        """Whether that method is installed; NumPy and SQLite always are."""
        return name in (NUMPY, FLOOR) or name in self._peers.names

    def ours(self, folder: Path) -> Child:
        """A process with our store."""
        return Child("bench.vectors_ours", log=folder / "ours.log")

    def method(self, name: str, word: str, folder: Path) -> Child:
        """A process with something else; NumPy and SQLite are in our own environment."""
        python = None if name in (NUMPY, FLOOR) else self._peers.python
        return Child("bench.vectors_methods", word, log=folder / f"{word}.log", python=python)

    @contextlib.contextmanager
    def peer(self, name: str, children: dict[str, Child] | None = None) -> Iterator[None]:
        """A peer that fails is left out from there on; our own failure is one of the figure."""
        try:
            yield
        except Failed as error:
            if name == OURS:
                raise
            self.note(f"{name}: {error}")
            if children is not None:
                del children[name]


def make_data(place: Place, size: int, queries: int) -> Data:
    """Vectors of both tenants out of one mixture, and queries."""
    cloud = vectors_data.clustered(size + SMALL, queries)
    large, small = cloud.vectors[:size], cloud.vectors[size:]
    truths = [vectors_data.Truth(rows, cloud.queries) for rows in (large, small)]
    data = Data(place.folder(f"{size}"), size, *truths)
    for matrix, file in ((large, data.vectors), (small, data.few), (cloud.queries, data.asked)):
        vectors_data.write(matrix, Path(file))
    return data


def fill(place: Place, data: Data) -> float:
    """Fill our store with both tenants; seconds for the large one, its index included."""
    with place.ours(data.folder) as child:
        child.ask("open", folder=str(data.store))
        seconds = child.ask("fill", vectors=data.vectors, tenant=LARGE_TENANT).number("fill_s")
        child.ask("fill", vectors=data.few, tenant=SMALL_TENANT)
        settled = child.ask("settle", queries=data.asked, tenant=LARGE_TENANT)
        child.ask("close")
        return seconds + settled.number("seconds")


class Searches(NamedTuple):
    """What was found among so many vectors."""

    methods: dict[str, Search]
    small: Search
    """Of the small tenant."""


def searches(place: Place, data: Data, build_s: float, rounds: int) -> Searches:
    """All methods in turns, each in a process that holds nothing else."""
    found: dict[str, Search] = {}
    children = {OURS: place.ours(data.folder)}
    for name, word in METHODS.items():
        if place.has(name):
            children[name] = place.method(name, word, data.folder)
    with several(children):
        empty_mb: dict[str, float] = {}
        for name, child in list(children.items()):
            with place.peer(name, children):
                child.ask("ready")
                empty_mb[name] = child.memory_mb()
                own_s = _build(place, name, child, data)
                found[name] = Search(0.0, build_s if name == OURS else own_s, 0.0)
        for number in range(rounds):
            for name, child in list(children.items()):
                place.note(f"{data.size:,} vectors: round {number + 1}, {name}")
                with place.peer(name, children):
                    _round(found[name], child, LARGE_TENANT, data.large, data)
                    if not number:
                        found[name].memory_mb = child.memory_mb() - empty_mb[name]
        small = Search(0.0, 0.0, 0.0)
        for _ in range(rounds):
            _round(small, children[OURS], SMALL_TENANT, data.small, data)
        children[OURS].ask("close")
    return Searches({name: one for name, one in found.items() if one.rounds}, small)


def _build(place: Place, name: str, child: Child, data: Data) -> float:
    """Have a method take the vectors in; ours has them on disk. Seconds."""
    place.note(f"{data.size:,} vectors: {name} takes them in")
    if name != OURS:
        return child.ask("build", vectors=data.vectors).number("build_s")
    child.ask("open", folder=str(data.store))
    return child.ask("settle", queries=data.asked, tenant=LARGE_TENANT).number("seconds")


def _round(
    search: Search, child: Child, tenant: str, truth: vectors_data.Truth, data: Data
) -> None:
    """Ask every query once; the worst recall of all rounds stays."""
    told = child.ask("ask", queries=data.asked, tenant=tenant)
    recall = truth.recall(told.lists("found"))
    search.recall = min(recall, search.recall) if search.rounds else recall
    search.rounds.append(told.numbers("times_ms"))


def restarts(place: Place, data: Data, starts: int) -> dict[str, list[Restart]]:
    """From the start of a process to its first answer, and until the index answers."""
    found: dict[str, list[Restart]] = {WITH_FILE: [], WITHOUT_FILE: []}
    for number in range(starts):
        for name, some in found.items():
            place.note(f"start {number + 1} with {data.size:,} chunks, {name}")
            if name == WITHOUT_FILE:
                shutil.rmtree(data.store / "indexes", ignore_errors=True)
            some.append(_restart(place, data))
    return found


def _restart(place: Place, data: Data) -> Restart:
    fields = {"queries": data.asked, "tenant": LARGE_TENANT}
    with place.ours(data.folder) as child:
        told = child.ask("first", folder=str(data.store), **fields)
        first_s = time.perf_counter() - child.started
        if not told.number("hits"):
            raise Failed("the first answer has no hits")
        child.ask("settle", **fields)
        settled_s = time.perf_counter() - child.started
        child.ask("close")
    return Restart(first_s, settled_s)


def adds(place: Place, rounds: int, seconds: float) -> dict[str, list[float]]:
    """Adds a second, each on disk before it is acknowledged; all methods in turns."""
    found: dict[str, list[float]] = {}
    cloud = vectors_data.clustered(1_000, 1)
    for _ in range(rounds):
        folder = place.folder("adds")
        vectors = folder / "vectors.f32"
        vectors_data.write(cloud.vectors, vectors)
        fields = {"vectors": str(vectors), "ms": round(seconds * 1e3), "tenant": LARGE_TENANT}
        for callers in CALLERS:
            name = f"{OURS}, {callers} at once"
            place.note(f"adds: {name}")
            with place.ours(folder) as child:
                child.ask("open", folder=str(folder / f"store-{callers}"))
                child.ask("fill", **fields)
                found.setdefault(name, []).append(_rate(child, {**fields, "callers": callers}))
                child.ask("close")
        for name, word in ADDERS.items():
            if place.has(name):
                place.note(f"adds: {name}")
                with place.peer(name), place.method(name, word, folder) as child:
                    told = {**fields, "folder": str(place.folder(word))}
                    found.setdefault(name, []).append(_rate(child, told))
        shutil.rmtree(folder)
    return found


def _rate(child: Child, fields: Mapping[str, object]) -> float:
    told = child.ask("add", **fields)
    return told.number("adds") / told.number("seconds")
