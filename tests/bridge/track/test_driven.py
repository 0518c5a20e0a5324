"""The line that a session drives, and its corners, on circuits whose corners are known."""

import math
from dataclasses import astuple
from typing import Final

import numpy as np
import pytest

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Gate
from runtime.bridge.simulator.car import Car
from runtime.bridge.track.build import build_from_laps
from runtime.bridge.track.corners import find_corners
from runtime.bridge.track.model import Track
from tools.drive import Noise, drive
from tools.tracks import Bend, Part, draw

KART: Final = Car(grip=1.6, brake_g=0.9, drive_g=0.35, power=60.0, top_ms=30.0)
FIXES: Final = Noise(gps_m=1.0, gps_jitter_m=0.5, speed_ms=0.1)


def turn(degrees: float, radius: float, ease: float = 3.0) -> Bend:
    return Bend(degrees, radius, ease)


KARTING: Final[list[Part]] = [
    60.2,
    turn(90, 8.1),
    25.2,
    turn(-180, 13.7),
    40.9,
    turn(180, 8.7),
    121.2,
    turn(60, 8.2),
    108.4,
    turn(180, 14.8),
    25.6,
    turn(-180, 9.3),
    57.5,
    turn(90, 11.1),
    24.0,
    turn(90, 8.7),
    44.6,
    turn(-60, 9.5),
    63.4,
    turn(90, 15.6),
]
"""834 m; ten corners of 8 to 16 m radius."""
SWEEPERS: Final[list[Part]] = [
    900.0,
    Bend(110, 300, 60),
    500.0,
    Bend(100, 60, 20),
    600.0,
    Bend(-60, 220, 50),
    400.0,
    Bend(120, 30, 10),
    700.0,
    Bend(90, 350, 60),
]
"""Two long sweepers right, one left, and two slow corners."""
ESSES: Final[list[Part]] = [
    600.0,
    turn(60, 50, 15),
    turn(-80, 45, 15),
    turn(80, 45, 15),
    turn(-60, 50, 15),
    148.0,
    turn(180, 60, 10),
    608.0,
    turn(-90, 40, 10),
    133.0,
    turn(180, 35, 10),
    354.0,
    turn(90, 50, 10),
]
CAROUSEL: Final[list[Part]] = [
    415.0,
    turn(-60, 60, 20),
    158.0,
    turn(270, 60, 20),
    159.0,
    turn(-90, 30, 10),
    442.0,
    turn(120, 80, 20),
    145.0,
    turn(120, 50, 20),
]
KINKS: Final[list[Part]] = [
    250.0,
    Bend(12, 1200, 40),
    250.0,
    turn(180, 50, 10),
    250.0,
    Bend(-12, 1200, 40),
    250.0,
    turn(192, 50, 10),
    300.0,
    Bend(-12, 1200, 40),
    200.0,
]
"""Kinks of 1200 m radius on the straights between two hairpins."""


def circuit(parts: list[Part], free: tuple[int, int]) -> Track:
    """A flat circuit of *parts*; the two *free* straights close it."""
    shape = draw(parts, free=free, start_m=40.0, step=2.0)
    lat, lon = Plane(46.0, 7.0).latlon(shape.x, shape.y)
    line = Line(shape.distance, lat, lon, np.full(len(lat), np.nan), shape.length_m)
    start = Gate(float(lat[0]), float(lon[0]), line.ring.heading(0.0))
    return Track("made", "Made", shape.length_m, start, line=line)


CIRCUITS: Final = {
    "karting": (KARTING, (0, 6), KART, "RLRRRLRRLR"),
    "sweepers": (SWEEPERS, (0, 4), Car(), "RRLRR"),
    "esses": (ESSES, (0, 9), Car(), "RLRLRLRR"),
    "carousel": (CAROUSEL, (0, 6), Car(), "LRLRR"),
}


def record(name: str, laps: int, *, hz: float = 10.0, seed: int = 1) -> tuple[Track, Frames]:
    parts, free, car, _ = CIRCUITS[name]
    track = circuit(parts, free)
    return track, drive(track, laps, hz=hz, noise=FIXES, car=car, seed=seed).frames


@pytest.mark.parametrize("name", CIRCUITS)
def test_a_centreline_alone_shows_its_corners(name: str) -> None:
    parts, free, _, turns = CIRCUITS[name]
    line = circuit(parts, free).line

    assert line is not None
    assert "".join(c.direction[0].upper() for c in find_corners(line)) == turns


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("seed", [1, 2])
def test_half_a_metre_of_noise_hides_no_corner_and_makes_none(name: str, seed: int) -> None:
    track, frames = record(name, 6, seed=seed)

    drive = drive_of(detect(frames, gate=track.start))

    assert "".join(c.direction[0].upper() for c in drive.corners) == CIRCUITS[name][3]
    assert drive.length_m == pytest.approx(track.length_m, rel=0.006)


@pytest.mark.parametrize("name", CIRCUITS)
def test_a_circuit_made_of_a_session_has_the_corners_of_the_session(name: str) -> None:
    track, frames = record(name, 3)
    laps = detect(frames, gate=track.start)

    drive, made = drive_of(laps), build_from_laps(laps, "Made").track

    assert (made.length_m, made.straights) == (drive.length_m, drive.straights)
    assert [astuple(sector) for sector in made.sectors] == [tuple(span) for span in drive.sectors]
    for result, built in zip(drive.corners, made.corners, strict=True):
        assert (result.name, result.direction, result.severity) == (
            built.name,
            built.direction,
            built.severity,
        )
        places = [
            (c.entry.distance_m, c.apex.distance_m, c.exit.distance_m) for c in (result, built)
        ]
        assert places[0] == places[1]


def test_a_kink_that_is_taken_flat_is_no_corner() -> None:
    track = circuit(KINKS, (0, 4))
    assert track.line is not None
    frames = drive(track, 3, hz=10.0, seed=1).frames

    assert len(drive_of(detect(frames, gate=track.start)).corners) == 2
    assert len(find_corners(track.line)) == 2


def test_positions_alone_show_the_corners_too() -> None:
    track, frames = record("esses", 4)
    bare = Frames(
        {
            name: values if name in ("timestamp", "lat", "lon") else values * math.nan
            for name, values in frames.columns.items()
        }
    )

    corners = drive_of(detect(bare, gate=track.start)).corners

    assert "".join(c.direction[0].upper() for c in corners) == CIRCUITS["esses"][3]


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize(("hz", "held"), [(1.0, 1), (100.0, 1), (50.0, 10)])
def test_slow_fast_and_held_fixes_show_the_same_corners(name: str, hz: float, held: int) -> None:
    track, frames = record(name, 4, hz=hz)
    columns = dict(frames.columns)
    fixes = np.arange(len(frames)) // held * held
    columns |= {place: columns[place][fixes] for place in ("lat", "lon")}

    drive = drive_of(detect(Frames(columns), gate=track.start))

    assert "".join(c.direction[0].upper() for c in drive.corners) == CIRCUITS[name][3]
