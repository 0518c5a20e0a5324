"""The circuit and the driven lines, ready to be drawn."""

from bisect import bisect_left
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grading import scorecard
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
"""What an outline comes from: the track file, the session's laps, or all its positions so far."""


class LapLine(NamedTuple):
    """One lap as it was driven: points at least 5 m apart, where there was a fix."""

    lap: int
    lat: Numbers
    lon: Numbers
    speed_ms: Numbers
    """NaN where no speed was recorded."""


class MapCorner(NamedTuple):
    """A corner and the place of its apex; None where the place of the track is unknown."""

    corner: Corner
    lat: float | None
    lon: float | None


class MapPin(NamedTuple):
    """A marker of the track file and its place."""

    marker: Marker
    lat: float | None
    lon: float | None


class TrackMap(NamedTuple):
    """Everything of a drive that can be drawn, in degrees WGS-84."""

    track: str | None
    """Name of the circuit; None: nobody knows."""
    length_m: float
    corners: tuple[MapCorner, ...]
    pins: tuple[MapPin, ...]
    danger_zones: tuple[DangerZone, ...]
    laps: tuple[LapLine, ...]
    """The complete laps with a fix, in time order."""
    basis: Basis | None
    """Of the centre line; None: there is none."""
    centre_lat: Numbers
    centre_lon: Numbers
    """The line of the track file, else the median of the laps in steps of 4 m; once around, the
    start not repeated. Before the first lap the way so far, which need not close."""
    bounds: tuple[float, float, float, float] | None
    """South, west, north, east of all that is drawn; a west above the east lies over the date
    line."""


def track_map(drive: Drive) -> TrackMap:
    """The map of a drive; without positions, what the track file gives of it."""
    track = drive.track
    laps = tuple(one for lap in drive.counted if len((one := _driven(drive, lap)).lat))
    try:
        corners = drive.corners
    except NoCorners:
        corners = ()
    line, basis = _centre(drive)
    drawn = _draw(track, line, corners, drive.length_m)
    if basis is None and drive.partial and laps:
        way = laps[-1]
        drawn = drawn._replace(centre_lat=way.lat, centre_lon=way.lon)
        basis = "driven"
    lats = np.concatenate([drawn.centre_lat, *(lap.lat for lap in laps)])
    lons = np.concatenate([drawn.centre_lon, *(lap.lon for lap in laps)])
    return drawn._replace(
        track=drive.place or None, laps=laps, basis=basis, bounds=_bounds(lats, lons)
    )


def outline(track: Track) -> TrackMap:
    """The map of a circuit on which nothing was driven yet."""
    drawn = _draw(track, track.line, tuple(track.in_lap_order()), track.length_m)
    basis: Basis | None = "track" if track.line is not None else None
    return drawn._replace(basis=basis, bounds=_bounds(drawn.centre_lat, drawn.centre_lon))


def _draw(
    track: Track | None, line: Line | None, corners: tuple[Corner, ...], length_m: float
) -> TrackMap:
    """What a track file, and a line to place it on, give of a map."""
    places = _Places(line, length_m)
    lat, lon = (line.lat, line.lon) if line is not None else (np.zeros(0), np.zeros(0))
    return TrackMap(
        track=track.name if track else None,
        length_m=length_m,
        corners=tuple(MapCorner(c, *places.of(c.apex)) for c in corners),
        pins=tuple(MapPin(m, *places.of(m)) for m in (track.markers if track else ())),
        danger_zones=track.danger_zones if track else (),
        laps=(),
        basis=None,
        centre_lat=lat,
        centre_lon=lon,
        bounds=None,
    )


class _Places(NamedTuple):
    """Where distances of the centre line lie."""

    line: Line | None
    length_m: float
    """Of a lap: the line of the driver may be a little longer or shorter."""

    def at(self, distance_m: float) -> tuple[float | None, float | None]:
        """Latitude and longitude."""
        if self.line is None:
            return None, None
        return self.line.place(distance_m / self.length_m * self.line.length_m)

    def of(self, place: Spot | Marker) -> tuple[float | None, float | None]:
        """As the track file gives it, else on the line."""
        known = place.lat is not None and place.lon is not None
        return (place.lat, place.lon) if known else self.at(place.distance_m)


def _centre(drive: Drive) -> tuple[Line | None, Basis | None]:
    """The line of the track file, else the driven one."""
    if drive.track is not None and drive.track.line is not None:
        return drive.track.line, "track"
    return (drive.driven.line, "lap") if drive.driven is not None else (None, None)


def _driven(drive: Drive, lap: Segment) -> LapLine:
    series = drive.series
    frames = lap.first + np.flatnonzero(series.fixed[lap.frames])
    chosen = frames[spaced(drive.laps.travelled[frames])]
    lat, lon = series["lat"][chosen], series["lon"][chosen]
    return LapLine(lap.number or 0, lat, lon, series["speed_ms"][chosen])


def spaced(way: Numbers) -> Indices:
    """The first point, then each that is 5 m or more behind the one chosen before it.

    *way* never falls. Where that would be more than 2000 points, the steps are longer.
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


def colour_of(grade: str | None) -> str:
    """The colour of a corner's grade, as ``#rrggbb``; grey without one."""
    return GRADE_COLOURS.get(grade or "", NO_GRADE)


def corner_colours(drive: Drive, references: References = NONE) -> tuple[tuple[str, str], ...]:
    """The colour of each corner's grade, by name in lap order; none where no corner is known."""
    if drive.geometry is None:
        return ()
    graded = scorecard(drive, references).corners
    return tuple((grade.corner, colour_of(grade.detail)) for grade in graded)
