"""Reads samples of single signals from a JSON body into columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

import numpy as np

from runtime.bridge.session.cells import (
    NAMES,
    BadBatch,
    BatchTooLarge,
    Flags,
    Indices,
    Rejected,
    is_name,
    numbers_of,
    reasons,
    seconds,
)
from runtime.bridge.session.values import Samples

MAX_SAMPLES: Final = 500_000


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
    those of an import, which say more than others may (`cells.NAMES`).
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
    codes, known, bad_name = _coded(named, frozenset((names or {}).values()))
    good = ~(bad_name | bad_t | bad_value)
    faults = (
        (codes < 0, "no name of a signal"),
        (bad_name, NAMES),
        (bad_t, "t is no finite number"),
        (bad_value, "value is no finite number"),
    )
    rejected = reasons(faults)
    if not good.any():
        raise BadBatch(f"no sample can be used: {rejected[0].reason}")
    places = _by_signal(codes, known, good)
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


def _coded(
    named: Sequence[object], registered: Collection[str]
) -> tuple[Indices, list[str], Flags]:
    """A number for each name, the names by number, and which elements have no usable name."""
    numbers: dict[str, int] = {}
    codes = np.array(
        [numbers.setdefault(name, len(numbers)) if type(name) is str else -1 for name in named],
        np.intp,
    )
    known = list(numbers)
    usable = np.array([is_name(name) or name in registered for name in known] + [False])
    return codes, known, ~usable[codes]


def _by_signal(codes: Indices, known: Sequence[str], good: Flags) -> dict[str, Indices]:
    """Which good elements the samples of each signal are, in order."""
    chosen = np.flatnonzero(good)
    order = chosen[np.argsort(codes[chosen], kind="stable")]
    begins = np.flatnonzero(np.diff(codes[order], prepend=-1))
    ends = [*begins[1:].tolist(), len(order)]
    parts = [order[begin:end] for begin, end in zip(begins.tolist(), ends, strict=True)]
    return {known[codes[part[0]]]: part for part in parts}
