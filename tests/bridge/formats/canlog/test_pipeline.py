"""The rules of a car give the same signals by columns as frame by frame."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.can.carfile import parse_car
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.formulas import LIBRARY, compile_formula
from runtime.bridge.can.pipeline import Pipeline, Plan, compile_plan
from runtime.bridge.formats.canlog.decoder import Column
from runtime.bridge.formats.canlog.pipeline import ColumnPipeline
from runtime.bridge.formats.canlog.vector import ColumnFormula
from tests.bridge.formats.canlog.test_decoder import ROOT

Frames = list[dict[str, float]]
NUMBERS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e308, -1e308, 710.0, 1e-320, 3.7]),
    st.floats(-1e6, 1e6, allow_nan=False),
)
FORMULAS = [
    "x + y * 2 - -x", "x / y", "x % y", "x ** y", "x ** 2", "sqrt(x)", "sqrt(abs(x) + y)",
    "min(x, y, 3)", "max(x, y)", "x if y else 7", "1 / x if x > 0 else y", "not x",
    "x > y and y / x", "x or 1 / y", "0 < x < y <= 5", "x == y", "x != 1", "log(x)", "log(x, y)",
    "exp(x)", "floor(x)", "ceil(x * y)", "round(x, 2)", "round(y)", "atan2(x, y)",
    "sin(x) + cos(y)",
    "asin(x)", "pow(x, 0.5)", "x * x * x - x * x * x", "1 if x * x - x * x else 2", "max(x / y, 1)",
    "min(1, x * 1e308 - x * 1e308)", "5", "tan(x) if x < 1 else log10(y)",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
@settings(max_examples=12, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12))
def test_a_formula_over_columns_is_the_formula_of_each_row(
    text: str, rows: list[tuple[float, float]]
) -> None:
    formula = compile_formula(text)
    columns = dict(zip("xy", np.array(rows).T, strict=True))
    found = ColumnFormula(formula)(columns, len(rows))
    expected = [
        formula.evaluate({name: float(column[at]) for name, column in columns.items()})
        for at in range(len(rows))
    ]
    assert found.shape == (len(rows),)
    assert np.array_equal(found, np.array(expected), equal_nan=True)


def test_the_formulas_of_the_library_are_the_same_over_columns() -> None:
    chance = np.random.default_rng(2)
    for formula in LIBRARY.values():
        columns = {name: chance.normal(0, 50, 200) for name in formula.inputs}
        rows = [{name: float(one[at]) for name, one in columns.items()} for at in range(200)]
        expected = np.array([formula.evaluate(row) for row in rows])
        assert np.array_equal(ColumnFormula(formula)(columns, 200), expected, equal_nan=True)


def columns_of(frames: Frames, messages: Sequence[Sequence[str]]) -> list[Column]:
    """Frames as a decoder would give them: a column a signal and message."""
    found = []
    sent = [next(one for one in messages if frame.keys() <= set(one)) for frame in frames]
    for message in messages:
        for place, name in enumerate(message):
            rows = [at for at, one in enumerate(frames) if sent[at] is message and name in one]
            if rows:
                values = np.array([frames[at][name] for at in rows])
                found.append(Column(name, place, np.array(rows, np.intp), values))
    return found


def check(plan: Plan, messages: Sequence[Sequence[str]], frames: Frames, cut: int) -> bool:
    """Both ways give the same; whether columns were used."""
    scalar = Pipeline(plan)
    expected: dict[str, list[tuple[int, float]]] = {}
    for at, frame in enumerate(frames):
        for name, value in scalar.feed(frame).items():
            expected.setdefault(name, []).append((at, value))
    pipeline = ColumnPipeline(plan, {name for message in messages for name in message})
    found: dict[str, list[tuple[int, float]]] = {}
    for begin in range(0, len(frames), cut):
        part = frames[begin : begin + cut]
        for name, (rows, values) in pipeline.feed(columns_of(part, messages)).items():
            pairs = zip((rows + begin).tolist(), values.tolist(), strict=True)
            found.setdefault(name, []).extend(pairs)
    assert {name: rows for name, rows in found.items() if rows} == expected
    assert +pipeline.undefined == +scalar.undefined
    return pipeline.by_columns


def random_frames(messages: Sequence[Sequence[str]], count: int, seed: int) -> Frames:
    chance = random.Random(seed)
    frames = []
    for _ in range(count):
        names = chance.choice(messages)
        kept = names if chance.random() < 0.8 else names[: chance.randrange(len(names) + 1)]
        odd = [0.0, -0.0, math.nan, math.inf, 1e308, -3.5]
        frames.append(
            {
                name: chance.choice(odd) if chance.random() < 0.1 else chance.uniform(-99, 99)
                for name in kept
            }
        )
    return frames


@pytest.mark.parametrize("car", ["tarnhow-pip-180", "oberling-vesper-30"])
@pytest.mark.parametrize("cut", [1, 17, 1000])
def test_the_shipped_cars_give_the_same_by_columns(car: str, cut: int) -> None:
    loaded = load_car(ROOT / "data" / "cars" / f"{car}.yaml")
    messages = [list(frame.channels) for frame in loaded.file.frames.values()]
    assert check(loaded.plan, messages, random_frames(messages, 400, cut), cut)


CROSSED = b"""
car: {make: Test}
signals:
  a:
    apply:
      - {formula: x + other, bind: {x: $self, other: b}}
      - {sign_flip: true}
    rename_to: a2
    canonical: rpm
    derive:
      - {name: d1, formula: x / y, bind: {x: $self, y: c}}
      - {name: d2, formula: x * y, bind: {x: $self, y: b}}
  b: {apply: [{bias: 1.5}]}
derived:
  late: {formula: p - q, bind: {p: d1, q: c}}
  later: {formula: p * 2 + r, bind: {p: late, r: a2}}
"""
RING = b"""
car: {make: Test}
signals:
  a: {derive: [{name: d1, formula: x + y, bind: {x: $self, y: d2}}]}
  b: {derive: [{name: d2, formula: x + y, bind: {x: $self, y: a}}]}
  c: {apply: [{formula: x * 0.1 + y * 0.9, bind: {x: $self, y: c}}]}
derived:
  combo: {formula: p - q, bind: {p: d1, q: c}}
"""


@pytest.mark.parametrize("cut", [1, 7, 1000])
@pytest.mark.parametrize(
    ("car", "messages", "by_columns"),
    [
        (CROSSED, [["a", "b", "c"]], True),
        (CROSSED, [["c", "b", "a"], ["e"]], True),
        (CROSSED, [["a"], ["b"], ["c", "e"]], True),
        (CROSSED, [["a", "b"], ["b", "c"]], True),
        (CROSSED, [["a", "late"], ["b", "c"]], False),
        (RING, [["a", "b", "c"]], False),
        (RING, [["c", "b"], ["a"]], False),
    ],
)
def test_rules_that_need_other_signals_give_the_same(
    car: bytes, messages: list[list[str]], by_columns: bool, cut: int
) -> None:
    plan = compile_plan(parse_car(car))
    for seed in range(3):
        frames = random_frames(messages, 120, seed)
        assert check(plan, messages, frames, cut) is by_columns
