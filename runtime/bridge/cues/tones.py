"""What must be heard at once: layers of tones, and urgent warnings."""

import math
from collections import defaultdict, deque
from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Final, NamedTuple

from runtime.bridge.cues.circuit import Circuit, Place, Zone
from runtime.bridge.cues.model import (
    ADVICE,
    BACKGROUND,
    SAFETY,
    WARNING,
    Burst,
    Moment,
    Tone,
)
from runtime.bridge.session.definitions import CLOSED_PCT, POWER_PCT, RELEASED_BAR
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import is_inside

GRIP_G: Final = 2.29
BRAKES_BAR: Final = 73.5
"""The whole of a car's grip and brakes."""
OVER_GRIP: Final = 1.05
MUCH_GRIP: Final = 0.90
SOME_GRIP: Final = 0.3
PER_SEVERITY_M: Final = 50.0
NEAREST_M: Final = 5.0
URGENT: Final = 0.85
CLOSE_S: Final = 0.5
"""A predicted lap within this of the best is level with it."""

CHECKPOINTS: Final = (0.25, 0.5, 0.75)
"""Shares of the lap at which it is estimated."""
TOO_FAST: Final = 1.05
REPEAT_S: Final = 3.0
"""The same warning is not repeated within this."""
USUAL_PASSES: Final = 3
"""Passes that show how fast a car usually enters a zone."""
PASSES: Final = 9
"""The last passes that count."""
LAP_S: Final = 10.0
"""The shortest lap: entries closer together are one pass."""
STRIDE: Final = 0.25
"""A car that moved by a larger share of the lap was not tracked."""


class Ahead(NamedTuple):
    """The next corner."""

    to_entry: float
    """Metres."""
    severity: int
    """0: none."""


class Estimate(NamedTuple):
    """The estimated lap time at a checkpoint."""

    predicted_s: float
    best_s: float | None
    """None: no best lap yet."""


def tones(
    burst: Burst,
    ahead: Ahead,
    *,
    was_past_apex: bool | None = None,
    estimate: Estimate | None = None,
) -> tuple[Tone, ...]:
    """Return the tones to play now, at most one per layer.

    *was_past_apex* is that of the burst before.
    """
    layers = (
        grip(burst.max_combo_g),
        _approach(burst.moment, ahead),
        _trail_brake(burst),
        _throttle(burst) if was_past_apex else None,
        _coast(burst, ahead),
        lap_estimate(estimate) if estimate else None,
    )
    return tuple(tone for tone in layers if tone is not None)


def grip(combo_g: float) -> Tone | None:
    """Return the tone for the used grip."""
    u = combo_g / GRIP_G
    if u > OVER_GRIP:
        return Tone("grip", 1600.0, 0.8, "buzz", SAFETY, "beyond the grip")
    if u > MUCH_GRIP:
        frequency = 1200.0 + (u - MUCH_GRIP) * 4000.0
        return Tone("grip", frequency, 0.5, "continuous", BACKGROUND, "at the limit of the grip")
    if u > SOME_GRIP:
        frequency, volume = 200.0 + 1000.0 * u, 0.1 + 0.25 * u
        return Tone("grip", frequency, volume, "continuous", BACKGROUND, "grip in use")
    return None


def _approach(moment: Moment, ahead: Ahead) -> Tone | None:
    reach = PER_SEVERITY_M * ahead.severity
    if not (
        ahead.severity > 0 and NEAREST_M < ahead.to_entry < reach and moment.brake < RELEASED_BAR
    ):
        return None
    q = 1.0 - ahead.to_entry / reach
    if q > URGENT:
        return Tone("brake_approach", 1200.0, 0.7, "fast_pulse", WARNING, "corner, no brake yet")
    frequency, volume = 400.0 + 800.0 * q, 0.15 + 0.45 * q
    return Tone("brake_approach", frequency, volume, "pulse", ADVICE, "corner ahead")


def _trail_brake(burst: Burst) -> Tone | None:
    moment = burst.moment
    if not (burst.in_corner and moment.brake > 3 and moment.glat > 0.4):
        return None
    frequency = 300.0 + 600.0 * min(moment.brake / BRAKES_BAR, 1.0)
    return Tone("trail_brake", frequency, 0.35, "continuous", ADVICE, "braking into the corner")


def _throttle(burst: Burst) -> Tone | None:
    moment = burst.moment
    if burst.past_apex and moment.thr < POWER_PCT and moment.glat > 0.3 and moment.v > 10 * KMH:
        return Tone("throttle", 280.0, 0.3, "pulse", ADVICE, "past the apex without power")
    return None


def _coast(burst: Burst, ahead: Ahead) -> Tone | None:
    moment = burst.moment
    pedals = moment.thr < CLOSED_PCT and moment.brake < RELEASED_BAR
    if burst.in_corner is False and pedals and moment.v > 15 * KMH and ahead.to_entry > 100:
        return Tone("coast_warning", 350.0, 0.25, "pulse", ADVICE, "coasting on a straight")
    return None


def lap_estimate(estimate: Estimate) -> Tone:
    """Return the chime for the predicted lap."""
    predicted, best = estimate
    if best is None:
        return Tone("lap_estimate", 600.0, 0.4, "chime_neutral", BACKGROUND, "no best lap yet")
    if predicted <= best - CLOSE_S:
        return Tone("lap_estimate", 800.0, 0.5, "chime_up", ADVICE, "ahead of the best lap")
    if predicted >= best + CLOSE_S:
        return Tone("lap_estimate", 400.0, 0.5, "chime_down", ADVICE, "behind the best lap")
    return Tone("lap_estimate", 600.0, 0.3, "chime_neutral", BACKGROUND, "level with the best lap")


class LapClock:
    """Times laps by the car's place, and estimates the current one at its checkpoints.

    A lap counts from one crossing of start/finish to the next, without jumps.
    """

    def __init__(self, length_m: float) -> None:
        self.length_m = length_m
        self.best_s: float | None = None
        self._best_splits: dict[float, float] = {}
        self._splits: dict[float, float] = {}
        self._began: float | None = None
        self._last: tuple[float, float] | None = None

    def pause(self) -> None:
        """Drop the current lap: where the car went meanwhile is unknown."""
        self._began = self._last = None

    def tick(self, t: float, progress_m: float) -> Estimate | None:
        """Follow the car; return an estimate if it has just passed a checkpoint."""
        before, self._last = self._last, (t, progress_m)
        if before is None:
            return None
        dt, half = t - before[0], self.length_m / 2
        way = (progress_m - before[1] + half) % self.length_m - half
        if dt <= 0 or way < -self.length_m / 4 or way > self.length_m / 4:
            self.pause()
            return None
        if way > 0 and before[1] + way >= self.length_m:
            self._finish_lap(before[0] + dt * (self.length_m - before[1]) / way)
            return None
        return next(self._check_splits(before, t, way), None) if way > 0 else None

    def _finish_lap(self, t: float) -> None:
        if self._began is not None and len(self._splits) == len(CHECKPOINTS):
            lap = t - self._began
            if lap > 0 and (self.best_s is None or lap < self.best_s):
                self.best_s, self._best_splits = lap, self._splits
        self._began, self._splits = t, {}

    def _check_splits(
        self, before: tuple[float, float], t: float, way: float
    ) -> Iterator[Estimate]:
        if self._began is None:
            return
        for share in CHECKPOINTS:
            place = share * self.length_m
            if share in self._splits or not before[1] < place <= before[1] + way:
                continue
            elapsed = before[0] + (t - before[0]) * (place - before[1]) / way - self._began
            self._splits[share] = elapsed
            # A quarter of the way is not a quarter of the time: the best lap has its own share.
            best = self._best_splits.get(share)
            progress = best / self.best_s if best and self.best_s else share
            yield Estimate(elapsed / progress, self.best_s)


class Watch:
    """Remembers what one car was warned of; *now* never steps back."""

    def __init__(self) -> None:
        self._armed = True
        self._warned: dict[str, float] = {}
        self._before: float | None = None
        self._entered: defaultdict[str, deque[tuple[float, float]]] = defaultdict(
            partial(deque, maxlen=PASSES)
        )
        """Time and speed in m/s of the last entries into each zone."""

    def exceeds_grip(self, combo_g: float, now: float) -> bool:
        """Whether to warn of the grip: once per slide, however long."""
        u = combo_g / GRIP_G
        if u <= MUCH_GRIP:
            self._armed = True
        if not (u > OVER_GRIP and self._armed):
            return False
        self._armed = False
        return self._due("", now)

    def enter_zone(
        self, circuit: Circuit, place: Place | None, speed_ms: float, now: float
    ) -> Zone | None:
        """Return the danger zone that the car has just entered too fast.

        Too fast is more than a good lap's speed and more than this car's own on earlier laps.
        """
        before, self._before = self._before, place.progress_m if place else None
        if before is None or place is None or not circuit.zones:
            return None
        p, length = place.progress_m, circuit.length_m
        if (p - before) % length > STRIDE * length:  # it stood, went back, or was elsewhere
            return None
        for entry in circuit.zones:
            zone = entry.zone
            if not is_inside(p, zone.start_m, zone.end_m, length):
                continue
            if is_inside(before, zone.start_m, zone.end_m, length):
                continue
            own = self._entered[zone.id]
            if len(own) >= USUAL_PASSES:
                usual = median(speed for _, speed in own)
                entry = entry._replace(reference_ms=max(entry.reference_ms, usual))
            if math.isfinite(speed_ms) and not (own and now - own[-1][0] < LAP_S):
                own.append((now, speed_ms))
            if speed_ms > TOO_FAST * entry.reference_ms and self._due(zone.id, now):
                return entry
        return None

    def _due(self, what: str, now: float) -> bool:
        if now - self._warned.get(what, -math.inf) < REPEAT_S:
            return False
        self._warned[what] = now
        return True
