"""Compiles the arithmetic of car files into functions of columns without side effects."""

import ast
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH

MAX_TEXT: Final = 1000
MAX_NODES: Final = 300
MAX_DEPTH: Final = 40

Values: TypeAlias = Mapping[str, Numbers]
Node: TypeAlias = Callable[[Values], Numbers]
Operation: TypeAlias = Callable[..., Numbers]
_TRUE: Final = np.ones(1)


class FormulaError(ValueError):
    """A formula that cannot be used; the text names the faulty part."""


class _Function(NamedTuple):
    call: Operation
    least: int = 1
    most: int = 1


def _log(value: Numbers, base: Numbers | None = None) -> Numbers:
    return np.log(value) if base is None else np.log(value) / np.log(base)


def _round(value: Numbers, places: Numbers | None = None) -> Numbers:
    if places is None:
        return np.round(value)
    power = 10.0 ** np.trunc(places)
    return np.round(value * power) / power


def _smallest(*values: Numbers) -> Numbers:
    result = values[0]
    for value in values[1:]:
        result = np.minimum(result, value)
    return result


def _largest(*values: Numbers) -> Numbers:
    return -_smallest(*(-value for value in values))


FUNCTIONS: Final[Mapping[str, _Function]] = {
    "sqrt": _Function(np.sqrt),
    "abs": _Function(np.abs),
    "min": _Function(_smallest, 2, 16),
    "max": _Function(_largest, 2, 16),
    "sin": _Function(np.sin),
    "cos": _Function(np.cos),
    "tan": _Function(np.tan),
    "asin": _Function(np.arcsin),
    "acos": _Function(np.arccos),
    "atan": _Function(np.arctan),
    "atan2": _Function(np.arctan2, 2, 2),
    "log": _Function(_log, 1, 2),
    "log10": _Function(np.log10),
    "exp": _Function(np.exp),
    "pow": _Function(np.power, 2, 2),
    "floor": _Function(np.floor),
    "ceil": _Function(np.ceil),
    "round": _Function(_round, 1, 2),
}
_BINARY: Final[Mapping[type[ast.operator], Operation]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_COMPARE: Final[Mapping[type[ast.cmpop], Operation]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A compiled expression over named numbers. Comparisons, ``and``, ``or``, ``not``: 1 or 0."""

    text: str
    inputs: tuple[str, ...]
    """In order of appearance, or as declared."""
    node: Node

    def __call__(self, values: Values, rows: int = 1) -> Numbers:
        """Return the value of each row; NaN if undefined, too large, or with a NaN input.

        *values* holds a column of *rows* numbers, or one number, for each input.
        """
        with np.errstate(all="ignore"):
            result = self.node(values)
        return result if len(result) == rows else np.full(rows, result[0])


def compile_formula(text: str, inputs: tuple[str, ...] | None = None) -> Formula:
    """Compile an expression; it must use exactly the *inputs*, or any names with None.

    Raises `FormulaError` for anything but numbers, inputs, arithmetic, comparisons, ``and``,
    ``or``, ``not``, ``a if b else c`` and the calls in `FUNCTIONS`.
    """
    tree = _parse(text)
    nodes = list(ast.walk(tree))
    if len(nodes) > MAX_NODES:
        raise FormulaError("the formula has too many parts")
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    used = tuple(dict.fromkeys(n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))))
    for name in inputs or used:
        if name in FUNCTIONS:
            raise FormulaError(f"{name} is a function and cannot be an input")
    if inputs is not None:
        for name in used:
            if name not in inputs:
                raise FormulaError(f"unknown name: {name}")
        for name in inputs:
            if name not in used:
                raise FormulaError(f"the input {name} is not used")
    return Formula(text, used if inputs is None else inputs, _compile(tree, 0))


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_TEXT:
        raise FormulaError(f"a formula has at most {MAX_TEXT} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python only warns about is refused too
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError("not an expression") from None


def _replace_infinite(values: Numbers) -> Numbers:
    return np.where(np.isfinite(values), values, np.nan)


def _to_flag(holds: Numbers, *operands: Numbers) -> Numbers:
    """Return 1 or 0, NaN if an operand is NaN."""
    result = np.asarray(holds, np.float64)
    for operand in operands:
        result = np.where(np.isnan(operand), np.nan, result)
    return result


def _compile(node: ast.expr, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise FormulaError("the formula is nested too deeply")
    depth += 1
    match node:
        case ast.Constant():
            return _compile_constant(node.value)
        case ast.Name(id=name):
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _combine(np.negative, [_compile(operand, depth)])
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _compile(operand, depth)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _combine(lambda value: _to_flag(value == 0, value), [_compile(operand, depth)])
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
            both = [_compile(left, depth), _compile(right, depth)]
            return _combine(_BINARY[type(op)], both)
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            type(op) in _COMPARE for op in ops
        ):
            tests = [_COMPARE[type(op)] for op in ops]
            return _combine(partial(_compare, tests), [_compile(n, depth) for n in (left, *others)])
        case ast.BoolOp(op=op, values=values):
            join = partial(_join, isinstance(op, ast.And))
            return _combine(join, [_compile(value, depth) for value in values])
        case ast.IfExp(test=test, body=body, orelse=other):
            parts = [_compile(part, depth) for part in (test, body, other)]
            return _combine(_choose, parts)
        case ast.Call():
            return _compile_call(node, depth)
    wrong = getattr(node, "op", None) or next(iter(getattr(node, "ops", ())), node)
    raise FormulaError(f"not allowed in a formula: {type(wrong).__name__.lower()}")


def _combine(operate: Operation, parts: list[Node]) -> Node:
    return lambda values: _replace_infinite(operate(*(part(values) for part in parts)))


def _choose(test: Numbers, then: Numbers, other: Numbers) -> Numbers:
    return np.where(np.isnan(test), np.nan, np.where(test != 0, then, other))


def _compile_constant(value: object) -> Node:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError("only numbers may stand in a formula")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormulaError("a number in the formula is too large")
    column = np.array([number])
    return lambda _values: column


def _compare(tests: Sequence[Operation], *numbers: Numbers) -> Numbers:
    holds = _TRUE
    for test, left, right in zip(tests, numbers, numbers[1:], strict=False):
        holds = holds * test(left, right)
    return _to_flag(holds, *numbers)


def _join(every: bool, *terms: Numbers) -> Numbers:
    """Return ``and`` (*every*) or ``or`` of the terms, evaluated with short circuit."""
    result = terms[0]
    for term in terms[1:]:
        is_open = np.isfinite(result) & ((result != 0) == every)
        result = np.where(is_open, term, result)
    return _to_flag(result != 0, result)


def _compile_call(node: ast.Call, depth: int) -> Node:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        raise FormulaError("only these can be called: " + ", ".join(FUNCTIONS))
    name = node.func.id
    function = FUNCTIONS[name]
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise FormulaError(f"{name} takes plain arguments only")
    if not function.least <= len(node.args) <= function.most:
        raise FormulaError(f"{name} takes {_describe_arity(function)}")
    return _combine(function.call, [_compile(argument, depth) for argument in node.args])


def _describe_arity(function: _Function) -> str:
    if function.least == function.most:
        return "one argument" if function.least == 1 else f"{function.least} arguments"
    return f"{function.least} to {function.most} arguments"


def _compile_x(text: str) -> Formula:
    return compile_formula(text, ("x",))


LIBRARY: Final[Mapping[str, Formula]] = {
    "identity": _compile_x("x"),
    "negate": _compile_x("-x"),
    "linear": compile_formula("a * x + b", ("x", "a", "b")),
    "scale": compile_formula("x * factor", ("x", "factor")),
    "offset": compile_formula("x + offset", ("x", "offset")),
    "mph_to_ms": _compile_x("x * 0.44704"),
    "kmh_to_ms": _compile_x(f"x / {KMH}"),
    "ms_to_kmh": _compile_x(f"x * {KMH}"),
    "ms_to_mph": _compile_x("x * 2.2369362920544"),
    "psi_to_bar": _compile_x("x * 0.0689476"),
    "bar_to_psi": _compile_x("x * 14.5038"),
    "kpa_to_bar": _compile_x("x / 100"),
    "bar_to_kpa": _compile_x("x * 100"),
    "psi_to_kpa": _compile_x("x * 6.89476"),
    "f_to_c": _compile_x("(x - 32) * 5 / 9"),
    "c_to_f": _compile_x("x * 9 / 5 + 32"),
    "c_to_k": _compile_x("x + 273.15"),
    "k_to_c": _compile_x("x - 273.15"),
    "deg_to_rad": _compile_x(f"x * {math.pi!r} / 180"),
    "rad_to_deg": _compile_x(f"x * 180 / {math.pi!r}"),
    "gal_to_l": _compile_x("x * 3.785411784"),
    "l_to_gal": _compile_x("x * 0.26417205236"),
    "combo_g": compile_formula("sqrt(g_lat ** 2 + g_long ** 2)", ("g_lat", "g_long")),
    "magnitude_3d": compile_formula("sqrt(x ** 2 + y ** 2 + z ** 2)", ("x", "y", "z")),
    "mean_2": compile_formula("(a + b) / 2", ("a", "b")),
    "mean_4": compile_formula("(a + b + c + d) / 4", ("a", "b", "c", "d")),
    "clamp": compile_formula("min(max(x, low), high)", ("x", "low", "high")),
    "deadzone": compile_formula("0 if abs(x) < width else x", ("x", "width")),
    "rpm_per_kmh": compile_formula("rpm / kmh if kmh > 0 else 0", ("rpm", "kmh")),
}
"""Formulas that car files may name."""
