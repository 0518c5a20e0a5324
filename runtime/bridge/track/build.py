"""Makes a circuit from a recorded lap or a centre line; it says what it derived."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.definitions import BRAKING_BAR, RELEASED_BAR, find_brakings
from runtime.bridge.session.geometry import Line, Plane, Ring, ring
from runtime.bridge.session.laps import Laps, Segment, detect
from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import Frames, Gate, Numbers, Samples
from runtime.bridge.track.corners import DetectedCorner, detect_corners, sectors, straights
from runtime.bridge.track.model import BrakePoint, Corner, Profile, Speeds, Spot, Track, TrackError

STEP_M: Final = 5.0
THIN_M: Final = 4.0
"""Fixes closer than this are left out: their course would be noise."""
SHORTEST_M: Final = 200.0
LONGEST_M: Final = 50_000.0
BRAKING_M: Final = 200.0
PROFILE_M: Final = 10.0
MOST_POINTS: Final = 200_000


class BuiltTrack(NamedTuple):
    """A circuit, and where each part of it came from."""

    track: Track
    derived: tuple[str, ...]
    """One sentence each."""


class Trace(NamedTuple):
    """Once around in order, the end not repeating the start."""

    lat: Numbers
    lon: Numbers
    altitude: Numbers
    """Metres; NaN where unknown."""


def from_frames(
    frames: Frames,
    name: str,
    *,
    gate: Gate | None = None,
    altitude: Samples | None = None,
    corner_prefix: str = "Turn ",
) -> BuiltTrack:
    """A circuit from the median lap of a recording; see `from_laps`."""
    laps = detect(frames, gate=gate)
    return from_laps(laps, name, altitude=altitude, corner_prefix=corner_prefix)


def from_laps(
    laps: Laps, name: str, *, altitude: Samples | None = None, corner_prefix: str = "Turn "
) -> BuiltTrack:
    """A circuit from a complete lap without a gap; start/finish is where it begins.

    Of several it is the one of median time, of an even number the faster of both: the fastest may
    owe its time to the kerbs, the slowest to traffic. *altitude* is in metres on the session's
    clock. Raises `TrackError` where there is no such lap, or positions are no good.
    """
    whole = [lap for lap in laps.complete if lap.gap_s == 0]
    if not laps.series.gps_usable or not whole:
        raise TrackError("there is no complete lap with good positions to make a circuit from")
    lap = sorted(whole, key=lambda lap: lap.duration_s)[(len(whole) - 1) // 2]
    built = from_centreline(_trace(laps, lap, altitude), name, corner_prefix=corner_prefix)
    track = _with_speeds(built.track, laps, lap)
    braked = sum(corner.brake is not None for corner in track.corners)
    n_laps = len(laps.complete)
    said = [
        f"The line is lap {lap.number} of {n_laps}, the median: {lap.duration_s:.3f} s long.",
        "Start/finish is where that lap begins.",
        *built.derived[1:],
        f"Typical speeds are those of that lap; {braked} corners have a brake point.",
    ]
    return BuiltTrack(track, tuple(said))


def from_centreline(trace: Trace, name: str, *, corner_prefix: str = "Turn ") -> BuiltTrack:
    """A circuit from points along its middle; start/finish is the first of them.

    Raises `TrackError` for a line that is too short, too long or no line at all.
    """
    line = _line(trace)
    path = line.ring
    bends = detect_corners(path)
    corners = [_corner(line, i, f"{corner_prefix}{i}", bend) for i, bend in enumerate(bends, 1)]
    found = straights(corners, line.length_m)
    start = Gate(float(line.lat[0]), float(line.lon[0]), path.heading(0.0))
    known = not np.isnan(line.altitude).any()
    track = Track(
        id=slug(name) or "track",
        name=name,
        length_m=line.length_m,
        start=start,
        generated_from="track build",
        line=line,
        corners=tuple(corners),
        sectors=sectors(path),
        straights=found,
        elevation=_profile(line) if known else None,
    )
    derived = (
        f"The line has {len(trace.lat)} points of the file, drawn anew every {path.step:.2f} m.",
        f"A lap is {line.length_m:.1f} m long.",
        f"{len(corners)} corners by their curvature, numbered from start/finish.",
        f"{len(found)} straights of more than 150 m between them.",
        "Three sectors that part on the longest straights, else thirds.",
        "Heights are from the file." if known else "No heights: the file has none.",
    )
    return BuiltTrack(track, derived)


def _trace(laps: Laps, lap: Segment, altitude: Samples | None) -> Trace:
    """The positions of a lap; the way between its end and its start is spread over it."""
    series = laps.series
    fixes = np.flatnonzero(series.fixed)
    t = np.concatenate([[lap.t_start], series.t[fixes], [lap.t_end]])
    t = np.unique(t[(t >= lap.t_start) & (t <= lap.t_end)])
    plane = Plane(float(series["lat"][fixes[0]]), float(series["lon"][fixes[0]]))
    x, y = plane.xy(series["lat"][fixes], series["lon"][fixes])
    x, y = np.interp(t, series.t[fixes], x), np.interp(t, series.t[fixes], y)
    share = (t - t[0]) / (t[-1] - t[0])
    lat, lon = plane.latlon(x - share * (x[-1] - x[0]), y - share * (y[-1] - y[0]))
    heights = np.full(len(t), np.nan)
    if altitude is not None and len(altitude.t) > 1:
        order = np.argsort(altitude.t, kind="stable")
        heights = np.interp(t, altitude.t[order], altitude.value[order])
        heights = heights - share * (heights[-1] - heights[0])
    return Trace(lat[:-1], lon[:-1], heights[:-1])


def _line(trace: Trace) -> Line:
    """The trace drawn anew in even steps, its small noise smoothed away."""
    if not 3 <= len(trace.lat) <= MOST_POINTS:
        raise TrackError("a line needs at least 3 points, and 200,000 at most")
    plane = Plane(float(trace.lat[0]), float(trace.lon[0]))
    x, y = plane.xy(trace.lat, trace.lon)
    kept = _thinned(x, y)
    x, y, heights = x[kept], y[kept], trace.altitude[kept]
    steps = np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0]))
    length = float(steps.sum())
    if len(kept) < 3 or not SHORTEST_M <= length <= LONGEST_M:
        raise TrackError(f"a lap of {length:.0f} m is none: 200 m at least, 50 km at most")
    distance = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    path = ring(x, y, distance, length, STEP_M)
    if float(np.median(steps)) < 2 * STEP_M:  # dense enough to be a recording: it has noise
        path = Ring(_smooth(_smooth(path.x)), _smooth(_smooth(path.y)), length)
    dx, dy = path.chords
    drawn = np.hypot(dx, dy)
    at = np.concatenate([[0.0], np.cumsum(drawn[:-1])])
    known = ~np.isnan(heights)
    altitude = np.full(len(path), np.nan)
    if known.all():
        altitude = np.interp(np.arange(len(path)) * path.step, distance, heights, period=length)
    lat, lon = plane.latlon(path.x, path.y)
    return Line(at, lat, lon, altitude, float(drawn.sum()))


def _thinned(x: Numbers, y: Numbers) -> list[int]:
    """The points that are a few metres from the one kept before, and from the first."""
    kept = [0]
    last = float(x[0]), float(y[0])
    for i, (px, py) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if (px - last[0]) ** 2 + (py - last[1]) ** 2 >= THIN_M**2:
            kept.append(i)
            last = px, py
    while len(kept) > 1 and np.hypot(x[kept[-1]] - x[0], y[kept[-1]] - y[0]) < THIN_M / 2:
        kept.pop()
    return kept


def _smooth(values: Numbers) -> Numbers:
    mean: Numbers = (np.roll(values, 1) + 2 * values + np.roll(values, -1)) / 4
    return mean


def _corner(line: Line, number: int, name: str, bend: DetectedCorner) -> Corner:
    entry, apex, leave = (
        Spot(at, *line.place(at)) for at in (bend.entry_m, bend.apex_m, bend.exit_m)
    )
    rise = None
    if not np.isnan(line.altitude).any():
        ends = [bend.entry_m, bend.exit_m]
        heights = np.interp(ends, line.distance, line.altitude, period=line.length_m)
        rise = float(heights[1] - heights[0])
    return Corner(
        name,
        number,
        bend.direction,
        bend.severity,
        entry,
        apex,
        leave,
        curvature_peak=bend.peak,
        elevation_change_m=rise,
    )


def _profile(line: Line) -> Profile:
    at = np.append(np.arange(0.0, line.length_m, PROFILE_M), line.length_m)
    return Profile(at, np.interp(at, line.distance, line.altitude, period=line.length_m))


def _with_speeds(track: Track, laps: Laps, lap: Segment) -> Track:
    """The circuit with the speeds and brake points of the lap."""
    series, length = laps.series, track.length_m
    frames = lap.frames
    way = laps.travelled[frames] - np.interp(lap.t_start, series.t, laps.travelled)
    speed, brake = series["speed_ms"][frames], series["brake_bar"][frames]
    if len(way) < 2 or lap.distance_m <= 0:
        return track
    along = way / lap.distance_m * length
    corners = []
    for i, corner in enumerate(track.corners):
        if not np.isnan(speed).any():
            corner = replace(corner, speeds=typical_speeds(corner, along, speed, length))
        if not np.isnan(brake).any():
            point = brake_point(corner, track.corners[i - 1], along, brake, length)
            corner = replace(corner, brake=point)
        corners.append(corner)
    return replace(track, corners=tuple(corners))


def typical_speeds(corner: Corner, along: Numbers, speed: Numbers, length: float) -> Speeds:
    """The speeds of a lap at a corner's three places; *along* is metres from start/finish."""
    places = [corner.entry.distance_m, corner.apex.distance_m, corner.exit.distance_m]
    return Speeds(*np.interp(places, along, speed, period=length).tolist())


def brake_point(
    corner: Corner, before: Corner, along: Numbers, brake: Numbers, length: float
) -> BrakePoint | None:
    """Where the braking that reaches a corner begins, between the exit before and the apex.

    None without any.
    """
    entry = corner.entry.distance_m
    offsets = np.arange(-BRAKING_M, (corner.apex.distance_m - entry) % length)
    room = (entry - before.exit.distance_m) % length if before is not corner else length
    offsets = offsets[offsets > -room]
    bar = np.interp(entry + offsets, along, brake, period=length)
    begins = offsets[find_brakings(bar >= BRAKING_BAR, bar < RELEASED_BAR).begins]
    if not len(begins):
        return None
    ahead = begins[begins <= 0]
    return BrakePoint(-float(ahead[-1] if len(ahead) else begins[0]), float(bar.max()))
