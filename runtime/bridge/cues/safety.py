"""Warnings that cannot wait: more acceleration than grip, and danger zones entered too fast."""

import math
from typing import Final

from runtime.bridge.cues.circuit import Circuit, Place, Zone
from runtime.bridge.cues.layers import MUCH_GRIP, OVER_GRIP
from runtime.bridge.cues.values import CueLimits
from runtime.bridge.track.model import inside

TOO_FAST: Final = 1.05
REPEAT_S: Final = 3.0
"""The same warning is not given again within this."""
STRIDE: Final = 0.25
"""A car that has moved by a larger share of the lap was not followed there."""


class Watch:
    """Keeps from one car what was warned of already; *now* never steps back."""

    def __init__(self) -> None:
        self._armed = True
        self._warned: dict[str, float] = {}
        self._before: float | None = None

    def slides(self, combo_g: float, limits: CueLimits, now: float) -> bool:
        """Whether to warn of the grip: once a slide, however long it is."""
        u = combo_g / limits.combo_g
        if u <= MUCH_GRIP:
            self._armed = True
        if not (u > OVER_GRIP and self._armed):
            return False
        self._armed = False
        return self._due("", now)

    def enters(
        self, circuit: Circuit, place: Place | None, speed_ms: float, now: float
    ) -> Zone | None:
        """The danger zone that the car has just entered, too fast."""
        before, self._before = self._before, place.progress_m if place else None
        if before is None or place is None or not circuit.zones:
            return None
        p, length = place.progress_m, circuit.length_m
        if (p - before) % length > STRIDE * length:  # it stood, went back, or was elsewhere
            return None
        for entry in circuit.zones:
            zone = entry.zone
            if not inside(p, zone.start_m, zone.end_m, length):
                continue
            if inside(before, zone.start_m, zone.end_m, length):
                continue
            if speed_ms > TOO_FAST * entry.reference_ms and self._due(zone.id, now):
                return entry
        return None

    def _due(self, what: str, now: float) -> bool:
        if now - self._warned.get(what, -math.inf) < REPEAT_S:
            return False
        self._warned[what] = now
        return True
