"""Makes the three invented circuits of data/tracks: `python -m tools.tracks [FOLDER]`."""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import yaml

from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.names import slugify
from runtime.bridge.session.recording import TIMESTAMP, Gate, Numbers
from runtime.bridge.simulator.car import Car
from runtime.bridge.track.build import find_brake_point, find_typical_speeds
from runtime.bridge.track.corners import find_straights, rate_severity
from runtime.bridge.track.file import format_track
from runtime.bridge.track.model import (
    Corner,
    DangerZone,
    Direction,
    Marker,
    Profile,
    Sector,
    Spot,
    Straight,
    Track,
    WeatherPhase,
)
from tools.drive import drive

BEND: Final = 0.3
"""Degrees a metre from which a bend of the design counts as a corner."""
GRID_M: Final = 0.05
ISLAND: Final = Plane(44.2, -31.5)
"""The circuits lie on an island that is on no map, so that no real session is ever near them."""
TYPICAL_GRIP: Final = 1.1
"""The friction coefficient of the laps that typical speeds and brake points come from."""
LARKFELL: Final[dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("larkfell.yaml").read_text("utf-8")
)
FROM: Final = f"runtime.bridge.tracks.design; typical values: point mass, friction {TYPICAL_GRIP}"
PROFILE_M: Final = 10.0
BOARD_M: Final = 3.0
"""How far beyond the edge of the track a marker stands."""

CIRCLE_RADIUS_M: Final = 150.0
OVAL_RADIUS_M: Final = 60.0
OVAL_STRAIGHT_M: Final = 320.0


class Bend(NamedTuple):
    """A corner whose curvature rises evenly, holds, and falls evenly."""

    degrees: float
    """Change of heading, positive to the right."""
    radius_m: float
    """Where it is tightest."""
    ease_m: float = 0.0
    """Length of the rise, and of the fall."""

    @property
    def length_m(self) -> float:
        """Metres along the line."""
        return math.radians(abs(self.degrees)) * self.radius_m + self.ease_m

    @property
    def lead_m(self) -> float:
        """Metres from its first bending to where it counts as a corner."""
        return self.ease_m * min(BEND * math.radians(self.radius_m), 1.0)


Part: TypeAlias = float | Bend
"""A straight's length in metres, or a bend."""


class Shape(NamedTuple):
    """A closed centre line, its first point not repeated."""

    distance: Numbers
    x: Numbers
    y: Numbers
    length_m: float
    windows: tuple[tuple[float, float, float], ...]
    """Entry, middle and exit of each bend, metres from start/finish."""


def draw(
    parts: Sequence[Part],
    heading: float = 0.0,
    free: tuple[int, int] | None = None,
    start_m: float = 0.0,
    step: float = 5.0,
) -> Shape:
    """The line through *parts*, the first of which leaves at *heading* degrees.

    The two straights at the places *free* are given the lengths that close the line, unless it
    is closed as it is; start/finish lies *start_m* behind the beginning of the first part.
    """
    parts = _close_loop(parts, heading, free) if free else list(parts)
    spans = np.array([_span(part) for part in parts])
    ends = np.cumsum(spans)
    length = float(ends[-1])
    x, y, s = _points(parts, heading)
    count = round(length / step)
    distance = np.arange(count) * (length / count)
    wanted = (distance + start_m) % length
    windows = tuple(
        tuple(float((place - start_m) % length) for place in _window(part, float(end)))
        for part, end in zip(parts, ends, strict=True)
        if isinstance(part, Bend)
    )
    px, py = np.interp(wanted, s, x), np.interp(wanted, s, y)
    return Shape(distance, px - px[0], py - py[0], length, windows)  # type: ignore[arg-type]


def _span(part: Part) -> float:
    return part.length_m if isinstance(part, Bend) else part


def _window(bend: Bend, end: float) -> tuple[float, float, float]:
    begin = end - bend.length_m
    return begin + bend.lead_m, (begin + end) / 2, end - bend.lead_m


def _bent(bend: Bend) -> tuple[Numbers, Numbers]:
    """Distances along a bend, and the heading gained there in radians."""
    s = np.linspace(0.0, bend.length_m, max(2, round(bend.length_m / GRID_M)))
    knots = [0.0, bend.ease_m, bend.length_m - bend.ease_m, bend.length_m]
    peak = math.copysign(1.0 / bend.radius_m, bend.degrees)
    curvature = np.full(len(s), peak)
    if bend.ease_m:
        curvature = np.interp(s, knots, [0.0, peak, peak, 0.0])
    gained = np.concatenate([[0.0], np.cumsum((curvature[1:] + curvature[:-1]) / 2 * np.diff(s))])
    # The sum is a hair off at the knots: scaled, so that the headings of the parts add up.
    return s, gained * (math.radians(bend.degrees) / gained[-1])


def _points(parts: Sequence[Part], heading: float) -> tuple[Numbers, Numbers, Numbers]:
    """A fine polyline from the origin: x to the east, y to the north, distance."""
    xs, ys, ss = [np.zeros(1)], [np.zeros(1)], [np.zeros(1)]
    course = math.radians(heading)
    for part in parts:
        if isinstance(part, Bend):
            s, gained = _bent(part)
        else:
            s, gained = np.array([0.0, part]), np.zeros(2)
        middle = course + (gained[1:] + gained[:-1]) / 2
        width = np.diff(s)
        xs.append(xs[-1][-1] + np.cumsum(np.sin(middle) * width))
        ys.append(ys[-1][-1] + np.cumsum(np.cos(middle) * width))
        ss.append(ss[-1][-1] + s[1:])
        course += float(gained[-1])
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(ss)


def _close_loop(parts: Sequence[Part], heading: float, free: tuple[int, int]) -> list[Part]:
    """The parts with the two free straights as long as the line needs to close."""
    parts = list(parts)
    for i in free:
        parts[i] = 0.0
    x, y, _ = _points(parts, heading)
    courses = []
    for i in free:
        turned = sum(part.degrees for part in parts[:i] if isinstance(part, Bend))
        courses.append(math.radians(heading + turned))
    ways = np.array([np.sin(courses), np.cos(courses)])
    lengths = np.linalg.solve(ways, [-x[-1], -y[-1]])
    for i, length in zip(free, lengths, strict=True):
        parts[i] = float(length)
    return parts


LARKFELL_FREE: Final = (20, 22)
LARKFELL_HEADING: Final = 24.0
LARKFELL_START_M: Final = 100.0
WAVES: Final = ((13.0, 1, 0.12), (5.0, 2, 0.20), (2.0, 3, 0.05))
"""Height, number a lap and place of the crest (share of a lap) of the hills of Larkfell."""
SEA_M: Final = 58.0


class Typical(NamedTuple):
    """A good lap on paper, by distance."""

    distance: Numbers
    speed: Numbers
    brake: Numbers


def circle() -> Track:
    """A pad with one radius: a lap is 2 pi r."""
    shape = draw([Bend(360, CIRCLE_RADIUS_M)])
    windows = [(part, part + 0.2, part + 0.4) for part in (0.05, 0.55)]
    spots = [tuple(share * shape.length_m for share in window) for window in windows]
    bend = Bend(360, CIRCLE_RADIUS_M)
    track = _bare("roundel-pad", "Roundel Pad", shape, Plane(44.05, -31.5), 0.0)
    corners = [_corner(track, i, f"Turn {i}", bend, spot) for i, spot in enumerate(spots, start=1)]
    return _add_details(track, corners)


def oval() -> Track:
    """Two straights and two half circles."""
    straight = OVAL_STRAIGHT_M
    bend = Bend(-180, OVAL_RADIUS_M)
    shape = draw([straight, bend, straight, bend], heading=90.0, start_m=straight / 2)
    track = _bare("tarn-oval", "Tarn Oval", shape, Plane(44.35, -31.5), 90.0)
    corners = [
        _corner(track, i, f"Turn {i}", bend, window)
        for i, window in enumerate(shape.windows, start=1)
    ]
    return _add_details(track, corners)


def realistic() -> Track:
    """Larkfell: eleven corners in both directions, from a hairpin to a fast kink."""
    parts = [Bend(*part) if isinstance(part, list) else float(part) for part in LARKFELL["parts"]]
    shape = draw(parts, LARKFELL_HEADING, LARKFELL_FREE, LARKFELL_START_M)
    heights = _heights(shape.distance / shape.length_m)
    track = _bare("larkfell", "Larkfell Circuit", shape, ISLAND, LARKFELL_HEADING, heights)
    bends = [part for part in parts if isinstance(part, Bend)]
    corners = [
        _corner(track, i, f"Turn {i}", bend, window)
        for i, (bend, window) in enumerate(zip(bends, shape.windows, strict=True), start=1)
    ]
    corners = [
        replace(corner, nicknames=tuple(words["nicknames"]), coaching_tip=words["tip"])
        for corner, words in zip(corners, LARKFELL["corners"], strict=True)
    ]
    finished = _add_details(track, corners)
    marked = [_marks(finished, corner) for corner in finished.corners]
    entries = [corner.entry.distance_m for corner in corners]
    exits = [corner.exit.distance_m for corner in corners]
    thirds = (0.0, (exits[3] + entries[4]) / 2, (exits[7] + entries[8]) / 2, track.length_m)
    return replace(
        finished,
        corners=tuple(
            replace(corner, markers=tuple(mark.id for mark in marks))
            for corner, marks in zip(finished.corners, marked, strict=True)
        ),
        markers=tuple(sorted(chain(*marked), key=lambda mark: mark.distance_m)),
        straights=_name_straights(finished.straights, exits),
        sectors=tuple(map(Sector, LARKFELL["sectors"], thirds[:-1], thirds[1:])),
        danger_zones=tuple(_zone(zone, corners) for zone in LARKFELL["danger_zones"]),
        weather_phases=tuple(WeatherPhase(**phase) for phase in LARKFELL["weather"]),
    )


def all_tracks() -> tuple[Track, ...]:
    """The circuits that `data/tracks` holds."""
    return circle(), realistic(), oval()


def _bare(
    track_id: str,
    name: str,
    shape: Shape,
    plane: Plane,
    heading: float,
    heights: Numbers | None = None,
) -> Track:
    """A circuit of a line only."""
    lat, lon = plane.latlon(shape.x, shape.y)
    altitude = np.full(len(lat), SEA_M) if heights is None else heights
    line = Line(shape.distance, lat, lon, altitude, shape.length_m)
    at = np.arange(0.0, shape.length_m, PROFILE_M)
    at = np.append(at, shape.length_m)
    profile = Profile(at, np.interp(at, line.distance, altitude, period=shape.length_m))
    start = Gate(float(lat[0]), float(lon[0]), heading)
    third = [shape.length_m * i / 3 for i in range(4)]
    sectors = tuple(Sector(f"Sector {i + 1}", third[i], third[i + 1]) for i in range(3))
    return Track(
        track_id,
        name,
        shape.length_m,
        start,
        generated_from=FROM,
        line=line,
        elevation=profile,
        sectors=sectors,
    )


def _heights(share: Numbers) -> Numbers:
    """Metres above the sea along a lap of Larkfell."""
    hills = [h * np.cos(2 * math.pi * n * (share - crest)) for h, n, crest in WAVES]
    total: Numbers = SEA_M + np.sum(hills, axis=0)
    return total


def _corner(track: Track, number: int, name: str, bend: Bend, window: tuple[float, ...]) -> Corner:
    """A corner of the design, without what only a lap can tell."""
    assert track.line is not None
    assert track.elevation is not None
    entry, apex, leave = (Spot(at, *track.line.place(at)) for at in window)
    ends = np.interp([window[0], window[2]], *track.elevation)
    peak = math.degrees(1 / bend.radius_m)
    direction: Direction = "right" if bend.degrees > 0 else "left"
    return Corner(
        name,
        number,
        direction,
        rate_severity(peak),
        entry,
        apex,
        leave,
        curvature_peak=peak,
        elevation_change_m=float(ends[1] - ends[0]),
    )


def _add_details(track: Track, corners: list[Corner]) -> Track:
    """The circuit with its corners, and what a good lap drives there."""
    pieces = find_straights(corners, track.length_m)
    lap = _typical(track)
    weights = [_weight(corner, pieces, track.length_m) for corner in corners]
    done = [
        replace(
            corner,
            speeds=find_typical_speeds(corner, lap.distance, lap.speed, track.length_m),
            brake=find_brake_point(corner, corners[i - 1], lap.distance, lap.brake, track.length_m),
            leverage=weights[i] / sum(weights),
        )
        for i, corner in enumerate(corners)
    ]
    return replace(track, corners=tuple(done), straights=pieces)


def _typical(track: Track) -> Typical:
    """The middle one of three flying laps at the whole of the typical grip."""
    driven = drive(track, 3, hz=50.0, skill=1.0, car=Car(grip=TYPICAL_GRIP))
    columns = driven.frames.columns
    t, distance = columns[TIMESTAMP], columns["distance_m"]
    frames = slice(*np.searchsorted(t, driven.crossings_s[1:3]).tolist())
    begin = float(np.interp(driven.crossings_s[1], t, distance))
    along = distance[frames] - begin
    return Typical(along, columns["speed_ms"][frames], columns["brake_bar"][frames])


def _weight(corner: Corner, pieces: tuple[Straight, ...], length: float) -> float:
    """More for a corner that leads on to a long straight: 0.5 to 1."""
    longest = max(((s.end_m - s.start_m) % length for s in pieces), default=0.0)
    own = [
        (s.end_m - s.start_m) % length
        for s in pieces
        if abs(s.start_m - corner.exit.distance_m) < 1.0
    ]
    return 0.5 + 0.5 * (own[0] / longest if own else 0.0)


def _name_straights(pieces: tuple[Straight, ...], exits: list[float]) -> tuple[Straight, ...]:
    names = {round(exits[number - 1], 1): name for number, name in LARKFELL["straights"].items()}
    return tuple(
        replace(straight, name=names.get(round(straight.start_m, 1), straight.name))
        for straight in pieces
    )


def _zone(zone: dict[str, Any], corners: list[Corner]) -> DangerZone:
    """A danger zone whose ends are told by the corners they lie at."""
    ends = (zone["start"], zone["end"])
    start, end = (
        round(getattr(corners[number - 1], place).distance_m + metres, 1)
        for number, place, metres in ends
    )
    return DangerZone(zone["id"], start, end, zone["description"], zone["severity"])


def _marks(track: Track, corner: Corner) -> list[Marker]:
    """The markers of one corner, on the side of the track where each stands."""
    assert track.line is not None
    length, ring = track.length_m, track.line.ring
    inside = 1.0 if corner.direction == "right" else -1.0
    marks = []
    for mark in LARKFELL["corners"][corner.number - 1]["marks"]:
        base = {"apex_ref": corner.apex, "nickname": corner.apex, "exit_ref": corner.exit}
        at = (base.get(mark["kind"], corner.entry).distance_m + mark["at_m"]) % length
        side = inside if mark["kind"] in ("apex_ref", "nickname") else -inside
        course = math.radians(ring.heading(at))
        away = side * (track.half_width_m + BOARD_M)
        x, y = ring.at(np.array([at]))
        lat, lon = track.line.plane.latlon(x + away * math.cos(course), y - away * math.sin(course))
        from_entry = (at - corner.entry.distance_m + length / 2) % length - length / 2
        marks.append(
            Marker(
                f"t{corner.number}-{slugify(mark['label'])}",
                mark["kind"],
                mark["label"],
                at,
                corner.name,
                "design",
                mark["note"],
                float(lat[0]),
                float(lon[0]),
                from_entry,
            )
        )
    return marks


def main(folder: Path) -> int:
    """Write the files, over those of the same names."""
    for track in all_tracks():
        path = folder / f"{track.id}.json"
        path.write_text(format_track(track), encoding="utf-8", newline="\n")
        print(f"{path}: {track.length_m:.1f} m, {len(track.corners)} corners")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "data/tracks")))
