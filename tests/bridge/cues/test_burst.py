"""Frames folded into seconds: sums, gaps, clocks that go back, channels that are missing."""

import math

import pytest

from runtime.bridge.cues.burst import BurstBuilder, read
from runtime.bridge.cues.engine import SessionMemory
from runtime.bridge.cues.model import Burst, Moment
from runtime.bridge.session.recording import LiveFrame
from tests.bridge.cues.coachkit import circuit, frame, small


def fold(frames: list[LiveFrame], places: list[float | None] | None = None) -> list[Burst]:
    builder, bursts = BurstBuilder("s"), []
    for at, one in enumerate(frames):
        where = places[at] if places else None
        place = None if where is None else circuit().place(where)
        bursts.append(builder.add(one.t, read(one), place))
    return [burst for burst in [*bursts, builder.close()] if burst is not None]


def test_a_second_of_frames_is_summed_up() -> None:
    frames = [
        frame(0.0, speed_ms=10.0, g_lat=0.5, g_long=-1.2, brake_bar=40.0, throttle_pct=0.0),
        frame(0.25, speed_ms=20.0, g_lat=-0.9, g_long=0.1, brake_bar=1.0, throttle_pct=4.0),
        frame(0.5, speed_ms=30.0, g_lat=0.8, g_long=0.2, brake_bar=0.0, throttle_pct=50.0),
        frame(0.75, speed_ms=40.0, g_lat=0.0, g_long=0.4, combo_g=2.0),
    ]

    (burst,) = fold(frames, [560.0, 580.0, 599.0, 630.0])

    assert burst == Burst(
        session_id="s",
        burst_id=1,
        avg_speed_kmh=90.0,
        max_combo_g=2.0,
        max_lateral_g=-0.9,
        max_brake_bar=40.0,
        avg_throttle_pct=18.0,
        coast_frames=1,
        trail_brake_frames=1,
        frame_count=4,
        distance_m=630.0,
        in_corner=False,
        past_apex=False,
        latest=burst.latest,
    )


def test_the_end_of_a_burst_belongs_to_its_corner_alone() -> None:
    frames = [
        frame(0.0, speed_ms=50.0, brake_bar=60.0, g_lat=0.0, throttle_pct=0.0),
        frame(0.3, speed_ms=30.0, brake_bar=20.0, g_lat=-0.5, throttle_pct=0.0),
        frame(0.6, speed_ms=20.0, brake_bar=5.0, g_lat=-0.7, throttle_pct=10.0),
    ]

    (burst,) = fold(frames, [490.0, 505.0, 515.0])

    assert burst.max_brake_bar == 60.0
    assert burst.moment == pytest.approx(Moment(brake=20.0, thr=5.0, glat=0.7, v=90.0))


def test_a_burst_ends_with_the_frame_a_second_later() -> None:
    found = fold([frame(at / 10) for at in range(35)])

    assert [burst.frame_count for burst in found] == [10, 10, 10, 5]
    assert [burst.burst_id for burst in found] == [1, 2, 3, 4]


def test_what_was_not_measured_stays_unknown() -> None:
    (burst,) = fold([frame(0.0), frame(0.5, brake_bar=math.inf, speed_ms=1e300)])

    numbers = (*burst[2:7], *burst.moment)
    assert all(math.isnan(value) for value in numbers)
    assert (burst.coast_frames, burst.in_corner, burst.distance_m) == (0, None, None)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
        ([1.0, 1.0, 1.5], [1.0, None, 1.5]),
        ([10.0, 9.1, 10.1], [10.0, None, 10.1]),
        ([10.0, 8.9, 9.0], [10.0, 8.9, 9.0]),
        ([86_399.9, 0.1, 0.2], [86_399.9, 86_400.1, 86_400.2]),
        ([500.0, 0.0, 0.1], [500.0, 0.0, 0.1]),
    ],
)
def test_the_clock_goes_forward_or_begins_anew(
    times: list[float], expected: list[float | None]
) -> None:
    session = SessionMemory("s", small())

    assert [session.time(t) for t in times] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("second", [2.6, 300.0, -5.0])
def test_a_burst_does_not_span_a_pause_or_a_new_beginning(second: float) -> None:
    session = SessionMemory("s", None)
    for t in (0.0, 0.1, 0.2):
        assert session.time(t) is not None
        session.bursts.add(t, read(frame(t, speed_ms=50.0)), None)

    assert session.time(second) is not None

    assert session.bursts.add(second, read(frame(second)), None) is None
    burst = session.bursts.close()
    assert burst is not None
    assert burst.frame_count == 1
    assert math.isnan(burst.avg_speed_kmh)
