"""`build.py new`: a lesson, phase, pathway or project to begin with, in its right place.

The texts lie in `skeletons/`: valid at once, with TODO wherever an author has to write.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from typing import Final

from course.build import Options, link_course
from course.diagnostics import nearest
from course.read import ids, schema
from course.read.files import split_number
from course.read.graph import Graph
from course.read.sources import CONTENT

STEP: Final = 10
LAST: Final = 99
_SKELETONS: Final = Path(__file__).with_name("skeletons")


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
    sources, graph = link_course(Options(root, root))
    if sources.course is None:
        raise ScaffoldError(
            "there is no course here that can be read",
            "run the command where the folder content/ lies, and check course.yaml",
        )
    _check_id(name, graph)
    words = {"id": name, "title": name.replace("-", " ").capitalize()}
    words["first"] = f"{name[:50].rstrip('-')}-first"
    state = "-planned" if planned else ""
    if kind == "lesson":
        folder = _numbered(root, _phase_folder(phase or "", graph), name)
        files = {"lesson.md": f"lesson{state}.md"} | ({} if planned else {"quiz.yaml": "quiz.yaml"})
        words |= sources.kinds
    elif kind == "phase":
        folder, files = _numbered(root, f"{CONTENT}/phases", name), {"phase.yaml": "phase.yaml"}
        words["part"] = sources.course.parts[-1].id
    elif kind == "pathway":
        folder, _, file = _numbered(root, f"{CONTENT}/pathways", name).rpartition("/")
        files = {f"{file}.yaml": "pathway.yaml"}
        words["phase"] = _first_phase(graph)
    else:
        folder = f"{CONTENT}/projects/{name}"
        files = {"project.yaml": f"project{state}.yaml"}
        files |= {} if planned else {"README.md": "README.md"}
        words["pathway"], words["lesson"] = _base(graph, planned)
    texts = {
        file: Template((_SKELETONS / skeleton).read_text("utf-8")).substitute(words)
        for file, skeleton in files.items()
    }
    return _write(root, folder, texts)


def _first_phase(graph: Graph) -> str:
    first = next(iter(graph.phases), None)
    if first is None:
        raise ScaffoldError("a pathway leads through phases, and there is none", "create one first")
    return first


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
    if bad := next((identity for identity in problems if identity.path == ("id",)), None):
        raise ScaffoldError(f'"{name}" is not a valid id', bad.hint or str(bad.expected))
    if bad := next(iter(ids.form_problems(name, "", None)), None):
        raise ScaffoldError(bad.message, bad.hint or "choose another id")
    taken = {
        identity: kind
        for kind, names in graph.known.items()
        if kind != "part"
        for identity in names
    }
    taken |= dict.fromkeys(graph.aliases, "alias of a lesson")
    taken |= {entry.id: "retired id" for entry in graph.sources.retired}
    for identity, locked in graph.sources.lock.items():
        taken.setdefault(identity, f"published {locked.kind}")
    if name in taken:
        raise ScaffoldError(f'the id "{name}" is taken: {taken[name]}', "choose another id")


def _phase_folder(phase: str, graph: Graph) -> str:
    """The folder of the phase with this id or folder name, from the root."""
    for source in graph.phases.values():
        folder = source.file.rpartition("/")[0]
        if phase in (source.id, folder.rpartition("/")[2]):
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
