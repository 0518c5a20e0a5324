"""The circuit and the driven lines, ready for drawing."""

from bisect import bisect_left
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.session.geometry import Indices, Line
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.recording import Numbers
from runtime.bridge.track.model import Corner, DangerZone, Marker, Spot, Track

STEP_M: Final = 5.0
MOST_POINTS: Final = 2000
"""Of one lap."""
GRADE_COLOURS: Final = {
    "A+": "#1b5e20",
    "A": "#43a047",
    "B": "#7cb342",
    "C": "#fdd835",
    "D": "#fb8c00",
    "F": "#e53935",
}
NO_GRADE: Final = "#9e9e9e"
Basis: TypeAlias = Literal["track", "lap", "driven"]
"""The source of an outline: the track file, the session's laps, or all its positions so far."""
S = TypeVar("S", Spot, Marker)


class LapLine(NamedTuple):
    """One lap as driven: points with a fix, at least 5 m apart."""

    lap: int
    lat: Numbers
    lon: Numbers
    speed_ms: Numbers
    """NaN where no speed was recorded."""


class TrackMap(NamedTuple):
    """Everything to draw of a drive, in degrees WGS-84."""

    track: str | None
    """Name of the circuit; None if unknown."""
    length_m: float
    corners: tuple[Corner, ...]
    """With the position of the apex; None if the position of the track is unknown."""
    pins: tuple[Marker, ...]
    """The markers of the track file with their positions, likewise."""
    danger_zones: tuple[DangerZone, ...]
    laps: tuple[LapLine, ...]
    """The complete laps with a fix, in time order."""
    basis: Basis | None
    """Of the centre line; None without one."""
    centre_lat: Numbers
    centre_lon: Numbers
    """The line of the track file, else the median of the laps in steps of 4 m; once around, without
    repeating the start. Before the first lap the way so far, which may be open."""
    bounds: tuple[float, float, float, float] | None
    """South, west, north, east of the whole drawing; west is above east across the date line."""


def draw_map(drive: Drive) -> TrackMap:
    """Draw the map of a drive; without positions, only from the track file."""
    track = drive.track
    laps = tuple(lap_line for lap in drive.counted if len((lap_line := _draw_lap(drive, lap)).lat))
    try:
        corners = drive.corners
    except NoCorners:
        corners = ()
    basis: Basis | None = None
    line = None
    if track is not None and track.line is not None:
        line, basis = track.line, "track"
    elif drive.driven is not None:
        line, basis = drive.driven.line, "lap"
    drawn = _draw(track, line, corners, drive.length_m)._replace(laps=laps, basis=basis)
    if basis is None and drive.partial and laps:
        way = laps[-1]
        drawn = drawn._replace(centre_lat=way.lat, centre_lon=way.lon, basis="driven")
    lats = np.concatenate([drawn.centre_lat, *(lap.lat for lap in laps)])
    lons = np.concatenate([drawn.centre_lon, *(lap.lon for lap in laps)])
    return drawn._replace(track=drive.place or None, bounds=_bounds(lats, lons))


def draw_outline(track: Track) -> TrackMap:
    """Draw the map of a circuit without any drive."""
    return _draw(track, track.line, tuple(track.in_lap_order()), track.length_m)


def _draw(
    track: Track | None, line: Line | None, corners: tuple[Corner, ...], length_m: float
) -> TrackMap:
    """Draw what a track file and a line to place it on give."""

    def place(spot: S) -> S:
        """Set the position to that of the track file, else on the line."""
        if spot.lat is not None and spot.lon is not None:
            return spot
        if line is None:
            return replace(spot, lat=None, lon=None)
        # The driven line may be slightly longer or shorter than the lap.
        lat, lon = line.place(spot.distance_m / length_m * line.length_m)
        return replace(spot, lat=lat, lon=lon)

    lat, lon = (line.lat, line.lon) if line is not None else (np.zeros(0), np.zeros(0))
    return TrackMap(
        track=track.name if track else None,
        length_m=length_m,
        corners=tuple(replace(corner, apex=place(corner.apex)) for corner in corners),
        pins=tuple(map(place, track.markers if track else ())),
        danger_zones=track.danger_zones if track else (),
        laps=(),
        basis="track" if line is not None else None,
        centre_lat=lat,
        centre_lon=lon,
        bounds=_bounds(lat, lon),
    )


def _draw_lap(drive: Drive, lap: Segment) -> LapLine:
    series = drive.series
    frames = lap.first + np.flatnonzero(series.fixed[lap.frames])
    chosen = frames[space_points(drive.laps.travelled[frames])]
    lat, lon = series["lat"][chosen], series["lon"][chosen]
    return LapLine(lap.number or 0, lat, lon, series["speed_ms"][chosen])


def space_points(way: Numbers) -> Indices:
    """Choose the first point, then each that is 5 m or more after the last chosen one.

    *way* never falls. If that gives more than 2000 points, the steps are longer.
    """
    if not len(way):
        return np.zeros(0, dtype=np.intp)
    step = max(STEP_M, float(way[-1] - way[0]) / (MOST_POINTS - 1))
    metres: list[float] = way.tolist()
    chosen, at = [], 0
    while at < len(metres):
        chosen.append(at)
        at = bisect_left(metres, metres[at] + step, at + 1)
    return np.array(chosen[:MOST_POINTS], dtype=np.intp)


def _bounds(lat: Numbers, lon: Numbers) -> tuple[float, float, float, float] | None:
    if not len(lat):
        return None
    west, east = float(lon.min()), float(lon.max())
    if east - west > 180.0:  # over the date line
        west, east = float(lon[lon > 0].min()), float(lon[lon <= 0].max())
    return float(lat.min()), west, float(lat.max()), east


def choose_colour(grade: str | None) -> str:
    """Return the colour of a corner's grade, as ``#rrggbb``; grey without one."""
    return GRADE_COLOURS.get(grade or "", NO_GRADE)


def corner_colours(drive: Drive, references: References = NONE) -> tuple[tuple[str, str], ...]:
    """Return the colour of each corner's grade, in lap order; empty if no corner is known."""
    if drive.geometry is None:
        return ()
    graded = grade_session(drive, references).corners
    return tuple((grade.corner, choose_colour(grade.detail)) for grade in graded)
