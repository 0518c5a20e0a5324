"""A course in another language: what readers take away speaks it, to the last label."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from course.build import Options, build
from tests.course.coursekit import MORE_QUESTIONS, WORDS, built, edited, with_body, write_course

MARK: Final = "Ž"
ENGLISH: Final = {
    key: word for key, word in yaml.safe_load(WORDS.read_text("utf-8")).items() if key != "kinds"
}
BRAKE: Final = "brake-trace"
# Where each file has labels, and which: all of them marked, none in English.
TAKEN_AWAY: Final = {
    f"lessons/{BRAKE}/index.md": "practice_questions quiz_label answers check evidence",
    f"downloads/{BRAKE}.ipynb": (
        "minutes_many lesson_on_site goals practice_questions quiz_label answers evidence check"
    ),
    f"downloads/{BRAKE}-evidence.md": (
        "form_title form_lesson form_name form_date form_where form_shows check form_answer "
        "form_change form_change_help"
    ),
    "llms.txt": (
        "llms_status llms_version llms_start llms_phases llms_lessons planned llms_catalog "
        "llms_catalog_text pathways llms_pathways_text roles llms_roles_text projects "
        "llms_projects_text lessons api_description llms_openapi_text llms_full llms_full_text "
        "llms_passages llms_passages_text"
    ),
    "llms-full.txt": "llms_page",
    f"lessons/{BRAKE}/index.html": "quiz_label practice planned",
    "downloads/read-a-lap.py": "expected_output",
    "downloads/read-a-lap.ipynb": "expected_output before_reading",
    "lessons/read-a-lap/index.md": "choose_all number_answer_unit",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small course with every interface word marked."""
    root = write_course(tmp_path_factory.mktemp("marked"))
    path = root / "content/ui/en.yaml"
    words: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    marked = {key: word if key == "kinds" else f"{MARK}{word}" for key, word in words.items()}
    path.unlink()
    (root / "content/ui/cs.yaml").write_text(
        yaml.safe_dump(marked, allow_unicode=True, width=1000), "utf-8"
    )
    edited(root, "content/course.yaml", ("lang: en", "lang: cs"))
    quiz = root / "content/phases/10-laps/10-read-a-lap/quiz.yaml"
    quiz.write_text(quiz.read_text("utf-8") + MORE_QUESTIONS, "utf-8")
    report = build(Options(root, root / "site"))
    assert report.written, report.diagnostics
    return root / "site"


def found(site: Path, name: str) -> str:
    """The text of a file; of a notebook that of its cells."""
    text = (site / name).read_text("utf-8")
    if name.endswith(".ipynb"):
        return "\n".join(cell["source"] for cell in json.loads(text)["cells"])
    return text


def label(key: str) -> str:
    """What an interface word looks like once its placeholders are filled."""
    pieces = re.split(r"\{[a-z]+\}", ENGLISH[key])
    return "[^\\n]*?".join(map(re.escape, pieces))


@pytest.mark.parametrize("name", TAKEN_AWAY)
def test_every_label_comes_from_the_words_of_the_course(site: Path, name: str) -> None:
    text = found(site, name)
    for key in TAKEN_AWAY[name].split():
        assert re.search(f"{MARK}{label(key)}", text), key
        if len(ENGLISH[key]) > 12 and ENGLISH[key][0] != "{":
            assert not re.search(f"(?<!{MARK}){label(key)}", text), key


def test_what_the_resources_say_to_programs_stays_as_the_schema_has_it(site: Path) -> None:
    authored = json.loads((site / f"api/v1/lessons/{BRAKE}.json").read_text("utf-8"))
    assert authored["quiz"].keys() == {"formative", "label", "questions"}
    assert authored["quiz"]["label"] == ENGLISH["quiz_label"]
    planned = json.loads((site / "api/v1/lessons/tyre-window.json").read_text("utf-8"))
    assert planned["notice"] == f"{ENGLISH['planned']}. {ENGLISH['planned_notice']}"


def test_a_word_that_the_course_does_not_say_is_the_one_of_the_tool(tmp_path: Path) -> None:
    root = write_course(tmp_path, {"content/ui/en.yaml": "answers: What is right\n"})
    assert build(Options(root, root / "site")).written
    text = found(root / "site", "downloads/read-a-lap.ipynb")
    assert "What is right" in text
    assert ENGLISH["expected_output"] in text


HEADINGS: Final = """
### Überblick: Größe 2

### हिन्दी पाठ

[one](#überblick-größe-2), [the same](#%C3%BCberblick-gr%C3%B6%C3%9Fe-2),
[again](lesson:brake-trace#u\u0308berblick-größe-2), [other](#हिन्दी-पाठ).
"""


def test_headings_with_accents_have_the_anchors_that_github_gives_them(tmp_path: Path) -> None:
    root = with_body(tmp_path, HEADINGS)
    report = built(root)
    assert report.diagnostics == []
    page = (root / "site/lessons/brake-trace/index.html").read_text("utf-8")
    assert '<h3 id="überblick-größe-2">' in page
    assert '<h3 id="हिन्दी-पाठ">' in page
    assert page.count('href="#überblick-größe-2"') == 3  # two links, and the table of contents
    assert page.count('href="../../lessons/brake-trace/#überblick-größe-2"') == 1
    printed = (root / "site/print/data-driver.html").read_text("utf-8")
    assert 'id="brake-trace--überblick-größe-2"' in printed
    lesson = json.loads((root / "site/api/v1/lessons/brake-trace.json").read_text("utf-8"))
    assert "überblick-größe-2" in [entry["id"] for entry in lesson["content"]["toc"]]


def test_an_anchor_without_its_accents_is_told_with_the_right_one(tmp_path: Path) -> None:
    root = with_body(tmp_path, "### Überblick\n\n[x](#uberblick)")
    (problem,) = built(root).diagnostics
    assert problem.code == "LNK002"
    assert "überblick" in str(problem.hint)
