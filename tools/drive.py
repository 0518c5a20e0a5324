"""Simulates laps of a circuit: frames as a logger would write them, and the true lap times."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Indices, Line
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Numbers
from runtime.bridge.simulator.car import (
    GRID_M,
    Car,
    G,
    Gearbox,
    Motion,
    controls,
    line_curvature,
    run,
)
from runtime.bridge.track.model import Track, TrackError

BOX: Final = 0.04
"""The car leaves its box this share of a lap behind start/finish, and stops as far before it."""
SLOW_LAP: Final = 0.6
"""Share of the grip used on out-laps and in-laps."""
MOODS: Final = 24
"""Changes of the driver's pace per lap."""
UNEVEN: Final = 0.4
DRIFT_S: Final = 600.0
"""Time constant of the wander of a satellite fix."""
GEARBOX: Final = Gearbox((13.2, 9.1, 6.9, 5.5, 4.6, 3.9), final_drive=1.0, tyre_m=1.94)
AVERAGED_S: Final = 0.05
"""An accelerometer averages over this time to each side."""


class Noise(NamedTuple):
    """Errors of the sensors, as standard deviations."""

    gps_m: float = 0.0
    """Slow wander of the position, in each direction."""
    gps_jitter_m: float = 0.0
    """Independent error of each fix."""
    g: float = 0.0
    speed_ms: float = 0.0
    pedals: float = 0.0
    """Of throttle (%) and brake (bar), while pressed."""


QUIET: Final = Noise()
USUAL: Final = Noise(gps_m=1.5, gps_jitter_m=0.08, g=0.02, speed_ms=0.03, pedals=0.4)


class Drive(NamedTuple):
    """A session and its true lap times."""

    frames: Frames
    lap_times_s: tuple[float, ...]
    """Times of the complete laps."""
    crossings_s: tuple[float, ...]
    """Times of the crossings of start/finish on the session's clock; one more than laps."""


def drive(
    track: Track,
    laps: int,
    *,
    hz: float = 10.0,
    skill: float = 0.95,
    seed: int = 0,
    noise: Noise = QUIET,
    car: Car | None = None,
) -> Drive:
    """A way out of the box, *laps* complete laps, and the way back in.

    *skill* is the share of the grip that is used, 0.3 to 1; the less of it, the more one corner
    differs from the same corner a lap later. `distance_m` counts from the box. The same
    arguments give the same frames. Raises `TrackError` where the circuit has no line.
    """
    if track.line is None:
        raise TrackError("the circuit has no reference line to drive on")
    if laps < 0 or not 0.3 <= skill <= 1.0 or not 0 < hz <= 1000:
        raise ValueError("laps from 0, skill from 0.3 to 1, hz above 0 and up to 1000")
    chance = np.random.default_rng(seed)
    car = car or Car()
    around = max(100, round(track.length_m / GRID_M))
    box = round(BOX * around)
    cells = np.arange(box, (laps + 2) * around - box + 1)
    curvature = line_curvature(track.line, track.length_m, around)[cells % around]
    grip = _choose_grip(cells, around, skill, chance)
    way = cells.astype(np.float64) * (track.length_m / around)
    motion = run(car, way, curvature, grip, 0.0, 0.0)
    crossings = motion.t[np.arange(1, laps + 2) * around - box]
    columns = _columns(car, motion, curvature, hz)
    columns["lat"], columns["lon"] = _positions(track.line, columns, motion.s[0], noise, chance)
    _disturb(columns, noise, chance)
    columns["combo_g"] = np.hypot(columns["g_lat"], columns["g_long"])
    frames = Frames({name: columns[name] for name in WIDE})
    return Drive(frames, tuple(np.diff(crossings).tolist()), tuple(crossings.tolist()))


def _choose_grip(cells: Indices, around: int, skill: float, chance: np.random.Generator) -> Numbers:
    """Return the share of the grip that the driver uses at each cell of the session."""
    knots = np.arange(cells[0], cells[-1] + around / MOODS, around / MOODS)
    mood = skill * (1.0 - np.abs(chance.normal(0.0, UNEVEN * (1.0 - skill), len(knots))))
    used = np.clip(np.interp(cells, knots, mood), 0.25, 1.0)
    box = cells[0]  # the pace changes this far from the line, so that complete laps are alike
    flying = (cells >= around - box) & (cells < cells[-1] + 2 * box - around)
    return np.where(flying, used, SLOW_LAP * used)


def _columns(car: Car, motion: Motion, curvature: Numbers, hz: float) -> dict[str, Numbers]:
    """Return the readings of perfect sensors at evenly spaced times."""
    t = np.arange(0.0, motion.t[-1], 1.0 / hz)
    s, speed = _moments(motion, t)
    begin, end = np.maximum(t - AVERAGED_S, 0.0), np.minimum(t + AVERAGED_S, motion.t[-1])
    g_long = (_moments(motion, end)[1] - _moments(motion, begin)[1]) / (end - begin) / G
    seen = controls(car, GEARBOX, speed, np.interp(s, motion.s, curvature), g_long)
    return {
        TIMESTAMP: t,
        "distance_m": s - motion.s[0],
        "speed_ms": speed,
        **seen._asdict(),
    }


def _moments(motion: Motion, t: Numbers) -> tuple[Numbers, Numbers]:
    """Distance and speed at times; acceleration is even within a cell."""
    i = np.clip(np.searchsorted(motion.t, t, side="right") - 1, 0, len(motion.t) - 2)
    rest = t - motion.t[i]
    gain = (motion.speed[i + 1] - motion.speed[i]) / (motion.t[i + 1] - motion.t[i])
    return motion.s[i] + rest * (motion.speed[i] + rest * gain / 2), motion.speed[i] + rest * gain


def _positions(
    line: Line, columns: dict[str, Numbers], first: float, noise: Noise, chance: np.random.Generator
) -> tuple[Numbers, Numbers]:
    """Return latitude and longitude as a satellite receiver would."""
    x, y = line.ring.at(columns["distance_m"] + first)
    t = columns[TIMESTAMP]
    errors = [_wander(t, noise.gps_m, chance) for _ in range(2)]
    jitter = chance.normal(0.0, noise.gps_jitter_m, (2, len(t)))
    return line.plane.latlon(x + errors[0] + jitter[0], y + errors[1] + jitter[1])


def _wander(t: Numbers, size: float, chance: np.random.Generator) -> Numbers:
    """Return a drifting error with the time constant `DRIFT_S`."""
    knots = np.arange(0.0, t[-1] + 1.0)
    keep = float(np.exp(-1.0 / DRIFT_S))
    kicks = chance.normal(0.0, size, len(knots))
    kicks[1:] *= (1.0 - keep**2) ** 0.5
    values: list[float] = kicks.tolist()
    for i in range(1, len(values)):
        values[i] += keep * values[i - 1]
    error: Numbers = np.interp(t, knots, values)
    return error


def _disturb(columns: dict[str, Numbers], noise: Noise, chance: np.random.Generator) -> None:
    """Adds the errors of the sensors in the car."""
    count = len(columns[TIMESTAMP])
    for name in ("g_lat", "g_long"):
        columns[name] = columns[name] + chance.normal(0.0, noise.g, count)
    speed = columns["speed_ms"] + chance.normal(0.0, noise.speed_ms, count)
    columns["speed_ms"] = np.maximum(speed, 0.0)
    for name, most in (("brake_bar", np.inf), ("throttle_pct", 100.0)):
        shaken = columns[name] + chance.normal(0.0, noise.pedals, count)
        columns[name] = np.where(columns[name] > 0, np.clip(shaken, 0.0, most), 0.0)
