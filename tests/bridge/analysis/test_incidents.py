"""Incidents of sessions in which exactly one thing goes wrong."""

import numpy as np
import pytest

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.incidents import (
    Active,
    Incident,
    detect_incidents,
    find_activity,
    find_spins,
)
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Numbers, Samples
from runtime.bridge.simulator.schedule import make_schedule
from tests.bridge.analysis.cornerkit import (
    LENGTH,
    between,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import at, change, frames, keep
from tests.bridge.simulator import drivekit
from tests.bridge.simulator.drivekit import LARKFELL, NARROW, VESPER, flushed, rows
from tests.bridge.track.test_driven import record


def of(session: Frames, *active: Active, partial: bool = False) -> tuple[Incident, ...]:
    return detect_incidents(drive_on(session, ring_track(), partial=partial), active)


def test_an_even_drive_has_no_incident() -> None:
    session = ring_frames(
        3, hz=20.0, g_lat=1.9, g_long=0.0, brake_bar=0.0, throttle_pct=40.0, combo_g=2.0
    )

    assert of(session) == ()


def test_a_high_load_is_as_bad_as_its_worst_frame() -> None:
    session = ring_frames(1, hz=10.0, combo_g=1.0)
    session.columns["combo_g"][300:303] = [2.1, 2.6, 2.2]

    (result,) = of(session)
    assert (result.kind, result.severity, result.frame, result.lap) == ("over_g", "high", 301, 1)
    assert result.magnitude == pytest.approx(1.3)
    assert [result.t_start, result.t_end] == pytest.approx([30.0, 30.2])
    assert "2.60 g" in result.reason


@pytest.mark.parametrize(("apart_s", "count"), [(3.0, 1), (4.8, 1), (5.2, 2), (9.0, 2)])
def test_events_of_a_kind_close_together_are_one(apart_s: float, count: int) -> None:
    session = ring_frames(1, hz=10.0, combo_g=1.0)
    second = 300 + round(apart_s * 10)
    session.columns["combo_g"][[300, second]] = [2.1, 2.5]

    result = of(session)
    assert len(result) == count
    assert result[-1].magnitude == pytest.approx(1.25)
    assert result[0].t_start == pytest.approx(30.0)
    assert result[-1].t_end == pytest.approx(30.0 + apart_s)


def test_events_of_two_kinds_stay_apart_in_the_order_of_time() -> None:
    session = ring_frames(1, hz=10.0, combo_g=1.0, g_long=0.0, brake_bar=0.0)
    session.columns["combo_g"][310] = 2.1
    session.columns["g_long"][300] = -1.8

    assert [incident.kind for incident in of(session)] == ["hard_deceleration", "over_g"]


@pytest.mark.parametrize(("pressure", "result"), [(0.0, True), (4.9, True), (5.0, False)])
def test_slowing_hard_is_an_incident_without_brakes_only(pressure: float, result: bool) -> None:
    session = ring_frames(1, hz=10.0, g_long=0.0, brake_bar=pressure)
    session.columns["g_long"][300] = -1.6

    assert bool(of(session)) is result
    assert of(without(session, "brake_bar")) == ()  # nobody knows what the foot did


@pytest.mark.parametrize(
    ("usual", "peak", "alarm"), [(2.6, 3.4, False), (2.6, 3.9, True), (0.9, 1.2, False)]
)
def test_a_high_load_is_one_beyond_the_usual_lap(usual: float, peak: float, alarm: bool) -> None:
    session = ring_frames(4, hz=10.0, combo_g=lambda way: usual * between(way, 200, 300))
    session.columns["combo_g"][700] = peak

    assert [incident.kind for incident in of(session)] == (["over_g"] if alarm else [])


@pytest.mark.parametrize(("slowing", "alarm"), [(1.1, False), (1.3, True)])
def test_slowing_hard_is_more_than_the_usual_braking(slowing: float, alarm: bool) -> None:
    session = ring_frames(
        3,
        hz=10.0,
        g_long=lambda way: -0.9 * between(way, 200, 300),
        brake_bar=lambda way: 30.0 * between(way, 200, 300),
    )
    session.columns["g_long"][700] = -slowing

    assert [incident.kind for incident in of(session)] == (["hard_deceleration"] if alarm else [])


def beside(metres: float, begin: float, end: float, *, speed: float = 25.0) -> Frames:
    """A drive round the ring, *metres* outside of it between two places of the first lap."""
    session = ring_frames(2, speed=speed, hz=20.0)
    way = session.columns["timestamp"] * speed - 400
    away = np.where((way >= begin) & (way < end), metres, 0.0)
    radius = LENGTH / (2 * np.pi)
    angle = way / radius
    x, y = (radius + away) * np.sin(angle), (radius + away) * np.cos(angle) - radius
    return change(session, **at(x, y, 46.0, 7.0))


@pytest.mark.parametrize(
    ("metres", "long_m", "result"),
    [(12.0, 40, True), (-12.0, 40, True), (7.5, 200, False), (12.0, 10, False)],
)
def test_leaving_the_line_needs_eight_metres_for_half_a_second(
    metres: float, long_m: float, result: bool
) -> None:
    session = beside(metres, 500, 500 + long_m)

    kinds = {incident.kind for incident in of(session)}
    assert kinds == ({"off_line"} if result else set())


def test_the_way_through_the_pits_is_not_off_the_line() -> None:
    assert of(beside(15.0, -400, -100)) == ()


def test_standing_in_a_lap_is_an_incident_and_in_the_pits_is_none() -> None:
    def halt(way: Numbers) -> Numbers:
        return 25.0 - 24.5 * between(way, 500, 503)

    (result,) = of(pace_frames(halt, 1, hz=10.0))
    assert (result.kind, result.lap) == ("stopped", 1)
    assert result.t_end - result.t_start == pytest.approx(6.0, abs=0.3)

    def before(way: Numbers) -> Numbers:
        return np.where((way > -200) & (way < -197), 0.5, 25.0)

    assert of(pace_frames(before, 1, hz=10.0)) == ()


def spun(turn_deg: float, behind: float, hz: float = 10.0) -> Frames:
    """Straight on at 30 m/s, a turn within a second, straight on with a share of the speed."""
    t = np.arange(0.0, 40.0, 1 / hz)
    heading = np.interp(t, [20, 21], [0.0, np.radians(turn_deg)])
    speed = np.interp(t, [20, 21], [30.0, 30.0 * behind])
    x = np.concatenate([[0], np.cumsum(speed * np.sin(heading))[:-1]]) / hz
    y = np.concatenate([[0], np.cumsum(speed * np.cos(heading))[:-1]]) / hz
    return frames(t, speed_ms=speed, **at(x, y, 46.0))


@pytest.mark.parametrize("hz", [2.0, 5.0, 10.0, 100.0])
@pytest.mark.parametrize(
    ("turn", "behind", "result"),
    [(170.0, 0.3, True), (-170.0, 0.3, True), (100.0, 0.3, False), (170.0, 0.9, False)],
)
def test_a_spin_turns_far_and_slows(turn: float, behind: float, result: bool, hz: float) -> None:
    drive = drive_on(spun(turn, behind, hz), partial=True)

    kinds = [incident.kind for incident in detect_incidents(drive)]
    assert kinds == (["spin"] if result else [])
    if result:
        (incident,) = find_spins(drive.series)
        assert incident.turned_deg == pytest.approx(abs(turn), abs=2)
        assert 18 <= drive.series.t[incident.first] <= 20.5


def test_a_hairpin_that_is_driven_fast_is_no_spin() -> None:
    session = rows(
        flushed(drivekit.between(make_schedule(LARKFELL, 60.0, NARROW, VESPER), 0.0, 140.0))
    )
    drive = drive_on(session, LARKFELL)

    assert find_spins(drive.series), "the course does turn that far"
    assert "spin" not in {incident.kind for incident in detect_incidents(drive)}


@pytest.mark.parametrize("hz", [10.0, 25.0])
def test_hairpins_of_a_kart_track_are_no_spins(hz: float) -> None:
    track, session = record("karting", 4, hz=hz)

    for drive in (drive_of(detect(session, gate=track.start)), drive_on(session, partial=True)):
        assert "spin" not in {incident.kind for incident in detect_incidents(drive)}


def test_a_car_that_stops_in_noise_does_not_spin() -> None:
    t = np.arange(0.0, 60.0, 0.04)
    noise = np.random.default_rng(3).normal(0, 0.5, (2, len(t)))
    speed = np.interp(t, [30.0, 31.8], [16.0, 0.5])
    x = np.cumsum(speed) * 0.04
    session = frames(t, speed_ms=speed, **at(x + noise[0], noise[1], 46.0))

    assert find_spins(drive_on(session, partial=True).series) == []


def spun_at(begin_m: float, turn_deg: float) -> Frames:
    """Along Larkfell's line at 25 m/s; from a place on the course turns away and the car stops."""
    assert LARKFELL.line is not None
    hz, path = 20.0, LARKFELL.line.ring
    t = np.arange(0.0, 40.0, 1 / hz)
    speed = np.interp(t, [30.0, 32.0], [25.0, 2.0])
    way = begin_m - 30.0 * 25.0 + np.concatenate([[0.0], np.cumsum(speed)[:-1]]) / hz
    (x, y), (ahead_x, ahead_y) = path.at(way), path.at(way + 0.5)
    course = np.arctan2(ahead_x - x, ahead_y - y)
    course += np.interp(t, [30.0, 31.0], [0.0, np.radians(turn_deg)])
    east, north = (np.cumsum(speed * turn(course)) / hz for turn in (np.sin, np.cos))
    lat, lon = LARKFELL.line.plane.latlon(east + x[0], north + y[0])
    return frames(t, speed_ms=speed, lat=lat, lon=lon)


@pytest.mark.parametrize("place", [400.0, 1060.0, 1075.0])  # a straight, Turn 4
@pytest.mark.parametrize("turn_deg", [170.0, 250.0])
def test_a_spin_in_a_corner_or_out_of_one_is_found(place: float, turn_deg: float) -> None:
    drive = drive_on(spun_at(place, turn_deg), LARKFELL, partial=True)

    assert drive.progress.basis == "line"
    assert "spin" in {incident.kind for incident in detect_incidents(drive)}


def test_a_pause_in_which_the_car_turned_is_no_spin() -> None:
    session = spun(170.0, 0.3)
    t = session.columns["timestamp"]

    assert detect_incidents(drive_on(keep(session, (t < 19.5) | (t > 22)), partial=True)) == ()


def jumping() -> Frames:
    """A car stops, and its position jumps a little."""
    t = np.arange(0.0, 60.0, 0.1)
    jumps = np.random.default_rng(3).normal(0, 0.03, len(t))
    x = np.where(t < 30, 20 * t, 600.0) + jumps
    return frames(t, speed_ms=np.where(t < 30, 20.0, 0.0), **at(x, 0 * x, 46.0))


def wandering() -> Frames:
    """A car stops, and its position goes around at the pace of a walk and faster."""
    t = np.arange(0.0, 120.0, 0.1)
    x = np.where(t < 30, 20 * t, 600.0) + np.where(t > 40, 8 * np.sin(t * 1.2), 0.0)
    y = np.where(t > 40, 8 * np.sin(t * 0.7), 0.0)
    return frames(t, speed_ms=np.where(t < 30, 20.0, np.abs(np.sin(t))), **at(x, y, 46.0))


def leaping() -> Frames:
    """The position of a braking car is 200 m back for a second."""
    t = np.arange(0.0, 40.0, 0.1)
    speed = np.interp(t, [20, 22], [30.0, 10.0])
    x = np.cumsum(speed) * 0.1
    x[(t > 20.5) & (t < 21.5)] -= 200.0
    return frames(t, speed_ms=speed, **at(x, 0 * x, 46.0))


@pytest.mark.parametrize("session", [jumping(), wandering(), leaping(), spun(170.0, 0.3, hz=0.5)])
def test_positions_with_faults_and_slow_recordings_show_no_spin(session: Frames) -> None:
    assert find_spins(drive_on(session, partial=True).series) == []


def signal(*pairs: tuple[float, float]) -> dict[str, Samples]:
    t, value = np.array(pairs, dtype=np.float64).T
    return {"abs_active": Samples(t, value)}


@pytest.mark.parametrize(
    ("pairs", "result"),
    [
        (((0, 0), (1, 1), (1.3, 0)), [(1.0, 1.3)]),
        (((0, 0), (1, 1), (1.2, 0)), []),
        (((0, 0), (1, 0.5), (2, 0)), []),
        (((0, 1), (0.1, 1), (0.2, 1), (0.4, 0)), [(0.0, 0.4)]),
        (((0, 1),), [(0.0, 1.0)]),  # stands for a second at most
        (((0, 1), (60, 1), (60.5, 0)), [(0.0, 1.0), (60.0, 60.5)]),
    ],
)
def test_assistance_is_at_work_from_sample_to_sample(
    pairs: tuple[tuple[float, float], ...], result: list[tuple[float, float]]
) -> None:
    assert [(item.t_start, item.t_end) for item in find_activity(signal(*pairs))] == result


def test_assistance_is_an_incident_of_low_severity() -> None:
    result = of(ring_frames(1, hz=10.0), Active("abs_active", 30.02, 30.7))

    assert [(item.kind, item.severity, item.frame, item.lap) for item in result] == [
        ("abs_active", "low", 300, 1)
    ]
    assert result[0].t_end == pytest.approx(30.7)


def test_assistance_after_midnight_lies_where_the_frames_go_on() -> None:
    plain = ring_frames(1, hz=10.0)
    late = change(plain, timestamp=(plain.columns["timestamp"] + 86_380.0) % 86_400)

    (result,) = of(late, Active("tc_active", 20.0, 20.5))
    assert result.frame == 400
