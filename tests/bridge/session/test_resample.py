"""Signals on one axis: grids, interpolation, bounds, distance."""

import numpy as np
import pytest

from runtime.bridge.session.resample import (
    MAX_ROWS,
    BadResample,
    NoDistance,
    Query,
    TooLong,
    hold_previous,
    interpolate,
    is_discrete,
    parse_axis,
    parse_interpolation,
    resample,
)
from tests.bridge.session.sessions import frames as framed
from tests.bridge.storage.storekit import samples

NOTHING = framed([])
RAMP = framed([0, 1, 2], speed_ms=[10, 20, 30], distance_m=[0, 15, 40])


def values(result: object) -> list[float | None]:
    assert isinstance(result, np.ndarray)
    return [None if v != v else v for v in result.tolist()]


def test_previous_holds_a_sample_until_the_next_and_knows_nothing_before_the_first() -> None:
    oil = {"oil": samples((0.5, 90), (1.5, 91))}
    result = resample(RAMP, oil, Query(("oil",), rate_hz=2))
    assert values(result.columns["oil"]) == [None, 90, 90, 91, 91]
    aged = resample(RAMP, oil, Query(("oil",), rate_hz=2, max_age_s=0.4))
    assert values(aged.columns["oil"]) == [None, 90, None, 91, None]


def test_linear_ends_with_the_samples() -> None:
    oil = {"oil": samples((0.5, 90), (1.5, 92))}
    result = resample(RAMP, oil, Query(("oil",), rate_hz=2, interp="linear"))
    assert values(result.columns["oil"]) == [None, 90, 91, 92, None]


def test_of_two_samples_at_one_time_linear_takes_the_first() -> None:
    assert interpolate(np.array([0.5, 1.0]), samples((0, 0), (1, 10), (1, 99))).tolist() == [5, 10]
    assert hold_previous(np.array([0.5, 1.0]), samples((0, 0), (1, 10), (1, 99))).tolist() == [
        0,
        99,
    ]


def test_states_are_never_interpolated() -> None:
    gear = {"gear_position": samples((0, 2), (2, 3)), "odd": samples((0, 2), (2, 3))}
    query = Query(("gear_position", "odd"), rate_hz=1, interp="linear")
    result = resample(RAMP, gear, query)
    assert result.columns["gear_position"].tolist() == [2, 2, 3]
    assert result.columns["odd"].tolist() == [2, 2.5, 3]
    assert resample(RAMP, gear, query, {"odd"}).columns["odd"].tolist() == [2, 2, 3]


def test_the_recorded_axis_is_that_of_the_frames() -> None:
    result = resample(RAMP, {"x": samples((0.2, 1), (1.7, 2))}, Query(("x", "rpm"), t_from=0.5))
    assert result.t.tolist() == [1, 2]
    assert result.columns["x"].tolist() == [1, 2]
    assert values(result.columns["rpm"]) == [None, None]
    assert (result.missing, result.distance_m) == (("rpm",), None)


def test_without_frames_the_axis_joins_the_times_of_the_signals() -> None:
    signals = {"a": samples((2, 20), (1, 10)), "b": samples((1, 5), (3, 6)), "c": samples((9, 9))}
    result = resample(NOTHING, signals, Query(("a", "b")))
    assert result.t.tolist() == [1, 2, 3]
    assert values(result.columns["a"]) == [10, 20, 20]
    assert (result.t_from, result.t_to) == (1, 3)


def test_a_signal_can_be_the_axis() -> None:
    result = resample(RAMP, {"beat": samples((0.5, 1), (1.25, 1))}, Query(("speed_ms",), "beat"))
    assert result.t.tolist() == [0.5, 1.25]
    assert result.columns["speed_ms"].tolist() == [10, 20]


def test_at_a_rate_without_bounds_the_last_minute_is_shown() -> None:
    frames = framed([0, 100, 200], rpm=[1, 2, 3])
    result = resample(frames, {}, Query(("rpm",), rate_hz=0.5))
    assert (result.t[0], result.t[-1], len(result)) == (140, 200, 31)
    assert resample(frames, {}, Query(("rpm",), rate_hz=0.5, t_from=0)).t[0] == 0


def test_a_column_comes_before_a_signal_of_its_name_unless_it_is_empty() -> None:
    signals = {"speed_ms": samples((0, 99)), "rpm": samples((0, 99))}
    result = resample(RAMP, signals, Query(("speed_ms", "rpm")))
    assert result.columns["speed_ms"].tolist() == [10, 20, 30]
    assert result.columns["rpm"].tolist() == [99, 99, 99]


def test_the_distance_axis_has_the_frames_or_an_even_grid() -> None:
    native = resample(RAMP, {}, Query(("speed_ms",), "distance"))
    assert native.distance_m is not None
    assert native.distance_m.tolist() == [0, 15, 40]
    even = resample(RAMP, {}, Query(("speed_ms",), "distance", 1, "linear", step_m=10))
    assert even.distance_m is not None
    assert even.distance_m.tolist() == [0, 10, 20, 30, 40]
    assert even.t == pytest.approx([0, 10 / 15, 1.2, 1.6, 2])
    assert even.columns["speed_ms"] == pytest.approx([10, 10 + 100 / 15, 22, 26, 30])


def test_a_distance_that_begins_anew_each_lap_is_joined() -> None:
    frames = framed([0, 1, 2, 3, 4], distance_m=[0, 500, 990, 10, 500], rpm=[1, 2, 3, 4, 5])
    query = Query(("rpm",), "distance", 1, step_m=500, track_length_m=1000)
    result = resample(frames, {}, query)
    assert result.distance_m is not None
    assert result.distance_m.tolist() == [0, 500, 1000]
    assert result.columns["rpm"].tolist() == [1, 2, 4]


def test_standing_still_has_no_even_distance() -> None:
    with pytest.raises(NoDistance):
        resample(framed([0, 1], distance_m=[5, 5]), {}, Query(("rpm",), "distance", 1))


def test_midnight_comes_after_the_evening_for_frames_and_signals() -> None:
    frames = framed([86_398, 86_399, 1, 2], rpm=[1, 2, 3, 4])
    result = resample(frames, {"x": samples((86_398, 7), (1, 8))}, Query(("rpm", "x")))
    assert result.t.tolist() == [86_398, 86_399, 86_401, 86_402]
    assert result.columns["x"].tolist() == [7, 7, 8, 8]


def test_ten_thousand_rows_are_allowed_and_no_more() -> None:
    frames = framed([0, 9.999], rpm=[1, 2])
    assert len(resample(frames, {}, Query(("rpm",), rate_hz=1000))) == MAX_ROWS
    for query in (
        Query(("rpm",), rate_hz=1000, t_from=0, t_to=10),
        Query(("rpm",), rate_hz=1000, t_from=0, t_to=1e300),
        Query(("distance_m",), "distance", 1, step_m=1e-9),
    ):
        with pytest.raises(TooLong, match="more than 10000 rows"):
            resample(framed([0, 1], rpm=[1, 2], distance_m=[0, 9]), {}, query)
    long = [float(t) for t in range(MAX_ROWS + 1)]
    with pytest.raises(TooLong):
        resample(framed(long, rpm=long), {}, Query(("rpm",)))


@pytest.mark.parametrize("query", [Query(("x",)), Query(("x",), "distance", 1), Query(("x",), "y")])
def test_a_session_without_data_gives_no_rows(query: Query) -> None:
    result = resample(NOTHING, {}, query)
    assert (len(result), result.missing, result.t_from) == (0, ("x",), None)


def test_bounds_beyond_the_session_give_nothing_or_the_last_value() -> None:
    assert len(resample(RAMP, {}, Query(("speed_ms",), t_from=5))) == 0
    result = resample(RAMP, {}, Query(("speed_ms",), rate_hz=1, t_from=5, t_to=6))
    assert result.columns["speed_ms"].tolist() == [30, 30]


def test_other_spellings_are_understood() -> None:
    assert [parse_axis(a) for a in ("gps", "t", "lap_distance", "rpm")] == [
        "time",
        "time",
        "distance",
        "rpm",
    ]
    assert [parse_interpolation(i) for i in ("hold", "lerp")] == ["previous", "linear"]
    with pytest.raises(BadResample):
        parse_interpolation("cubic")
    named = ["gear", "gear_position", "abs_active", "brake_switch", "rpm", "inactive_x"]
    assert [is_discrete(name) for name in named] == [True, True, True, True, False, False]
    assert is_discrete("x", "discrete_state")
