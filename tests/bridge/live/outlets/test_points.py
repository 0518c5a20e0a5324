"""What of an event becomes a point: the moment, whose it is, and what was recorded."""

import pytest

from runtime.bridge.live.hub import Event, Hub
from runtime.bridge.live.outlets.points import SESSIONS, NoMoment, Point, PointReader
from runtime.bridge.live.timing import Timing
from runtime.bridge.session.recording import LiveFrame
from runtime.bridge.storage.records import SessionRow, unix_s
from tests.bridge.live.outlets.outletkit import LAP, SECTOR
from tests.bridge.live.streamkit import cue, frame

NOW_S = 1_790_000_000.0
STARTED_S = 1_780_000_000.0
ROW = SessionRow("s", driver="Mia", car="hatch", started_at=int(STARTED_S * 1000), t_start=5.0)


class Ear:
    """Hears everything and reads it."""

    topics = {"telemetry": ("*",), "cues": ("*",), "timing": ("*",)}  # noqa: RUF012
    signals = None

    def __init__(self) -> None:
        self.hub = Hub(wall=lambda: NOW_S)
        self.hub.join(self)  # type: ignore[arg-type]
        self.points: list[Point | None] = []
        self.reader = PointReader(
            lambda name: ROW if name == "s" else None,
            lambda name: "Larkfell" if name == "s" else None,
            lambda: NOW_S,
        )

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        return True

    def offer(self, kind: str, event: Event) -> None:
        self.points.append(self.reader.read(event.named))

    def close(self) -> None:
        pass


@pytest.fixture
def ear() -> Ear:
    return Ear()


def last(ear: Ear) -> Point:
    point = ear.points[-1]
    assert point is not None
    return point


def test_a_frame_tells_what_was_recorded_under_its_own_names(ear: Ear) -> None:
    one = frame(t=6.5, speed_ms=41.0, throttle_pct=0.0)._replace(extras={"oil_c": 96.0})
    ear.hub.publish_frame(one, Timing(2, 150.0, 12.5, None, None))
    assert last(ear) == Point(
        "telemetry",
        int((STARTED_S + 1.5) * 1e9),
        {"session": "s", "driver": "Mia", "car": "hatch", "track": "Larkfell"},
        {
            "oil_c": 96.0,
            "timestamp": 6.5,
            "speed_ms": 41.0,
            "throttle_pct": 0.0,
            "lap": 2.0,
            "lap_distance_m": 150.0,
            "lap_time_s": 12.5,
        },
    )


def test_laps_sectors_and_cues_stand_at_the_last_frame_of_their_session(ear: Ear) -> None:
    one = frame(t=6.5)
    ear.hub.publish_frame(frame("other", t=STARTED_S + 99))
    ear.hub.publish_frame(one)
    ear.hub.publish_done(one, SECTOR)
    ear.hub.publish_done(one, LAP)
    ear.hub.publish_cue(cue("Brake later")._replace(corner="T3", distance_m=410.0))
    sector, lap, said = ear.points[-3:]
    assert sector is not None
    assert lap is not None
    assert said is not None
    assert {sector.ns, lap.ns, said.ns} == {int((STARTED_S + 1.5) * 1e9)}
    assert (sector.table, lap.table, said.table) == ("sectors", "laps", "cues")
    assert sector.fields == {
        "lap_number": 3.0,
        "sector": 2.0,
        "time_s": 31.25,
        "delta_s": -0.125,
        "rating": "own",
    }
    assert lap.fields == {
        "lap_number": 3.0,
        "lap_time_s": 91.5,
        "delta_s": -0.25,
        "is_best": True,
        "best_lap_s": 91.5,
        "sector_1_s": 30.5,
    }
    assert said.fields == {
        "text": "Brake later",
        "priority": 1.0,
        "emotion": "neutral",
        "source": "rule",
        "corner": "T3",
        "distance_m": 410.0,
    }


def test_a_session_that_nobody_knows_has_its_id_alone(ear: Ear) -> None:
    ear.hub.publish_cue(cue("Box", "other"))
    assert last(ear).tags == {"session": "other"}
    assert last(ear).ns == int(NOW_S * 1e9)


def test_what_happens_to_a_stream_is_no_point(ear: Ear) -> None:
    ear.hub.publish_control("s", "state", {"connected": True})
    ear.hub.publish_silence("s", "nowhere")
    assert ear.points
    assert set(ear.points) == {None}


def test_a_surrogate_half_in_a_cue_breaks_nothing(ear: Ear) -> None:
    ear.hub.publish_cue(cue("Half \ud83d pair"))
    assert last(ear).fields["text"] == "Half ? pair"


def test_many_sessions_are_not_all_remembered(ear: Ear) -> None:
    for number in range(2 * SESSIONS):
        ear.hub.publish_frame(frame(f"s{number}", t=STARTED_S))
    assert len(ear.reader._latest) == SESSIONS


@pytest.mark.parametrize(
    ("row", "t", "moment"),
    [
        (ROW, NOW_S - 3, NOW_S - 3),  # the time of day
        (ROW, NOW_S + 3600, NOW_S + 3600),  # of a synthetic car, which is ahead
        (ROW, 5.0, STARTED_S),
        (ROW, 65.25, STARTED_S + 60.25),
        (ROW, 3.0, STARTED_S - 2),  # a clock that was put back
        (SessionRow("s", started_at=int(STARTED_S * 1000)), 7.0, STARTED_S + 7),
        (None, 7.0, NOW_S),
    ],
)
def test_a_clock_shows_the_time_of_day_or_counts_from_the_start(
    row: SessionRow | None, t: float, moment: float
) -> None:
    assert unix_s(row, t, NOW_S) == moment


@pytest.mark.parametrize("t", [1e12, -1e12, 1e300, -1e300])
def test_no_calendar_has_such_a_time(ear: Ear, t: float) -> None:
    with pytest.raises(NoMoment):
        ear.hub.publish_frame(frame(t=t))
