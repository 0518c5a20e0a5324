"""Gates: when a drive crosses one, and where to set one if the line is unknown."""

import math
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import METRES_PER_DEGREE, Indices, Plane
from runtime.bridge.session.recording import Gate, Numbers
from runtime.bridge.session.series import Flags, Series

NEAR_M: Final = 100.0
FIT_S: Final = 1.0
"""A crossing is fitted over the fixes this long before and after it."""
FIT_M: Final = 2.0
"""A car that moves less than this over those fixes stands; there is nothing to fit."""
EDGE_S: Final = 0.2
"""A crossing is found at most this long before or after the recording, where the path is known."""
AGAIN_S: Final = 20.0
AGAIN_M: Final = 300.0
SHORTEST_S: Final = 20.0
LONGEST_S: Final = 1200.0

THIN_S: Final = 0.1
"""A gate is chosen on fixes no closer than this."""
COURSE_S: Final = 1.0
"""Course and speed of a fix are measured from this long before it to this long after it."""
PLACES: Final = 150
"""The number of places along the drive at which a gate is tried."""
EDGES_M: Final = (10.0, 30.0, 60.0)
"""Further places this far from both ends of the recording, where one more lap may close."""
LEAST_MS: Final = 5.0
LIVELY: Final = 0.5
"""A pass slower than this share of the usual one is on the way in or out, or in the pit lane."""
ROUND: Final = 0.75
"""The least share of a lap that the out lap takes before a lap begins, and the in lap after one
has ended."""
SAME_PLACE_M: Final = 30.0
SURE_LAPS: Final = 3
LAP_SHARE: Final = 0.4
"""Fewer laps than `SURE_LAPS` must be this share of the drive: a road drive that goes twice around
a roundabout, or once around a block, is not on a circuit."""
STANDS_MS: Final = 1.0
STANDS_S: Final = 3.0
"""A car that stands for this long between two passes of a gate has not driven a lap."""
ONCE_M: Final = 50.0
"""A lap that passes the same place again after more than this goes around a smaller loop."""
BACK_M: Final = 10.0
BACK_SHARE: Final = 0.6
"""A lap that returns on the same road for this share goes out and back, not around."""
BACK_POINTS: Final = 1000
STRIP_M: Final = 25.0
"""A lap that is nowhere wider runs up and down a road or a strip, not around a circuit."""
ALIKE: Final = 1.04
"""Laps agree if the longest is at most this many times as long as the shortest."""
ON_COURSE: Final = math.cos(math.radians(45.0))
BESIDE_M: Final = 12.0
"""Half the width of a track: passes within it are in one lane."""
WIDTHS_M: Final = (25.0, 35.0, 50.0, 15.0, 10.0)
CLEAR_M: Final = 5.0
"""A narrow gate must reach this far beyond the passes that it counts."""


def find_crossings(series: Series, gate: Gate) -> Numbers:
    """Find every moment at which a gate is crossed, however soon after the last.

    Between two fixes that are both within 100 m, the distance along the gate's heading goes from
    negative to 0 or more, and the path meets the line within its half-width. The moment comes from
    a straight line through the fixes of a second to each side, over the distance driven, so that
    the noise of two single fixes does not move it; if that line goes backwards, nothing was
    crossed.
    """
    fixes = np.flatnonzero(series.fixed)
    # Few frames are near the gate: the others are dropped before the computation.
    close = np.flatnonzero(np.abs(series["lat"][fixes] - gate.lat) <= NEAR_M / METRES_PER_DEGREE)
    frames = fixes[close]
    if len(frames) < 2:
        return np.zeros(0)
    along, across = measure_beside(gate, series["lat"][frames], series["lon"][frames])
    near = np.hypot(along, across) <= NEAR_M
    i = np.flatnonzero((along[:-1] < 0) & (along[1:] >= 0) & (np.diff(close) == 1))
    i = i[near[i] & near[i + 1]]
    share = along[i] / (along[i] - along[i + 1])
    beside = across[i] + share * (across[i + 1] - across[i])
    i, share = i[keep := np.abs(beside) <= gate.half_width_m], share[keep]
    before, after = frames[i], frames[i + 1]
    moments = series.t[before] + share * (series.t[after] - series.t[before])
    if not len(moments):
        return moments
    fit = _Fit(series, frames, along)
    crossings: Numbers = np.array([fit.find_crossing(moment) for moment in moments.tolist()])
    forward: Numbers = crossings[~np.isnan(crossings)]
    return forward


def measure_beside(gate: Gate, lat: Numbers, lon: Numbers) -> tuple[Numbers, Numbers]:
    """Return metres past the line of a gate, and to the right of its middle."""
    x, y = Plane(gate.lat, gate.lon).xy(lat, lon)
    north, east = math.cos(math.radians(gate.heading)), math.sin(math.radians(gate.heading))
    return x * east + y * north, x * north - y * east


class _Fit:
    """Fixes near a gate, to which crossings are fitted."""

    def __init__(self, series: Series, frames: Indices, along: Numbers) -> None:
        """*along*: metres past the line of the fixes *frames*."""
        self._t = series.t[frames]
        self._along = along
        self._pauses = np.append(0, np.cumsum(series.gap))[frames]
        rolled = series.rolled
        # The distance past the line is linear in the distance driven, however the car
        # accelerates; without a speed it is a parabola over time.
        self._over, self._degree = (self._t, 2) if rolled is None else (rolled[frames], 1)

    def find_crossing(self, moment: float) -> float:
        """Return when the fixes around *moment* reach the line; NaN if they go the other way.

        *moment* itself if there are too few, or the car stands.
        """
        part = slice(*np.searchsorted(self._t, [moment - FIT_S, moment + FIT_S]).tolist())
        t, along, pauses = self._t[part], self._along[part], self._pauses[part]
        if len(t) <= 2 or pauses[0] < pauses[-1]:
            return moment
        over = self._over[part] - np.interp(moment, self._t, self._over)
        if np.ptp(along) < FIT_M or np.ptp(over) <= 0:
            return moment
        line = np.polynomial.Polynomial.fit(over, along, self._degree)
        slope = line.deriv()
        if slope(0.0) <= 0:
            return math.nan
        root = 0.0
        for _ in range(3):  # of a parabola, by Newton
            root -= float(line(root) / max(slope(root), slope(0.0) / 2))
        fitted = float(np.interp(root, over, t))
        return fitted if abs(fitted - moment) <= FIT_S / 2 else moment


def find_lap_starts(series: Series, gate: Gate, travelled: Numbers) -> Numbers:
    """Find the crossings that can begin a lap: at least 20 s and 300 m after the one before."""
    crossings = find_crossings(series, gate)
    way = np.interp(crossings, series.t, travelled) if len(series) else crossings
    return crossings[_space_out(crossings, way)]


def add_edges(series: Series, gate: Gate, starts: Numbers) -> Numbers:
    """Add crossings less than a frame, and 0.2 s, outside the recording, where a file of whole laps
    is cut.

    The path goes on straight from its first two fixes backwards and from its last two forwards.
    """
    if len(series) < 3 or not series.fixed[[0, 1, -2, -1]].all():
        return starts
    edges = []
    for outer, inner in ((0, 1), (-1, -2)):
        along, across = measure_beside(gate, *(series[n][[outer, inner]] for n in ("lat", "lon")))
        share = along[0] / (along[0] - along[1]) if along[0] != along[1] else math.nan
        beside = across[0] + share * (across[1] - across[0])
        forward = (along[1] - along[0]) * (inner - outer) > 0
        if forward and -1 < share <= 0 and abs(beside) <= gate.half_width_m:
            edges.append((series.t[outer], share * (series.t[inner] - series.t[outer])))
    near = [end + away for end, away in edges if abs(away) <= EDGE_S]
    apart = [edge for edge in near if not (np.abs(starts - edge) < AGAIN_S).any()]
    merged: Numbers = np.sort(np.append(starts, apart))
    return merged


def _space_out(t: Numbers, way: Numbers) -> list[int]:
    """Pick the crossings that are late and far enough after the one before."""
    kept: list[int] = []
    last = -math.inf, -math.inf
    for i, (moment, metres) in enumerate(zip(t.tolist(), way.tolist(), strict=True)):
        if moment - last[0] >= AGAIN_S and metres - last[1] >= AGAIN_M:
            kept.append(i)
            last = moment, metres
    return kept


class _Trace(NamedTuple):
    """About ten fixes a second on a map."""

    t: Numbers
    x: Numbers
    """Metres, like *y* and *way*."""
    y: Numbers
    way: Numbers
    course: Numbers
    """Radians, 0 north, clockwise."""
    speed: Numbers
    """m/s, from the positions."""
    stood: Numbers
    """Seconds of standing since the first fix."""


class _Choice(NamedTuple):
    """The laps that a gate at some place would give."""

    n_laps: int
    """Laps that agree with each other in length."""
    lap_m: float
    covered: float
    """Their share of the way from the first of them to the last."""
    cost_s: float
    """The approximate error of a lap time: the uncertainty of the place over the speed there."""
    x: float
    y: float
    course: float
    half_width_m: float
    begin: float
    """Seconds at which one of the laps begins."""
    end: float

    @property
    def worth(self) -> float:
        """Higher for more laps, for longer ones, and for laps that follow each other."""
        return self.n_laps * math.sqrt(self.lap_m) * self.covered


class ChosenGate(NamedTuple):
    """A gate, and when the drive was between its out lap and its in lap."""

    gate: Gate
    begin: float = -math.inf
    """Seconds, like *end*; infinite if the recording begins or ends at speed."""
    end: float = math.inf

    def keep(self, crossings: Numbers) -> Numbers:
        """Return the crossings at which a lap may begin or end."""
        return crossings[(crossings >= self.begin) & (crossings <= self.end)]


def choose_gate(series: Series, travelled: Numbers) -> ChosenGate | None:
    """Choose the gate at which most laps agree in length, and whose moments are the most exact.

    Places along the whole drive are tried. Among those that give most laps, the place with fast,
    straight and closely spaced passes wins. The gate is as wide as a track plus the error of the
    positions, but reaches neither another leg of the track nor the pit lane if these are apart
    from the passes that count. A drive that begins slowly leaves the pits: its first round is not
    a lap, nor is the last round of a drive that ends slowly, unless there is no other. So the
    gate ends up near the pits, where a timekeeper has the line. None if no lap closes, or if the
    laps are only a few loops of a longer drive.
    """
    fixes = np.flatnonzero(series.fixed)
    if len(fixes) < 3:
        return None
    plane = Plane(float(series["lat"][fixes[0]]), float(series["lon"][fixes[0]]))
    trace = _thin(series, plane, travelled)
    choices = _try_places(trace, -math.inf, math.inf)
    if not choices:
        return None
    lap_m = max(choices, key=lambda choice: choice.worth).lap_m
    begin, end = _between_pits(trace, lap_m)
    if begin > -math.inf or end < math.inf:
        if flying := _try_places(trace, begin, end):
            choices = flying
        else:
            begin, end = -math.inf, math.inf
    same = [c for c in choices if lap_m / ALIKE <= c.lap_m <= lap_m * ALIKE] or choices
    best = min(same, key=lambda choice: (-choice.n_laps, choice.cost_s))
    ways = np.interp(np.clip([begin, end], trace.t[0], trace.t[-1]), trace.t, trace.way)
    if best.n_laps < SURE_LAPS and best.n_laps * best.lap_m < LAP_SHARE * np.ptp(ways):
        return None
    if _goes_back(trace, best.begin, best.end):
        return None
    lat, lon = plane.latlon(np.array([best.x]), np.array([best.y]))
    heading = math.degrees(best.course) % 360.0
    gate = Gate(float(lat[0]), float(lon[0]), heading, best.half_width_m)
    return ChosenGate(gate, begin, end)


def _try_places(trace: _Trace, begin: float, end: float) -> list[_Choice]:
    """Try a gate at places along the drive, with laps between two moments."""
    tried = (_try_place(trace, place, begin, end) for place in _list_places(trace))
    return [choice for choice in tried if choice is not None]


def _between_pits(trace: _Trace, lap_m: float) -> tuple[float, float]:
    """Return the moments between which laps lie: after an out lap and before an in lap."""
    begin, end = -math.inf, math.inf
    if _is_slow(trace, 0, lap_m):
        begin = float(np.interp(trace.way[0] + ROUND * lap_m, trace.way, trace.t))
    if _is_slow(trace, len(trace.t) - 1, lap_m):
        end = float(np.interp(trace.way[-1] - ROUND * lap_m, trace.way, trace.t))
    return begin, end


def _is_slow(trace: _Trace, fix: int, lap_m: float) -> bool:
    """Whether the car is much slower at a fix than on its other passes of the place, or than on
    the whole drive if there are none."""
    near = np.hypot(trace.x - trace.x[fix], trace.y - trace.y[fix]) <= SAME_PLACE_M
    near &= np.abs(trace.way - trace.way[fix]) >= lap_m / 2
    speed = trace.speed[near] if near.any() else trace.speed
    usual = (speed**2).sum() / max(speed.sum(), 1.0)  # weighted by distance: standing adds nothing
    return bool(trace.speed[fix] < LIVELY * usual)


def _thin(series: Series, plane: Plane, travelled: Numbers) -> _Trace:
    fixes = np.flatnonzero(series.fixed)
    t = series.t[fixes]
    tick = np.floor((t - t[0]) / THIN_S)
    fixes = fixes[np.append(True, np.diff(tick) > 0)]
    t = series.t[fixes]
    x, y = plane.xy(series["lat"][fixes], series["lon"][fixes])
    begin, end = np.maximum(t - COURSE_S, t[0]), np.minimum(t + COURSE_S, t[-1])
    dx, dy = (np.interp(end, t, values) - np.interp(begin, t, values) for values in (x, y))
    speed = np.hypot(dx, dy) / np.maximum(end - begin, THIN_S)
    # Estimate the distance during pauses, so that laps with a pause are as long as the others.
    paused = np.append(0.0, np.cumsum(np.where(series.gap, series.dt, 0.0)))[fixes]
    unseen = np.append(0.0, np.cumsum(np.diff(paused) * (speed[1:] + speed[:-1]) / 2))
    stands = np.maximum(speed[1:], speed[:-1]) < STANDS_MS
    stood = np.append(0.0, np.cumsum(np.where(stands, np.diff(t) - np.diff(paused), 0.0)))
    return _Trace(t, x, y, travelled[fixes] + unseen, np.arctan2(dx, dy), speed, stood)


def _goes_back(trace: _Trace, begin: float, end: float) -> bool:
    """Whether the drive between two moments mostly goes out and back on one road, or stays on one
    strip."""
    ways = np.interp([begin, end], trace.t, trace.way)
    step = max(float(np.ptp(ways)) / BACK_POINTS, BACK_M / 2)
    places = np.arange(ways[0], ways[1], step)
    x, y = (np.interp(places, trace.way, values) for values in (trace.x, trace.y))
    _, axes = np.linalg.eigh(np.cov(x, y))
    if np.ptp(axes[:, 0] @ np.stack([x, y])) <= STRIP_M:
        return True
    east, north = np.gradient(x), np.gradient(y)
    size = np.maximum(np.hypot(east, north), 1e-9)
    east, north = east / size, north / size
    dx, dy = x - x[:, None], y - y[:, None]
    beside = np.abs(dx * north[:, None] - dy * east[:, None]) <= BACK_M
    beside &= np.abs(dx * east[:, None] + dy * north[:, None]) <= step
    beside &= east * east[:, None] + north * north[:, None] <= -ON_COURSE
    return bool(beside.any(axis=1).mean() > BACK_SHARE)


def _list_places(trace: _Trace) -> list[int]:
    """List the fixes at which a gate is tried, spread over the drive for any lap length."""
    begin, end = float(trace.way[0]), float(trace.way[-1])
    golden = (math.sqrt(5.0) - 1.0) / 2.0
    shares = np.arange(1, PLACES + 1) * golden % 1.0
    edges = np.array(EDGES_M)
    metres = np.concatenate([begin + edges, end - edges, begin + shares * (end - begin)])
    at = np.clip(np.searchsorted(trace.way, metres), 0, len(trace.t) - 1)
    places: list[int] = np.unique(at[trace.speed[at] >= LEAST_MS]).tolist()
    return places


class _Passes(NamedTuple):
    """Where the drive passes forward through the line at a place, however far to its side."""

    t: Numbers
    way: Numbers
    beside: Numbers
    """Metres to the right of the middle of the lane."""
    turned: Numbers
    """Radians to the right of the course at the place."""
    speed: Numbers
    stood: Numbers
    """Seconds, as in a trace."""

    def select(self, which: Indices | Flags) -> "_Passes":
        """Select some of the passes."""
        return _Passes(*(values[which] for values in self))


def _try_place(trace: _Trace, place: int, begin: float, end: float) -> _Choice | None:
    """Try a gate across the track at a fix, with laps between two moments; None if it has none."""
    x, y, course = (float(values[place]) for values in (trace.x, trace.y, trace.course))
    passes = _find_passes(trace, x, y, course)
    on_course = np.cos(passes.turned) >= ON_COURSE
    around = np.sort(passes.beside[on_course & (np.abs(passes.beside) <= WIDTHS_M[0])])
    if len(around) < 2:
        return None
    middle = float(around[len(around) // 2])  # on a pass, not halfway between two lanes
    passes = passes._replace(beside=passes.beside - middle)
    lane = on_course & (np.abs(passes.beside) <= BESIDE_M)
    lively = on_course & (passes.speed >= LIVELY * np.median(passes.speed[lane]))
    lively &= (passes.t >= begin) & (passes.t <= end)
    reach = np.abs(passes.beside[~on_course]).min(initial=math.inf)
    chosen: tuple[tuple[float, int, int], _Choice] | None = None
    judged: set[int] = set()
    for rank, half_width in enumerate(WIDTHS_M):
        inside = np.flatnonzero(np.abs(passes.beside) <= half_width)
        if half_width > reach or len(inside) in judged:  # the same passes, by a wider gate
            continue
        starts = inside[_space_out(passes.t[inside], passes.way[inside])]
        laps = _find_agreeing_laps(passes.select(starts), lively[starts], passes.way[lane])
        if not len(laps):
            judged.add(len(inside))
            continue
        counted = passes.select(starts[np.union1d(laps, laps + 1)])
        clear = half_width - np.abs(counted.beside).max()
        if half_width < WIDTHS_M[0] and clear < CLEAR_M:
            continue
        judged.add(len(inside))
        metres = np.diff(passes.way[starts])[laps]
        scatter = 1.0 + counted.beside.std() + 2 * BESIDE_M * counted.turned.std()
        choice = _Choice(
            len(laps),
            float(np.median(metres)),
            float(metres.sum() / np.ptp(counted.way)),
            float(scatter / np.median(counted.speed)),
            x + middle * math.cos(course),
            y - middle * math.sin(course),
            course + float(counted.turned.mean()),
            half_width,
            *passes.t[starts[laps[0] : laps[0] + 2]].tolist(),
        )
        order = choice.worth, -len(inside), -rank
        if chosen is None or order > chosen[0]:
            chosen = order, choice
    return chosen[1] if chosen is not None else None


def _find_passes(trace: _Trace, x: float, y: float, course: float) -> _Passes:
    east, north = math.sin(course), math.cos(course)
    dx, dy = trace.x - x, trace.y - y
    close = np.flatnonzero((np.abs(dx) <= NEAR_M) & (np.abs(dy) <= NEAR_M))
    along = dx[close] * east + dy[close] * north
    across = dx[close] * north - dy[close] * east
    i = np.flatnonzero((along[:-1] < 0) & (along[1:] >= 0) & (np.diff(close) == 1))
    share = along[i] / (along[i] - along[i + 1])
    at = close[i]
    turned = (trace.course[at] - course + math.pi) % (2 * math.pi) - math.pi
    return _Passes(
        trace.t[at] + share * (trace.t[at + 1] - trace.t[at]),
        trace.way[at] + share * (trace.way[at + 1] - trace.way[at]),
        across[i] + share * (across[i + 1] - across[i]),
        turned,
        trace.speed[at],
        trace.stood[at],
    )


def _find_agreeing_laps(passes: _Passes, lively: Flags, lane_m: Numbers) -> Indices:
    """Find the most laps that agree in length, as indices of the passes that begin them.

    *lane_m*: the metres at which the drive passes in the same lane, here or elsewhere.
    """
    seconds, metres = np.diff(passes.t), np.diff(passes.way)
    timely = (seconds >= SHORTEST_S) & (seconds <= LONGEST_S)
    timely &= np.diff(passes.stood) < STANDS_S
    inner = np.searchsorted(lane_m, passes.way[1:] - ONCE_M)
    timely &= inner <= np.searchsorted(lane_m, passes.way[:-1] + ONCE_M)
    laps = np.flatnonzero(timely & lively[:-1] & lively[1:])
    if not len(laps):
        return laps
    laps = laps[np.argsort(metres[laps])]
    alike = np.searchsorted(metres[laps], metres[laps] * ALIKE, side="right") - np.arange(len(laps))
    first = int(alike.argmax())
    return laps[first : first + int(alike[first])]
