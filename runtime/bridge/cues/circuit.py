"""A track as the coach uses it: the corner at a place, what comes next, how fast is fast."""

import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.track.model import Corner, DangerZone, Marker, Track

AHEAD_M: Final = 500.0
"""A corner further ahead does not count yet."""
NOWHERE_M: Final = 999.0
"""Distance to the next corner if there is none."""
APPROACH_M: Final = 200.0
"""Length of the road before an entry whose rise counts."""
STOP: Final = 2 * 9.80665
"""Twice the deceleration in m/s² expected of a braking car: v² falls by it per metre."""
CLOSE_M: Final = 1.0
_ARTICLES: Final = frozenset({"The", "the", "A", "a"})


class Place(NamedTuple):
    """Where on the lap a car is."""

    progress_m: float
    """From start/finish, below the lap length."""
    length_m: float
    corner: Corner | None
    """The corner whose window holds the place; of two, the one entered last."""
    past_apex: bool
    next: Corner | None
    """The corner whose entry comes next, within 500 m."""
    to_entry: float
    bz: float
    dz: float


class Zone(NamedTuple):
    """A danger zone, and the speed of a good lap at its start."""

    zone: DangerZone
    reference_ms: float


class _Window(NamedTuple):
    corner: Corner
    entry: float
    to_apex: float
    to_exit: float
    rise: float


class Circuit:
    """Answers questions about places of one track; made once for each."""

    def __init__(self, track: Track) -> None:
        self.track = track
        self.length_m = track.length_m
        self._windows = [self._window(corner) for corner in track.corners]
        self.zones = tuple(
            Zone(zone, speed)
            for zone in track.danger_zones
            if (speed := self._reference(zone)) is not None
        )
        words = " ".join(" ".join([c.name, *c.nicknames]) for c in track.corners)
        self.names = frozenset(words.split()) - _ARTICLES
        """Words in corner names, which are written as they are."""
        self._markers: dict[str, list[Marker]] = {}
        for marker in track.markers:
            if marker.corner is not None:
                self._markers.setdefault(marker.corner, []).append(marker)

    def place(self, distance_m: float) -> Place:
        """Return the place of a distance, which may count over laps."""
        length = self.length_m
        p = distance_m % length
        if p >= length:  # a tiny negative distance rounds up to the length
            p = 0.0
        inside: _Window | None = None
        coming: _Window | None = None
        past, nearest = length, AHEAD_M
        for window in self._windows:
            way = (p - window.entry) % length
            if way <= window.to_exit and way < past:
                inside, past = window, way
            left = (window.entry - p) % length
            if 0.0 < left <= nearest:
                coming, nearest = window, left
        return Place(
            p,
            length,
            inside.corner if inside else None,
            inside is not None and past > inside.to_apex,
            coming.corner if coming else None,
            nearest if coming else NOWHERE_M,
            braking_m(coming.corner) if coming else 0.0,
            coming.rise if coming else 0.0,
        )

    def markers(self, corner: Corner, kinds: Iterable[str]) -> list[Marker]:
        """Return the landmarks at a corner, of certain kinds, in lap order."""
        wanted = set(kinds)
        return [mark for mark in self._markers.get(corner.name, ()) if mark.kind in wanted]

    def ahead(self, there_m: float, here_m: float) -> float:
        """Return the metres from one place of the lap to another by the shorter way; negative:
        behind."""
        half = self.length_m / 2
        return (there_m - here_m + half) % self.length_m - half

    def _window(self, corner: Corner) -> _Window:
        entry, length = corner.entry.distance_m, self.length_m
        return _Window(
            corner,
            entry % length,
            (corner.apex.distance_m - entry) % length,
            (corner.exit.distance_m - entry) % length,
            self._rise(entry - APPROACH_M, entry),
        )

    def _rise(self, start_m: float, end_m: float) -> float:
        """Return the metres between the heights of two places; 0 if unknown."""
        track = self.track
        if track.elevation is not None:
            distances, heights = track.elevation
        elif track.line is not None and not np.isnan(track.line.altitude).all():
            sure = ~np.isnan(track.line.altitude)
            distances, heights = track.line.distance[sure], track.line.altitude[sure]
        else:
            return 0.0
        low, high = np.interp([start_m, end_m], distances, heights, period=self.length_m)
        rise = float(high - low)
        return rise if math.isfinite(rise) else 0.0

    def _reference(self, zone: DangerZone) -> float | None:
        """Return the speed in m/s at which a good lap enters a zone; None if unknown.

        Inside a corner it lies between the corner's typical speeds; before one, it is the speed
        from which a car braking at the brake point, or nearer, still reaches the typical entry
        speed.
        """
        place = self.place(zone.start_m + CLOSE_M)
        if place.corner is not None and place.corner.speeds is not None:
            window = next(w for w in self._windows if w.corner is place.corner)
            way = (place.progress_m - window.entry) % self.length_m
            speeds = place.corner.speeds
            marks = [0.0, window.to_apex, max(window.to_exit, window.to_apex)]
            return float(np.interp(way, marks, [speeds.entry, speeds.apex, speeds.exit]))
        corner = place.next
        if corner is None or corner.speeds is None:
            return None
        braked = min(max(place.to_entry - CLOSE_M, 0.0), braking_m(corner))
        return math.sqrt(corner.speeds.entry**2 + STOP * braked)


def braking_m(corner: Corner) -> float:
    """Return the metres before its entry where a good lap brakes for a corner; 0 if unknown."""
    return max(corner.brake.before_entry_m, 0.0) if corner.brake else 0.0


@lru_cache(maxsize=16)
def circuit_for(track: Track) -> Circuit:
    """Return the circuit of a track; the last few are cached."""
    return Circuit(track)
