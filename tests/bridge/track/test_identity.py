"""Which circuit a session belongs to: what its positions, its driver and its laps say."""

from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.session.geometry import METRES_PER_DEGREE
from runtime.bridge.session.recording import Frames, Numbers
from runtime.bridge.session.series import build_series
from runtime.bridge.track.build import Trace, build_from_centreline
from runtime.bridge.track.identity import Identity, identify_circuit
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tests.bridge.session.sessions import at, change, frames, keep
from tests.bridge.simulator.drivekit import LARKFELL, TRACKS
from tools.drive import USUAL, drive

CIRCUITS = Library(TRACKS)
EAST: float = METRES_PER_DEGREE * float(np.cos(np.radians(LARKFELL.start.lat)))
"""Metres of a degree of longitude at Larkfell."""


def identify(recorded: Frames, words: str = "", library: Library = CIRCUITS) -> Identity:
    return identify_circuit(build_series(recorded), words, library)


def move(recorded: Frames, east_m: float) -> Frames:
    """The same drive somewhere else."""
    return change(recorded, lon=recorded.columns["lon"] + east_m / EAST)


def blind(recorded: Frames) -> Frames:
    return change(recorded, lat=np.nan, lon=np.nan)


@pytest.fixture(scope="module")
def laps() -> Frames:
    """Two laps of Larkfell by a usual receiver, with the ways out and in."""
    return drive(LARKFELL, 2, noise=USUAL).frames


def circuit_of(name: str, x: Numbers, y: Numbers) -> Track:
    """A circuit through corners in metres, which are rounded off a little."""
    t = np.linspace(0, 1, len(x) + 1)
    dense = np.linspace(0, 1, 400, endpoint=False)
    east, north = np.interp(dense, t, np.append(x, x[0])), np.interp(dense, t, np.append(y, y[0]))
    place = at(east, north)
    return build_from_centreline(
        Trace(place["lat"], place["lon"], np.full(400, np.nan)), name
    ).track


def without(track: Track, begin: float, end: float) -> Track:
    """Another layout of a circuit, straight on between two places, given as shares of its lap."""
    line = track.line
    assert line is not None
    share = line.distance / line.length_m
    kept = (share < begin) | (share > end)
    trace = Trace(line.lat[kept], line.lon[kept], np.full(kept.sum(), np.nan))
    return build_from_centreline(trace, "Layout").track


def beside(track: Track, aside_m: float) -> Track:
    """A circuit whose line lies to the right of another one's."""
    line = track.line
    assert line is not None
    ring = line.ring
    dx, dy = ring.chords
    length = np.hypot(dx, dy)
    lat, lon = line.plane.latlon(ring.x + aside_m * dy / length, ring.y - aside_m * dx / length)
    return build_from_centreline(Trace(lat, lon, np.full(len(lat), np.nan)), "Beside").track


def test_positions_along_a_line_name_its_circuit_and_nobody_has_to(laps: Frames) -> None:
    assert identify(laps) == (LARKFELL, "positions", "Larkfell Circuit")
    assert identify(laps, "larkfell") == (LARKFELL, "driver", "larkfell")
    assert identify(laps, "Club day") == (LARKFELL, "positions", "Larkfell Circuit")


@pytest.mark.parametrize("seconds", [20, 45, 90])
def test_a_part_of_a_lap_is_enough(laps: Frames, seconds: int) -> None:
    begun = keep(laps, laps.columns["timestamp"] < seconds)
    assert identify(begun).track is LARKFELL


@pytest.mark.parametrize("east_m", [80.0, 600.0, 2400.0, 30_000.0])
def test_a_drive_beside_the_line_is_not_on_the_circuit(laps: Frames, east_m: float) -> None:
    assert identify(move(laps, east_m)) == Identity()


def test_a_small_circuit_is_known_by_its_positions() -> None:
    x, y = np.array([0.0, 0.0, 40.0, 40.0, 80.0, 80.0]), np.array([0.0, 90, 90, 40, 40, 0])
    small = circuit_of("Kart hall", x, y)
    assert small.line is not None
    t = np.arange(0.0, 3 * small.length_m / 10.0, 0.2)
    lat, lon = small.line.plane.latlon(*small.line.ring.at(t * 10.0))
    recorded = frames(t, speed_ms=10.0, lat=lat, lon=lon)

    assert identify(recorded, library=Library({small.id: small})).track is small


@pytest.mark.parametrize("east_m", [2400.0, 30_000.0])
def test_positions_elsewhere_win_over_what_the_driver_said(laps: Frames, east_m: float) -> None:
    assert identify(move(laps, east_m), "Larkfell") == Identity()
    assert identify(move(laps, east_m), "Home Park") == Identity(name="Home Park")


def test_positions_near_the_circuit_leave_the_driver_the_word(laps: Frames) -> None:
    assert identify(move(laps, 80.0), "Larkfell").ground == "driver"


def test_a_lap_the_other_way_round_is_another_circuit(laps: Frames) -> None:
    lat, lon = laps.columns["lat"][::-1], laps.columns["lon"][::-1]
    assert identify(change(laps, lat=lat, lon=lon)) == Identity()
    assert identify(change(laps, lat=lat, lon=lon), "Larkfell") == Identity()


def test_a_car_park_at_the_circuit_is_not_the_circuit() -> None:
    t = np.arange(0.0, 300.0, 0.1)
    x, y = 60 * np.sin(t / 7) + 10 * np.sin(t / 3), 150 * np.cos(t / 11)
    place = at(x, y, LARKFELL.start.lat, LARKFELL.start.lon)
    assert identify(frames(t, speed_ms=15.0, **place)) == Identity()


def test_another_layout_that_shares_most_of_the_line_is_not_the_circuit() -> None:
    """The short one leaves the long one for 300 m only, and skips half of it."""
    x, y = np.array([0.0, 0, 300, 300, 900, 900]), np.array([0.0, 500, 500, 300, 300, 0])
    long = circuit_of("Long", x, y)
    short = circuit_of("Short", np.array([0.0, 0, 300, 300]), np.array([0.0, 500, 500, 0]))
    on_short, on_long = drive(short, 4).frames, drive(long, 3).frames

    both = Library({track.id: track for track in (long, short)})
    assert identify(on_short, library=both).name == "Short"
    assert identify(on_long, library=both).name == "Long"
    assert identify(on_short, library=Library({long.id: long})) == Identity()
    assert identify(on_long, library=Library({short.id: short})) == Identity()


@pytest.mark.parametrize(("begin", "end"), [(0.45, 0.62), (0.29, 0.36)])
def test_a_layout_that_leaves_out_a_piece_of_a_circuit_is_another_one(
    begin: float, end: float
) -> None:
    recorded = drive(without(LARKFELL, begin, end), 3, noise=USUAL).frames
    assert identify(recorded) == identify(recorded, "Larkfell") == Identity()


@pytest.mark.parametrize("circuit", TRACKS.values(), ids=TRACKS)
@pytest.mark.parametrize("aside_m", [-6.0, 6.0])
def test_an_inner_and_an_outer_line_are_of_the_circuit(circuit: Track, aside_m: float) -> None:
    recorded = drive(beside(circuit, aside_m), 2, noise=USUAL).frames
    assert identify(recorded).track is circuit


@pytest.mark.parametrize("jitter_m", [3.0, 8.0])
@pytest.mark.parametrize("circuit", TRACKS.values(), ids=TRACKS)
def test_poor_positions_are_of_the_circuit(circuit: Track, jitter_m: float) -> None:
    poor = USUAL._replace(gps_m=jitter_m / 2, gps_jitter_m=jitter_m)
    assert identify(drive(circuit, 3, noise=poor).frames).track is circuit


def test_one_lap_that_cuts_a_corner_is_of_the_circuit_that_the_others_are_of() -> None:
    cut = drive(without(LARKFELL, 0.30, 0.36), 1, noise=USUAL).frames
    usual = drive(LARKFELL, 2, noise=USUAL).frames
    t = np.append(cut.columns["timestamp"], 900.0 + usual.columns["timestamp"])
    place = {name: np.append(cut.columns[name], usual.columns[name]) for name in ("lat", "lon")}
    speed = np.append(cut.columns["speed_ms"], usual.columns["speed_ms"])
    assert identify(frames(t, speed_ms=speed, **place)).track is LARKFELL


def test_a_piece_that_the_receiver_never_sees_is_not_left_out(laps: Frames) -> None:
    """400 m of each lap without positions, as in a tunnel or a forest."""
    line = LARKFELL.line
    assert line is not None
    x, y = line.plane.xy(laps.columns["lat"], laps.columns["lon"])
    place = line.ring.project(x, y, line.ring.nearest(x, y)[0]).distance
    seen = (place < 1500.0) | (place > 1900.0)
    assert identify(keep(laps, seen)).track is LARKFELL


def test_a_circuit_without_a_line_is_known_by_laps_through_its_gate(laps: Frames) -> None:
    bare = replace(LARKFELL, line=None)
    library = Library({bare.id: bare})
    assert identify(laps, library=library).track is bare
    assert identify(move(laps, 300.0), library=library).track is None


def test_without_positions_the_driver_has_the_word(laps: Frames) -> None:
    assert identify(blind(laps), "larkfell").track is LARKFELL
    assert identify(blind(laps), "Home Park") == Identity(name="Home Park")
    assert identify(blind(laps)) == Identity()


@pytest.mark.parametrize("east_m", [0.0, 30_000.0])
def test_a_position_that_is_held_says_nothing(laps: Frames, east_m: float) -> None:
    held = change(laps, lat=LARKFELL.start.lat, lon=LARKFELL.start.lon + east_m / EAST)
    assert identify(held) == Identity()
    assert identify(held, "larkfell").track is LARKFELL
    assert not build_series(held).fixed[laps.columns["speed_ms"] > 6.0].any()


def test_a_receiver_that_freezes_half_way_has_no_usable_positions(laps: Frames) -> None:
    half = len(laps) // 2
    lat, lon = laps.columns["lat"].copy(), laps.columns["lon"].copy()
    lat[half:], lon[half:] = lat[half], lon[half]
    frozen = build_series(change(laps, lat=lat, lon=lon))
    assert not frozen.gps_usable
    assert build_series(laps).gps_usable


def test_a_car_that_stands_has_its_position() -> None:
    t = np.arange(0.0, 60.0, 0.1)
    assert build_series(frames(t, speed_ms=0.0, lat=44.0, lon=10.0)).fixed.all()


def test_a_slow_receiver_repeats_its_position_and_is_believed(laps: Frames) -> None:
    index = np.arange(len(laps)) // 20 * 20
    lat, lon = laps.columns["lat"][index], laps.columns["lon"][index]
    assert build_series(change(laps, lat=lat, lon=lon)).fixed.all()


def around_one_place(count: int) -> Library:
    """Circuits of some 2.7 km that cross each other, every other one driven the other way."""
    chance = np.random.default_rng(1)
    angle = np.linspace(0.0, 2 * np.pi, 600, endpoint=False)
    tracks = []
    for number in range(count):
        waves = [
            chance.normal(0.0, 120.0 / wave) * np.cos(wave * angle + chance.uniform(0.0, 6.0))
            for wave in range(2, 7)
        ]
        radius = np.maximum(400.0 + np.sum(waves, axis=0), 120.0)
        way = -angle if number % 2 else angle
        x = radius * np.cos(way) + chance.normal(0.0, 150.0)
        y = radius * np.sin(way) + chance.normal(0.0, 150.0)
        place = at(x, y)
        trace = Trace(place["lat"], place["lon"], np.full(len(x), np.nan))
        tracks.append(build_from_centreline(trace, f"T{number}").track)
    return Library({track.id: track for track in tracks})


def test_of_many_circuits_around_one_place_each_drive_finds_its_own_and_no_other() -> None:
    library = around_one_place(8)
    for name, track in library.tracks.items():
        recorded = drive(track, 2, noise=USUAL).frames
        others = {key: other for key, other in library.tracks.items() if key != name}
        assert identify(recorded, library=library).track is track
        assert identify(recorded, library=Library(others)) == Identity()


def resetting(length_m: float, laps: float) -> Frames:
    """A drive without positions whose distance begins anew each lap."""
    way = np.arange(length_m / 2, (laps + 0.5) * length_m, 4.0)
    speed = 40.0 + 10.0 * np.sin(2 * np.pi * way / length_m)
    return frames(np.cumsum(4.0 / speed), distance_m=way % length_m, speed_ms=speed)


@pytest.mark.parametrize(
    ("share", "ground"), [(1.0, "lap_length"), (1.015, "lap_length"), (1.03, None), (0.5, None)]
)
def test_laps_that_were_measured_tell_the_circuit_by_their_length(
    share: float, ground: str | None
) -> None:
    recorded = resetting(share * LARKFELL.length_m, 3.6)
    assert identify(recorded).ground == ground
    assert (identify(recorded).track is LARKFELL) == (ground is not None)
    assert identify(recorded, "Home Park") == Identity(name="Home Park")


@pytest.mark.parametrize(("share", "ground"), [(0.6, None), (1.3, None), (1.1, "driver")])
def test_measured_laps_of_another_length_refute_the_driver(
    share: float, ground: str | None
) -> None:
    recorded = resetting(share * LARKFELL.length_m, 3.6)
    assert identify(recorded, "Larkfell").ground == ground


def test_of_two_circuits_of_one_length_the_length_tells_neither() -> None:
    twin = replace(LARKFELL, id="twin", length_m=1.01 * LARKFELL.length_m)
    library = Library({LARKFELL.id: LARKFELL, twin.id: twin})
    assert identify(resetting(LARKFELL.length_m, 3.6), library=library) == Identity()


def test_a_distance_that_adds_up_tells_no_circuit() -> None:
    t = np.arange(0.0, 400.0, 0.1)
    assert identify(frames(t, distance_m=40.0 * t, speed_ms=40.0)) == Identity()


def test_positions_elsewhere_are_no_laps_of_a_circuit_of_the_same_length() -> None:
    recorded = drive(LARKFELL, 2, noise=USUAL).frames
    distance = recorded.columns["distance_m"] % LARKFELL.length_m
    assert identify(change(blind(recorded), distance_m=distance)).ground == "lap_length"
    assert identify(change(move(recorded, 30_000.0), distance_m=distance)) == Identity()
