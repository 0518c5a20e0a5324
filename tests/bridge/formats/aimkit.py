"""A drive as an AiM logger records it: channels by their makers' names, each at its own rate."""

import struct
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from runtime.bridge.formats.child_process import ChildOutput
from runtime.bridge.session.geometry import Plane
from runtime.bridge.session.recording import Numbers, Samples
from tests.bridge.formats.logkit import BEGIN

G = 9.80665
PLANE = Plane(42.33, -76.92)
STILL_S = 30.0
CHANNELS = {
    "GPS Speed": ("m/s", "", 10),
    "GPS Latitude": ("deg", "", 10),
    "GPS Longitude": ("deg", "", 10),
    "GPS_LateralAcc": ("g", "", 10),
    "GPS_Satellites": ("", "", 10),
    "InlineAcc": ("g", "Inline Acceleration", 50),
    "LateralAcc": ("g", "Lateral Acceleration", 50),
    "ACC_LAT": ("g", "Lateral Acceleration", 10),
    "VEH_SPD": ("km/h", "Vehicle Speed", 10),
    "WHEEL_FL": ("km/h", "Rear Wheel Speed", 10),
    "RPM": ("rpm", "Engine RPM", 10),
    "PEDAL_POS": ("%", "Percentage Throttle Load", 10),
    "BRK_SW": ("", "Number", 10),
    "BRK_PRESS1": ("bar", "Brake Circuit Pressure", 10),
    "BRK_PRESS2": ("bar", "Brake Circuit Pressure", 10),
    "BRK_PRESS4": ("bar", "Brake Circuit Pressure", 10),
    "BRK_PRESS": ("bar", "Brake Circuit Pressure", 10),
    "STEER_POS": ("deg", "Steering Angle", 10),
    "STEER_SPD": ("deg/s", "Angular Rate", 10),
    "GEAR": ("gear", "Gear", 6),
    "ECT": ("C", "Water Temperature", 2),
    "OIL_TEMP": ("C", "Oil Temperature", 2),
    "FUEL_LEV": ("l", "", 1),
    "Internal Battery": ("V", "Battery Voltage", 1),
    "External Voltage": ("V", "Battery Voltage", 1),
}
"""Unit, function and samples a second."""


@dataclass
class Drive:
    """A clockwise circuit with bends to both sides, driven from a standstill at a fine step."""

    laps: int = 5
    pit_m: float = 0.0
    """Metres to the inside at which the first crossing of the line is made."""
    t: Numbers = field(init=False)
    marks: list[float] = field(init=False)
    """When the line was crossed."""

    def __post_init__(self) -> None:
        step = 0.01
        around = np.arange(-0.4, 2 * np.pi * (self.laps + 0.9), 0.0005)
        self._shape(around)
        way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(self.x), np.diff(self.y)))])
        pace = np.minimum(28.0 + 8.0 * np.cos(3 * around + 1.0), 2.0 + way / 6.0)
        clock = STILL_S + np.concatenate([[0.0], np.cumsum(np.diff(way) / pace[1:])])
        self.t = np.arange(0.0, clock[-1], step)
        lines = 2 * np.pi * np.arange(0, self.laps + 1)
        self.marks = np.interp(lines, around, clock).tolist()
        self._shape(np.interp(self.t, clock, around))
        self.speed = np.where(self.t < STILL_S, 0.0, np.interp(self.t, clock, pace))
        heading = np.unwrap(np.arctan2(np.gradient(self.x, step), np.gradient(self.y, step)))
        moving = self.t > STILL_S + 0.1
        self.lateral = np.where(moving, np.gradient(heading, step) * self.speed / G, 0.0)
        self.along = np.where(moving, np.gradient(self.speed, step) / G, 0.0)

    def _shape(self, around: Numbers) -> None:
        radius = 230.0 + 60.0 * np.cos(3 * around)
        radius = radius - np.where(np.abs(around) < 0.2, self.pit_m, 0.0)
        self.x, self.y = radius * np.sin(around), radius * np.cos(around)

    def channels(self) -> dict[str, Samples]:
        """As the real logger of a car has them: signs, zeros and dead sensors included."""
        lat, lon = PLANE.latlon(self.x, self.y)
        still = self.t < STILL_S
        braking = np.clip(-self.along, 0.0, None) * 100.0
        values = {
            "GPS Speed": self.speed,
            "GPS Latitude": lat,
            "GPS Longitude": lon,
            "GPS_LateralAcc": self.lateral,
            "GPS_Satellites": 15.0 + np.round(np.sin(self.t)),
            "InlineAcc": self.along - 0.16,
            "LateralAcc": self.lateral + 0.08,
            "ACC_LAT": -self.lateral,
            "VEH_SPD": self.speed * 3.6,
            "WHEEL_FL": self.speed * 3.6,
            "RPM": 900.0 + self.speed * 150,
            "PEDAL_POS": np.where(self.along > 0.0, 100.0, 0.0) * ~still,
            "BRK_SW": np.where(braking > 0.0, 3.0, 0.0),
            "BRK_PRESS1": np.full(len(self.t), -1.0),
            "BRK_PRESS2": np.zeros(len(self.t)),
            "BRK_PRESS4": np.round(braking),
            "BRK_PRESS": np.round(braking, 1) - 0.3,
            "STEER_POS": np.where(still, -8.0, -60.0 * self.lateral),
            "STEER_SPD": np.abs(self.lateral),
            "GEAR": np.zeros(len(self.t)),
            "ECT": 84.0 + self.t / 100,
            "OIL_TEMP": 90.0 + self.t / 50,
            "FUEL_LEV": 47.0 - self.t / 100,
            "Internal Battery": 3.9 + 0.1 * np.sin(self.t),
            "External Voltage": 13.9 + 0.1 * np.sin(self.t),
        }
        channels = {}
        for name, value in values.items():
            every = round(100 / CHANNELS[name][2])
            channels[name] = Samples(self.t[::every], value[::every].astype(np.float64))
        return channels

    def child_output(self, **meta: object) -> ChildOutput:
        """What the reader of the format hands over."""
        bounds = [0.0, *self.marks, float(self.t[-1])]
        ends = list(pairwise(bounds))
        laps = [[a, b, 0 < at < len(ends) - 1] for at, (a, b) in enumerate(ends)]
        texts = {"Driver": "Ada\0\ud800", "Vehicle": "Tarn 3", "Venue": " Three Bends\n"}
        functions = {name: about[1] for name, about in CHANNELS.items()}
        whole = {"created": BEGIN, "functions": functions, "laps": laps, "texts": texts, **meta}
        units = {name: about[0] for name, about in CHANNELS.items()}
        return ChildOutput(whole, {}, self.channels(), units)


def xrk_bytes(seconds: int) -> bytes:
    """A log of a speed, a pedal and positions at 10 Hz, with a lap and a date."""
    channels = (("Speed", 16, 50.0), ("PedalPos", 1, 80.0))
    heads = [_xrk_channel(at, name, unit) for at, (name, unit, _) in enumerate(channels)]
    parts = [
        _xrk_message(b"CNF", b"".join(heads)),
        _xrk_message(b"TMD", b"06/15/2025\0"),
        _xrk_message(b"TMT", b"14:25:30\0"),
    ]
    for at in range(seconds * 10):
        t_ms, angle = at * 100, at / 300
        for index, (_, _, value) in enumerate(channels):
            sample = struct.pack("<iHf", t_ms, index, value + np.sin(angle))
            parts.append(b"(S" + sample + b")")
        place = struct.pack("<3i", 390_000_000 + 30 * at, int(2e6 * angle), 502_000_000)
        speed = struct.pack("<3i", 3000, 0, 0)
        fix = struct.pack("<iIiHBB", t_ms, t_ms, 0, 2370, 3, 0) + place + struct.pack("<I", 50)
        parts.append(_xrk_message(b"GPS", fix + speed + struct.pack("<IHBBI", 5, 150, 0, 12, 0)))
    end_ms = seconds * 1000
    parts.append(_xrk_message(b"LAP", struct.pack("<BBHIQI", 0, 0, 1, end_ms - 500, 0, end_ms)))
    return b"".join(parts)


def _xrk_channel(index: int, name: str, unit: int) -> bytes:
    """The head of a channel of floats at 10 Hz."""
    head = bytearray(112)
    struct.pack_into("<H", head, 0, index)
    head[12], head[16], head[20], head[72] = unit, 1, 6, 4
    head[24:32], head[32:56] = name[:8].encode().ljust(8, b"\0"), name.encode().ljust(24, b"\0")
    struct.pack_into("<I", head, 64, 100_000)
    return _xrk_message(b"CHS", bytes(head))


def _xrk_message(word: bytes, content: bytes) -> bytes:
    """A message with its length and sum of bytes."""
    name = word.ljust(4, b"\0")
    head = b"<h" + name + struct.pack("<iB", len(content), 1) + b">"
    return head + content + b"<" + name + struct.pack("<H", sum(content) & 0xFFFF) + b">"
