"""What positions, speeds and headings say about each other: spikes, courses."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.motion import FASTEST_MS, find_brief_pieces
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, is_later, is_place

EARTH_RADIUS_M: Final = 6_371_000.0
_DRIVING_MS: Final = 3.0


def haversine(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    """Metres between places in degrees, on a sphere."""
    north, east = np.radians(lat2 - lat1) / 2, np.radians(lon2 - lon1) / 2
    chord = (
        np.sin(north) ** 2 + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * np.sin(east) ** 2
    )
    metres: Numbers = 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(np.minimum(chord, 1.0)))
    return metres


def bearing(lat1: Numbers, lon1: Numbers, lat2: Numbers, lon2: Numbers) -> Numbers:
    """Degrees from north, clockwise, of short ways between places in degrees."""
    east = np.mod(lon2 - lon1 + 540.0, 360.0) - 180.0
    return np.mod(np.degrees(np.arctan2(east * np.cos(np.radians(lat1)), lat2 - lat1)), 360.0)


def angle_between(a: Numbers, b: Numbers) -> Numbers:
    """Degrees from 0 to 180 between two headings."""
    return np.abs(np.mod(a - b + 540.0, 360.0) - 180.0)


def nominal_period(t: Numbers) -> float:
    """Median of the steps forward in seconds; 1 when there is none."""
    steps = np.diff(t)
    steps = steps[steps > 0]
    return float(np.median(steps)) if len(steps) else 1.0


def spikes(t: Numbers, lat: Numbers, lon: Numbers) -> Flags:
    """Where positions leave the path for a moment: short pieces between impossible steps.

    The longest piece always stays; a piece of a second or more stays too, for then the receiver
    had really moved while it was silent.
    """
    bad = np.zeros(len(t), bool)
    at = np.flatnonzero(is_place(lat, lon))
    if len(at) < 2:
        return bad
    lat, lon, clock = (at_places(column, at) for column in (lat, lon, t))
    steps = np.maximum(np.diff(clock), nominal_period(clock) / 2)
    jumps = haversine(lat[:-1], lon[:-1], lat[1:], lon[1:]) > FASTEST_MS * steps
    if not jumps.any():
        return bad
    piece = np.concatenate(([0], np.cumsum(jumps)))
    bad[at[find_brief_pieces(clock, piece)[piece]]] = True
    return bad


def at_places(values: Numbers, places: Indices) -> Numbers:
    """The values at rising places; the column itself where these are all."""
    return values if len(places) == len(values) else values[places]


class Marks(NamedTuple):
    """A path at places about a second apart, with what the speed says of the ways between."""

    here: Indices
    there: Indices
    driven_m: Numbers


def marks(t: Numbers, valid: Flags, speed: Numbers) -> Marks:
    """Ways between marks where the car was driving; few or none in a short or still recording."""
    along = np.flatnonzero(is_later(np.where(np.isfinite(t), t, -np.inf)))
    along = along[valid[along] & np.isfinite(speed[along])]
    none = np.empty(0, dtype=np.intp)
    if len(along) < 2:
        return Marks(none, none, np.empty(0))
    clock = at_places(t, along)
    pace = max(nominal_period(clock) * 0.999, min(1.0, (clock[-1] - clock[0]) / 8))
    fresh = np.diff(np.floor((clock - clock[0]) / pace)) > 0
    chosen = np.concatenate(([0], np.flatnonzero(fresh) + 1))
    v = at_places(speed, along)
    integral = np.concatenate(([0.0], np.cumsum((v[1:] + v[:-1]) / 2 * np.diff(clock))))
    driven = np.diff(integral[chosen])
    took = np.diff(clock[chosen])
    good = (took <= 3 * pace) & (driven >= _DRIVING_MS * took)
    places = along[chosen]
    return Marks(places[:-1][good], places[1:][good], driven[good])


def path_ratio(lat: Numbers, lon: Numbers, way: Marks) -> float:
    """Way by positions over way by speed, as a median; NaN where nothing is known."""
    if not len(way.here):
        return float("nan")
    here, there = way.here, way.there
    metres = haversine(lat[here], lon[here], lat[there], lon[there])
    return float(np.median(metres / way.driven_m))
