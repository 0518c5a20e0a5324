"""Crossings of a gate, and laps by gate, distance and stint: numbers worked out by hand."""

import numpy as np
import pytest

from runtime.bridge.session.gates import find_crossings, find_lap_starts
from runtime.bridge.session.laps import Laps, detect, detect_laps
from runtime.bridge.session.recording import TIMESTAMP, Frames, Gate, Numbers, Samples
from runtime.bridge.session.series import LAP_NUMBER, build_series, measure_distance
from tests.bridge.session.sessions import at, change, circle, circle_gate, frames, keep

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
    np.testing.assert_allclose(find_crossings(build_series(session), EAST), moments, atol=1e-6)


def test_frames_without_a_fix_are_passed_over() -> None:
    session = straight([-30, -20, -10, 30])
    session.columns["lat"][2] = np.nan

    result = find_crossings(build_series(session), EAST)

    assert result.tolist() == pytest.approx([1 + 2 * 20 / 50])


@pytest.mark.parametrize(
    ("second_t", "second_m", "count"),
    [(21.0, 400.0, 2), (19.0, 400.0, 1), (21.0, 290.0, 1)],
    ids=["late and far enough", "within 20 s", "within 300 m"],
)
def test_a_lap_begins_20_s_and_300_m_after_the_last_at_least(
    second_t: float, second_m: float, count: int
) -> None:
    session = straight([-10, 10, 500, -10, 10], t=[0.0, 0.5, 1.0, second_t, second_t + 0.5])
    session = change(session, distance_m=np.array([0, 20, 100, second_m, second_m + 20]))
    result = build_series(session)

    assert len(find_lap_starts(result, EAST, measure_distance(result))) == count


def test_crossings_of_a_circle_are_exact_between_frames() -> None:
    session = build_series(circle(130, hz=7.3))

    result = find_crossings(session, circle_gate())

    assert result.tolist() == pytest.approx([8.0, 48.0, 88.0, 128.0], abs=1e-3)


GATE = circle_gate()


def kinds(laps: Laps) -> list[str]:
    return [segment.kind for segment in laps.segments]


def durations(laps: Laps) -> list[float]:
    return [lap.duration_s for lap in laps.complete]


def pace(times: list[float], *, length_m: float = 1000.0, hz: float = 10.0) -> Frames:
    """Laps of a circle that take the given times, from the gate to the gate."""
    bounds = np.concatenate([[-times[0], 0.0], np.cumsum([*times, times[-1]])])
    t = np.arange(-0.25, bounds[-2] + 0.3, 1 / hz)
    lap = np.interp(t, bounds, np.arange(-1.0, len(times) + 2))
    radius = length_m / (2 * np.pi)
    angle = 2 * np.pi * lap
    places = at(radius * np.sin(angle), radius * np.cos(angle) - radius)
    speed = np.gradient(lap * length_m, t)
    return frames(t, distance_m=(lap - lap[0]) * length_m, speed_ms=speed, **places)


def test_an_even_circle_has_even_laps_with_a_way_out_and_in() -> None:
    laps = detect(circle(130), gate=GATE, track_length_m=1000.0)

    assert (laps.method, kinds(laps)) == ("gps", ["out", "lap", "lap", "lap", "in"])
    assert durations(laps) == pytest.approx([40.0, 40.0, 40.0], abs=1e-3)
    assert [lap.number for lap in laps.segments] == [None, 1, 2, 3, None]
    assert [lap.distance_m for lap in laps.complete] == pytest.approx([1000.0] * 3, abs=0.1)
    assert [lap.name for lap in laps.segments] == ["Out lap", "Lap 1", "Lap 2", "Lap 3", "In lap"]
    assert [lap.method for lap in laps.segments] == ["gps"] * 5
    assert laps.gate == GATE


@pytest.mark.parametrize(
    ("begin_m", "seconds", "lap_kinds"),
    [
        (1.0, 119.95, ["lap", "lap", "lap"]),  # one metre behind the line to two before it
        (1.0, 130.0, ["lap", "lap", "lap", "in"]),
        (3.0, 130.0, ["out", "lap", "lap", "in"]),  # a frame before would not cross the line
        (-200.0, 127.7, ["out", "lap", "lap", "in"]),
    ],
)
def test_a_file_that_was_cut_at_the_line_holds_whole_laps(
    begin_m: float, seconds: float, lap_kinds: list[str]
) -> None:
    laps = detect(circle(seconds, begin_m=begin_m), gate=GATE, track_length_m=1000.0)

    assert kinds(laps) == lap_kinds
    assert durations(laps) == pytest.approx([40.0] * lap_kinds.count("lap"), abs=2e-3)


def test_the_full_session_is_always_there() -> None:
    laps = detect(circle(130, hz=10), gate=GATE)

    assert (laps.full.kind, laps.full.method, laps.full.name) == ("all", "all", "Full session")
    assert [laps.full.t_start, laps.full.t_end] == pytest.approx([0.0, 129.9])
    assert laps.full.distance_m == pytest.approx(129.9 * 25)
    assert (laps.full.first, laps.full.last) == (0, 1300)


def test_the_best_lap_is_the_first_of_the_fastest() -> None:
    laps = detect(pace([41.0, 40.0, 40.0, 42.0]), gate=GATE)

    assert durations(laps) == pytest.approx([41, 40, 40, 42], abs=0.01)
    fastest = min(durations(laps))
    assert [lap.best for lap in laps.complete].count(True) == 1
    assert laps.best is not None
    assert laps.best.duration_s == fastest


@pytest.mark.parametrize(
    ("times", "outliers"),
    [
        ([40.0, 40.2, 40.4, 40.6, 55.0], [5]),
        ([40.0, 40.2, 40.4, 55.0], []),
        ([40.0, 40.2, 40.4, 40.6, 40.8], []),
    ],
    ids=["one of five", "too few to say", "all alike"],
)
def test_outliers_are_told_from_five_laps(times: list[float], outliers: list[int]) -> None:
    laps = detect(pace(times), gate=GATE)

    assert [lap.number for lap in laps.complete if lap.outlier] == outliers


@pytest.mark.parametrize(("lap_s", "complete"), [(20.5, 3), (19.5, 0), (1190.0, 3), (1210.0, 0)])
def test_a_lap_takes_20_s_to_20_minutes(lap_s: float, complete: int) -> None:
    laps = detect(pace([lap_s] * 3), gate=GATE, track_length_m=1000.0)

    assert len(laps.complete) == complete


@pytest.mark.parametrize(
    ("length", "complete"), [(1000.0, 3), (1170.0, 3), (1180.0, 0), (871.0, 3), (865.0, 0)]
)
def test_a_lap_is_within_15_percent_of_the_known_length(length: float, complete: int) -> None:
    # Without a recorded distance there is nothing to cut by when the gate gives no lap.
    session = pace([40.0] * 3)
    laps = detect(session, gate=GATE, track_length_m=length)

    assert len([lap for lap in laps.complete if lap.method == "gps"]) == complete


def test_without_a_length_a_lap_is_within_20_percent_of_the_median() -> None:
    session = pace([40.0] * 5)
    distance = session.columns["distance_m"].copy()
    late = session.columns[TIMESTAMP] > 80
    distance[late] += 250 * np.clip((session.columns[TIMESTAMP][late] - 80) / 40, 0, 1)
    laps = detect(change(session, distance_m=distance), gate=GATE)

    assert kinds(laps)[1:-1] == ["lap", "lap", "partial", "lap", "lap"]
    assert [lap.number for lap in laps.complete] == [1, 2, 3, 4]
    assert laps.length_m == pytest.approx(1000.0, abs=0.1)


def test_a_missed_crossing_leaves_a_partial_lap() -> None:
    session = circle(175)
    t = session.columns[TIMESTAMP]
    session.columns["lat"][(t > 43) & (t < 53)] = np.nan
    laps = detect(session, gate=GATE, track_length_m=1000.0)

    assert kinds(laps) == ["out", "partial", "lap", "lap", "in"]
    partial = laps.segments[1]
    assert (partial.valid, partial.number, partial.name) == (False, None, "Partial lap")
    assert partial.duration_s == pytest.approx(80.0, abs=1e-2)


@pytest.mark.parametrize("gate", [GATE, None])
def test_laps_that_all_have_a_long_gap_are_shown_as_such(gate: Gate | None) -> None:
    session = circle(170)
    seconds = session.columns[TIMESTAMP] % 40
    laps = detect(keep(session, (seconds < 20) | (seconds > 26)), gate=gate)

    shown = [lap for lap in laps.segments if lap.kind == "lap"]
    assert laps.method == "gps"
    assert [lap.duration_s for lap in shown] == pytest.approx([40.0] * 4, abs=1e-2)
    assert {(lap.name, lap.valid) for lap in shown} == {("Lap with gaps", False)}
    assert not laps.complete


@pytest.mark.parametrize(("missing_s", "valid"), [(3.8, True), (4.3, False)])
def test_a_lap_with_more_than_a_tenth_missing_does_not_count(missing_s: float, valid: bool) -> None:
    session = circle(130)
    t = session.columns[TIMESTAMP]
    laps = detect(keep(session, (t < 60) | (t > 60 + missing_s)), gate=GATE, track_length_m=1000)

    second = laps.segments[2]
    assert (second.kind, second.valid) == ("lap", valid)
    assert second.name == ("Lap 2" if valid else "Lap with gaps")
    assert [lap.number for lap in laps.complete] == ([1, 2, 3] if valid else [1, 2])
    assert second.duration_s == pytest.approx(40.0, abs=1e-3)


def test_a_session_over_midnight_is_one_session() -> None:
    session = circle(130)
    t = (session.columns[TIMESTAMP] + 86_350.0) % 86_400.0
    laps = detect(change(session, timestamp=t), gate=GATE)

    assert durations(laps) == pytest.approx([40.0] * 3, abs=1e-3)
    assert laps.segments[-1].t_end > 86_400.0


def test_driving_the_wrong_way_crosses_no_gate() -> None:
    session = circle(130)
    laps = detect(session, gate=GATE._replace(heading=270.0))

    assert laps.method == "stint"


def test_without_a_gate_one_is_set_where_the_first_lap_closes_too() -> None:
    laps = detect(circle(130))

    assert laps.method == "gps"
    assert laps.gate is not None
    assert durations(laps) == pytest.approx([40.0] * 3, abs=1e-2)


def test_a_gate_of_another_circuit_is_not_used_nor_is_its_length() -> None:
    far = GATE._replace(lat=GATE.lat + 0.06)  # 6.7 km

    laps = detect(circle(130), gate=far, track_length_m=5000.0)

    assert laps.gate is not None
    assert laps.gate != far
    assert len(laps.complete) == 3
    assert laps.length_m == pytest.approx(1000.0, abs=0.5)


def test_a_gate_off_the_driven_line_gives_way_to_distance() -> None:
    aside = GATE._replace(lat=GATE.lat + 0.01)

    laps = detect(circle(130), gate=aside, track_length_m=1000.0)

    assert (laps.method, laps.gate) == ("distance", None)


def without_fixes(distance: Numbers, hz: float = 10.0, speed: float = 25.0) -> Frames:
    return frames(np.arange(len(distance)) / hz, distance_m=distance, speed_ms=speed)


@pytest.mark.parametrize("constant", [True, False], ids=["constant fix", "no fix"])
def test_distance_that_adds_up_is_cut_at_whole_laps(constant: bool) -> None:
    session = without_fixes(np.arange(0, 3300, 2.5) + 1.0)
    if constant:
        session = change(session, lat=46.0, lon=7.0)
    laps = detect(session, track_length_m=1000.0)

    assert (laps.method, kinds(laps)) == ("distance", ["lap", "lap", "lap", "in"])
    # 999 m, then 1000 m each, at 25 m/s
    assert durations(laps) == pytest.approx([39.96, 40.0, 40.0])


@pytest.mark.parametrize(
    ("begin", "end", "result"),
    [
        (0.0, 1990.0, ["lap", "lap"]),
        (0.0, 1970.0, ["lap", "in"]),
        (25.0, 2990.0, ["out", "lap", "lap"]),
        (19.0, 2990.0, ["lap", "lap", "lap"]),
        (600.0, 3100.0, ["out", "lap", "lap", "in"]),
    ],
    ids=["whole", "last too short", "begins late", "begins near the line", "in the middle"],
)
def test_the_first_and_last_stretch_count_when_they_are_whole(
    begin: float, end: float, result: list[str]
) -> None:
    laps = detect(without_fixes(np.arange(begin, end, 1.0), speed=10.0), track_length_m=1000.0)

    assert kinds(laps) == result


def test_distance_that_adds_up_to_less_than_a_lap_and_a_half_is_a_stint() -> None:
    assert detect(without_fixes(np.arange(0, 1490, 2.5)), track_length_m=1000.0).method == "stint"


def test_distance_that_begins_anew_is_cut_where_it_falls() -> None:
    once = np.arange(0.0, 1000.0, 2.4)  # the last is 998.4, 1.6 m before the line
    distance = np.concatenate([once, once + 0.8, once + 1.6 - 1.6, once[:100]])
    laps = detect(without_fixes(distance), track_length_m=1000.0)

    # Falls of 998.4 -> 0.8 at 2/3 of a period, 999.2 -> 0 at its end, 998.4 -> 0 at its end
    bounds = [41.6 + 0.1 * 2 / 3, 83.4, 125.1]
    assert kinds(laps) == ["lap", "lap", "lap", "in"]
    assert [lap.t_end for lap in laps.complete] == pytest.approx(bounds)


def test_distance_that_adds_up_needs_a_length() -> None:
    assert detect(without_fixes(np.arange(0, 3300, 2.5))).method == "stint"


def roll(length_m: float, begin_m: float, end_m: float, vary_ms: float) -> Numbers:
    """Metres driven, ten times a second, at 24 m/s and so much more or less around a lap."""
    places = np.arange(begin_m, end_m, 0.1)
    took = np.cumsum(0.1 / (24.0 + vary_ms * np.sin(2 * np.pi * places / length_m)))
    metres: Numbers = np.interp(np.arange(0.0, took[-1], 0.1), took, places)
    return metres


@pytest.mark.parametrize("length", [None, 900.0])
@pytest.mark.parametrize(("hz", "within_s"), [(10, 5e-3), (1, 0.02)])
def test_distance_that_begins_anew_tells_the_length_itself(
    length: float | None, hz: int, within_s: float
) -> None:
    s = roll(900.0, 300.0, 300 + 4.6 * 900, 16.0)[:: 10 // hz]
    session = without_fixes(s % 900.0, hz=hz)
    laps = detect(change(session, speed_ms=np.gradient(s) * hz), track_length_m=length)

    assert (laps.method, kinds(laps)) == ("distance", ["out", *["lap"] * 3, "in"])
    assert durations(laps) == pytest.approx([900 / np.sqrt(24**2 - 16**2)] * 3, abs=within_s)
    assert laps.length_m == pytest.approx(900.0, rel=3e-3 if hz == 10 else 0.02)


@pytest.mark.parametrize("vary_ms", [0.0, 1.5])
def test_a_trip_counter_that_comes_to_its_end_at_an_even_speed_makes_no_laps(
    vary_ms: float,
) -> None:
    s = roll(3170.0, 0.0, 20_000.0, vary_ms)
    session = change(without_fixes(s % 1000.0), speed_ms=np.gradient(s) * 10.0)

    assert detect(session).method == "stint"


@pytest.mark.parametrize(
    "reached", [[3000.0, 1000.0], [2500.0]], ids=["trips of no one length", "once"]
)
def test_a_trip_counter_that_was_reset_makes_no_laps(reached: list[float]) -> None:
    distance = np.concatenate([np.arange(0, m, 2.5) for m in [*reached, 700.0]])

    assert detect(without_fixes(distance)).method == "stint"


def count_laps(numbers: Numbers, hz: float = 10.0) -> Laps:
    """Laps of an even 25 m/s by a counter alone, one sample a frame."""
    session = without_fixes(np.full(len(numbers), np.nan), hz=hz)
    samples = Samples(session.columns[TIMESTAMP], numbers)
    return detect_laps(build_series(session, {LAP_NUMBER: samples}))


def test_a_counter_of_laps_makes_laps() -> None:
    laps = count_laps(np.floor(np.arange(0, 170, 0.1) / 40.0 + 0.4))

    assert (laps.method, kinds(laps)) == ("distance", ["out", "lap", "lap", "lap", "in"])
    assert durations(laps) == pytest.approx([40.0] * 3, abs=0.1)
    assert laps.length_m == pytest.approx(1000.0, abs=3.0)


@pytest.mark.parametrize(
    ("begin", "first"), [(0.0, "lap"), (0.03, "out"), (0.4, "out")], ids=["line", "past it", "late"]
)
def test_a_counted_drive_that_begins_at_the_line_has_its_first_lap(
    begin: float, first: str
) -> None:
    laps = count_laps(np.floor(np.arange(0.01, 170, 0.1) / 40.0 + begin))

    assert kinds(laps)[0] == first


def test_a_counter_that_is_set_back_ends_no_lap() -> None:
    number = np.floor(np.arange(0, 250, 0.1) / 40.0)
    number[1000:] -= 2.0  # in the third lap the logger counts anew

    laps = count_laps(number)

    assert kinds(laps) == ["lap", "lap", "partial", "partial", *["lap"] * 3, "in"]


def test_the_distance_that_begins_anew_is_more_exact_than_the_counter() -> None:
    s = np.arange(0, 4.5 * 1000, 2.4) + 600.0
    session = without_fixes(s % 1000.0, speed=24.0)
    samples = Samples(session.columns[TIMESTAMP], np.floor(s / 1000.0))

    laps = detect_laps(build_series(session, {LAP_NUMBER: samples}))

    assert durations(laps) == pytest.approx([1000 / 24] * 4, abs=1e-3)


def test_a_counter_serves_where_the_positions_close_no_lap() -> None:
    t = np.arange(0, 170, 0.1)
    session = frames(t, speed_ms=25.0, **at(25.0 * t, np.zeros(len(t))))
    samples = Samples(t, np.floor(t / 40.0 + 0.4))

    laps = detect_laps(build_series(session, {LAP_NUMBER: samples}))

    assert (laps.method, len(laps.complete)) == ("distance", 3)


def moving(*stretches: tuple[float, float]) -> Frames:
    """Seconds and m/s of each stretch, at 2 Hz."""
    speed = np.concatenate([np.full(round(seconds * 2), ms) for seconds, ms in stretches])
    return frames(np.arange(len(speed)) / 2, speed_ms=speed)


@pytest.mark.parametrize(
    ("session", "stints"),
    [
        (moving((60, 10.0)), [(0, 59.5)]),
        (moving((60, 10.0), (29, 0.5), (60, 10.0)), [(0, 148.5)]),
        (moving((60, 10.0), (31, 0.5), (60, 10.0)), [(0, 59.5), (91, 150.5)]),
        (moving((60, 10.0), (31, 0.5), (19, 10.0), (40, 0.0)), [(0, 59.5)]),
        (moving((60, 0.9)), []),
        (moving((60, 1.0)), [(0, 59.5)]),
        (frames([*range(40), *range(75, 115)], speed_ms=10.0), [(0, 39), (75, 114)]),
        (frames([*range(40), *range(65, 100)], speed_ms=10.0), [(0, 99)]),
        (frames(np.arange(40.0), distance_m=np.arange(40.0) * 10), [(0, 39)]),
        (frames(np.arange(40.0)), []),
    ],
    ids=[
        "all",
        "a short rest",
        "a long rest",
        "a short stint",
        "crawling",
        "just moving",
        "a long gap",
        "a short gap",
        "no speed",
        "nothing known",
    ],
)
def test_stints_are_parted_by_rests(session: Frames, stints: list[tuple[float, float]]) -> None:
    laps = detect(session)

    assert [(s.t_start, s.t_end) for s in laps.segments] == stints
    assert [s.name for s in laps.segments] == [f"Stint {i + 1}" for i in range(len(stints))]
    assert {s.kind for s in laps.segments} <= {"stint"}


def test_out_and_in_laps_give_way_to_stints_when_there_is_no_lap() -> None:
    laps = detect(circle(45), gate=GATE, track_length_m=1000.0)

    assert (laps.method, kinds(laps)) == ("stint", ["stint"])


@pytest.mark.parametrize("count", [0, 1])
def test_a_session_of_hardly_any_frames_has_no_laps(count: int) -> None:
    laps = detect(keep(circle(1), np.arange(10) < count), gate=GATE, track_length_m=1000.0)

    assert (laps.segments, laps.method, laps.full.duration_s) == ((), None, 0.0)
    assert (laps.full.first, laps.full.last) == (0, count)


def test_a_crossing_between_two_distant_fixes_is_taken_as_it_is() -> None:
    """A slow clock leaves no fix within a second of the line."""
    slow = circle(600.0, hz=1 / 3)
    crossings = find_crossings(build_series(slow), circle_gate())
    assert len(crossings) >= 14
    assert np.diff(crossings) == pytest.approx(40.0, abs=1.5)
