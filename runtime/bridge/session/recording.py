"""What a recording is, whole or frame by frame; columns are float64, NaN stands for null."""

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
"""Unix seconds; a session that is later has no date."""
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
    """Where a moment of the session lies in a video file."""

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
    """Something odd in a file that does not keep it from being read."""

    code: str
    """snake_case."""
    detail: str
    times: int = 1
    """How often it was met."""


class Mapped(NamedTuple):
    """The channel of a file that a signal was taken from."""

    channel: str | None
    """As the file names it; absent where there is none."""
    unit: str
    """In which it was read; empty: in that of the signal."""
    assumed: bool
    """The file states no unit."""
    why: str
    """name, purpose, given, kept or none."""
    others: tuple[str, ...] = ()
    """Channels that might have been it too, best first."""
    constant: tuple[str, ...] = ()
    """Such channels that never change."""


@dataclass(frozen=True, eq=False)
class Recording:
    """A session as read from a file, ready to be stored."""

    frames: Frames
    signals: Mapping[str, Samples] = field(default_factory=dict)
    """Every further numeric channel by its name."""
    video: tuple[VideoFrame, ...] = ()
    created: float | None = None
    """Unix seconds (UTC) at which the file says it was created."""
    start: Gate | None = None
    """Start/finish line as the file gives it."""
    splits: tuple[Gate, ...] = ()
    doubts: tuple[ReadWarning, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """What was decided while reading, such as ``coordinate_encoding`` and ``time_encoding``."""
    unmapped: tuple[str, ...] = ()
    """Columns that are kept under their own names only."""
    comments: tuple[str, ...] = ()
    """What the file says about logger and log rate."""
    mapping: Mapping[str, Mapped] = field(default_factory=dict)
    """The signals that were looked for, with the channels that they were taken from."""
    logger: str = ""
    """Files of the same format with the same channels have the same; empty: not told apart."""

    @property
    def channels(self) -> list[str]:
        """The channels of the file, sorted."""
        taken = (mapped.channel for mapped in self.mapping.values() if mapped.channel)
        return sorted({*taken, *self.unmapped})

    def is_dated(self, t: float) -> bool:
        """Whether *t* of the recording's clock is a moment, in Unix seconds."""
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
    """Index in the session; None while it is not known yet."""
    replay_id: str | None = None
    device_distance_m: float = math.nan
    """The distance that the car's own device told, not one that was reckoned from its speed."""

    @property
    def t(self) -> float:
        """Seconds of the session's clock."""
        return self.wide[TIMESTAMP]

    def number(self, name: str) -> float | None:
        """A column or further signal; None where it is null or was never seen."""
        value = self.wide.get(name, self.extras.get(name, math.nan))
        return None if math.isnan(value) else value
