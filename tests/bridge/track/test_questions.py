"""What is asked of a circuit: markers, weather, elevation."""

from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.track.file import parse_track
from runtime.bridge.track.model import (
    Profile,
    Track,
    TrackError,
    filter_markers,
    find_phase,
    is_inside,
    sample_elevation,
)
from tests.bridge.track.examples import text


@pytest.fixture
def track() -> Track:
    return parse_track(text(), "round")[0]


@pytest.mark.parametrize(
    ("corner", "kind", "ids"),
    [
        (None, None, ["m1", "m2", "m3"]),
        ("Turn 2", None, ["m1", "m2"]),
        ("2", None, ["m1", "m2"]),
        ("turn 2", None, []),
        ("1", None, []),
        (None, "brake_ref", ["m1"]),
        (None, "brake", ["m1"]),
        (None, "visual", ["m3"]),
        (None, "tree", []),
        ("2", "apex", ["m2"]),
        ("", None, []),
    ],
)
def test_markers_by_corner_and_kind(
    track: Track, corner: str | None, kind: str | None, ids: list[str]
) -> None:
    assert [m.id for m in filter_markers(track, corner=corner, kind=kind)] == ids


def test_the_circuits_own_weather_goes_first(track: Track) -> None:
    assert [find_phase(hour, track).id for hour in (10, 11, 13, 14)] == [
        "warm_up",
        "noon",
        "noon",
        "peak_grip",
    ]


@pytest.mark.parametrize("hour", [-1, 24])
def test_there_is_no_weather_outside_the_day(hour: int) -> None:
    with pytest.raises(ValueError, match="0 to 23"):
        find_phase(hour)


@pytest.mark.parametrize(("step", "count"), [(10.0, 426), (50.0, 86), (1000.0, 5), (4258.0, 2)])
def test_elevation_is_sampled_up_to_the_end_of_the_profile(
    track: Track, step: float, count: int
) -> None:
    profile = Profile(np.array([0.0, 4258.0]), np.array([10.0, 52.58]))
    result = sample_elevation(replace(track, length_m=4258.0, elevation=profile), step)

    assert result.source == "json_profile"
    assert len(result.distance) == count
    np.testing.assert_allclose(result.altitude, 10 + result.distance / 100)
    assert result.lowest == 10.0


def test_without_a_profile_the_line_tells_the_heights(track: Track) -> None:
    result = sample_elevation(replace(track, elevation=None), 2.5)

    assert result.source == "reference_line"
    assert len(result.distance) == 401
    assert result.altitude[:3].tolist() == pytest.approx([100.0, 100.05, 100.1])
    assert result.altitude[-1] == pytest.approx(100.0)  # once around


def test_without_any_heights_there_are_no_samples(track: Track) -> None:
    assert track.line is not None
    flat = replace(track.line, altitude=np.full(len(track.line), np.nan))
    result = sample_elevation(replace(track, elevation=None, line=flat))

    assert (result.source, len(result.distance)) == ("missing", 0)
    assert (result.lowest, result.highest) == (None, None)


def test_without_a_line_there_is_no_elevation_though_there_is_a_profile(track: Track) -> None:
    with pytest.raises(TrackError, match="reference_line"):
        sample_elevation(replace(track, line=None))


def test_a_window_may_straddle_the_line() -> None:
    assert [is_inside(d, 950, 60, 1000) for d in (949, 950, 0, 60, 61)] == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert [is_inside(d, 400, 600, 1000) for d in (399, 400, 600, 601)] == [
        False,
        True,
        True,
        False,
    ]


def test_corners_are_found_by_name_or_number_and_listed_in_lap_order(track: Track) -> None:
    assert [c.name for c in track.in_lap_order()] == ["Turn 1", "Turn 2"]
    result = track.corner("2")
    assert result is not None
    assert result.name == "Turn 2"
    assert track.corner("Turn") is None
