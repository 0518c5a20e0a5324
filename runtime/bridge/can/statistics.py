"""Statistics of a bus: rates, load, unknown ids."""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from cantools.database.can import Message

from runtime.bridge.can.frames import EXTENDED, CanFrame, Received

SPAN_S: Final = 5.0
"""Rates cover this many seconds."""
SLICE_S: Final = 0.5
MOST_UNKNOWN: Final = 1024
"""Unknown ids that are counted; beyond this the rarest are forgotten."""
SHOWN_UNKNOWN: Final = 50
STUFFING: Final = 1.1
"""Approximate bits on the wire per bit of a frame."""


class KnownMessage(NamedTuple):
    """A message that can be decoded."""

    message: str
    expected_hz: float | None = None


def describe_messages(
    messages: Mapping[int, Message], rates: Mapping[int, float | None]
) -> dict[int, KnownMessage]:
    """Describe the messages that can be decoded, by id.

    *rates* (Hz) come from the car file; the default is the cycle time of the DBC file.
    """
    return {
        key: KnownMessage(
            message.name,
            rates.get(key) or (1000.0 / message.cycle_time if message.cycle_time else None),
        )
        for key, message in messages.items()
    }


class IdCount(NamedTuple):
    """The frames of one id."""

    key: int
    message: str | None
    """None for an unknown id."""
    frames: int
    hz: float
    expected_hz: float | None
    age_s: float
    """Since its last frame."""

    @property
    def can_id(self) -> str:
        """Hexadecimal with prefix: three digits, eight for 29 bits."""
        return format_id(self.key)


class BusCounts(NamedTuple):
    """A snapshot of the counters."""

    frames_total: int
    frames_unknown: int
    errors: int
    malformed: int
    frames_per_second: float
    bus_load_pct: float | None
    last_frame_age_s: float | None
    ids: tuple[IdCount, ...]
    """Decoded ids, sorted."""
    unknown_ids: tuple[IdCount, ...]
    """The fifty most frequent unknown ids."""


NO_COUNTS: Final = BusCounts(0, 0, 0, 0, 0.0, None, None, (), ())


class _Slice(NamedTuple):
    """Totals at one time."""

    at: float
    frames: int
    bits: int
    ids: Mapping[int, int]


class BusStatistics:
    """Counts frames in one thread; any thread may read."""

    def __init__(
        self,
        messages: Mapping[int, KnownMessage],
        bitrate: int,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._messages = messages
        self._bitrate = bitrate
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._counts: Counter[int] = Counter()
        self._seen: dict[int, float] = {}
        self._total = self._unknown = self._bits = self._errors = self._malformed = 0
        self._unknown_ids = 0
        self._last: float | None = None
        self._changed = monotonic()
        self._slices = deque([_Slice(self._changed, 0, 0, {})])

    def add(self, received: Received) -> None:
        """Count the result of one read."""
        with self._lock:
            now = self._monotonic()
            self._update_slices(now)
            self._errors += received.errors
            self._malformed += received.malformed
            if received.frames:
                self._last = self._changed = now
                self._add(received.frames, now)

    @property
    def last_frame_age_s(self) -> float | None:
        """Seconds since the last frame; None before the first."""
        last = self._last
        return None if last is None else max(self._monotonic() - last, 0.0)

    def snapshot(self) -> BusCounts:
        """Return the counts until now."""
        with self._lock:
            now = self._monotonic()
            self._update_slices(now)
            before = self._slices[0]
            rows = [self._count_id(key, before, now) for key in self._counts]
            unknown = [row for row in rows if row.message is None]
            unknown.sort(key=lambda row: (-row.frames, row.key))
            return BusCounts(
                self._total,
                self._unknown,
                self._errors,
                self._malformed,
                frames_per_second=(self._total - before.frames) / SPAN_S,
                bus_load_pct=(self._bits - before.bits) * STUFFING / (SPAN_S * self._bitrate) * 100,
                last_frame_age_s=self.last_frame_age_s,
                ids=tuple(sorted(row for row in rows if row.message is not None)),
                unknown_ids=tuple(unknown[:SHOWN_UNKNOWN]),
            )

    def _count_id(self, key: int, before: _Slice, now: float) -> IdCount:
        message, expected = self._messages.get(key) or (None, None)
        frames = self._counts[key]
        # A forgotten id that returns counts less than before.
        new = max(frames - before.ids.get(key, 0), 0)
        age = max(now - self._seen[key], 0.0)
        return IdCount(key, message, frames, new / SPAN_S, expected, age)

    def _add(self, frames: Iterable[CanFrame], now: float) -> None:
        messages, counts, seen = self._messages, self._counts, self._seen
        total = bits = unknown = 0
        for _, key, data in frames:
            total += 1
            bits += (67 if key & EXTENDED else 47) + 8 * len(data)
            if key not in messages:
                unknown += 1
                self._unknown_ids += key not in counts
            counts[key] += 1
            seen[key] = now
        self._total += total
        self._bits += bits
        self._unknown += unknown
        if self._unknown_ids > MOST_UNKNOWN:
            self._forget()

    def _forget(self) -> None:
        """Forget the rarer half of the unknown ids."""
        unknown = sorted(
            (key for key in self._counts if key not in self._messages),
            key=lambda key: (self._counts[key], self._seen[key]),
        )
        for key in unknown[: len(unknown) - MOST_UNKNOWN // 2]:
            del self._counts[key], self._seen[key]
        self._unknown_ids = min(len(unknown), MOST_UNKNOWN // 2)

    def _update_slices(self, now: float) -> None:
        """Keep the totals of every half second in the span."""
        slices = self._slices
        if self._changed > slices[-1].at and now - slices[-1].at >= SLICE_S:
            totals = self._total, self._bits, dict(self._counts)
            slices.append(_Slice(self._changed, *totals))
        while len(slices) > 1 and now - slices[1].at >= SPAN_S:
            slices.popleft()


def format_id(key: int) -> str:
    """Format an id as users know it."""
    return f"0x{key & ~EXTENDED:0{8 if key & EXTENDED else 3}x}"
