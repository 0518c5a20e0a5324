"""Reads frames and samples from JSON values into columns; unusable ones are left out and listed."""

import functools
import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.channels import NamedSignal, find_signal
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.names import LONGEST_NAME, NAMES, clean_name, is_name
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Numbers, Samples
from runtime.bridge.session.series import SIGNALS, Flags
from runtime.bridge.session.units import KMH

REASONS_KEPT: Final = 20
MILLISECONDS_FROM: Final = 1e11
"""A time beyond it (the year 5138 in seconds) is in milliseconds."""
NAN: Final = float("nan")

Fault: TypeAlias = tuple[Flags, str]
"""Which elements are faulty, and why."""
Object: TypeAlias = Mapping[str, object]
Further: TypeAlias = tuple[Indices, Numbers]
"""The frames that have a signal, and its values there."""

MAX_SAMPLES: Final = 500_000
MAX_FRAMES: Final = 100_000
MAX_NAMES: Final = 5000
PSI: Final = 0.0689476
_NOT_SIGNALS: Final = frozenset(("session_id", "frame_idx", "source"))
"""Keys of a streamed frame that say nothing about the car."""
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
"""Other names of a column with the factor to its unit. The column's own name comes first, then
these in order; a null leaves it to the next."""


class BadBatch(ValueError):
    """Nothing in the batch is usable; the text says why."""


class NoUsableFrame(BadBatch):
    """Every frame of the batch was left out."""

    def __init__(self, rejected: "tuple[Rejected, ...]") -> None:
        super().__init__(f"no frame can be used: {rejected[0].reason}")
        self.rejected = rejected


class BatchTooLarge(BadBatch):
    """The batch has more elements than one request may have."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An element that was left out."""

    index: int
    reason: str


def to_numbers(values: Sequence[object], *, null: bool, booleans: bool) -> tuple[Numbers, Flags]:
    """Convert values to numbers, NaN where there is none; flag the values that are not allowed."""
    kinds = set(map(type, values))
    allowed = {float, int} | ({type(None)} if null else set()) | ({bool} if booleans else set())
    if kinds <= allowed:
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:
            numbers = np.array([_number(value, booleans) for value in values])
        nulls = values.count(None) if type(None) in kinds else 0
        if nulls == len(values) - np.count_nonzero(np.isfinite(numbers)):
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


def to_seconds(t: Numbers) -> Numbers:
    """Convert times in seconds or milliseconds to seconds."""
    return np.where(t > MILLISECONDS_FROM, t / 1000.0, t)


def list_reasons(faults: Iterable[Fault]) -> tuple[Rejected, ...]:
    """List the first elements that were left out, each with its first reason."""
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
    """The elements of the request that hold the samples of each signal."""


def read_samples(signals: object, names: Mapping[int, str] | None = None) -> SampleBatch:
    """Read the samples of a JSON array; raises `BadBatch`, also if none of them is usable.

    A sample is ``{name | signal_name | signal_id, t, value}`` or ``[name, t, value]``; booleans
    count as 0 and 1. *names* holds the names of known ids. They are all allowed, even names of an
    import that do not follow `names.NAMES`.
    """
    if not isinstance(signals, list) or not signals:
        raise BadBatch("signals must be an array with at least one sample")
    if len(signals) > MAX_SAMPLES:
        raise BatchTooLarge(f"at most {MAX_SAMPLES} samples fit one request")
    names_read: list[object] = []
    times: list[object] = []
    values: list[object] = []
    if set(map(type, signals)) == {list} and set(map(len, signals)) == {3}:
        names_read, times, values = (list(map(itemgetter(part), signals)) for part in range(3))
    else:
        for sample in signals:
            name, t, value = _parts(sample, names or {})
            names_read.append(name)
            times.append(t)
            values.append(value)
    t, bad_t = to_numbers(times, null=False, booleans=False)
    value, bad_value = to_numbers(values, null=False, booleans=True)
    rows: dict[str, list[int]] = {}
    for index, name in enumerate(names_read):
        if isinstance(name, str):
            rows.setdefault(name, []).append(index)
    unnamed = np.array([not isinstance(name, str) for name in names_read])
    bad_name = unnamed.copy()
    registered = frozenset((names or {}).values())
    for name, indices in rows.items():
        bad_name[indices] = not is_name(name) and name not in registered
    good = ~(bad_name | bad_t | bad_value)
    faults = (
        (unnamed, "the signal has no name"),
        (bad_name, NAMES),
        (bad_t, "t must be a finite number"),
        (bad_value, "value must be a finite number"),
    )
    rejected = list_reasons(faults)
    if not good.any():
        raise BadBatch(f"no sample can be used: {rejected[0].reason}")
    usable = {name: np.array(indices)[good[indices]] for name, indices in rows.items()}
    places = {name: indices for name, indices in usable.items() if len(indices)}
    t, value = to_seconds(t) + 0.0, value + 0.0
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


_OTHERS: Final = tuple(
    (WIDE.index(column), name, factor)
    for column, others in ALIASES.items()
    for name, factor in others
)
_TIME: Final = WIDE.index(TIMESTAMP)
_TAKEN: Final = frozenset(
    (*_NOT_SIGNALS, *WIDE, *(name for others in ALIASES.values() for name, _ in others))
)


class Ignored(NamedTuple):
    """A key with values that could not be kept."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class FrameBatch:
    """The usable frames of a request, in order."""

    frames: Frames
    extras: Mapping[str, Samples]
    """Further signals of the frames, by name, at the times of their frames."""
    n_rejected: int = 0
    rejected: tuple[Rejected, ...] = ()
    """The first twenty."""
    ignored: tuple[Ignored, ...] = ()
    """Further keys with values that are not numbers; by name."""


def read_frames(frames: object) -> FrameBatch:
    """Read the frames of a JSON array; raises `BadBatch`, also if none of them is usable.

    A usable frame has a finite time, and a finite number or null in every column it names. Numbers
    and booleans under other names become `FrameBatch.extras`, see `assign_names` and
    `_add_known_signals`. `combo_g` is computed where absent; a missing distance stays null, as it
    depends on earlier frames.
    """
    if not isinstance(frames, list) or not frames:
        raise BadBatch("frames must be an array with at least one frame")
    if len(frames) > MAX_FRAMES:
        raise BatchTooLarge(f"at most {MAX_FRAMES} frames fit one request")
    faults: list[Fault] = []
    odd = [not isinstance(frame, dict) for frame in frames]
    if any(odd):
        faults.append((np.array(odd), "not an object"))
    objects: list[Object] = [frame if isinstance(frame, dict) else {} for frame in frames]
    keys: set[str] = set().union(*objects)
    if len(keys - _TAKEN) > MAX_NAMES:
        raise BatchTooLarge(f"at most {MAX_NAMES} different names fit one request")
    table = _read_wide(objects, keys, faults)
    table[_TIME] = t = to_seconds(table[_TIME])
    further, ignored = _read_further(objects, keys - _TAKEN, faults)
    further = _add_known_signals(table, further)
    good = ~np.isnan(t)
    for flags, _ in faults:
        good &= ~flags
    rejected: tuple[Rejected, ...] = ()
    if np.count_nonzero(good) < len(good):
        faults.append((np.isnan(t), "timestamp is missing"))
        table, rejected = table[:, good], list_reasons(faults)
        if not table.shape[1]:
            raise NoUsableFrame(rejected)
    columns = dict(zip(WIDE, table, strict=True))
    with np.errstate(over="ignore"):
        combined = np.hypot(columns["g_lat"], columns["g_long"])
    computed = np.isnan(columns["combo_g"]) & np.isfinite(combined)
    np.copyto(columns["combo_g"], combined, where=computed)
    extras = {
        name: Samples(t[rows[kept]], values[kept])
        for name, (rows, values) in further.items()
        if (kept := good[rows]).any()
    }
    return FrameBatch(
        Frames(columns), extras, len(frames) - table.shape[1], rejected, tuple(ignored)
    )


def _read_wide(objects: Sequence[Object], keys: Set[str], faults: list[Fault]) -> Numbers:
    """Read the frames as rows of `WIDE`, one column a frame; *faults* gets invalid cells."""
    table = np.full((len(WIDE), len(objects)), NAN)
    own = [at for at, name in enumerate(WIDE) if name in keys]
    # Row by row: for many rows numpy releases the interpreter lock, and has to wait to get it back.
    for at, cells in zip(own, _read_cells(objects, [WIDE[at] for at in own], faults), strict=True):
        table[at] = cells
    for at, name, factor in _OTHERS:
        if name in keys:
            alias = _read_cells(objects, [name], faults)[0] * factor
            np.copyto(table[at], alias, where=np.isnan(table[at]))
    return table + 0.0


def _read_cells(objects: Sequence[Object], names: Sequence[str], faults: list[Fault]) -> Numbers:
    """Read the values of the frames under *names*, one row a name; NaN where there is none."""
    cells = [frame.get(name) for frame in objects for name in names]
    numbers, bad = to_numbers(cells, null=True, booleans=False)
    shape = len(objects), len(names)
    if bad.any():
        flags = bad.reshape(shape).T
        faults += [(flags[at], f"{name} is not a number") for at, name in enumerate(names)]
    return numbers.reshape(shape).T


def _read_further(
    objects: Sequence[Object], keys: Set[str], faults: list[Fault]
) -> tuple[dict[str, Further], list[Ignored]]:
    """Read the signals outside the columns, and list the keys with values that are not numbers.

    *faults* gets infinite values.
    """
    signals: dict[str, Further] = {}
    ignored: list[Ignored] = []
    if not keys:
        return signals, ignored
    places: dict[str, list[int]] = {key: [] for key in keys}
    rows: list[int] = []
    cells: list[object] = []
    for row, frame in enumerate(objects):
        for key, cell in frame.items():
            if cell is not None and key in places:
                places[key].append(len(cells))
                rows.append(row)
                cells.append(cell)
    numbers, bad = to_numbers(cells, null=False, booleans=True)
    numbers, infinite, frame_of = numbers + 0.0, np.isinf(numbers), np.array(rows, np.intp)
    for key, name in assign_names(keys).items():
        mine = np.array(places[key], np.intp)
        if bad[mine].any():
            flags = np.zeros(len(objects), np.bool_)
            flags[frame_of[mine[infinite[mine]]]] = True
            faults.append((flags, f"{key} is infinite"))
            if (bad & ~infinite)[mine].any():
                ignored.append(Ignored(key[:LONGEST_NAME], "not a number"))
            mine = mine[~bad[mine]]
        signals[name] = frame_of[mine], numbers[mine]
    return signals, ignored


@functools.lru_cache(maxsize=512)
def _find_signals(names: tuple[str, ...]) -> tuple[tuple[NamedSignal, str], ...]:
    """Find the signals that names mean, the better name first."""
    signals = ((signal, name) for name in names if (signal := find_signal(name)) is not None)
    return tuple(sorted(signals))


def _add_known_signals(table: Numbers, further: Mapping[str, Further]) -> dict[str, Further]:
    """Fill empty cells of *table* from the further signals; return the values left over.

    A name that states its quantity and unit fills the column of that quantity. A signal that
    every series uses (`series.SIGNALS`) is also kept under its standard name.
    """
    rest = dict(further)
    for signal, name in _find_signals(tuple(further)):
        rows, values = further[name]
        values = signal.scale(values)
        if signal.name in SIGNALS:
            rest.setdefault(signal.name, (rows, values))
        elif signal.name in WIDE:
            cells = table[WIDE.index(signal.name)]
            empty = np.isnan(cells[rows])
            cells[rows[empty]] = values[empty]
            rest[name] = rows[~empty], further[name][1][~empty]
    return {name: samples for name, samples in sorted(rest.items()) if len(samples[0])}


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
        raise BadBatch(
            reason.replace("is not a number", "must be a finite number or null")
        ) from None


def assign_names(keys: Set[str]) -> dict[str, str]:
    """Choose the name under which the values of each key are kept, in the order of the keys.

    It is the key itself, cleaned (`clean_name`) if it cannot be stored or queried. If the clean
    name is taken by a column or another key, ``_2``, ``_3`` … is added.
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
