"""What authors get wrong most: the report begins with the cause, and says nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from course.reports import Findings, reader, text_report
from tests.course.coursekit import (
    BRAKE_TRACE,
    END,
    QUIZ,
    READ_A_LAP,
    TYRE_WINDOW,
    checked,
    edited,
    put,
    write_course,
)

COURSE: Final = "content/course.yaml"
PHASE: Final = "content/phases/20-braking/phase.yaml"
FOLDER: Final = "content/phases/20-braking"
LESSON: Final = f"{FOLDER}/10-brake-trace"
EVIDENCE: Final = "evidence:\n  - A plot of one braking event with three marks."
Change = Callable[[Path], object]


def line(name: str, old: str, new: str) -> Change:
    """Another text in the file *name*."""
    return lambda root: edited(root, name, (old, new))


def front(old: str, new: str) -> Change:
    """Another text in the front matter of a lesson."""
    return line(BRAKE_TRACE, old, new)


def body(text: str) -> Change:
    """*text* at the end of a lesson, from line 34 on."""
    return line(BRAKE_TRACE, END, f"{END}\n{text}\n")


def move(old: str, new: str) -> Change:
    """A file or folder of another name."""
    return lambda root: (root / old).rename(root / new)


def file(name: str, data: str | None) -> Change:
    """A file of this text; None removes it."""
    return lambda root: put(root / name, data)


def saved(old: bytes, new: bytes) -> Change:
    """The bytes of a lesson as another editor saves them."""
    name = BRAKE_TRACE
    return lambda root: put(root / name, (root / name).read_bytes().replace(old, new))


class Slip(NamedTuple):
    """A mistake: how it is made, where and as what it is reported, and what the report says."""

    make: Change
    place: str
    code: str
    words: str


SLIPS: Final = {
    "a word of the front matter": Slip(
        front(": authored", ": autored"), f"{BRAKE_TRACE}:4:9", "SCH004", 'did you mean "authored"?'
    ),
    "a colon in a title": Slip(
        front("title: Read", "title: Brakes: read"), f"{BRAKE_TRACE}:3", "YML001", "quote the value"
    ),
    "a hash in a title": Slip(
        line(PHASE, "title: Braking", "title: Braking no. #2"),
        f"{PHASE}:2:8",
        "YML010",
        'put the text in quotes: "Braking no. #2"',
    ),
    "a comma in a list": Slip(
        front(EVIDENCE, "evidence: [A plot of one event, its marks on it.]"),
        f"{BRAKE_TRACE}:12",
        "YML011",
        "put the whole text in quotes",
    ),
    "a comma that leaves a short text": Slip(
        front(
            "objectives:\n  - Mark the start, the peak and the end of one braking event.",
            "objectives: [Mark the start of the event, the peak, end.]",
        ),
        f"{BRAKE_TRACE}:8",
        "SCH006",
        "put the whole text in quotes",
    ),
    "a deeper indentation": Slip(
        front("check:\n  prompt", "check:\n   prompt"),
        f"{BRAKE_TRACE}:16",
        "YML001",
        "begin the line in the column of line 15",
    ),
    "a tab": Slip(
        front("check:\n  prompt", "check:\n\tprompt"), f"{BRAKE_TRACE}:15:1", "YML002", "use spaces"
    ),
    "stars for a list": Slip(
        front("objectives:\n  - ", "objectives:\n  * "),
        f"{BRAKE_TRACE}:9",
        "YML001",
        "begin an item with -, not *",
    ),
    "a number with its unit": Slip(
        front("minutes: 35", "minutes: 35 min"),
        f"{BRAKE_TRACE}:6:10",
        "SCH001",
        "write a plain number",
    ),
    "one thing where a list stands": Slip(
        front("[read-a-lap]", "read-a-lap"),
        f"{BRAKE_TRACE}:10:16",
        "SCH001",
        "write prerequisites: [read-a-lap]",
    ),
    "front matter without an end": Slip(
        front("---\n\nThe pedal", "\nThe pedal"),
        f"{BRAKE_TRACE}:1:1",
        "YML008",
        "write a line --- between the fields and the text",
    ),
    "an id that nothing has": Slip(
        front("[read-a-lap]", "[read-lap]"),
        f"{BRAKE_TRACE}:10:17",
        "REF001",
        'did you mean "read-a-lap"?',
    ),
    "a copy that keeps its id": Slip(
        line(TYRE_WINDOW, "id: tyre-window", "id: brake-trace"),
        f"{TYRE_WINDOW}:2:5",
        "IDS008",
        "expected tyre-window, got brake-trace",
    ),
    "a folder without a number": Slip(
        move(LESSON, f"{FOLDER}/brake-trace"),
        f"{FOLDER}/brake-trace:1:1",
        "SRC013",
        "rename it to 30-brake-trace",
    ),
    "a lesson without a quiz": Slip(
        file(f"{LESSON}/quiz.yaml", None),
        f"{BRAKE_TRACE}:4:9",
        "LES016",
        "write quiz.yaml beside lesson.md",
    ),
    "a picture of a format that has no place": Slip(
        file(f"{LESSON}/media/plot.tiff", "II*"),
        f"{LESSON}/media/plot.tiff:1:1",
        "SRC006",
        "save it in another format (.svg, .png",
    ),
    "a picture whose ending is in capitals": Slip(
        file(f"{LESSON}/media/plot.JPG", "II*"),
        f"{LESSON}/media/plot.JPG:1:1",
        "SRC006",
        "name it plot.jpg",
    ),
    "a picture that is not there": Slip(
        body("![A plot of one event](media/plot.svg)"),
        f"{BRAKE_TRACE}:34:1",
        "LNK001",
        "put the file into media/",
    ),
    "a picture without a text": Slip(
        line(READ_A_LAP, "## Solution", "![](media/trace.svg)\n\n## Solution"),
        f"{READ_A_LAP}:",
        "A11001",
        "say what it shows",
    ),
    "a heading of a wrong kind": Slip(
        front("## Exercise:", "## Excercise:"), f"{BRAKE_TRACE}:29:1", "LES022", 'mean "Exercise"?'
    ),
    "a first-level heading": Slip(body("# More"), f"{BRAKE_TRACE}:34:1", "MD002", "begin with ##"),
    "raw HTML": Slip(
        body("A <b>bold</b> word."), f"{BRAKE_TRACE}:34:3", "MD001", "write it in Markdown"
    ),
    "a box of another tool": Slip(
        body("!!! note\n    Warm tyres."), f"{BRAKE_TRACE}:34:1", "MD014", "write > [!NOTE]"
    ),
    "an address that is no link": Slip(
        body("See https://example.org/laps for more."),
        f"{BRAKE_TRACE}:34:5",
        "MD015",
        "write [what is there](https://example.org/laps)",
    ),
    "a link to a folder of another number": Slip(
        body("After [the first lesson](../../10-laps/20-read-a-lap/lesson.md)."),
        f"{BRAKE_TRACE}:34:7",
        "LNK001",
        "write lesson:read-a-lap",
    ),
    "a question without a right answer": Slip(
        line(QUIZ, "        correct: true\n", ""),
        f"{QUIZ}:6",
        "QUZ004",
        'add "correct: true" to one option',
    ),
    "a blank that nothing fills in": Slip(
        file("content/ui/en.yaml", 'lessons_many: "{count} lessons"\n'),
        "content/ui/en.yaml:1:15",
        "CFG007",
        "write {n}",
    ),
    "line ends of Windows": Slip(
        saved(b"\n", b"\r\n"), f"{BRAKE_TRACE}:1:4", "SRC003", "LF line ends"
    ),
    "another encoding": Slip(
        saved(b"title: ", b"title: \xe9"), f"{BRAKE_TRACE}:3:8", "SRC001", "save the file as UTF-8"
    ),
    "a version of two numbers": Slip(
        line(COURSE, "version: 1.1.0", "version: 1.1"),
        f"{COURSE}:6:10",
        "SCH001",
        "write three numbers, such as 1.2.0",
    ),
}


@pytest.mark.parametrize("what", SLIPS)
def test_the_first_line_of_the_report_names_the_cause(what: str, tmp_path: Path) -> None:
    slip = SLIPS[what]
    root = write_course(tmp_path)
    slip.make(root)
    report = checked(root)
    said = text_report(Findings(report, reader(root)))
    first = said.partition("\n")[0]
    assert first.startswith(slip.place)
    assert slip.code in first
    assert slip.words in said
    assert len(report.diagnostics) == 1
