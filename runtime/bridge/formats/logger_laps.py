"""Adds the laps that a logger counted: lap times and the start line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Plane
from runtime.bridge.session.recording import TIMESTAMP, Frames, Gate, Numbers, Recording, Samples
from runtime.bridge.session.series import is_later

LAP_NUMBER: Final = "lap_number"
SPREAD_M: Final = 20.0
HALF_WIDTH_M: Final = 15.0
"""Half a track plus position error; a pit lane next to the line starts no lap for a logger."""
_REACH_S: Final = 0.5
_NEAREST_M: Final = 2.0
_LONGEST_S: Final = 1.0
"""Longest gap between positions in which a mark is placed."""
_MOST: Final = 1000
_SHARE: Final = 0.6
_SHOWN: Final = 60


class Lap(NamedTuple):
    """A lap as logged."""

    begin: float
    """Seconds of the session's clock, as is *end*."""
    end: float
    whole: bool
    """From line to line; false for the way out or in."""


def list_line_crossings(laps: Sequence[Lap]) -> list[float]:
    """Return the times at the line."""
    begins = {lap.begin for lap in laps if lap.whole} | {lap.end for lap in laps if lap.whole}
    if not begins:  # a way out and a way in meet at the line
        begins = {lap.end for lap in laps} & {lap.begin for lap in laps}
    return sorted(begins)[:_MOST]


def read_lap_counter(signals: Mapping[str, Samples]) -> list[Lap]:
    """Return the laps of a lap counter channel, from its first change to its last."""
    if LAP_NUMBER not in signals:
        return []
    t, value = signals[LAP_NUMBER]
    at = np.flatnonzero(np.diff(value)) + 1
    if not 2 <= len(at) <= _MOST or not (np.diff(value)[at - 1] == 1.0).all():
        return []
    times = t[at].tolist()
    return [Lap(a, b, whole=True) for a, b in pairwise(times)]


def find_start_line(frames: Frames, marks: Sequence[float]) -> Gate | None:
    """Return the line through the places of the marks; None if the places differ."""
    columns = frames.columns
    t, lat, lon = columns[TIMESTAMP], columns["lat"], columns["lon"]
    fixes = np.flatnonzero(is_later(t) & np.isfinite(lat) & np.isfinite(lon))
    if len(fixes) < 2 or not marks:
        return None
    t, lat, lon = t[fixes], lat[fixes], lon[fixes]
    plane = Plane(float(np.median(lat)), float(np.median(lon)))
    x, y = plane.xy(lat, lon)
    moments = _select_placeable(np.array(marks), t)
    here, before, after = (
        np.stack([np.interp(moments + side, t, axis) for axis in (x, y)])
        for side in (0.0, -_REACH_S, _REACH_S)
    )
    way = after - before
    moving = np.hypot(*way) >= _NEAREST_M
    here, way = here[:, moving], way[:, moving]
    if not here.shape[1]:
        return None
    middle = np.median(here, axis=1, keepdims=True)
    near = np.hypot(*(here - middle)) <= SPREAD_M
    if near.sum() < _SHARE * len(marks):
        return None
    middle, way = np.median(here[:, near], axis=1), way[:, near]
    east, north = (way / np.hypot(*way)).sum(axis=1)
    places = plane.latlon(middle[:1], middle[1:])
    heading = math.degrees(math.atan2(east, north)) % 360.0
    return Gate(float(places[0][0]), float(places[1][0]), heading, HALF_WIDTH_M)


def _select_placeable(marks: Numbers, t: Numbers) -> Numbers:
    """Return the marks between two fixes close in time."""
    inside = marks[(marks > t[0]) & (marks < t[-1])]
    at = np.searchsorted(t, inside)
    placeable: Numbers = inside[t[at] - t[at - 1] <= _LONGEST_S]
    return placeable


def add_laps(recording: Recording, laps: Sequence[Lap] = ()) -> Recording:
    """Add the start line and the logged times of whole laps.

    Without *laps* a lap counter channel gives them.
    """
    laps = laps or read_lap_counter(recording.signals)
    facts = dict(recording.facts)
    if times := [lap.end - lap.begin for lap in laps if lap.whole]:
        more = f" and {len(times) - _SHOWN} more" if len(times) > _SHOWN else ""
        facts["logged_laps"] = ", ".join(f"{seconds:.3f}" for seconds in times[:_SHOWN]) + more
        facts["logged_best_s"] = f"{min(times):.3f}"
    start = find_start_line(recording.frames, list_line_crossings(laps))
    if start is not None:
        facts["start_line"] = "where the logger began its laps"
    return replace(recording, start=start, facts=facts)
