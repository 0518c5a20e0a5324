"""The texts of new sources: valid at once, with TODO wherever an author has to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from course.fmt import dump

Files = dict[str, str]
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


def lesson(name: str, kinds: Mapping[str, str], *, planned: bool) -> Files:
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


def phase(name: str, part: str) -> Files:
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


def pathway(name: str, first_phase: str) -> str:
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


def project(name: str, owner: str, needed: str, *, planned: bool) -> Files:
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
