"""A trace as HTML: SVG with axes, a legend, its numbers and a table; and as Markdown.

Letters are placed in percent of a drawing that has no view box, so that they keep their size on
every screen; only the lines are stretched. `assets/trace.js` draws the same again from the
attribute ``data-trace``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, NamedTuple

import orjson

from course.read.formula import Column
from course.read.trace import Line, Panel, Plot

WIDTH, HEIGHT = 2000, 1000  # units of the stretched drawing of the lines
COLOURS: Final = 6
TICKS: Final = 5
TABLE_ROWS: Final = 12
_MARGIN: Final = 0.08  # of the height: room for the letters of the highest and lowest line
_STEPS: Final = (1, 2, 5, 10)
_NEAR_END: Final = 0.08
_MARK_TURNS: Final = 0.6


class Axis(NamedTuple):
    """From where to where an axis runs."""

    low: float
    high: float

    def part(self, value: float) -> float:
        """Where *value* lies: 0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    def step(self) -> float:
        """The distance of the marks: 1, 2 or 5 of some power of ten."""
        raw = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(raw))
        return float(next(step for step in _STEPS if step * power >= raw * 0.999) * power)

    def ticks(self) -> list[tuple[float, str]]:
        """The marks, each with its label."""
        step = self.step()
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [(n * step, f"{n * step + 0.0:.{digits}f}") for n in range(first, last + 1)]


def fit_horizontal(plot: Plot) -> Axis:
    """The horizontal axis: as far as the lines go; with *equal* as wide as it is high."""
    if not plot.equal:
        return Axis(*plot.extent)
    return _around(plot.extent, _span(plot))


def fit_vertical(plot: Plot, panel: Panel) -> Axis:
    """The vertical axis of *panel* with a margin."""
    low, high = panel.extent
    if plot.equal:
        return _around(panel.extent, _span(plot))
    margin = (high - low) * _MARGIN
    return Axis(low if low == 0 else low - margin, high + margin)


def _span(plot: Plot) -> float:
    sizes = [high - low for low, high in (plot.extent, plot.panels[0].extent)]
    return max(sizes) * (1 + 2 * _MARGIN)


def _around(extent: tuple[float, float], span: float) -> Axis:
    middle = sum(extent) / 2
    return Axis(middle - span / 2, middle + span / 2)


# -- HTML ---------------------------------------------------------------------------------------


def draw_figure(plot: Plot, name: str, words: Mapping[str, str]) -> str:
    """The trace called *name* as a figure of the page."""
    across, classes = fit_horizontal(plot), _classes(plot)
    panels = "".join(
        _panel(panel, across, fit_vertical(plot, panel), classes, plot if first else None)
        for panel, first in zip(plot.panels, (True, *[False] * 3), strict=False)
    )
    styles = {line.label: line.style for panel in plot.panels for line in panel.lines}
    legend = "".join(
        f'<li class="{key} {styles[label]}">{escape(label)}</li>' for label, key in classes.items()
    )
    data = orjson.dumps(_data(plot, across, classes)).decode()
    data = data.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    data = data.replace("'", "&#39;")
    values = words["trace_values"]
    names = ("values", "reset", "zoom_in", "zoom_out", "position")
    labels = escape("|".join(words[f"trace_{key}"] for key in names))
    kind = "graph equal" if plot.equal else "graph"
    return (
        f'<figure class="{kind}" id="{name}" data-words="{labels}" data-trace=\'{data}\'>\n'
        f'<div class="panels" role="img" aria-label="{escape(plot.alt)}">{panels}'
        f'<svg class="ticks" aria-hidden="true">{_across(across)}</svg>'
        f'<p class="axis across">{escape(plot.x_title)}</p></div>\n'
        f'{_sliders(plot)}{_numbers(plot)}<ul class="legend">{legend}</ul>\n'
        f"<figcaption>{escape(plot.caption)}</figcaption>\n"
        f'<details class="values"><summary>{escape(values)}</summary>'
        f"{_table(plot, values)}</details>\n</figure>\n"
    )


def _classes(plot: Plot) -> dict[str, str]:
    """The colour of each label, as a class of the style sheet, in the order of first lines."""
    labels = dict.fromkeys(line.label for panel in plot.panels for line in panel.lines)
    return {label: f"s{n % COLOURS + 1}" for n, label in enumerate(labels)}


def _panel(
    panel: Panel, across: Axis, up: Axis, classes: Mapping[str, str], plot: Plot | None
) -> str:
    """One plot; the first one names the marks of *plot*."""
    lines = "".join(
        f'<path class="{classes[line.label]} {line.style}" d="{path(line, across, up)}"/>'
        for line in panel.lines
    )
    stretch = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    marks = [_mark(mark.label, across.part(mark.at)) for mark in (plot.marks if plot else ())]
    rules, labels = _up(up)
    return (
        f'<p class="axis">{escape(panel.title)}</p>'
        f'<svg class="chart" aria-hidden="true"><g class="grid">{rules}</g>'
        f'<svg class="lines" {stretch}>{lines}</svg>{labels}'
        f'<g class="marks">{"".join(marks)}</g></svg>'
    )


def _up(axis: Axis) -> tuple[str, str]:
    """The horizontal rules of a plot, and their labels, which stand above the lines."""
    rules, labels = [], []
    for value, label in axis.ticks():
        at = 1 - axis.part(value)
        drop = "1em" if at < _NEAR_END else "-.3em"
        rules.append(f'<line x2="100%" y1="{_percent(at)}" y2="{_percent(at)}"/>')
        labels.append(f'<text y="{_percent(at)}" dy="{drop}">{label}</text>')
    return "".join(rules), "".join(labels)


def _across(axis: Axis) -> str:
    """The labels below the last plot."""
    parts = []
    for value, label in axis.ticks():
        at = axis.part(value)
        anchor = "start" if at < _NEAR_END / 2 else "end" if at > 1 - _NEAR_END / 2 else "middle"
        parts.append(f'<text x="{_percent(at)}" y="1em" text-anchor="{anchor}">{label}</text>')
    return "".join(parts)


def _mark(label: str, at: float) -> str:
    side = ("end", "-.4em") if at > _MARK_TURNS else ("start", ".4em")
    return (
        f'<line x1="{_percent(at)}" x2="{_percent(at)}" y2="100%"/><text x="{_percent(at)}" '
        f'y="1.1em" dx="{side[1]}" text-anchor="{side[0]}">{escape(label)}</text>'
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2f}%"


def path(line: Line, across: Axis, up: Axis) -> str:
    """The line in units of the stretched drawing; a row without a value is a gap."""
    parts: list[str] = []
    pen = False
    width, height = across.high - across.low, up.high - up.low
    for x, y in zip(line.x, line.y, strict=True):
        if x != x or y != y:  # not a number; a drawing has thousands
            pen = False
            continue
        right, high = (x - across.low) / width, (y - up.low) / height
        place = f"{round(WIDTH * right)} {round(HEIGHT * (1 - high))}"
        if line.style == "points":
            parts.append(f"M{place}h0")
        elif not pen:
            parts.append(f"M{place}")
        elif line.style == "steps":
            parts.append(f"H{place.replace(' ', 'V')}")
        else:
            parts.append(f"L{place}")
        pen = True
    drawn = "".join(parts)
    if line.style == "area" and drawn:
        base = round(HEIGHT * (1 - up.part(max(up.low, min(0.0, up.high)))))
        first, last = drawn[1:].partition(" ")[0], drawn.rpartition("L")[2].partition(" ")[0]
        drawn += f"L{last} {base}L{first} {base}Z"
    return drawn


def _sliders(plot: Plot) -> str:
    """The sliders, which the page shows once its script runs."""
    if not plot.sliders:
        return ""
    rows = "".join(
        f"<label>{escape(slider['label'])} <output>{_short(slider['start'])}</output>"
        f"{' ' + escape(slider['unit']) if 'unit' in slider else ''}"
        f'<input type="range" name="{slider["name"]}" min="{slider["from"]}" '
        f'max="{slider["to"]}" step="{slider["step"]}" value="{slider["start"]}" '
        'autocomplete="off"></label>'
        for slider in plot.sliders
    )
    return f'<div class="sliders" hidden>{rows}</div>\n'


def _numbers(plot: Plot) -> str:
    if not plot.numbers:
        return ""
    rows = "".join(
        f"<div><dt>{escape(number.label)}</dt><dd><output>{number.value:.{number.digits}f}</output>"
        f"{' ' + escape(number.unit) if number.unit else ''}</dd></div>"
        for number in plot.numbers
    )
    return f'<dl class="readings">{rows}</dl>\n'


def _short(value: float) -> str:
    return f"{value:g}"


def _data(plot: Plot, across: Axis, classes: Mapping[str, str]) -> dict[str, Any]:
    """Return the data with which the script draws and computes everything again."""
    return {
        "x": _brief(plot.x),
        "columns": {name: _brief(column) for name, column in plot.columns.items()},
        "sliders": {slider["name"]: slider["start"] for slider in plot.sliders},
        "values": plot.values,
        "rises": plot.rises,
        "unit": plot.unit,
        "across": [*across],
        "labels": [*classes],
        "panels": [
            {
                "unit": panel.unit,
                "up": [*fit_vertical(plot, panel)],
                "lines": [
                    {"label": line.label, "style": line.style, "y": line.tree, "x": line.x_tree}
                    for line in panel.lines
                ],
            }
            for panel in plot.panels
        ],
        "marks": [(mark.label, mark.tree) for mark in plot.marks],
        "numbers": [(number.tree, number.digits) for number in plot.numbers],
    }


def _brief(column: Column) -> list[float]:
    """*column* with whole numbers as such, which are shorter; NaN becomes null."""
    return [int(value) if value.is_integer() else value for value in column]


# -- the table ----------------------------------------------------------------------------------


def _rows(plot: Plot) -> Iterator[list[str]]:
    """The head of the table, then up to twelve rows at equal distances."""
    columns: list[tuple[str, Column]] = []
    if any(line.x is plot.x for panel in plot.panels for line in panel.lines):
        columns.append((plot.x_title, plot.x))
    for panel in plot.panels:
        for line in panel.lines:
            if line.x is not plot.x:
                columns.append((f"{line.label}: {plot.x_title}", line.x))
            columns.append((f"{line.label}: {panel.title}", line.y))
    yield [name for name, _ in columns]
    rows = len(plot.x)
    count = min(rows, TABLE_ROWS)
    digits = [_digits(column) for _, column in columns]
    for n in range(count):
        row = round(n * (rows - 1) / (count - 1))
        yield [
            "" if math.isnan(column[row]) else f"{column[row] + 0.0:.{places}f}"
            for (_, column), places in zip(columns, digits, strict=True)
        ]


def _digits(column: Column) -> int:
    """As many decimals as three figures of the range need."""
    kept = [value for value in column if not math.isnan(value)]
    span = max(kept) - min(kept) if kept else 1.0
    if all(value == round(value) for value in kept):
        return 0
    return max(0, min(4, 2 - math.floor(math.log10(span or abs(kept[0]) or 1.0))))


def _table(plot: Plot, label: str) -> str:
    head, *rows = _rows(plot)
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td class="right">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{names}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def markdown(plot: Plot) -> str:
    """The trace for readers of plain Markdown: caption, numbers and table."""
    head, *rows = _rows(plot)
    results = "".join(
        f"- {number.label}: {number.value:.{number.digits}f} {number.unit}".rstrip() + "\n"
        for number in plot.numbers
    )
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    lines.insert(1, "|" + " ---: |" * len(head))
    return f"{plot.caption}\n\n{results}{chr(10) if results else ''}" + "\n".join(lines) + "\n"
