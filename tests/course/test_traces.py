"""The block trace: what its formulas mean, how it is drawn, and what is said of its mistakes."""

from __future__ import annotations

import json
import math
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from course.read import formula
from course.read.formula import FormulaError, Scope, Value
from tests.course.coursekit import TRACE, built, checked, put, with_body
from tests.course.sitekit import Page

NAN = math.nan
X = [0.0, 1.0, 2.0, 3.0, 4.0]
COLUMNS: dict[str, Value] = {
    "x": X,
    "v": [10.0, 8.0, 6.0, 8.0, 12.0],
    "gap": [1.0, NAN, 3.0, NAN, 5.0],
}
DATA = "content/phases/20-braking/10-brake-trace/data/corner.csv"
PAGE = "site/lessons/brake-trace/index.html"


def value(text: str | float) -> Value:
    """What a formula gives over COLUMNS with a slider ``s`` that stands at 2 and began at 1."""
    tree = formula.parse(text, {*COLUMNS, "s"}, {"s": 1.0})
    json.dumps(tree)  # the page gets it
    return formula.evaluate(tree, Scope({**COLUMNS, "s": 2.0}, X))


# -- formulas -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (27.8, 27.8),
        ("2*3 + 4**2/8 - -1", 9.0),
        ("-7 % 3", 2.0),
        ("s - start(s)", 1.0),
        ("round(2.5) + floor(-0.5) + sign(-3)", 1.0),
        ("sqrt(hypot(3, 4)**2)", 5.0),
        ("cos(pi)", -1.0),
        ("1 if 3 > 2 and not 1 > 2 else 0", 1.0),
        ("min(v)", 6.0),
        ("max(v, 9)", [10.0, 9.0, 9.0, 9.0, 12.0]),
        ("where(v < 8, 1, 0)", [0.0, 0.0, 1.0, 0.0, 0.0]),
        ("sum(gap)", 9.0),
        ("mean(gap)", 3.0),
        ("first(v) + last(v)", 22.0),
        ("count(v > 7)", 4.0),
        ("argmin(v)", 2.0),
        ("argmax(v)", 4.0),
        ("first_x(v < 9)", 1.0),
        ("integral(v)", [0.0, 9.0, 16.0, 23.0, 33.0]),
        ("slope(v)", [-2.0, -2.0, 0.0, 3.0, 4.0]),
        ("smooth(v, 2)", [9.0, 8.0, 22 / 3, 26 / 3, 10.0]),
        ("smooth(gap, 2)", [1.0, 2.0, 3.0, 4.0, 5.0]),
        ("cummin(v)", [10.0, 8.0, 6.0, 6.0, 6.0]),
        ("reverse(cummax(reverse(v)))", [12.0, 12.0, 12.0, 12.0, 12.0]),
        ("at(v, 1.5)", 7.0),
        ("at(v, floor(x/2)*2)", [10.0, 10.0, 6.0, 6.0, 12.0]),
        ("shift(v, 1)", [10.0, 10.0, 8.0, 6.0, 8.0]),
        ("at(v, -9) + at(v, 9)", 22.0),
        ("first(lag(v, 1)) ", 10.0),
        ("lag(v, 0)", [10.0, 8.0, 6.0, 8.0, 12.0]),
    ],
)
def test_a_formula_has_its_value(text: str | float, result: Value) -> None:
    assert value(text) == pytest.approx(result)


def test_a_lag_follows_a_step_by_two_thirds_in_its_time() -> None:
    tree = formula.parse("last(lag(where(x > 0, 1, 0), 1000))", {"x"}, {})
    x = [float(n) for n in range(1001)]
    assert formula.evaluate(tree, Scope({"x": x}, x)) == pytest.approx(1 - 1 / math.e, abs=1e-3)


@pytest.mark.parametrize(
    "text",
    ["1/0", "sqrt(-1)", "log(0)", "(-8)**0.5", "exp(1000)", "first_x(v > 99)", "1 % 0", "2**9**9"],
)
def test_what_has_no_value_is_a_gap(text: str) -> None:
    result = value(text)
    assert isinstance(result, float)
    assert math.isnan(result)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("3,6*v", "has no meaning", "use numbers"),
        ("v^2", "^ is not an operator", "write **"),
        ("3.6*", "cannot be read", "as in Python"),
        ("w", 'nothing is called "w"', "v"),
        ("sqrt", "is a function", "sqrt("),
        ("sqr(v)", 'no function "sqr"', "sqrt"),
        ("hypot(v)", "takes 2 values", "commas"),
        ("0 < v < 9", "one comparison", "and"),
        ("'a'", "numbers and names only", "quotes"),
        ("v.real", "has no meaning", "use numbers"),
        ("v[0]", "has no meaning", "use numbers"),
        ("__import__('os')", 'no function "__import__"', "the functions are"),
        ("(lambda: 1)()", "has no meaning", "use numbers"),
        ("start(v)", "name of a slider", None),
        ("1+" * 300 + "1", "longer than", "values:"),
        ("(" * 150 + "1" + ")" * 150, None, None),
    ],
)
def test_a_formula_that_means_nothing_says_what_to_write(
    text: str, message: str | None, hint: str | None
) -> None:
    if message is None:
        assert value(text) == 1.0
        return
    with pytest.raises(FormulaError) as caught:
        value(text)
    assert message in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


# -- the figure -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course with a trace, built."""
    root = with_body(tmp_path_factory.mktemp("trace"), TRACE)
    report = built(root)
    assert report.diagnostics == []
    return root


def page_data(site: Path) -> dict[str, Any]:
    """What the script of the page gets."""
    html = (site / PAGE).read_text("utf-8")
    text = html.partition("data-trace='")[2].partition("'")[0]
    data: dict[str, Any] = json.loads(unescape(text))
    return data


def test_the_page_shows_a_trace_without_script(site: Path) -> None:
    html = (site / PAGE).read_text("utf-8")
    figure = html.partition("<figure")[2].partition("</figure>")[0]
    assert 'role="img" aria-label="Speed falls from 180 km/h' in figure
    assert "<figcaption>Computed for a steady deceleration" in figure
    assert ">Speed, km/h</p>" in figure
    assert ">Distance, m</p>" in figure
    assert figure.count("<path") == 2
    assert ">Brake point</text>" in figure
    assert "<dd><output>5.24</output> s</dd>" in figure
    assert figure.count("<tr>") == 13
    assert 'style="' not in figure  # the policy of the site allows none
    assert Page(html).ids >= {"trace-1"}


def test_only_a_page_with_a_trace_loads_its_script(site: Path) -> None:
    assert "assets/trace." in (site / PAGE).read_text("utf-8")
    assert "assets/trace." not in (site / "site/lessons/read-a-lap/index.html").read_text("utf-8")


def test_the_axis_has_room_for_every_place_of_a_slider(site: Path) -> None:
    (panel,) = page_data(site)["panels"]
    low, high = panel["up"]
    assert low < 3.6 * 22
    assert high > 180


def test_readers_of_markdown_get_the_table(site: Path) -> None:
    for name in ("site/lessons/brake-trace/index.md", "site/downloads/brake-trace.ipynb"):
        text = (site / name).read_text("utf-8")
        assert "```trace" not in text
        assert "Computed for a steady deceleration" in text
        assert "| Distance, m | Yours: Speed, km/h |" in text


def test_only_columns_in_use_reach_the_page(tmp_path: Path) -> None:
    text = """```trace
caption: One corner.
alt: Speed falls.
file: data/corner.csv
x: {y: distance, label: Distance}
panels: [{label: Speed, lines: [{label: Lap, y: speed}]}]
```
"""
    root = with_body(tmp_path, text)
    put(root / DATA, "distance,speed,secret\n0,50,1\n10,,2\n20,41.5,3\n")
    assert built(root).diagnostics == []
    data = page_data(root)
    assert data["columns"] == {"speed": [50, None, 41.5]}
    assert data["x"] == [0, 10, 20]
    assert "M0 69M2000 931" in (root / PAGE).read_text("utf-8")  # the blank cell is a gap


LINES = "panels: [{label: Speed, lines: [{label: Lap, y: speed}]}]"


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "said"),
    [
        ("alt: Speed falls.\n", "", "SCH002", 35, "add alt:"),
        ("label: Speed,", "label: Speed, units: m,", "SCH003", 39, "not a key"),
        ("file: data/corner.csv\n", "", "TRC004", 37, "name a file"),
        ("y: distance,", "from: 0, to: 9, step: 1,", "TRC004", 38, "write y:"),
        ("x: {y: distance, label: Distance}", "x: {label: Distance}", "SCH012", 38, "add y or"),
        ("y: speed}", "y: speed/0}", "TRC004", 39, "division by zero"),
        ("y: speed}", "y: speed*1e300}", "TRC004", 39, "choose a unit"),
        ("y: speed}", "y: speed*1e-300}", "TRC004", 39, "choose a unit"),
        ("y: speed}", "y: sqrt()}", "TRC003", 39, "takes 1 value, not 0"),
        (
            "panels:",
            "sliders: [{name: s, label: S, from: 0, to: 1, step: 0, start: 0}]\npanels:",
            "SCH007",
            39,
            "write more than 0",
        ),
        (
            "panels:",
            "sliders: [{name: speed, label: S, from: 0, to: 1, step: 1, start: 0}]\npanels:",
            "TRC003",
            39,
            "another name",
        ),
        (
            "panels:",
            "sliders: [{name: s, label: S, from: 0, to: 1, step: 1, start: 2}]\npanels:",
            "TRC004",
            39,
            "inside the range",
        ),
        ("panels:", "values: {2a: 3}\npanels:", "TRC003", 39, "lower-case"),
        ("{label: Speed,", "{label: Speed, range: [9, 1],", "TRC004", 39, '"[1, 9]"'),
        ("x: {y: distance", "x: {y: 9 - distance", None, 0, ""),
        (
            f"y: distance, label: Distance}}\n{LINES}",
            f"y: 9 - distance, label: D}}\n{LINES.replace('speed', 'slope(speed)')}",
            "TRC003",
            39,
            "plot over time",
        ),
        ("```trace", "- ```trace", "TRC004", 34, "move it out"),
        ("```trace", "```trace data/corner.csv", "MD009", 34, "file: data/"),
        ("panels:", "equal: yes\npanels:", "SCH001", 39, "true or false"),
        ("caption: One corner.", 'caption: "One', "YML001", 35, "quotation mark"),
    ],
)
def test_a_mistake_is_placed_and_has_a_hint(
    old: str, new: str, code: str | None, line: int, said: str, tmp_path: Path
) -> None:
    text = f"""```trace
caption: One corner.
alt: Speed falls.
file: data/corner.csv
x: {{y: distance, label: Distance}}
{LINES}
```"""
    assert text.count(old) == 1
    text = text.replace(old, new)
    root = with_body(tmp_path, text.replace("\n", "\n  ") if text.startswith("-") else text)
    put(root / DATA, "distance,speed\n0,50\n10,41\n20,41\n")
    found = [row for row in checked(root).diagnostics if row.code != "MD010"]
    if code is None:
        assert found == []
        return
    assert [row.code for row in found] == [code]
    assert found[0].line == line
    assert said in f"{found[0].message} {found[0].hint}"


@pytest.mark.parametrize(
    ("csv", "line", "said"),
    [
        ("", 1, "begin with a line"),
        ("Distance,speed\n0,1\n1,2\n", 1, "lower-case"),
        ("distance,distance\n0,1\n1,2\n", 1, "twice"),
        ("distance,sqrt\n0,1\n1,2\n", 1, "no function"),
        ("distance,speed\n0,1\n", 1, "2 to 2,000 rows"),
        ("distance,speed\n0,1\n1,2,3\n", 3, "one number for each column"),
        ("distance,speed\n0,1\n1,1e5e\n", 3, "plain number"),
        ("distance,speed\n0,1\n1,nan\n", 3, "plain number"),
        ("distance,speed\n" + "1,1\n" * 2001, 1, "2 to 2,000 rows"),
    ],
)
def test_a_mistake_in_the_file_stands_in_the_file(
    csv: str, line: int, said: str, tmp_path: Path
) -> None:
    text = f"""```trace
caption: One corner.
alt: Speed falls.
file: data/corner.csv
x: {{y: distance, label: Distance}}
{LINES}
```"""
    root = with_body(tmp_path, text)
    put(root / DATA, csv)
    (found,) = checked(root).diagnostics
    assert (found.code, found.file, found.line) == ("TRC002", DATA, line)
    assert said in f"{found.message} {found.hint}"
