"""Turns the decoded signals of a bus into the signals of a car, as its file says."""

import math
from collections import Counter
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final, NamedTuple

from runtime.bridge.can.carfile import SELF, Binding, CarError, CarFile, Rule
from runtime.bridge.can.formulas import (
    LIBRARY,
    Formula,
    FormulaError,
    compile_formula,
    mismatch,
)
from runtime.bridge.can.methods import Method, MethodError, bind_method

CACHED: Final = 1024
"""So many signals are remembered; the one that was silent longest goes first."""


class Bound(NamedTuple):
    """A formula whose inputs are constants, signals, and perhaps the signal at hand."""

    formula: Formula
    constants: Mapping[str, float]
    signals: tuple[tuple[str, str], ...]
    """Input and signal."""
    own: tuple[str, ...]
    """Inputs that are the signal at hand."""

    def __call__(self, own: float, latest: Mapping[str, float]) -> float | None:
        """The value; None while a signal has none yet, NaN where it is undefined."""
        values = dict(self.constants)
        for name in self.own:
            values[name] = own
        for name, signal in self.signals:
            if signal not in latest:
                return None
            values[name] = latest[signal]
        return self.formula.evaluate(values)


class Steps(NamedTuple):
    """What happens to one signal of the bus."""

    apply: tuple[Bound, ...]
    names: tuple[str, ...]
    """Under which it goes out: its own or new name, then the canonical one."""
    derive: tuple[tuple[str, Bound], ...]


class Making(NamedTuple):
    """A signal that is made of others."""

    name: str
    inputs: frozenset[str]
    how: Bound | Method


class Plan(NamedTuple):
    """The pipeline of a car file, compiled."""

    signals: Mapping[str, Steps]
    makings: tuple[Making, ...]
    """What needs the result of another stands behind it, methods last."""


class Pipeline:
    """Applies a `Plan` to one decoded frame after the other; not for several threads at once.

    Per signal: apply → rename → emit → emit as canonical → derive; then whatever is made of several
    signals, once one of its inputs came with this frame and all have been seen. A signal without
    a rule passes through.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.latest: dict[str, float] = {}
        """The last value of each signal; for reading."""
        self.undefined: Counter[str] = Counter()
        """How often a signal was left out because its value was no finite number."""

    def feed(self, decoded: Mapping[str, float]) -> dict[str, float]:
        """The signals of this frame by name, all finite."""
        emitted: dict[str, float] = {}
        for raw, value in decoded.items():
            steps = self._plan.signals.get(raw)
            if steps is None:
                self._emit(raw, float(value), emitted)
            else:
                self._follow(raw, float(value), steps, emitted)
        for name, inputs, how in self._plan.makings:
            if inputs.isdisjoint(emitted) or not inputs <= self.latest.keys():
                continue
            made = how.call(self.latest) if isinstance(how, Method) else how(0.0, self.latest)
            if made is not None:
                self._emit(name, made, emitted)
        return emitted

    def _follow(self, raw: str, value: float, steps: Steps, emitted: dict[str, float]) -> None:
        for bound in steps.apply:
            changed = bound(value, self.latest)
            if changed is None:
                return
            value = changed
        if not math.isfinite(value):
            self.undefined[raw] += 1
            return
        for name in steps.names:
            self._emit(name, value, emitted)
        for name, bound in steps.derive:
            derived = bound(value, self.latest)
            if derived is not None:
                self._emit(name, derived, emitted)

    def _emit(self, name: str, value: float, emitted: dict[str, float]) -> None:
        if not math.isfinite(value):
            self.undefined[name] += 1
            return
        value += 0.0  # no minus zero
        emitted[name] = value
        self.latest.pop(name, None)
        self.latest[name] = value
        if len(self.latest) > CACHED:
            del self.latest[next(iter(self.latest))]


def compile_plan(car: CarFile) -> Plan:
    """Compile the rules of a car; raises `CarError`, which names the place of what is wrong."""
    signals = {raw: _steps(raw, rule) for raw, rule in car.signals.items()}
    derived = {}
    for name, made in car.derived.items():
        bound = _bound(f"derived.{name}", made.formula, made.bind, own=False)
        derived[name] = Making(name, frozenset(signal for _, signal in bound.signals), bound)
        if not derived[name].inputs:
            raise CarError(f"derived.{name}.bind: no signal is bound")
    methods = []
    for name, use in car.methods.items():
        try:
            method = bind_method(use.method, use.inputs, use.params)
        except MethodError as error:
            raise CarError(f"methods.{name}.{error}") from None
        methods.append(Making(name, frozenset(method.inputs), method))
    _check_names(signals, (*derived, *car.methods))
    return Plan(signals, (*_in_order(derived), *methods))


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
        formula = _formula(text, tuple(bind))
    except FormulaError as error:
        raise CarError(f"{place}.formula: {error}") from None
    if wrong := mismatch(formula.inputs, bind):
        raise CarError(f"{place}.bind: {wrong}")
    if not own and SELF in bind.values():
        raise CarError(f"{place}.bind: {SELF} stands for one signal, and this has several")
    return Bound(
        formula,
        {name: value for name, value in bind.items() if isinstance(value, float)},
        tuple(
            (name, value)
            for name, value in bind.items()
            if isinstance(value, str) and value != SELF
        ),
        tuple(name for name, value in bind.items() if value == SELF),
    )


def _formula(text: str, inputs: tuple[str, ...]) -> Formula:
    """A formula of the library by its name, else an expression over *inputs*."""
    if text in LIBRARY:
        return LIBRARY[text]
    if text.isidentifier():
        raise FormulaError(f"unknown formula: {text}")
    return compile_formula(text, inputs)


def _check_names(signals: Mapping[str, Steps], made: tuple[str, ...]) -> None:
    """No name may go out from two places: the two would take turns in one series."""
    owners: dict[str, str] = {}
    for raw, steps in signals.items():
        for name in (*steps.names, *(name for name, _ in steps.derive)):
            if owners.setdefault(name, raw) != raw or (name in signals and name != raw):
                other = owners[name] if owners[name] != raw else name
                raise CarError(f"signals.{raw}: {name} is also made by {other}")
        out = [*steps.names, *(name for name, _ in steps.derive)]
        if len(set(out)) != len(out):
            raise CarError(f"signals.{raw}: one name goes out twice")
    for name in made:
        if name in signals or owners.setdefault(name, name) != name or made.count(name) > 1:
            raise CarError(f"{name} is made twice")


def _in_order(derived: Mapping[str, Making]) -> list[Making]:
    needs = {name: made.inputs & derived.keys() for name, made in derived.items()}
    try:
        return [derived[name] for name in TopologicalSorter(needs).static_order()]
    except CycleError:
        raise CarError("derived: some of these need each other in a circle") from None
