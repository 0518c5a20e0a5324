"""Crossings of a gate: when they count, and to which moment they are interpolated."""

import numpy as np
import pytest

from runtime.bridge.session.laps import find_crossings, find_lap_starts, make_gate
from runtime.bridge.session.recording import Frames, Gate
from runtime.bridge.session.series import measure_distance, series
from tests.bridge.session.sessions import at, changed, circle, circle_gate, frames

EAST = Gate(0.0, 10.0, 90.0)


def straight(x: list[float], y: float | list[float] = 0.0, t: list[float] | None = None) -> Frames:
    places = at(np.array(x), np.broadcast_to(np.array(y, dtype=float), len(x)))
    return frames(t if t is not None else [float(i) for i in range(len(x))], **places)


@pytest.mark.parametrize(
    ("session", "moments"),
    [
        (straight([-30, 10]), [0.75]),
        (straight([-30, 0, 10]), [1.0]),
        (straight([-30, -10, 30]), [1.25]),
        (straight([0, 10, 20]), []),
        (straight([30, 10, -10]), []),
        (straight([-101, 10]), []),
        (straight([-50, 101]), []),
        (straight([-30, 10], 24.9), [0.75]),
        (straight([-30, 10], 25.1), []),
        (straight([-30, 10], [40.0, 18.0]), [0.75]),  # beside by 23.5 m where it crosses
        (straight([-30, 10], [18.0, 40.0]), []),  # 34.5 m
        (straight([-30, 10, -30, 10]), [0.75, 2.75]),
    ],
    ids=[
        "between two fixes",
        "a fix on the line",
        "second step",
        "starts on the line",
        "wrong way",
        "too far before",
        "too far behind",
        "just inside the width",
        "just outside",
        "slanting in",
        "slanting out",
        "back and again",
    ],
)
def test_a_crossing_goes_forward_through_the_width_near_the_gate(
    session: Frames, moments: list[float]
) -> None:
    np.testing.assert_allclose(find_crossings(series(session), EAST).t, moments, atol=1e-6)


def test_frames_without_a_fix_are_passed_over() -> None:
    session = straight([-30, -20, -10, 30])
    session.columns["lat"][2] = np.nan

    found = find_crossings(series(session), EAST)

    assert found.t.tolist() == pytest.approx([1 + 2 * 20 / 50])
    assert found.before.tolist() == [1]


@pytest.mark.parametrize(
    ("second_t", "second_m", "count"),
    [(21.0, 400.0, 2), (19.0, 400.0, 1), (21.0, 290.0, 1)],
    ids=["late and far enough", "within 20 s", "within 300 m"],
)
def test_a_lap_begins_20_s_and_300_m_after_the_last_at_least(
    second_t: float, second_m: float, count: int
) -> None:
    session = straight([-10, 10, 500, -10, 10], t=[0.0, 0.5, 1.0, second_t, second_t + 0.5])
    session = changed(session, distance_m=np.array([0, 20, 100, second_m, second_m + 20]))
    found = series(session)

    assert len(find_lap_starts(found, EAST, measure_distance(found))) == count


def test_crossings_of_a_circle_are_exact_between_frames() -> None:
    session = series(circle(130, hz=7.3))

    found = find_crossings(session, circle_gate())

    assert found.t.tolist() == pytest.approx([8.0, 48.0, 88.0, 128.0], abs=1e-3)


def test_a_gate_is_set_where_the_session_first_drives_fast() -> None:
    speed = np.concatenate([np.full(50, 5.0), np.full(200, 40.0)])
    x = np.concatenate([[0.0], np.cumsum(speed[:-1] * 0.1)])
    session = series(frames(np.arange(250) / 10, speed_ms=speed, **at(x, np.zeros(250))))

    gate = make_gate(session)

    assert gate is not None
    assert gate.heading == pytest.approx(90.0)
    assert gate.lon == pytest.approx(10.0 + 25.0 / 111_320.0)
    assert find_crossings(session, gate).t.tolist() == pytest.approx([5.0], abs=1e-6)
