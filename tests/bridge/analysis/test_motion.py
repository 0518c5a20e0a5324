"""Statistics, friction circle, hustle map, pedals and straights, from formulas."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.analysis.grip import measure_friction_circle
from runtime.bridge.analysis.pedals import (
    Pedals,
    measure_hustle,
    measure_pedals,
)
from runtime.bridge.analysis.reference import ReferenceLap, References, Target
from runtime.bridge.analysis.stats import compute_stats, measure_straights
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Numbers
from tests.bridge.analysis.lapkit import (
    LENGTH,
    OVAL,
    drive_laps,
    on_track,
    oval,
    session,
)
from tests.bridge.session.sessions import change, circle, circle_gate, keep

PLAIN = [(20.0, 20.0, 20.0)] * 2
COUNT = len(session(PLAIN))
STATES = ("throttle_only", "brake_only", "trail_brake", "coast")


def counts(result: Pedals) -> tuple[int | None, ...]:
    """Frames on the throttle, on the brake, on both, on neither."""
    return tuple(getattr(result.states, name).frames for name in STATES)


def make(**channels: Numbers | float) -> Drive:
    """Two laps of a minute at an even 50 m/s, 1201 frames."""
    return drive_of(detect(change(session(PLAIN), **channels), track_length_m=LENGTH))


def test_even_driving_has_even_numbers() -> None:
    result = compute_stats(make(throttle_pct=100.0, brake_bar=0.0, g_lat=-0.5, g_long=0.0))

    assert result.top_speed_kmh == pytest.approx(180.0)
    assert result.average_speed_kmh == pytest.approx(180.0)
    assert result.max_g_lat == result.max_combo_g == pytest.approx(0.5)
    assert (result.max_accel_g, result.max_decel_g, result.max_brake_bar) == (0.0, 0.0, 0.0)
    assert result.longest_full_throttle_s == pytest.approx(120.0)
    assert (result.n_frames, result.n_laps, result.n_gaps) == (COUNT, 2, 0)
    assert result.session_duration_s == pytest.approx(120.0)
    assert result.distance_m == pytest.approx(2 * LENGTH)
    assert result.best_lap_s == pytest.approx(60.0)
    assert result.sample_rate_hz == pytest.approx(10.0)
    assert result.time_on_track_s == result.session_duration_s  # the last frame lasts beyond it


def test_the_average_speed_is_over_time_not_over_frames() -> None:
    frames = session([(10.0, 10.0, 40.0)] * 2)
    t = frames.columns["timestamp"]
    sparse = keep(frames, (t < 60.0) | (np.arange(len(t)) % 4 == 0))  # the second lap at 2.5 Hz

    result = compute_stats(drive_of(detect(sparse, track_length_m=LENGTH)))

    assert result.average_speed_kmh == pytest.approx(3.6 * 2 * LENGTH / 120.0, rel=0.01)


def test_full_throttle_runs_end_at_a_lift_and_at_a_pause() -> None:
    throttle = np.full(COUNT, 100.0)
    throttle[300:310] = 94.9
    frames = session(PLAIN, throttle_pct=throttle)
    assert compute_stats(make(throttle_pct=throttle)).longest_full_throttle_s == pytest.approx(89.0)

    t = frames.columns["timestamp"]
    paused = detect(keep(frames, (t < 60.0) | (t > 63.0)), track_length_m=LENGTH)

    assert compute_stats(drive_of(paused)).longest_full_throttle_s == pytest.approx(56.9)
    assert compute_stats(drive_of(paused)).n_gaps == 1


def test_the_friction_circle_of_even_cornering_is_one_bin() -> None:
    result = measure_friction_circle(make(g_lat=0.6, g_long=0.8))

    assert result.max_combo_g_observed == result.envelope_g == pytest.approx(1.0)
    assert result.histogram_pct == pytest.approx([0.0] * 9 + [100.0])
    assert result.over_limit_pct == 0.0
    assert result.basis == "session"
    assert len(result.samples) == COUNT


def test_the_envelope_is_half_a_g_at_least_and_that_of_the_reference_where_there_is_one() -> None:
    gentle = make(g_lat=0.1, g_long=0.0)
    assert measure_friction_circle(gentle).envelope_g == 0.5

    drive, _ = oval(2)
    lap = ReferenceLap(
        track=OVAL.id, lap_time_s=20.0, corners={"Turn 1": Target(5.0)}, max_combo_g=0.4
    )
    result = measure_friction_circle(drive, References({OVAL.id: lap}))

    assert (result.envelope_g, result.basis) == (0.4, "reference_file")
    assert result.over_limit_pct is not None
    assert result.over_limit_pct > 10.0


def test_a_recorded_combination_counts_before_one_of_its_parts() -> None:
    assert (
        measure_friction_circle(make(g_lat=0.6, g_long=0.8, combo_g=2.0)).max_combo_g_observed
        == 2.0
    )


@pytest.mark.parametrize(("most", "stride", "count"), [(1500, 1, 1201), (500, 2, 500), (7, 171, 7)])
def test_the_scatter_takes_every_so_manyth_frame(most: int, stride: int, count: int) -> None:
    g_lat = np.arange(COUNT) / COUNT

    result = measure_friction_circle(make(g_lat=g_lat, g_long=0.0), samples=most)

    assert [sample.gLat for sample in result.samples] == g_lat[::stride][:count].tolist()


@given(
    arrays.arrays(np.float64, COUNT, elements=st.floats(-3, 3)),
    arrays.arrays(np.float64, COUNT, elements=st.floats(0, 100)),
    arrays.arrays(np.float64, COUNT, elements=st.one_of(st.just(math.nan), st.floats(0, 90))),
)
def test_shares_add_up_whatever_was_recorded(g: Numbers, throttle: Numbers, brake: Numbers) -> None:
    drive = make(g_lat=g, g_long=g[::-1], throttle_pct=throttle, brake_bar=brake)

    histogram = measure_friction_circle(drive).histogram_pct
    assert sum(share or 0.0 for share in histogram) == pytest.approx(100.0)
    result = measure_pedals(drive)
    assert sum(count or 0 for count in counts(result)) == (~np.isnan(brake)).sum()
    shares = [state.pct or 0.0 for state in (getattr(result.states, name) for name in STATES)]
    assert sum(shares) == pytest.approx(0.0 if np.isnan(brake).all() else 100.0)
    for stretch in measure_hustle(drive):
        assert stretch.fraction is not None
        assert 0.0 <= stretch.fraction <= 1.0


def test_the_hustle_map_is_the_share_of_time_in_steps_of_fifty_metres() -> None:
    place = session(PLAIN).columns["distance_m"]
    lap, at = place // LENGTH, place % LENGTH
    throttle = np.where((at < 100) | ((at >= 200) & (at < 300) & (lap == 0)), 95.0, 94.0)

    result = measure_hustle(make(throttle_pct=throttle))

    assert len(result) == 60
    assert [item.start_m for item in result[:3]] == [0.0, 50.0, 100.0]
    shares = [item.fraction for item in result[:7]]
    assert shares == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.5, 0.5, 0.0])
    assert sum(item.n_frames for item in result) == 1201
    assert result[10].n_frames == 20


def test_the_last_step_of_the_hustle_map_ends_with_the_lap() -> None:
    result = measure_hustle(oval(2)[0])

    assert len(result) == math.ceil(OVAL.length_m / 50)
    assert result[-1].end_m == pytest.approx(OVAL.length_m)
    assert result[-1].start_m == 50 * (len(result) - 1)


def test_pedals_are_down_strictly_above_their_thresholds() -> None:
    throttle, brake = np.zeros(COUNT), np.zeros(COUNT)
    throttle[:400], brake[300:500] = 5.0, 1.0
    throttle[:100], brake[300:350] = 5.1, 1.1
    throttle[320:350] = 50.0
    drive = make(throttle_pct=throttle, brake_bar=brake)

    result = measure_pedals(drive)
    assert counts(result) == (100, 20, 30, COUNT - 150)
    assert result.frame_dt_s == pytest.approx(0.1)
    zero = measure_pedals(drive, 0.0, 0.0)
    assert counts(zero) == (300, 100, 100, COUNT - 500)


def test_the_time_in_a_state_is_that_of_the_clock_not_of_its_frames() -> None:
    frames = session([(10.0, 10.0, 40.0)] * 2)
    t = frames.columns["timestamp"]
    throttle = np.where(t < 60.0, 50.0, 0.0)
    pedals = change(frames, throttle_pct=throttle, brake_bar=0.0)
    sparse = keep(pedals, (t < 60.0) | (np.arange(len(t)) % 4 == 0))

    result = measure_pedals(drive_of(detect(sparse, track_length_m=LENGTH)))

    power, _, _, coast = (count or 0 for count in counts(result))
    assert power == 4 * (coast - 1)
    assert result.states.throttle_only.time_s == pytest.approx(60.0)
    assert result.states.coast.time_s == pytest.approx(60.0, abs=0.2)


def test_rows_in_bursts_give_the_numbers_of_an_even_recording() -> None:
    even = session([(10.0, 10.0, 40.0)] * 2)
    t = even.columns["timestamp"]
    rows = np.repeat(np.arange(len(t)), 4)
    burst = {name: values[rows] for name, values in even.columns.items()}
    burst["timestamp"] = (t[:, None] + np.array([-0.02, -0.01, -0.005, 0.0])).ravel()

    ours = compute_stats(drive_of(detect(Frames(burst), track_length_m=LENGTH)))
    usual = compute_stats(drive_of(detect(even, track_length_m=LENGTH)))

    assert ours.average_speed_kmh == pytest.approx(usual.average_speed_kmh)
    assert ours.time_on_track_s == pytest.approx(usual.time_on_track_s)
    assert ours.sample_rate_hz == pytest.approx(10.0)


def test_straights_have_their_top_speed_and_the_lap_it_is_of() -> None:
    drive, _ = oval(3)
    place, speed = drive.progress.p, drive.series["speed_ms"] * 3.6

    result = measure_straights(drive)

    assert [item.name for item in result] == ["Main straight", "Straight 2"]
    back = (place >= 348.5) & (place <= 668.5)
    assert result[1].top_speed_kmh == speed[back].max()
    assert [top.lap_number for top in result[1].per_lap] == [1, 2, 3]
    for top, lap in zip(result[1].per_lap, drive.counted, strict=True):
        assert top.top_speed_kmh == speed[lap.frames][back[lap.frames]].max()
    main = (place >= 856.99) | (place <= 160.0)
    assert result[0].top_speed_kmh == speed[main].max()
    tops = [top.top_speed_kmh for top in result[0].per_lap]
    assert result[0].average_top_kmh == pytest.approx(sum(tops) / 3)


def test_a_top_speed_on_the_way_in_belongs_to_no_lap() -> None:
    drive, _ = oval(2)
    columns = dict(drive.series.frames.columns)
    last = drive.counted[-1]
    speed = columns["speed_ms"].copy()
    speed[last.last + 3] += 10.0
    again = on_track(OVAL, Frames({**columns, "speed_ms": speed}))

    result = measure_straights(again)[0]

    assert (result.top_speed_kmh, result.from_lap) == (speed[last.last + 3] * 3.6, None)
    assert max(top.top_speed_kmh for top in result.per_lap) < 99.0 * 3.6


def test_a_straight_that_was_driven_in_part_only_has_no_top_speed_of_it() -> None:
    drive, _ = oval(2)
    columns = dict(drive.series.frames.columns)
    first, last = drive.counted[0].first, drive.counted[-1].last
    columns["speed_ms"] = columns["speed_ms"].copy()
    columns["speed_ms"][:first] *= 1.2
    columns["speed_ms"][last:] *= 1.2
    cut = {name: values[first - 6 : last + 6] for name, values in columns.items()}

    result = measure_straights(on_track(OVAL, Frames(cut)))[0]

    assert result.top_speed_kmh == max(top.top_speed_kmh for top in result.per_lap)
    assert result.from_lap is not None


def test_a_lap_at_one_hertz_and_over_midnight_is_whole() -> None:
    frames = circle(130.0, hz=1.0)
    late = change(frames, timestamp=(frames.columns["timestamp"] + 86_350.0) % 86_400.0)
    drive = drive_of(detect(late, gate=circle_gate(), track_length_m=1000.0))

    result = compute_stats(drive)

    assert result.n_laps == 3
    assert result.best_lap_s == pytest.approx(40.0, abs=0.05)
    assert result.session_duration_s == pytest.approx(129.0)
    assert drive_laps(PLAIN, hz=1.0).best.duration_s == pytest.approx(60.0)
