"""Highlights: what fires, how it is ranked, and what is left out."""

from typing import Any

import numpy as np
import pytest

from runtime.bridge.analysis.highlights import MOST, Moment, find_highlights
from runtime.bridge.analysis.incidents import Active
from runtime.bridge.analysis.reference import NONE, ReferenceLap, References, Target
from runtime.bridge.session.recording import Frames, Numbers
from runtime.bridge.track.library import Library
from tests.bridge.analysis.cornerkit import (
    between,
    drive_on,
    pace_frames,
    ring_frames,
    ring_track,
    without,
)
from tests.bridge.session.sessions import change, keep
from tests.bridge.track.examples import DATA
from tools.drive import USUAL
from tools.drive import drive as synthetic


def of(
    session: Frames, references: References = NONE, *active: Active, partial: bool = False
) -> tuple[Moment, ...]:
    return find_highlights(drive_on(session, ring_track(), partial=partial), references, active)


def file(**metrics: Any) -> References:
    target = Target(**{"corner_time_s": 4.0, **metrics})
    return References(
        {"ring": ReferenceLap(track="ring", lap_time_s=40.0, corners={"Turn 1": target})}
    )


def categories(result: tuple[Moment, ...]) -> list[str]:
    return [item.category for item in result]


def test_an_even_drive_has_a_best_lap_and_nothing_else() -> None:
    result = of(ring_frames(2, hz=20.0))

    assert set(categories(result)) <= {"best_lap", "best_sector"}
    best = next(item for item in result if item.category == "best_lap")
    assert best.title == "Best lap, 0:40.000"


def test_a_sector_that_was_not_faster_in_milliseconds_is_no_moment() -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frames = ring_frames(4, hz=20.0)
        noisy = frames.columns["distance_m"] + rng.normal(0, 1e-9, len(frames))
        result = of(change(frames, distance_m=noisy))
        assert "best_sector" not in categories(result)


def test_a_moment_lies_at_the_apex_of_its_own_lap() -> None:
    session = ring_frames(
        2,
        hz=10.0,
        t0=1000.0,
        combo_g=lambda way: 1.0 + 1.5 * between(way, 278, 282) * (way > 1000),
    )
    result = of(session, file(max_combo_g=1.2))

    item = next(item for item in result if item.category == "over_limit_in_corner")
    assert (item.lap, item.corner, item.severity) == (2, "Turn 1", "high")
    assert item.distance_m == pytest.approx(250, abs=3)
    assert item.timestamp_s == pytest.approx((1250 + 400) / 25, abs=0.11)
    assert item.timestamp == pytest.approx(1000 + item.timestamp_s)
    assert item.video_in_s == pytest.approx(item.timestamp_s - 3)
    assert item.video_out_s == pytest.approx(item.timestamp_s + 5)
    assert item.magnitude == pytest.approx(2.5 / 1.6)


def brake_from(begin: float, pressure: float = 25.0, laps: int = 1) -> Frames:
    return ring_frames(
        laps,
        hz=50.0,
        brake_bar=lambda way: pressure * between(way, begin, 240),
        throttle_pct=lambda way: 90.0 * between(way, 240, begin),
    )


@pytest.mark.parametrize(
    ("session", "reference", "category", "is_moment"),
    [
        (ring_frames(1, combo_g=1.61), {"max_combo_g": 1.2}, "over_limit_in_corner", True),
        (ring_frames(1, combo_g=1.6), {"max_combo_g": 1.2}, "over_limit_in_corner", False),
        (ring_frames(3, combo_g=2.3), {"max_combo_g": 1.2}, "over_limit_in_corner", False),
        (ring_frames(1, combo_g=1.88), {"max_combo_g": 1.8}, "over_limit_in_corner", False),
        (ring_frames(1, combo_g=1.9), {"max_combo_g": 1.8}, "over_limit_in_corner", True),
        (brake_from(150), {"brake_point_m": 60.0}, "late_brake_vs_reference", True),
        (brake_from(143), {"brake_point_m": 60.0}, "late_brake_vs_reference", False),
        (brake_from(100), {"brake_point_m": 60.0}, "late_brake_vs_reference", False),
        (brake_from(100, 31), {"peak_brake_bar": 19.0}, "overbraked_vs_reference", True),
        (brake_from(100, 30), {"peak_brake_bar": 19.0}, "overbraked_vs_reference", False),
        (brake_from(100, 50), {"peak_brake_bar": 20.0}, "overbraked_vs_reference", False),
        (ring_frames(1), {"exit_speed_kmh": 93.1}, "slow_exit_vs_reference", True),
        (ring_frames(1), {"exit_speed_kmh": 92.9}, "slow_exit_vs_reference", False),
    ],
)
def test_a_moment_is_what_differs_enough_from_the_reference(
    session: Frames, reference: dict[str, float], category: str, is_moment: bool
) -> None:
    assert (category in categories(of(session, file(**reference)))) is is_moment


@pytest.mark.parametrize(("laps", "result"), [(2, False), (3, True)])
def test_the_own_best_pass_tells_from_three_laps_on(laps: int, result: bool) -> None:
    def pace(way: Numbers) -> Numbers:
        speed: Numbers = 30.0 - np.where(way < 1000, 10.0, 5.0) * between(way, 180, 320)
        return speed

    moments = of(pace_frames(pace, laps, hz=20.0))
    assert ("slow_exit_vs_reference" in categories(moments)) is result
    assert "improved_vs_first_pass" in categories(moments)
    for moment in moments:
        if moment.category == "slow_exit_vs_reference":
            assert moment.lap == 1
            assert "the quickest pass" in moment.narrative_seed


@pytest.mark.parametrize(
    ("apex_bar", "result"), [(0.9, False), (1.0, True), (4.0, True), (4.2, False)]
)
def test_a_clean_release_keeps_a_little_brake_to_the_apex(apex_bar: float, result: bool) -> None:
    session = ring_frames(
        1,
        hz=50.0,
        brake_bar=lambda way: 20.0 * between(way, 150, 210) + apex_bar * between(way, 210, 255),
        throttle_pct=lambda way: 50.0 * between(way, 255, 150),
    )

    assert ("clean_trail_brake" in categories(of(session))) is result


def test_coasting_through_a_corner() -> None:
    session = ring_frames(
        1, hz=50.0, throttle_pct=lambda way: 50.0 * between(way, 215, 200), brake_bar=0.0
    )
    assert "coast_in_corner" in categories(of(session))
    assert "coast_in_corner" not in categories(of(without(session, "brake_bar")))


def test_gaps_of_the_recording_come_last() -> None:
    session = ring_frames(3, hz=10.0)
    t = session.columns["timestamp"]
    result = of(keep(session, ((t < 30) | (t > 32)) & ((t < 70) | (t > 70.9))))

    gaps = [item for item in result if item.category == "telemetry_gap"]
    assert result[-2:] == tuple(gaps)
    assert [item.timestamp for item in gaps] == pytest.approx([29.9, 69.9])
    assert gaps[0].severity == "engineering"


def test_a_sector_that_another_lap_drove_faster_is_a_highlight() -> None:
    def pace(way: Numbers) -> Numbers:
        first = (way < 1000) * between(way, 400, 500)  # 1 m/s faster in S2 of lap 1 only
        return 25.0 + first + 0.5 * (way >= 1000)

    result = [
        frame for frame in of(pace_frames(pace, 2, hz=20.0)) if frame.category == "best_sector"
    ]
    assert result == []  # lap 2 is faster everywhere else and nearly there

    def quicker(way: Numbers) -> Numbers:
        speed: Numbers = 25.0 + 5 * (way < 1000) * between(way, 400, 500) + (way >= 1000)
        return speed

    (frame,) = [
        frame for frame in of(pace_frames(quicker, 2, hz=20.0)) if frame.category == "best_sector"
    ]
    assert (frame.lap, frame.title, frame.severity) == (1, "Best Sector 2", "positive")
    assert frame.distance_m == pytest.approx(2000 / 3, abs=3)


def test_incidents_are_highlights_and_assistance_is_the_least_of_them() -> None:
    session = ring_frames(1, hz=10.0, combo_g=1.0)
    session.columns["combo_g"][260] = 2.1
    active = (Active("abs_active", 45.0, 48.0),)

    result = [item for item in of(session, NONE, *active) if item.category == "incident"]
    assert [item.title for item in result] == ["Very high load", "Anti-lock brakes at work"]
    assert all(item.severity == "high" for item in result)


@pytest.mark.parametrize("seed", range(4))
def test_at_most_eight_of_which_few_are_alike(seed: int) -> None:
    track = Library.read(DATA).tracks["larkfell"]
    session = synthetic(track, 4, hz=20.0, skill=0.7, seed=seed, noise=USUAL).frames
    drive = drive_on(session, track)
    result = find_highlights(drive)

    assert len(result) == MOST
    assert [item.id for item in result] == [f"h{i}" for i in range(MOST)]
    order = ["high", "medium", "positive", "engineering"]
    ranks = [(order.index(item.severity), -item.magnitude) for item in result]
    assert ranks == sorted(ranks)
    names = categories(result)
    assert max(names.count(name) for name in names) <= 2
    corners = [item.corner for item in result if item.corner]
    assert max((corners.count(name) for name in corners), default=0) <= 3
    assert find_highlights(drive_on(session, track)) == result
    for item in result:
        assert drive.series.t[0] <= item.timestamp <= drive.series.t[-1]
        assert item.video_in_s < item.video_out_s
        assert item.narrative_seed.endswith(".")


def test_fewer_than_eight_are_filled_up_with_more_of_a_kind() -> None:
    session = ring_frames(12, hz=10.0, combo_g=1.0)
    for at in (200, 350, 500, 650, 800, 950, 1100, 1250, 1400):
        session.columns["combo_g"][at] = 2.5

    result = of(session)
    assert len(result) == MOST
    assert categories(result).count("incident") > 2


def test_without_known_corners_the_rest_is_found() -> None:
    session = ring_frames(2, distance_m=lambda way: way % 1000, combo_g=1.0)
    session.columns["combo_g"][300] = 2.5
    bare = without(session, "lat", "lon")
    result = find_highlights(drive_on(bare, ring_track(line=False, corners=())))

    assert {"incident", "best_lap"} <= set(categories(result))


def test_a_part_of_a_lap_has_moments_but_no_best_lap() -> None:
    session = ring_frames(0, hz=10.0, combo_g=1.0)
    session.columns["combo_g"][100] = 2.5
    result = of(session, partial=True)

    assert categories(result) == ["incident"]
    assert result[0].lap == 1


def test_what_lies_outside_complete_laps_has_lap_zero() -> None:
    session = ring_frames(1, hz=10.0, combo_g=1.0)
    session.columns["combo_g"][20] = 2.5

    assert [item.lap for item in of(session) if item.category == "incident"] == [0]
