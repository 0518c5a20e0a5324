"""Builds recordings from CAN logs: frames at even times, all other signals as samples."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

import numpy as np

from runtime.bridge.can.carfile import CarError
from runtime.bridge.can.cars import SUFFIXES, Wiring, find_car, load_car
from runtime.bridge.can.dbc import DbcError, load_dbc, merge_messages, parse_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frame_columns import GPS_DISTANCE, StampClock, list_even_times, spread_equal
from runtime.bridge.can.frames import Batch
from runtime.bridge.can.rules import NO_RULES, Rules
from runtime.bridge.formats.column_mapping import (
    describe_matches,
    find_channels,
    identify_logger,
    warn_of_matches,
)
from runtime.bridge.formats.corrections import correct_frames
from runtime.bridge.formats.options import BusChoice, BusNotFound, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_frames
from runtime.bridge.session.channels import (
    BUS_STATED,
    SIGNALS,
    TALL_TABLE,
    Channel,
    Match,
    choose_own_names,
    describe,
)
from runtime.bridge.session.recording import WIDE, Numbers, ReadWarning, Recording, Samples

CHUNK: Final = 65_536
"""Frames decoded at once: fewer cost more each, more do not fit the processor's cache."""
BLOCK: Final = 2_097_152
LONGEST_LINE: Final = 4096
STEP_S: Final = 0.1
MOST_CHANNELS: Final = 64
MOST_SAMPLES: Final = 100_000_000
"""More would not fit the memory of the machines that the bridge is made for."""
UNIX: Final = 1e8
"""Seconds; a log that begins before this does not count from 1970."""
OTHER: Final = "other"
_SHOWN: Final = 12


@dataclass
class Tally:
    """Counts and facts that a reader collects."""

    channel: str | None = None
    """The channel to read, as the log names it; None: all."""
    malformed: int = 0
    """Lines or objects that are not frames."""
    errors: int = 0
    """Error frames of the bus."""
    remote: int = 0
    """Remote frames, which carry no data."""
    others: int = 0
    """Frames of channels that were not selected."""
    channels: Counter[str] = field(default_factory=Counter)
    """Data frames by the channel's name in the log."""
    created: float | None = None
    """Unix seconds of the start, if the log states it."""
    notes: dict[str, str] = field(default_factory=dict)
    """Decisions made while reading."""
    doubts: list[tuple[str, str]] = field(default_factory=list)
    """Code and sentence of each further warning."""

    def count_and_select(self, name: str, frames: int) -> bool:
        """Count frames of a channel and return whether the channel is selected."""
        is_counted = name in self.channels or len(self.channels) < MOST_CHANNELS
        self.channels[name if is_counted else OTHER] += frames
        if self.channel in (None, name):
            return True
        self.others += frames
        return False


ReadFrames: TypeAlias = Callable[[BinaryIO, Tally], Iterator[Batch]]
"""Yields the frames of a log in blocks; raises `UnreadableRecording` for other files."""


def read_can_log(
    stream: BinaryIO, options: Options, *, form: str, read_frames: ReadFrames
) -> Recording:
    """Read a log of the format *form*. Raises `UnreadableRecording`, `BusNotFound`."""
    if options.bus is None:
        raise BusNotFound("a CAN log needs a DBC file to be read with", "dbc")
    tally = Tally(options.bus.channel)
    log = _LogCollector(load_bus(options.bus), options)
    for batch in read_frames(stream, tally):
        log.feed(batch)
    return log.build_recording(tally, form)


def read_line_blocks(stream: BinaryIO, tally: Tally) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines; lines that are too long are malformed."""
    while block := stream.read(BLOCK):
        if not block.endswith(b"\n"):
            rest = stream.readline(LONGEST_LINE)
            block += rest
            if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                tally.malformed += 1
                block = block[: block.rfind(b"\n") + 1]
                while rest and not rest.endswith(b"\n"):
                    rest = stream.readline(LONGEST_LINE)
        if block:
            yield block


class _LogCollector:
    """Collects the batches of a log and builds the recording at its end."""

    def __init__(self, bus: Wiring, options: Options) -> None:
        self._bus = bus
        self._options = options
        self._frames = 0
        self._pieces: dict[str, list[Samples]] = {}
        self._heard: list[Numbers] = []
        self._samples = 0
        self._clock = StampClock()
        self._first = 0.0
        self._decoder = Decoder(bus.messages)
        self._rules = Rules(bus.car.plan if bus.car else NO_RULES)

    def feed(self, batch: Batch) -> None:
        """Take frames in the order of the log; raises `UnreadableRecording` for too many."""
        if not self._frames:
            self._first = float(batch.t[0])
        self._frames += len(batch)
        t = self._clock.advance(batch.t)
        times: dict[int, Numbers] = {}
        heard = np.zeros(len(batch), np.bool_)
        for name, (rows, values) in self._rules.feed(self._decoder.decode(batch)).items():
            if not len(rows):
                continue
            if id(rows) not in times:
                times[id(rows)] = t[rows]
                heard[rows] = True
            self._samples += len(rows)
            self._pieces.setdefault(name, []).append(Samples(times[id(rows)], values))
        if self._samples > MOST_SAMPLES:
            text = f"the log holds more than {MOST_SAMPLES} values; cut it into parts"
            raise UnreadableRecording(text)
        if heard.any():
            self._heard.append(_thin_out(t[heard]))

    def build_recording(self, tally: Tally, form: str) -> Recording:
        """Build the recording; raises `UnreadableRecording` without frames, `BusNotFound` if none
        could be decoded."""
        if not self._frames:
            raise UnreadableRecording(_explain_no_frames(tally))
        if not self._heard:
            raise BusNotFound(
                f"none of the {len(self._decoder.unknown)} ids of the log is known to "
                f"{', '.join(self._bus.dbc_files)}; give the DBC file of its bus with the log",
                "dbc",
            )
        joined = self._join_pieces()
        unmatched = self._bus.car is not None and not self._rules.matched
        absolute = self._first > UNIX  # else the log does not count from 1970
        helpers = dict(joined)
        facts = self._collect_facts(tally, form) | {"time_base": "utc" if absolute else "zero"}
        doubts = self._collect_doubts(tally, unmatched=unmatched)
        matches = self._match_channels(joined)
        for signal, match in matches.items():
            if match.channel:
                helpers[signal] = match.convert(joined[match.channel])
            else:
                helpers.pop(signal, None)
        joined |= {
            name: helpers[name] for name in TALL_TABLE if name in matches and name in helpers
        }
        doubts += warn_of_matches(matches)
        helpers.pop("distance_m", None)
        heard = np.unique(np.concatenate(self._heard))
        frames = build_frames(list_even_times(heard, STEP_S), helpers)
        if self._bus.car is None or unmatched:
            correction = correct_frames(frames)
            frames = correction.frames
            facts |= correction.facts
            doubts += correction.doubts
        signals = {
            GPS_DISTANCE if name == "distance_m" else name: samples
            for name, samples in joined.items()
            if name not in WIDE or name == "distance_m"
        }
        return Recording(
            frames=frames,
            signals=signals,
            created=self._first if tally.created is None and absolute else tally.created,
            doubts=tuple(doubts),
            facts=facts,
            unmapped=tuple(sorted(name for name in signals if name in self._decoder.units)),
            mapping=describe_matches(matches),
            logger=self._logger,
        )

    @property
    def _logger(self) -> str:
        return identify_logger("can", self._decoder.units)

    def _match_channels(self, joined: Mapping[str, Samples]) -> dict[str, Match]:
        """Match channels to signals; rules that emit the name of a signal fill that signal."""
        made = self._bus.car.plan.names if self._bus.car else frozenset()
        ends = [t for samples in joined.values() for t in (samples.t[0], samples.t[-1])]
        whole = max(ends) - min(ends)
        channels = []
        for name, samples in joined.items():
            if name in SIGNALS or name not in made:
                share = float(samples.t[-1] - samples.t[0]) / whole if whole > 0.0 else 1.0
                unit = "" if name in made else self._decoder.units.get(name, "")
                channels.append(Channel(name, unit, profile=describe(samples, share)))
        return find_channels(
            channels,
            self._logger,
            self._options,
            stated=BUS_STATED,
            own=choose_own_names(joined, made),
        )

    def _join_pieces(self) -> dict[str, Samples]:
        """Join the samples of each signal; signals of the same frames share their times."""
        times: dict[tuple[int, ...], Numbers] = {}
        joined = {}
        for name, pieces in self._pieces.items():
            key = tuple(id(piece.t) for piece in pieces)
            if key not in times:
                times[key] = spread_equal(np.concatenate([piece.t for piece in pieces]))
            value = np.concatenate([piece.value for piece in pieces])
            joined[name] = Samples(times[key], value)
            pieces.clear()
        self._pieces.clear()
        return joined

    def _collect_facts(self, tally: Tally, form: str) -> dict[str, str]:
        return {
            "format": form,
            "frames": str(self._frames),
            "decoded": str(self._decoder.decoded),
            "unknown_ids": str(len(self._decoder.unknown)),
            "dbc": ", ".join(self._bus.dbc_files),
            "car": self._bus.car.id if self._bus.car else "none",
            "channels": ", ".join(f"{name}: {n}" for name, n in sorted(tally.channels.items())),
            **tally.notes,
        }

    def _collect_doubts(self, tally: Tally, *, unmatched: bool) -> list[ReadWarning]:
        decoder = self._decoder
        worst = [f"0x{key & 0x1FFF_FFFF:x}" for key, _ in decoder.unknown.most_common(_SHOWN)]
        unknown = f"frames of ids that the DBC does not define, mostly {', '.join(worst)}"
        taken = [name for name in tally.channels if tally.channels[name]]
        several = not tally.others and len(taken) > 1
        counts = [
            ("malformed", "lines or objects that are not frames are left out", tally.malformed),
            ("error_frames", "error frames of the bus", tally.errors),
            ("remote_frames", "remote frames carry no data", tally.remote),
            ("unknown_ids", unknown, decoder.unknown.total()),
            ("frames_truncated", "frames shorter than their message", decoder.truncated),
            (
                "unknown_multiplexer",
                "frames with a multiplexer that the DBC does not define",
                decoder.unknown_multiplexer,
            ),
            (
                "undefined_values",
                "values that are not finite numbers are left out",
                self._rules.undefined.total(),
            ),
            ("clock_set_back", "the clock was set back; time goes on", self._clock.rewinds),
            ("time_not_increasing", "stamps that go backwards", self._clock.late),
            ("other_channels", "frames of channels that were not selected", tally.others),
            ("channels_mixed", "several channels are read as one bus", int(several)),
            ("car_unused", "no signal of the log has a rule in the car file", int(unmatched)),
        ]
        doubts = [ReadWarning(code, detail, count) for code, detail, count in counts if count]
        return [*doubts, *(ReadWarning(code, detail) for code, detail in tally.doubts)]


def _explain_no_frames(tally: Tally) -> str:
    if tally.others:
        names = ", ".join(sorted(tally.channels)[:_SHOWN])
        return f"the log has no frame of that channel; it has {names}"
    return f"the log has no CAN frames, only {tally.malformed} malformed lines or objects"


def _thin_out(t: Numbers) -> Numbers:
    """Keep the first and last of rising times in every 5 ms, which is enough for even times."""
    slot = np.floor(t * 200.0)
    change = np.diff(slot) != 0
    return t[np.concatenate(([True], change)) | np.concatenate((change, [True]))]


def load_bus(choice: BusChoice) -> Wiring:
    """Load the chosen files; may take a second. Raises `BusNotFound`."""
    folder = choice.data_dir / "dbc"
    paths = [_find_dbc(folder, name, choice) for name in choice.dbc]
    if not (choice.dbc or choice.sent):
        paths = sorted(folder.glob("*.dbc"))
    if not (paths or choice.sent):
        raise BusNotFound("there is no DBC file to decode the log with; name one", "dbc")
    try:
        packs = [load_dbc(path) for path in paths]
        packs += [parse_dbc(content, name) for name, content in choice.sent]
    except DbcError as error:
        raise BusNotFound(f"dbc: {error}", "dbc") from None
    car = None
    if choice.car is not None:
        if not choice.car_anywhere:
            _check_inside(choice.data_dir, choice.car, "car", SUFFIXES)
        try:
            car = load_car(find_car(choice.data_dir / "cars", choice.car))
        except CarError as error:
            raise BusNotFound(f"car: {error}", "car") from None
    return Wiring(merge_messages(packs), car, tuple(pack.name for pack in packs))


def _find_dbc(folder: Path, name: str, choice: BusChoice) -> Path:
    if "/" not in name and "\\" not in name:
        for path in (folder / f"{name}.dbc", folder / name):
            if path.suffix == ".dbc" and path.is_file():
                return path
    if not choice.dbc_anywhere:
        _check_inside(choice.data_dir, name, "dbc", (".dbc",))
    path = Path(name)
    if name.endswith(".dbc") and path.is_file():
        return path
    raise BusNotFound(f"dbc: there is no {Path(name).name}", "dbc")


def _check_inside(data_dir: Path, name: str, param: str, suffixes: tuple[str, ...]) -> None:
    """Refuse a path that leads out of the data folder, whether or not the file exists."""
    if not name.endswith(suffixes) or ("/" not in name and "\\" not in name):
        return
    try:
        inside = Path(name).resolve().is_relative_to(data_dir.resolve())
    except (OSError, RuntimeError, ValueError):
        inside = False
    if not inside:
        raise BusNotFound(f"{param}: give an id, or a path in the data folder", param)
