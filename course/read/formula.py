"""Formulas of a trace: one Python expression over columns and numbers, read strictly.

`parse` turns the text into a tree of JSON values, `evaluate` computes it for the first drawing,
and `assets/trace.js` computes the same tree again in the page when a slider moves. A number
stands for itself, a text is a name, a list is a function with what it is given. Whatever has no
value (a division by zero, the root of a negative number, a blank cell) is NaN.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from course.diagnostics import nearest, shorten

Tree = float | str | list[Any]
Column = list[float]
Value = float | Column
LIMIT: Final = 400  # characters of one formula
NAN: Final = math.nan


class FormulaError(Exception):
    """A formula that cannot be read or computed; ``hint`` says what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Scope(NamedTuple):
    """The meaning of names: ``values`` by name, and ``x``, along which columns are integrated."""

    values: Mapping[str, Value]
    x: Column


# -- functions ----------------------------------------------------------------------------------


def _and(a: float, b: float) -> float:
    return float(a != 0 and b != 0)


def _or(a: float, b: float) -> float:
    return float(a != 0 or b != 0)


def _sign(a: float) -> float:
    return float((a > 0) - (a < 0))


def _smallest(*values: float) -> float:
    return min(values) if math.isfinite(sum(values)) else _unless_nan(min, values)


def _largest(*values: float) -> float:
    return max(values) if math.isfinite(sum(values)) else _unless_nan(max, values)


def _unless_nan(choose: Callable[..., float], values: tuple[float, ...]) -> float:
    return NAN if any(map(math.isnan, values)) else choose(values)


def _where(condition: float, then: float, other: float) -> float:
    if math.isnan(condition):
        return NAN
    return then if condition else other


ROWS: Final[dict[str, Callable[..., float]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": lambda a, b: a - b * math.floor(a / b),
    "**": math.pow,
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "and": _and,
    "or": _or,
    "not": lambda a: float(a == 0),
    "neg": operator.neg,
    "sqrt": math.sqrt,
    "abs": abs,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "atan": math.atan,
    "atan2": math.atan2,
    "hypot": math.hypot,
    "floor": math.floor,
    "round": lambda a: math.floor(a + 0.5),
    "sign": _sign,
    "where": _where,
}
"""Functions that are computed row by row, operators among them."""


def _carry_forward(column: Column) -> Column:
    return [value for value in column if not math.isnan(value)]


FOLDS: Final[dict[str, Callable[[Column], float]]] = {
    "min": lambda column: min(_carry_forward(column), default=NAN),
    "max": lambda column: max(_carry_forward(column), default=NAN),
    "sum": lambda column: sum(_carry_forward(column)),
    "mean": lambda column: sum(_carry_forward(column)) / len(_carry_forward(column)),
    "first": lambda column: column[0],
    "last": lambda column: column[-1],
    "count": lambda column: float(sum(value == 1 for value in column)),
}
"""Functions of a column that give one number."""


def _x_of(choose: Callable[[Column], float]) -> Callable[[Column, Column], float]:
    def find(column: Column, x: Column) -> float:
        kept = _carry_forward(column)
        return x[column.index(choose(kept))] if kept else NAN

    return find


def _first_x(condition: Column, x: Column) -> float:
    return next((at for at, value in zip(x, condition, strict=True) if value == 1), NAN)


PLACES: Final = {"argmin": _x_of(min), "argmax": _x_of(max), "first_x": _first_x}
"""Functions of a column that give a place on x."""


def _integral(column: Column, x: Column) -> Column:
    total, sums = 0.0, [0.0]
    for n in range(1, len(x)):
        total += (x[n] - x[n - 1]) * (column[n] + column[n - 1]) / 2
        sums.append(total)
    return sums


def _slope(column: Column, x: Column) -> Column:
    last = len(x) - 1
    return [
        _guard(operator.truediv, column[b] - column[a], x[b] - x[a])
        for a, b in ((max(n - 1, 0), min(n + 1, last)) for n in range(last + 1))
    ]


def _smooth(column: Column, x: Column, width: float) -> Column:
    """The mean of the rows within half of *width* on either side."""
    means: Column = []
    start = end = 0
    for at in x:
        while x[start] < at - width / 2:
            start += 1
        while end < len(x) and x[end] <= at + width / 2:
            end += 1
        kept = _carry_forward(column[start:end])
        means.append(sum(kept) / len(kept) if kept else NAN)
    return means


def _lag(column: Column, x: Column, tau: float) -> Column:
    followed = [column[0]]
    for n in range(1, len(x)):
        part = 1 - math.exp((x[n - 1] - x[n]) / tau) if tau > 0 else 1.0
        followed.append(followed[-1] + (column[n] - followed[-1]) * part)
    return followed


def _so_far(choose: Callable[[float, float], float]) -> Callable[[Column], Column]:
    def run(column: Column) -> Column:
        best, kept = NAN, []
        for value in column:
            if not math.isnan(value):
                best = value if math.isnan(best) else choose(best, value)
            kept.append(best)
        return kept

    return run


RUNS: Final[dict[str, Callable[[Column], Column]]] = {
    "cummin": _so_far(min),
    "cummax": _so_far(max),
    "reverse": lambda column: column[::-1],
}
"""Functions of a column that give a column."""

SCANS: Final[dict[str, Callable[..., Column]]] = {
    "integral": _integral,
    "slope": _slope,
    "smooth": _smooth,
    "lag": _lag,
}
"""Functions of a column that give a column along x; a width or tau is a distance on x."""

ALONG: Final = frozenset((*PLACES, *SCANS, "at", "shift"))
"""The functions that make sense only where x rises."""

_COUNTS: Final[dict[str, tuple[int, int]]] = {
    **dict.fromkeys((*FOLDS, *PLACES, *RUNS, *SCANS), (1, 1)),
    **dict.fromkeys(("sqrt", "abs", "exp", "log", "sin", "cos", "tan", "atan"), (1, 1)),
    **dict.fromkeys(("floor", "round", "sign"), (1, 1)),
    **dict.fromkeys(("atan2", "hypot", "smooth", "lag", "at", "shift"), (2, 2)),
    "where": (3, 3),
    "min": (1, 9),
    "max": (1, 9),
}
"""How many values each function takes: at least, at most."""

FUNCTIONS: Final = frozenset((*_COUNTS, "start"))
CONSTANTS: Final = {"pi": math.pi}


def at(column: Column, x: Column, place: float) -> float:
    """The value of *column* at *place* on *x*: interpolated, the ends held."""
    if math.isnan(place):
        return NAN
    if place <= x[0]:
        return column[0]
    if place >= x[-1]:
        return column[-1]
    low, high = 0, len(x) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if x[middle] <= place else (low, middle)
    part = (place - x[low]) / (x[high] - x[low])
    return column[low] if part == 0 else column[low] + part * (column[high] - column[low])


# -- reading ------------------------------------------------------------------------------------


_BINARY: Final[dict[type[ast.AST], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "neg",
}


def parse(text: str | float, names: Collection[str], starts: Mapping[str, float]) -> Tree:
    """The tree of the formula *text*, which may use *names*.

    *starts* has the first value of each slider, for ``start(name)``. Raises FormulaError.
    """
    source = str(text).strip()
    if len(source) > LIMIT:
        raise FormulaError(
            f"the formula is longer than {LIMIT} characters", "name a part of it under values:"
        )
    try:
        expression = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        what = shorten(getattr(error, "msg", None) or "it is nested too deeply")
        raise FormulaError(
            f"the formula cannot be read: {what}", "write it as in Python, such as 3.6*sqrt(a*x)"
        ) from error
    return _Parser(names, starts).tree(expression)


class _Parser:
    def __init__(self, names: Collection[str], starts: Mapping[str, float]) -> None:
        self.names = names
        self.starts = starts

    def tree(self, node: ast.expr) -> Tree:
        match node:
            case ast.Constant(value=bool() | str() | bytes() | None):
                raise FormulaError("a formula has numbers and names only", "remove the quotes")
            case ast.Constant(value=int() | float() as number) if math.isfinite(number):
                return float(number)
            case ast.Name(id=name):
                return self.name(name)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.tree(operand)
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _BINARY:
                return [_BINARY[type(op)], self.tree(operand)]
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                return [_BINARY[type(op)], self.tree(left), self.tree(right)]
            case ast.BinOp(op=ast.BitXor()):
                raise FormulaError("^ is not an operator here", "write ** for a power")
            case ast.BoolOp(op=op, values=values):
                first, *rest = map(self.tree, values)
                for value in rest:
                    first = [_BINARY[type(op)], first, value]
                return first
            case ast.Compare(ops=[op], left=left, comparators=[right]) if type(op) in _BINARY:
                return [_BINARY[type(op)], self.tree(left), self.tree(right)]
            case ast.Compare():
                raise FormulaError("one comparison at a time", "join two of them with and")
            case ast.IfExp(test=test, body=body, orelse=other):
                return ["where", self.tree(test), self.tree(body), self.tree(other)]
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(name, args)
        raise FormulaError(
            f'"{shorten(ast.unparse(node))}" has no meaning in a formula',
            "use numbers, names, operators and the listed functions",
        )

    def name(self, name: str) -> Tree:
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in self.names:
            return name
        if name in FUNCTIONS:
            raise FormulaError(f"{name} is a function", f"write {name}(…)")
        hint = nearest(name, [*self.names, *CONSTANTS])
        names = ", ".join(sorted(self.names)) or "none"
        raise FormulaError(f'nothing is called "{name}"', hint or f"the names are: {names}")

    def call(self, name: str, args: Sequence[ast.expr]) -> Tree:
        if name == "start":
            match args:
                case [ast.Name(id=slider)] if slider in self.starts:
                    return float(self.starts[slider])
            raise FormulaError("start() takes the name of a slider", nearest(name, self.starts))
        if name not in _COUNTS:
            hint = nearest(name, FUNCTIONS) or f"the functions are: {', '.join(sorted(FUNCTIONS))}"
            raise FormulaError(f'there is no function "{name}"', hint)
        least, most = _COUNTS[name]
        if not least <= len(args) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            plural = "" if most == 1 else "s"
            hint = "separate them by commas" if args else "write them between the brackets"
            raise FormulaError(f"{name}() takes {wanted} value{plural}, not {len(args)}", hint)
        return [name, *map(self.tree, args)]


def list_names(tree: Tree) -> Iterator[str]:
    """Every name of a column, slider or value in *tree*."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, list):
        for part in tree[1:]:
            yield from list_names(part)


def list_functions(tree: Tree) -> Iterator[str]:
    """Every function in *tree*."""
    if isinstance(tree, list):
        yield tree[0]
        for part in tree[1:]:
            yield from list_functions(part)


# -- computing ----------------------------------------------------------------------------------


def evaluate(tree: Tree, scope: Scope) -> Value:
    """The value of *tree*: a number, or a column of one number a row."""
    if isinstance(tree, str):
        return scope.values[tree]
    if not isinstance(tree, list):
        return tree
    name, *parts = tree
    args = [evaluate(part, scope) for part in parts]
    column = make_column(args[0], scope)
    if name in FOLDS and len(args) == 1:
        return _guard(FOLDS[name], column)
    if name in PLACES:
        return _guard(PLACES[name], column, scope.x)
    if name in RUNS:
        return RUNS[name](column)
    if name in SCANS:
        rest = [_number_of(arg) for arg in args[1:]]
        return _without_infinity(SCANS[name](column, scope.x, *rest))
    if name in ("at", "shift"):
        place = args[1]
        if name == "shift":
            place = [
                x - offset for x, offset in zip(scope.x, make_column(place, scope), strict=True)
            ]
        if isinstance(place, list):
            return [at(column, scope.x, here) for here in place]
        return at(column, scope.x, place)
    return _by_row(_ROW_FUNCTIONS[name], args)


_ROW_FUNCTIONS: Final = {**ROWS, "min": _smallest, "max": _largest}


def _by_row(function: Callable[..., float], args: list[Value]) -> Value:
    rows = next((len(arg) for arg in args if isinstance(arg, list)), None)
    if rows is None:
        return _guard(function, *args)
    columns = [arg if isinstance(arg, list) else [arg] * rows for arg in args]
    try:
        return _without_infinity([*map(function, *columns)])
    except (ArithmeticError, ValueError):  # some row has no result: the others keep theirs
        return [_guard(function, *row) for row in zip(*columns, strict=True)]


def _guard(function: Callable[..., float], *args: Any) -> float:
    """The result, or NaN where mathematics has none."""
    try:
        return _finite(function(*args))
    except (ArithmeticError, ValueError):
        return NAN


def _without_infinity(column: Column) -> Column:
    """*column* with NaN in the place of what is infinite, which is in hardly any."""
    return column if math.isfinite(sum(column)) else [*map(_finite, column)]


def _finite(value: float) -> float:
    return value if math.isfinite(value) else NAN


def make_column(value: Value, scope: Scope) -> Column:
    """Return *value* as a column: a number is repeated in each row."""
    return value if isinstance(value, list) else [value] * len(scope.x)


def _number_of(value: Value) -> float:
    """*value* as a number; of a column the first."""
    return value[0] if isinstance(value, list) else value
