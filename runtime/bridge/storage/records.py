"""The store's records; times of day are Unix milliseconds.

Texts and numbers are stored in one canonical form, so that both back-ends keep the same bytes.

The fields of a class with a *table* are the columns of that table.
"""

import time
import unicodedata
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypedDict,
    TypeVar,
)

import numpy as np

from runtime.bridge.session.recording import Gate, Numbers, ReadWarning, Recording
from runtime.bridge.storage.errors import BadFrames

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")

Backend: TypeAlias = Literal["analytical", "lightweight"]
"""DuckDB and SQLite."""
Choice: TypeAlias = Literal["auto", Backend]
Json: TypeAlias = dict[str, object]

WIDE_TABLE: Final = "wide_table"
DISCOVERED: Final = "discovered"
SIMULATOR: Final = "simulator"
BUSES: Final = ("can", SIMULATOR)
"""The sources of sessions started or filled by a bus."""
EARLIEST_S: Final = 1e9
"""Times of a session's clock from this one on, of the year 2001, are times of day."""
AHEAD_S: Final = 86_400.0
"""How far a synthetic car may run ahead of the time of day."""


@dataclass(frozen=True, slots=True)
class SessionMeta:
    """Details of a session from a caller, which fill null fields and overwrite nothing.

    An empty text counts as null. *meta* is stored as JSON; existing keys stay.
    """

    driver: str | None = None
    driver_level: str | None = None
    track: str | None = None
    car: str | None = None
    note: str | None = None
    source: str | None = None
    meta: Json | None = None


NOTHING: Final = SessionMeta()


class SessionChange(TypedDict, total=False):
    """New details of a session; None clears a field."""

    driver: str | None
    car: str | None
    track: str | None
    note: str | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as of the last commit."""

    session_id: str
    driver: str | None = None
    driver_level: str | None = None
    track: str | None = None
    car: str | None = None
    note: str | None = None
    source: str | None = None
    meta: Json = field(default_factory=dict)
    started_at: int = 0
    ended_at: int | None = None
    n_frames: int = 0
    n_signals: int = 0
    """Signals with samples, wide columns included."""
    t_start: float | None = None
    """Seconds of the session's clock: the first plausible frame, else the first sample."""
    t_end: float | None = None
    distance_m: float | None = None
    """Of the last frame that has one."""
    version: int = 1
    """Grows with each write of telemetry and each change of track."""
    key: int = field(default=0, compare=False)
    """Key of its telemetry. An import gets a new one, which is then bound to the session; a
    recreated session has a new one too."""


@dataclass(frozen=True, slots=True)
class LapRow:
    """A reported lap; the store assigns the id."""

    table: ClassVar[str] = "laps"
    session_id: str
    lap_number: int
    lap_time_s: float
    recorded_at: int
    best_sector: float | None = None
    avg_speed_kmh: float | None = None
    max_combo_g: float | None = None
    coast_pct: float | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note of the coach; the store assigns the id."""

    table: ClassVar[str] = "coaching_notes"
    session_id: str
    text: str
    recorded_at: int
    burst_id: int | None = None
    distance_m: float | None = None
    source: str | None = None
    emotion: str | None = None
    concept: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class SignalRow:
    """An entry of the catalogue of signals; the store assigns the id."""

    table: ClassVar[str] = "signal_registry"
    name: str
    units: str | None = None
    semantics: str | None = None
    group: str | None = None
    expected_hz: float | None = None
    min_useful_hz: float | None = None
    discovery: str = DISCOVERED
    obd2_pid: str | None = None
    discovered_at: int | None = None
    signal_id: int = 0


class CapabilityRow(NamedTuple):
    """The extent of a signal in a session."""

    name: str
    n_samples: int
    mean_hz: float
    """0 for a single sample."""
    t_start: float
    t_end: float
    units: str | None
    group: str | None
    min_useful_hz: float | None
    useful: bool


@dataclass(eq=False, slots=True)
class Appended:
    """The place of appended frames."""

    first_idx: int
    last_idx: int
    distance_m: Numbers
    """The distances as stored: integrated where the frames had none."""
    newly_discovered: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    """Signals that did not fit into the catalogue."""


class SignalsAppended(NamedTuple):
    """The result of appending samples."""

    n_appended: int
    newly_discovered: tuple[str, ...]
    capabilities_count: int
    n_rejected: int
    """Samples of wide columns without an empty cell nearby."""
    placed: Mapping[str, tuple[float, ...]] = MappingProxyType({})
    """Times of the samples that filled a cell, by name."""


_NAMED: Final = 8


class Imported(NamedTuple):
    """The result of an import."""

    n_frames: int
    n_signals: int
    """Signals besides the wide columns."""
    capabilities_count: int
    left_out: tuple[str, ...] = ()
    """Signals that did not fit into the catalogue."""

    @property
    def doubts(self) -> tuple[ReadWarning, ...]:
        """Warnings about parts of the recording that were not stored."""
        if not self.left_out:
            return ()
        names = ", ".join(self.left_out[:_NAMED]) + (", …" if len(self.left_out) > _NAMED else "")
        detail = f"the catalogue of signals is full; not stored: {names}"
        return (ReadWarning("registry_full", detail, len(self.left_out)),)


@dataclass(frozen=True, slots=True)
class Export:
    """A parquet file being exported; close *batches* (``aclose``) if not read to the end."""

    rows: int
    batches: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of the writer; reading them touches neither disk nor lock."""

    commits: int
    failed: int
    refused: int
    """Writes refused because too many were waiting."""
    group_mean: float
    """Writes per commit, over the last 512."""
    commit_p50_ms: float
    commit_p99_ms: float
    queued: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """Gates and facts of an imported file, as stored in a session's *meta*."""

    start: Gate | None = None
    splits: tuple[Gate, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


_RECORDING: Final = "recording"


def recording_to_meta(recording: Recording) -> Json:
    """Convert the gates and facts of *recording* to a session's *meta*."""
    return {
        _RECORDING: {
            "start": None if recording.start is None else list(recording.start),
            "splits": [list(gate) for gate in recording.splits],
            "facts": dict(recording.facts),
            "created": recording.created,
            "unmapped": list(recording.unmapped),
            "comments": list(recording.comments),
        }
    }


def recording_from_meta(meta: Json) -> Recorded:
    """Read the gates and facts of an import from a session's *meta*."""
    stored = meta.get(_RECORDING)
    if not isinstance(stored, dict):
        return Recorded()
    start, splits, facts = (stored.get(name) for name in ("start", "splits", "facts"))
    return Recorded(
        Gate(*start) if isinstance(start, list) else None,
        tuple(Gate(*gate) for gate in splits) if isinstance(splits, list) else (),
        facts if isinstance(facts, dict) else {},
    )


def unix_ms() -> int:
    """Return the time of day in Unix milliseconds."""
    return int(time.time() * 1000)


def is_time_of_day(t: float, now_s: float) -> bool:
    """Whether *t* of a session's clock is a time of day in Unix seconds."""
    return EARLIEST_S <= t <= now_s + AHEAD_S


def unix_s(row: SessionRow | None, t: float, now_s: float) -> float:
    """Convert a moment of a session's clock to Unix seconds; *now_s* if the session is unknown.

    That clock shows the time of day, or counts from the start of the session.
    """
    if is_time_of_day(t, now_s):
        return t
    return now_s if row is None else row.started_at / 1000 + t - (row.t_start or 0.0)


def clean_text(value: str) -> str:
    """Normalise a text to NFC, without NUL and lone surrogates."""
    whole = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    return unicodedata.normalize("NFC", whole)


def driver_key(driver_id: str) -> str:
    """Normalise a driver's name for events: case and outer spaces make no difference."""
    return clean_text(driver_id.strip().casefold())


def clean_number(name: str, value: float) -> float | None:
    """Convert NaN to None and -0.0 to 0.0. Raises `BadFrames` for infinities."""
    if value != value:
        return None
    if value in (np.inf, -np.inf):
        raise BadFrames(f"{name} is infinite")
    return value + 0.0


def clean_row(record: R) -> R:
    """Bring the texts and numbers of a record into canonical form.

    Optional texts are stripped; an empty one becomes null.
    """
    changed: dict[str, object] = {}
    for part in fields(record):
        value = getattr(record, part.name)
        if isinstance(value, str):
            plain = clean_text(value)
            changed[part.name] = plain.strip() or None if part.default is None else plain
        elif isinstance(value, float):
            changed[part.name] = clean_number(part.name, value)
        elif isinstance(value, tuple):
            changed[part.name] = tuple(clean_text(item) for item in value)
    return replace(record, **changed)
