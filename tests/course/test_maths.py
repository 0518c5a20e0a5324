"""Formulas in lessons: LaTeX between dollar signs becomes MathML, money stays money."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course.coursekit import built, checked, with_body

PAGE = "site/lessons/brake-trace/index.html"
FRACTION = "<mfrac><msup><mi>v</mi><mn>2</mn></msup><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>"


def body_of(root: Path) -> str:
    return (root / PAGE).read_text("utf-8")


def test_a_formula_becomes_mathml(tmp_path: Path) -> None:
    text = r"""
It takes $d = \frac{v^2}{2a}$ to stop, **about $3{,}2\,\mathrm{s}$**, see
[the $v^2$ in it](#exercise-mark-three-points).

$$
v = \sqrt{\mu g r}
$$

| formula | for |
|---|---|
| $a < b$ | both |
"""
    root = with_body(tmp_path, text)
    assert built(root).diagnostics == []
    html = body_of(root)
    assert f"<math><mi>d</mi><mo>=</mo>{FRACTION}</math> to stop" in html
    assert '<math display="block"' in html
    assert html.count("<math") == 5
    assert "$" not in html.partition("<main")[2]
    assert r"$d = \frac{v^2}{2a}$" in (root / "site/lessons/brake-trace/index.md").read_text(
        "utf-8"
    )


def test_a_table_of_formulas_needs_no_style(tmp_path: Path) -> None:
    text = "\n$$\n\\begin{cases} a & x > 0 \\\\ b & \\text{else} \\end{cases}\n$$\n"
    root = with_body(tmp_path, text)
    assert built(root).diagnostics == []
    assert '<mtd class="left">' in body_of(root)
    assert ' style="' not in body_of(root).partition("<main")[2]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "Type `$HOME` or `$x$`, then $ x $.",
        r"Between \$5 and \$6, or US\$7.",
        "Only one $ here.",
    ],
)
def test_money_stays_money(text: str, tmp_path: Path) -> None:
    root = with_body(tmp_path, f"\n{text}\n")
    assert built(root).diagnostics == []
    assert "<math" not in body_of(root)
    assert body_of(root).partition("<main")[2].count("$") == text.count("$")


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        (r"So $\frac{v^2}{2a$ it is.", 4, "never ends", "close every brace"),
        (r"So $\left( x$ it is.", 13, "expected closing token", "close every brace"),
        ("$$\na\n\nb\n$$", 1, "never ends", "leave no line empty"),
        (r"So $\speed$ it is.", 5, r'unknown command "\speed"', "check the command"),
        (r"So $a & b$ it is.", 7, "may only appear in a table", "close every brace"),
        (r"So $\color{red}x$ it is.", 5, "a formula cannot set colours", "close every brace"),
        ("It costs $5 and 6$.", 13, r"\text{and}", r"write \$"),
        ("It costs US$5 or US$6.", 12, "before a number", r"write \$"),
    ],
)
def test_a_formula_that_cannot_be_read_is_placed(
    text: str, column: int, message: str, hint: str, tmp_path: Path
) -> None:
    found, *_ = checked(with_body(tmp_path, f"\n{text}\n")).diagnostics
    assert (found.code, found.column) == ("MTH001", column)
    assert message in found.message
    assert hint in str(found.hint)
