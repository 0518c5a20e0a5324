"""Where live frames pass: what is told, to whom, and with which distance."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from runtime.bridge.can.assembler import Flush
from runtime.bridge.can.frame_columns import GPS_DISTANCE
from runtime.bridge.cues.engine import CueEngine, Where
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import Hub
from runtime.bridge.live.live import BACKFILL, COACHED_HZ, Destination, Live
from runtime.bridge.live.timing import NO_TIMING, Timing
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, LiveFrame, Origin, Samples


class Listening(Hub):
    """A hub that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[LiveFrame] = []

    @property
    def hears_telemetry(self) -> bool:
        return True

    def publish_frame(self, frame: LiveFrame, timing: Timing = NO_TIMING) -> None:
        self.frames.append(frame)


class Engine(CueEngine):
    """A coach that counts, and says what it is told to say."""

    def __init__(self, says: Cue | None = None, *, broken: bool = False) -> None:
        super().__init__(lambda _: None)
        self.fed = 0
        self._says, self._broken = says, broken

    def feed(self, frame: LiveFrame, where: Where | None = None) -> list[Cue]:
        self.fed += 1
        if self._broken:
            raise RuntimeError("a bug")
        return [self._says] if self._says is not None else []


class Drive:
    """A `Live` with everything around it in sight."""

    def __init__(self, engine: Engine | None = None) -> None:
        self.hub = Listening()
        self.goal = Destination("a")
        self.begun = 0
        self.spoken: list[str] = []
        self.engine = engine if engine is not None else Engine()
        self.live = Live(
            hub=self.hub,
            cues=self.engine,
            recorder=None,
            destination=lambda: self.goal,
            spoken=lambda cue, frame: self.spoken.append(f"{frame.source}: {cue.text}"),
            anew=self._anew,
        )

    def _anew(self) -> None:
        self.begun += 1

    def bus(self, *distances: float) -> list[float]:
        """The distances that were told."""
        before = len(self.hub.frames)
        self.live.take_flushes([flush(distance) for distance in distances])
        return [frame.wide["distance_m"] for frame in self.hub.frames[before:]]


def flush(distance: float) -> Flush:
    return Flush({**dict.fromkeys(WIDE, 0.0), "distance_m": distance}, {}, {})


def frames(count: int) -> Frames:
    columns = {name: np.zeros(count) for name in WIDE}
    return Frames({**columns, TIMESTAMP: np.arange(float(count))})


def test_a_session_begins_at_nothing_and_goes_on_where_it_stood() -> None:
    drive = Drive()
    assert drive.bus(500.0, 510.0) == [0.0, 10.0]
    drive.goal = Destination("b", 1000.0)
    assert drive.bus(520.0, 525.0) == [1000.0, 1005.0]
    assert drive.begun == 1
    assert drive.bus(0.0, 3.0) == [1005.0, 1008.0], "the bus counts from 0 again"


def test_a_distance_that_is_not_known_stays_so() -> None:
    drive = Drive()
    assert all(map(math.isnan, drive.bus(math.nan)))
    assert drive.bus(7.0, 9.0) == [0.0, 2.0]


def test_further_signals_of_a_request_stand_at_their_frames_and_stay() -> None:
    drive = Drive()
    extras: Mapping[str, Samples] = {"oil": Samples(np.array([1.0]), np.array([90.0]))}
    drive.live.publish_stored("s", frames(3), extras, 40, np.zeros(3))
    assert [frame.extras for frame in drive.hub.frames] == [{}, {"oil": 90.0}, {"oil": 90.0}]
    assert [frame.frame_idx for frame in drive.hub.frames] == [40, 41, 42]


def test_of_a_recording_that_is_sent_only_the_last_frame_is_told() -> None:
    drive = Drive()
    drive.live.publish_stored("s", frames(BACKFILL + 1), {}, 0, np.zeros(BACKFILL + 1))
    assert [frame.frame_idx for frame in drive.hub.frames] == [BACKFILL]


def test_a_flood_does_not_reach_the_coach_until_a_second_has_brought_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    monkeypatch.setattr("runtime.bridge.live.live.monotonic", lambda: now[0])
    drive, second = Drive(), int(COACHED_HZ)

    def fed(seconds: float, count: int, session_id: str = "s") -> int:
        now[0] += seconds
        before = drive.engine.fed
        drive.live.publish_stored(session_id, frames(count), {}, 0, np.zeros(count))
        return drive.engine.fed - before

    assert fed(0.0, second) == second
    assert fed(0.0, 1) == 0
    assert fed(0.0, second, "other") == second
    assert not any(fed(0.05, 50) for _ in range(50))
    assert fed(0.5, 1) == 0
    assert fed(1.0, 1) == 1
    assert all(fed(0.1, 50) for _ in range(50))
    assert len(drive.hub.frames) == 2 * second + 1 + 2500 + 2 + 2500


def test_what_the_coach_says_to_a_replay_is_no_note() -> None:
    says = Cue("s", "Brake later.", 1, "", "rule")
    drive = Drive(Engine(says))
    sources: tuple[Origin, ...] = ("replay", "ingest", "can")
    for t, source in enumerate(sources):
        wide = {**dict.fromkeys(WIDE, 0.0), TIMESTAMP: float(t)}
        drive.live.publish(LiveFrame("s", source, wide))
    assert drive.spoken == ["ingest: Brake later.", "can: Brake later."]


def test_a_coach_that_stumbles_costs_no_frame() -> None:
    drive = Drive(Engine(broken=True))
    drive.bus(1.0, 2.0)
    assert len(drive.hub.frames) == 2


def test_what_a_device_told_is_kept_apart_from_what_was_reckoned() -> None:
    drive = Drive()
    sent = frames(2)
    sent.columns["distance_m"][:] = [math.nan, 70.0]
    counted = {GPS_DISTANCE: Samples(np.array([0.1, 0.2]), np.array([40.0, 41.0]))}

    drive.live.publish_stored("s", sent, {}, 0, np.array([12.0, 70.0]))
    drive.live.take_flushes([flush(14.0), flush(15.0)._replace(samples=counted)])

    found = [(frame.wide["distance_m"], frame.device_distance_m) for frame in drive.hub.frames]
    expected = [(12.0, math.nan), (70.0, 70.0), (0.0, math.nan), (1.0, 41.0)]
    assert np.array(found) == pytest.approx(np.array(expected), nan_ok=True)
