"""Builds a circuit from recorded laps or a centre line, and says what it derived."""

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.definitions import BRAKING_BAR, RELEASED_BAR, find_brakings
from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.names import slugify
from runtime.bridge.session.progress import find_own_sectors
from runtime.bridge.session.recording import Frames, Gate, Numbers, Samples
from runtime.bridge.track.corners import find_corners, find_sectors, find_straights
from runtime.bridge.track.driven import DrivenLine, draw_line, find_session_line
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
    """A circuit, and the source of each part of it."""

    track: Track
    derived: tuple[str, ...]
    """One sentence each."""


class Trace(NamedTuple):
    """Once around in order, the end not repeating the start."""

    lat: Numbers
    lon: Numbers
    altitude: Numbers
    """Metres; NaN where unknown."""


def build_from_frames(
    frames: Frames,
    name: str,
    *,
    gate: Gate | None = None,
    altitude: Samples | None = None,
) -> BuiltTrack:
    """Build a circuit from the laps of a recording; see `build_from_laps`."""
    return build_from_laps(detect(frames, gate=gate), name, altitude=altitude)


def build_from_laps(laps: Laps, name: str, *, altitude: Samples | None = None) -> BuiltTrack:
    """Build a circuit from the line that a session drives; start/finish is where its laps begin.

    Corners and sectors are those of the session. Typical speeds and brake points are the medians
    of the same laps. *altitude* is in metres on the session's clock. Raises `TrackError` if there
    is no complete lap without a gap, or positions are bad.
    """
    driven = find_session_line(laps)
    if driven is None or any(lap.gap_s > 0 for lap in driven.laps):
        raise TrackError("no complete lap has positions good enough to build a circuit")
    heights = _measure_heights(driven, laps, altitude)
    line = driven.line if heights is None else replace(driven.line, altitude=heights)
    built = _build_from_line(line, name, find_corners(line, driven.speed_ms))
    session_sectors = tuple(Sector(*span) for span in find_own_sectors(laps, driven.progress))
    track = _add_habits(replace(built.track, sectors=session_sectors), driven, laps)
    braked = sum(corner.brake is not None for corner in track.corners)
    notes = [
        f"The line is the median of {len(driven.laps)} of {len(laps.complete)} complete laps.",
        "Start/finish is where these laps begin.",
        *built.derived,
        "The three sectors are those of the split lines in the recording's file, else thirds.",
        f"Typical speeds are those of these laps; {braked} corners have a brake point.",
    ]
    return BuiltTrack(track, tuple(notes))


def build_from_centreline(trace: Trace, name: str) -> BuiltTrack:
    """Build a circuit from points along its middle; start/finish is the first of them.

    Raises `TrackError` for a line that is too short, too long or not a line.
    """
    if not 3 <= len(trace.lat) <= MOST_POINTS:
        raise TrackError("a line must have 3 to 200,000 points")
    plane = Plane(float(trace.lat[0]), float(trace.lon[0]))
    line = draw_line(plane, *plane.xy(trace.lat, trace.lon), trace.altitude)
    if line is None:
        raise TrackError("this is not a circuit: a lap is from 200 m to 50 km long")
    built = _build_from_line(line, name, find_corners(line, prefix="Turn "))
    step = line.length_m / len(line)
    line_note = f"The line has {len(trace.lat)} points in the file, resampled every {step:.2f} m."
    sectors_note = "The three sectors meet on the longest straights, else they are thirds."
    return built._replace(derived=(line_note, *built.derived, sectors_note))


def _build_from_line(line: Line, name: str, bends: list[Corner]) -> BuiltTrack:
    corners = tuple(_place_corner(line, bend) for bend in bends)
    between = find_straights(corners, line.length_m)
    start = Gate(float(line.lat[0]), float(line.lon[0]), line.ring.heading(0.0))
    has_heights = not np.isnan(line.altitude).any()
    track = Track(
        id=slugify(name) or "track",
        name=name,
        length_m=line.length_m,
        start=start,
        generated_from="track build",
        line=line,
        corners=corners,
        sectors=find_sectors(line.length_m, corners),
        straights=between,
        elevation=_profile(line) if has_heights else None,
    )
    derived = (
        f"A lap is {line.length_m:.1f} m long.",
        f"{len(corners)} corners by the grip they use, numbered from start/finish.",
        f"{len(between)} straights of more than 150 m between them.",
        "Heights are from the file." if has_heights else "No heights: the file has none.",
    )
    return BuiltTrack(track, derived)


def _measure_heights(driven: DrivenLine, laps: Laps, altitude: Samples | None) -> Numbers | None:
    """Return the height at each point of the line; None if it was not recorded."""
    if altitude is None or len(altitude.t) < 2:
        return None
    order = np.argsort(altitude.t, kind="stable")
    return driven.usual(np.interp(laps.series.t, altitude.t[order], altitude.value[order]))


def _add_habits(track: Track, driven: DrivenLine, laps: Laps) -> Track:
    """Add the usual speeds and brake points of the laps to a circuit."""
    along, length = driven.line.distance, track.length_m
    recorded = driven.usual(laps.series["speed_ms"])
    brake = driven.usual(laps.series["brake_bar"])
    corners = []
    for i, corner in enumerate(track.corners):
        if recorded is not None:
            corner = replace(corner, speeds=find_typical_speeds(corner, along, recorded, length))
        if brake is not None:
            point = find_brake_point(corner, track.corners[i - 1], along, brake, length)
            corner = replace(corner, brake=point)
        corners.append(corner)
    return replace(track, corners=tuple(corners))


def _place_corner(line: Line, corner: Corner) -> Corner:
    """Add the coordinates of a corner's places, and how far the road rises in it."""
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


def find_typical_speeds(corner: Corner, along: Numbers, speed: Numbers, length: float) -> Speeds:
    """Return the speeds of a lap at a corner's three places; *along*: metres from start/finish."""
    places = [corner.entry.distance_m, corner.apex.distance_m, corner.exit.distance_m]
    return Speeds(*np.interp(places, along, speed, period=length).tolist())


def find_brake_point(
    corner: Corner, before: Corner, along: Numbers, brake: Numbers, length: float
) -> BrakePoint | None:
    """Find where the braking for a corner begins, between the previous exit and the apex.

    None without braking.
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
