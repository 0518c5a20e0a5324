"""The schedule of the synthetic car's dash bus: which message is due when, and its bytes."""

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
from cantools.database.can import Message
from cantools.database.can.signal import Signal

from runtime.bridge.can.carfile import CarFile
from runtime.bridge.can.cars import LoadedCar
from runtime.bridge.can.frames import CanFrame
from runtime.bridge.can.rules import Plan, Rules
from runtime.bridge.session.recording import Numbers
from runtime.bridge.simulator.car import Gearbox
from runtime.bridge.simulator.course import BAR_PER_PSI, choose_course
from runtime.bridge.simulator.sensors import SimulatedDrive
from runtime.bridge.track.model import Track

LITRES_PER_GAL: Final = 3.785411784

NANO: Final = 1_000_000_000
SLOT_NS: Final = 250_000
"""Offset between the starts of two messages: about the time that one takes."""
DEFAULT_HZ: Final = 1.0
"""Rate of a message without one in car file and database: tyre sensors."""


class _Target(NamedTuple):
    """The car signal that a bus signal is decoded to."""

    name: str
    unit: float
    """One bus unit in car units."""
    probes: tuple[float, float]
    """Two bus values certainly within the sensor's range."""


_TARGETS: Final = {
    "steer_angle_deg": _Target("steering_deg", 1.0, (10.0, 40.0)),
    "yaw_rate_degs": _Target("yaw_rate_dps", 1.0, (5.0, 20.0)),
    "roll_rate_degs": _Target("roll_rate_dps", 1.0, (5.0, 20.0)),
    "pitch_rate_degs": _Target("pitch_rate_dps", 1.0, (5.0, 20.0)),
    "lateral_accel_g": _Target("g_lat", 1.0, (0.25, 0.75)),
    "inline_accel_g": _Target("g_long", 1.0, (0.25, 0.75)),
    "vertical_accel_g": _Target("g_vert", 1.0, (0.25, 0.75)),
    "throttle_pos_pct": _Target("throttle_pct", 1.0, (25.0, 75.0)),
    "brake_press_psi": _Target("brake_bar", BAR_PER_PSI, (200.0, 600.0)),
    "fuel_level_gal": _Target("fuel_level_l", LITRES_PER_GAL, (4.0, 8.0)),
}
UPSIDE_DOWN: Final[Mapping[str, tuple[float, float]]] = {"vertical_accel_g": (-1.0, 0.0)}
"""The default mounting of the logger, for a car whose file gives none."""


def find_logger(plan: Plan) -> dict[str, tuple[float, float]]:
    """Find the factor and offset with which the car file decodes each bus signal correctly.

    Found by applying the file's own rules to two values; signals without a rule are absent.
    """
    logger = dict(UPSIDE_DOWN)
    for raw, target in _TARGETS.items():
        probes = target.probes
        low, high = (Rules(plan).feed_frame({raw: probe}).get(target.name) for probe in probes)
        if low is None or high is None or low == high:
            continue
        slope = (high - low) / (probes[1] - probes[0])
        logger[raw] = target.unit / slope, probes[0] - low / slope
    return logger


def find_gearbox(file: CarFile | None) -> Gearbox:
    """Return the gearbox of the car file, else a default one."""
    if file is None or not file.methods:
        return Gearbox()
    gears = next(iter(file.methods.values())).params
    return Gearbox(gears.ratios, gears.final_drive, gears.tyre_circumference_m)


class Sender(NamedTuple):
    """A message and its sending times."""

    key: int
    message: Message
    period_ns: int
    first_ns: int

    def due(self, begin_ns: int, end_ns: int) -> Iterator[int]:
        """Yield the sending times from *begin_ns* to before *end_ns*."""
        count = max(0, -(-(begin_ns - self.first_ns) // self.period_ns))
        return iter(range(self.first_ns + count * self.period_ns, end_ns, self.period_ns))


class Schedule:
    """The frames of a drive; the same for the same arguments, to the byte."""

    def __init__(
        self,
        drive: SimulatedDrive,
        messages: Mapping[int, Message],
        *,
        rates_hz: Mapping[int, float] | None = None,
        logger: Mapping[str, tuple[float, float]] = UPSIDE_DOWN,
        anchor_s: float = 0.0,
    ) -> None:
        """Schedule *messages*, by key; those with signals that the drive lacks are left out.

        *rates_hz*, by key, override the database; *anchor_s*, seconds since the epoch, is the time
        at which the drive starts.
        """
        self.drive = drive
        self.anchor_s = anchor_s
        available = drive.signals_at(0.0).keys()
        sendable = {
            key: message
            for key, message in sorted(messages.items())
            if not message.is_multiplexed()
            and available >= {signal.name for signal in message.signals}
        }
        self.senders = tuple(
            Sender(
                key, message, _choose_period_ns(message, (rates_hz or {}).get(key)), place * SLOT_NS
            )
            for place, (key, message) in enumerate(sendable.items())
        )
        self._logger = logger
        self._limits = {
            signal.name: _find_limits(signal)
            for sender in self.senders
            for signal in sender.message.signals
        }

    def second(self, number: int) -> list[CanFrame]:
        """Compute the frames of one second of the drive, from 0; timestamps strictly increase.

        Always computing whole seconds keeps a drive the same however it is read.
        """
        moments = sorted(
            (ns, place)
            for place, sender in enumerate(self.senders)
            for ns in sender.due(number * NANO, (number + 1) * NANO)
        )
        if not moments:
            return []
        t = np.array([ns for ns, _ in moments], np.float64) / NANO
        values = self.encode_at(t)
        frames: list[CanFrame] = []
        last = -math.inf
        for row, ((_, place), at) in enumerate(zip(moments, t.tolist(), strict=True)):
            sender = self.senders[place]
            data = {signal.name: values[signal.name][row] for signal in sender.message.signals}
            stamp = self.anchor_s + at
            if stamp <= last:  # two rates that meet
                stamp = math.nextafter(last, math.inf)
            last = stamp
            frames.append(CanFrame(stamp, sender.key, sender.message.encode(data, strict=False)))
        return frames

    def encode_at(self, t: Numbers) -> dict[str, list[float]]:
        """Return the values of every signal as the logger sends them, clipped to its bits."""
        sent = {}
        truth = self.drive.signals(t)
        for name, limits in self._limits.items():
            factor, offset = self._logger.get(name, (1.0, 0.0))
            sent[name] = np.clip(truth[name] * factor + offset, *limits).tolist()
        return sent


def make_schedule(
    track: Track | None,
    lap_seconds: float,
    messages: Mapping[int, Message],
    car: LoadedCar | None = None,
    *,
    seed: int = 0,
    anchor_s: float = 0.0,
) -> Schedule:
    """Schedule a drive of *car* around *track*, with its logger, gearbox, messages and rates.

    Without a car, or if its file names no message, all *messages* are sent.
    """
    file = car.file if car else None
    drive = SimulatedDrive(choose_course(track, lap_seconds, find_gearbox(file)), seed)
    frames = file.frames if file else {}
    chosen = {key: message for key, message in messages.items() if key in frames} or messages
    rates = {key: frame.rate_hz for key, frame in frames.items() if frame.rate_hz is not None}
    logger = find_logger(car.plan) if car else UPSIDE_DOWN
    return Schedule(drive, chosen, rates_hz=rates, logger=logger, anchor_s=anchor_s)


def _choose_period_ns(message: Message, rate_hz: float | None) -> int:
    if rate_hz is None:
        rate_hz = 1000.0 / message.cycle_time if message.cycle_time else DEFAULT_HZ
    return max(SLOT_NS, round(NANO / rate_hz))


def _find_limits(signal: Signal) -> tuple[float, float]:
    """Return the range that the bits of a signal can carry."""
    if signal.is_float:
        return -math.inf, math.inf
    half = 1 << (signal.length - 1)
    raw = (-half, half - 1) if signal.is_signed else (0, 2 * half - 1)
    ends = [float(signal.scale) * value + float(signal.offset) for value in raw]
    return min(ends), max(ends)
