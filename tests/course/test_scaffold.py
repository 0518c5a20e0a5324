"""New sources: in their right place, valid at once, and never over something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from course.fmt import run
from course.read.sources import english
from course.scaffold import ScaffoldError, create, init, new
from tests.course.coursekit import built, checked, codes, edited, put, write_course

PHASE = "content/phases/20-braking"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return write_course(tmp_path)


def found(course: Path) -> list[tuple[str, str, str]]:
    return [(one.severity, one.code, one.file) for one in checked(course).diagnostics]


@pytest.mark.parametrize("phase", ["laps", "10-laps"])
def test_a_planned_lesson_passes_the_check_at_once(course: Path, phase: str) -> None:
    file = "content/phases/10-laps/20-trail-more/lesson.md"
    assert create(course, "lesson", "trail-more", phase=phase, planned=True) == [file]
    assert found(course) == [("warning", "IDS009", file)]


def test_in_a_phase_of_no_pathway_a_planned_lesson_is_an_orphan_and_no_more(course: Path) -> None:
    [file] = create(course, "lesson", "trail-more", phase="braking", planned=True)
    assert {code for _, code, _ in found(course)} == {"IDS009", "REF003"}
    assert {where for _, _, where in found(course)} == {file}


def test_an_authored_lesson_has_every_part_and_only_its_placeholders_are_reported(
    course: Path,
) -> None:
    lesson, quiz = create(course, "lesson", "trail-more", phase="laps")
    assert {code for _, code, _ in found(course)} == {"LES018", "IDS009"}
    assert {file for _, code, file in found(course) if code == "LES018"} == {lesson, quiz}
    assert built(course).written
    for file in (lesson, quiz):
        path = course / file
        path.write_text(path.read_text().replace("TODO: ", "").replace("TODO ", ""))
    assert {code for _, code, _ in found(course)} == {"IDS009"}


@pytest.mark.parametrize("planned", [True, False])
def test_a_phase_a_pathway_and_a_project_follow_their_schemas(course: Path, planned: bool) -> None:
    assert create(course, "phase", "wet-track") == ["content/phases/30-wet-track/phase.yaml"]
    assert create(course, "pathway", "rain-driver") == ["content/pathways/20-rain-driver.yaml"]
    readme = [] if planned else ["content/projects/rain-kit/README.md"]
    assert create(course, "project", "rain-kit", planned=planned) == [
        "content/projects/rain-kit/project.yaml",
        *readme,
    ]
    warned = {(code, file) for _, code, file in found(course) if code != "IDS009"}
    unfinished = {file for code, file in warned if code == "LES018"}
    assert warned - {("LES018", file) for file in unfinished} == {
        ("DOM001", "content/pathways/20-rain-driver.yaml")
    }
    assert unfinished == {
        "content/phases/30-wet-track/phase.yaml",
        "content/pathways/20-rain-driver.yaml",
        *(
            ()
            if planned
            else (
                "content/projects/rain-kit/project.yaml",
                "content/projects/rain-kit/README.md",
            )
        ),
    }


def test_a_planned_project_is_built_without_a_download(course: Path) -> None:
    create(course, "project", "rain-kit", planned=True)
    report = built(course)
    assert codes(report) == {"IDS009"}
    assert (course / "site/projects/rain-kit/index.html").is_file()
    assert not (course / "site/downloads/rain-kit.zip").exists()


def test_what_is_new_is_in_canonical_form(course: Path) -> None:
    run(course)
    create(course, "lesson", "trail-more", phase="braking")
    create(course, "lesson", "trail-less", phase="braking", planned=True)
    create(course, "phase", "wet-track")
    create(course, "pathway", "rain-driver")
    create(course, "project", "rain-kit")
    create(course, "role", "rain-coach")
    create(course, "domain", "wet-grip")
    result = run(course, check=True)
    assert (result.changed, result.left) == ([], [])


@pytest.mark.parametrize(
    ("there", "number"),
    [
        ([], "10"),
        (["10-a"], "20"),
        (["10-a", "15-b"], "20"),
        (["10-a", "35-b"], "40"),
        (["10-a", "_70-draft"], "80"),
        (["90-a"], "91"),
        (["98-a"], "99"),
        (["notes.txt"], "10"),
    ],
)
def test_the_next_number_is_the_next_ten(tmp_path: Path, there: list[str], number: str) -> None:
    course = write_course(tmp_path, {f"{PHASE}/10-brake-trace": None})
    put(course / PHASE / "20-tyre-window", None)
    for name in there:
        (course / PHASE / name).mkdir()
    [file] = create(course, "lesson", "trail-more", phase="braking", planned=True)
    assert file == f"{PHASE}/{number}-trail-more/lesson.md"


def test_after_99_an_author_has_to_renumber(course: Path) -> None:
    (course / PHASE / "99-last").mkdir()
    with pytest.raises(ScaffoldError, match="no number up to 99 is free"):
        create(course, "lesson", "trail-more", phase="braking")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("X", "not a valid id"),
        ("ab", "not a valid id"),
        ("Trail", "not a valid id"),
        ("trail_more", "not a valid id"),
        ("../../etc", "not a valid id"),
        ("a/b", "not a valid id"),
        ("x" * 65, "not a valid id"),
        ("", "not a valid id"),
        ("search", "reserved word"),
        ("con", "reserved word"),
        ("lesson-2", "ends in a number"),
        ("brake-trace", "taken: lesson"),
        ("braking", "taken: phase"),
        ("data-driver", "taken: pathway"),
        ("lap-kit", "taken: project"),
        ("brake-curve", "taken: alias of a lesson"),
    ],
)
@pytest.mark.parametrize("kind", ["lesson", "project"])
def test_a_bad_or_taken_id_writes_nothing(course: Path, kind: str, name: str, why: str) -> None:
    before = sorted(course.rglob("*"))
    with pytest.raises(ScaffoldError, match=why):
        create(course, kind, name, phase="braking")
    assert sorted(course.rglob("*")) == before


def test_a_published_or_retired_id_is_never_used_again(course: Path) -> None:
    put(
        course / "content/retired.yaml",
        '- {id: old-lesson, replacedBy: null, since: 1.0.0, reason: "It was wrong."}\n',
    )
    with (course / "content/ids.lock").open("a") as lock:
        lock.write("lesson lost-lesson planned\n")
    for name, why in (("old-lesson", "retired"), ("lost-lesson", "published lesson")):
        with pytest.raises(ScaffoldError, match=why):
            create(course, "phase", name)


def test_an_existing_file_is_not_overwritten(course: Path) -> None:
    put(course / "content/projects/rain-kit/README.md", "mine")
    with pytest.raises(ScaffoldError, match=r"README\.md exists already"):
        create(course, "project", "rain-kit")
    folder = course / "content/projects/rain-kit"
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert (folder / "README.md").read_text() == "mine"


def test_an_unknown_phase_gets_a_near_one_offered(course: Path) -> None:
    with pytest.raises(ScaffoldError, match='no phase "brakin"') as caught:
        create(course, "lesson", "trail-more", phase="brakin")
    assert caught.value.hint == 'did you mean "braking"?'


def test_a_project_needs_a_lesson_and_a_pathway_a_phase(tmp_path: Path) -> None:
    course = write_course(tmp_path, {"content/pathways": None, "content/projects": None})
    with pytest.raises(ScaffoldError, match="needs a pathway with an authored lesson"):
        create(course, "project", "rain-kit")
    put(course / "content/phases", None)
    with pytest.raises(ScaffoldError, match="needs a phase"):
        create(course, "pathway", "rain-driver")
    assert create(course, "phase", "first-one") == ["content/phases/10-first-one/phase.yaml"]


def test_without_a_course_nothing_is_created(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="no readable course here"):
        create(tmp_path, "phase", "first-one")
    assert list(tmp_path.iterdir()) == []


def test_the_words_to_translate_are_all_there(course: Path, tmp_path: Path) -> None:
    edited(course, "content/course.yaml", ("lang: en", "lang: de"))
    assert new(course, "ui", []) == 0
    written = (course / "content/ui/de.yaml").read_text("utf-8")
    assert yaml.safe_load(written) == {"kinds": english()["kinds"]}
    assert yaml.safe_load(re.sub("(?m)^# ([a-z_]+: )", r"\1", written)) == english()
    assert new(course, "ui", []) == 2
    begun = tmp_path / "kurs"
    assert init(begun, "Brot", "de") == 0
    assert (begun / "content/ui/de.yaml").read_text("utf-8") == written


def test_the_command_prints_the_files_or_says_what_to_type(
    course: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new(course, "lesson", ["braking", "trail-more"], planned=True) == 0
    assert capsys.readouterr().out == f"{PHASE}/30-trail-more/lesson.md\n"
    assert new(course, "lesson", ["trail-less"]) == 2
    assert "hint: write: build.py new lesson PHASE ID" in capsys.readouterr().err
    assert new(course, "phase", ["braking", "more"]) == 2
    assert new(course, "phase", ["braking"]) == 2
    assert 'the id "braking" is taken' in capsys.readouterr().err
