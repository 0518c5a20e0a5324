"""Reads frames and samples from JSON values into columns; what is unusable is left out and said."""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.names import LONGEST_NAME, NAMES, clean_name, is_name
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Numbers, Samples
from runtime.bridge.session.series import Flags
from runtime.bridge.session.units import KMH

REASONS_KEPT: Final = 20
MILLISECONDS_FROM: Final = 1e11
"""A time beyond it (the year 5138 in seconds) is in milliseconds."""
NAN: Final = float("nan")

Faults: TypeAlias = Iterable[tuple[Flags, str]]
"""Which elements are at fault, and why."""

MAX_SAMPLES: Final = 500_000
MAX_FRAMES: Final = 100_000
MAX_NAMES: Final = 5000
PSI: Final = 0.0689476
_NOT_SIGNALS: Final = frozenset(("session_id", "frame_idx", "source"))
"""Keys of a frame as it is streamed that say nothing about the car."""
ALIASES: Final[Mapping[str, tuple[tuple[str, float], ...]]] = {
    TIMESTAMP: (("t", 1.0), ("time", 1.0)),
    "distance_m": (("distance", 1.0),),
    "speed_ms": (("speed", 1.0), ("speed_kmh", 1 / KMH)),
    "g_lat": (),
    "g_long": (),
    "combo_g": (),
    "brake_bar": (("brake_pressure", 1.0), ("brake_psi", PSI)),
    "throttle_pct": (("throttle", 1.0),),
    "steering_deg": (("steering", 1.0),),
    "rpm": (),
    "lat": (),
    "lon": (("lng", 1.0), ("long", 1.0)),
}
"""Other names of a column with the factor to its unit; an earlier one wins, the column's own first.
A null says nothing, so that a later name counts."""


class BadBatch(ValueError):
    """Nothing of the batch can be used; the text says why."""


class NoUsableFrame(BadBatch):
    """Every frame of the batch was left out."""

    def __init__(self, rejected: "tuple[Rejected, ...]") -> None:
        super().__init__(f"no frame can be used: {rejected[0].reason}")
        self.rejected = rejected


class BatchTooLarge(BadBatch):
    """The batch has more elements than one request may bring."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An element that was left out."""

    index: int
    reason: str


def numbers_of(values: Sequence[object], *, null: bool, booleans: bool) -> tuple[Numbers, Flags]:
    """The values as numbers, NaN where there is none, and which of them may not be there."""
    kinds = set(map(type, values))
    allowed = {float, int} | ({type(None)} if null else set()) | ({bool} if booleans else set())
    if kinds <= allowed:
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:
            numbers = np.array([_number(value, booleans) for value in values])
        nulls = values.count(None) if type(None) in kinds else 0
        if nulls == len(values) - int(np.isfinite(numbers).sum()):
            return numbers, np.zeros(len(numbers), np.bool_)
    numbers = np.array([_number(value, booleans) for value in values])
    absent = np.array([null and value is None for value in values], np.bool_)
    return numbers, ~(np.isfinite(numbers) | absent)


def _number(value: object, booleans: bool) -> float:
    if not isinstance(value, float | int) or (isinstance(value, bool) and not booleans):
        return NAN
    try:
        return float(value)
    except OverflowError:
        return math.inf


def seconds(t: Numbers) -> Numbers:
    """Times in seconds, from times in seconds or milliseconds."""
    return np.where(t > MILLISECONDS_FROM, t / 1000.0, t)


def reasons(faults: Faults) -> tuple[Rejected, ...]:
    """The first reason of each of the first elements that were left out."""
    first: dict[int, str] = {}
    for flags, reason in faults:
        for index in np.flatnonzero(flags)[:REASONS_KEPT].tolist():
            first.setdefault(index, reason)
    return tuple(Rejected(index, first[index]) for index in sorted(first)[:REASONS_KEPT])


@dataclass(frozen=True, eq=False)
class SampleBatch:
    """The usable samples of a request, in order, by signal."""

    samples: Mapping[str, Samples]
    n_rejected: int = 0
    rejected: tuple[Rejected, ...] = ()
    """The first twenty."""
    places: Mapping[str, Indices] = field(default_factory=dict)
    """Which elements of the request the samples of each signal are."""

    @property
    def n_samples(self) -> int:
        """Of all signals together."""
        return sum(len(samples.t) for samples in self.samples.values())


def read_samples(signals: object, names: Mapping[int, str] | None = None) -> SampleBatch:
    """The samples of a JSON array; raises `BadBatch`, also where not one of them can be used.

    A sample is ``{name | signal_name | signal_id, t, value}`` or ``[name, t, value]``; booleans
    count as 0 and 1. *names* holds the names of known ids; each of them may be used again, as
    those of an import, which say more than others may (`names.NAMES`).
    """
    if not isinstance(signals, list) or not signals:
        raise BadBatch("signals must be an array with at least one sample")
    if len(signals) > MAX_SAMPLES:
        raise BatchTooLarge(f"at most {MAX_SAMPLES} samples fit one request")
    named: list[object] = []
    times: list[object] = []
    values: list[object] = []
    if set(map(type, signals)) == {list} and set(map(len, signals)) == {3}:
        named, times, values = (list(map(itemgetter(part), signals)) for part in range(3))
    else:
        for sample in signals:
            name, t, value = _parts(sample, names or {})
            named.append(name)
            times.append(t)
            values.append(value)
    t, bad_t = numbers_of(times, null=False, booleans=False)
    value, bad_value = numbers_of(values, null=False, booleans=True)
    rows: dict[str, list[int]] = {}
    for index, name in enumerate(named):
        if isinstance(name, str):
            rows.setdefault(name, []).append(index)
    unnamed = np.array([not isinstance(name, str) for name in named])
    bad_name = unnamed.copy()
    registered = frozenset((names or {}).values())
    for name, indices in rows.items():
        bad_name[indices] = not is_name(name) and name not in registered
    good = ~(bad_name | bad_t | bad_value)
    faults = (
        (unnamed, "no name of a signal"),
        (bad_name, NAMES),
        (bad_t, "t must be a finite number"),
        (bad_value, "value must be a finite number"),
    )
    rejected = reasons(faults)
    if not good.any():
        raise BadBatch(f"no sample can be used: {rejected[0].reason}")
    usable = {name: np.array(indices)[good[indices]] for name, indices in rows.items()}
    places = {name: indices for name, indices in usable.items() if len(indices)}
    t, value = seconds(t) + 0.0, value + 0.0
    samples = {name: Samples(t[part], value[part]) for name, part in places.items()}
    return SampleBatch(samples, int((~good).sum()), rejected, places)


def _parts(sample: object, names: Mapping[int, str]) -> tuple[object, object, object]:
    if isinstance(sample, dict):
        name = sample.get("name")
        if name is None:
            name = sample.get("signal_name")
        if name is None and type(sample.get("signal_id")) is int:
            name = names.get(sample["signal_id"])
        return name, sample.get("t"), sample.get("value")
    if isinstance(sample, list) and len(sample) == 3:
        return sample[0], sample[1], sample[2]
    return None, None, None


_SPELLINGS: Final = {
    name: (WIDE.index(column), rank, factor)
    for column, others in ALIASES.items()
    for rank, (name, factor) in enumerate(((column, 1.0), *others))
}
"""Row of the column, place among its spellings, and factor to its unit, by name."""
_UNSAID: Final = 99
_TIME: Final = WIDE.index(TIMESTAMP)
_TAKEN: Final = _SPELLINGS.keys() | _NOT_SIGNALS


class Ignored(NamedTuple):
    """A key of which something could not be kept."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class FrameBatch:
    """The usable frames of a request, in order."""

    frames: Frames
    extras: Mapping[str, Samples]
    """Further numbers of the frames, by name, at the times of their frames."""
    n_rejected: int = 0
    rejected: tuple[Rejected, ...] = ()
    """The first twenty."""
    ignored: tuple[Ignored, ...] = ()
    """Further keys with values that are no numbers; by name."""


def read_frames(frames: object) -> FrameBatch:
    """The frames of a JSON array; raises `BadBatch`, also where not one of them can be used.

    A usable frame has a finite time, and a finite number or null in every column it names. Numbers
    and booleans under other names become `FrameBatch.extras`, see `signal_names`. `combo_g` is
    computed where absent; a missing distance stays null, for it depends on the frames before.
    """
    if not isinstance(frames, list) or not frames:
        raise BadBatch("frames must be an array with at least one frame")
    if len(frames) > MAX_FRAMES:
        raise BatchTooLarge(f"at most {MAX_FRAMES} frames fit one request")
    keys = set().union(*(frame for frame in frames if isinstance(frame, dict))) - _TAKEN
    if len(keys) > MAX_NAMES:
        raise BatchTooLarge(f"at most {MAX_NAMES} different names fit one request")
    names = signal_names(keys)
    rows: list[list[float]] = []
    further: dict[str, tuple[list[int], list[float]]] = {}
    not_numbers: set[str] = set()
    rejected: list[Rejected] = []
    for index, frame in enumerate(frames):
        try:
            row, signals = _read_row(frame, names, not_numbers)
        except _Unusable as reason:
            rejected.append(Rejected(index, str(reason)))
            continue
        for name, value in signals:
            indices, values = further.setdefault(name, ([], []))
            indices.append(len(rows))
            values.append(value)
        rows.append(row)
    kept = tuple(rejected[:REASONS_KEPT])
    if not rows:
        raise NoUsableFrame(kept)
    columns = dict(zip(WIDE, np.array(rows).T + 0.0, strict=True))
    columns[TIMESTAMP] = t = seconds(columns[TIMESTAMP])
    with np.errstate(over="ignore"):
        combined = np.hypot(columns["g_lat"], columns["g_long"])
    computed = np.isnan(columns["combo_g"]) & np.isfinite(combined)
    np.copyto(columns["combo_g"], combined, where=computed)
    extras = {
        name: Samples(t[indices], np.array(values) + 0.0)
        for name, (indices, values) in sorted(further.items())
    }
    ignored = tuple(Ignored(key[:LONGEST_NAME], "not a number") for key in sorted(not_numbers))
    return FrameBatch(Frames(columns), extras, len(rejected), kept, ignored)


class _Unusable(Exception):
    """A frame that is left out; the text says why."""


def _read_row(
    frame: object, names: Mapping[str, str], not_numbers: set[str]
) -> tuple[list[float], list[tuple[str, float]]]:
    """The columns of a frame in the order of `WIDE`, and its further signals by name.

    Keys of *names* with a value that is no number are added to *not_numbers*.
    """
    if not isinstance(frame, dict):
        raise _Unusable("not an object")
    row = [NAN] * len(WIDE)
    ranks = [_UNSAID] * len(WIDE)
    signals: list[tuple[str, float]] = []
    for key, value in frame.items():
        if value is None or key in _NOT_SIGNALS:
            continue
        number = _number(value, booleans=key in names)
        spelling = _SPELLINGS.get(key)
        if spelling is None:
            if number != number:
                not_numbers.add(key)
            elif math.isinf(number):
                raise _Unusable(f"{key} is infinite")
            else:
                signals.append((names[key], number))
            continue
        if not math.isfinite(number):
            raise _Unusable(f"{key} is no number")
        column, rank, factor = spelling
        if rank < ranks[column]:
            row[column], ranks[column] = number * factor, rank
    if ranks[_TIME] == _UNSAID:
        raise _Unusable("timestamp is missing")
    return row, signals


def read_columns(columns: object) -> FrameBatch:
    """Like `read_frames`, from an object of arrays of one length: ``{name: [value, …]}``."""
    if not isinstance(columns, dict) or not all(isinstance(v, list) for v in columns.values()):
        raise BadBatch("columns must be an object of arrays")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise BadBatch("columns must hold arrays of one length, of at least one value")
    if lengths.pop() > MAX_FRAMES:
        raise BatchTooLarge(f"at most {MAX_FRAMES} frames fit one request")
    return read_frames(
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    )


def read_frame(frame: object) -> FrameBatch:
    """Like `read_frames` for a single frame, which must be usable."""
    if not isinstance(frame, dict) or not frame:
        raise BadBatch("a frame must be an object with at least a timestamp")
    try:
        return read_frames([frame])
    except NoUsableFrame as error:
        reason = error.rejected[0].reason
        raise BadBatch(reason.replace("is no number", "must be a finite number or null")) from None


def signal_names(keys: Set[str]) -> dict[str, str]:
    """Under which name the numbers of each key are kept, in the order of the keys.

    Under the key itself, but for what cannot be stored or asked for, as with the columns of a file
    (`clean_name`). Where that is a name of a column or of another key, ``_2``, ``_3`` … follows.
    """
    names = {key: key for key in keys if is_name(key) and key == key.strip()}
    odd = sorted(keys - names.keys())
    if not odd:
        return dict(sorted(names.items()))
    taken = _TAKEN | names.keys()
    for key in odd:
        name = clean = clean_name(key)
        number = 2
        while name in taken:
            name = f"{clean[: LONGEST_NAME - 8]}_{number}"
            number += 1
        taken |= {name}
        names[key] = name
    return {key: names[key] for key in sorted(names)}
