"""What is known about a circuit; distances are metres of the reference line from start/finish."""

import math
from dataclasses import dataclass
from typing import Annotated, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.recording import Gate, Numbers

Direction: TypeAlias = Literal["left", "right"]
Danger: TypeAlias = Literal["high", "medium", "low"]

DIRECTIONS: Final[tuple[Direction, ...]] = ("left", "right")
DANGERS: Final[tuple[Danger, ...]] = ("high", "medium", "low")
HALF_WIDTH_M: Final = 6.0
LONGEST_M: Final = 100_000.0
MARKER_KINDS: Final = ("brake_ref", "apex_ref", "turn_in_ref", "exit_ref", "visual", "nickname")


class TrackError(ValueError):
    """A circuit cannot be read or made; the text says where and why."""


@dataclass(frozen=True)
class Stored:
    """How a value stands in the file of a circuit; a field with a default may be absent there."""

    key: str = ""
    """Its name there; empty: that of the field."""
    low: float = -math.inf
    high: float = math.inf
    digits: int | None = None
    """Decimals that are written; None: all."""
    of_lap: bool = False
    """It is a distance from 0 to the length of the lap."""
    choices: tuple[str, ...] = ()


LATITUDE: Final = Stored(low=-90, high=90, digits=7)
LONGITUDE: Final = Stored(low=-180, high=180, digits=7)


class Spot(NamedTuple):
    """A place of the line."""

    distance_m: Annotated[float, Stored("distance", digits=2, of_lap=True)]
    lat: Annotated[float | None, LATITUDE] = None
    lon: Annotated[float | None, LONGITUDE] = None


class Speeds(NamedTuple):
    """What a good lap drives at the three places of a corner, in m/s."""

    entry: Annotated[float, Stored(low=0, high=150, digits=1)]
    apex: Annotated[float, Stored(low=0, high=150, digits=1)]
    exit: Annotated[float, Stored(low=0, high=150, digits=1)]


class BrakePoint(NamedTuple):
    """Where a good lap begins to brake, and how hard."""

    before_entry_m: Annotated[float, Stored("distance_before_entry", -1000, 1000, digits=1)]
    pressure_bar: Annotated[float, Stored(low=0, high=300, digits=1)]


class Marker(NamedTuple):
    """A thing beside the track that a driver can see, or a place worth a name."""

    id: str
    kind: Annotated[str, Stored(choices=MARKER_KINDS)]
    label: str
    distance_m: Annotated[float, Stored("distance", digits=1, of_lap=True)]
    corner: str | None = None
    source: str = ""
    note: str = ""
    lat: Annotated[float | None, LATITUDE] = None
    lon: Annotated[float | None, LONGITUDE] = None
    at_offset_m_from_entry: Annotated[
        float | None, Stored(low=-LONGEST_M, high=LONGEST_M, digits=1)
    ] = None
    """Positive past the entry of its corner."""


class Corner(NamedTuple):
    """One bend; the window from entry to exit may straddle start/finish."""

    name: str
    number: Annotated[int, Stored(low=0, high=999)]
    direction: Annotated[Direction, Stored(choices=DIRECTIONS)]
    severity: Annotated[int, Stored(low=1, high=6)]
    """1, a hairpin, to 6, barely a bend."""
    entry: Spot
    apex: Spot
    exit: Spot
    curvature_peak: Annotated[float | None, Stored(digits=3)] = None
    """Degrees of heading a metre."""
    speeds: Annotated[Speeds | None, Stored("typical_speed_ms")] = None
    brake: Annotated[BrakePoint | None, Stored("typical_brake_point")] = None
    elevation_change_m: Annotated[float | None, Stored(low=-1000, high=1000, digits=1)] = None
    """From entry to exit."""
    leverage: Annotated[float | None, Stored(low=0, high=1, digits=3)] = None
    """Share of lap time that can be won here, 0 to 1."""
    nicknames: tuple[str, ...] = ()
    coaching_tip: str = ""
    markers: tuple[str, ...] = ()
    """Ids of the circuit's markers that belong to it."""


class Sector(NamedTuple):
    """One of three parts of the lap."""

    name: str
    start_m: Annotated[float, Stored("start_distance", digits=2)]
    end_m: Annotated[float, Stored("end_distance", digits=2)]


class Straight(NamedTuple):
    """A stretch between corners; one that starts behind its end goes over start/finish."""

    name: str
    start_m: Annotated[float, Stored(digits=2, of_lap=True)]
    end_m: Annotated[float, Stored(digits=2, of_lap=True)]


class DangerZone(NamedTuple):
    """A stretch where mistakes are punished."""

    id: str
    start_m: Annotated[float, Stored(of_lap=True)]
    end_m: Annotated[float, Stored(of_lap=True)]
    description: str
    severity: Annotated[Danger, Stored(choices=DANGERS)]


class WeatherPhase(NamedTuple):
    """A part of the day, from its first hour to before its last."""

    id: str
    start_hour: Annotated[int, Stored(low=0, high=23)]
    end_hour: Annotated[int, Stored(low=1, high=24)]
    surface_state: str
    coaching_note: str = ""


class Profile(NamedTuple):
    """Heights along the lap."""

    distance: Numbers
    """Metres, rising."""
    altitude: Numbers
    """Metres."""


@dataclass(frozen=True, eq=False)
class Track:
    """One circuit; what its file lacks is None or empty."""

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
        """The corner of that exact name, or of that number."""
        for corner in self.corners:
            if name in (corner.name, str(corner.number)):
                return corner
        return None

    def in_lap_order(self) -> list[Corner]:
        """The corners as a lap from start/finish comes to their apexes."""
        return sorted(self.corners, key=lambda corner: corner.apex.distance_m)


def inside(distance_m: float, start_m: float, end_m: float, length_m: float) -> bool:
    """Whether a place lies in a window that may straddle start/finish."""
    return (distance_m - start_m) % length_m <= (end_m - start_m) % length_m


def filter_markers(
    track: Track, *, corner: str | None = None, kind: str | None = None
) -> list[Marker]:
    """The markers by distance; of the corner of that exact name or number, of that kind.

    A kind may be given by its first word, as ``brake`` for ``brake_ref``; an unknown kind or
    corner has none.
    """
    chosen = list(track.markers)
    if corner is not None:
        known = track.corner(corner)
        name = known.name if known else None
        chosen = [m for m in chosen if name is not None and m.corner == name]
    if kind is not None:
        chosen = [m for m in chosen if kind in (m.kind, m.kind.removesuffix("_ref"))]
    return chosen


class Elevation(NamedTuple):
    """Heights every so many metres from start/finish."""

    source: Literal["json_profile", "reference_line", "missing"]
    distance: Numbers
    altitude: Numbers
    """Metres; as many as distances, which are none where the heights are missing."""

    @property
    def lowest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.min()) if len(self.altitude) else None

    @property
    def highest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.max()) if len(self.altitude) else None


def elevation(track: Track, step_m: float = 10.0) -> Elevation:
    """Heights at 0, step, 2 x step … up to the end of the profile, else of the lap.

    From the profile, else from the heights of the reference line. Raises `TrackError` where the
    circuit has no reference line. *step_m* is above 0.
    """
    if track.line is None:
        raise TrackError("the track file has no reference_line")
    line = track.line
    if track.elevation is not None:
        known, heights = track.elevation
        at = _steps(float(known[-1]), step_m)
        return Elevation("json_profile", at, np.interp(at, known, heights))
    sure = ~np.isnan(line.altitude)
    if not sure.any():
        return Elevation("missing", np.zeros(0), np.zeros(0))
    at = _steps(track.length_m, step_m)
    heights = np.interp(at, line.distance[sure], line.altitude[sure], period=track.length_m)
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
"""The phases of a circuit whose file names none; together they cover the day."""


def phase_at(hour: int, track: Track | None = None) -> WeatherPhase:
    """The phase of a local hour, 0 to 23: the circuit's own, else the usual one.

    Raises ValueError for an hour outside the day.
    """
    if not 0 <= hour <= 23:
        raise ValueError("the hour must be from 0 to 23")
    own = track.weather_phases if track else ()
    return next(phase for phase in (*own, *USUAL) if phase.start_hour <= hour < phase.end_hour)
