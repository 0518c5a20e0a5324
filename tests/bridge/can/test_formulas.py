"""Formulas of car files: what they compute, and that they can do nothing else."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.can.formulas import FUNCTIONS, FormulaError, compile_formula

ONE = np.ones(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2 ** 3", 26),
        ("-a % 5", 3),
        ("1 if a < b else 2", 1),
        ("a < b < 4", 1),
        ("a > b or not b", 0),
        ("a and b", 1),
        ("max(a, b) - min(a, b, 0)", 3),
        ("round(2.345, 1) + floor(-0.5) + ceil(0.5)", 2.3),
        ("atan2(a - a, b)", 0),
        ("log(8, 2) + log10(100) + exp(0)", 6),
    ],
)
def test_an_expression_computes_as_python_does(text: str, expected: float) -> None:
    names = {"a": 2.0, "b": 3.0}
    used = {name: np.array([names[name]]) for name in compile_formula(text).inputs}
    assert compile_formula(text)(used)[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["1 / x", "sqrt(x - 1)", "log(x)", "9.0 ** 999 + x", "(-1) ** 0.5 + x"]
)
def test_what_is_undefined_is_nan(text: str) -> None:
    assert math.isnan(compile_formula(text)({"x": np.zeros(1)})[0])


REFUSED = [
    "x.real", "x[0]", "lambda: x", "[y for y in x]", "'text' + x", "x if y", "x = 1", "x; y",
    "import os", "__import__('os')", "open(x)", "max(x, key=x)", "max(*x)", "f'{x}'", "{x: 1}",
    "(x, 1)", "x := 1", "x @ y", "x // 2", "x << 2", "x is y", "x in y", "~x", "True", "None", "1j",
    "...", "sqrt", "sqrt()", "abs(x, x)", "min(x)", "x.__class__", "sqrt(x)(x)", "1e999", "await x",
    "", "x y", "0x1for x", "'\\d'", "9" * 400, "x" + "+x" * 600, "(" * 500, "-" * 200 + "x",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_everything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        compile_formula(text)


def test_inputs_are_exactly_those_declared() -> None:
    assert compile_formula("b + a").inputs == ("b", "a")
    for inputs, message in (
        (("a",), "unknown name: b"),
        (("a", "b", "c"), "c is not used"),
        (("a", "b", "sqrt"), "sqrt is a function"),
    ):
        with pytest.raises(FormulaError, match=message):
            compile_formula("a + b", inputs)


@given(st.text(max_size=40))
def test_no_text_does_more_than_fail(text: str) -> None:
    try:
        formula = compile_formula(text)
    except FormulaError:
        return
    assert not set(formula.inputs) & set(FUNCTIONS)
    assert formula(dict.fromkeys(formula.inputs, ONE), 3).shape == (3,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x / y", [math.nan, 0.5, math.nan]),
        ("1 / x if x > 0 else y", [2.0, 1.0, math.nan]),
        ("x and 1 / x", [0.0, 1.0, math.nan]),
        ("x or 1 / y", [1.0, 1.0, math.nan]),
        ("not x", [1.0, 0.0, math.nan]),
        ("min(x, y)", [0.0, 1.0, math.nan]),
        ("max(1 / x, 5)", [math.nan, 5.0, math.nan]),
        ("0 <= x < y", [1.0, 1.0, math.nan]),
        ("exp(1000 * x)", [1.0, math.nan, math.nan]),
        ("5", [5.0, 5.0, 5.0]),
    ],
)
def test_a_formula_is_undefined_only_in_rows_where_it_is(text: str, expected: list[float]) -> None:
    columns = {"x": np.array([0.0, 1.0, math.nan]), "y": np.array([2.0, 2.0, 0.0])}
    if text == "x / y":
        columns = {"x": np.array([math.nan, 1.0, 1.0]), "y": np.array([2.0, 2.0, 0.0])}
    formula = compile_formula(text)
    values = formula({name: columns[name] for name in formula.inputs}, 3)
    assert np.array_equal(values, np.array(expected), equal_nan=True)
