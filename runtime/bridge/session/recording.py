"""Recordings, whole or frame by frame; columns are float64, NaN stands for null."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.float64]
Origin: TypeAlias = Literal["can", "replay", "ingest"]

TIMESTAMP: Final = "timestamp"
LATEST: Final = 1e11
"""Unix seconds; a later session has no date."""
WIDE_SIGNALS: Final = (
    "distance_m",
    "speed_ms",
    "g_lat",
    "g_long",
    "combo_g",
    "brake_bar",
    "throttle_pct",
    "steering_deg",
    "rpm",
    "lat",
    "lon",
)
"""The nullable columns of a frame, in the order in which they are stored and exported.

Units: m, m/s, g (9.80665 m/s², lateral + to the right, longitudinal + accelerating), bar, %,
degrees (steering + to the right), 1/min, degrees WGS-84 (north and east positive).
"""
WIDE: Final = (TIMESTAMP, *WIDE_SIGNALS)
"""Every number of a frame; the timestamp, in seconds of the session's clock, is never null."""


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames in the order in which they were recorded."""

    columns: Mapping[str, Numbers]
    """One array for each name in `WIDE`, all of one length."""

    def __len__(self) -> int:
        return len(self.columns[TIMESTAMP])


class Samples(NamedTuple):
    """The values of one signal outside the frames, in any order of time."""

    t: Numbers
    """Seconds of the session's clock; finite."""
    value: Numbers
    """Finite."""


class VideoFrame(NamedTuple):
    """A moment of the session, and its place in a video file."""

    timestamp: float
    """Seconds of the session's clock."""
    avitime_ms: int | None
    file_path: str
    file_offset_s: float | None
    width: int | None = None
    height: int | None = None


class Gate(NamedTuple):
    """A line across the track: its middle, and the heading of travel through it."""

    lat: float
    lon: float
    heading: float
    """Degrees, 0 north, clockwise."""
    half_width_m: float = 25.0


class ReadWarning(NamedTuple):
    """Something odd in a file that does not prevent reading it."""

    code: str
    """snake_case."""
    detail: str
    times: int = 1
    """How often it occurred."""


class Mapped(NamedTuple):
    """The channel of a file that a signal was taken from."""

    channel: str | None
    """Its name in the file; absent if there is none."""
    unit: str
    """The unit it was read in; empty: that of the signal."""
    assumed: bool
    """The file states no unit."""
    why: str
    """name, purpose, given, kept or none."""
    others: tuple[str, ...] = ()
    """Other candidates, best first."""
    constant: tuple[str, ...] = ()
    """Candidates that never change."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A session as read from a file, ready to be stored."""

    frames: Frames
    signals: Mapping[str, Samples] = field(default_factory=dict)
    """Every further numeric channel by its name."""
    video: tuple[VideoFrame, ...] = ()
    created: float | None = None
    """When the file was created according to itself, in Unix seconds (UTC)."""
    start: Gate | None = None
    """The start/finish line of the file."""
    splits: tuple[Gate, ...] = ()
    doubts: tuple[ReadWarning, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """Decisions made while reading, such as ``coordinate_encoding`` and ``time_encoding``."""
    unmapped: tuple[str, ...] = ()
    """Columns kept under their own names only."""
    comments: tuple[str, ...] = ()
    """Comments of the file on logger and log rate."""
    mapping: Mapping[str, Mapped] = field(default_factory=dict)
    """The channel that each signal was taken from."""
    logger: str = ""
    """The same for files of one format with the same channels; empty: unknown."""

    @property
    def channels(self) -> list[str]:
        """The channels of the file, sorted."""
        taken = (mapped.channel for mapped in self.mapping.values() if mapped.channel)
        return sorted({*taken, *self.unmapped})

    def is_dated(self, t: float) -> bool:
        """Whether *t* of the recording's clock is Unix time."""
        return self.facts.get("time_base") == "utc" and 0.0 < t < LATEST


class LiveFrame(NamedTuple):
    """One moment of a drive, as streams and the coach see it."""

    session_id: str
    source: Origin
    wide: Mapping[str, float]
    """Every name of `WIDE`; NaN stands for null, never in the timestamp."""
    extras: Mapping[str, float] = {}
    """The latest value of every further signal by its name; finite."""
    frame_idx: int | None = None
    """Index in the session; None while it is unknown."""
    replay_id: str | None = None
    device_distance_m: float = math.nan
    """The distance that the car's device sent, not one computed from its speed."""

    @property
    def t(self) -> float:
        """Seconds of the session's clock."""
        return self.wide[TIMESTAMP]

    def number(self, name: str) -> float | None:
        """Return the value of a column or further signal; None if it is null or was never seen."""
        value = self.wide.get(name, self.extras.get(name, math.nan))
        return None if math.isnan(value) else value
