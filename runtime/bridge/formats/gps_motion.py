"""Compares GPS positions with speed and heading: distances, bearings, spikes."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.motion import FASTEST_MS, find_brief_pieces
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, is_later, is_place

EARTH_RADIUS_M: Final = 6_371_000.0
_DRIVING_MS: Final = 3.0


def haversine(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    """Return the metres between places in degrees, on a sphere."""
    north, east = np.radians(lat2 - lat1) / 2, np.radians(lon2 - lon1) / 2
    chord = (
        np.sin(north) ** 2 + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * np.sin(east) ** 2
    )
    metres: Numbers = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(chord, 1.0)))
    return metres


def bearing(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    """Return the bearing between near places in degrees, clockwise from north."""
    east = np.mod(lon2 - lon1 + 540.0, 360.0) - 180.0
    return np.mod(np.degrees(np.arctan2(east * np.cos(np.radians(lat1)), lat2 - lat1)), 360.0)


def angle_between(a: Numbers, b: Numbers) -> Numbers:
    """Return the angle between two headings, 0 to 180 degrees."""
    return np.abs(np.mod(a - b + 540.0, 360.0) - 180.0)


def measure_period(t: Numbers) -> float:
    """Return the median of the positive time steps in seconds, 1 without any."""
    steps = np.diff(t)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 1.0


def find_spikes(t: Numbers, lat: Numbers, lon: Numbers) -> Flags:
    """Mark positions that briefly leave the path: short pieces between impossible steps.

    The longest piece always stays, and so does every piece of a second or more: the receiver then
    really moved during a gap.
    """
    bad = np.zeros(len(t), bool)
    at = np.flatnonzero(is_place(lat, lon))
    if len(at) < 2:
        return bad
    lat, lon, clock = (take(column, at) for column in (lat, lon, t))
    steps = np.maximum(np.diff(clock), measure_period(clock) / 2)
    jumps = haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]) > FASTEST_MS * steps
    if not jumps.any():
        return bad
    piece = np.concatenate(([0], np.cumsum(jumps)))
    bad[at[find_brief_pieces(clock, piece)[piece]]] = True
    return bad


def take(values: Numbers, places: Indices) -> Numbers:
    """Return the values at rising places, or the column itself if these are all places."""
    return values if len(places) == len(values) else values[places]


class Legs(NamedTuple):
    """Legs of a path, about a second each, with their length by speed."""

    here: Indices
    there: Indices
    driven_m: Numbers


def cut_path(t: Numbers, valid: Flags, speed: Numbers) -> Legs:
    """Split the path of a driving car into legs; few or none in a short or still recording."""
    along = np.flatnonzero(is_later(np.where(np.isfinite(t), t, -np.inf)))
    along = along[valid[along] & np.isfinite(speed[along])]
    none = np.empty(0, dtype=np.intp)
    if len(along) < 2:
        return Legs(none, none, np.empty(0))
    clock = take(t, along)
    pace = max(measure_period(clock) * 0.999, min(1.0, (clock[-1] - clock[0]) / 8))
    fresh = np.diff(np.floor((clock - clock[0]) / pace)) > 0
    chosen = np.concatenate(([0], np.flatnonzero(fresh) + 1))
    v = take(speed, along)
    integral = np.concatenate(([0.0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(clock))))
    driven = np.diff(integral[chosen])
    took = np.diff(clock[chosen])
    good = (took <= 3 * pace) & (driven >= _DRIVING_MS * took)
    places = along[chosen]
    return Legs(places[:-1][good], places[1:][good], driven[good])


def compare_paths(lat: Numbers, lon: Numbers, path: Legs) -> float:
    """Return the median of length by positions over length by speed; NaN without legs."""
    if not len(path.here):
        return float("nan")
    here, there = path.here, path.there
    metres = haversine(lat[here], lon[here], lat[there], lon[there])
    return float(np.median(metres / path.driven_m))
