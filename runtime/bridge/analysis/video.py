"""Matches telemetry with the session's video: frame by frame, and as clips."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.highlights import Highlight
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import TIMESTAMP, Numbers, VideoFrame
from runtime.bridge.session.series import DAY_S
from runtime.bridge.session.units import Seconds

WINDOW_S: Final = 0.05
ROUNDING_S: Final = 1e-9
"""Times of day have this much error as floating-point numbers: 0.05 s apart is within 0.05 s."""


@dataclass(frozen=True, eq=False)
class Footage:
    """The video of a session, frame by frame in time order, then by file."""

    t: Numbers
    """Seconds on the clock of the session's series, which runs on after midnight."""
    files: tuple[str, ...]
    """All files, by name."""
    file: Indices
    """The index of the file of each frame."""
    offset: Numbers
    """Seconds into the file according to the session; NaN if unknown."""
    avitime_ms: Numbers
    """The logger's video time; NaN without one."""

    @cached_property
    def place(self) -> Numbers:
        """Seconds into the file: the offset, else the logger's video time; NaN without either."""
        return np.where(np.isnan(self.offset), self.avitime_ms / 1000.0, self.offset)


def sort_footage(drive: Drive, video: Sequence[VideoFrame]) -> Footage:
    """Sort the video frames of a drive, which come in any order."""
    files = tuple(sorted({frame.file_path for frame in video}))
    number = {name: at for at, name in enumerate(files)}
    t = _on_clock(drive, np.array([frame.timestamp for frame in video], dtype=np.float64))
    file = np.array([number[frame.file_path] for frame in video], dtype=np.intp)
    order = np.lexsort((file, t))
    return Footage(
        t[order],
        files,
        file[order],
        _column([frame.file_offset_s for frame in video])[order],
        _column([frame.avitime_ms for frame in video])[order],
    )


def _column(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def _on_clock(drive: Drive, t: Numbers) -> Numbers:
    """Convert moments to the clock of the series, which adds a day after midnight."""
    series = drive.series
    if not len(t) or series.t[-1] == series.frames.columns[TIMESTAMP][series.index[-1]]:
        return t
    return np.where(t < series.t[0] - DAY_S / 2, t + DAY_S, t)


class Matched(NamedTuple):
    """Frames of telemetry in time order, each once, and the video frame nearest to each."""

    frames: Indices
    """Frames of the series."""
    video: Indices
    """The video frame of each; -1: none within the window."""
    dt_s: Numbers
    """From the telemetry frame to its video frame; NaN without one."""
    more: bool
    """Whether frames at the end were left out because there were too many."""


class Ask(NamedTuple):
    """The frames to match, and how closely."""

    begin: float | None = None
    """Seconds of the session's clock, like *end*; both are included."""
    end: float | None = None
    window_s: float = WINDOW_S
    most: int = 5000
    matched_only: bool = False


ALL: Final = Ask()


def match_frames(drive: Drive, video: Footage, ask: Ask = ALL) -> Matched:
    """Match each frame with the video frame nearest in time, at most the window away.

    Of two equally near frames the earlier is taken, and of two files with the same moment the
    first by name.
    """
    t = drive.series.t
    low = 0 if ask.begin is None else int(np.searchsorted(t, ask.begin))
    high = len(t) if ask.end is None else int(np.searchsorted(t, ask.end, side="right"))
    if not ask.matched_only:
        high = min(high, low + ask.most + 1)
    frames = np.arange(low, max(low, high))
    nearest, apart = _nearest(t[frames], video.t)
    near = np.abs(apart) <= ask.window_s + ROUNDING_S
    if ask.matched_only:
        frames, nearest, apart, near = frames[near], nearest[near], apart[near], near[near]
    return Matched(
        frames[: ask.most],
        np.where(near, nearest, -1)[: ask.most],
        np.where(near, apart, np.nan)[: ask.most],
        len(frames) > ask.most,
    )


def _nearest(t: Numbers, video: Numbers) -> tuple[Indices, Numbers]:
    """Return the nearest video frame to each moment and the time to it; NaN without video."""
    if not len(video):
        return np.full(len(t), -1), np.full(len(t), np.nan)
    after = np.minimum(np.searchsorted(video, t), len(video) - 1)
    before = np.maximum(after - 1, 0)
    earlier = t - video[before] <= video[after] - t + ROUNDING_S
    best = np.where(earlier, before, after)
    best = np.searchsorted(video, video[best])  # the first of those at one moment
    return best, video[best] - t


@dataclass(frozen=True, slots=True)
class ClipSource:
    """The part of a video file that shows the clip."""

    file_path: str
    in_offset_s: Seconds
    """s into the file"""
    out_offset_s: Seconds
    """s into the file"""


@dataclass(frozen=True, slots=True)
class Clip:
    """A highlight to cut out of the video."""

    id: str
    """of the highlight"""
    title: str
    in_s: Seconds
    """s since the first frame of the session"""
    out_s: Seconds
    """s since the first frame"""
    category: str
    severity: str
    """high, medium, positive or engineering"""
    lap: int
    """complete lap; 0 outside"""
    sources: tuple[ClipSource, ...]
    """by file name; empty without video"""
    available: bool
    """whether any video shows it"""


def make_clips(drive: Drive, video: Footage, moments: Sequence[Highlight]) -> tuple[Clip, ...]:
    """Make the clip of each highlight."""
    first = float(drive.series.t[0])
    clips = []
    for moment in moments:
        sources = find_sources(video, first + moment.video_in_s, first + moment.video_out_s)
        clips.append(
            Clip(
                id=moment.id,
                title=moment.title,
                in_s=moment.video_in_s,
                out_s=moment.video_out_s,
                category=moment.category,
                severity=moment.severity,
                lap=moment.lap,
                sources=sources,
                available=bool(sources),
            )
        )
    return tuple(clips)


def find_sources(video: Footage, begin: float, end: float) -> tuple[ClipSource, ...]:
    """Find the part of each file between two moments of the session's clock, by file name.

    Offsets are interpolated between frames; a file with fewer than two known offsets has no part.
    """
    has_place = ~np.isnan(video.place)
    sources = []
    for number, name in enumerate(video.files):
        own = has_place & (video.file == number)
        t, place = video.t[own], video.place[own]
        if not len(t):
            continue
        low, high = max(begin, float(t[0])), min(end, float(t[-1]))
        if low < high:
            offsets = np.interp([low, high], t, place).tolist()
            sources.append(ClipSource(name, *offsets))
    return tuple(sources)
