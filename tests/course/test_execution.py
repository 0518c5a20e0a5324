"""`check --run`: programs of lessons are run, bounded, and held to what the page says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from course.build import Options
from course.cli import main
from course.diagnostics import Diagnostic
from course.execution import run_programs
from tests.course.coursekit import BRAKE_TRACE, LAP_KIT, put, with_body, write_course

CODE = "content/phases/10-laps/10-read-a-lap/code/slowest.py"


def problems(root: Path, wait_s: float = 60.0) -> list[Diagnostic]:
    """What running the programs of the course below *root* finds."""
    return run_programs(Options(root, root / "site"), wait_s).diagnostics


def program(*lines: str, expected: str | None = None) -> str:
    """A Python block with these *lines*; its first line is line 36 of the lesson."""
    output = "" if expected is None else f"\n```text expected\n{expected}\n```\n"
    return "\n```python\n" + "\n".join(lines) + "\n```\n" + output


def test_a_course_that_does_what_it_says_has_no_problems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = program("lap_s = 61.2") + program("print(lap_s)", expected="61.2")
    root = with_body(tmp_path, body)
    assert problems(root) == []
    assert main(["check", "--run", "--root", str(root), "--no-cache"]) == 0
    assert "ran 3 programs and 0 tests of projects" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "code", "line", "said"),
    [
        (program("a = 1", "print(b)"), "RUN001", 37, "NameError: name 'b' is not defined"),
        (program("print(1)"), "RUN002", 36, "it prints: 1"),
        (program("print(1)", "print(3)", expected="1\n2"), "RUN002", 42, "got 3"),
        (program("print(1)", expected="1\n2"), "RUN002", 41, "got no more lines"),
        (program("open('a.csv', 'w').close()"), "RUN003", 36, "a.csv"),
        (program("import warnings", "warnings.warn('x')"), "RUN001", 37, "UserWarning"),
        (program("import sys", "sys.exit(3)"), "RUN001", 37, "SystemExit"),
        (program("import os", "os._exit(0)"), "RUN001", 36, "the process ended"),
        (program("x = [0] * 10**10"), "RUN001", 36, "MemoryError"),
        (program("import os", "os.system('true')"), "RUN001", 37, "must not use os.system"),
        (program("import os", "os.fork()"), "RUN001", 37, "must not use os.fork"),
        (program("open('../stray', 'w')"), "RUN001", 36, "its own folder"),
        (program("import os", "os.symlink('a', '../stray')"), "RUN001", 37, "its own folder"),
        (program("import os", "os.truncate('../stray', 0)"), "RUN001", 37, "its own folder"),
        (program("import os", "[os.write(n, b'x') for n in (3, 4)]"), "RUN001", 36, "tool writes"),
        (program("while True:", "    print('x' * 1000)"), "RUN001", 37, "more than 1,048,576"),
        (
            program("class E(SyntaxError):", "    lineno = 'five'", "raise E('x')"),
            "RUN001",
            38,
            "E: x",
        ),
        (program("open('big', 'wb').write(b'0' * 10**8)"), "RUN001", 36, "too large"),
        (
            program("import socket", "socket.create_connection(('127.0.0.1', 9))"),
            "RUN001",
            37,
            "must not use socket",
        ),
    ],
)
def test_what_a_program_must_not_do_is_named_at_its_line(
    body: str, code: str, line: int, said: str, tmp_path: Path
) -> None:
    found = problems(with_body(tmp_path, body))
    assert [row.code for row in found if row.code != "RUN003" or code == "RUN003"] == [code]
    first = found[0]
    assert (first.file, first.line) == (BRAKE_TRACE, line)
    assert said in f"{first.message} {first.hint} got {first.got}"


def test_an_endless_program_ends(tmp_path: Path) -> None:
    (found,) = problems(with_body(tmp_path, program("while True:", "    pass")), wait_s=1.0)
    assert found.code == "RUN001"
    assert "within 1 s" in found.message


def test_a_program_sees_nothing_of_the_one_who_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "secret")
    body = program(
        "import os, sys", "print('API_TOKEN' in os.environ, os.listdir())", expected="False []"
    )
    assert problems(with_body(tmp_path, body)) == []
    assert os.environ["API_TOKEN"] == "secret"


def test_a_fault_in_an_included_file_stands_there(tmp_path: Path) -> None:
    root = write_course(tmp_path)
    lines = (root / CODE).read_text("utf-8").splitlines()
    (root / CODE).write_text("\n".join([*lines, "print(1 / 0)", ""]), "utf-8")
    (found,) = problems(root)
    assert (found.code, found.file, found.line) == ("RUN001", CODE, len(lines) + 1)
    assert "ZeroDivisionError" in found.message


# -- projects -----------------------------------------------------------------------------------

TEST_FILE = f"{LAP_KIT}/tests/test_1_best.py"
TEST = """import unittest

from laps import best
from sample import LAPS_S


class BestTest(unittest.TestCase):
    def test_the_best_lap_is_the_shortest(self) -> None:
        self.assertEqual(best(LAPS_S), 40.7)
"""


@pytest.mark.parametrize(
    ("solution", "status", "line", "said"),
    [
        ("best = min\n", 0, 0, ""),
        ("best = max\n", 1, 9, "test_the_best_lap_is_the_shortest fails: AssertionError: 41.2"),
        ("worst = max\n", 1, 3, "test_1_best fails: ImportError: cannot import name 'best'"),
        ("import os\nos._exit(0)\n", 1, 1, "the tests cannot be run: the process ended"),
    ],
)
def test_the_solution_of_a_project_passes_its_tests(
    solution: str,
    status: int,
    line: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    root = write_course(tmp_path, {TEST_FILE: TEST, f"{LAP_KIT}/solution/laps.py": solution})
    put(root / LAP_KIT / "tests/sample.py", "LAPS_S = [41.2, 40.7]\n")
    found = problems(root)
    assert [(row.code, row.line) for row in found] == [("RUN005", line)] * status
    assert [row.message[: len(said)] for row in found] == [said] * status
    assert main(["check", "--run", "--root", str(root), "--no-cache"]) == status
    assert f"and {int(line != 1)} tests of projects" in capsys.readouterr().err
