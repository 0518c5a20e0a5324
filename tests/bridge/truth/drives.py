"""Drives on made circuits with everything that is true of them, and the loggers that saw them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from tests.bridge.truth.circuits import (
    GRAVITY,
    KART,
    RACING_CAR,
    ROAD_CAR,
    Bend,
    Car,
    Circuit,
    Corner,
    Numbers,
    corner_limit,
    drive_speed,
    find_corners,
    lay_out,
)

EARTH_M: Final = 6_378_137.0
SQUARED_ECCENTRICITY: Final = 6.694_379_990_14e-3
FIX_M: Final = 0.5
"""Standard deviation of a fix, east and north, independent from one to the next."""
SPEED_MS: Final = 0.05
ACCELERATION_G: Final = 0.03
PIT_BESIDE_M: Final = 21.0
PIT_MS: Final = 60 / 3.6
EPOCH_S: Final = 1_780_000_000.0
"""May 2026."""

Clock: TypeAlias = Literal["even", "irregular", "bursts", "jitter", "gap"]


class Plan(NamedTuple):
    """What is driven, and how it is recorded."""

    name: str
    circuit: Circuit
    car: Car
    laps: int
    """Flying laps: from line to line after the pits, else from where the recording begins."""
    hz: float
    clock: Clock = "even"
    begin_m: float = -300.0
    """Where the recording begins, in metres from the line of the first flying lap; at speed."""
    end_m: float = 200.0
    """Where it ends, past the line of the last flying lap; beyond the beginning."""
    pits: bool = False
    """From standing beside the line, out; at the end in again and standing."""
    pit_m: float = 160.0
    """The pit lane leaves the circuit so far before the line and joins it so far after."""
    held_hz: float | None = None
    """The receiver's own rate where rows repeat its fixes."""
    has_sensors: bool = True
    """Pedals and accelerometers beside position and speed."""
    place: tuple[float, float] = (47.0, 8.0)
    """Latitude and longitude of the line."""
    seed: int = 1


@dataclass(frozen=True, eq=False)
class Drive:
    """A drive, and what a logger made of it."""

    plan: Plan
    way: Numbers
    """Metres from the line, over all laps; negative before the first."""
    t: Numbers
    """Seconds of the logger's clock at each of them."""
    path_m: Numbers
    """Metres really driven until there."""
    speed: Numbers
    """m/s there."""
    columns: dict[str, Numbers]
    """What was recorded, in canonical columns."""

    @property
    def circuit(self) -> Circuit:
        """Where it was."""
        return self.plan.circuit

    @cached_property
    def corners(self) -> list[Corner]:
        """Where a flying lap needs more than 40 % of the grip."""
        return find_corners(self.circuit, self.plan.car)

    def pass_times(self, station_m: float) -> Numbers:
        """When a place was passed on the circuit, not in the pits, within the recording."""
        length = self.circuit.length_m
        laps = np.arange(-1, self.plan.laps + 2)
        places = station_m % length + laps * length
        places = places[(places > self.on_track[0]) & (places < self.on_track[1])]
        times = np.interp(places, self.way, self.t)
        first, last = self.columns["timestamp"][[0, -1]]
        passes: Numbers = times[(times >= first) & (times <= last)]
        return passes

    def lap_edges(self, station_m: float) -> Numbers:
        """The passes at which laps begin and end: not the round out of the pits, nor the one in."""
        passes = self.pass_times(station_m)
        if not self.plan.pits:
            return passes
        rounds = np.array([self.way[0], self.way[-1]])
        rounds += np.array([0.75, -0.75]) * self.circuit.length_m
        begin, end = np.interp(rounds, self.way, self.t)
        edges: Numbers = passes[(passes >= begin) & (passes <= end)]
        return edges

    @cached_property
    def on_track(self) -> tuple[float, float]:
        """From where to where the drive was on the circuit itself."""
        if not self.plan.pits:
            return float(self.way[0]), float(self.way[-1])
        return float(self.way[0]) + self.plan.pit_m, float(self.way[-1]) - self.plan.pit_m

    def station_at(self, t: float) -> float:
        """Metres from the line at a moment, less than once around."""
        return float(np.interp(t, self.t, self.way)) % self.circuit.length_m

    @cached_property
    def recorded_s(self) -> float:
        """Seconds that the rows cover, without the gap."""
        steps = np.diff(self.columns["timestamp"])
        return float(steps[steps < 1.0].sum())

    @cached_property
    def distance_m(self) -> float:
        """Metres driven while it was recorded, those of a gap left out."""
        t = self.columns["timestamp"]
        path = np.interp(t, self.t, self.path_m)
        return float(np.diff(path)[np.diff(t) < 1.0].sum())

    @cached_property
    def top_speed_ms(self) -> float:
        """The largest true speed at any row."""
        return float(np.interp(self.columns["timestamp"], self.t, self.speed).max())

    @cached_property
    def moving_s(self) -> float:
        """Seconds above 5 m/s, without the gap."""
        t = self.columns["timestamp"]
        fine = np.arange(t[0], t[-1], 0.01)
        gaps = np.flatnonzero(np.diff(t) >= 1.0)
        recorded = np.ones(len(fine), dtype=bool)
        for i in gaps:
            recorded &= (fine <= t[i]) | (fine >= t[i + 1])
        return float(0.01 * (recorded & (np.interp(fine, self.t, self.speed) > 5.0)).sum())


def drive(plan: Plan) -> Drive:
    """Drive a plan and record it.

    The line wanders a metre or so and the pace a few percent, neither in step with the laps. A
    flying lap is as fast as grip, power and brakes allow. Positions get noise of 0.5 m, speed of
    0.05 m/s, accelerations of 0.03 g, each from its own seed.
    """
    rng = np.random.default_rng(plan.seed)
    circuit, car = plan.circuit, plan.car
    length = circuit.length_m
    begin, end = plan.begin_m, plan.laps * length + plan.end_m
    if plan.pits:
        begin, end = -length + 5.0, (plan.laps + 1) * length - 5.0
    way = np.arange(begin, end, circuit.step_m)
    beside = _wander(way / length, rng, 1.2)
    limit = corner_limit(circuit.bend_at(way), car) * (0.98 + _wander(way / length, rng, 0.02))
    speed_begin, speed_end = car.top_ms, car.top_ms
    if plan.pits:
        straight_on = 0.4 * plan.pit_m
        driven = np.minimum(way - begin, end - way)
        lane = 1.0 - _smooth(np.clip((driven - straight_on) / (plan.pit_m - straight_on), 0.0, 1.0))
        beside = beside * (1.0 - lane) + PIT_BESIDE_M * lane
        limit = np.where(lane > 0.5, np.minimum(limit, PIT_MS), limit)
        speed_begin = speed_end = 1.0
    speed = drive_speed(limit, circuit.step_m, car, speed_begin, speed_end)
    slope = np.gradient(beside, circuit.step_m)
    stretch = np.hypot(1.0 - circuit.bend_at(way) * beside, slope)
    steps = np.diff(way) * (stretch[1:] + stretch[:-1]) / 2
    path = np.concatenate([[0.0], np.cumsum(steps)])
    t = np.concatenate([[0.0], np.cumsum(2 * steps / (speed[1:] + speed[:-1]))])
    if plan.pits:  # it stands for 8 s before it leaves, and after it has come in
        way, path = np.append(way[0], way), np.append(0.0, path)
        way, path = np.append(way, way[-1]), np.append(path, path[-1])
        speed, beside = np.concatenate([[0], speed, [0]]), np.pad(beside, 1, mode="edge")
        t = np.concatenate([[0.0], t + 8.0, [t[-1] + 16.0]])
    made = Drive(plan, way, t + EPOCH_S, path, speed, {})
    made.columns.update(_record(made, beside, rng))
    return made


def _wander(laps: Numbers, rng: np.random.Generator, size: float) -> Numbers:
    """A smooth random number along the way, mostly within *size*."""
    rates, phases = rng.uniform(0.3, 3.7, 5), rng.uniform(0, 2 * np.pi, 5)
    waves = np.sin(2 * np.pi * laps[:, None] * rates + phases)
    total: Numbers = size * waves.sum(axis=1) / np.sqrt(5.0)
    return total


def _smooth(share: Numbers) -> Numbers:
    return share * share * (3.0 - 2.0 * share)


def _record(made: Drive, beside: Numbers, rng: np.random.Generator) -> dict[str, Numbers]:
    plan = made.plan
    t = _clock(plan, float(made.t[0]), float(made.t[-1]), rng)
    measured = t if plan.held_hz is None else np.floor(t * plan.held_hz) / plan.held_hz
    measured = np.maximum(measured, made.t[0])
    _, fix = np.unique(measured, return_inverse=True)
    if plan.clock == "bursts":  # the four rows of a burst share the error of their fix
        fix = np.cumsum(np.diff(t, prepend=t[0]) > 0.05)
    noise = rng.normal(0.0, FIX_M, (2, int(fix.max()) + 1))
    way = np.interp(measured, made.t, made.way)
    x, y = made.circuit.at(way, np.interp(measured, made.t, beside))
    lat, lon = degrees(plan.place, x + noise[0][fix], y + noise[1][fix])
    speed = np.interp(measured, made.t, made.speed)
    speed += rng.normal(0.0, SPEED_MS, int(fix.max()) + 1)[fix]
    columns = {
        "timestamp": t if plan.clock != "jitter" else t + rng.uniform(-0.003, 0.003, len(t)),
        "lat": lat,
        "lon": lon,
        "speed_ms": np.maximum(speed, 0.0),
    }
    if plan.has_sensors:
        way, now = np.interp(t, made.t, made.way), np.interp(t, made.t, made.speed)
        push = np.interp(t, made.t, np.gradient(made.speed, made.t)) / GRAVITY
        side = now**2 * made.circuit.bend_at(way) / GRAVITY
        columns["g_lat"] = side + rng.normal(0.0, ACCELERATION_G, len(t))
        columns["g_long"] = push + rng.normal(0.0, ACCELERATION_G, len(t))
        columns["throttle_pct"] = np.where(push > 0.02, 100.0, np.where(push > -0.05, 40.0, 0.0))
        columns["brake_bar"] = np.where(push < -0.1, -50.0 * push / plan.car.grip_g, 0.0)
    return columns


def _clock(plan: Plan, begin: float, end: float, rng: np.random.Generator) -> Numbers:
    """The moments of the rows."""
    t = np.arange(begin, end, 1.0 / plan.hz)
    if plan.clock == "irregular":
        steps = rng.uniform(0.5, 1.5, len(t)) / plan.hz
        t = begin + np.cumsum(steps)
        t = t[t < end]
    if plan.clock == "bursts":  # four rows within 20 ms, ten times a second
        fixes = np.arange(begin, end - 0.03, 0.1)
        t = (fixes[:, None] + np.array([0.0, 0.007, 0.013, 0.020])).ravel()
    if plan.clock == "gap":  # the logger lost five seconds in the middle
        middle = (begin + end) / 2
        t = t[(t < middle) | (t > middle + 5.0)]
    return t


def degrees(place: tuple[float, float], x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    """Latitude and longitude of metres east and north of a place, on the WGS-84 ellipsoid."""
    sine = np.sin(np.radians(place[0]))
    flat = 1.0 - SQUARED_ECCENTRICITY * sine**2
    meridian = EARTH_M * (1.0 - SQUARED_ECCENTRICITY) / flat**1.5
    parallel = EARTH_M / np.sqrt(flat) * np.cos(np.radians(place[0]))
    return place[0] + np.degrees(y / meridian), place[1] + np.degrees(x / parallel)


def _kart_track() -> Circuit:
    bends = [(90, 14), (90, 14), (-180, 7.5), (180, 8), (90, 16), (-55, 14), (55, 14), (90, 18)]
    return lay_out([150, 25, 85, 85, 110, 25, 25, 25], [Bend(*bend) for bend in bends], 30.0)


def _club() -> Circuit:
    bends = [(75, 60), (-60, 45), (95, 35), (60, 120), (-85, 30), (100, 40), (80, 70), (95, 50)]
    return lay_out([600, 200, 260, 380, 300, 220, 420, 300], [Bend(*b) for b in bends], 110.0)


def _grand_prix() -> Circuit:
    """Seven kilometres; the longest straight has a kink that takes a tenth of the grip."""
    bends = [(110, 40), (-55, 110), (65, 90), (-80, 60), (140, 35), (45, 250), (-70, 80)]
    bends += [(92, 55), (60, 180), (-50, 90), (100, 45), (3, 3000)]
    straights = [600, 350, 300, 450, 600, 800, 400, 500, 450, 350, 400, 500]
    return lay_out(straights, [Bend(*b) for b in bends], 250.0)


def _beside() -> Circuit:
    """Three straights 20 m beside each other, in opposite directions."""
    bends = [(180, 8), (-180, 8), (90, 20), (90, 25), (90, 40), (90, 30)]
    return lay_out([640, 440, 500, 90, 680, 130], [Bend(*b) for b in bends], 0.0)


def _figure_of_eight() -> Circuit:
    bends = [(100, 60), (160, 45), (-95, 60), (-165, 50)]
    return lay_out([420, 160, 420, 160], [Bend(*b) for b in bends], 45.0)


def _esses() -> Circuit:
    bends = [(50, 70), (-80, 60), (80, 60), (-75, 55), (210, 60), (-60, 40), (120, 45), (115, 35)]
    return lay_out([450, 80, 90, 90, 200, 180, 300, 350], [Bend(*b) for b in bends], 300.0)


def _sweepers() -> Circuit:
    bends = [(120, 220), (-40, 300), (70, 260), (100, 150), (-30, 400), (80, 240), (60, 180)]
    return lay_out([800, 500, 450, 700, 500, 600, 450], [Bend(*b) for b in bends], 200.0)


def _hairpins() -> Circuit:
    bends = [(175, 12), (-170, 10), (165, 14), (-60, 40), (110, 30), (140, 15)]
    return lay_out([400, 220, 260, 200, 300, 280], [Bend(*b) for b in bends], 75.0)


PLANS: Final = (
    Plan("kart", _kart_track(), KART, 8, 10.0, seed=11, place=(46.1, 9.7), has_sensors=False),
    Plan("kart-pits-100hz", _kart_track(), KART, 4, 100.0, pits=True, pit_m=70.0, seed=12),
    Plan("club-pits-25hz", _club(), ROAD_CAR, 5, 25.0, pits=True, seed=13, place=(51.7, -1.3)),
    Plan("gp-jitter", _grand_prix(), RACING_CAR, 4, 20.0, "jitter", seed=14, place=(43.6, 5.2)),
    Plan("beside-bursts", _beside(), ROAD_CAR, 6, 10.0, "bursts", seed=15, place=(52.3, 4.6)),
    Plan("eight-held", _figure_of_eight(), ROAD_CAR, 6, 50.0, held_hz=10.0, seed=16),
    Plan("esses-gap", _esses(), ROAD_CAR, 6, 25.0, "gap", pits=True, seed=17, place=(-33.8, 150.9)),
    Plan("sweepers", _sweepers(), RACING_CAR, 4, 20.0, begin_m=900.0, end_m=1000.0, seed=18),
    Plan("hairpins-irregular", _hairpins(), ROAD_CAR, 6, 10.0, "irregular", seed=19),
    Plan("club-pits-jitter", _club(), RACING_CAR, 5, 50.0, "jitter", pits=True, seed=20),
)
FILE_PLAN: Final = Plan("files", _kart_track(), KART, 3, 20.0, seed=31, place=(46.1, 9.7))
"""What is written as the file of each program: short, for there are many."""
