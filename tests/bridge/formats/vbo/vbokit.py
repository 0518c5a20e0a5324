"""Synthetic drives with known truth, written as VBO files in every dialect that people have."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from runtime.bridge.formats.encodings import CoordinateEncoding, TimeEncoding
from runtime.bridge.formats.options import Options
from runtime.bridge.formats.readers.vbo import read_vbo
from runtime.bridge.session.recording import Recording

Numbers = npt.NDArray[np.float64]

EARTH_RADIUS_M = 6_371_000.0
STANDARD_GRAVITY = 9.80665
MIDNIGHT = 1_750_000_000 // 86_400 * 86_400.0
"""Unix seconds of 00:00 UTC on 15 June 2025, the day of the drives."""
CREATED = "File created on 15/06/2025 @ 14:25:30"


def read(
    data: bytes,
    *,
    coordinate_encoding: CoordinateEncoding | None = None,
    time_encoding: TimeEncoding | None = None,
) -> Recording:
    """The recording in the bytes of a VBO file."""
    return read_vbo(io.BytesIO(data), Options(coordinate_encoding, time_encoding))


@dataclass(frozen=True)
class Circuit:
    """A closed line in polar form about a middle; travelled clockwise, seen from above."""

    radius_m: float = 300.0
    wobble: float = 0.25
    lobes: int = 3
    lat: float = 52.0
    lon: float = 4.5

    def line(self, points: int = 20_000) -> tuple[Numbers, Numbers, Numbers]:
        """Metres east and north of the middle, and metres along the line, first = last."""
        angle = np.linspace(0.0, 2.0 * np.pi, points + 1)
        radius = self.radius_m * (1.0 + self.wobble * np.cos(self.lobes * angle))
        east, north = radius * np.sin(angle), radius * np.cos(angle)
        along = np.concatenate(([0.0], np.cumsum(np.hypot(np.diff(east), np.diff(north)))))
        return east, north, along

    @property
    def length_m(self) -> float:
        """Length of one lap."""
        return float(self.line()[2][-1])


@dataclass(frozen=True, eq=False)
class Drive:
    """What really happened: every array has one number a sample."""

    circuit: Circuit
    t: Numbers
    """Seconds since midnight UTC; above 86,400 after midnight."""
    along_m: Numbers
    """Metres since the start line was first crossed; negative before."""
    speed_ms: Numbers
    lat: Numbers
    lon: Numbers
    heading: Numbers
    """Degrees, 0 north, clockwise."""
    g_lat: Numbers
    """Positive to the right."""
    g_long: Numbers
    brake_bar: Numbers
    throttle_pct: Numbers
    steering_deg: Numbers
    rpm: Numbers
    crossings: Numbers
    """Seconds since midnight at which the start line was crossed, exactly."""

    @property
    def lap_times(self) -> Numbers:
        """Exact seconds of every complete lap."""
        return np.diff(self.crossings)

    @property
    def gate(self) -> tuple[float, float, float]:
        """Latitude and longitude of the start line's middle, and the heading through it."""
        east, north, _ = self.circuit.line()
        lat, lon = _degrees(self.circuit, east[:1], north[:1])
        return float(lat[0]), float(lon[0]), float(_heading(east[:2], north[:2])[0])


def drive(
    circuit: Circuit | None = None,
    *,
    laps: float = 3.2,
    rate_hz: float = 10.0,
    start_s: float = 51_930.2,
    mean_ms: float = 32.0,
    swing: float = 0.35,
    lead_m: float = 150.0,
) -> Drive:
    """Drive *laps* laps and *lead_m* metres before the first; faster on one side of the circuit.

    Speed is mean · (1 + swing · sin(2π · lap share)), so a lap takes
    length / (mean · √(1 - swing²)) seconds, whatever the rate.
    """
    circuit = circuit or Circuit()
    east, north, along = circuit.line()
    length = along[-1]
    fine = np.linspace(-lead_m, laps * length, int(200_000 * max(1.0, laps / 8)))
    slow = 1.0 / (mean_ms * (1.0 + swing * np.sin(2 * np.pi * fine / length)))
    clock = np.concatenate(([0.0], np.cumsum(np.diff(fine) * (slow[1:] + slow[:-1]) / 2)))
    t = np.arange(0.0, clock[-1], 1.0 / rate_hz)
    metres = np.interp(t, clock, fine)
    here = np.mod(metres, length)
    speed = mean_ms * (1.0 + swing * np.sin(2 * np.pi * metres / length))
    pull = mean_ms * swing * np.cos(2 * np.pi * metres / length) * 2 * np.pi / length * speed
    heading_line = np.unwrap(np.radians(_heading(east, north)))
    heading = np.interp(here, along[:-1], heading_line)
    bend = np.interp(here, along[:-1], np.gradient(heading_line, along[:-1]))
    lat, lon = _degrees(circuit, np.interp(here, along, east), np.interp(here, along, north))
    g_long = pull / STANDARD_GRAVITY
    starts = np.arange(0.0, laps + 1e-9) * length
    return Drive(
        circuit=circuit,
        t=np.round(t + start_s, 6),
        along_m=metres,
        speed_ms=speed,
        lat=lat,
        lon=lon,
        heading=np.mod(np.degrees(heading), 360.0),
        g_lat=speed**2 * bend / STANDARD_GRAVITY,
        g_long=g_long,
        brake_bar=np.clip(-g_long * 90.0, 0.0, None),
        throttle_pct=np.clip(g_long * 300.0, 0.0, 100.0),
        steering_deg=np.degrees(bend) * 40.0,
        rpm=1500.0 + speed * 110.0,
        crossings=np.interp(starts, fine, clock) + start_s,
    )


def _heading(east: Numbers, north: Numbers) -> Numbers:
    return np.mod(np.degrees(np.arctan2(np.diff(east), np.diff(north))), 360.0)


def _degrees(circuit: Circuit, east: Numbers, north: Numbers) -> tuple[Numbers, Numbers]:
    metres = EARTH_RADIUS_M * np.pi / 180.0
    scale = metres * np.cos(np.radians(circuit.lat))
    return circuit.lat + north / metres, circuit.lon + east / scale


@dataclass(frozen=True)
class Dialect:
    """How a file is written; the default is a native logger's."""

    coordinates: Literal["minutes", "degrees", "ddmm"] = "minutes"
    time: Literal["hhmmss", "seconds"] = "hhmmss"
    speed: Literal["kmh", "knots"] = "kmh"
    separator: str = " "
    newline: str = "\r\n"
    encoding: str = "cp1252"
    created: str = CREATED
    gate: Literal["behind", "across", "none"] = "behind"
    gate_order: Literal["lon_lat", "lat_lon"] = "lon_lat"
    names: str = "[column names]"
    decimal_comma: bool = False
    exponent: bool = True
    plus: bool = True
    lateral_left: bool = False
    brake_unit: Literal["bar", "psi", "kPa"] = "bar"
    throttle_fraction: bool = False
    video: bool = False
    satellites: int = 9
    comments: tuple[str, ...] = (
        "(c) Paddock",
        "Type   : Synthetic logger",
        "Log Rate (Hz) : 10.00",
    )


NATIVE = Dialect()
VARIANT_B = Dialect(
    separator=",",
    time="seconds",
    names="[channel names]",
    encoding="utf-8",
    newline="\n",
    created="",
    exponent=False,
    plus=False,
)
DEGREES = Dialect(coordinates="degrees", encoding="utf-8-sig", newline="\n", gate="none")
RACEBOX = Dialect(gate="across", gate_order="lat_lon", exponent=False)
KNOTS = Dialect(speed="knots", created="File created on 15/06/2025 @ 14:25")
ALL_DIALECTS = {
    "native": NATIVE,
    "variant_b": VARIANT_B,
    "degrees": DEGREES,
    "racebox": RACEBOX,
    "knots": KNOTS,
    "decimal_comma": Dialect(decimal_comma=True),
    "ddmm": Dialect(coordinates="ddmm"),
    "lateral_left": Dialect(lateral_left=True),
    "psi": Dialect(brake_unit="psi"),
    "kpa": Dialect(brake_unit="kPa"),
    "fraction": Dialect(throttle_fraction=True),
    "video": Dialect(video=True, satellites=137),
}


def write_vbo(path: Path, lap: Drive | None = None, dialect: Dialect = NATIVE) -> Drive:
    """Write a drive as a VBO file and give it back; a drive of 3.2 laps when none is given."""
    lap = lap or drive()
    path.write_bytes(vbo_bytes(lap, dialect))
    return lap


def vbo_bytes(lap: Drive, dialect: Dialect = NATIVE) -> bytes:
    """The bytes of the file that `write_vbo` writes."""
    columns = _columns(lap, dialect)
    lines = [*_head(lap, dialect, columns), "[data]"]
    texts = [texts for _, _, texts in columns.values()]
    lines += [dialect.separator.join(row) for row in zip(*texts, strict=True)]
    return (dialect.newline.join(lines) + dialect.newline).encode(dialect.encoding)


def _head(lap: Drive, dialect: Dialect, columns: Mapping[str, "Column"]) -> list[str]:
    lines = [dialect.created, ""] if dialect.created else []
    lines += ["[header]", *(described for described, _, _ in columns.values()), ""]
    units = [unit for _, unit, _ in columns.values()]
    lines += ["[channel units]", *units[8:], "", "[comments]", *dialect.comments, ""]
    if dialect.video:
        lines += ["[AVI]", "Run_", "mp4", ""]
    if dialect.gate != "none":
        lines += ["[laptiming]", _gate(lap, dialect), ""]
    separator = "," if dialect.separator == "," else " "
    return [*lines, dialect.names, separator.join(columns), ""]


Column = tuple[str, str, list[str]]
"""Description in the header, unit, texts."""


def _columns(lap: Drive, dialect: Dialect) -> dict[str, Column]:
    lat, lon = coordinate_text(lap.lat, dialect), coordinate_text(lap.lon, dialect, east=True)
    speed = lap.speed_ms * (3.6 if dialect.speed == "kmh" else 3.6 / 1.852)
    brake = {"bar": 1.0, "psi": 14.503774, "kPa": 100.0}[dialect.brake_unit]
    columns: dict[str, Column] = {
        "sats": ("satellites", "", [f"{dialect.satellites:03d}"] * len(lap.t)),
        "time": ("time", "", _times(lap, dialect)),
        "lat": ("latitude", "", lat),
        "long": ("longitude", "", lon),
        "velocity": (f"velocity {dialect.speed}", "", _plain(speed, dialect, "07.3f")),
        "heading": ("heading", "", _plain(lap.heading, dialect, "07.3f")),
        "height": ("height", "", _plain(np.full(len(lap.t), 12.5), dialect, "+09.2f")),
        "vert-vel": ("vertical velocity m/s", "", _plain(lap.t * 0.0, dialect, "+08.2f")),
    }
    if dialect.video:
        since = lap.t - lap.t[0]
        columns["avifileindex"] = ("avifileindex", "(null)", ["0001"] * len(lap.t))
        columns["avitime"] = ("avisynctime", "(null)", [f"{s * 1000 + 799:09.0f}" for s in since])
    left = -1.0 if dialect.lateral_left else 1.0
    share = 0.01 if dialect.throttle_fraction else 1.0
    channels = {
        "Latacc": ("g", lap.g_lat * left),
        "Longacc": ("g", lap.g_long),
        "Brake_Pressure": (dialect.brake_unit, lap.brake_bar * brake),
        "Throttle_Position": ("(null)", lap.throttle_pct * share),
        "Steering_Angle": ("(null)", lap.steering_deg),
        "Engine_Speed": ("RPM", lap.rpm),
        "Coolant_Temperature": ("°C", np.full(len(lap.t), 88.0)),
    }
    for name, (unit, values) in channels.items():
        columns[name] = (name, unit, _channel(values, dialect))
    return columns


def _channel(values: Numbers, dialect: Dialect) -> list[str]:
    return _plain(values, dialect, "+.6E" if dialect.exponent else "+.5f")


def _plain(values: Numbers, dialect: Dialect, form: str) -> list[str]:
    form = form if dialect.plus else form.replace("+", "")
    texts = [format(float(value), form) for value in values]
    return [text.replace(".", ",") for text in texts] if dialect.decimal_comma else texts


def _times(lap: Drive, dialect: Dialect) -> list[str]:
    if dialect.time == "seconds":  # these loggers count from 0
        return _plain(lap.t - lap.t[0], dialect, ".3f")
    return [_clock(float(t), dialect) for t in lap.t]


def _clock(t: float, dialect: Dialect) -> str:
    whole = round(t * 1000)
    minutes, millis = divmod(whole, 60_000)
    hours, minutes = divmod(minutes, 60)
    text = f"{hours % 24:02d}{minutes:02d}{millis / 1000:06.3f}"
    return text.replace(".", ",") if dialect.decimal_comma else text


def coordinate_text(degrees: Numbers, dialect: Dialect, *, east: bool = False) -> list[str]:
    """Texts of latitudes or longitudes (*east*) as the dialect has them."""
    if dialect.coordinates == "degrees":
        return _plain(degrees, dialect, "+014.9f")
    values = -degrees if east else degrees
    if dialect.coordinates == "minutes":
        return _plain(values * 60.0, dialect, "+015.8f")
    whole = np.trunc(values)
    return _plain(whole * 100.0 + (values - whole) * 60.0, dialect, "+015.8f")


def _gate(lap: Drive, dialect: Dialect) -> str:
    lat, lon, heading = lap.gate
    way = np.radians(heading + (180.0 if dialect.gate == "behind" else 90.0))
    metres = EARTH_RADIUS_M * np.pi / 180.0
    step = 5.0 if dialect.gate == "behind" else 15.0
    dlat = step * np.cos(way) / metres
    dlon = step * np.sin(way) / metres / np.cos(np.radians(lat))
    first = (lat, lon) if dialect.gate == "behind" else (lat - dlat, lon - dlon)
    lats = coordinate_text(np.array([first[0], lat + dlat]), dialect)
    lons = coordinate_text(np.array([first[1], lon + dlon]), dialect, east=True)
    order = (lons, lats) if dialect.gate_order == "lon_lat" else (lats, lons)
    pairs = zip(*order, strict=True)
    return "Start   " + " ".join(f"{a} {b}" for a, b in pairs) + " ¬  Start / Finish"
