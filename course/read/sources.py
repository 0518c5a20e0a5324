"""Reads the content folder once and reports everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from course import yamlsource
from course.diagnostics import Diagnostic, Problem, Span, nearest
from course.program import command
from course.read import blocks, ids, look, markdown, schema
from course.read.code import find_python_fault
from course.read.files import (
    CODE_SUFFIXES,
    DATA_SUFFIXES,
    LESSON_KIB,
    MEDIA_KIB,
    MEDIA_SUFFIXES,
    TEXT_LIMIT,
    Entry,
    Folder,
    decode_text,
    find_merge_marker,
    find_unfinished,
    folder_id,
    is_language,
    is_regular,
    is_translation,
    read_bytes,
    report_missing,
    report_unknown,
    scan,
    split_number,
)
from course.read.lesson import KIB, Lesson, Material, Parts, Readings, Setup, place, split_front

if TYPE_CHECKING:
    from course.read import models

M = TypeVar("M")
EntryT = TypeVar("EntryT", Entry, Folder)
CONTENT: Final = "content"
WORDS: Final = Path(__file__).with_name("words.yaml")
DATA_LIMIT: Final = 256 * KIB
PROJECT_FILE_LIMIT: Final = 512 * KIB
_ROOT_FILES: Final = (
    *("course.yaml", "concepts.yaml", "retired.yaml"),
    *("synonyms.yaml", "interfaces.txt", "ids.lock"),
)
_ROOT_FOLDERS: Final = (
    *("phases", "pathways", "roles", "domains", "projects"),
    *("ui", "media", "templates"),
)
_PROJECT_FOLDERS: Final = ("starter", "tests", "solution")
# How the keys of the interface words begin that pages of lessons need.
_LESSON_WORDS: Final = ("output", "table", "done", "to_do", "alert_", "trace_")
# Rules that mean nothing while the words for the blocks are unknown.
_NEED_WORDS: Final = ("LES017", "LES021", "LES022")
_BLANK: Final = re.compile(r"\{[a-z]+\}")
Reader = Callable[[Readings], Iterable[Lesson]]


@dataclass(slots=True)
class Item(Generic[M]):
    """One YAML source: its id is known even when its data is not usable (``view`` is None)."""

    id: str
    file: str
    view: M | None = None

    @property
    def data(self) -> M:
        """The data of a course without errors."""
        if self.view is None:
            raise ValueError(f"{self.file} cannot be used")
        return self.view

    def rename(self, name: str) -> None:
        """Be known as *name*; the data, which says otherwise, is out of use."""
        self.id, self.view = name, None


ItemT = TypeVar("ItemT", bound=Item[Any])


@dataclass(slots=True)
class PhaseSource(Item["models.Phase"]):
    """A phase folder and its lessons, in order."""

    lessons: list[Lesson] = field(default_factory=list)


@dataclass(slots=True)
class ProjectSource(Item["models.Project"]):
    """A project folder: its page text and the files of its bundle."""

    readme: str = ""
    readme_unread: bool = False
    body: markdown.Body = field(default_factory=markdown.Body)
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass(slots=True)
class Sources:
    """Every source as a record, and what is wrong with them.

    ``media`` holds the pictures of the course by path (``media/x.svg``), ``templates`` its own
    templates and style by name (``home.html``). ``facts`` are the keys of ``course.yaml`` that are
    right, ``trees`` the data of every YAML file that can be read, right or wrong. ``unread`` holds
    the kinds of which a list cannot be read.
    """

    course: models.Course | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    trees: dict[str, Any] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    media: dict[str, bytes] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    concepts: tuple[models.Concept, ...] = ()
    retired: tuple[models.RetiredEntry, ...] = ()
    synonyms: list[list[str]] = field(default_factory=list)
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
    readings: Readings | None = None

    def lessons(self) -> Iterator[Lesson]:
        """Every lesson in course order."""
        for phase in self.phases:
            yield from phase.lessons

    def items(self) -> dict[str, Sequence[Item[Any]]]:
        """Return everything with a page of its own except lessons, by kind."""
        return {
            "phase": self.phases,
            "pathway": self.pathways,
            "role": self.roles,
            "domain": self.domains,
            "project": self.projects,
        }

    def list_owners(self) -> Iterator[tuple[str, Lesson | Item[Any]]]:
        """Yield every source that owns an id in the name of its folder or file, with its kind."""
        for kind, items in self.items().items():
            for item in items:
                yield kind, item
                if isinstance(item, PhaseSource):
                    yield from (("lesson", record) for record in item.lessons)

    def material(self, record: Lesson) -> Material:
        """The body and the quiz of an authored *record*."""
        if self.readings is None:
            raise ValueError("no lesson was read")
        return self.readings.material(record.folder)

    def place(self, problem: Problem) -> Diagnostic:
        """*problem* with its line and column, from the text of its file."""
        text = self.texts.get(problem.file)
        if text is None and problem.span is None and problem.file.endswith("/lesson.md"):
            path = self.root / problem.file
            data = path.read_bytes() if is_regular(path) else b""
            text = self.texts[problem.file] = data.decode("utf-8", "replace")
        text = text or ""
        if problem.file.endswith(".md") and (split := split_front(text)):
            return place(problem, split[0], first_line=2)
        return place(problem, text)

    def report(self, problems: list[Problem]) -> None:
        """Keep *problems*, placed."""
        self.diagnostics.extend(self.place(problem) for problem in problems)


def plain(value: models.Model | Sequence[models.Model]) -> Any:
    """The JSON-able data of a model or of several, as their author wrote it."""
    if isinstance(value, Sequence):
        return [plain(item) for item in value]
    return value.model_dump(mode="json", by_alias=True, exclude_unset=True)


@cache
def english() -> Mapping[str, Any]:
    """The interface words of the tool, and under ``kinds`` the names of the blocks."""
    data: dict[str, Any] = yamlsource.parse(WORDS.read_text("utf-8"), WORDS.name)[0]
    return data


def is_english(lang: str) -> bool:
    """Whether the words of the tool are those of a course in *lang*."""
    return lang.partition("-")[0] == "en"


def load(root: Path, read: Reader, *, file_urls: bool = False, draft: bool = False) -> Sources:
    """The content folder below *root*; *read* makes a lesson of each of its folders, in order.

    For a *draft* something stands in for what is wrong.
    """
    return _Loader(root, file_urls, draft).load(read)


class _Loader:
    def __init__(self, root: Path, file_urls: bool, draft: bool) -> None:
        self.draft = draft
        self.file_urls = file_urls
        self.out = Sources(root=root)
        self.problems: list[Problem] = []
        self.course: Any = None
        self.valid: list[tuple[Item[Any], str, Any]] = []
        self.lesson_limit = LESSON_KIB * KIB

    def load(self, read: Reader) -> Sources:
        """Scan the folder, read what lessons depend on, then the lessons and everything else."""
        out = self.out
        content = out.root / CONTENT
        if not content.is_dir():
            out.report([Problem("CFG002", CONTENT, "there is no content folder")])
            return out
        tree = scan(content, CONTENT, self.problems)
        out.files = [entry.file for entry in tree.walk()]
        self.take(tree.files, _ROOT_FILES, "the content folder")
        self.take(tree.folders, _ROOT_FOLDERS, "the content folder")
        self.read_facts(tree.get("course.yaml"))
        self.problems += _check_languages(out.facts)
        self.read_templates(tree.folder("templates"))
        self.labels = words = self.read_words(tree, out.facts.get("lang", "en"))
        self.lesson_limit = self.read_limit("lessonKiB", LESSON_KIB)
        setup = Setup(
            words, self.read_interfaces(tree), self.lesson_limit, self.file_urls, self.draft
        )
        parts, owners = self.read_phases(tree)
        out.readings = Readings(parts, setup)
        records = read(out.readings)
        self.read_others(tree)
        passed_over = () if self.has_words else _NEED_WORDS
        for record, owner in zip(records, owners, strict=True):
            owner.lessons.append(record)
            out.diagnostics += [
                lesson for lesson in record.diagnostics if lesson.code not in passed_over
            ]
        out.report(self.problems)
        return out

    def read_facts(self, entry: Entry | None) -> None:
        """Read ``course.yaml``; if it has mistakes, keep its sound keys."""
        out, file = self.out, f"{CONTENT}/course.yaml"
        if entry is None:
            self.problems.append(Problem("CFG001", file, "the course has no course.yaml"))
        else:
            self.course = self.read_data(entry, "course")
        out.facts = self.course or schema.select_sound_keys("course", out.trees.get(file))
        for key, kind in (("parts", "part"), ("equipment", "equipment")):
            if not self.course and key not in out.facts:
                out.unread.add(kind)
        self.has_words = "lang" in out.facts

    def read_others(self, tree: Folder) -> None:
        """Read everything that no lesson depends on."""
        from course.read import models  # takes as long as the rest of this tool: not before a fork

        out = self.out
        if self.course:
            out.course = models.Course.model_validate(self.course)
        concepts = self.read_list(tree.get("concepts.yaml"), "concepts", "concept")
        out.concepts = tuple(map(models.Concept.model_validate, concepts))
        retired = self.read_list(tree.get("retired.yaml"), "retired", "retired")
        out.retired = tuple(map(models.RetiredEntry.model_validate, retired))
        self.read_lists(tree)
        self.read_look(tree)
        out.pathways = self.read_routes(tree, "pathways", "pathway")
        out.roles = self.read_routes(tree, "roles", "role")
        out.domains = self.read_routes(tree, "domains", "domain")
        self.read_projects(tree)
        self.build_views()

    def build_views(self) -> None:
        """The views of the items since the last call."""
        from course.read import models

        for item, kind, data in self.valid:
            item.view = models.SOURCES[kind].model_validate(data)
        self.valid.clear()

    def read_limit(self, key: str, default_kib: int) -> int:
        """A limit of ``course.yaml`` in bytes."""
        return int(self.out.facts.get("limits", {}).get(key, default_kib)) * KIB

    # -- single files -----------------------------------------------------------------------

    def take(
        self,
        entries: Iterable[EntryT],
        allowed: Sequence[str],
        where: str,
        fits: Callable[[str], bool] | None = None,
    ) -> list[EntryT]:
        """Those of *entries* that have a place in *where*; the others are reported.

        *allowed* says what may stand there; without *fits* these are names.
        """
        fits = fits or (lambda name: name in allowed)
        own = [entry for entry in entries if fits(entry.name)]
        self.problems += [
            report_unknown(other, list(allowed), where) for other in entries if other not in own
        ]
        return own

    def read_text(self, entry: Entry, limit: int = TEXT_LIMIT) -> str | None:
        """The text of *entry*, kept for placing problems."""
        data = read_bytes(entry, limit, self.problems)
        text = None if data is None else decode_text(data, entry.file, self.problems)
        if text is not None:
            self.out.texts[entry.file] = text
        return text

    def read_data(self, entry: Entry, name: str) -> Any:
        """The data of a YAML file when it is valid against schema *name*, else None."""
        text = self.read_text(entry)
        if text is None:
            return None
        data, problems = yamlsource.parse(text, entry.file)
        self.out.trees[entry.file] = data
        broken = [] if data is None else schema.check(name, data, entry.file)
        self.problems += problems + broken
        project = name == "project" and isinstance(data, dict)
        if not project or data.get("status") != "planned":
            self.problems += find_unfinished(text, entry.file, entry.name, may_wait=project)
        if not problems and not broken:
            return data
        return schema.complete_source(name, data, folder_id(entry.file)) if self.draft else None

    def read_list(self, entry: Entry | None, name: str, kind: str) -> list[Any]:
        """The data of a list file that may be absent; one with faults is noted as unread."""
        data: list[Any] | None = self.read_data(entry, name) if entry else None
        if entry and data is None:
            self.out.unread.add(kind)
        return data or []

    def read_lists(self, tree: Folder) -> None:
        """``synonyms.yaml`` and ``ids.lock``; each may be absent."""
        entry = tree.get("synonyms.yaml")
        self.out.synonyms = self.read_list(entry, "synonyms", "synonym")
        lock = tree.get("ids.lock")
        text = self.read_text(lock) if lock else None
        if text is not None:
            self.out.has_lock = True
            self.out.lock, problems = ids.read_lock(text)
            self.problems += problems

    def read_words(self, tree: Folder, lang: str) -> dict[str, Any]:
        """The interface words for lessons; English where the course has none of its language."""
        folder, default = tree.folder("ui"), english()
        own: dict[str, Any] = {}
        for entry in self.take(folder.files, [f"{lang}.yaml"], "the folder ui", _is_words):
            data = self.read_data(entry, "ui")
            if data is not None:
                self.problems += _check_words(data, default, entry.file, self.out.templates)
            if entry.name == f"{lang}.yaml":
                own, self.has_words = data or {}, data is not None
        if self.has_words and not is_english(lang):
            self.problems += _check_translation(own, default, f"{CONTENT}/ui/{lang}.yaml")
        self.out.kinds = {**default["kinds"], **own.get("kinds", {})}
        words = {key: word for key, word in {**default, **own}.items() if key != "kinds"}
        self.out.words = words
        for_lessons = {key: words[key] for key in words if key.startswith(_LESSON_WORDS)}
        return {**for_lessons, "kinds": self.out.kinds}

    def read_interfaces(self, tree: Folder) -> frozenset[str]:
        """The routes of services that lessons may name, from ``interfaces.txt``."""
        entry = tree.get("interfaces.txt")
        lines = ((self.read_text(entry) if entry else None) or "").splitlines()
        return frozenset(line for line in lines if line and not line.startswith("#"))

    def read_look(self, tree: Folder) -> None:
        """The pictures of the course, and whether ``course.yaml`` can use them."""
        folder = tree.folder("media")
        endings = [f"*{suffix}" for suffix in MEDIA_SUFFIXES]
        refused = {f"media/{name}" for name in folder.refused}
        fits = partial(_ends, MEDIA_SUFFIXES)
        for entry in self.take(folder.files, endings, "the folder media", fits):
            data = read_bytes(entry, self.read_limit("mediaKiB", MEDIA_KIB), self.problems)
            if data is None:
                refused.add(f"media/{entry.name}")
            else:
                self.out.media[f"media/{entry.name}"] = data
        self.take(folder.folders, ["files only"], "the folder media")
        file, facts = f"{CONTENT}/course.yaml", self.out.facts
        for problem in look.check(facts, self.out.media, frozenset(refused), file):
            if self.course or problem.code != "MD010":  # a key that is wrong may use the picture
                self.problems.append(problem)

    def read_templates(self, folder: Folder) -> None:
        """The templates that the course has instead of the tool's, and its style."""
        endings = ["*.html", "style.css"]
        for entry in self.take(folder.files, endings, "the folder templates", _is_template):
            text = self.read_text(entry)
            if text is not None:
                self.out.templates[entry.name] = text
        self.take(folder.folders, ["files only"], "the folder templates")

    # -- folders ----------------------------------------------------------------------------

    def read_phases(self, tree: Folder) -> tuple[list[Parts], list[PhaseSource]]:
        """The bytes of every lesson folder and the phase that each belongs to."""
        parts: list[Parts] = []
        owners: list[PhaseSource] = []
        root = tree.folder("phases")
        self.take(root.files, ["NN-phase-id/"], "the folder phases")
        for folder in root.folders:
            name, entry = self.read_number(folder, "phase", root.folders), folder.get("phase.yaml")
            if entry is None and folder.get("lesson.md") and self.out.phases:
                self.report_stray_lesson(folder, name)
                continue
            if entry is None:
                self.problems += report_missing(folder, "phase.yaml", "a phase")
                phase = PhaseSource(name, f"{folder.file}/phase.yaml")
            else:
                phase = self.read_item(PhaseSource, entry, "phase", name)
            self.out.phases.append(phase)
            self.take(folder.files, ["phase.yaml", "NN-lesson-id/"], "a phase folder")
            for sub in folder.folders:
                name = self.read_number(sub, "lesson", folder.folders)
                lesson = self.read_lesson_parts(sub, name, phase.id)
                if lesson is None:
                    phase.lessons.append(Lesson(sub.file, phase.id, name))
                else:
                    parts.append(lesson)
                    owners.append(phase)
        return parts, owners

    def read_number(
        self, folder: Folder | Entry, what: str, beside: Sequence[Folder | Entry]
    ) -> str:
        """The id part of ``NN-id``; a name without number is reported and taken as the id.

        *beside* is all that stands in the same folder.
        """
        stem = folder.name.removesuffix(".yaml")
        number = split_number(stem)
        places = [(int(n[0]), entry) for entry in beside if (n := split_number(entry.name))]
        free = max((place for place, _ in places), default=0) // 10 * 10 + 10
        if number is None:
            self.problems.append(
                Problem(
                    "SRC013",
                    folder.file,
                    f"the name of a {what} must begin with its number",
                    expected=f"NN-{stem}",
                    got=folder.name,
                    hint=f"rename it to {free}-{folder.name.lstrip('0123456789-')}",
                )
            )
            return stem
        first = next(entry for place, entry in places if place == int(number[0]))
        if first is not folder:
            message = f"{first.name} has the same number, so the alphabet decides their order"
            hint = f"rename one of the two, such as to {free}-{number[1]}"
            self.problems.append(Problem("SRC015", folder.file, message, hint=hint))
        return number[1]

    def report_stray_lesson(self, folder: Folder, name: str) -> None:
        """A lesson among the phases: its id counts, so that no other problem follows."""
        phase = self.out.phases[-1]
        home = phase.file.rpartition("/")[0]
        self.problems.append(
            Problem(
                "SRC006",
                folder.file,
                "a lesson folder lies among the phases",
                expected="NN-phase-id/",
                got=folder.name,
                hint=f"move it into the folder of its phase, such as {home}/{folder.name}",
            )
        )
        phase.lessons.append(Lesson(folder.file, phase.id, name))

    def read_item(self, kind_of: type[ItemT], entry: Entry, kind: str, name: str) -> ItemT:
        """One YAML source of *kind*, whose view comes with :meth:`build_views`."""
        data = self.read_data(entry, kind)
        if data is None:
            return kind_of(name, entry.file)
        self.problems += ids.check_form(data["id"], entry.file, name)
        item = kind_of(data["id"], entry.file)
        self.valid.append((item, kind, data))
        return item

    def read_lesson_parts(self, folder: Folder, name: str, phase: str) -> Parts | None:
        """The bytes of one lesson folder, or None when there is no lesson.md to read."""
        if folder.get("lesson.md") is None:
            self.problems += report_missing(folder, "lesson.md", "a lesson")
            return None
        files: dict[str, bytes] = {}
        names = ("lesson.md", "quiz.yaml")
        languages = self.out.facts.get("languages", ()) if self.out.facts else None
        for entry in self.take(
            folder.files,
            [*names, "code/", "data/", "media/"],
            "a lesson folder",
            lambda name: name in names or is_translation(name, languages),
        ):
            if entry.name in names:
                self.add(files, entry, folder, TEXT_LIMIT)
        kinds = {
            "code": (CODE_SUFFIXES, TEXT_LIMIT),
            "data": (DATA_SUFFIXES, DATA_LIMIT),
            "media": (MEDIA_SUFFIXES, self.read_limit("mediaKiB", MEDIA_KIB)),
        }
        for sub in self.take(folder.folders, [*kinds], "a lesson folder"):
            suffixes, limit = kinds[sub.name]
            endings, where = [f"*{suffix}" for suffix in suffixes], f"the folder {sub.name}"
            for entry in self.take(sub.files, endings, where, partial(_ends, suffixes)):
                self.add(files, entry, folder, limit)
            self.take(sub.folders, ["files only"], where)
        if "lesson.md" not in files:
            return None
        every = {file.removeprefix(f"{folder.file}/") for file in folder.names()}
        return Parts(folder.file, name, phase, files, frozenset(every - set(files)))

    def add(self, files: dict[str, bytes], entry: Entry, folder: Folder, limit: int) -> None:
        """Read *entry* into *files*, by its path below *folder*."""
        data = read_bytes(entry, limit, self.problems)
        if data is not None:
            files[entry.file.removeprefix(f"{folder.file}/")] = data

    def read_routes(self, tree: Folder, plural: str, kind: str) -> list[Item[Any]]:
        """The YAML files of ``pathways/``, ``roles/`` or ``domains/`` in order."""
        folder, names, where = tree.folder(plural), [f"NN-{kind}-id.yaml"], f"the folder {plural}"
        self.take(folder.folders, names, where)
        entries = self.take(folder.files, names, where, partial(_ends, (".yaml",)))
        return [
            self.read_item(Item[Any], entry, kind, self.read_number(entry, kind, entries))
            for entry in entries
        ]

    def read_projects(self, tree: Folder) -> None:
        """The folders of ``projects/`` by name."""
        root = tree.folder("projects")
        self.take(root.files, ["project-id/"], "the folder projects")
        for folder in root.folders:
            main = folder.get("project.yaml")
            if main is None:
                self.problems += report_missing(folder, "project.yaml", "a project")
                continue
            project = self.read_item(ProjectSource, main, "project", folder.name)
            self.build_views()
            authored = project.view is not None and project.view.status == "authored"
            names = ["project.yaml", "README.md", *_PROJECT_FOLDERS]
            files = ("project.yaml", "README.md")
            for entry in self.take(folder.files, names, "a project folder", files.__contains__):
                if entry is not main:
                    self.read_readme(project, folder, entry)
            for sub in self.take(folder.folders, _PROJECT_FOLDERS, "a project folder"):
                for entry in sub.walk():
                    self.add(project.files, entry, folder, PROJECT_FILE_LIMIT)
                    name = entry.file.removeprefix(f"{folder.file}/")
                    text = project.files.get(name, b"").decode("utf-8", "replace")
                    if merge := find_merge_marker(text, entry.file):
                        self.problems.append(merge)
                    elif name.endswith(".py") and authored:
                        self.problems += _check_python(text, entry.file)
            self.out.projects.append(project)

    def read_readme(self, project: ProjectSource, folder: Folder, entry: Entry) -> None:
        """The page text of a project; its first heading is left to the page."""
        text = self.read_text(entry, self.lesson_limit)
        project.readme, project.readme_unread = text or "", text is None
        project.files[entry.name] = project.readme.encode()
        if project.view is not None and project.view.status == "authored":
            self.problems += find_unfinished(project.readme, entry.file, entry.name, may_wait=True)
        source = markdown.Source(project.readme, entry.file, 1, folder.file, self.labels)
        project.body = blocks.render(replace(source, teaching=False, file_urls=self.file_urls))
        self.problems += project.body.problems


def _check_python(text: str, file: str) -> Iterator[Problem]:
    """Learners begin with these files; one that is not Python stops them at the first command."""
    if fault := find_python_fault(text):
        span = Span(fault.line, fault.column, fault.line, fault.column + 1)
        yield Problem("PRJ008", file, f"not valid Python: {fault.message}", span=span)


def _ends(suffixes: tuple[str, ...], name: str) -> bool:
    return name.endswith(suffixes)


def _is_words(name: str) -> bool:
    """Whether *name* is that of a file of interface words."""
    tag, _, suffix = name.rpartition(".")
    return suffix == "yaml" and is_language(tag)


def _is_template(name: str) -> bool:
    return name.endswith(".html") or name == "style.css"


def _check_words(
    own: Mapping[str, Any], default: Mapping[str, Any], file: str, templates: Mapping[str, str]
) -> Iterator[Problem]:
    """CFG007 for each word that no page uses, and for each blank that no page fills in."""
    for key, word in own.items():
        if key == "kinds":
            continue
        if key not in default:
            if not any(f"w.{key}" in text for text in templates.values()):
                message, hint = f'no page uses the word "{key}"', nearest(key, default)
                yield Problem("CFG007", file, message, (key,), on_key=True, hint=hint)
            continue
        names = _BLANK.findall(default[key])
        for blank in _BLANK.findall(word):
            if blank not in names:
                hint = f"write {' or '.join(names)}" if names else "write it without braces"
                message = f'no page fills in {blank} in the word "{key}"'
                yield Problem("CFG007", file, message, (key,), got=word, hint=hint)


def _check_translation(
    own: Mapping[str, Any], default: Mapping[str, Any], file: str
) -> Iterator[Problem]:
    """CFG008 when words of a course that is not English stay English."""
    missing = [key for key in default if key not in own]
    if missing:
        message = f"{'some' if own else 'all'} interface words are still English"
        hint = (
            f"translate those that readers see in {file}, starting with: {', '.join(missing[:5])}"
        )
        hint = hint if own else f"run: {command()} new ui, and translate what it writes"
        yield Problem("CFG008", file, message, hint=hint)


def _check_languages(course: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield CFG012 when the course offers languages besides its own."""
    others = [tag for tag in course.get("languages", ()) if tag != course.get("lang")]
    if others and "lang" in course:
        message = f"no pages are built in {', '.join(others)}: only {course['lang']} is shown"
        hint = "translations may lie beside the lessons; nothing is read from them yet"
        yield Problem("CFG012", f"{CONTENT}/course.yaml", message, ("languages",), hint=hint)
