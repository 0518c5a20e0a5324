"""`init` and `new`: create a whole course, or one source in its right place.

The texts lie in `skeletons/`: valid at once, with TODO wherever an author has to write; those of a
whole course need none, because its one lesson is about lessons.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from string import Template
from typing import Final

from course import yamlsource
from course.build import Options, link_course
from course.diagnostics import nearest
from course.fmt import run
from course.program import command, program
from course.read import ids, schema
from course.read.files import split_number
from course.read.graph import Graph
from course.read.sources import CONTENT, WORDS, english, is_english

STEP: Final = 10
LAST: Final = 99
_WORD: Final = re.compile(r"^(?=[a-z])", re.MULTILINE)
_SKELETONS: Final = Path(__file__).with_name("skeletons")


class ScaffoldError(Exception):
    """The source cannot be created; the message says why, ``hint`` what to do instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def new(root: Path, kind: str, names: Sequence[str], *, planned: bool = False) -> int:
    """The command: create what *names* says: ``PHASE ID`` for a lesson, none for ui, else ``ID``.

    Prints the files written. Returns 0, or 2 when nothing could be created.
    """
    wanted = {"lesson": ("PHASE", "ID"), "ui": ()}.get(kind, ("ID",))
    try:
        if len(names) != len(wanted):
            call = " ".join([program(), "new", kind, *wanted])
            raise ScaffoldError(
                f"{kind} takes {' and '.join(wanted) or 'no name'}", f"write: {call}"
            )
        phase = names[0] if kind == "lesson" else None
        written = create(root, kind, "".join(names[-1:]), phase=phase, planned=planned)
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n  hint: {error.hint}\n")
        return 2
    sys.stdout.write("".join(f"{file}\n" for file in written))
    return 0


def init(folder: Path, title: str | None, lang: str) -> int:
    """The command: begin a course in *folder*, which is made; prints what to type next.

    Returns 0, or 2 when nothing could be created.
    """
    named = title or folder.absolute().name.replace("-", " ").replace("_", " ").capitalize()
    quoted = json.dumps(named, ensure_ascii=False)
    words = {"id": _id_from(named), "quoted": quoted, "lang": lang, **english()["kinds"]}
    words["updated"] = datetime.now(UTC).date().isoformat()
    try:
        if folder.exists() and any(folder.iterdir()):
            raise ScaffoldError(f"the folder {folder} is not empty", "name a new one")
        source = _SKELETONS / "init"
        names = sorted(path for path in source.rglob("*") if path.is_file())
        texts = {
            path.relative_to(source).as_posix().replace("gitignore", ".gitignore"): Template(
                path.read_text("utf-8")
            ).substitute(words)
            for path in names
        }
        if not is_english(lang):
            texts[f"{CONTENT}/ui/{lang}.yaml"] = _to_translate()
        front, problems = yamlsource.parse(texts["content/course.yaml"], "course.yaml")
        problems += schema.check("course", front, "course.yaml") if not problems else []
        if problems:
            raise ScaffoldError(problems[0].message, problems[0].hint or "choose another title")
        written = _write(folder, "", texts)
        run(folder)  # quotes only where YAML needs them
    except ScaffoldError as error:
        sys.stderr.write(f"error: {error}\n  hint: {error.hint}\n")
        return 2
    sys.stdout.write("".join(f"{folder / file}\n" for file in written))
    sys.stdout.write(f"\nnext: {command()} serve --root {quote(str(folder))} --open\n")
    return 0


def _id_from(title: str) -> str:
    """An id that says *title*; ``my-course`` when that leaves too little."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower()).split()
    name = "-".join(words).lstrip("0123456789-")[:64].rstrip("-")
    return name if len(name) > 2 else "my-course"


def create(
    root: Path, kind: str, name: str, *, phase: str | None = None, planned: bool = False
) -> list[str]:
    """Create the skeleton of a *kind* called *name*.

    *kind* is ``lesson``, ``phase``, ``pathway``, ``role``, ``domain``, ``project``, or ``ui`` for
    the words of the pages in the language of the course, which need no name. *phase* is the id
    (or the folder name) of the phase of a lesson; only a lesson and a project can be *planned*.
    Returns the files written, as POSIX paths from *root*. Raises :class:`ScaffoldError`; then
    nothing was written.
    """
    sources, graph = link_course(Options(root, root))
    if sources.course is None:
        raise ScaffoldError(
            "there is no readable course here",
            "run the command where the folder content/ lies, and check course.yaml",
        )
    if kind == "ui":
        return _write(root, f"{CONTENT}/ui", {f"{sources.course.lang}.yaml": _to_translate()})
    _check_id(name, graph)
    words = {"id": name, "title": name.replace("-", " ").capitalize()}
    words["first"] = f"{name[:50].rstrip('-')}-first"
    state = "-planned" if planned else ""
    if kind == "lesson":
        folder = _number_path(root, _phase_folder(phase or "", graph), name)
        files = {"lesson.md": f"lesson{state}.md"} | ({} if planned else {"quiz.yaml": "quiz.yaml"})
        words |= sources.kinds
    elif kind == "phase":
        folder, files = _number_path(root, f"{CONTENT}/phases", name), {"phase.yaml": "phase.yaml"}
        words["part"] = sources.course.parts[-1].id
    elif kind == "pathway":
        folder, _, file = _number_path(root, f"{CONTENT}/pathways", name).rpartition("/")
        files = {f"{file}.yaml": "pathway.yaml"}
        words["phase"] = _find_first_phase(graph)
    elif kind in ("role", "domain"):
        folder, _, file = _number_path(root, f"{CONTENT}/{kind}s", name).rpartition("/")
        files = {f"{file}.yaml": f"{kind}.yaml"}
        words["pathway"], words["phase"] = _find_pathway(graph)
    else:
        folder = f"{CONTENT}/projects/{name}"
        files = {"project.yaml": f"project{state}.yaml"}
        files |= {} if planned else {"README.md": "README.md"}
        words["pathway"], words["lesson"] = _find_project_base(graph, planned)
    texts = {
        file: Template((_SKELETONS / skeleton).read_text("utf-8")).substitute(words)
        for file, skeleton in files.items()
    }
    return _write(root, folder, texts)


def _to_translate() -> str:
    """The words of the tool: the names of the blocks, and as comments all that stays English."""
    kinds, rest = WORDS.read_text("utf-8").partition("kinds:")[2].split("\n\n", 1)
    head = "# Words of the pages. Translate a line and remove the # before it: the rest is English."
    return f"{head}\nkinds:{kinds}\n\n{_WORD.sub('# ', rest)}"


def _find_first_phase(graph: Graph) -> str:
    first = next(iter(graph.phases), None)
    if first is None:
        raise ScaffoldError("a pathway needs a phase, and there is none yet", "create one first")
    return first


def _find_pathway(graph: Graph) -> tuple[str, str]:
    """The first pathway that has lessons, and its first phase."""
    for name in graph.pathways:
        for phase in graph.pathway_phases(name):
            return name, phase
    raise ScaffoldError("there is no pathway with a lesson yet", "create one first")


def _find_project_base(graph: Graph, planned: bool) -> tuple[str, str]:
    """A pathway, and a lesson of it that a project can require."""
    for owner, lessons in graph.pathway_lessons.items():
        for name in lessons:
            if planned or graph.lessons[name].authored:
                return owner, name
    what = "a lesson" if planned else "an authored lesson"
    raise ScaffoldError(f"a project needs a pathway with {what}", "write it first")


def _number_path(root: Path, owner: str, name: str) -> str:
    return f"{owner}/{_next_number(root / owner)}-{name}"


def _check_id(name: str, graph: Graph) -> None:
    problems = schema.check("phase", {"id": name}, "")
    if bad := next((identity for identity in problems if identity.path == ("id",)), None):
        raise ScaffoldError(f'"{name}" is not a valid id', bad.hint or str(bad.expected))
    if bad := next(iter(ids.check_form(name, "", None)), None):
        raise ScaffoldError(bad.message, bad.hint or "choose another id")
    taken = {
        identity: kind
        for kind, names in graph.ids.items()
        if kind not in ("part", "equipment")
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
    """Return the next free number in steps of ten, after all existing ones, drafts included."""
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
            hint = "choose another id, or move the file away"
            raise ScaffoldError(f"{folder}/{name} exists already", hint)
    for name, text in files.items():
        path = root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    return [f"{folder}/{name}".lstrip("/") for name in files]
