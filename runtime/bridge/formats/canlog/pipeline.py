"""Applies the rules of a car file to whole columns: the results of `catalog.pipeline.Pipeline`.

A rule that needs the latest values of other signals looks them up by time, all frames at once.
Where that is impossible, for signals that need each other in a circle or names that come from two
places, the frames go through the ordinary pipeline one by one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.can.methods import Method
from runtime.bridge.can.pipeline import CACHED, Bound, Making, Pipeline, Plan, Steps
from runtime.bridge.formats.canlog.decoder import Column
from runtime.bridge.formats.canlog.values import Keys, Rows
from runtime.bridge.formats.canlog.vector import ColumnFormula, Flags
from runtime.bridge.session.recording import Numbers

_PLACES: Final = 1 << 16
_STEPS: Final = 1 << 8
"""An emission is ordered by row, place of its signal in the frame, and step of its rule."""
NOTHING: Final = Plan({}, ())


class Emitted(NamedTuple):
    """What a signal told in a batch."""

    rows: Rows
    """Of the batch, rising."""
    values: Numbers
    """Finite, no minus zero."""


class _Series(NamedTuple):
    order: Keys
    """When each value went out."""
    rows: Rows
    values: Numbers


class _Source(NamedTuple):
    """All values of a signal of the bus in a batch."""

    order: Keys
    rows: Rows
    values: Numbers

    def part(self, at: Flags | Rows) -> "_Source":
        """Some of the values, or all in another order."""
        return _Source(self.order[at], self.rows[at], self.values[at])


class ColumnPipeline:
    """The rules of one car over one batch after the other."""

    def __init__(self, plan: Plan, signals: Iterable[str]) -> None:
        """*signals* are all names that the databases may decode."""
        self.undefined: Counter[str] = Counter()
        """How often a signal was left out because its value was no finite number."""
        self.matched = False
        """Whether any signal of the bus had a rule."""
        self._plan = plan
        self._known = frozenset(signals)
        self._latest: dict[str, float] = {}
        self._order = _dependencies(plan, self._known)
        self._formulas = _formulas(plan)
        self._scalar = Pipeline(plan) if self._order is None else None

    @property
    def by_columns(self) -> bool:
        """False: the frames go through one by one."""
        return self._scalar is None

    def feed(self, columns: Sequence[Column]) -> dict[str, Emitted]:
        """The signals of the next batch by name."""
        if any(column.name in self._plan.signals for column in columns):
            self.matched = True
        if self._scalar is not None:
            return self._one_by_one(self._scalar, columns)
        series: dict[str, _Series] = {}
        sources = _sources(columns)
        for name in self._order or ():
            if name in sources:
                self._follow(name, sources[name], series)
        for at, making in enumerate(self._plan.makings):
            self._make(at, making, series)
        for name, (_, _, values) in series.items():
            if len(values):
                self._latest[name] = float(values[-1])
        return {name: Emitted(one.rows, one.values) for name, one in series.items()}

    def _one_by_one(self, pipeline: Pipeline, columns: Sequence[Column]) -> dict[str, Emitted]:
        frames: dict[int, list[tuple[int, str, float]]] = {}
        for column in columns:
            for row, value in zip(column.rows.tolist(), column.values.tolist(), strict=True):
                frames.setdefault(row, []).append((column.place, column.name, value))
        rows: dict[str, list[int]] = {}
        values: dict[str, list[float]] = {}
        for row in sorted(frames):
            decoded = {name: value for _, name, value in sorted(frames[row])}
            for name, value in pipeline.feed(decoded).items():
                rows.setdefault(name, []).append(row)
                values.setdefault(name, []).append(value)
        self.undefined = pipeline.undefined
        return {
            name: Emitted(np.array(rows[name], np.intp), np.array(values[name])) for name in rows
        }

    def _follow(self, raw: str, source: _Source, series: dict[str, _Series]) -> None:
        steps = self._plan.signals.get(raw)
        if steps is None:
            self._emit(raw, source, 0, series)
            return
        for bound in steps.apply:
            source = self._applied(bound, source, series)
        finite = np.isfinite(source.values)
        if not finite.all():
            self.undefined[raw] += int(np.count_nonzero(~finite))
            source = source.part(finite)
        for at, name in enumerate(steps.names):
            self._emit(name, source, at, series)
        for at, (name, bound) in enumerate(steps.derive, len(steps.names)):
            late = source._replace(order=source.order + at)
            self._emit(name, self._applied(bound, late, series), 0, series)

    def _applied(self, bound: Bound, source: _Source, series: Mapping[str, _Series]) -> _Source:
        """The values of a formula where all its inputs have been seen."""
        inputs: dict[str, Numbers] = {
            name: np.array([value]) for name, value in bound.constants.items()
        }
        seen = np.ones(len(source.rows), np.bool_)
        for name, signal in bound.signals:
            inputs[name], there = self._looked_up(signal, source.order, series)
            seen &= there
        if not seen.all():
            source = source.part(seen)
            for name, _ in bound.signals:
                inputs[name] = inputs[name][seen]
        for name in bound.own:
            inputs[name] = source.values
        formula = self._formulas[id(bound)]
        return source._replace(values=formula(inputs, len(source.rows)))

    def _looked_up(
        self, signal: str, order: Keys, series: Mapping[str, _Series]
    ) -> tuple[Numbers, Flags]:
        """The latest value of a signal before each moment, and where there is one."""
        before = self._latest.get(signal, np.nan)
        found = series.get(signal)
        if found is None or not len(found.values):
            return np.full(len(order), before), np.full(len(order), signal in self._latest)
        at = np.searchsorted(found.order, order, side="left") - 1
        early = at < 0
        values = np.where(early, before, found.values[np.maximum(at, 0)])
        return values, ~early | (signal in self._latest)

    def _emit(self, name: str, source: _Source, step: int, series: dict[str, _Series]) -> None:
        order, rows, values = source
        finite = np.isfinite(values)
        if not finite.all():
            self.undefined[name] += int(np.count_nonzero(~finite))
            order, rows, values = order[finite], rows[finite], values[finite]
        series[name] = _Series(order + step if step else order, rows, values + 0.0)

    def _make(self, at: int, making: Making, series: dict[str, _Series]) -> None:
        place = _PLACES - len(self._plan.makings) + at
        names = sorted(making.inputs)
        mine = [
            one.rows[one.order - one.rows * (_PLACES * _STEPS) < place * _STEPS]
            for name in names
            if (one := series.get(name)) is not None
        ]
        if not mine:
            return
        rows = np.unique(np.concatenate(mine)) if len(mine) > 1 else np.unique(mine[0])
        order = (rows.astype(np.int64) * _PLACES + place) * _STEPS
        source = _Source(order, rows, np.zeros(len(rows)))
        if isinstance(making.how, Method):
            made = self._called(making.how, source, series)
        else:
            made = self._applied(making.how, source, series)
        self._emit(making.name, made, 0, series)

    def _called(self, method: Method, source: _Source, series: Mapping[str, _Series]) -> _Source:
        names = tuple(dict.fromkeys(method.inputs))
        seen = np.ones(len(source.rows), np.bool_)
        looked = []
        for name in names:
            values, there = self._looked_up(name, source.order, series)
            looked.append(values)
            seen &= there
        source = source.part(seen)
        inputs = [values[seen].tolist() for values in looked]
        made = [
            method.call(dict(zip(names, numbers, strict=True)))
            for numbers in zip(*inputs, strict=True)
        ]
        return source._replace(values=np.array(made, np.float64))


def _sources(columns: Sequence[Column]) -> dict[str, _Source]:
    """The columns by name, those of several messages or branches put together."""
    by_name: dict[str, list[Column]] = {}
    for column in columns:
        by_name.setdefault(column.name, []).append(column)
    orders: dict[tuple[int, int], Keys] = {}
    sources = {}
    for name, several in by_name.items():
        parts = []
        for column in several:
            known = id(column.rows), column.place
            if known not in orders:
                frame = column.rows.astype(np.int64) * _PLACES
                orders[known] = (frame + column.place) * _STEPS
            parts.append(_Source(orders[known], column.rows, column.values))
        if len(parts) > 1:
            whole = _Source(
                np.concatenate([part.order for part in parts]),
                np.concatenate([part.rows for part in parts]),
                np.concatenate([part.values for part in parts]),
            )
            turn = np.argsort(whole.order, kind="stable")
            parts = [whole.part(turn)]
        sources[name] = parts[0]
    return sources


def _formulas(plan: Plan) -> dict[int, ColumnFormula]:
    bounds = [one.how for one in plan.makings if isinstance(one.how, Bound)]
    for steps in plan.signals.values():
        bounds.extend(steps.apply)
        bounds.extend(bound for _, bound in steps.derive)
    return {id(bound): ColumnFormula(bound.formula) for bound in bounds}


def _dependencies(plan: Plan, known: frozenset[str]) -> tuple[str, ...] | None:
    """The signals of the bus so that each comes behind those it needs; None: there is no order."""
    steps_of = {raw: plan.signals.get(raw) for raw in sorted(known)}
    maker: dict[str, str] = {}
    for raw, steps in steps_of.items():
        for name in _names(raw, steps):
            if name in maker:
                return None  # the two would take turns in one series
            maker[name] = raw
    made = {making.name for making in plan.makings}
    if made & maker.keys() or len(maker) + len(made) > CACHED:
        return None
    if any(len(_names(raw, steps)) >= _STEPS for raw, steps in steps_of.items()):
        return None
    needs: dict[str, set[str]] = {}
    for raw, steps in steps_of.items():
        wanted = _wanted(steps)
        if wanted & made:
            return None  # of the frame before: columns are made when all signals are known
        needs[raw] = {maker[name] for name in wanted if name in maker}
    seen: set[str] = set()
    for making in plan.makings:
        if making.inputs & (made - seen):
            return None
        seen.add(making.name)
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError:
        return None


def _names(raw: str, steps: Steps | None) -> tuple[str, ...]:
    if steps is None:
        return (raw,)
    return (*steps.names, *(name for name, _ in steps.derive))


def _wanted(steps: Steps | None) -> set[str]:
    if steps is None:
        return set()
    bounds = (*steps.apply, *(bound for _, bound in steps.derive))
    return {signal for bound in bounds for _, signal in bound.signals}
