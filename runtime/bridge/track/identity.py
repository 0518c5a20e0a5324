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
"""During a longer step the direction of the car is unknown."""
LEAST_STEP_M: Final = 5.0
"""A smaller step within a second is noise of a standing car, or walking pace."""
LEAST_STEPS: Final = 10
"""Positions count from this number of steps on."""
LEAST_WAY_M: Final = 200.0
"""The least way along a line before positions can identify its circuit."""
AROUND_M: Final = 500.0
"""Driving further from a line than this has nothing to do with its circuit."""
ALONG_SHARE: Final = 0.8
"""As long as no lap is closed: the share of the way driven near a circuit that must follow its
line, and the share of its lap that must be covered."""
LAP_SHARE: Final = 0.98
"""The same for a closed lap. Drives 6 m off a line, or with positions 8 m off, give 0.99 and more;
a layout that leaves out 6 % of the line gives 0.96."""
STRETCH: Final = 3.0
"""A step follows a line if it advances by a third to three times its length: an inner or outer line
through a hairpin is that much shorter or longer."""
SAME_LENGTH: Final = 0.02
"""The share by which a measured lap may differ from the length of a circuit, because of the wheel's
rolling radius and the driven line."""


SITE_SHARE: Final = 0.05
SITE_M: Final = 100.0
"""Two sessions are on one unknown circuit if their laps lie within this distance, and differ by at
most `SITE_SHARE` in length; two layouts, or a kart track next to a circuit, differ more."""


class Identity(NamedTuple):
    """The circuit of a session."""

    track: Track | None = None
    """None: no known circuit."""
    ground: Ground | None = None
    """The evidence for it; None without a circuit."""
    name: str = ""
    """The name of the place: the driver's words if they are right, else the circuit's name; empty
    if unknown."""


class Site(NamedTuple):
    """Where laps lie: recognises a circuit that is not in the library."""

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
    """The start of each step."""
    to_lat: Numbers
    to_lon: Numbers
    clear: Flags
    """Whether the step shows the direction of the car: it is neither too small nor too long."""


class Steps(NamedTuple):
    """The steps of a way, relative to the line of a circuit."""

    metres: Numbers
    begin: Numbers
    """Metres along the line."""
    advance: Numbers
    """Metres along the line; negative against its direction."""
    offset: Numbers
    """Metres from the line at the beginning."""
    beside: Flags
    """Whether both ends lie on the line."""
    clear: Flags

    @property
    def passes(self) -> Flags:
        """Whether each step goes along the line, in either direction."""
        way = np.abs(self.advance)
        along = (way >= self.metres / STRETCH) & (way <= self.metres * STRETCH)
        return self.beside & self.clear & along

    @property
    def follows(self) -> Flags:
        """Whether each step goes along the line in its direction."""
        return self.passes & (self.advance > 0)

    def select(self, which: Flags | slice) -> "Steps":
        """Select some of the steps."""
        return Steps._make(column[which] for column in self)


class Match(NamedTuple):
    """The match between positions and a circuit."""

    fits: bool
    """False: they are laps of another circuit."""
    offset_m: float = 0.0
    """The median distance of the car from the line."""


def identify_circuit(series: Series, words: str, library: Library) -> Identity:
    """Find the circuit of *library* a session was driven on; *words*: the driver's name for it.

    Positions decide if there are any: for the circuit whose line they follow, and against one that
    the driver named if they are nowhere near it, or are laps of another layout or in the opposite
    direction. Without positions the driver's words count, unless laps that were measured without a
    circuit have another length; without words that length identifies the circuit.
    """
    named = library.by_name(words)
    way = measure_way(series)
    if way is None:
        return _identify_without_positions(series, words, named, library)
    matches = {key: _match_track(series, way, track) for key, track in library.tracks.items()}
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


def _identify_without_positions(
    series: Series, words: str, named: Track | None, library: Library
) -> Identity:
    """See `identify_circuit`. Laps of another length refute the circuit that was named."""
    if words and named is None:
        return Identity(name=words)
    length = _measure_lap(series)
    if named is not None:
        is_other = length is not None and not _is_near(length, named, LENGTH_SHARE)
        return Identity() if is_other else Identity(named, "driver", words)
    tracks = library.tracks.values()
    same = [t for t in tracks if length is not None and _is_near(length, t, SAME_LENGTH)]
    return Identity(same[0], "lap_length", same[0].name) if len(same) == 1 else Identity()


def _is_near(length_m: float, track: Track, share: float) -> bool:
    return abs(track.length_m - length_m) <= share * track.length_m


def _measure_lap(series: Series) -> float | None:
    """Return the length of laps that a distance or counter measured without a circuit."""
    laps = detect_laps(series)
    return laps.length_m if laps.method == "distance" else None


def locate_site(laps: Laps) -> Site | None:
    """Return where the fastest lap lies; None without one, or without usable positions."""
    lap, series = laps.best, laps.series
    if lap is None or laps.length_m is None or not series.gps_usable:
        return None
    fixed = series.fixed[lap.frames]
    lat, lon = series["lat"][lap.frames][fixed], series["lon"][lap.frames][fixed]
    if not len(lat) or np.ptp(lon) > 180.0:
        return None
    return Site(float(lat.min() + lat.max()) / 2, float(lon.min() + lon.max()) / 2, laps.length_m)


def measure_way(series: Series) -> Way | None:
    """Return the steps of the car by its usable positions; None if they show no driving."""
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


def _match_track(series: Series, way: Way, track: Track) -> Match | None:
    """Match positions to a circuit; None if they neither confirm nor refute it.

    They are on a circuit without a line if laps of its length close through its gate.
    """
    if track.line is not None and len(track.line) > 2:
        return _match_line(way, track.line)
    if not _is_around(track, way):
        return None
    laps = detect_laps(series, gate=track.start, track_length_m=track.length_m)
    return Match(True) if laps.method == "gps" else None


def _match_line(way: Way, line: Line) -> Match | None:
    """See `_match_track`. At least half of the closed laps must follow the line, in its direction,
    and cover it; without a closed lap, most of the way near the line must."""
    around = _is_in_box(way, line) & way.clear
    if around.sum() < LEAST_STEPS:
        return None
    steps = _project(way, line)
    if laps := _find_closed_laps(steps, line):
        fits = [min(_measure_shares(steps.select(lap), line)) >= LAP_SHARE for lap in laps]
        if np.mean(fits) < 0.5:
            return Match(False)
    else:
        steps = steps.select(around)
        followed, covered = _measure_shares(steps, line)
        way_m = float(steps.metres.sum())
        possible = min(way_m / line.length_m, 1.0)
        if followed < max(ALONG_SHARE, LEAST_WAY_M / way_m) or covered < ALONG_SHARE * possible:
            return None
    return Match(True, float(np.median(np.abs(steps.offset[steps.follows]))))


def _is_in_box(way: Way, line: Line) -> Flags:
    """Flag the steps that begin near a circuit."""
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


def _find_closed_laps(steps: Steps, line: Line) -> list[slice]:
    """Return the steps from each pass of a place on the line to the next, in either direction.

    The place is the one passed most often. A lap goes along at least half of the line.
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


def _measure_shares(steps: Steps, line: Line) -> tuple[float, float]:
    """Return the share of steps, by metres, that follow a line, and the share of it they cover.

    Steps that are not clear cover the line too.
    """
    follows = steps.follows
    covers = follows | (steps.beside & ~steps.clear & (steps.advance > 0))
    covered = _count_passes(steps.begin[covers], steps.advance[covers], line) > 0
    followed = steps.metres[follows].sum() / steps.metres[steps.clear].sum()
    return float(followed), float(covered.mean())


def _count_passes(begin: Numbers, advance: Numbers, line: Line) -> Indices:
    """Count how often steps, each *advance* long from *begin*, pass each point of a ring."""
    step, count = line.ring.step, len(line.ring)
    first = np.floor(begin / step).astype(np.intp)
    last = np.ceil((begin + advance) / step).astype(np.intp)
    passes = np.zeros(2 * count + 2, dtype=np.intp)  # a step may continue past the start
    np.add.at(passes, first, 1)
    np.add.at(passes, np.minimum(last, 2 * count), -1)
    total = np.cumsum(passes)
    return total[:count] + total[count : 2 * count]


def _is_around(track: Track, way: Way) -> bool:
    """Whether half of the steps begin where a circuit may have its roads.

    That is near its line; without a line, within half a lap of its start.
    """
    lat, lon = way.lat[way.clear], way.lon[way.clear]
    if track.line is not None and len(track.line) > 2:
        _, away = track.line.ring.nearest(*track.line.plane.xy(lat, lon))
        return bool(np.median(away) <= AROUND_M)
    x, y = Plane(track.start.lat, track.start.lon).xy(lat, lon)
    return bool(np.median(np.hypot(x, y)) <= track.length_m / 2 + AROUND_M)
