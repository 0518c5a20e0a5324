"""What is known about a circuit; distances are metres of the reference line from start/finish."""

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.values import Gate, Numbers

Direction: TypeAlias = Literal["left", "right"]
Danger: TypeAlias = Literal["high", "medium", "low"]

DIRECTIONS: Final[tuple[Direction, ...]] = ("left", "right")
DANGERS: Final[tuple[Danger, ...]] = ("high", "medium", "low")
HALF_WIDTH_M: Final = 6.0
LONGEST_SLUG: Final = 80
_APART: Final = 8
_LETTERS: Final = dict(
    zip(
        "\u00e6\u0153\u00f8\u0142\u0131\u0111\u00f0\u00fe\u0127\u0167\u014b",
        ("ae", "oe", "o", "l", "i", "d", "d", "th", "h", "t", "ng"),
        strict=True,
    )
)
"""Latin letters that are no letter with an accent."""
MARKER_KINDS: Final = ("brake_ref", "apex_ref", "turn_in_ref", "exit_ref", "visual", "nickname")


class TrackError(ValueError):
    """A circuit cannot be read or made; the text says where and why."""


class Spot(NamedTuple):
    """A place of the line."""

    distance_m: float
    lat: float | None = None
    lon: float | None = None


class Speeds(NamedTuple):
    """What a good lap drives at the three places of a corner, in m/s."""

    entry: float
    apex: float
    exit: float


class BrakePoint(NamedTuple):
    """Where a good lap begins to brake, and how hard."""

    before_entry_m: float
    pressure_bar: float


class Marker(NamedTuple):
    """A thing beside the track that a driver can see, or a place worth a name."""

    id: str
    kind: str
    """One of `MARKER_KINDS`."""
    label: str
    distance_m: float
    corner: str | None = None
    source: str = ""
    note: str = ""
    lat: float | None = None
    lon: float | None = None
    at_offset_m_from_entry: float | None = None
    """Positive past the entry of its corner."""


class Corner(NamedTuple):
    """One bend; the window from entry to exit may straddle start/finish."""

    name: str
    number: int
    direction: Direction
    severity: int
    """1, a hairpin, to 6, barely a bend."""
    entry: Spot
    apex: Spot
    exit: Spot
    curvature_peak: float | None = None
    """Degrees of heading a metre."""
    speeds: Speeds | None = None
    brake: BrakePoint | None = None
    elevation_change_m: float | None = None
    """From entry to exit."""
    nicknames: tuple[str, ...] = ()
    coaching_tip: str = ""
    markers: tuple[str, ...] = ()
    """Ids of the circuit's markers that belong to it."""
    leverage: float | None = None
    """Share of lap time that can be won here, 0 to 1."""


class Sector(NamedTuple):
    """One of three parts of the lap."""

    name: str
    start_m: float
    end_m: float


class Straight(NamedTuple):
    """A stretch between corners; one that starts behind its end goes over start/finish."""

    name: str
    start_m: float
    end_m: float


class DangerZone(NamedTuple):
    """A stretch where mistakes are punished."""

    id: str
    start_m: float
    end_m: float
    description: str
    severity: Danger


class WeatherPhase(NamedTuple):
    """A part of the day, from its first hour to before its last."""

    id: str
    start_hour: int
    end_hour: int
    surface_state: str
    coaching_note: str


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


@functools.lru_cache(maxsize=4096)
def slug(name: str) -> str:
    """The name as ids are written: small ASCII letters and digits, words joined by one hyphen.

    Latin letters lose their accents. A name with others keeps its Latin words and gets a word that
    differs from name to name, as a very long one does. Empty: the name has nothing but signs.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name.casefold()).casefold())
    marked = "".join(_LETTERS.get(c, c) for c in _unaccented(plain))
    words = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in marked).split()
    latin = re.findall("[a-z0-9]+", " ".join(words))
    text = "-".join(latin)
    if text == "-".join(words) and len(text) <= LONGEST_SLUG and text:
        return text
    told = "-".join(words) or "".join(c for c in plain if unicodedata.category(c) == "So")
    if not told:
        return ""
    apart = hashlib.sha256(told.encode()).hexdigest()[:_APART]
    kept = text[: LONGEST_SLUG - _APART - 1].strip("-")
    return f"{kept or 'track'}-{apart}"


def _unaccented(text: str) -> Iterator[str]:
    """The characters without the marks that stand behind Latin letters; others need theirs."""
    latin = True
    for c in text:
        if not unicodedata.combining(c):
            latin = c.isascii() or c in _LETTERS
        elif latin:
            continue
        yield c
