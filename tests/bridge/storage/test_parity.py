"""Any sequence of writes leaves both back-ends with the same answers and the same bytes."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from runtime.bridge.session.recording import (
    WIDE,
    WIDE_SIGNALS,
    Frames,
    Recording,
    Samples,
    VideoFrame,
)
from runtime.bridge.storage import exporting, sqlite
from runtime.bridge.storage.errors import NoRows, StoreError
from runtime.bridge.storage.records import Appended, LapRow, NoteRow, SessionMeta
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import KINDS, NOON, exported, opened
from tests.effort import repeats

SESSIONS = ("one", "two")
NAMES = ("boost", "temp é", "oil_temp_c", "rpm", "lat")

numbers = st.one_of(
    st.floats(-1e6, 1e6),
    st.sampled_from([-0.0, 5e-324, 1e308, -1e308, 2.0**53, 0.1, np.nan]),
)
times = st.integers(0, 60).map(lambda n: n / 10)


class Write(NamedTuple):
    """A method of the store and its arguments behind the session."""

    method: str
    session: str
    arguments: tuple[object, ...]


def columns(rows: Sequence[Sequence[float]], t0: float) -> Frames:
    table = np.array(rows, np.float64).reshape(-1, len(WIDE_SIGNALS)).T
    t = t0 + np.arange(table.shape[1]) / 10
    return Frames({"timestamp": t, **dict(zip(WIDE_SIGNALS, table, strict=True))})


def sampled(values: Sequence[tuple[float, float]]) -> Samples:
    t, value = zip(*values, strict=True)
    return Samples(np.array(t), np.nan_to_num(np.array(value), nan=7.0))


row = st.lists(numbers, min_size=len(WIDE_SIGNALS), max_size=len(WIDE_SIGNALS))
frames = st.builds(columns, st.lists(row, min_size=1, max_size=12), times)
signals = st.dictionaries(
    st.sampled_from(NAMES),
    st.lists(st.tuples(times, numbers), min_size=1, max_size=15).map(sampled),
    max_size=3,
)
tall = signals.map(lambda named: {k: v for k, v in named.items() if k not in WIDE})
video = st.lists(
    st.builds(
        VideoFrame,
        times,
        st.none() | st.integers(0, 10**6),
        st.sampled_from(["a.mp4", "b.mp4"]),
        st.none() | times,
        st.none() | st.integers(1, 4096),
        st.sampled_from([None] * 19 + [2.0**60]),
    ),
    min_size=1,
    max_size=4,
)
meta = st.builds(
    SessionMeta,
    driver=st.none() | st.text(max_size=5),
    note=st.none() | st.text(max_size=5),
    meta=st.none() | st.dictionaries(st.sampled_from("ab"), st.integers(0, 9)),
)
recordings = st.builds(Recording, frames, tall, video.map(tuple))

Writes: TypeAlias = list[list[Write]]
sid = st.sampled_from(SESSIONS)
alone = st.one_of(
    st.builds(lambda s, x, m: Write("append_signals", s, (x, m, NOON)), sid, signals, meta),
    st.builds(lambda s, r, m: Write("import_recording", s, (r, m, NOON)), sid, recordings, meta),
    st.builds(lambda s: Write("end_session", s, (NOON + 1,)), sid),
    st.builds(lambda s: Write("recompute_capabilities", s, ()), sid),
).map(lambda write: [write])
together = st.lists(
    st.one_of(
        st.builds(
            lambda s, f, x, m: Write("append_frames", s, (f, x, m, NOON)), sid, frames, tall, meta
        ),
        st.builds(lambda s, x, m: Write("append_signals", s, (x, m, NOON)), sid, tall, meta),
        st.builds(lambda s, v, m: Write("append_video", s, (v, m, NOON)), sid, video, meta),
        st.builds(
            lambda s, n, t: Write("put_lap", "", (LapRow(s, n, t, NOON, t),)),
            sid,
            st.integers(1, 3),
            st.floats(20, 90),
        ),
        st.builds(
            lambda s, t: Write("add_note", "", (NoteRow(s, t, NOON),)), sid, st.text(max_size=9)
        ),
    ),
    min_size=1,
    max_size=5,
)
"""Written by several callers at once."""
writes = st.lists(together | alone, min_size=1, max_size=6)


async def written(store: Store, sequence: Writes, prefix: str) -> list[list[object]]:
    """Do it all; the answers. Each sequence has sessions of its own."""
    answers = []
    for group in sequence:
        calls = []
        for write in group:
            named = () if not write.session else (prefix + write.session,)
            arguments = [renamed(value, prefix) for value in write.arguments]
            calls.append(getattr(store, write.method)(*named, *arguments))
        results = await asyncio.gather(*calls, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, StoreError):
                raise result
        answers.append([told(result) for result in results])
    return answers


def renamed(value: object, prefix: str) -> object:
    """Laps and notes carry their session's id."""
    if isinstance(value, LapRow | NoteRow):
        return replace(value, session_id=prefix + value.session_id)
    return value


def told(result: object) -> object:
    """An answer in a form that can be compared."""
    if isinstance(result, StoreError):
        return (type(result), str(result))
    if isinstance(result, Appended):
        place = (result.first_idx, result.last_idx)
        return (place, result.distance_m.tobytes(), result.newly_discovered)
    return result


async def everything(store: Store, prefix: str) -> dict[str, object]:
    """All that can be read of the sessions of one sequence."""
    found: dict[str, object] = {"registry": store.registry(), "total": await store.samples_total()}
    for session in (prefix + name for name in SESSIONS):
        found[f"{session} laps"] = await store.laps(session)
        found[f"{session} notes"] = await store.notes(session)
        found[session] = store.session(session)
        if found[session] is None:
            continue
        read = await store.read_frames(session)
        found[f"{session} frames"] = [read.columns[name].tobytes() for name in WIDE]
        named = await store.read_signals(session, NAMES)
        found[f"{session} signals"] = [part.tobytes() for name in NAMES for part in named[name]]
        found[f"{session} capabilities"] = await store.capabilities(session)
        found[f"{session} video"] = await store.video(session)
        for table in exporting.TABLES:
            try:
                found[f"{session} {table}"] = await exported(store, session, table)
            except NoRows as error:
                found[f"{session} {table}"] = str(error)
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_both_back_ends_answer_alike_to_the_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "LOOSE", 20)
    monkeypatch.setattr(sqlite, "AT_ONCE", 8)
    monkeypatch.setattr(sqlite, "BLOCK", 10)
    with asyncio.Runner() as runner:
        stores = [runner.run(opened(tmp_path / f"{kind}.db", kind)) for kind in KINDS]
        number = 0

        @settings(
            max_examples=repeats(20),
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],  # to shrink a failure takes minutes
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(writes)
        def compare(sequence: Writes) -> None:
            nonlocal number
            number += 1
            prefix = f"{number}-"
            light, heavy = (runner.run(written(store, sequence, prefix)) for store in stores)
            assert light == heavy
            ours, theirs = (runner.run(everything(store, prefix)) for store in stores)
            for name in ours:
                assert ours[name] == theirs[name], name

        compare()
        for store in stores:
            runner.run(store.close())
        assert number >= repeats(20)
