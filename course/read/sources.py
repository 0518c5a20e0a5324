"""What authors wrote, as records: every source with its id, its data and its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from course.diagnostics import Diagnostic, Problem, Span
from course.read import ids, lesson, lesson_reader, markdown, models
from course.read.files import is_regular
from course.read.lesson import Lesson, Material, Parts, Setup
from course.read.models.view import view

if TYPE_CHECKING:
    from course.read.models.base import Retired
    from course.read.models.sources import Concept

M = TypeVar("M")
CONTENT: Final = "content"
NO_CONTENT: Final = Problem(
    "CFG002",
    CONTENT,
    "there is no content folder",
    hint="run the command where the folder content/ lies, or give --root",
)
NO_COURSE: Final = Problem(
    "CFG001",
    f"{CONTENT}/course.yaml",
    "the course has no course.yaml",
    hint="create it with schemaVersion, id, title, summary, lang, version, updated, licence "
    "and parts",
)


@dataclass(slots=True)
class Item(Generic[M]):
    """One YAML source: its id is known even when its data is not usable (``view`` is None).

    ``data`` passed its schema; the typed view of it is made when it is first asked for.
    """

    id: str
    file: str
    data: Any = None
    _view: M | None = None

    @property
    def view(self) -> M | None:
        """The data as a record."""
        if self._view is None and self.data is not None:
            self._view = cast("M", view(self.data))
        return self._view

    def rename(self, name: str) -> None:
        """Be known as *name*; the data, which says otherwise, is out of use."""
        self.id, self.data, self._view = name, None, None


@dataclass(slots=True)
class PhaseSource:
    """A phase folder and its lessons, in order."""

    item: Item[models.Phase]
    lessons: list[Lesson] = field(default_factory=list)


@dataclass(slots=True)
class ProjectSource:
    """A project folder: its page text and the files of its bundle."""

    item: Item[models.Project]
    readme: str = ""
    readme_unread: bool = False
    body: markdown.Body = field(default_factory=markdown.Body)
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Sources:
    """Everything that authors wrote."""

    course: models.Course | None = None
    words: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    concepts: tuple[Concept, ...] = ()
    retired: tuple[Retired, ...] = ()
    phases: list[PhaseSource] = field(default_factory=list)
    pathways: list[Item[models.Pathway]] = field(default_factory=list)
    roles: list[Item[models.Role]] = field(default_factory=list)
    domains: list[Item[models.Domain]] = field(default_factory=list)
    projects: list[ProjectSource] = field(default_factory=list)
    lock: dict[str, ids.Locked] = field(default_factory=dict)
    has_lock: bool = False
    diagnostics: list[Diagnostic] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    root: Path = Path()
    parts: dict[str, Parts] = field(default_factory=dict)
    setup: Setup | None = None

    def lessons(self) -> Iterator[Lesson]:
        """Every lesson in course order."""
        for phase in self.phases:
            yield from phase.lessons

    def material(self, record: Lesson) -> Material:
        """The body and the quiz of *record*, read again where they are not at hand."""
        if record.material is None and record.authored and self.setup is not None:
            record.material = lesson_reader.read(self.parts[record.folder], self.setup).material
        return record.material or Material()

    def link_place(self, record: Lesson, number: int) -> Span:
        """Where a link of *record* stands, by its number in ``links``; read again for that."""
        if "at" not in record.links[number] and self.setup is not None:
            record.links = lesson_reader.placed_links(self.parts[record.folder], self.setup)
        return Span(*record.links[number]["at"])

    def place(self, problem: Problem) -> Diagnostic:
        """*problem* with its line and column, from the text of its file."""
        text = self.texts.get(problem.file)
        if text is None and problem.span is None and problem.file.endswith("/lesson.md"):
            path = self.root / problem.file
            data = path.read_bytes() if is_regular(path) else b""
            text = self.texts[problem.file] = data.decode("utf-8", "replace")
        text = text or ""
        if problem.file.endswith(".md") and (split := lesson.split_front(text)):
            return lesson.place(problem, split[0], first_line=2)
        return lesson.place(problem, text)

    def report(self, problems: list[Problem]) -> None:
        """Keep *problems*, placed."""
        self.diagnostics.extend(self.place(problem) for problem in problems)
