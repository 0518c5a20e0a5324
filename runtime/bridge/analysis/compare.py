"""Two laps side by side: where one loses time to the other."""

import math
import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.laps import (
    compose_ideal_lap,
    list_mini_sectors,
    list_timed_corners,
    list_windows,
)
from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import Span, time_crossings, time_sectors
from runtime.bridge.session.recording import Gate, Numbers
from runtime.bridge.session.series import Series, longest_step_s
from runtime.bridge.session.units import KMH

AXIS_STEP_M: Final = 5.0
MOST_STEPS: Final = 20_000
"""Of an axis: 100 km in steps of 5 m. A longer lap, from a faulty distance, has longer steps."""
Kind = Literal["lap", "best", "record", "ideal", "target"]
LONGEST_S: Final = 3600.0
SAME_PLACE_M: Final = 50.0
SAME_LENGTH: Final = 0.1
"""The share by which lap lengths on one circuit may differ."""
_NUMBER: Final = re.compile(r"[0-9]{1,6}")
_CLOCK: Final = re.compile(r"([0-9]{1,2}):([0-5][0-9]\.[0-9]{1,6})")
_SECONDS: Final = re.compile(r"[0-9]{1,4}\.[0-9]{1,6}")
_ELSEWHERE: Final = re.compile(r"([^:].*):([0-9]{1,6}|best|ideal)")


def find_moments(drive: Drive, lap: Segment, places: Numbers) -> Numbers:
    """Return when a lap first reached places (metres of progress); see `time_crossings`."""
    return time_crossings(drive.series, drive.progress, lap, places)


def sample_channel(series: Series, name: str, t: Numbers) -> Numbers:
    """Interpolate a continuous channel at moments, linearly between its known readings.

    NaN where the readings around a moment are as far apart as a pause of the recording, or where
    the moment is NaN.
    """
    return sample_values(series.t, series[name], t, longest_step_s(series.nominal_s))


def sample_values(times: Numbers, values: Numbers, t: Numbers, apart_s: float) -> Numbers:
    """Interpolate readings at moments *t*, linearly between the known ones; *times* rise.

    NaN where the readings around a moment are further apart than *apart_s*, or where the moment
    is NaN.
    """
    result = np.full(len(t), np.nan)
    wanted = t[~np.isnan(t)]
    if not len(wanted):
        return result
    bounds = [wanted.min() - apart_s, wanted.max() + apart_s]
    near = slice(*np.searchsorted(times, bounds).tolist())
    readings = ~np.isnan(values[near])
    times, values = times[near][readings], values[near][readings]
    if not len(times):
        return result
    after = np.minimum(np.searchsorted(times, wanted), len(times) - 1)
    before = np.maximum(after - 1, 0)
    with np.errstate(over="ignore"):  # between readings near the largest number
        read = np.interp(wanted, times, values, left=np.nan, right=np.nan)
    read[np.isinf(read)] = np.nan
    bridged = (times[after] - times[before] > apart_s) & (times[after] != wanted)
    result[~np.isnan(t)] = np.where(bridged, np.nan, read)
    return result


def axis_step_m(length_m: float) -> float:
    """Return the metres between places of an axis: 5, or more if a lap would have too many."""
    return max(AXIS_STEP_M, length_m / MOST_STEPS)


def axis(length_m: float) -> Numbers:
    """Return places every 5 m of a lap (see `axis_step_m`), and its end."""
    step = axis_step_m(length_m)
    steps = np.arange(0.0, length_m, step)
    if length_m - steps[-1] < step / 1000:  # the end itself, but for rounding
        steps = steps[:-1]
    return np.append(steps, length_m)


class Reference(NamedTuple):
    """The other side of a comparison: a lap, the ideal lap, or only a time."""

    kind: Kind
    session_id: str | None = None
    """None: the same session."""
    lap: int | None = None
    """None: its best."""
    time_s: float | None = None
    """Of a target."""


def parse_side(text: str) -> Reference:
    """Read ``7``, ``best``, ``ideal``, ``record``, ``session:7``, ``1:35.2`` or ``95.2``.

    Also the best or ideal lap of another session: ``session:best``, ``session:ideal``. A time has a
    decimal point; a number without one is a lap. Raises ValueError.
    """
    word = text.strip()
    if word in ("best", "ideal", "record"):
        kind: Kind = "best" if word == "best" else "ideal" if word == "ideal" else "record"
        return Reference(kind)
    if _NUMBER.fullmatch(word):
        return Reference("lap", lap=int(word))
    if (clock := _CLOCK.fullmatch(word)) is not None:
        return _target(60 * int(clock[1]) + float(clock[2]))
    if _SECONDS.fullmatch(word):
        return _target(float(word))
    if (other := _ELSEWHERE.fullmatch(word)) is not None:
        if other[2] == "ideal":
            return Reference("ideal", other[1])
        number = None if other[2] == "best" else int(other[2])
        return Reference("best" if number is None else "lap", other[1], number)
    raise ValueError(
        "must be a lap number, <session>:<lap>, best, ideal, record, or a time such as 1:35.200"
    )


def _target(seconds: float) -> Reference:
    if not 1.0 <= seconds <= LONGEST_S:
        raise ValueError("a target time must be from 1 second to 1 hour")
    return Reference("target", time_s=seconds)


class Side(NamedTuple):
    """One of the two laps on the common axis; NaN stands for null."""

    time_s: float | None
    lap: int | None
    elapsed: Numbers
    """Seconds since the start of the lap at each place."""
    speed_kmh: Numbers
    throttle_pct: Numbers
    brake_bar: Numbers
    g_lat: Numbers
    sectors: tuple[float | None, ...]
    """Seconds."""
    minis: tuple[float | None, ...]
    """Seconds in the 25 mini-sectors."""
    corners: tuple[float | None, ...]
    """Seconds from the start of the approach to the exit."""
    derived: tuple[str, ...] = ()
    """Signals that no sensor measured (`Series.derived`)."""


class Circuit(NamedTuple):
    """The circuit on which two laps are compared, from the own session."""

    track: str | None
    """Id of the track file."""
    length_m: float
    gate: Gate | None
    """Start/finish, if laps were cut by position."""
    sectors: tuple[Span, ...]
    corners: tuple[Span, ...]
    """From the start of the approach to the exit."""
    windows: tuple[Span, ...]
    """From entry to exit."""
    apexes: tuple[float, ...]
    """Metres of lap progress, one for each corner."""


def describe_circuit(drive: Drive) -> Circuit:
    """Return the circuit of a drive."""
    gate = drive.laps.gate
    return Circuit(
        drive.track.id if drive.track is not None else None,
        drive.length_m,
        gate,
        drive.sectors,
        list_timed_corners(drive),
        list_windows(drive),
        tuple(corner.apex.distance_m for corner in drive.corners) if drive.geometry else (),
    )


def explain_mismatch(own: Circuit, other: Circuit) -> str | None:
    """Explain why laps of two circuits cannot be compared; None if they can."""
    if own.track is not None and other.track is not None and own.track != other.track:
        return f"the lap is on another circuit: {other.track}, not {own.track}"
    if abs(own.length_m - other.length_m) > SAME_LENGTH * max(own.length_m, other.length_m):
        return f"the lap is {other.length_m:.0f} m long, not {own.length_m:.0f} m"
    if own.gate is not None and other.gate is not None:
        way = metres_between(own.gate.lat, own.gate.lon, other.gate.lat, other.gate.lon)
        if way > SAME_PLACE_M:
            return f"the lap begins {way:.0f} m away; a track file would define where laps begin"
    return None


def measure_side(drive: Drive, number: int | None, on: Circuit) -> Side:
    """Measure a driven lap, the best for None, scaled to the circuit *on*.

    Laps of two sessions agree at the start and the end, and proportionally between. Raises
    `NoSuchLap`.
    """
    lap = drive.lap(number)
    scale = drive.length_m / on.length_m
    t = find_moments(drive, lap, axis(on.length_m) * scale)
    return Side(
        lap.duration_s,
        lap.number,
        t - lap.t_start,
        sample_channel(drive.series, "speed_ms", t) * KMH,
        sample_channel(drive.series, "throttle_pct", t),
        sample_channel(drive.series, "brake_bar", t),
        sample_channel(drive.series, "g_lat", t),
        _measure_parts(drive, lap, on.sectors, scale),
        _measure_parts(drive, lap, list_mini_sectors(on.length_m), scale),
        tuple(_measure_corner(drive, lap, corner, scale) for corner in on.corners),
        tuple(sorted(drive.series.derived)),
    )


def scale_side(drive: Drive, time_s: float) -> Side:
    """Scale the best lap to *time_s*: the same line, faster or slower by one factor.

    Speed scales with that factor and lateral acceleration with its square; the pedals are unknown.
    """
    side = measure_side(drive, None, describe_circuit(drive))
    scale = drive.best.duration_s / time_s
    unknown = np.full(len(side.elapsed), np.nan)
    sectors, minis, corners = (
        tuple(None if seconds is None else seconds / scale for seconds in times)
        for times in (side.sectors, side.minis, side.corners)
    )
    return side._replace(
        time_s=time_s,
        lap=None,
        elapsed=side.elapsed / scale,
        speed_kmh=side.speed_kmh * scale,
        throttle_pct=unknown,
        brake_bar=unknown,
        g_lat=side.g_lat * scale**2,
        sectors=sectors,
        minis=minis,
        corners=corners,
    )


def compose_ideal(drive: Drive, on: Circuit) -> Side:
    """Return the best of every sector and mini-sector: only times of parts, no channels."""
    ideal = compose_ideal_lap(drive)
    unknown = np.full(len(axis(on.length_m)), np.nan)
    return Side(
        ideal.sectors.lap_s,
        None,
        unknown,
        unknown,
        unknown,
        unknown,
        unknown,
        tuple(part.time_s for part in ideal.sectors.parts),
        tuple(part.time_s for part in ideal.mini_sectors.parts),
        (None,) * len(on.corners),
    )


def _measure_parts(
    drive: Drive, lap: Segment, spans: Sequence[Span], scale: float
) -> tuple[float | None, ...]:
    """Measure the seconds in adjoining parts of another circuit."""
    own = [Span(span.name, span.start_m * scale, span.end_m * scale) for span in spans]
    return tuple(time_sectors(drive.laps, drive.progress, lap, own))


def _measure_corner(drive: Drive, lap: Segment, corner: Span, scale: float) -> float | None:
    """Measure the seconds of a lap in a corner; over start/finish, at both ends of the lap."""
    places = np.array([corner.start_m * scale, corner.end_m * scale])
    begin, end = (float(moment) for moment in find_moments(drive, lap, places))
    if math.isnan(begin + end):
        return None
    stays = [(begin, end)]
    if corner.start_m > corner.end_m:
        stays = [(begin, lap.t_end), (lap.t_start, end)]
    if any(a > b or drive.series.gap_time(a, b) > 0 for a, b in stays):
        return None
    return sum(b - a for a, b in stays)


class PartDelta(NamedTuple):
    """A part of the lap: seconds of both sides, and their difference."""

    span: Span
    a_s: float | None
    b_s: float | None

    @property
    def delta_s(self) -> float | None:
        """Positive: the first is slower."""
        return None if self.a_s is None or self.b_s is None else self.a_s - self.b_s


class CornerDelta(NamedTuple):
    """A corner: its times from the start of its approach, and the lowest speeds on the axis from
    entry to exit."""

    part: PartDelta
    a_min_kmh: float | None
    b_min_kmh: float | None


class Comparison(NamedTuple):
    """Two laps on one axis, every `axis_step_m` of the first lap's circuit."""

    a: Side
    b: Side
    distance_m: Numbers
    delta_s: Numbers
    """How much longer the first has taken to reach each place; NaN where unknown."""
    sectors: tuple[PartDelta, ...]
    mini_sectors: tuple[PartDelta, ...]
    corners: tuple[CornerDelta, ...]
    """In lap order."""
    step_m: float

    @property
    def gap_s(self) -> float | None:
        """How much longer the first lap took."""
        has_times = self.a.time_s is not None and self.b.time_s is not None
        return self.a.time_s - self.b.time_s if has_times else None  # type: ignore[operator]


def compare_sides(a: Side, b: Side, where: Circuit) -> Comparison:
    """Compare two laps on the circuit they were scaled to."""
    length, at = where.length_m, axis(where.length_m)
    corners = []
    for span, window, a_s, b_s in zip(
        where.corners, where.windows, a.corners, b.corners, strict=True
    ):
        inside = (at - window.start_m) % length <= (window.end_m - window.start_m) % length
        lows = (_lowest(side.speed_kmh[inside]) for side in (a, b))
        corners.append(CornerDelta(PartDelta(span, a_s, b_s), *lows))
    return Comparison(
        a,
        b,
        at,
        a.elapsed - b.elapsed,
        _deltas(where.sectors, a.sectors, b.sectors),
        _deltas(list_mini_sectors(length), a.minis, b.minis),
        tuple(corners),
        axis_step_m(length),
    )


def _deltas(
    spans: Sequence[Span], a: Sequence[float | None], b: Sequence[float | None]
) -> tuple[PartDelta, ...]:
    return tuple(PartDelta(span, a_s, b_s) for span, a_s, b_s in zip(spans, a, b, strict=True))


def _lowest(speed: Numbers) -> float | None:
    """Return the smallest speed, if every place has one."""
    if not len(speed) or np.isnan(speed).any():
        return None
    return float(speed.min())
