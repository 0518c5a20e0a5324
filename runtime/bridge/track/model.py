"""The model of a circuit; distances are metres along the reference line from start/finish."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field, ValidationInfo
from pydantic_core import core_schema

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.recording import Gate, Numbers

Direction: TypeAlias = Literal["left", "right"]
Danger: TypeAlias = Literal["high", "medium", "low"]

DANGERS: Final[tuple[Danger, ...]] = ("high", "medium", "low")
HALF_WIDTH_M: Final = 6.0
LONGEST_M: Final = 100_000.0
LONGEST_STRING: Final = 4000
MARKER_KINDS: Final = ("brake_ref", "apex_ref", "turn_in_ref", "exit_ref", "visual", "nickname")


class TrackError(ValueError):
    """A circuit cannot be read or built; the text says where and why."""


@dataclass(frozen=True)
class Number:
    """A finite number in a file, and the decimals it is written with (None: all)."""

    low: float = -math.inf
    high: float = math.inf
    digits: int | None = None
    of_lap: bool = False
    """A distance from 0 to the length of the lap, which the validation context holds."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: Callable[[object], core_schema.CoreSchema]
    ) -> core_schema.CoreSchema:
        """Tell pydantic to read and write the value with the methods below."""
        write = core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.with_info_plain_validator_function(
            self.read_whole if source is int else self.read, serialization=write
        )

    def read(self, value: object, info: ValidationInfo) -> float:
        """Read a float; raises ValueError."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("must be a number")
        low, high = (0, (info.context or {})["length"]) if self.of_lap else (self.low, self.high)
        if not low <= value <= high or not abs(value) <= sys.float_info.max:
            raise ValueError(f"must be from {low:g} to {high:g}")
        return float(value)

    def read_whole(self, value: object, info: ValidationInfo) -> int:
        """Read an integer; raises ValueError."""
        number = self.read(value, info)
        if number != int(number):
            raise ValueError("must be a whole number")
        return int(number)

    def write(self, value: float) -> float:
        """Round the value for the file."""
        return value if self.digits is None else round(value, self.digits) + 0.0


def _read_text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text")
    return _read_note(value)


def _read_note(value: object) -> str:
    if value is not None and not isinstance(value, str):
        raise ValueError("must be a text")
    if value is not None and len(value) > LONGEST_STRING:
        raise ValueError("the text is too long")
    return value or ""


def _read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | None):
        raise ValueError("must be a list")
    if not all(isinstance(item, str) and len(item) <= LONGEST_STRING for item in value or ()):
        raise ValueError("must be a list of texts")
    return tuple(value or ())


def _one_of(*choices: str) -> BeforeValidator:
    """Accept one of some words, in any case."""

    def read(value: object) -> str:
        word = _read_text(value).casefold()
        if word not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return word

    return BeforeValidator(read)


Text: TypeAlias = Annotated[str, BeforeValidator(_read_text)]
"""A string that is not blank."""
Note: TypeAlias = Annotated[str, BeforeValidator(_read_note)]
"""A string that may be absent."""
Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_read_texts)]
Place: TypeAlias = Annotated[float, Number(digits=2, of_lap=True)]
Latitude: TypeAlias = Annotated[float, Number(-90, 90, digits=7)]
Longitude: TypeAlias = Annotated[float, Number(-180, 180, digits=7)]
Speed: TypeAlias = Annotated[float, Number(0, 150, digits=1)]
Height: TypeAlias = Annotated[float, Number(-1000, 1000, digits=1)]


@dataclass(frozen=True)
class Spot:
    """A place on the line."""

    distance_m: Annotated[Place, Field(alias="distance")]
    lat: Latitude | None = None
    lon: Longitude | None = None


@dataclass(frozen=True)
class Speeds:
    """The speeds of a good lap at the three places of a corner, in m/s."""

    entry: Speed
    apex: Speed
    exit: Speed


@dataclass(frozen=True)
class BrakePoint:
    """Where a good lap begins to brake, and how hard."""

    before_entry_m: Annotated[Height, Field(alias="distance_before_entry")]
    pressure_bar: Annotated[float, Number(0, 300, digits=1)]


@dataclass(frozen=True)
class Marker:
    """Something next to the track that a driver can see, or a place worth a name."""

    id: Text
    kind: Annotated[str, _one_of(*MARKER_KINDS)]
    label: Text
    distance_m: Annotated[float, Number(digits=1, of_lap=True), Field(alias="distance")]
    corner: Annotated[str | None, BeforeValidator(lambda value: _read_note(value) or None)] = None
    source: Note = ""
    note: Note = ""
    lat: Latitude | None = None
    lon: Longitude | None = None
    at_offset_m_from_entry: Annotated[float, Number(-LONGEST_M, LONGEST_M, digits=1)] | None = None
    """Positive past the entry of its corner."""


@dataclass(frozen=True)
class Corner:
    """One bend; the window from entry to exit may straddle start/finish."""

    name: Text
    number: Annotated[int, Number(0, 999)]
    direction: Annotated[Direction, _one_of("left", "right")]
    severity: Annotated[int, Number(1, 6)]
    """1, a hairpin, to 6, barely a bend."""
    entry: Spot
    apex: Spot
    exit: Spot
    curvature_peak: Annotated[float, Number(digits=3)] | None = None
    """Degrees of heading a metre."""
    speeds: Annotated[Speeds | None, Field(alias="typical_speed_ms")] = None
    brake: Annotated[BrakePoint | None, Field(alias="typical_brake_point")] = None
    elevation_change_m: Height | None = None
    """From entry to exit."""
    leverage: Annotated[float, Number(0, 1, digits=3)] | None = None
    """Share of lap time that can be won here, 0 to 1."""
    nicknames: Texts = ()
    coaching_tip: Note = ""
    markers: Texts = ()
    """Ids of the circuit's markers that belong to it."""


@dataclass(frozen=True)
class Sector:
    """One of three parts of the lap."""

    name: Text
    start_m: Annotated[float, Number(digits=2), Field(alias="start_distance")]
    end_m: Annotated[float, Number(digits=2), Field(alias="end_distance")]


@dataclass(frozen=True)
class Straight:
    """A stretch between corners; if it starts after its end, it crosses start/finish."""

    name: Text
    start_m: Place
    end_m: Place


@dataclass(frozen=True)
class DangerZone:
    """A stretch where mistakes are punished."""

    id: Text
    start_m: Annotated[float, Number(of_lap=True)]
    end_m: Annotated[float, Number(of_lap=True)]
    description: Text
    severity: Annotated[Danger, _one_of(*DANGERS)]


@dataclass(frozen=True)
class WeatherPhase:
    """A part of the day, from its first hour to before its last."""

    id: Text
    start_hour: Annotated[int, Number(0, 23)]
    end_hour: Annotated[int, Number(1, 24)]
    surface_state: Text
    coaching_note: Note = ""


class Profile(NamedTuple):
    """Heights along the lap."""

    distance: Numbers
    """Metres, rising."""
    altitude: Numbers
    """Metres."""


@dataclass(frozen=True, eq=False)
class Track:
    """One circuit; fields missing in its file are None or empty."""

    id: str
    name: str
    length_m: float
    start: Gate
    """Start/finish."""
    generated_from: str = ""
    half_width_m: float = HALF_WIDTH_M
    line: Line | None = None
    corners: tuple[Corner, ...] = ()
    """In the order of their numbers."""
    sectors: tuple[Sector, ...] = ()
    """Three, or none."""
    straights: tuple[Straight, ...] = ()
    danger_zones: tuple[DangerZone, ...] = ()
    weather_phases: tuple[WeatherPhase, ...] = ()
    elevation: Profile | None = None
    markers: tuple[Marker, ...] = ()
    """By distance."""

    def corner(self, name: str) -> Corner | None:
        """Find a corner by its exact name or its number."""
        for corner in self.corners:
            if name in (corner.name, str(corner.number)):
                return corner
        return None

    def in_lap_order(self) -> list[Corner]:
        """Return the corners by the distance of their apexes from start/finish."""
        return sorted(self.corners, key=lambda corner: corner.apex.distance_m)


def is_inside(distance_m: float, start_m: float, end_m: float, length_m: float) -> bool:
    """Whether a place lies in a window that may straddle start/finish."""
    return (distance_m - start_m) % length_m <= (end_m - start_m) % length_m


def filter_markers(
    track: Track, *, corner: str | None = None, kind: str | None = None
) -> list[Marker]:
    """Return the markers by distance, of one corner (exact name or number) or kind if stated.

    A kind may be given by its first word, as ``brake`` for ``brake_ref``; an unknown kind or
    corner has no markers.
    """
    chosen = list(track.markers)
    if corner is not None:
        match = track.corner(corner)
        name = match.name if match else None
        chosen = [m for m in chosen if name is not None and m.corner == name]
    if kind is not None:
        chosen = [m for m in chosen if kind in (m.kind, m.kind.removesuffix("_ref"))]
    return chosen


class Elevation(NamedTuple):
    """Heights at even steps from start/finish."""

    source: Literal["json_profile", "reference_line", "missing"]
    distance: Numbers
    altitude: Numbers
    """Metres, one for each distance; both empty if the heights are missing."""

    @property
    def lowest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.min()) if len(self.altitude) else None

    @property
    def highest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.max()) if len(self.altitude) else None


def sample_elevation(track: Track, step_m: float = 10.0) -> Elevation:
    """Return heights at 0, step, 2 x step … up to the end of the profile, else of the lap.

    From the profile, else from the heights of the reference line. Raises `TrackError` if the
    circuit has no reference line. *step_m* is above 0.
    """
    if track.line is None:
        raise TrackError("the track file has no reference_line")
    line = track.line
    if track.elevation is not None:
        places, heights = track.elevation
        at = _steps(float(places[-1]), step_m)
        return Elevation("json_profile", at, np.interp(at, places, heights))
    is_known = ~np.isnan(line.altitude)
    if not is_known.any():
        return Elevation("missing", np.zeros(0), np.zeros(0))
    at = _steps(track.length_m, step_m)
    heights = np.interp(at, line.distance[is_known], line.altitude[is_known], period=track.length_m)
    return Elevation("reference_line", at, heights)


def _steps(last: float, step: float) -> Numbers:
    count = int(last / step + 1e-9) + 1
    at: Numbers = np.minimum(np.arange(count) * step, last)
    return at


USUAL: Final = (
    WeatherPhase(
        "morning_fog",
        6,
        10,
        "cool damp",
        "Tyres and surface are cold: press gently and keep a margin where you brake.",
    ),
    WeatherPhase(
        "warm_up",
        10,
        12,
        "rising grip",
        "Grip grows from lap to lap: move braking points later in small steps.",
    ),
    WeatherPhase(
        "peak_grip",
        12,
        15,
        "optimal",
        "The surface is at its best: this is the time for a flying lap.",
    ),
    WeatherPhase(
        "late_session",
        15,
        24,
        "tire degradation",
        "Tyres are past their best: be patient with the throttle and smooth with the wheel.",
    ),
    WeatherPhase(
        "peak_grip",
        0,
        6,
        "optimal",
        "The surface is at its best: this is the time for a flying lap.",
    ),
)
"""The phases of a circuit without phases of its own; together they cover the day."""


def find_phase(hour: int, track: Track | None = None) -> WeatherPhase:
    """Find the phase of a local hour, 0 to 23: the circuit's own, else the usual one.

    Raises ValueError for an hour outside the day.
    """
    if not 0 <= hour <= 23:
        raise ValueError("the hour must be from 0 to 23")
    own = track.weather_phases if track else ()
    return next(phase for phase in (*own, *USUAL) if phase.start_hour <= hour < phase.end_hour)
