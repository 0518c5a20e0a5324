"""Decides which circuit a session belongs to: by its positions, its driver, or its lap length."""

from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.geometry import Indices, Line, Plane, metres_between
from runtime.bridge.session.laps import LENGTH_SHARE, Laps, detect_laps
from runtime.bridge.session.progress import ON_LINE_M
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import USABLE_EXTENT_M, Flags, Series
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track

Ground: TypeAlias = Literal["driver", "positions", "lap_length"]

STEP_S: Final = 1.0
LONGEST_STEP_S: Final = 3.0
"""Which way a car went during a longer one is not known."""
LEAST_STEP_M: Final = 5.0
"""A smaller step within a second is noise of a car that stands, or walking pace."""
LEAST_STEPS: Final = 10
"""So many steps on the map are needed before positions say anything."""
LEAST_WAY_M: Final = 200.0
"""So long a way along a line is needed before they say that it is this circuit's."""
AROUND_M: Final = 500.0
"""What is driven further from a line than this has nothing to do with its circuit."""
ALONG_SHARE: Final = 0.8
"""Of the way driven around a circuit that must follow its line, and of its lap to be covered, as
long as no lap is closed."""
LAP_SHARE: Final = 0.98
"""The same of a closed lap. Drives 6 m beside a line, or with positions 8 m off, give 0.99 and
more; a layout that leaves out 6 % of the line gives 0.96."""
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
    """The steps of a car on the map, each about a second long."""

    lat: Numbers
    lon: Numbers
    """Where each begins."""
    to_lat: Numbers
    to_lon: Numbers
    clear: Flags
    """Whether it shows which way the car went: it is neither too small nor too long for that."""


class Steps(NamedTuple):
    """The steps of a way beside the line of a circuit."""

    metres: Numbers
    begin: Numbers
    """Metres along the line."""
    advance: Numbers
    """Metres along the line; negative against its direction."""
    offset: Numbers
    """Metres beside the line at the beginning."""
    beside: Flags
    """Whether both ends lie on the line."""
    clear: Flags

    @property
    def passes(self) -> Flags:
        """Whether each goes along the line, in one direction or the other."""
        way = np.abs(self.advance)
        along = (way >= self.metres / STRETCH) & (way <= self.metres * STRETCH)
        return self.beside & self.clear & along

    @property
    def follows(self) -> Flags:
        """Whether each goes along the line in its direction."""
        return self.passes & (self.advance > 0)

    def only(self, which: Flags | slice) -> "Steps":
        """Some of them."""
        return Steps._make(column[which] for column in self)


class Match(NamedTuple):
    """What positions say about a circuit."""

    fits: bool
    """False: they are laps of another one."""
    offset_m: float = 0.0
    """How far beside the line the car drove in the middle."""


def identify_circuit(series: Series, words: str, library: Library) -> Identity:
    """Which circuit of *library* a session was driven on, *words* being what the driver called it.

    Positions decide where there are any: for the circuit whose line they follow, and against one
    that the driver named where they are nowhere near it, or are laps of another layout or in the
    other direction. Without them the driver's words count, unless laps that were measured without
    any circuit have another length; without words their length tells the circuit.
    """
    named = library.by_name(words)
    way = driven_way(series)
    if way is None:
        return _without_positions(series, words, named, library)
    matches = {key: _match(series, way, track) for key, track in library.tracks.items()}
    fits = {key: match for key, match in matches.items() if match is not None and match.fits}
    if named is not None and named.id in fits:
        return Identity(named, "driver", words)
    if fits:
        nearest = min(fits, key=lambda key: (fits[key].offset_m, key))
        track = library.tracks[nearest]
        return Identity(track, "positions", track.name)
    if named is None:
        return Identity(name=words)
    refuted = matches[named.id] is not None or not _is_around(named, way)
    return Identity() if refuted else Identity(named, "driver", words)


def _without_positions(
    series: Series, words: str, named: Track | None, library: Library
) -> Identity:
    """See `identify_circuit`. Laps that are no laps of the circuit that was named refute it."""
    if words and named is None:
        return Identity(name=words)
    length = _measured_lap(series)
    if named is not None:
        is_other = length is not None and not _is_near(length, named, LENGTH_SHARE)
        return Identity() if is_other else Identity(named, "driver", words)
    tracks = library.tracks.values()
    same = [t for t in tracks if length is not None and _is_near(length, t, SAME_LENGTH)]
    return Identity(same[0], "lap_length", same[0].name) if len(same) == 1 else Identity()


def _is_near(length_m: float, track: Track, share: float) -> bool:
    return abs(track.length_m - length_m) <= share * track.length_m


def _measured_lap(series: Series) -> float | None:
    """The length of laps that something measured without a circuit."""
    laps = detect_laps(series)
    return laps.length_m if laps.method == "distance" else None


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
    clear = np.hypot(np.diff(x), np.diff(y)) >= LEAST_STEP_M
    clear &= np.diff(series.t[fixes]) <= LONGEST_STEP_S
    far = np.hypot(np.ptp(x), np.ptp(y)) >= USABLE_EXTENT_M
    if clear.sum() < LEAST_STEPS or not far:
        return None
    return Way(lat[:-1], lon[:-1], lat[1:], lon[1:], clear)


def _match(series: Series, way: Way, track: Track) -> Match | None:
    """What positions say about a circuit; None where they do not say that it is or is not.

    They are on a circuit without a line where laps of its length are closed through its gate.
    """
    if track.line is not None and len(track.line) > 2:
        return _match_line(way, track.line)
    if not _is_around(track, way):
        return None
    laps = detect_laps(series, gate=track.start, track_length_m=track.length_m)
    return Match(True) if laps.method == "gps" else None


def _match_line(way: Way, line: Line) -> Match | None:
    """See `_match`. Closed laps judge: half of them at least must follow the line, in its
    direction, and cover it. Before there is one, most of the way around the line must."""
    around = _is_in_box(way, line) & way.clear
    if around.sum() < LEAST_STEPS:
        return None
    steps = _project(way, line)
    if laps := _closed_laps(steps, line):
        fits = [min(_shares(steps.only(lap), line)) >= LAP_SHARE for lap in laps]
        if np.mean(fits) < 0.5:
            return Match(False)
    else:
        steps = steps.only(around)
        followed, covered = _shares(steps, line)
        driven = float(steps.metres.sum())
        possible = min(driven / line.length_m, 1.0)
        if followed < max(ALONG_SHARE, LEAST_WAY_M / driven) or covered < ALONG_SHARE * possible:
            return None
    return Match(True, float(np.median(np.abs(steps.offset[steps.follows]))))


def _is_in_box(way: Way, line: Line) -> Flags:
    """Which steps begin around a circuit."""
    ring = line.ring
    x, y = line.plane.xy(way.lat, way.lon)
    inside: Flags = (x >= ring.x.min() - AROUND_M) & (x <= ring.x.max() + AROUND_M)
    inside &= (y >= ring.y.min() - AROUND_M) & (y <= ring.y.max() + AROUND_M)
    return inside


def _project(way: Way, line: Line) -> Steps:
    ring = line.ring
    x, y = line.plane.xy(way.lat, way.lon)
    to_x, to_y = line.plane.xy(way.to_lat, way.to_lon)
    begin = ring.project(x, y, ring.nearest(x, y)[0])
    end = ring.project(to_x, to_y, ring.nearest(to_x, to_y)[0])
    advance = (end.distance - begin.distance + line.length_m / 2) % line.length_m
    advance -= line.length_m / 2
    beside = (np.abs(begin.offset) <= ON_LINE_M) & (np.abs(end.offset) <= ON_LINE_M)
    metres = np.hypot(to_x - x, to_y - y)
    return Steps(metres, begin.distance, advance, begin.offset, beside, way.clear)


def _closed_laps(steps: Steps, line: Line) -> list[slice]:
    """The steps from one pass of a place of the line to the next, in whichever direction.

    The place is the one that is passed most often. A lap goes along half of the line at least.
    """
    passes = steps.passes
    low = (steps.begin + np.minimum(steps.advance, 0.0)) % line.length_m
    way = np.abs(steps.advance)
    counts = _count_passes(low[passes], way[passes], line)
    place = float(counts.argmax()) * line.ring.step
    at = np.flatnonzero(passes & ((place - low) % line.length_m < way)).tolist()
    laps = [slice(first, last + 1) for first, last in pairwise(at)]
    along = np.where(passes, steps.metres, 0.0)
    return [lap for lap in laps if along[lap].sum() >= line.length_m / 2]


def _shares(steps: Steps, line: Line) -> tuple[float, float]:
    """The share of steps, by metres, that follows a line, and the share of it that they cover.

    What steps that are not clear pass over counts as covered.
    """
    follows = steps.follows
    covers = follows | (steps.beside & ~steps.clear & (steps.advance > 0))
    covered = _count_passes(steps.begin[covers], steps.advance[covers], line) > 0
    followed = steps.metres[follows].sum() / steps.metres[steps.clear].sum()
    return float(followed), float(covered.mean())


def _count_passes(begin: Numbers, advance: Numbers, line: Line) -> Indices:
    """How often steps, each from *begin* on for *advance*, pass over each point of a ring."""
    step, count = line.ring.step, len(line.ring)
    first = np.floor(begin / step).astype(np.intp)
    last = np.ceil((begin + advance) / step).astype(np.intp)
    passes = np.zeros(2 * count + 2, dtype=np.intp)  # a step may go on over the start
    np.add.at(passes, first, 1)
    np.add.at(passes, np.minimum(last, 2 * count), -1)
    total = np.cumsum(passes)
    return total[:count] + total[count : 2 * count]


def _is_around(track: Track, way: Way) -> bool:
    """Whether half of the steps begin where a circuit may have its roads.

    That is near its line; without one, no farther from its start than half a lap goes.
    """
    lat, lon = way.lat[way.clear], way.lon[way.clear]
    if track.line is not None and len(track.line) > 2:
        _, away = track.line.ring.nearest(*track.line.plane.xy(lat, lon))
        return bool(np.median(away) <= AROUND_M)
    x, y = Plane(track.start.lat, track.start.lon).xy(lat, lon)
    return bool(np.median(np.hypot(x, y)) <= track.length_m / 2 + AROUND_M)
