"""The sensor values of the synthetic car at any time of its drive."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from runtime.bridge.session.recording import (
    TIMESTAMP,
    WIDE,
    Frames,
    Numbers,
    Recording,
    Samples,
)
from runtime.bridge.simulator.car import Controls, G
from runtime.bridge.simulator.course import BAR_PER_PSI, MPH, Course
from runtime.bridge.simulator.driver import Driver, run_wide

PACE: Final = 0.012
"""Largest share by which the pace at a place varies between laps."""
ASIDE_M: Final = 0.8
"""Largest distance from the reference line."""
WAVES: Final = 3

STEP_S: Final = 0.05
"""Rates of change are taken over this time to each side."""
WARMING_S: Final = 120.0
FUEL_GAL: Final = 14.0
GAL_PER_LAP: Final = 0.12
LEAST_GAL: Final = 0.5
AXLE_M: Final = 1.5
"""Between the wheels of an axle."""
LEAN_DEG_PER_G: Final = 2.5
DIVE_DEG_PER_G: Final = 1.2
CORNERS: Final = ("fl", "fr", "rl", "rr")

RECORDED_HZ: Final = 20.0
RECORDED_AFTER_S: Final = 5.0
"""A recording goes on for this long after the last lap."""


@lru_cache(maxsize=64)
def _amplitudes(seed: int, lap: int) -> Numbers:
    """Draw how a lap differs from the ideal one: the amplitudes of the waves of pace and of line.

    *lap* counts from -1, the way to start/finish.
    """
    return np.random.default_rng([seed, lap + 1]).uniform(-1.0, 1.0, (2, WAVES))


def _waves(seed: int, lap: Numbers) -> tuple[Numbers, Numbers]:
    """Return the amplitudes of pace and of line for each lap number; a row for each wave."""
    laps, places = np.unique(lap, return_inverse=True)
    sizes = np.array([_amplitudes(seed, int(number)) for number in laps])
    pace, line = sizes.transpose(1, 2, 0)[:, :, places]
    return pace, line


def vary_pace(seed: int, lap: Numbers, t: Numbers, seconds: float) -> tuple[Numbers, Numbers]:
    """Return the times of the ideal lap at times of these laps, and how fast they pass.

    Start, end and the pace there are those of the ideal lap.
    """
    pace, _ = _waves(seed, lap)
    turns = 2 * np.pi * np.arange(1, WAVES + 1)[:, None] / seconds
    angle = turns * t
    moved = t + (PACE / WAVES * pace / turns * (1.0 - np.cos(angle))).sum(axis=0)
    return moved, 1.0 + (PACE / WAVES * pace * np.sin(angle)).sum(axis=0)


def vary_line(seed: int, lap: Numbers, share: Numbers) -> Numbers:
    """Return the metres to the right of the line at shares of laps; 0 where a lap begins."""
    _, line = _waves(seed, lap)
    ripples = 1.0 - np.cos(2 * np.pi * np.arange(1, WAVES + 1)[:, None] * share)
    metres: Numbers = (ASIDE_M / (2 * WAVES) * line * ripples).sum(axis=0)
    return metres


@lru_cache(maxsize=256)
def _tones(seed: int, name: str) -> tuple[tuple[float, float], ...]:
    chance = np.random.default_rng([seed, crc32(name.encode())])
    return tuple(zip(chance.uniform(0.5, 9.0, 3), chance.uniform(0.0, 2 * np.pi, 3), strict=True))


def hum(seed: int, name: str, t: Numbers) -> Numbers:
    """Return the noise of a sensor, from -1 to 1; a pure function of time."""
    total = np.zeros(len(t))
    for turns, phase in _tones(seed, name):
        total += np.sin(turns * t + phase)
    return total / 3.0


class Motion(NamedTuple):
    """Where the car is and how fast it drives."""

    lap: Numbers
    """-1 before start/finish was crossed for the first time, then 0, 1, …"""
    lap_t: Numbers
    """Seconds of the ideal lap."""
    s: Numbers
    """Metres from start/finish."""
    speed: Numbers
    """m/s."""


@dataclass(frozen=True, eq=False)
class SimulatedDrive:
    """An endless drive, lap after lap; the same for the same seed.

    It starts at speed, `lead_s` before start/finish: N laps are complete after ``duration(N)``
    seconds. A clean lap lasts `lap_seconds`.
    """

    course: Course
    seed: int = 0

    @property
    def lap_seconds(self) -> float:
        """The time of a clean lap."""
        return self.course.lap.seconds

    @cached_property
    def driver(self) -> Driver:
        """The driver."""
        return Driver(self.course, self.seed)

    @property
    def lead_s(self) -> float:
        """Seconds from the start to start/finish."""
        return self.course.lead_s

    def duration(self, laps: int) -> float:
        """Return the seconds until that many laps are complete."""
        return self.lead_s + self.driver.start(laps)

    def laps_at(self, t: float) -> int:
        """Count the complete laps at time *t* of the drive."""
        return max(0, int(self.driver.laps_at(np.array([t - self.lead_s]))[0]))

    def motion(self, t: Numbers) -> Motion:
        """Compute the motion at times of the drive, from 0 on."""
        since = t - self.lead_s
        lap = self.driver.laps_at(since)
        within, pace = since + self.lap_seconds, np.ones(len(t))  # of the way to start/finish
        for number in np.unique(lap[lap >= 0]).astype(int).tolist():
            here = lap == number
            driven = self.driver.lap(number)
            gone = since[here] - self.driver.start(number)
            within[here] = np.interp(gone, driven.t, driven.clean_t)
            pace[here] = np.interp(within[here], driven.clean_t, driven.pace)
        lap_t, rate = vary_pace(self.seed, lap, within, self.lap_seconds)
        s, speed = self.course.lap.at(np.clip(lap_t, 0.0, self.lap_seconds))
        return Motion(lap, lap_t, s, speed * rate * pace)

    def signals_at(self, t: float) -> dict[str, float]:
        """Compute `signals` at one time."""
        return {name: float(values[0]) for name, values in self.signals(np.array([t])).items()}

    def signals(self, t: Numbers) -> dict[str, Numbers]:
        """Compute all channels of the dash bus, with the names and units of the bus.

        Signs are those of a correctly mounted logger: steering, yaw and lateral acceleration
        positive to the right, vertical acceleration 1 at rest.
        """
        n = len(t)
        offsets = np.arange(-2, 3)[:, None] * STEP_S
        around = self.motion((t[None, :] + offsets).ravel())
        speeds = around.speed.reshape(5, n)
        gains = (speeds[2:] - speeds[:-2]) / (2 * STEP_S) / G
        inner = slice(n, 4 * n)
        moment = Motion(*(values[inner] for values in around))
        times = (t[None, :] + offsets[1:4]).ravel()
        made = self.course.controls(times, moment.lap_t, moment.speed, gains.ravel())
        before, now, after = (
            Controls(*(values.reshape(3, n)[row] for values in made)) for row in range(3)
        )
        here = Motion(*(values.reshape(3, n)[1] for values in moment))
        roll = -LEAN_DEG_PER_G * (after.g_lat - before.g_lat) / (2 * STEP_S)
        pitch = DIVE_DEG_PER_G * (after.g_long - before.g_long) / (2 * STEP_S)
        return {
            **self._driving(t, now, roll, pitch),
            **self._wheels(here.speed, now),
            **self._fluids(t, now.rpm),
            **self._position(here),
            **self._tyres(t),
        }

    def _driving(
        self, t: Numbers, now: Controls, roll: Numbers, pitch: Numbers
    ) -> dict[str, Numbers]:
        return {
            "rpm": now.rpm,
            "gear": np.zeros(len(t)),
            "brake_press_psi": now.brake_bar / BAR_PER_PSI,
            "brake_switch": (now.brake_bar > 0).astype(np.float64),
            "throttle_pos_pct": now.throttle_pct,
            "steer_angle_deg": now.steering_deg,
            "lateral_accel_g": now.g_lat + 0.01 * hum(self.seed, "lateral", t),
            "inline_accel_g": now.g_long + 0.01 * hum(self.seed, "inline", t),
            "vertical_accel_g": 0.99 + 0.04 * hum(self.seed, "vertical", t),
            "roll_rate_degs": roll + 0.3 * hum(self.seed, "roll", t),
            "pitch_rate_degs": pitch + 0.3 * hum(self.seed, "pitch", t),
        }

    def _wheels(self, speed: Numbers, now: Controls) -> dict[str, Numbers]:
        """Outer wheels travel further, driven wheels slip; the front ones average the speed."""
        yaw = now.g_lat * G / np.maximum(speed, 1.0)
        outer = yaw * AXLE_M / 2
        slip = 1.0 + 0.015 * np.clip(now.g_long, -1.0, 1.0)
        mph = {
            "wheel_speed_fl_mph": speed + outer,
            "wheel_speed_fr_mph": speed - outer,
            "wheel_speed_rl_mph": (speed + outer) * slip,
            "wheel_speed_rr_mph": (speed - outer) * slip,
            "speed_mph": speed,
            "ecu_speed_mph": speed,
        }
        turning = {"yaw_rate_degs": np.degrees(yaw)}
        return {**{name: values / MPH for name, values in mph.items()}, **turning}

    def _fluids(self, t: Numbers, rpm: Numbers) -> dict[str, Numbers]:
        warm = 1.0 - np.exp(-np.maximum(t, 0.0) / WARMING_S)
        oil = 75.0 + 140.0 * warm
        used = GAL_PER_LAP * np.maximum(t, 0.0) / self.lap_seconds
        return {
            "water_temp_f": 75.0 + 120.0 * warm + 0.2 * hum(self.seed, "water", t),
            "water_press_psi": 3.0 + 12.0 * warm + 0.1 * hum(self.seed, "coolant", t),
            "oil_temp_f": oil - 8.0 * warm + 0.2 * hum(self.seed, "oil", t),
            "engine_oil_temp_f": oil + 0.2 * hum(self.seed, "sump", t),
            "oil_press_psi": 18.0 + 57.0 * rpm / 7800.0 - 8.0 * warm,
            "ambient_temp_f": 71.0 + 0.3 * hum(self.seed, "ambient", t),
            "fuel_level_gal": np.maximum(FUEL_GAL - used, LEAST_GAL),
            "battery_volt": 13.9 + 0.1 * hum(self.seed, "battery", t),
            "stability_flag": np.zeros(len(t)),
        }

    def _position(self, here: Motion) -> dict[str, Numbers]:
        right = vary_line(self.seed, here.lap, here.s / self.course.lap.length_m)
        for number in np.unique(here.lap[here.lap >= 0]).astype(int).tolist():
            inside = here.lap == number
            for fault in self.driver.lap(number).faults:
                right[inside] += run_wide(fault, here.s[inside])
        lat, lon = self.course.place(here.s, right)
        return {"gps_lat": lat, "gps_lon": lon}

    def _tyres(self, t: Numbers) -> dict[str, Numbers]:
        warm = 1.0 - np.exp(-np.maximum(t, 0.0) / (2 * WARMING_S))
        values = {}
        for place, corner in enumerate(CORNERS):
            front = corner.startswith("f")
            values[f"tire_press_{corner}_psi"] = (
                (27.0 if front else 26.0) + 6.0 * warm + 0.1 * hum(self.seed, f"psi {corner}", t)
            )
            values[f"tire_temp_{corner}_f"] = (
                75.0 + (105.0 if front else 95.0) * warm + 0.5 * hum(self.seed, f"f {corner}", t)
            )
            values[f"tire_sensor_{corner}_mv"] = np.full(len(t), 2950.0 + 5.0 * place)
            values[f"tire_alarm_{corner}"] = np.zeros(len(t))
        return values


def record_laps(drive: SimulatedDrive, laps: int) -> Recording:
    """Record *laps* complete laps as a logger does: from before the first one to after the last."""
    t = np.arange(round((drive.duration(laps) + RECORDED_AFTER_S) * RECORDED_HZ)) / RECORDED_HZ
    measured = drive.signals(t)
    g_lat, g_long = measured["lateral_accel_g"], measured["inline_accel_g"]
    columns = {
        TIMESTAMP: t,
        "speed_ms": measured["speed_mph"] * MPH,
        "g_lat": g_lat,
        "g_long": g_long,
        "combo_g": np.hypot(g_lat, g_long),
        "brake_bar": measured["brake_press_psi"] * BAR_PER_PSI,
        "throttle_pct": measured["throttle_pos_pct"],
        "steering_deg": measured["steer_angle_deg"],
        "rpm": measured["rpm"],
        "lat": measured["gps_lat"],
        "lon": measured["gps_lon"],
    }
    missing = np.full(len(t), np.nan)
    signals = {
        "yaw_rate_dps": measured["yaw_rate_degs"],
        "oil_temp_c": (measured["oil_temp_f"] - 32.0) / 1.8,
        "coolant_temp_c": (measured["water_temp_f"] - 32.0) / 1.8,
    }
    return Recording(
        Frames({name: columns.get(name, missing) for name in WIDE}),
        {name: Samples(t, values) for name, values in signals.items()},
    )
