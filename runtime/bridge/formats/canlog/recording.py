"""Makes a recording of a CAN log: frames at even times, every further signal as samples."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from cantools.database.can import Message

from runtime.bridge.can.pipeline import Plan
from runtime.bridge.formats.canlog.decoder import LogDecoder
from runtime.bridge.formats.canlog.mending import mended
from runtime.bridge.formats.canlog.names import Told, applied, guess, told
from runtime.bridge.formats.canlog.pipeline import NOTHING, ColumnPipeline
from runtime.bridge.formats.canlog.readers.lines import UNIX
from runtime.bridge.formats.canlog.rows import even_times, frames_at
from runtime.bridge.formats.canlog.values import Batch, LogReader, Tally
from runtime.bridge.formats.errors import UnreadableRecording
from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Doubt, Numbers, Recording, Samples

MOST_SAMPLES: Final = 100_000_000
"""Further ones do not fit the memory of the machines that the bridge is made for."""
REWIND_S: Final = 1.0
"""A clock that goes back by more was set: time goes on from where it was."""
NUDGE_S: Final = 2e-6
"""Between two values of one signal that came with the same stamp."""
GPS_DISTANCE: Final = "gps_distance_m"
"""Under this name a distance that the bus tells is kept; the column is our own."""
_SHOWN: Final = 12


@dataclass(frozen=True, eq=False)
class Bus:
    """What the frames of a log mean."""

    messages: Mapping[int, Message]
    plan: Plan | None = None
    """The car's rules; None: no car file is used."""
    dbc: tuple[str, ...] = ()
    """Names of the databases."""
    car: str = ""


class _Piece(NamedTuple):
    t: Numbers
    value: Numbers


@dataclass
class _Clock:
    """Stamps that never go back."""

    now: float = -np.inf
    shift: float = 0.0
    rewinds: int = 0
    late: int = 0

    def continued(self, t: Numbers) -> Numbers:
        """The times of a batch: small steps back stand still, large ones are taken out."""
        t = t + self.shift
        steps = np.diff(t, prepend=t[0] if self.now == -np.inf else self.now)
        if not (steps < 0).any():
            self.now = float(t[-1])
            return t
        for at in np.flatnonzero(steps < -REWIND_S).tolist():
            before = max(self.now, float(t[:at].max(initial=-np.inf)))
            if before - t[at] > REWIND_S:
                self.shift += before - t[at]
                t[at:] += before - t[at]
                self.rewinds += 1
        running = np.maximum.accumulate(np.maximum(t, self.now))
        self.late += int(np.count_nonzero(running != t))
        self.now = float(running[-1])
        return running


@dataclass
class LogRecorder:
    """Takes the batches of a log in and gives the recording at its end."""

    bus: Bus
    frames: int = 0
    _pieces: dict[str, list[_Piece]] = field(default_factory=dict)
    _heard: list[Numbers] = field(default_factory=list)
    _samples: int = 0
    _clock: _Clock = field(default_factory=_Clock)
    _first: float | None = None

    def __post_init__(self) -> None:
        self._decoder = LogDecoder(self.bus.messages)
        self._units = {
            signal.name: signal.unit or ""
            for message in self.bus.messages.values()
            for signal in message.signals
        }
        self._pipeline = ColumnPipeline(self.bus.plan or NOTHING, self._units)

    def feed(self, batch: Batch) -> None:
        """Take frames in the order of the log; raises `UnreadableRecording` for too many."""
        if not len(batch):
            return
        if self._first is None:
            self._first = float(batch.t[0])
        self.frames += len(batch)
        t = self._clock.continued(batch.t)
        emitted = self._pipeline.feed(self._decoder.decode(batch))
        times: dict[int, Numbers] = {}
        heard = np.zeros(len(batch), np.bool_)
        for name, (rows, values) in emitted.items():
            if not len(rows):
                continue
            if id(rows) not in times:
                times[id(rows)] = t[rows]
                heard[rows] = True
            self._samples += len(rows)
            self._pieces.setdefault(name, []).append(_Piece(times[id(rows)], values))
        if self._samples > MOST_SAMPLES:
            raise UnreadableRecording(
                f"the log holds more than {MOST_SAMPLES} values; cut it into parts"
            )
        if heard.any():
            self._heard.append(_coarse(t[heard]))

    def finish(self, tally: Tally, form: str) -> Recording:
        """The recording; raises `UnreadableRecording` where nothing could be decoded."""
        if not self.frames:
            raise UnreadableRecording(_nothing(tally))
        if not self._heard:
            raise UnreadableRecording(
                f"none of the {len(self._decoder.unknown)} ids of the log is known to "
                f"{', '.join(self.bus.dbc) or 'the database'}; choose another DBC file"
            )
        joined = self._joined()
        unmatched = self.bus.plan is not None and not self._pipeline.matched
        helpers = dict(joined)
        facts = self._facts(tally, form)
        doubts = self._doubts(tally, unmatched=unmatched)
        guessing = self.bus.plan is None or unmatched
        if guessing:
            found = guess(self._told(joined)).without(WIDE_SIGNALS, joined)
            for one in (*found.columns, *found.signals):
                helpers[one.column] = applied(one, joined[one.channel])
            joined |= {one.column: helpers[one.column] for one in found.signals}
            facts |= found.facts()
        helpers.pop("distance_m", None)
        frames = frames_at(even_times(np.unique(np.concatenate(self._heard))), helpers)
        if guessing:
            mending = mended(frames)
            frames = mending.frames
            facts |= mending.facts
            doubts += mending.doubts
        signals = {
            GPS_DISTANCE if name == "distance_m" else name: samples
            for name, samples in joined.items()
            if name not in WIDE or name == "distance_m"
        }
        signals.pop("timestamp", None)
        absolute = self._first is not None and self._first > UNIX
        created = tally.created if tally.created is not None else self._first
        return Recording(
            frames=frames,
            signals=signals,
            created=created if tally.created is not None or absolute else None,
            doubts=tuple(doubts),
            facts=facts,
            unmapped=tuple(sorted(name for name in signals if name in self._units)),
        )

    def _told(self, joined: Mapping[str, Samples]) -> dict[str, Told]:
        return {name: told(one, self._units.get(name, "")) for name, one in joined.items()}

    def _joined(self) -> dict[str, Samples]:
        """All samples by name; signals of the same frames share their times."""
        times: dict[tuple[int, ...], Numbers] = {}
        joined = {}
        for name, pieces in self._pieces.items():
            known = tuple(id(piece.t) for piece in pieces)
            if known not in times:
                times[known] = _apart(np.concatenate([piece.t for piece in pieces]))
            value = np.concatenate([piece.value for piece in pieces])
            joined[name] = Samples(times[known], value)
            pieces.clear()
        self._pieces.clear()
        return joined

    def _facts(self, tally: Tally, form: str) -> dict[str, str]:
        absolute = self._first is not None and self._first > UNIX
        facts = {
            "format": form,
            "time_base": "utc" if absolute else "zero",
            "frames": str(self.frames),
            "decoded": str(self._decoder.decoded),
            "unknown_ids": str(len(self._decoder.unknown)),
            "dbc": ", ".join(self.bus.dbc),
            "car": self.bus.car or "none",
            "channels": ", ".join(f"{name}: {n}" for name, n in sorted(tally.channels.items())),
        }
        return facts | tally.notes

    def _doubts(self, tally: Tally, *, unmatched: bool) -> list[Doubt]:
        decoder = self._decoder
        worst = [f"0x{key & 0x1FFF_FFFF:x}" for key, _ in decoder.unknown.most_common(_SHOWN)]
        unknown = f"frames of ids that the DBC does not know, most of them {', '.join(worst)}"
        taken = [name for name in tally.channels if tally.channels[name]]
        several = not tally.others and len(taken) > 1
        told = [
            ("malformed", "lines or objects that are no frame are left out", tally.malformed),
            ("error_frames", "error frames of the bus", tally.errors),
            ("remote_frames", "remote frames carry no data", tally.remote),
            ("unknown_ids", unknown, decoder.unknown.total()),
            ("frames_truncated", "frames shorter than their message", decoder.truncated),
            (
                "unknown_multiplexer",
                "frames with a multiplexer that the DBC does not know",
                decoder.unknown_multiplexer,
            ),
            (
                "undefined_values",
                "values that are no finite number are left out",
                self._pipeline.undefined.total(),
            ),
            ("clock_set_back", "the clock went back; time goes on from there", self._clock.rewinds),
            ("time_not_increasing", "stamps before an earlier one", self._clock.late),
            ("other_channels", "frames of channels not asked for", tally.others),
            ("channels_mixed", "several channels are taken as one bus", int(several)),
            ("car_unused", "no signal of the log has a rule in the car file", int(unmatched)),
        ]
        doubts = [Doubt(code, detail, times) for code, detail, times in told if times]
        return [*doubts, *(Doubt(code, detail) for code, detail in tally.doubts)]


def record_log(reader: LogReader, bus: Bus, form: str) -> Recording:
    """Read a whole log. Raises `UnreadableRecording`."""
    recorder = LogRecorder(bus)
    for batch in reader:
        recorder.feed(batch)
    return recorder.finish(reader.tally, form)


def _nothing(tally: Tally) -> str:
    if tally.others:
        names = ", ".join(sorted(tally.channels)[:_SHOWN])
        return f"the log has no frame of that channel; it has {names}"
    return f"the log has no frame of a bus; what else it has: {tally.malformed} that are none"


def _coarse(t: Numbers) -> Numbers:
    """Of times (rising) the first and last in each few milliseconds: what even times need."""
    slot = np.floor(t * 200.0)
    change = np.diff(slot) != 0
    return t[np.concatenate(([True], change)) | np.concatenate((change, [True]))]


def _apart(t: Numbers) -> Numbers:
    """The same times (rising), equal ones a hair apart: no value of a signal is lost."""
    same = np.diff(t) <= 0
    if not same.any():
        return t
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    run = np.arange(len(t)) - np.repeat(starts, np.diff(np.append(starts, len(t))))
    return np.maximum.accumulate(t + run * NUDGE_S)
