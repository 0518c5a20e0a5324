"""Applies the rules of a car file to decoded signals, in whole columns.

For each signal: apply, rename, emit, emit as canonical, derive. Signals derived from several follow
when an input arrives and all inputs have been seen. Rules that need other signals look up their
latest values by time, for all frames at once.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.can.carfile import SELF, Binding, CarError, CarFile, MethodUse, Rule
from runtime.bridge.can.decoder import Column
from runtime.bridge.can.formulas import LIBRARY, Formula, FormulaError, compile_formula
from runtime.bridge.can.frames import Flags, Keys, Rows
from runtime.bridge.session.recording import Numbers

KMH_TO_M_PER_MIN: Final = 1000 / 60
CLUTCH_SHARE: Final = 0.12
"""With a larger deviation from every ratio the engine is decoupled from the wheels."""
_PLACES: Final = 1 << 16
_STEPS: Final = 1 << 8
"""Emissions are ordered by row, position of the signal in the frame, and step of the rule."""


class BoundFormula(NamedTuple):
    """A formula with inputs bound to constants, signals, or the signal itself."""

    formula: Formula
    constants: Mapping[str, Numbers]
    signals: tuple[tuple[str, str], ...]
    """Pairs of input and signal."""
    own: tuple[str, ...]
    """Inputs bound to the signal itself."""


class Method(NamedTuple):
    """A function with bound inputs that is not a formula."""

    inputs: tuple[str, ...]
    """Signals that must have a value."""
    call: Callable[[Mapping[str, Numbers]], Numbers]


class Steps(NamedTuple):
    """The compiled steps of one signal of the bus."""

    apply: tuple[BoundFormula, ...]
    names: tuple[str, ...]
    """Emitted names: its own or new name, then the canonical one."""
    derive: tuple[tuple[str, BoundFormula], ...]


class DerivedSignal(NamedTuple):
    """A signal derived from others."""

    name: str
    inputs: frozenset[str]
    how: BoundFormula | Method


class Plan(NamedTuple):
    """The rules of a car file, compiled."""

    signals: Mapping[str, Steps]
    """Sorted so that dependent signals come later."""
    makings: tuple[DerivedSignal, ...]
    """Sorted in the same way, methods last."""

    @property
    def names(self) -> frozenset[str]:
        """All signals that the rules read or emit."""
        out = (name for steps in self.signals.values() for name in _list_outputs(steps))
        return frozenset((*self.signals, *out, *(made.name for made in self.makings)))


NO_RULES: Final = Plan({}, ())
"""Emits every signal unchanged."""


class SignalOutput(NamedTuple):
    """The values of a signal in a batch."""

    rows: Rows
    """Rows of the batch, rising."""
    values: Numbers
    """Finite, without -0.0."""


class _Series(NamedTuple):
    """Values of a signal in a batch with the order of their emission."""

    order: Keys
    rows: Rows
    values: Numbers

    def select(self, at: Flags | Rows | slice) -> "_Series":
        """Select or reorder values."""
        return _Series(self.order[at], self.rows[at], self.values[at])


class Rules:
    """Applies the rules of one car to successive batches; for one thread."""

    def __init__(self, plan: Plan) -> None:
        self.undefined: Counter[str] = Counter()
        """Counts of values left out because they were not finite, by signal."""
        self.matched = False
        """Whether any signal of the bus has had a rule."""
        self._plan = plan
        self._latest: dict[str, float] = {}

    def feed(self, columns: Sequence[Column]) -> dict[str, SignalOutput]:
        """Apply the rules to the next batch; returns the signals by name."""
        sources = _collect_sources(columns)
        rules = [name for name in self._plan.signals if name in sources]
        self.matched = self.matched or bool(rules)
        series: dict[str, _Series] = {}
        for name in (*(name for name in sources if name not in rules), *rules):
            self._apply_steps(name, sources[name], series)
        for at, making in enumerate(self._plan.makings):
            self._derive(_PLACES - len(self._plan.makings) + at, making, series)
        for name, (_, _, values) in series.items():
            if len(values):
                self._latest[name] = float(values[-1])
        return {name: SignalOutput(rows, values) for name, (_, rows, values) in series.items()}

    def feed_frame(self, decoded: Mapping[str, float]) -> dict[str, float]:
        """Apply the rules to the values of a single frame."""
        row = np.zeros(1, np.intp)
        columns = [
            Column(name, place, row, np.array([value], np.float64))
            for place, (name, value) in enumerate(decoded.items())
        ]
        emitted = self.feed(columns).items()
        return {name: float(values[-1]) for name, (_, values) in emitted if len(values)}

    def _apply_steps(self, raw: str, source: _Series, series: dict[str, _Series]) -> None:
        steps = self._plan.signals.get(raw)
        if steps is None:
            self._emit(raw, source, 0, series)
            return
        for bound in steps.apply:
            source = self._evaluate(bound, source, series)
        source = self._drop_undefined(raw, source)
        for at, name in enumerate(steps.names):
            self._emit(name, source, at, series)
        for at, (name, bound) in enumerate(steps.derive, len(steps.names)):
            late = source._replace(order=source.order + at)
            self._emit(name, self._evaluate(bound, late, series), 0, series)

    def _derive(self, place: int, making: DerivedSignal, series: dict[str, _Series]) -> None:
        mine = [
            part.rows[part.order - part.rows * (_PLACES * _STEPS) < place * _STEPS]
            for name in sorted(making.inputs)
            if (part := series.get(name)) is not None
        ]
        if not mine:
            return
        rows = np.unique(np.concatenate(mine))
        order = (rows.astype(np.int64) * _PLACES + place) * _STEPS
        source = _Series(order, rows, np.zeros(len(rows)))
        if isinstance(making.how, Method):
            inputs = {name: name for name in making.how.inputs}
            source, values = self._look_up(inputs, source, series)
            made = source._replace(values=making.how.call(values))
        else:
            made = self._evaluate(making.how, source, series)
        self._emit(making.name, made, 0, series)

    def _evaluate(
        self, bound: BoundFormula, source: _Series, series: Mapping[str, _Series]
    ) -> _Series:
        """Evaluate a formula where all its inputs have been seen."""
        source, values = self._look_up(dict(bound.signals), source, series)
        values.update(bound.constants)
        values |= dict.fromkeys(bound.own, source.values)
        return source._replace(values=bound.formula(values, len(source.rows)))

    def _look_up(
        self, inputs: Mapping[str, str], source: _Series, series: Mapping[str, _Series]
    ) -> tuple[_Series, dict[str, Numbers]]:
        """Return the rows at which all signals have been seen, and their latest values by input."""
        seen = np.ones(len(source.rows), np.bool_)
        values: dict[str, Numbers] = {}
        for name, signal in inputs.items():
            column = np.full(len(source.rows), self._latest.get(signal, np.nan))
            latest = series.get(signal)
            if latest is not None and len(latest.values):
                at = np.searchsorted(latest.order, source.order, side="left") - 1
                column = np.where(at < 0, column, latest.values[np.maximum(at, 0)])
            values[name] = column
            seen &= np.isfinite(column)  # emitted values are finite
        if seen.all():
            return source, values
        return source.select(seen), {name: column[seen] for name, column in values.items()}

    def _emit(self, name: str, source: _Series, step: int, series: dict[str, _Series]) -> None:
        order, rows, values = self._drop_undefined(name, source)
        output = _Series(order + step if step else order, rows, values + 0.0)
        series[name] = _merge([series[name], output]) if name in series else output

    def _drop_undefined(self, name: str, source: _Series) -> _Series:
        finite = np.isfinite(source.values)
        if finite.all():
            return source
        self.undefined[name] += int(np.count_nonzero(~finite))
        return source.select(finite)


def _collect_sources(columns: Sequence[Column]) -> dict[str, _Series]:
    """Collect the columns by name; those of several messages or branches are merged."""
    by_name: dict[str, list[_Series]] = {}
    orders: dict[tuple[int, int], Keys] = {}
    for column in columns:
        key = id(column.rows), column.place
        if key not in orders:
            orders[key] = (column.rows.astype(np.int64) * _PLACES + column.place) * _STEPS
        source = _Series(orders[key], column.rows, column.values)
        by_name.setdefault(column.name, []).append(source)
    return {name: _merge(several) for name, several in by_name.items()}


def _merge(several: Sequence[_Series]) -> _Series:
    if len(several) == 1:
        return several[0]
    whole = _Series(*map(np.concatenate, zip(*several, strict=True)))
    return whole.select(np.argsort(whole.order, kind="stable"))


def compile_plan(car: CarFile) -> Plan:
    """Compile the rules of a car; raises `CarError` with the place of the error."""
    signals = {raw: _compile_steps(raw, rule) for raw, rule in car.signals.items()}
    derived = {}
    for name, made in car.derived.items():
        bound = _bind(f"derived.{name}", made.formula, made.bind, own=False)
        derived[name] = DerivedSignal(name, frozenset(signal for _, signal in bound.signals), bound)
        if not derived[name].inputs:
            raise CarError(f"derived.{name}.bind: no signal is bound")
    methods = []
    for name, use in car.methods.items():
        method = _compile_gear(use)
        methods.append(DerivedSignal(name, frozenset(method.inputs), method))
    _check_names(signals, (*derived, *car.methods))
    makers = {name: raw for raw, steps in signals.items() for name in _list_outputs(steps)}
    needs = {}
    for raw, steps in signals.items():
        wanted = {name for bound in _list_formulas(steps) for _, name in bound.signals}
        if late := wanted & {*derived, *car.methods}:
            text = f"{min(late)} is made after it, of several signals"
            raise CarError(f"signals.{raw}: {text}")
        needs[raw] = {makers[name] for name in wanted if name in makers}
    in_order = {raw: signals[raw] for raw in _sort_by_needs(needs, "signals")}
    needs = {name: {*made.inputs} & derived.keys() for name, made in derived.items()}
    makings = [derived[name] for name in _sort_by_needs(needs, "derived")]
    return Plan(in_order, (*makings, *methods))


def _sort_by_needs(needs: Mapping[str, set[str]], block: str) -> tuple[str, ...]:
    """Sort the names so that each comes after those it needs."""
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError:
        raise CarError(f"{block}: some of these need each other in a circle") from None


def _list_outputs(steps: Steps) -> list[str]:
    """List the names under which a signal is emitted."""
    return [*steps.names, *(name for name, _ in steps.derive)]


def _list_formulas(steps: Steps) -> list[BoundFormula]:
    return [*steps.apply, *(bound for _, bound in steps.derive)]


def _compile_steps(raw: str, rule: Rule) -> Steps:
    place = f"signals.{raw}"
    apply = []
    for index, step in enumerate(rule.apply):
        where = f"{place}.apply[{index}]"
        if step.formula is not None:
            apply.append(_bind(where, step.formula, step.bind))
        elif step.bias is not None:
            apply.append(_bind(where, "offset", {"x": SELF, "offset": step.bias}))
        else:
            apply.append(_bind(where, "negate", {"x": SELF}))
    names = dict.fromkeys((rule.rename_to or raw, rule.canonical or rule.rename_to or raw))
    derive = tuple(
        (made.name, _bind(f"{place}.derive[{index}]", made.formula, made.bind))
        for index, made in enumerate(rule.derive)
    )
    return Steps(tuple(apply), tuple(names), derive)


def _bind(place: str, text: str, bind: Mapping[str, Binding], *, own: bool = True) -> BoundFormula:
    try:
        if text in LIBRARY:
            formula = LIBRARY[text]
        elif text.isidentifier():
            raise FormulaError(f"unknown formula: {text}")
        else:
            formula = compile_formula(text, tuple(bind))
    except FormulaError as error:
        raise CarError(f"{place}.formula: {error}") from None
    for name in formula.inputs:
        if name not in bind:
            raise CarError(f"{place}.bind: the input {name} is not bound")
    for name in bind:
        if name not in formula.inputs:
            raise CarError(f"{place}.bind: there is no input {name}")
    if not own and SELF in bind.values():
        raise CarError(f"{place}.bind: {SELF} stands for one signal, but this formula has several")
    constants = {name: np.array([v]) for name, v in bind.items() if isinstance(v, float)}
    signals = [(name, v) for name, v in bind.items() if isinstance(v, str) and v != SELF]
    mine = tuple(name for name, value in bind.items() if value == SELF)
    return BoundFormula(formula, constants, tuple(signals), mine)


def _check_names(signals: Mapping[str, Steps], made: tuple[str, ...]) -> None:
    """Refuse names emitted from two places: both would alternate in one series."""
    owners: dict[str, str] = {}
    for raw, steps in signals.items():
        out = _list_outputs(steps)
        for name in out:
            if owners.setdefault(name, raw) != raw or (name in signals and name != raw):
                other = owners[name] if owners[name] != raw else name
                raise CarError(f"signals.{raw}: {name} is also made by {other}")
        if len(set(out)) != len(out):
            raise CarError(f"signals.{raw}: one name goes out twice")
        if len(out) >= _STEPS:
            raise CarError(f"signals.{raw}: is emitted under more than {_STEPS - 1} names")
    for name in made:
        if name in signals or owners.setdefault(name, name) != name or made.count(name) > 1:
            raise CarError(f"{name} is made twice")


def _compile_gear(use: MethodUse) -> Method:
    """Compile the gear; 0 is neutral, a pressed clutch or a car below the minimum speed."""
    rpm, wheels = use.inputs.rpm, use.inputs.wheels
    metres, final, floor = (
        use.params.tyre_circumference_m,
        use.params.final_drive,
        use.params.min_speed_kmh,
    )
    ratios = np.array(use.params.ratios)

    def find_gear(values: Mapping[str, Numbers]) -> Numbers:
        with np.errstate(all="ignore"):  # a bus may send any number
            kmh = np.mean([values[wheel] for wheel in wheels], axis=0)
            turns = np.maximum(kmh, floor) * KMH_TO_M_PER_MIN * final
            off = np.abs(ratios[:, None] - values[rpm] * metres / turns)
            nearest = np.argmin(off, axis=0)
            coupled = off.min(axis=0) <= CLUTCH_SHARE * ratios[nearest]
        return np.where((kmh >= floor) & coupled, nearest + 1.0, 0.0)

    return Method((rpm, *wheels), find_gear)
