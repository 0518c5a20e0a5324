"""Drives on a known circuit without positions: where on it the laps begin, and its corners."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from runtime.bridge.analysis.drive import NoCorners, drive_of
from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.recording import WIDE, Frames
from runtime.bridge.session.series import build_series
from runtime.bridge.track.alignment import align_laps
from runtime.bridge.track.library import read_track
from runtime.bridge.track.model import Track
from tests.bridge.bridgekit import Bridge
from tests.bridge.truth.asking import send
from tests.bridge.truth.circuits import (
    KART,
    RACING_CAR,
    ROAD_CAR,
    Car,
    Numbers,
    corner_limit,
    drive_speed,
)
from tests.bridge.truth.drives import EPOCH_S

TRACKS: Final = Path(__file__).parents[3] / "data" / "tracks"
HZ: Final = 10.0
LAPS: Final = 5
NEAR_M: Final = 10.0


@dataclass(frozen=True)
class Rolled:
    """What a wheel and a clock record of a drive, and where it really was."""

    columns: dict[str, Numbers]
    way: Numbers
    """Metres from the line at each row; more than a lap after the first."""

    @property
    def laps(self) -> Laps:
        """Cut as a session that a driver says was on this circuit, by its distance alone."""
        n = len(self.way)
        wide = {name: self.columns.get(name, np.full(n, np.nan)) for name in WIDE}
        return detect_laps(build_series(Frames(wide)), track_length_m=larkfell().length_m)


@cache
def larkfell() -> Track:
    """The circuit that comes with a bridge."""
    return read_track(TRACKS / "larkfell.json")[0]


@cache
def roll(car: Car, begin_m: float, *, backwards: bool = False, radius: float = 1.0) -> Rolled:
    """A drive that begins at speed somewhere on the lap; *radius* is what the wheel's is off by."""
    line = larkfell().line
    assert line is not None
    step = line.length_m / len(line)
    x, y = line.plane.xy(line.lat, line.lon)
    heading = np.unwrap(np.arctan2(np.roll(x, -1) - x, np.roll(y, -1) - y))
    curvature = np.gradient(np.convolve(np.pad(heading, 4, "edge"), np.ones(9) / 9, "valid"), step)
    if backwards:
        curvature = curvature[::-1]
    limit = np.tile(corner_limit(curvature, car), LAPS + 2)
    speed = drive_speed(limit, step, car, limit[0], limit[-1])
    way = np.arange(len(speed)) * step
    t = np.concatenate([[0.0], np.cumsum(2 * step / (speed[1:] + speed[:-1]))])
    begin, end = np.interp([begin_m, begin_m + (LAPS + 0.5) * line.length_m], way, t)
    clock = np.arange(begin, end, 1 / HZ)
    noise = np.random.default_rng(7).normal(0.0, 0.1, len(clock))
    at = np.interp(clock, t, way)
    columns = {
        "timestamp": clock - begin + EPOCH_S,
        "distance_m": (at - begin_m) * radius,
        "speed_ms": (np.interp(clock, t, speed) + noise) * radius,
    }
    return Rolled(columns, at)


@pytest.mark.parametrize("car", [ROAD_CAR, RACING_CAR])
@pytest.mark.parametrize("begin_m", [0.0, 40.0, 700.0, 1800.0, 3500.0])
def test_laps_begin_at_the_line_wherever_the_recording_begins(car: Car, begin_m: float) -> None:
    made = roll(car, begin_m)

    laps = align_laps(made.laps, larkfell())

    assert laps.start == "line"
    assert len(laps.complete) in (LAPS - 1, LAPS)
    length = larkfell().length_m
    starts = np.interp([lap.t_start for lap in laps.complete], laps.series.t, made.way) % length
    assert np.minimum(starts, length - starts).max() <= NEAR_M


def test_a_wheel_that_measures_one_per_cent_too_much_does_no_harm() -> None:
    made = roll(ROAD_CAR, 1200.0, radius=1.01)

    laps = align_laps(made.laps, larkfell())

    length = larkfell().length_m
    first = float(np.interp(laps.complete[0].t_start, laps.series.t, made.way)) % length
    assert min(first, length - first) <= 0.02 * length


def test_no_corner_is_named_where_the_speed_fits_nowhere() -> None:
    laps = align_laps(roll(ROAD_CAR, 900.0, backwards=True).laps, larkfell())

    drive = drive_of(laps, larkfell())

    assert laps.complete
    assert laps.start == "unknown"
    assert drive.place == larkfell().name
    with pytest.raises(NoCorners):
        _ = drive.corners


def test_a_car_that_goes_flat_out_all_the_way_says_nothing_against_the_distance() -> None:
    laps = align_laps(roll(KART, 0.0).laps, larkfell())

    assert laps.complete
    assert laps.start == "assumed"


@pytest.mark.asyncio(loop_scope="module")
async def test_corners_have_the_speeds_that_were_driven_in_them(shared_bridge: Bridge) -> None:
    made = roll(ROAD_CAR, 1700.0)
    await shared_bridge.ok(
        "POST", "/session/start", {"session_id": "rolled", "driver": "Eva", "track": "Larkfell"}
    )
    await send(shared_bridge, "rolled", made.columns)

    scores = await shared_bridge.ok("GET", "/session/rolled/scorecard")

    length, speed = larkfell().length_m, 3.6 * made.columns["speed_ms"]
    for told, corner in zip(scores["corners"], larkfell().in_lap_order(), strict=True):
        off = np.abs((made.way - corner.apex.distance_m + length / 2) % length - length / 2)
        true = speed[off <= 60.0].min()
        assert told["corner"] == corner.name
        assert told["min_speed_kmh"] == pytest.approx(true, abs=0.1 * true)
