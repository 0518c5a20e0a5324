"""The laps of a session that a bus fills: lists do not wait for them, and are never far behind."""

from collections.abc import AsyncIterator, Coroutine, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from runtime.bridge.session.recording import Frames, Numbers
from runtime.bridge.storage.derived import BEHIND_S, Filling, LapBook
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Backend, SessionRow
from runtime.bridge.track.library import Library
from tests.bridge.simulator.drivekit import LARKFELL
from tests.bridge.storage.storekit import opened
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
        self.filled: str | None = "s"
        self.now = 0.0
        self.aside: list[Coroutine[Any, Any, None]] = []
        self.book = LapBook(
            store,
            Library({LARKFELL.id: LARKFELL}),
            LARKFELL,
            Filling(lambda: self.filled, self.aside.append, lambda: self.now),
        )
        self._columns = driven()
        self._sent = 0

    def row(self) -> SessionRow:
        found = self.store.session("s")
        assert found is not None
        return found

    async def on(self, share: float) -> None:
        """Drive on to a share of the whole."""
        end = round(share * len(self._columns["timestamp"]))
        some = {name: column[self._sent : end] for name, column in self._columns.items()}
        self._sent = end
        await self.store.append_frames("s", Frames(some))

    async def listed(self) -> int:
        """The laps that a list tells."""
        summary = await self.book.seen(self.row())
        return len(summary.laps) if summary is not None else 0

    async def exact(self) -> int:
        summary = await self.book.summary(self.row())
        return len(summary.laps) if summary is not None else 0

    async def later(self) -> None:
        """What nobody waits for is done."""
        while self.aside:
            await self.aside.pop()


@pytest.fixture
async def car(backend: Backend, tmp_path: Path) -> AsyncIterator[Drive]:
    store = await opened(tmp_path / "db", backend)
    made = Drive(store)
    yield made
    for left in made.aside:
        left.close()
    await store.close()


async def test_a_list_tells_what_was_found_and_the_next_one_what_is(car: Drive) -> None:
    await car.on(0.5)
    first = await car.listed()
    await car.on(1.0)
    assert [await car.listed(), await car.listed()] == [first, first]
    assert len(car.aside) == 1
    await car.later()
    assert await car.listed() == LAPS > first
    assert car.aside == []


async def test_a_list_is_never_further_behind_than_a_set_time(car: Drive) -> None:
    await car.on(0.5)
    first = await car.listed()
    await car.on(1.0)
    car.now = BEHIND_S
    assert await car.listed() == first
    for left in car.aside:  # as if it took for ever
        left.close()
    car.now = BEHIND_S + 0.1
    assert await car.listed() == LAPS


async def test_who_asks_for_the_session_itself_gets_all_of_it(car: Drive) -> None:
    await car.on(0.5)
    await car.listed()
    await car.on(1.0)
    assert await car.exact() == LAPS
    assert await car.listed() == LAPS
    assert car.aside == []


@pytest.mark.parametrize("how", ["other", "none", "ended"])
async def test_a_session_that_no_bus_fills_is_told_as_it_is(car: Drive, how: str) -> None:
    await car.on(0.5)
    await car.listed()
    await car.on(1.0)
    if how == "ended":
        await car.store.end_session("s", 1)
    else:
        car.filled = {"other": "another", "none": None}[how]
    assert await car.listed() == LAPS
    assert car.aside == []
