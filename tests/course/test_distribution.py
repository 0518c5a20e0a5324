"""The tool by itself: a course of any subject, and nothing of driving in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from openapi_spec_validator import validate

from course.build import CACHE, Options, build
from course.cli import main
from tests.course.coursekit import built, checked, codes, edited, put

LESSON: Final = "content/phases/10-first-steps/10-first-lesson/lesson.md"
COURSE: Final = "content/course.yaml"
DRIVING: Final = re.compile(
    r"\b(laps?|corners?|brak(e|es|ing)|karts?|tyres?|rac(e|es|ing)|cars?|driv(e|er|ers|ing)|"
    r"coach(es|ing)?|circuits?|telemetry|apex|motorsport|bridge)\b",
    re.IGNORECASE,
)
CRUMB: Final = (
    '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 120">'
    '<path d="M20 100C60 20 340 20 380 100Z" fill="var(--accent, #8a3b12)"/></svg>\n'
)
LOOK: Final = """\
equipment:
  - {id: oven, title: An oven}
  - {id: scales, title: Kitchen scales}
hero: {image: media/loaf.svg, alt: A loaf., caption: One loaf.}
logo: media/loaf.svg
colours:
  accent: {light: "#8a3b12", dark: "#f0a070"}
"""


@pytest.fixture
def bread(tmp_path: Path) -> Path:
    """What `init` makes of a title, with oven, picture, mark and colours of its own."""
    folder = tmp_path / "bread"
    assert main(["init", str(folder), "--title", "Bread: from flour to loaf"]) == 0
    (_, old, _) = re.split(r"(equipment:\n.*\n)", (folder / COURSE).read_text("utf-8"))
    edited(folder, COURSE, (old, LOOK))
    edited(folder, LESSON, ("equipment: [notebook]", "equipment: [oven, scales]"))
    put(folder / "content/media/loaf.svg", CRUMB)
    return folder


def page(root: Path, path: str = "") -> str:
    return (root / "site" / path / "index.html").read_text("utf-8")


def test_what_init_makes_builds_and_asks_for_a_lock_and_a_summary(tmp_path: Path) -> None:
    folder = tmp_path / "sour-dough"
    assert main(["init", str(folder)]) == 0
    report = built(folder)
    assert codes(report) == {"IDS010", "LES018"}
    assert "<title>Sour dough</title>" in page(folder)
    assert "A notebook" in page(folder, "lessons/first-lesson")
    assert main(["check", "--accept-ids", "--root", str(folder)]) == 0
    assert main(["fmt", "--check", "--root", str(folder)]) == 0
    assert main(["check", "--strict", "--root", str(folder)]) == 1
    course = folder / "content" / "course.yaml"
    put(course, re.sub("(?m)^summary: .*$", "summary: Bread for beginners.", course.read_text()))
    assert main(["check", "--strict", "--root", str(folder)]) == 0


def test_git_passes_over_everything_that_the_tool_writes(tmp_path: Path) -> None:
    folder = tmp_path / "bread"
    assert main(["init", str(folder)]) == 0
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    options = Options(folder, folder / "site", cache=folder / CACHE)
    for place in ("site", ".site.draft"):
        assert build(replace(options, out=folder / place, draft=place != "site")).digest
    command = ["git", "-C", str(folder), "status", "--porcelain"]
    status = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert status == "?? .gitignore\n?? content/\n"
    assert (folder / "..site.draft.lock").exists()


def test_init_refuses_a_folder_that_holds_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path / "notes.txt", "mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_course_about_bread_holds_nothing_of_driving(bread: Path) -> None:
    for kind in ("role", "domain"):
        assert main(["new", kind, f"bread-{kind}", "--root", str(bread)]) == 0
    assert main(["new", "lesson", "first-steps", "knead", "--root", str(bread)]) == 0
    assert built(bread).written
    found = {
        (str(path.relative_to(bread)), match[0])
        for path in (bread / "site").rglob("*")
        if path.is_file()
        for match in DRIVING.finditer(path.read_text("utf-8"))
    }
    assert found == set()


def test_a_course_has_its_own_picture_mark_colours_and_equipment(bread: Path) -> None:
    assert built(bread).written
    assert 'role="img" aria-label="A loaf."' in page(bread)
    assert "<?xml" not in page(bread)
    assert "One loaf." in page(bread)
    assert "An oven, Kitchen scales" in page(bread, "lessons/first-lesson")
    (style,) = (bread / "site/assets").glob("site.*.css")
    missing = (bread / "site/404.html").read_text("utf-8").partition("</style>")[0]
    for rules in (style.read_text("utf-8"), missing):
        assert rules.rpartition("--accent: ")[2].startswith("light-dark(#8a3b12, #f0a070)")
    inline = missing.partition("<style>")[2].encode()
    allowed = base64.b64encode(hashlib.sha256(inline).digest()).decode()
    assert f"'sha256-{allowed}'" in (bread / "site/_headers").read_text("utf-8")
    (icon,) = (bread / "site/assets").glob("icon.*.svg")
    assert icon.read_text("utf-8") == CRUMB


def test_a_menu_leads_to_nothing_that_is_empty(bread: Path) -> None:
    assert built(bread).written
    menu = page(bread).partition('<nav class="site-nav"')[2].partition("</nav>")[0]
    assert "pathways/" in menu
    assert not re.search("roles/|projects/|concepts/", menu)


def test_a_template_and_a_style_of_the_course_come_before_those_of_the_tool(bread: Path) -> None:
    assert built(bread).written
    put(
        bread / "content/templates/footer.html",
        '{% include "tool/footer.html" %}<p>{{ w.baked }}</p>\n',
    )
    put(bread / "content/templates/style.css", ".wrap { max-width: 40rem; }\n")
    put(bread / "content/ui/en.yaml", "baked: Baked at home\nhome: Kitchen\n")
    assert built(bread).written
    for path in ("", "lessons/first-lesson"):
        assert "<p>Baked at home</p>" in page(bread, path)
        assert "OpenAPI description" in page(bread, path)
    assert ">Kitchen</a>" in page(bread, "lessons/first-lesson")
    (style,) = (bread / "site/assets").glob("site.*.css")
    assert style.read_text("utf-8").endswith(".wrap { max-width: 40rem; }\n")
    footer = "content/templates/footer.html"
    for wrong in ("{% if %}", "{{ 1 / 0 }}", '{% include "footer.html" %}'):
        put(bread / footer, f"{{{{ w.baked }}}}{wrong}")
        (found,) = [one for one in checked(bread).diagnostics if one.severity == "error"]
        assert (found.code, found.file) == ("CFG015", footer), wrong


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("hoem.html", "", 1, 'did you mean "home.html"?'),
        ("home.html", '\n{% extends "tool/hoem.html" %}', 2, 'did you mean "tool/home.html"?'),
        ("home.html", '{% extends "tool/home.html" %}\n{% block mian %}{% endblock %}', 2, "main"),
        ("home.html", '{% extends "tool/home.html" %}\n<p>Lost</p>', 2, "into a block"),
        ("home.html", '\n\n{% include ["a.html"] %}', 3, 'no template "a.html"'),
        ("home.html", "\n{% if %}", 2, "an expression"),
    ],
)
def test_a_template_that_does_not_do_what_it_says_is_an_error(
    bread: Path, name: str, text: str, line: int, says: str
) -> None:
    put(bread / "content/templates" / name, text)
    (found,) = [one for one in checked(bread).diagnostics if one.severity == "error"]
    assert (found.code, found.file) == ("CFG015", f"content/templates/{name}")
    assert found.line == line
    assert says in f"{found.message} {found.hint}"


def test_a_template_may_have_parts_and_blocks_of_its_own(bread: Path) -> None:
    assert built(bread).written
    put(
        bread / "content/templates/home.html",
        '{% extends "tool/home.html" %}\n{% set loud = "!" %}\n{% block main %}{{ super() }}'
        '{% block oven %}{% include "oven.html" %}{{ loud }}{% endblock %}{% endblock %}\n',
    )
    put(bread / "content/templates/oven.html", "<p>Hot</p>")
    assert built(bread).written
    assert "<p>Hot</p>!" in page(bread)


def test_the_interface_describes_itself_and_can_grow(bread: Path) -> None:
    assert built(bread).written
    described: Any = json.loads((bread / "site/openapi.json").read_bytes())
    validate(described)
    assert "additionalProperties" not in json.dumps(described)
    references = set(re.findall(r'"\$ref": "([^"]+)"', json.dumps(described)))
    assert all(reference.startswith("#/components/") for reference in references)
    assert {"Catalog", "LessonEntry", "AuthoredLesson", "PlannedLesson", "Question"} <= set(
        described["components"]["schemas"]
    )
