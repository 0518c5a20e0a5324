"""Evaluates the formulas of car files over whole columns, to the bit like one value at a time.

Sums, products, comparisons and square roots are the same in NumPy and in Python and are done in
NumPy; whatever the two may round differently is asked of Python, element by element.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.can.formulas import FUNCTIONS, Formula
from runtime.bridge.session.recording import Numbers

Flags: TypeAlias = npt.NDArray[np.bool_]
Inputs: TypeAlias = Mapping[str, Numbers]


class _Found(NamedTuple):
    """Numbers, and where they are undefined; what stands there does not matter."""

    values: Numbers
    bad: Flags


_Evaluate: TypeAlias = Callable[[Inputs], _Found]
_SIMPLE: Final = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply}
_COMPARE: Final = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}


class ColumnFormula:
    """A formula over columns of one length."""

    def __init__(self, formula: Formula) -> None:
        self.inputs = formula.inputs
        self._evaluate = _compile(ast.parse(formula.text.strip(), mode="eval").body)

    def __call__(self, values: Inputs, length: int) -> Numbers:
        """What `Formula.evaluate` gives for each row; NaN where it is undefined.

        Inputs that are constants may have one element.
        """
        with np.errstate(all="ignore"):
            found = self._evaluate(values)
            result = np.where(found.bad, np.nan, found.values)
        return np.ascontiguousarray(np.broadcast_to(result, (length,)))


def _compile(node: ast.expr) -> _Evaluate:
    match node:
        case ast.Constant(value=int() | float() as value):
            return _constant(float(value))
        case ast.Name(id=name):
            return lambda inputs: _Found(inputs[name], _GOOD)
        case ast.UnaryOp():
            return _unary(node)
        case ast.BinOp():
            return _binary(node)
        case ast.Compare():
            return _comparison(node)
        case ast.BoolOp():
            return _boolean(node)
        case ast.IfExp():
            return _choice(node)
        case ast.Call(func=ast.Name(id=name)):
            return _call(name, [_compile(argument) for argument in node.args])
    raise TypeError("no node of a compiled formula")


_GOOD: Final[Flags] = np.zeros(1, np.bool_)


def _constant(value: float) -> _Evaluate:
    found = _Found(np.array([value]), _GOOD)
    return lambda _inputs: found


def _unary(node: ast.UnaryOp) -> _Evaluate:
    operand = _compile(node.operand)
    match node.op:
        case ast.USub():

            def negate(inputs: Inputs) -> _Found:
                values, bad = operand(inputs)
                return _Found(-values, bad)

            return negate
        case ast.Not():

            def invert(inputs: Inputs) -> _Found:
                values, bad = operand(inputs)
                return _Found((values == 0).astype(np.float64), bad)

            return invert
    return operand


def _binary(node: ast.BinOp) -> _Evaluate:
    left, right = _compile(node.left), _compile(node.right)
    simple = _SIMPLE.get(type(node.op))
    if simple is not None:

        def operate(inputs: Inputs) -> _Found:
            a, b = left(inputs), right(inputs)
            return _Found(simple(a.values, b.values), a.bad | b.bad)

        return operate
    if isinstance(node.op, ast.Div):

        def divide(inputs: Inputs) -> _Found:
            a, b = left(inputs), right(inputs)
            return _Found(a.values / b.values, a.bad | b.bad | (b.values == 0))

        return divide
    if isinstance(node.op, ast.Mod):
        return _one_by_one(operator.mod, [left, right])
    return _one_by_one(FUNCTIONS["pow"].call, [left, right])


def _comparison(node: ast.Compare) -> _Evaluate:
    terms = [_compile(term) for term in (node.left, *node.comparators)]
    tests = [_COMPARE[type(op)] for op in node.ops]

    def compare(inputs: Inputs) -> _Found:
        found = [term(inputs) for term in terms]
        pairs = zip(tests, found, found[1:], strict=False)
        holds = [test(a.values, b.values) for test, a, b in pairs]
        bad = found[0].bad
        for one in found[1:]:
            bad = bad | one.bad
        result = holds[0]
        for one_holds in holds[1:]:
            result = result & one_holds
        return _Found(result.astype(np.float64), bad)

    return compare


def _boolean(node: ast.BoolOp) -> _Evaluate:
    terms = [_compile(term) for term in node.values]
    every = isinstance(node.op, ast.And)

    def join(inputs: Inputs) -> _Found:
        bad: Flags = _GOOD
        open_: Flags = ~_GOOD  # not decided yet: later terms are not looked at where it is
        for term in terms:
            found = term(inputs)
            bad = bad | (open_ & found.bad)
            true = found.values != 0
            open_ = open_ & (true if every else ~true)
        return _Found((open_ if every else ~open_).astype(np.float64), bad)

    return join


def _choice(node: ast.IfExp) -> _Evaluate:
    test, then, other = _compile(node.test), _compile(node.body), _compile(node.orelse)

    def choose(inputs: Inputs) -> _Found:
        condition, a, b = test(inputs), then(inputs), other(inputs)
        true = condition.values != 0
        return _Found(
            np.where(true, a.values, b.values), condition.bad | np.where(true, a.bad, b.bad)
        )

    return choose


def _call(name: str, arguments: list[_Evaluate]) -> _Evaluate:
    if name in ("min", "max"):
        return _extreme(arguments, np.less if name == "min" else np.greater)
    if name == "abs":
        return lambda inputs: _Found(np.abs((one := arguments[0](inputs)).values), one.bad)
    if name == "sqrt":

        def root(inputs: Inputs) -> _Found:
            values, bad = arguments[0](inputs)
            return _Found(np.sqrt(values), bad | (values < 0))

        return root
    return _one_by_one(FUNCTIONS[name].call, arguments)


def _extreme(arguments: list[_Evaluate], better: np.ufunc) -> _Evaluate:
    """The first of the best, as Python has it also where a number is none."""

    def choose(inputs: Inputs) -> _Found:
        best = arguments[0](inputs)
        for argument in arguments[1:]:
            other = argument(inputs)
            taken = better(other.values, best.values)
            best = _Found(np.where(taken, other.values, best.values), best.bad | other.bad)
        return best

    return choose


def _one_by_one(function: Callable[..., float], arguments: list[_Evaluate]) -> _Evaluate:
    def call(inputs: Inputs) -> _Found:
        found = [argument(inputs) for argument in arguments]
        columns = np.broadcast_arrays(*(one.values for one in found))
        bad = found[0].bad
        for one in found[1:]:
            bad = bad | one.bad
        lists = [column.tolist() for column in columns]
        try:
            return _Found(np.array(list(map(function, *lists)), np.float64), bad)
        except (ArithmeticError, ValueError):
            values = np.zeros(len(lists[0]))
            failed = np.zeros(len(lists[0]), np.bool_)
            for at, numbers in enumerate(zip(*lists, strict=True)):
                try:
                    values[at] = function(*numbers)
                except (ArithmeticError, ValueError):
                    failed[at] = True
            return _Found(values, bad | failed)

    return call
