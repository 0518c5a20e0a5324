"""Turns the decoded signals of a bus into the signals of a car, as its file says, whole columns.

Per signal: apply, rename, emit, emit as canonical, derive; then whatever is made of several signals
once one of its inputs came with a frame and all have been seen. A rule that needs other signals
looks up their latest values by time, for all frames at once.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.can.carfile import SELF, Binding, CarError, CarFile, MethodUse, Rule
from runtime.bridge.can.decoder import Column
from runtime.bridge.can.formulas import (
    LIBRARY,
    Formula,
    FormulaError,
    compile_formula,
)
from runtime.bridge.can.frames import Flags, Keys, Rows
from runtime.bridge.session.recording import Numbers

KMH_TO_M_PER_MIN: Final = 1000 / 60
CLUTCH_SHARE: Final = 0.12
"""Further off than this from every ratio, the engine is not coupled to the wheels."""
_PLACES: Final = 1 << 16
_STEPS: Final = 1 << 8
"""An emission is ordered by row, place of its signal in the frame, and step of its rule."""


class Bound(NamedTuple):
    """A formula whose inputs are constants, signals, and perhaps the signal at hand."""

    formula: Formula
    constants: Mapping[str, Numbers]
    signals: tuple[tuple[str, str], ...]
    """Input and signal."""
    own: tuple[str, ...]
    """Inputs that are the signal at hand."""


class Method(NamedTuple):
    """A function that is more than a formula, with its inputs bound."""

    inputs: tuple[str, ...]
    """Signals that must have a value."""
    call: Callable[[Mapping[str, Numbers]], Numbers]


class Steps(NamedTuple):
    """What happens to one signal of the bus."""

    apply: tuple[Bound, ...]
    names: tuple[str, ...]
    """Under which it goes out: its own or new name, then the canonical one."""
    derive: tuple[tuple[str, Bound], ...]


class DerivedSignal(NamedTuple):
    """A signal that is made of others."""

    name: str
    inputs: frozenset[str]
    how: Bound | Method


class Plan(NamedTuple):
    """The rules of a car file, compiled."""

    signals: Mapping[str, Steps]
    """What needs the result of another stands behind it, as below."""
    makings: tuple[DerivedSignal, ...]
    """Methods last."""

    @property
    def names(self) -> frozenset[str]:
        """Every signal that the rules take in or give out."""
        out = (name for steps in self.signals.values() for name in _out(steps))
        return frozenset((*self.signals, *out, *(made.name for made in self.makings)))


NO_RULES: Final = Plan({}, ())
"""Every signal goes out as the bus has it."""


class SignalOutput(NamedTuple):
    """What a signal told in a batch."""

    rows: Rows
    """Of the batch, rising."""
    values: Numbers
    """Finite, no minus zero."""


class _Series(NamedTuple):
    """Values of a signal in a batch, by the order in which they go out."""

    order: Keys
    rows: Rows
    values: Numbers

    def part(self, at: Flags | Rows | slice) -> "_Series":
        """Some of the values, or all in another order."""
        return _Series(self.order[at], self.rows[at], self.values[at])


class Rules:
    """Applies the rules of one car to one batch after the other; for one thread."""

    def __init__(self, plan: Plan) -> None:
        self.undefined: Counter[str] = Counter()
        """How often a signal was left out because its value was no finite number."""
        self.matched = False
        """Whether any signal of the bus had a rule."""
        self._plan = plan
        self._latest: dict[str, float] = {}

    def feed(self, columns: Sequence[Column]) -> dict[str, SignalOutput]:
        """The signals of the next batch by name."""
        sources = _sources(columns)
        rules = [name for name in self._plan.signals if name in sources]
        self.matched = self.matched or bool(rules)
        series: dict[str, _Series] = {}
        for name in (*(name for name in sources if name not in rules), *rules):
            self._follow(name, sources[name], series)
        for at, making in enumerate(self._plan.makings):
            self._make(_PLACES - len(self._plan.makings) + at, making, series)
        for name, (_, _, values) in series.items():
            if len(values):
                self._latest[name] = float(values[-1])
        return {name: SignalOutput(one.rows, one.values) for name, one in series.items()}

    def feed_frame(self, decoded: Mapping[str, float]) -> dict[str, float]:
        """The same for the values of a single frame."""
        row = np.zeros(1, np.intp)
        columns = [
            Column(name, place, row, np.array([value], np.float64))
            for place, (name, value) in enumerate(decoded.items())
        ]
        emitted = self.feed(columns).items()
        return {name: float(values[-1]) for name, (_, values) in emitted if len(values)}

    def _follow(self, raw: str, source: _Series, series: dict[str, _Series]) -> None:
        steps = self._plan.signals.get(raw)
        if steps is None:
            self._emit(raw, source, 0, series)
            return
        for bound in steps.apply:
            source = self._applied(bound, source, series)
        source = self._finite(raw, source)
        for at, name in enumerate(steps.names):
            self._emit(name, source, at, series)
        for at, (name, bound) in enumerate(steps.derive, len(steps.names)):
            late = source._replace(order=source.order + at)
            self._emit(name, self._applied(bound, late, series), 0, series)

    def _make(self, place: int, making: DerivedSignal, series: dict[str, _Series]) -> None:
        mine = [
            one.rows[one.order - one.rows * (_PLACES * _STEPS) < place * _STEPS]
            for name in sorted(making.inputs)
            if (one := series.get(name)) is not None
        ]
        if not mine:
            return
        rows = np.unique(np.concatenate(mine))
        order = (rows.astype(np.int64) * _PLACES + place) * _STEPS
        source = _Series(order, rows, np.zeros(len(rows)))
        if isinstance(making.how, Method):
            inputs = {name: name for name in making.how.inputs}
            source, values = self._looked_up(inputs, source, series)
            made = source._replace(values=making.how.call(values))
        else:
            made = self._applied(making.how, source, series)
        self._emit(making.name, made, 0, series)

    def _applied(self, bound: Bound, source: _Series, series: Mapping[str, _Series]) -> _Series:
        """The values of a formula where all its inputs have been seen."""
        source, values = self._looked_up(dict(bound.signals), source, series)
        values.update(bound.constants)
        values |= dict.fromkeys(bound.own, source.values)
        return source._replace(values=bound.formula(values, len(source.rows)))

    def _looked_up(
        self, inputs: Mapping[str, str], source: _Series, series: Mapping[str, _Series]
    ) -> tuple[_Series, dict[str, Numbers]]:
        """The moments at which all these signals were seen, with their latest values by input."""
        seen = np.ones(len(source.rows), np.bool_)
        values: dict[str, Numbers] = {}
        for name, signal in inputs.items():
            column = np.full(len(source.rows), self._latest.get(signal, np.nan))
            latest = series.get(signal)
            if latest is not None and len(latest.values):
                at = np.searchsorted(latest.order, source.order, side="left") - 1
                column = np.where(at < 0, column, latest.values[np.maximum(at, 0)])
            values[name] = column
            seen &= np.isfinite(column)  # whatever went out was
        if seen.all():
            return source, values
        return source.part(seen), {name: column[seen] for name, column in values.items()}

    def _emit(self, name: str, source: _Series, step: int, series: dict[str, _Series]) -> None:
        order, rows, values = self._finite(name, source)
        output = _Series(order + step if step else order, rows, values + 0.0)
        series[name] = _joined([series[name], output]) if name in series else output

    def _finite(self, name: str, source: _Series) -> _Series:
        finite = np.isfinite(source.values)
        if finite.all():
            return source
        self.undefined[name] += int(np.count_nonzero(~finite))
        return source.part(finite)


def _sources(columns: Sequence[Column]) -> dict[str, _Series]:
    """The columns by name, those of several messages or branches put together."""
    by_name: dict[str, list[_Series]] = {}
    orders: dict[tuple[int, int], Keys] = {}
    for column in columns:
        known = id(column.rows), column.place
        if known not in orders:
            orders[known] = (column.rows.astype(np.int64) * _PLACES + column.place) * _STEPS
        source = _Series(orders[known], column.rows, column.values)
        by_name.setdefault(column.name, []).append(source)
    return {name: _joined(several) for name, several in by_name.items()}


def _joined(several: Sequence[_Series]) -> _Series:
    if len(several) == 1:
        return several[0]
    whole = _Series(*map(np.concatenate, zip(*several, strict=True)))
    return whole.part(np.argsort(whole.order, kind="stable"))


def compile_plan(car: CarFile) -> Plan:
    """Compile the rules of a car; raises `CarError`, which names the place of what is wrong."""
    signals = {raw: _steps(raw, rule) for raw, rule in car.signals.items()}
    derived = {}
    for name, made in car.derived.items():
        bound = _bound(f"derived.{name}", made.formula, made.bind, own=False)
        derived[name] = DerivedSignal(name, frozenset(signal for _, signal in bound.signals), bound)
        if not derived[name].inputs:
            raise CarError(f"derived.{name}.bind: no signal is bound")
    methods = []
    for name, use in car.methods.items():
        method = _gear(use)
        methods.append(DerivedSignal(name, frozenset(method.inputs), method))
    _check_names(signals, (*derived, *car.methods))
    makers = {name: raw for raw, steps in signals.items() for name in _out(steps)}
    needs = {}
    for raw, steps in signals.items():
        wanted = {name for bound in _bounds(steps) for _, name in bound.signals}
        if late := wanted & {*derived, *car.methods}:
            text = f"{min(late)} is made after it, of several signals"
            raise CarError(f"signals.{raw}: {text}")
        needs[raw] = {makers[name] for name in wanted if name in makers}
    in_order = {raw: signals[raw] for raw in _ordered(needs, "signals")}
    needs = {name: {*made.inputs} & derived.keys() for name, made in derived.items()}
    makings = [derived[name] for name in _ordered(needs, "derived")]
    return Plan(in_order, (*makings, *methods))


def _ordered(needs: Mapping[str, set[str]], block: str) -> tuple[str, ...]:
    """The names, each behind those that it needs."""
    try:
        return tuple(TopologicalSorter(needs).static_order())
    except CycleError:
        raise CarError(f"{block}: some of these need each other in a circle") from None


def _out(steps: Steps) -> list[str]:
    """The names under which a signal goes out."""
    return [*steps.names, *(name for name, _ in steps.derive)]


def _bounds(steps: Steps) -> list[Bound]:
    return [*steps.apply, *(bound for _, bound in steps.derive)]


def _steps(raw: str, rule: Rule) -> Steps:
    place = f"signals.{raw}"
    apply = []
    for index, step in enumerate(rule.apply):
        where = f"{place}.apply[{index}]"
        if step.formula is not None:
            apply.append(_bound(where, step.formula, step.bind))
        elif step.bias is not None:
            apply.append(_bound(where, "offset", {"x": SELF, "offset": step.bias}))
        else:
            apply.append(_bound(where, "negate", {"x": SELF}))
    names = dict.fromkeys((rule.rename_to or raw, rule.canonical or rule.rename_to or raw))
    derive = tuple(
        (made.name, _bound(f"{place}.derive[{index}]", made.formula, made.bind))
        for index, made in enumerate(rule.derive)
    )
    return Steps(tuple(apply), tuple(names), derive)


def _bound(place: str, text: str, bind: Mapping[str, Binding], *, own: bool = True) -> Bound:
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
        raise CarError(f"{place}.bind: {SELF} stands for one signal, and this has several")
    constants = {name: np.array([v]) for name, v in bind.items() if isinstance(v, float)}
    signals = [(name, v) for name, v in bind.items() if isinstance(v, str) and v != SELF]
    mine = tuple(name for name, value in bind.items() if value == SELF)
    return Bound(formula, constants, tuple(signals), mine)


def _check_names(signals: Mapping[str, Steps], made: tuple[str, ...]) -> None:
    """No name may go out from two places: the two would take turns in one series."""
    owners: dict[str, str] = {}
    for raw, steps in signals.items():
        out = _out(steps)
        for name in out:
            if owners.setdefault(name, raw) != raw or (name in signals and name != raw):
                other = owners[name] if owners[name] != raw else name
                raise CarError(f"signals.{raw}: {name} is also made by {other}")
        if len(set(out)) != len(out):
            raise CarError(f"signals.{raw}: one name goes out twice")
        if len(out) >= _STEPS:
            raise CarError(f"signals.{raw}: goes out under more than {_STEPS - 1} names")
    for name in made:
        if name in signals or owners.setdefault(name, name) != name or made.count(name) > 1:
            raise CarError(f"{name} is made twice")


def _gear(use: MethodUse) -> Method:
    """0 stands for neutral, for a pressed clutch and for a car below the least speed."""
    rpm, wheels = use.inputs.rpm, use.inputs.wheels
    metres, final, floor = (
        use.params.tyre_circumference_m,
        use.params.final_drive,
        use.params.min_speed_kmh,
    )
    ratios = np.array(use.params.ratios)

    def gear(values: Mapping[str, Numbers]) -> Numbers:
        with np.errstate(all="ignore"):  # what a bus tells may be any number
            kmh = np.mean([values[wheel] for wheel in wheels], axis=0)
            turns = np.maximum(kmh, floor) * KMH_TO_M_PER_MIN * final
            off = np.abs(ratios[:, None] - values[rpm] * metres / turns)
            nearest = np.argmin(off, axis=0)
            coupled = off.min(axis=0) <= CLUTCH_SHARE * ratios[nearest]
        return np.where((kmh >= floor) & coupled, nearest + 1.0, 0.0)

    return Method((rpm, *wheels), gear)
