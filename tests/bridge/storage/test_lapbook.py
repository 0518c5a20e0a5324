"""The laps of a session that a bus fills: lists are cheap, and never far behind."""

from collections.abc import AsyncIterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.recording import WIDE, Frames, Numbers
from runtime.bridge.storage.lapbook import BEHIND_S, SURE_LAPS, LapBook
from runtime.bridge.storage.records import Backend, SessionMeta, SessionRow
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tests.bridge.simulator.drivekit import LARKFELL
from tests.bridge.storage.storekit import opened
from tests.bridge.truth.drives import PLANS
from tests.bridge.truth.drives import drive as made_drive
from tools.drive import drive

LAPS = 4


@cache
def driven() -> Mapping[str, Numbers]:
    """Whole laps of a car, as columns."""
    return drive(LARKFELL, LAPS).frames.columns


class Drive:
    """A store that a car's laps come into one after the other, and a book of them."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.source: str | None = "can"
        self.now = 0.0
        library = Library({LARKFELL.id: LARKFELL})
        self.book = LapBook(store, library, lambda: self.now)
        self._columns = driven()
        self._sent = 0

    def row(self) -> SessionRow:
        row = self.store.session("s")
        assert row is not None
        return row

    async def on(self, share: float) -> None:
        """Drive on to a share of the whole."""
        end = round(share * len(self._columns["timestamp"]))
        some = {name: column[self._sent : end] for name, column in self._columns.items()}
        self._sent = end
        await self.store.append_frames("s", Frames(some), meta=SessionMeta(source=self.source))

    async def listed(self) -> int:
        """The laps that a list tells."""
        summary = await self.book.find_recent(self.row())
        return len(summary.laps) if summary is not None else 0

    async def exact(self) -> int:
        summary = await self.book.summary(self.row())
        return len(summary.laps) if summary is not None else 0


@pytest.fixture
async def car(backend: Backend, tmp_path: Path) -> AsyncIterator[Drive]:
    store = await opened(tmp_path / "db", backend)
    yield Drive(store)
    await store.close()


async def test_a_list_is_never_further_behind_than_a_set_time(car: Drive) -> None:
    await car.on(0.5)
    first = await car.listed()
    await car.on(1.0)
    car.now = BEHIND_S
    assert await car.listed() == first < LAPS
    car.now = BEHIND_S + 0.1
    assert await car.listed() == LAPS


async def test_who_asks_for_the_session_itself_gets_all_of_it(car: Drive) -> None:
    await car.on(0.5)
    await car.listed()
    await car.on(1.0)
    assert await car.exact() == LAPS
    assert await car.listed() == LAPS


@pytest.mark.parametrize("how", ["posted", "ended"])
async def test_a_session_that_no_bus_fills_is_told_as_it_is(car: Drive, how: str) -> None:
    car.source = "can" if how == "ended" else None
    await car.on(0.5)
    await car.listed()
    await car.on(1.0)
    if how == "ended":
        await car.store.end_session("s", 1)
    assert await car.listed() == LAPS


@pytest.mark.parametrize("name", ["esses-gap", "kart"])
async def test_laps_of_an_unnamed_circuit_keep_their_numbers_while_driven(
    car: Drive, name: str
) -> None:
    made = made_drive(next(plan for plan in PLANS if plan.name == name))
    count = len(made.columns["timestamp"])
    columns = {key: made.columns.get(key, np.full(count, np.nan)) for key in WIDE}
    store, book = car.store, LapBook(car.store, Library({}))
    told: list[float] = []
    parts = np.linspace(0, count, 9).astype(int).tolist()
    for begin, end in pairwise(parts):
        part = {key: values[begin:end] for key, values in columns.items()}
        await store.append_frames("s", Frames(part))
        begins = await lap_begins(book, store)
        if len(told) >= SURE_LAPS:
            assert begins[: len(told)] == pytest.approx(told, abs=0.1)
        told = begins
    assert len(told) > SURE_LAPS
    await store.end_session("s", 0)
    assert await lap_begins(book, store) == await lap_begins(LapBook(store, Library({})), store)


async def lap_begins(book: LapBook, store: Store) -> list[float]:
    """When the complete laps begin."""
    row = store.session("s")
    assert row is not None
    summary = await book.summary(row)
    return [lap.t_start for lap in summary.laps] if summary is not None else []


@pytest.mark.parametrize("tracks", [{}, {LARKFELL.id: LARKFELL}], ids=["unnamed", "known"])
async def test_laps_are_the_same_once_it_is_known_where_they_were_driven(
    car: Drive, tracks: Mapping[str, Track]
) -> None:
    await car.on(1.0)
    await car.store.end_session("s", 1)
    book = LapBook(car.store, Library(tracks))
    laps, where = await book.load_laps(car.row())
    await book.summary(car.row())

    for later in (book, LapBook(car.store, Library(tracks))):
        again, there = await later.load_laps(car.row())
        assert (again.segments, again.gate, again.chosen) == (laps.segments, laps.gate, laps.chosen)
        assert there == where
