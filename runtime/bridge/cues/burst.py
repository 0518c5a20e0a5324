"""Sums up a session's frames in bursts of one second."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.cues.circuit import Place
from runtime.bridge.cues.model import Burst, Moment
from runtime.bridge.session.definitions import CLOSED_PCT, COASTING_MS, RELEASED_BAR
from runtime.bridge.session.recording import LiveFrame, Numbers
from runtime.bridge.session.units import KMH

BURST_S: Final = 1.0
TRAIL_BRAKE_BAR: Final = 3.0
TRAIL_G: Final = 0.4
IMPOSSIBLE: Final = 1e6
"""No sensor of a car exceeds this, in any unit."""


class Reading(NamedTuple):
    """The channels of a frame that the coach uses; NaN if missing or impossible."""

    speed_ms: float
    g_lat: float
    g_long: float
    brake_bar: float
    throttle_pct: float
    combo_g: float

    @property
    def coasts(self) -> bool:
        """Whether the car coasts, as in `definitions.is_coasting`."""
        pedals = self.throttle_pct < CLOSED_PCT and self.brake_bar < RELEASED_BAR
        return pedals and self.speed_ms > COASTING_MS


def read(frame: LiveFrame) -> Reading:
    """Read a frame's channels; missing combined acceleration is computed."""
    values = (frame.wide.get(name, math.nan) for name in Reading._fields)
    reading = Reading(*(v if -IMPOSSIBLE < v < IMPOSSIBLE else math.nan for v in values))
    if math.isnan(reading.combo_g):
        return reading._replace(combo_g=math.hypot(reading.g_lat, reading.g_long))
    return reading


class BurstBuilder:
    """Collects the frames of one session; a burst ends with the frame a second after its first."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._number = 0
        self.drop()

    def drop(self) -> None:
        """Forget the current burst."""
        self._began = math.nan
        self._readings: list[Reading] = []
        self._latest = 0
        """The reading since which the car has been in its corner, or out of any."""
        self._trail = 0
        self._place: Place | None = None

    def add(self, t: float, reading: Reading, place: Place | None) -> Burst | None:
        """Add a frame; return the burst before it if that is complete."""
        done = self.close() if t - self._began >= BURST_S else None
        if not self._readings:
            self._began = t
        elif _in_corner(place) is not _in_corner(self._place):
            self._latest = len(self._readings)
        self._readings.append(reading)
        self._place = place
        braking_in = reading.brake_bar > TRAIL_BRAKE_BAR and abs(reading.g_lat) > TRAIL_G
        self._trail += braking_in and bool(_in_corner(place))
        return done

    @property
    def number(self) -> int:
        """Number of the current burst, from 1."""
        return self._number + 1

    def close(self) -> Burst | None:
        """End the current burst; None if there is none."""
        if not self._readings:
            return None
        place = self._place
        whole, latest = _columns(self._readings), _columns(self._readings[self._latest :])
        self._number += 1
        burst = Burst(
            session_id=self._session_id,
            burst_id=self._number,
            avg_speed_kmh=_mean(whole["speed_ms"]) * KMH,
            max_combo_g=_highest(whole["combo_g"]),
            max_lateral_g=_farthest(whole["g_lat"]),
            max_brake_bar=_highest(whole["brake_bar"]),
            avg_throttle_pct=_mean(whole["throttle_pct"]),
            coast_frames=sum(reading.coasts for reading in self._readings),
            trail_brake_frames=self._trail,
            frame_count=len(self._readings),
            distance_m=place.progress_m if place else None,
            in_corner=_in_corner(place),
            past_apex=place.past_apex if place else None,
            latest=Moment(
                _highest(latest["brake_bar"]),
                _mean(latest["throttle_pct"]),
                abs(_farthest(latest["g_lat"])),
                _mean(latest["speed_ms"]) * KMH,
            ),
        )
        self.drop()
        return burst


def _in_corner(place: Place | None) -> bool | None:
    return None if place is None else place.corner is not None


def _columns(readings: Sequence[Reading]) -> dict[str, Numbers]:
    """Return the measured values of each channel."""
    columns = np.array(readings).T
    return {
        name: values[~np.isnan(values)]
        for name, values in zip(Reading._fields, columns, strict=True)
    }


def _mean(values: Numbers) -> float:
    return float(values.mean()) if len(values) else math.nan


def _highest(values: Numbers) -> float:
    return float(values.max()) if len(values) else math.nan


def _farthest(values: Numbers) -> float:
    """Return the first of the values farthest from 0."""
    return float(values[np.abs(values).argmax()]) if len(values) else math.nan
