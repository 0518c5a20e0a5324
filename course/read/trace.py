"""The block trace of a lesson: its YAML and its CSV, checked and computed for the first drawing."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

from course import yamlsource
from course.diagnostics import Problem, Span, did_you_mean, nearest, shorten
from course.read import formula, schema
from course.read.formula import Column, FormulaError, Scope, Tree

TRACE: Final = "trace"
"""The language of the fence."""

ROW_LIMIT: Final = 2000
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\Z")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\Z")
LARGEST: Final = 1e9
"""Greater numbers, as well as ranges below `SMALLEST`, have no marks that could be read."""
SMALLEST: Final = 1e-6
_EDGES: Final = 1e-9
_RESERVED: Final = frozenset(("x", *formula.FUNCTIONS, *formula.CONSTANTS))
Path = tuple[str | int, ...]


class Line(NamedTuple):
    """One line as it is drawn first; ``tree`` and ``x_tree`` compute it again in the page."""

    label: str
    style: str
    x: Column
    y: Column
    tree: Tree
    x_tree: Tree | None


class Panel(NamedTuple):
    """A plot; ``extent`` is what its vertical axis has to show whatever the sliders say."""

    title: str
    unit: str
    extent: tuple[float, float]
    lines: list[Line]


class Mark(NamedTuple):
    """A vertical line at ``at``."""

    label: str
    at: float
    tree: Tree


class Number(NamedTuple):
    """A result with its decimals and unit."""

    label: str
    value: float
    digits: int
    unit: str
    tree: Tree


@dataclass(slots=True)
class Plot:
    """The drawing of one trace.

    ``unit`` is that of x; ``file`` is empty without one; ``rises`` says that x never goes back.
    """

    caption: str
    alt: str
    equal: bool
    x_title: str
    unit: str = ""
    file: str = ""
    extent: tuple[float, float] = (0.0, 1.0)
    rises: bool = True
    x: Column = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)
    sliders: list[dict[str, Any]] = field(default_factory=list)
    values: list[tuple[str, Tree]] = field(default_factory=list)
    panels: list[Panel] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)


def read_trace(
    text: str, file: str, first_line: int, folder: str, data: Mapping[str, str]
) -> tuple[Plot | None, list[Problem]]:
    """The plot of the block *text*, whose first line is *first_line* of *file*.

    *data* has the text of each ``data/NAME.csv`` below *folder*. With problems there is no plot.
    """
    tree, problems = yamlsource.parse(text, file, first_line)
    if tree is not None:
        problems += schema.check("trace", tree, file)
    if not problems:
        reader = _Reader(tree, file, folder, data)
        reader.read()
        problems = reader.problems
        if not problems:
            return reader.plot, []
    return None, [_place(problem, text, first_line) for problem in problems]


def _place(problem: Problem, text: str, first_line: int) -> Problem:
    """*problem* with its place in the lesson instead of its path in the block."""
    if problem.path is None:
        return problem
    span = yamlsource.locate(text, problem.path, on_key=problem.on_key, first_line=first_line)
    return replace(problem, path=None, span=span)


def title(entry: Mapping[str, Any]) -> str:
    """The label of *entry* with its unit."""
    return f"{entry['label']}, {entry['unit']}" if "unit" in entry else str(entry["label"])


class _Reader:
    """Reads what the schema has passed; each problem has its path in the block."""

    def __init__(
        self, tree: dict[str, Any], file: str, folder: str, data: Mapping[str, str]
    ) -> None:
        self.tree = tree
        self.file = file
        self.folder = folder
        self.data = data
        self.problems: list[Problem] = []
        self.columns: dict[str, Column] = {}
        self.sliders: list[dict[str, Any]] = tree.get("sliders", [])
        self.starts = {slider["name"]: float(slider["start"]) for slider in self.sliders}
        self.values: list[tuple[str, Tree, Path]] = []
        self.plot = Plot(
            tree["caption"],
            tree["alt"],
            tree.get("equal", False),
            title(tree["x"]),
            tree["x"].get("unit", ""),
            tree.get("file", ""),
            sliders=self.sliders,
        )

    def report(self, code: str, message: str, path: Path, hint: str | None = None) -> None:
        """Record a problem of the block."""
        self.problems.append(Problem(code, self.file, message, path, hint=hint))

    def read(self) -> None:
        """Read columns, then names, then the drawing; each step needs the one before."""
        for step in (self.read_columns, self.read_axis, self.read_names, self.read_drawing):
            if not self.problems:
                step()

    # -- data -------------------------------------------------------------------------------

    def read_columns(self) -> None:
        """The columns of the CSV file."""
        name = self.tree.get("file")
        if name is None:
            return
        text = self.data.get(name)
        if text is None:
            hint = nearest(name, self.data) or "put the file into the data folder of the lesson"
            self.report("TRC001", f'there is no file "{shorten(name)}"', ("file",), hint)
            return
        table = [row for row in csv.reader(text.split("\n")) if row]
        header = [cell.strip() for cell in table[0]] if table else []
        if not self.is_header(header, name):
            return
        rows = table[1:]
        if not 2 <= len(rows) <= ROW_LIMIT:
            message = f"the file has {len(rows):,} rows of numbers"
            hint = f"keep 2 to {ROW_LIMIT:,} rows, such as one corner, or each tenth row"
            self.blame(name, 1, message, hint)
        columns: list[Column] = [[] for _ in header]
        for line, row in enumerate(rows, 2):
            if len(row) != len(header):
                message = f"the row has {len(row)} cells, the first line has {len(header)}"
                self.blame(name, line, message, "write one number for each column, or nothing")
                return
            for column, cell, label in zip(columns, row, header, strict=True):
                word = cell.strip()
                if word and not _NUMBER.match(word):
                    message = f'"{shorten(word)}" in the column {label} is not a number'
                    self.blame(name, line, message, "write a plain number, or leave it empty")
                    return
                column.append(float(word) if word else formula.NAN)
        self.columns = dict(zip(header, columns, strict=True))

    def is_header(self, header: list[str], name: str) -> bool:
        """Whether the first line of the file names its columns."""
        for label in header:
            if not _NAME.match(label) or label in _RESERVED or header.count(label) > 1:
                what = "appears twice" if header.count(label) > 1 else "cannot name a column"
                hint = "lower-case letters, digits and _, such as speed_kmh; no function, not x"
                if ";" in label or "\t" in label:
                    hint = "separate the columns by commas, and write 0.5 with a point"
                self.blame(name, 1, f'"{shorten(label)}" {what}', hint)
                return False
        if not header:
            self.blame(name, 1, "the file holds no text", "begin with a line of column names")
        return bool(header)

    def blame(self, name: str, line: int, message: str, hint: str) -> None:
        """Record a problem of the file *name* at a line of its own."""
        span = Span(line, 1, line, 1)
        file = f"{self.folder}/{name}"
        self.problems.append(Problem("TRC002", file, message, span=span, hint=hint))

    def read_axis(self) -> None:
        """Read the values of the horizontal axis, which no slider can move."""
        axis = self.tree["x"]
        if "y" not in axis:
            low, high, step = (float(axis[key]) for key in ("from", "to", "step"))
            rows = int((high - low) / step + _EDGES) + 1 if high > low else 0
            if self.columns:
                hint = f"write y: and one of {', '.join(self.columns)}"
                self.report("TRC004", "the rows come from the file", ("x", "from"), hint)
            elif not 2 <= rows <= ROW_LIMIT:
                message = f"from, to and step make {rows:,} rows"
                hint = f"choose them so that there are 2 to {ROW_LIMIT:,}"
                self.report("TRC004", message, ("x", "step"), hint)
            self.plot.x = [low + step * row for row in range(rows)]
            return
        if not self.columns:
            hint = "name a file, or write from:, to: and step:"
            self.report("TRC004", "a trace without a file has no columns", ("x", "y"), hint)
            return
        first = next(iter(self.columns.values()))
        blank = Scope(self.columns, [*map(float, range(len(first)))])
        tree = self.parse(axis["y"], self.columns, ("x", "y"))
        if tree is None:
            return
        self.plot.x = x = formula.make_column(formula.evaluate(tree, blank), blank)
        if any(map(math.isnan, x)):
            row = next(n for n, value in enumerate(x, 2) if math.isnan(value))
            hint = "fill the cell, or delete the row"
            self.report("TRC004", f"x has no value in line {row} of the file", ("x", "y"), hint)
        self.plot.rises = all(a <= b for a, b in pairwise(x))

    # -- names ------------------------------------------------------------------------------

    def read_names(self) -> None:
        """Sliders and values, which must not share a name with each other or a column."""
        taken = {*_RESERVED, *self.columns}
        for number, slider in enumerate(self.sliders):
            path: Path = ("sliders", number)
            self.take(slider["name"], taken, (*path, "name"))
            low, start, high = slider["from"], slider["start"], slider["to"]
            if not low <= start <= high or low == high:
                message = f"{start} is not between {low} and {high}"
                self.report("TRC004", message, (*path, "start"), "begin inside the range")
        for name, text in self.tree.get("values", {}).items():
            here: Path = ("values", name)
            self.take(name, taken, here, on_key=True)
            if (tree := self.parse(text, self.names(), here)) is not None:
                self.values.append((name, tree, here))
        self.plot.values = [(name, tree) for name, tree, _ in self.values]

    def take(self, name: str, taken: set[str], path: Path, *, on_key: bool = False) -> None:
        """Note *name* as taken; it must be free and have the form of a name."""
        message = hint = ""
        if not _NAME.match(name):
            message, hint = "cannot be a name", "lower-case letters, digits and _, no blanks"
        elif name in taken:
            message, hint = "is already in use", "choose another name"
        if message:
            problem = Problem("TRC003", self.file, f'"{shorten(name)}" {message}', path, hint=hint)
            self.problems.append(replace(problem, on_key=on_key))
        taken.add(name)

    def names(self) -> set[str]:
        """Every name that a formula may use at this point."""
        return {"x", *self.columns, *self.starts, *(name for name, *_ in self.values)}

    def parse(self, text: str | float, names: Any, path: Path) -> Tree | None:
        """The tree of a formula, or None with a problem."""
        try:
            tree = formula.parse(text, names, self.starts)
        except FormulaError as error:
            self.report("TRC003", error.message, path, error.hint)
            return None
        along = sorted(formula.ALONG.intersection(formula.list_functions(tree)))
        if along and not self.plot.rises:
            message = f"{along[0]}() needs an x that rises from row to row"
            hint = "plot over time or distance, or leave the function out"
            self.report("TRC003", message, path, hint)
            return None
        return tree

    # -- what is drawn ----------------------------------------------------------------------

    def read_drawing(self) -> None:
        """Lines, marks and numbers, computed at the start and at the ends of every slider."""
        scopes = [*self.scopes()]
        panels = self.tree["panels"]
        if self.plot.equal and len(panels) > 1:
            hint = "keep one panel, or remove equal:"
            self.report("TRC004", "equal: has one panel only", ("equal",), hint)
        across: Column = []
        for number, panel in enumerate(panels):
            heights: Column = []
            lines: list[Line] = []
            for place, line in enumerate(panel["lines"]):
                path = ("panels", number, "lines", place)
                tree = self.parse(line["y"], self.names(), (*path, "y"))
                x_tree = None
                if "x" in line:
                    x_tree = self.parse(line["x"], self.names(), (*path, "x"))
                    across += self.every(x_tree, scopes)
                else:
                    across += self.plot.x
                heights += self.every(tree, scopes)
                if tree is not None:
                    lines.append(self.line(line, tree, x_tree, scopes[0], path))
            extent = self.extent(panel, heights, ("panels", number, "range"))
            self.plot.panels.append(Panel(title(panel), panel.get("unit", ""), extent, lines))
        self.plot.extent = _extent(across)
        self.read_single(scopes[0])
        used = {name for name in self.columns if name in self.list_used_names()}
        self.plot.columns = {name: self.columns[name] for name in self.columns if name in used}

    def line(
        self, line: Mapping[str, Any], tree: Tree, x_tree: Tree | None, scope: Scope, path: Path
    ) -> Line:
        """A line with its numbers at the start."""
        y = formula.make_column(formula.evaluate(tree, scope), scope)
        x = scope.x
        if x_tree is not None:
            x = formula.make_column(formula.evaluate(x_tree, scope), scope)
        if all(map(math.isnan, y)):
            hint = "look for a division by zero, the root of a negative number, an empty column"
            self.report("TRC004", "the line has no value in any row", (*path, "y"), hint)
        return Line(line["label"], line.get("style", "line"), x, y, tree, x_tree)

    def read_single(self, scope: Scope) -> None:
        """Marks and numbers, each a single value."""
        for number, mark in enumerate(self.tree.get("marks", ())):
            if single := self.single(mark["at"], scope, ("marks", number, "at")):
                self.plot.marks.append(Mark(mark["label"], *single))
        for number, result in enumerate(self.tree.get("numbers", ())):
            if single := self.single(result["y"], scope, ("numbers", number, "y")):
                value, tree = single
                digits, unit = result.get("digits", 1), result.get("unit", "")
                self.plot.numbers.append(Number(result["label"], value, digits, unit, tree))

    def single(self, text: str | float, scope: Scope, path: Path) -> tuple[float, Tree] | None:
        """Value and tree of a formula that gives one number."""
        tree = self.parse(text, self.names(), path)
        if tree is None:
            return None
        value = formula.evaluate(tree, scope)
        if isinstance(value, list):
            hint = "wrap it in last(), min(), max(), mean() or at(…, place)"
            self.report("TRC004", "this is a column, not one number", path, hint)
        elif math.isnan(value):
            hint = "look for a division by zero, or a condition that no row meets"
            self.report("TRC004", "this has no value at the start", path, hint)
        else:
            return value, tree
        return None

    def scopes(self) -> Iterator[Scope]:
        """Yield the scope at the start, then with each slider at either end."""
        start = self.scope(self.starts)
        yield start
        for slider in self.sliders:
            for end in ("from", "to"):
                yield self.scope(self.starts | {slider["name"]: float(slider[end])}, start)

    def scope(self, settings: Mapping[str, float], start: Scope | None = None) -> Scope:
        """Return the scope under *settings*; values that no slider changes come from *start*."""
        values: dict[str, formula.Value] = {"x": self.plot.x, **self.columns, **settings}
        scope = Scope(values, self.plot.x)
        for name, tree, _ in self.values:
            if start is not None and not _differs(tree, scope, start):
                values[name] = start.values[name]
            else:
                values[name] = formula.evaluate(tree, scope)
        return scope

    def every(self, tree: Tree | None, scopes: list[Scope]) -> Column:
        """All that *tree* can be under *scopes*."""
        if tree is None:
            return []
        start, *others = scopes
        apart = [start, *(scope for scope in others if _differs(tree, scope, start))]
        columns = [formula.make_column(formula.evaluate(tree, scope), scope) for scope in apart]
        return [value for column in columns for value in column if not math.isnan(value)]

    def extent(self, panel: Mapping[str, Any], heights: Column, path: Path) -> tuple[float, float]:
        """Return the range of the vertical axis: the author's, or the extent of the lines."""
        if "range" not in panel:
            low, high = extent = _extent(heights)
            if max(-low, high) > LARGEST or high - low < SMALLEST:
                message = f"the lines of this panel run from {low:g} to {high:g}"
                hint = "choose a unit in which they can be read on an axis"
                self.report("TRC004", message, path[:-1], hint)
                return 0.0, 1.0
            return extent
        low, high = panel["range"]
        if low >= high:
            self.report(
                "TRC004", f"{low} is not below {high}", path, did_you_mean(f"{[high, low]}")
            )
        return float(low), float(high)

    def list_used_names(self) -> set[str]:
        """Every name in a formula that the page computes."""
        plot = self.plot
        trees: list[Tree | None] = [tree for _, tree in plot.values]
        trees += [mark.tree for mark in plot.marks]
        trees += [number.tree for number in plot.numbers]
        for panel in plot.panels:
            trees += [tree for line in panel.lines for tree in (line.tree, line.x_tree)]
        return {name for tree in trees if tree is not None for name in formula.list_names(tree)}


def _differs(tree: Tree, first: Scope, second: Scope) -> bool:
    """Whether any name of *tree* has different values in *first* and *second*."""
    return any(first.values[name] is not second.values[name] for name in formula.list_names(tree))


def _extent(values: Column) -> tuple[float, float]:
    """From the smallest to the largest, never empty."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
