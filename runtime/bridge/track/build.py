"""Makes a circuit from a recorded lap or a centre line; it says what it derived."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.definitions import BRAKING_BAR, RELEASED_BAR, find_brakings
from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.names import slug
from runtime.bridge.session.progress import own_sectors
from runtime.bridge.session.recording import Frames, Gate, Numbers, Samples
from runtime.bridge.track.corners import corners_of_line, sectors, straights
from runtime.bridge.track.driven import DrivenLine, draw_line, session_line
from runtime.bridge.track.model import (
    BrakePoint,
    Corner,
    Profile,
    Sector,
    Speeds,
    Spot,
    Track,
    TrackError,
)

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
) -> BuiltTrack:
    """A circuit from the laps of a recording; see `from_laps`."""
    return from_laps(detect(frames, gate=gate), name, altitude=altitude)


def from_laps(laps: Laps, name: str, *, altitude: Samples | None = None) -> BuiltTrack:
    """A circuit from the line that a session drives; start/finish is where its laps begin.

    Corners and sectors are those of the session. Typical speeds and brake points are the medians
    of the same laps. *altitude* is in metres on the session's clock. Raises `TrackError` where no
    complete lap is without a gap, or positions are no good.
    """
    driven = session_line(laps)
    if driven is None or any(lap.gap_s > 0 for lap in driven.laps):
        raise TrackError("there is no complete lap with good positions to make a circuit from")
    heights = _heights(driven, laps, altitude)
    line = driven.line if heights is None else replace(driven.line, altitude=heights)
    built = _of_line(line, name, corners_of_line(line, driven.speed_ms))
    own = tuple(Sector(*span) for span in own_sectors(laps, driven.progress))
    track = _with_habits(replace(built.track, sectors=own), driven, laps)
    braked = sum(corner.brake is not None for corner in track.corners)
    said = [
        f"The line is the median of {len(driven.laps)} of {len(laps.complete)} complete laps.",
        "Start/finish is where those laps begin.",
        *built.derived,
        "Three sectors, between the split lines of the recording's file, else thirds.",
        f"Typical speeds are those of these laps; {braked} corners have a brake point.",
    ]
    return BuiltTrack(track, tuple(said))


def from_centreline(trace: Trace, name: str) -> BuiltTrack:
    """A circuit from points along its middle; start/finish is the first of them.

    Raises `TrackError` for a line that is too short, too long or no line at all.
    """
    if not 3 <= len(trace.lat) <= MOST_POINTS:
        raise TrackError("a line needs at least 3 points, and 200,000 at most")
    plane = Plane(float(trace.lat[0]), float(trace.lon[0]))
    line = draw_line(plane, *plane.xy(trace.lat, trace.lon), trace.altitude)
    if line is None:
        raise TrackError("this is no circuit: a lap is 200 m long at least, 50 km at most")
    built = _of_line(line, name, corners_of_line(line, prefix="Turn "))
    step = line.length_m / len(line)
    drawn = f"The line has {len(trace.lat)} points of the file, drawn anew every {step:.2f} m."
    parted = "Three sectors that part on the longest straights, else thirds."
    return built._replace(derived=(drawn, *built.derived, parted))


def _of_line(line: Line, name: str, bends: list[Corner]) -> BuiltTrack:
    corners = tuple(_placed(line, bend) for bend in bends)
    between = straights(corners, line.length_m)
    start = Gate(float(line.lat[0]), float(line.lon[0]), line.ring.heading(0.0))
    known = not np.isnan(line.altitude).any()
    track = Track(
        id=slug(name) or "track",
        name=name,
        length_m=line.length_m,
        start=start,
        generated_from="track build",
        line=line,
        corners=corners,
        sectors=sectors(line.length_m, corners),
        straights=between,
        elevation=_profile(line) if known else None,
    )
    derived = (
        f"A lap is {line.length_m:.1f} m long.",
        f"{len(corners)} corners by what they ask of the car, numbered from start/finish.",
        f"{len(between)} straights of more than 150 m between them.",
        "Heights are from the file." if known else "No heights: the file has none.",
    )
    return BuiltTrack(track, derived)


def _heights(driven: DrivenLine, laps: Laps, altitude: Samples | None) -> Numbers | None:
    """Metres at each point of the line; None where they were not recorded."""
    if altitude is None or len(altitude.t) < 2:
        return None
    order = np.argsort(altitude.t, kind="stable")
    return driven.usual(np.interp(laps.series.t, altitude.t[order], altitude.value[order]))


def _with_habits(track: Track, driven: DrivenLine, laps: Laps) -> Track:
    """The circuit with the usual speeds and brake points of its laps."""
    along, length = driven.line.distance, track.length_m
    recorded = driven.usual(laps.series["speed_ms"])
    brake = driven.usual(laps.series["brake_bar"])
    corners = []
    for i, corner in enumerate(track.corners):
        if recorded is not None:
            corner = replace(corner, speeds=typical_speeds(corner, along, recorded, length))
        if brake is not None:
            point = brake_point(corner, track.corners[i - 1], along, brake, length)
            corner = replace(corner, brake=point)
        corners.append(corner)
    return replace(track, corners=tuple(corners))


def _placed(line: Line, corner: Corner) -> Corner:
    """The corner with where its places lie, and how far the road rises in it."""
    at = [corner.entry.distance_m, corner.apex.distance_m, corner.exit.distance_m]
    entry, apex, leave = (Spot(place, *line.place(place)) for place in at)
    rise = None
    if not np.isnan(line.altitude).any():
        heights = np.interp(at[::2], line.distance, line.altitude, period=line.length_m)
        rise = float(heights[1] - heights[0])
    return replace(corner, entry=entry, apex=apex, exit=leave, elevation_change_m=rise)


def _profile(line: Line) -> Profile:
    at = np.append(np.arange(0.0, line.length_m, PROFILE_M), line.length_m)
    return Profile(at, np.interp(at, line.distance, line.altitude, period=line.length_m))


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
