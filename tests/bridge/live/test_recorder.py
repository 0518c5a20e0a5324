"""The queue in front of the store: what a bus tells is stored, and never holds the bus up."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from runtime.bridge.can.assembler import Flush
from runtime.bridge.live import recorder
from runtime.bridge.live.recorder import Recorder
from runtime.bridge.session.recording import WIDE, Frames, Samples
from runtime.bridge.storage.errors import BadFrames, StoreFull
from runtime.bridge.storage.records import NOTHING, SessionMeta


class FakeStore:
    """Takes writes, or refuses them."""

    def __init__(self) -> None:
        self.frames: list[tuple[str, list[float]]] = []
        self.signals: list[tuple[str, dict[str, list[float]]]] = []
        self.refuses: list[Exception] = []

    async def append_frames(
        self, session_id: str, frames: Frames, extras: Mapping[str, Samples], meta: SessionMeta
    ) -> None:
        self._refuse()
        self.frames.append((session_id, frames.columns["timestamp"].tolist()))
        self._samples(session_id, extras)

    async def append_signals(
        self,
        session_id: str,
        samples: Mapping[str, Samples],
        meta: SessionMeta,
        *,
        spare: bool,
    ) -> None:
        assert spare  # a catalogue without room must not cost the rows
        self._refuse()
        self._samples(session_id, samples)

    def _samples(self, session_id: str, samples: Mapping[str, Samples]) -> None:
        if samples:
            told = {name: one.value.tolist() for name, one in samples.items()}
            self.signals.append((session_id, told))

    def _refuse(self) -> None:
        if self.refuses:
            raise self.refuses.pop(0)


def flush(t: float, **values: float) -> Flush:
    samples = {name: Samples(np.array([t]), np.array([value])) for name, value in values.items()}
    return Flush({**dict.fromkeys(WIDE, math.nan), "timestamp": t}, samples, values)


def recording(store: FakeStore, **more: Any) -> Recorder:
    return Recorder(store, NOTHING, **more)  # type: ignore[arg-type]


async def test_what_is_taken_is_stored_in_order_by_session() -> None:
    store = FakeStore()
    made = recording(store)
    for at in range(3):
        made.take("a", flush(float(at), oil=90.0 + at))
    made.take("b", flush(9.0))
    made.take("a", flush(3.0))
    await made.close()
    assert store.frames == [("a", [0.0, 1.0, 2.0]), ("b", [9.0]), ("a", [3.0])]
    assert store.signals == [("a", {"oil": [90.0, 91.0, 92.0]})]
    assert made.dropped == 0


async def test_samples_without_a_row_are_stored_too() -> None:
    store = FakeStore()
    made = recording(store)
    made.take("a", flush(1.0, oil=90.0)._replace(wide=None))
    await made.close()
    assert (store.frames, store.signals) == ([], [("a", {"oil": [90.0]})])


async def test_a_full_disk_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "RETRY_S", 0.0)
    store = FakeStore()
    store.refuses = [StoreFull(), StoreFull()]
    made = recording(store)
    made.take("a", flush(1.0))
    made.take("a", flush(2.0))
    await made.wait_until_stored()
    await made.close()
    assert store.frames == [("a", [1.0, 2.0])]
    assert made.dropped == 0


async def test_when_too_much_waits_the_oldest_goes_and_is_counted() -> None:
    store = FakeStore()
    made = recording(store, most=10)
    for at in range(25):
        made.take("a", flush(float(at)))
    await made.close()
    assert store.frames == [("a", [float(at) for at in range(15, 25)])]
    assert made.dropped == 15


async def test_rows_that_cannot_be_stored_do_not_stop_the_next_ones() -> None:
    store = FakeStore()
    store.refuses = [BadFrames("speed_ms is infinite"), RuntimeError("a bug")]
    made = recording(store)
    for name in ("a", "b", "c"):
        made.take(name, flush(1.0))
    await made.close()
    assert store.frames == [("c", [1.0])]
    assert made.dropped == 2


async def test_the_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "LAST_TRIES_S", 0.01)
    store = FakeStore()
    store.refuses = [StoreFull()] * 100
    made = recording(store)
    made.take("a", flush(1.0))
    await made.close()
    assert store.frames == []
