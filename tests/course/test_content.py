"""The programs of the course do what its pages say: lessons, scripts and projects."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from course.build import Options, build
from course.execution import run_programs

CONTENT: Final = Path(__file__).resolve().parents[2] / "content"
AUTHORED: Final = sorted(
    re.sub(r"^\d+-", "", path.parent.name) for path in CONTENT.glob("phases/*/*/quiz.yaml")
)
PROJECTS: Final = sorted(path.parent.name for path in CONTENT.glob("projects/*/project.yaml"))


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real course, built once."""
    out = tmp_path_factory.mktemp("built") / "site"
    assert build(Options(root=root, out=out)).written
    return out


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run an isolated Python in *folder*: no environment, no user packages, no current folder."""
    command = [sys.executable, "-I", "-W", "error", "-X", "utf8", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, check=False, text=True, timeout=50
    )


def test_every_lesson_with_a_quiz_is_authored_and_no_other(site: Path) -> None:
    found = [json.loads(path.read_bytes()) for path in site.glob("api/v1/lessons/*.json")]
    assert sorted(one["id"] for one in found if one["status"] == "authored") == AUTHORED


def test_every_program_does_what_the_page_says(root: Path, tmp_path: Path) -> None:
    run = run_programs(Options(root=root, out=tmp_path / "site"))
    assert run.diagnostics == []
    assert run.programs > 100
    assert run.tests > 40


@pytest.mark.parametrize("lesson", AUTHORED)
def test_the_script_of_a_lesson_runs_alone(site: Path, tmp_path: Path, lesson: str) -> None:
    shutil.copy(site / f"downloads/{lesson}.py", tmp_path)
    done = python(tmp_path, f"{lesson}.py")
    assert done.returncode == 0, done.stderr
    content = json.loads((site / f"api/v1/lessons/{lesson}.json").read_bytes())["content"]
    expected = [block["expected"].strip("\n") for block in content["code"] if "expected" in block]
    assert done.stdout.split() == "\n".join(expected).split()


def unpacked(site: Path, project: str, folder: Path, place: str) -> tuple[Path, str]:
    """The bundle of *project* below *folder*; its place to work in and the test command."""
    shutil.unpack_archive(site / f"downloads/{project}.zip", folder)
    readme = next(folder.rglob("README.md"))
    return readme.parent / place, readme.read_text("utf-8")


def prepare(work: Path, readme: str) -> None:
    """Make the sample that the README makes before the first test."""
    for line in re.findall(r"^python (\.\./tests/make_\S+ \S+)$", readme, re.MULTILINE):
        done = python(work, *line.split())
        assert done.returncode == 0, done.stderr


def run_tests(work: Path) -> dict[str, Any]:
    """How many tests ran below *work*/../tests, and how many failed."""
    # The current folder is where the learner's files are, so -I would hide them.
    command = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "../tests"]
    done = subprocess.run(
        command, cwd=work, capture_output=True, check=False, text=True, timeout=50
    )
    ran = re.search(r"^Ran (\d+) tests?", done.stderr, re.MULTILINE)
    bad = re.findall(r"(?:failures|errors)=(\d+)", done.stderr)
    assert ran is not None, done.stderr
    return {"ran": int(ran[1]), "bad": sum(map(int, bad)), "said": done.stderr}


@pytest.mark.parametrize("project", PROJECTS)
def test_the_start_of_a_project_fails_every_test_and_names_the_stage(
    site: Path, tmp_path: Path, project: str
) -> None:
    work, readme = unpacked(site, project, tmp_path, "starter")
    assert "every test ends with an error that names its stage" in readme
    prepare(work, readme)
    result = run_tests(work)
    assert result["ran"] == result["bad"] >= 10, result["said"]
    named = re.findall(r"^\w+Error: .*\bstage \d", result["said"], re.MULTILINE)
    assert len(named) >= result["ran"], result["said"]


NUMBERS: Final = "zero one two three four five six seven eight nine ten".split()


@pytest.mark.parametrize("project", PROJECTS)
def test_a_stage_has_as_many_tests_as_it_promises(site: Path, tmp_path: Path, project: str) -> None:
    work, _ = unpacked(site, project, tmp_path, "solution")
    projects = json.loads((site / "api/v1/projects.json").read_bytes())["projects"]
    stages = next(one["stages"] for one in projects if one["id"] == project)
    promised = {
        stage["number"]: NUMBERS.index(words[1].lower())
        for stage in stages
        if (words := re.match(r"(\w+) tests pass", stage["expected"]))
    }
    assert len(promised) >= 2
    for number, count in promised.items():
        (file,) = work.parent.glob(f"tests/test_{int(number)}_*.py")
        assert len(re.findall(r"^    def test_", file.read_text("utf-8"), re.MULTILINE)) == count
