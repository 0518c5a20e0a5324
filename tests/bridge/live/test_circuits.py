"""What the live coach knows of the circuit while a session is driven."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.live.circuits import (
    GROWN,
    LEARNING,
    LOOK_S,
    NOWHERE,
    Coaching,
    LiveCircuits,
    find_coaching,
    find_record,
)
from runtime.bridge.live.timing import LapDone, LapTimers, Timing
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, LiveFrame
from runtime.bridge.storage.records import SessionMeta, SessionRow
from runtime.bridge.track.library import Library
from runtime.web.errors import ApiError
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import ONE_BACKEND
from tests.bridge.session.sessions import change
from tests.bridge.simulator.drivekit import LARKFELL, TRACKS
from tools.drive import drive

STEP = 10
"""Frames a second."""


@ONE_BACKEND
async def test_a_look_that_is_broken_off_is_begun_again(bridge: Bridge) -> None:
    await bridge.service.db.append_frames("s", drive(LARKFELL, 1).frames)
    begun = asyncio.Event()

    async def find(row: SessionRow) -> Coaching:
        begun.set()
        return await find_coaching(bridge.service.db, bridge.service.book, row)

    circuits = LiveCircuits(
        bridge.service.library, bridge.service.db.session, find, bridge.service.aside
    )
    look = asyncio.create_task(circuits.look("s"))
    await begun.wait()
    look.cancel()
    with pytest.raises(asyncio.CancelledError):
        await look

    assert (await circuits.look("s")).silent is None


@pytest.fixture(scope="module")
def unknown() -> Frames:
    """Three laps of a circuit that nobody has a file of."""
    here = drive(LARKFELL, 3).frames
    return change(here, lon=here.columns["lon"] + 2.0)


class Replayed:
    """A drive that comes into a bridge second by second, on a clock of its own."""

    def __init__(self, bridge: Bridge, frames: Frames, track: str | None) -> None:
        self.service = bridge.service
        self.columns, self.track = frames.columns, track
        self.now, self.silent, self.said = 0.0, list[tuple[float, str | None]](), list[str]()
        self.work: list[asyncio.Task[object]] = []
        self.circuits = LiveCircuits(
            self.service.library,
            self.service.db.session,
            lambda row: find_coaching(self.service.db, self.service.book, row),
            lambda look: self.work.append(asyncio.ensure_future(look)),
            lambda _, coaching: self.silent.append((self.now, coaching.silent)),
            lambda: self.now,
        )
        self.engine = CueEngine(lambda session_id: self.circuits.of(session_id).track)
        self.timers = LapTimers(lambda session_id: self.circuits.of(session_id).past)
        self.timings: list[Timing] = []
        self.laps: list[LapDone] = []

    async def run(self) -> None:
        count = len(self.columns["timestamp"])
        for first in range(0, count, STEP):
            some = {name: values[first : first + STEP] for name, values in self.columns.items()}
            meta = SessionMeta(track=self.track)
            await self.service.db.append_frames("s", Frames(some), meta=meta)
            self.now += 1.0
            for row in zip(*some.values(), strict=True):
                wide = dict(zip(some, map(float, row), strict=True))
                frame = LiveFrame("s", "ingest", wide)
                where = self.engine.locate(frame)
                assert where is not None
                reading = self.timers.tick(frame, where)
                self.timings.append(reading.timing)
                self.laps += [done for done in reading.done if isinstance(done, LapDone)]
                for cue in self.engine.feed(frame, where):
                    self.said += [] if cue.corner is None else [cue.corner]
            await asyncio.gather(*self.work)


@ONE_BACKEND
async def test_an_unknown_circuit_is_coached_from_its_own_positions_after_the_first_lap(
    bridge: Bridge, unknown: Frames
) -> None:
    drive_in = Replayed(bridge, unknown, "Home Park")
    assert bridge.service.circuits.of("s") == Coaching(silent=NOWHERE)
    await drive_in.run()

    ((closed, silent),) = drive_in.silent
    assert silent is None
    lap_s = float(np.ptp(unknown.columns["timestamp"])) / 4
    assert closed < 1.5 * lap_s, "it waits for no second lap"
    track = drive_in.circuits.of("s").track
    assert track is not None
    assert track.name == "Home Park"
    unnamed = replace(bridge.service.session("s"), track="")
    found = (await find_coaching(bridge.service.db, bridge.service.book, unnamed)).track
    assert found is not None
    assert found.name == "s"
    assert track.length_m == pytest.approx(LARKFELL.length_m, rel=0.01)
    assert [corner.name for corner in track.corners[:2]] == ["C1", "C2"]
    assert len(set(drive_in.said)) >= 3
    assert all(corner.startswith("C") for corner in drive_in.said)

    begun = [timing for timing in drive_in.timings if timing.lap is not None]
    assert begun[0].lap == 2, "the lap clock too goes on from the first closed lap"
    assert begun[0].delta_s is not None
    recorded = detect(unknown, gate=track.start, track_length_m=track.length_m).complete[1:]
    assert [lap.lap_number for lap in drive_in.laps] == [lap.number for lap in recorded]
    times = [lap.lap_time_s for lap in drive_in.laps]
    assert times == pytest.approx([lap.duration_s for lap in recorded], abs=0.05)


@ONE_BACKEND
async def test_a_known_circuit_is_coached_as_soon_as_the_positions_tell(bridge: Bridge) -> None:
    begun = {name: v[:600] for name, v in drive(LARKFELL, 1).frames.columns.items()}
    drive_in = Replayed(bridge, Frames(begun), None)
    await drive_in.run()
    ((known_at, silent),) = drive_in.silent
    assert silent is None
    assert known_at <= 30.0
    track = drive_in.circuits.of("s").track
    assert track is not None
    assert track.id == LARKFELL.id


@ONE_BACKEND
async def test_the_record_is_the_best_lap_of_the_same_driver_on_the_circuit(
    bridge: Bridge, unknown: Frames
) -> None:
    store, book = bridge.service.db, bridge.service.book
    for name, driver, skill in (("a", "Mia", 0.8), ("b", "mia", 0.9), ("c", "Ole", 1.0)):
        frames = drive(LARKFELL, 1, skill=skill).frames
        await store.append_frames(name, frames, meta=SessionMeta(driver=driver))
    await store.append_frames("d", unknown, meta=SessionMeta(driver="Mia"))

    records = [
        await find_record(store, book, bridge.service.session(name), LARKFELL) for name in "abc"
    ]
    lap_s = [None if record is None else record.lap_s for record in records]
    summaries = [await book.summary(bridge.service.session(name)) for name in "ba"]
    assert lap_s == [*(one.best_s if one else None for one in summaries), None]


class Watch:
    """Live circuits of one session whose looks give what the test says."""

    def __init__(self, track: str = "") -> None:
        self.row: SessionRow | None = SessionRow("s", track=track, n_frames=100)
        self.now, self.looks, self.told = 0.0, 0, list[str | None]()
        self.finds: Coaching | ApiError = Coaching()
        self.circuits = LiveCircuits(
            Library(TRACKS),
            lambda _: self.row,
            self.find,
            self.work,
            lambda _, coaching: self.told.append(coaching.silent),
            lambda: self.now,
        )

    async def find(self, row: SessionRow) -> Coaching:
        self.looks += 1
        if isinstance(self.finds, ApiError):
            raise self.finds
        return self.finds

    def work(self, look: object) -> None:
        with pytest.raises(StopIteration):
            look.send(None)  # type: ignore[attr-defined]

    def ask(self, seconds: float, n_frames: int) -> Coaching:
        self.now += seconds
        self.row = SessionRow("s", track="", n_frames=n_frames)
        return self.circuits.of("s")


def test_what_the_driver_named_is_coached_before_anything_was_looked_at() -> None:
    watch = Watch("larkfell")
    watch.finds = Coaching(TRACKS["larkfell"], None)
    assert watch.circuits.of("s") == Coaching(TRACKS["larkfell"], None)
    assert watch.told == []


def test_a_circuit_is_looked_for_until_it_is_there_and_then_rarely() -> None:
    watch = Watch()
    assert watch.ask(0.0, 100).silent == LEARNING
    watch.ask(LOOK_S / 2, 200)
    assert watch.looks == 1
    watch.ask(LOOK_S / 2, 300)
    assert watch.looks == 2
    watch.finds = Coaching(TRACKS["larkfell"], None)
    assert watch.ask(LOOK_S, 400).silent is None
    assert (watch.looks, watch.told) == (3, [None])
    watch.ask(60.0, 400 * int(GROWN) - 1)
    assert watch.looks == 3
    watch.ask(60.0, 400 * int(GROWN))
    assert watch.looks == 4


def test_a_session_that_cannot_be_read_keeps_what_is_known() -> None:
    watch = Watch()
    watch.finds = ApiError("the disk")
    assert watch.ask(0.0, 100).silent == LEARNING
    watch.finds = Coaching(silent=NOWHERE)
    assert watch.ask(LOOK_S, 200).silent == NOWHERE


@ONE_BACKEND
async def test_listeners_of_cues_hear_why_the_coach_is_silent(
    bridge: Bridge, unknown: Frames
) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "s", "track": "Home Park"})
    async with bridge.http.get("/cues/stream", params={"session_id": "s"}) as response:
        await response.content.readuntil(b"event: hello\n")
        line = await response.content.readline()
        assert LEARNING.encode() in line
        bridge.service.hub.publish_silence("s", None)
        await response.content.readuntil(b"event: state\n")
        assert b'"silent":null' in await response.content.readline()


def test_the_corners_of_an_unknown_circuit_keep_their_names_while_it_is_driven() -> None:
    watch = Watch()
    first = Coaching(TRACKS["larkfell"], None, own=True)
    watch.finds = first
    watch.ask(LOOK_S, 200)
    watch.finds = Coaching(TRACKS["tarn-oval"], None, own=True)
    watch.ask(100.0, 1000)

    assert watch.looks == 2
    assert watch.ask(1.0, 1000) == first
