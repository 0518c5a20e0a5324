"""Decides which circuit a session belongs to: by its positions, its driver, or its lap length."""

from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.geometry import Line, Plane, metres_between
from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.progress import ON_LINE_M
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track

Ground: TypeAlias = Literal["driver", "positions", "lap_length"]

STEP_S: Final = 1.0
LONGEST_STEP_S: Final = 3.0
"""Which way a car went during a longer one is not known."""
LEAST_STEP_M: Final = 5.0
"""A smaller step within a second is noise of a car that stands, or walking pace."""
LEAST_STEPS: Final = 10
"""So many steps on the map, and `LEAST_WAY_M`, are needed before positions say anything."""
LEAST_WAY_M: Final = 200.0
AROUND_M: Final = 500.0
"""What is driven further from a line than this has nothing to do with its circuit."""
ALONG_SHARE: Final = 0.8
"""Of the way driven around a circuit that must follow its line, and of its lap to be covered."""
STRETCH: Final = 3.0
"""A step follows a line where it advances by a third of its length at least, three times at most:
an inner or outer line through a hairpin is as much shorter or longer."""
SAME_LENGTH: Final = 0.02
"""Share by which a measured lap may differ from the length of a circuit: what a wheel's rolling
radius and the driven line make of it."""


SITE_SHARE: Final = 0.05
SITE_M: Final = 100.0
"""Two sessions are of one unknown circuit where their laps lie within this, and differ by at most
`SITE_SHARE` in length: two layouts, or a kart track beside a circuit, do not."""


class Identity(NamedTuple):
    """The circuit of a session."""

    track: Track | None = None
    """None: no circuit that is known here."""
    ground: Ground | None = None
    """What says so; None without a circuit."""
    name: str = ""
    """What the place is called: as the driver does, where that is right; else the circuit's own
    name; empty: nobody knows."""


class Site(NamedTuple):
    """Where laps lie, by which a circuit that is not known here is recognised."""

    lat: float
    lon: float
    """The middle of the box around a lap."""
    length_m: float

    def is_of(self, other: "Site") -> bool:
        """Whether both may be laps of one circuit."""
        longer = max(self.length_m, other.length_m)
        if abs(self.length_m - other.length_m) > SITE_SHARE * longer:
            return False
        return metres_between(self.lat, self.lon, other.lat, other.lon) <= SITE_M


class Way(NamedTuple):
    """The steps of a moving car on the map, each about a second long."""

    lat: Numbers
    lon: Numbers
    """Where each begins."""
    to_lat: Numbers
    to_lon: Numbers


def identify_circuit(series: Series, words: str, library: Library) -> Identity:
    """Which circuit of *library* a session was driven on, *words* being what the driver called it.

    Positions decide where there are any: for the circuit along whose line they lie, and against
    one that the driver named but that they are nowhere near. Without them the driver's words
    count, and without words the length of laps that were measured without any circuit.
    """
    named = library.by_name(words)
    way = driven_way(series)
    if way is not None:
        track = _along(series, way, named, library)
        if track is not None:
            if track is named:
                return Identity(track, "driver", words)
            return Identity(track, "positions", track.name)
        if named is not None and not _is_around(named, way):
            return Identity()
    if named is not None:
        return Identity(named, "driver", words)
    if words or way is not None:
        return Identity(name=words)
    track = _of_length(series, library)
    return Identity(track, "lap_length", track.name) if track is not None else Identity()


def site_of(laps: Laps) -> Site | None:
    """Where the fastest lap lies; None without one, or without usable positions."""
    lap, series = laps.best, laps.series
    if lap is None or laps.length_m is None or not series.gps_usable:
        return None
    fixed = series.fixed[lap.frames]
    lat, lon = series["lat"][lap.frames][fixed], series["lon"][lap.frames][fixed]
    if not len(lat) or np.ptp(lon) > 180.0:
        return None
    return Site(float(lat.min() + lat.max()) / 2, float(lon.min() + lon.max()) / 2, laps.length_m)


def driven_way(series: Series) -> Way | None:
    """The steps of the car by its usable positions; None where they show no driving."""
    fixes = np.flatnonzero(series.fixed)
    if len(fixes) <= LEAST_STEPS:
        return None
    second = np.floor((series.t[fixes] - series.t[fixes[0]]) / STEP_S)
    fixes = fixes[np.append(True, np.diff(second) > 0)]
    lat, lon = series["lat"][fixes], series["lon"][fixes]
    x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
    moved = np.hypot(np.diff(x), np.diff(y)) >= LEAST_STEP_M
    moved &= np.diff(series.t[fixes]) <= LONGEST_STEP_S
    far = max(np.ptp(x), np.ptp(y)) >= LEAST_WAY_M
    if moved.sum() < LEAST_STEPS or not far:
        return None
    return Way(lat[:-1][moved], lon[:-1][moved], lat[1:][moved], lon[1:][moved])


def _along(series: Series, way: Way, named: Track | None, library: Library) -> Track | None:
    """The circuit that the steps follow, the named one before any other; of several the nearest."""
    if named is not None and _offset(series, way, named) is not None:
        return named
    fits = [
        (offset, track.id)
        for track in library.tracks.values()
        if (offset := _offset(series, way, track)) is not None
    ]
    return library.tracks[min(fits)[1]] if fits else None


def _offset(series: Series, way: Way, track: Track) -> float | None:
    """Metres that the steps lie beside the line of a circuit in the middle; None: on another way.

    A circuit without a line fits where laps of its length are closed through its gate.
    """
    if track.line is not None and len(track.line) > 2:
        return _offset_along(way, track.line)
    if not _is_around(track, way):
        return None
    laps = detect_laps(series, gate=track.start, track_length_m=track.length_m)
    return 0.0 if laps.method == "gps" else None


def _offset_along(way: Way, line: Line) -> float | None:
    """See `_offset`. Most of the way around the line must follow it, in its direction, and cover
    it once all the way has been long enough to: another layout of a circuit does one, not both."""
    ring = line.ring
    x, y = line.plane.xy(way.lat, way.lon)
    to_x, to_y = line.plane.xy(way.to_lat, way.to_lon)
    around = (
        (x >= ring.x.min() - AROUND_M)
        & (x <= ring.x.max() + AROUND_M)
        & (y >= ring.y.min() - AROUND_M)
        & (y <= ring.y.max() + AROUND_M)
    )
    if around.sum() < LEAST_STEPS:
        return None
    x, y, to_x, to_y = x[around], y[around], to_x[around], to_y[around]
    metres = np.hypot(to_x - x, to_y - y)
    begin = ring.project(x, y, ring.nearest(x, y)[0])
    end = ring.project(to_x, to_y, ring.nearest(to_x, to_y)[0])
    advance = (end.distance - begin.distance + line.length_m / 2) % line.length_m
    advance -= line.length_m / 2
    follows = (np.abs(begin.offset) <= ON_LINE_M) & (np.abs(end.offset) <= ON_LINE_M)
    follows &= (advance >= metres / STRETCH) & (advance <= metres * STRETCH)
    if metres[follows].sum() < max(LEAST_WAY_M, ALONG_SHARE * metres.sum()):
        return None
    covered = _covered(begin.distance[follows], advance[follows], line.length_m, ring.step)
    if covered < ALONG_SHARE * min(float(metres.sum()), line.length_m):
        return None
    return float(np.median(np.abs(begin.offset[follows])))


def _covered(begin: Numbers, advance: Numbers, length_m: float, step_m: float) -> float:
    """Metres of a closed line that steps pass over, each from *begin* on for *advance*."""
    count = round(length_m / step_m)
    first = np.floor(begin / step_m).astype(np.intp)
    last = np.ceil((begin + advance) / step_m).astype(np.intp)
    passes = np.zeros(2 * count + 2, dtype=np.intp)  # a step may go on over the start
    np.add.at(passes, first, 1)
    np.add.at(passes, np.minimum(last, 2 * count), -1)
    over = np.cumsum(passes) > 0
    return float((over[:count] | over[count : 2 * count]).sum()) * step_m


def _is_around(track: Track, way: Way) -> bool:
    """Whether half of the steps begin where a circuit may have its roads.

    That is near its line; without one, no farther from its start than half a lap goes.
    """
    if track.line is not None and len(track.line) > 2:
        _, away = track.line.ring.nearest(*track.line.plane.xy(way.lat, way.lon))
        return bool(np.median(away) <= AROUND_M)
    x, y = Plane(track.start.lat, track.start.lon).xy(way.lat, way.lon)
    return bool(np.median(np.hypot(x, y)) <= track.length_m / 2 + AROUND_M)


def _of_length(series: Series, library: Library) -> Track | None:
    """The only circuit as long as the laps, where something measured them without a circuit."""
    laps = detect_laps(series)
    if laps.method != "distance" or laps.length_m is None:
        return None
    fits = [
        track
        for track in library.tracks.values()
        if abs(track.length_m - laps.length_m) <= SAME_LENGTH * track.length_m
    ]
    return fits[0] if len(fits) == 1 else None
