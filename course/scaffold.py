"""`build.py new`: a lesson, phase, pathway or project to begin with, in its right place."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from course.build import link_course
from course.diagnostics import nearest
from course.fmt import dump
from course.options import Options
from course.read import ids, schema
from course.read.files import split_number
from course.read.graph import Graph
from course.read.sources import CONTENT

STEP: Final = 10
LAST: Final = 99
KINDS: Final = ("lesson", "phase", "pathway", "project")


class ScaffoldError(Exception):
    """The thing cannot be created; the message says why, ``hint`` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def new(root: Path, kind: str, names: Sequence[str], *, planned: bool = False) -> int:
    """The command: create what *names* says (``PHASE ID`` for a lesson, else ``ID``).

    Prints the files written. Returns 0, or 2 when nothing could be created.
    """
    wanted = ("PHASE", "ID") if kind == "lesson" else ("ID",)
    try:
        if len(names) != len(wanted):
            call = f"build.py new {kind} {' '.join(wanted)}"
            raise ScaffoldError(f"a {kind} is named by {' and '.join(wanted)}", f"write: {call}")
        phase = names[0] if kind == "lesson" else None
        written = create(root, kind, names[-1], phase=phase, planned=planned)
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n  hint: {error.hint}\n")
        return 2
    sys.stdout.write("".join(f"{file}\n" for file in written))
    return 0


def create(
    root: Path, kind: str, name: str, *, phase: str | None = None, planned: bool = False
) -> list[str]:
    """Create the skeleton of a ``lesson``, ``phase``, ``pathway`` or ``project`` called *name*.

    *phase* is the id (or the folder name) of the phase of a lesson; a phase and a pathway take
    no account of *planned*. Returns the files written, as POSIX paths from *root*. Raises
    :class:`ScaffoldError`; then nothing was written.
    """
    loaded, graph = link_course(Options(root, root))
    if loaded.course is None:
        raise ScaffoldError(
            "there is no course here that can be read",
            "run the command where the folder content/ lies, and check course.yaml",
        )
    _check_id(name, graph)
    if kind == "lesson":
        folder = _numbered(root, _phase_folder(phase or "", graph), name)
        files = lesson_files(name, loaded.kinds, planned=planned)
    elif kind == "phase":
        folder = _numbered(root, f"{CONTENT}/phases", name)
        files = phase_files(name, loaded.course.parts[-1].id)
    elif kind == "pathway":
        folder, _, file = _numbered(root, f"{CONTENT}/pathways", name).rpartition("/")
        files = {f"{file}.yaml": pathway_text(name, _first_phase(graph))}
    else:
        folder = f"{CONTENT}/projects/{name}"
        files = project_files(name, *_base(graph, planned), planned=planned)
    return _write(root, folder, files)


def _first_phase(graph: Graph) -> str:
    found = next(iter(graph.phases), None)
    if found is None:
        raise ScaffoldError("a pathway leads through phases, and there is none", "create one first")
    return found


def _base(graph: Graph, planned: bool) -> tuple[str, str]:
    """A pathway, and a lesson of it that a project can require."""
    for owner, lessons in graph.pathway_lessons.items():
        for name in lessons:
            if planned or graph.lessons[name].authored:
                return owner, name
    what = "a lesson" if planned else "an authored lesson"
    raise ScaffoldError(f"a project needs a pathway with {what}", "write that first")


def _numbered(root: Path, owner: str, name: str) -> str:
    return f"{owner}/{_next_number(root / owner)}-{name}"


def _check_id(name: str, graph: Graph) -> None:
    problems = schema.check("phase", {"id": name}, "")
    if bad := next((one for one in problems if one.path == ("id",)), None):
        raise ScaffoldError(f'"{name}" is not a valid id', bad.hint or str(bad.expected))
    if bad := next(iter(ids.form_problems(name, "", None)), None):
        raise ScaffoldError(bad.message, bad.hint or "choose another id")
    taken = {one: kind for kind, names in graph.known.items() if kind != "part" for one in names}
    taken |= dict.fromkeys(graph.aliases, "alias of a lesson")
    taken |= {entry.id: "retired id" for entry in graph.sources.retired}
    for one, locked in graph.sources.lock.items():
        taken.setdefault(one, f"published {locked.kind}")
    if name in taken:
        raise ScaffoldError(f'the id "{name}" is taken: {taken[name]}', "choose another id")


def _phase_folder(phase: str, graph: Graph) -> str:
    """The folder of the phase with this id or folder name, from the root."""
    for known in graph.phases.values():
        folder = known.item.file.rpartition("/")[0]
        if phase in (known.item.id, folder.rpartition("/")[2]):
            return folder
    known_ids = list(graph.phases)
    hint = nearest(phase, known_ids) or f"one of: {', '.join(known_ids)}"
    raise ScaffoldError(f'there is no phase "{phase}"', hint)


def _next_number(folder: Path) -> int:
    """The next free number in steps of ten, after everything that is there, drafts included."""
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    numbers = [number for name in names if (number := split_number(name.lstrip("_")))]
    last = max((int(number[0]) for number in numbers), default=0)
    following = (last // STEP + 1) * STEP
    if following > LAST:
        following = last + 1
    if following > LAST:
        raise ScaffoldError(
            f"no number up to {LAST} is free after the last entry of {folder.name}/",
            "renumber some of its entries: the ids stay as they are",
        )
    return following


def _write(root: Path, folder: str, files: Mapping[str, str]) -> list[str]:
    """Write *files* into *folder*; what exists already is never touched."""
    for name in files:
        if (root / folder / name).exists():
            raise ScaffoldError(f"{folder}/{name} exists already", "choose another id")
    for name, text in files.items():
        path = root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return [f"{folder}/{name}" for name in files]


# -- texts: valid at once, with TODO wherever an author has to write ---------------------------

_LESSON_BODY: Final = """\
TODO: open with a situation that the learner knows, in two or three sentences. Say what they can do
at the end that they cannot do now, and leave the definitions for the next part.

## {idea}: TODO name the idea

TODO: explain one idea. Begin with what it is for, then say how it works, and end with the limits
within which it holds. A figure goes into media/ and is included by its relative path with an
alternative text that says what it shows.

## {example}: TODO name the example

TODO: walk through one case with real numbers. Code goes into a file below code/ and is included by
a fenced block with its language and file=code/NAME; the output goes into a block marked expected.

## {exercise}: TODO name the task

TODO: set one task that the learner does with their own data or with data that you supply. Say what
the result looks like, so that they know when they are done.

## {solution}: TODO name the task

TODO: show one good answer, and how to tell a right answer from a wrong one.

## {recap}

TODO: repeat the one sentence that the learner should keep.
"""


def title(name: str) -> str:
    """The id *name* as a title to begin with: ``brake-trace`` is "Brake trace"."""
    return name.replace("-", " ").capitalize()


def lesson_files(name: str, kinds: Mapping[str, str], *, planned: bool) -> dict[str, str]:
    """The files of a lesson; *kinds* are the block names of the course language."""
    front: dict[str, Any] = {
        "id": name,
        "title": title(name),
        "status": "planned" if planned else "authored",
        "summary": "TODO: say in one line what the lesson is about.",
        "objectives": ["TODO: say what the learner can do afterwards."],
    }
    if planned:
        return {"lesson.md": f"---\n{dump(front, 'lesson')}---\n"}
    front |= {
        "minutes": 30,
        "level": "core",
        "equipment": ["laptop"],
        "evidence": ["TODO: name what the learner keeps as proof of the work."],
        "check": {
            "prompt": "TODO: ask one open question that needs reasoning.",
            "answer": "TODO: give an answer that a reader can compare with.",
        },
    }
    body = _LESSON_BODY.format_map(kinds)
    return {
        "lesson.md": f"---\n{dump(front, 'lesson')}---\n\n{body}",
        "quiz.yaml": dump({"questions": [_question(name)]}, "quiz"),
    }


def _question(name: str) -> dict[str, Any]:
    return {
        "id": f"{name[:50].rstrip('-')}-first",
        "kind": "single",
        "prompt": "TODO: ask about the first objective.",
        "options": [
            {"text": "TODO: the right answer.", "correct": True, "why": "TODO: why it is right."},
            {"text": "TODO: a wrong answer.", "why": "TODO: what it overlooks."},
        ],
        "explanation": "TODO: explain the right answer in a sentence or two.",
        "objective": 1,
    }


def phase_files(name: str, part: str) -> dict[str, str]:
    """The file of a phase of the course part *part*."""
    data = {
        "id": name,
        "title": title(name),
        "part": part,
        "summary": "TODO: say in one line what the phase is about.",
        "outcome": "TODO: say what the learner can do after the phase.",
        "checkpoint": {
            "prompt": "TODO: ask the question that closes the phase.",
            "answer": "TODO: give an answer that a reader can compare with.",
        },
    }
    return {"phase.yaml": dump(data, "phase")}


def pathway_text(name: str, first_phase: str) -> str:
    """A pathway that begins, and for now ends, with *first_phase*."""
    data = {
        "id": name,
        "title": title(name),
        "summary": "TODO: say in one line what the pathway is about.",
        "audience": "TODO: say for whom it is.",
        "outcome": "TODO: say what the learner can do at the end.",
        "firstArtifact": "TODO: name the first thing that the learner makes.",
        "studyAdvice": "TODO: say how to study it.",
        "steps": [{"phase": first_phase}],
    }
    return dump(data, "pathway")


def project_files(name: str, owner: str, needed: str, *, planned: bool) -> dict[str, str]:
    """The files of a project of the pathway *owner* that builds on the lesson *needed*."""
    data: dict[str, Any] = {
        "id": name,
        "title": title(name),
        "summary": "TODO: say in one line what is built.",
        "status": "planned" if planned else "authored",
        "pathway": owner,
        "requiredLessons": [needed],
    }
    if not planned:
        data |= {"equipment": ["laptop"], "stages": [_stage(name, needed)], "rubric": [_RUBRIC]}
        readme = f"# {title(name)}\n\nTODO: say what is built, from what, and how to begin.\n"
        return {"project.yaml": dump(data, "project"), "README.md": readme}
    return {"project.yaml": dump(data, "project")}


def _stage(name: str, needed: str) -> dict[str, Any]:
    return {
        "id": f"{name[:50].rstrip('-')}-first",
        "title": "TODO: name the first stage",
        "goal": "TODO: say what the stage is for.",
        "lessons": [needed],
        "expected": "TODO: say what success looks like.",
        "evidence": "TODO: say what to keep.",
        "diagnosis": "TODO: describe a usual failure and what it means.",
    }


_RUBRIC: Final = {
    "id": "it-works",
    "criterion": "TODO: say what is judged.",
    "levels": [
        {"score": 0, "description": "TODO: describe work that misses it."},
        {"score": 3, "description": "TODO: describe excellent work."},
    ],
}
