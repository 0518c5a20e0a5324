"""Compiles arithmetic written in car files into functions that can do nothing but arithmetic."""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

MAX_TEXT: Final = 1000
MAX_NODES: Final = 300
MAX_DEPTH: Final = 40

Values: TypeAlias = Mapping[str, float]
Node: TypeAlias = Callable[[Values], float]
NAN: Final = float("nan")


class FormulaError(ValueError):
    """A formula that cannot be used; the text says which part of it."""


class _Function(NamedTuple):
    call: Callable[..., float]
    least: int = 1
    most: int = 1


def _round(value: float, places: float = 0.0) -> float:
    return float(round(value, int(places)))


FUNCTIONS: Final[Mapping[str, _Function]] = {
    "sqrt": _Function(math.sqrt),
    "abs": _Function(abs),
    "min": _Function(min, 2, 16),
    "max": _Function(max, 2, 16),
    "sin": _Function(math.sin),
    "cos": _Function(math.cos),
    "tan": _Function(math.tan),
    "asin": _Function(math.asin),
    "acos": _Function(math.acos),
    "atan": _Function(math.atan),
    "atan2": _Function(math.atan2, 2, 2),
    "log": _Function(math.log, 1, 2),
    "log10": _Function(math.log10),
    "exp": _Function(math.exp),
    "pow": _Function(math.pow, 2, 2),
    "floor": _Function(lambda x: float(math.floor(x))),
    "ceil": _Function(lambda x: float(math.ceil(x))),
    "round": _Function(_round, 1, 2),
}
_BINARY: Final[Mapping[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,  # of floats it never turns complex
}
_COMPARE: Final[Mapping[type[ast.cmpop], Callable[[float, float], bool]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True, eq=False)
class Formula:
    """A compiled expression over named numbers. Comparisons, ``and``, ``or``, ``not``: 1 or 0."""

    text: str
    inputs: tuple[str, ...]
    """In the order in which they appear, or as declared."""
    node: Node

    def __call__(self, **values: float) -> float:
        """The value; NaN where it is undefined. Raises `FormulaError` for other inputs."""
        if values.keys() != set(self.inputs):
            raise FormulaError(mismatch(self.inputs, values))
        return self.evaluate(values)

    def evaluate(self, values: Values) -> float:
        """The value; NaN where it is undefined. *values* hold every input."""
        try:
            return self.node(values)
        except (ArithmeticError, ValueError):
            return NAN


def mismatch(inputs: tuple[str, ...], given: Mapping[str, object]) -> str:
    """What is missing or too much, in words; empty for a perfect match."""
    for name in inputs:
        if name not in given:
            return f"the input {name} is not bound"
    for name in given:
        if name not in inputs:
            return f"there is no input {name}"
    return ""


def compile_formula(text: str, inputs: tuple[str, ...] | None = None) -> Formula:
    """Compile an expression; *inputs* are all names it may and must use, None: those it uses.

    Raises `FormulaError` for everything but numbers, inputs, arithmetic, comparisons, ``and``,
    ``or``, ``not``, ``a if b else c`` and the calls in `FUNCTIONS`.
    """
    tree = _parse(text)
    nodes = list(ast.walk(tree))
    if len(nodes) > MAX_NODES:
        raise FormulaError("the formula has too many parts")
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    found = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    used = tuple(dict.fromkeys(n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset))))
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
            warnings.simplefilter("error")  # what Python merely frowns at is no formula either
            return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError("not an expression") from None


def _compile(node: ast.expr, depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise FormulaError("the formula is nested too deeply")
    match node:
        case ast.Constant():
            return _constant(node.value)
        case ast.Name():
            return operator.itemgetter(node.id)
        case ast.UnaryOp():
            return _unary(node, depth)
        case ast.BinOp():
            return _binary(node, depth)
        case ast.Compare():
            return _comparison(node, depth)
        case ast.BoolOp():
            return _boolean(node, depth)
        case ast.IfExp():
            return _choice(node, depth)
        case ast.Call():
            return _call(node, depth)
    raise FormulaError(f"not allowed in a formula: {_word(node)}")


def _choice(node: ast.IfExp, depth: int) -> Node:
    test, then = _compile(node.test, depth + 1), _compile(node.body, depth + 1)
    other = _compile(node.orelse, depth + 1)
    return lambda values: then(values) if test(values) else other(values)


def _constant(value: object) -> Node:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError("only numbers may stand in a formula")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FormulaError("a number in the formula is too large")
    return lambda _values: number


def _unary(node: ast.UnaryOp, depth: int) -> Node:
    operand = _compile(node.operand, depth + 1)
    match node.op:
        case ast.USub():
            return lambda values: -operand(values)
        case ast.UAdd():
            return operand
        case ast.Not():
            return lambda values: 0.0 if operand(values) else 1.0
    raise FormulaError(f"not allowed in a formula: {_word(node.op)}")


def _binary(node: ast.BinOp, depth: int) -> Node:
    operate = _BINARY.get(type(node.op))
    if operate is None:
        raise FormulaError(f"not allowed in a formula: {_word(node.op)}")
    left, right = _compile(node.left, depth + 1), _compile(node.right, depth + 1)
    return lambda values: operate(left(values), right(values))


def _comparison(node: ast.Compare, depth: int) -> Node:
    terms = [_compile(term, depth + 1) for term in (node.left, *node.comparators)]
    tests = []
    for op in node.ops:
        if type(op) not in _COMPARE:
            raise FormulaError(f"not allowed in a formula: {_word(op)}")
        tests.append(_COMPARE[type(op)])

    def compare(values: Values) -> float:
        numbers = [term(values) for term in terms]
        pairs = zip(tests, numbers, numbers[1:], strict=False)
        return 1.0 if all(test(a, b) for test, a, b in pairs) else 0.0

    return compare


def _boolean(node: ast.BoolOp, depth: int) -> Node:
    terms = [_compile(term, depth + 1) for term in node.values]
    every = all if isinstance(node.op, ast.And) else any
    return lambda values: 1.0 if every(term(values) for term in terms) else 0.0


def _call(node: ast.Call, depth: int) -> Node:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
        raise FormulaError("only these can be called: " + ", ".join(FUNCTIONS))
    name = node.func.id
    function = FUNCTIONS[name]
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        raise FormulaError(f"{name} takes plain arguments only")
    if not function.least <= len(node.args) <= function.most:
        raise FormulaError(f"{name} takes {_arity(function)}")
    arguments = [_compile(argument, depth + 1) for argument in node.args]
    call = function.call
    return lambda values: call(*[argument(values) for argument in arguments])


def _arity(function: _Function) -> str:
    if function.least == function.most:
        return "one argument" if function.least == 1 else f"{function.least} arguments"
    return f"{function.least} to {function.most} arguments"


def _word(node: ast.AST) -> str:
    return type(node).__name__.lower()


def _of_x(text: str) -> Formula:
    return compile_formula(text, ("x",))


LIBRARY: Final[Mapping[str, Formula]] = {
    "identity": _of_x("x"),
    "negate": _of_x("-x"),
    "linear": compile_formula("a * x + b", ("x", "a", "b")),
    "scale": compile_formula("x * factor", ("x", "factor")),
    "offset": compile_formula("x + offset", ("x", "offset")),
    "mph_to_ms": _of_x("x * 0.44704"),
    "kmh_to_ms": _of_x("x / 3.6"),
    "ms_to_kmh": _of_x("x * 3.6"),
    "ms_to_mph": _of_x("x * 2.2369362920544"),
    "psi_to_bar": _of_x("x * 0.0689476"),
    "bar_to_psi": _of_x("x * 14.5038"),
    "kpa_to_bar": _of_x("x / 100"),
    "bar_to_kpa": _of_x("x * 100"),
    "psi_to_kpa": _of_x("x * 6.89476"),
    "f_to_c": _of_x("(x - 32) * 5 / 9"),
    "c_to_f": _of_x("x * 9 / 5 + 32"),
    "c_to_k": _of_x("x + 273.15"),
    "k_to_c": _of_x("x - 273.15"),
    "deg_to_rad": _of_x(f"x * {math.pi!r} / 180"),
    "rad_to_deg": _of_x(f"x * 180 / {math.pi!r}"),
    "gal_to_l": _of_x("x * 3.785411784"),
    "l_to_gal": _of_x("x * 0.26417205236"),
    "combo_g": compile_formula("sqrt(g_lat ** 2 + g_long ** 2)", ("g_lat", "g_long")),
    "magnitude_3d": compile_formula("sqrt(x ** 2 + y ** 2 + z ** 2)", ("x", "y", "z")),
    "mean_2": compile_formula("(a + b) / 2", ("a", "b")),
    "mean_4": compile_formula("(a + b + c + d) / 4", ("a", "b", "c", "d")),
    "clamp": compile_formula("min(max(x, low), high)", ("x", "low", "high")),
    "deadzone": compile_formula("0 if abs(x) < width else x", ("x", "width")),
    "rpm_per_kmh": compile_formula("rpm / kmh if kmh > 0 else 0", ("rpm", "kmh")),
}
"""Formulas that a car file may name."""
