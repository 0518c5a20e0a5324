"""The load step: reads every file of the content folder once and reports all that is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from course.diagnostics import Diagnostic, Problem
from course.read import ids, lesson_reader, markdown, models, schema, unfinished, yamlsource
from course.read.budgets import LESSON_KIB, MEDIA_KIB
from course.read.files import (
    CODE_SUFFIXES,
    MEDIA_SUFFIXES,
    TEXT_LIMIT,
    Entry,
    Folder,
    is_language,
    is_translation,
    merge_marker,
    missing,
    read_bytes,
    scan,
    split_number,
    text_of,
    unknown,
)
from course.read.known import interfaces, lacking, page_words, unbuilt, unequal
from course.read.lesson import KIB, Lesson, Parts, Setup
from course.read.models.view import view
from course.read.sources import (
    CONTENT,
    NO_CONTENT,
    NO_COURSE,
    Item,
    PhaseSource,
    ProjectSource,
    Sources,
)

_ROOT_FILES: Final = ("course.yaml", "concepts.yaml", "retired.yaml", "ids.lock")
_ROOT_FOLDERS: Final = ("phases", "pathways", "roles", "domains", "projects", "ui")
_PROJECT_FOLDERS: Final = ("starter", "tests", "solution")
# What nobody can tell of a lesson as long as the words for its blocks are not known.
_NEED_WORDS: Final = ("LES017", "LES021", "LES022")
PROJECT_FILE_LIMIT: Final = 512 * KIB

Reader = Callable[[list[Parts], Setup], Iterable[Lesson]]


def read_all(parts: list[Parts], setup: Setup) -> list[Lesson]:
    """Read the lessons one after the other: the plain :data:`Reader`."""
    return [lesson_reader.read(one, setup) for one in parts]


def load(
    root: Path,
    read: Reader = read_all,
    *,
    file_urls: bool = False,
) -> Sources:
    """The content folder below *root*; *read* turns lesson folders into lessons, in order."""
    return _Loader(root, file_urls).load(read)


class _Loader:
    def __init__(self, root: Path, file_urls: bool) -> None:
        self.root = root
        self.file_urls = file_urls
        self.out = Sources()
        self.problems: list[Problem] = []
        self.has_words = True
        self.course: Mapping[str, Any] = {}
        self.lesson_limit = LESSON_KIB * KIB

    def load(self, read: Reader) -> Sources:
        """Walk, read what lessons depend on, then the lessons and everything else."""
        out = self.out
        out.root = self.root
        content = self.root / CONTENT
        if not content.is_dir():
            out.report([NO_CONTENT])
            return out
        tree = scan(content, CONTENT, self.problems)
        out.files = [entry.file for entry in tree.walk()]
        self.known_root(tree)
        self.course = course = self.course_data(tree) or {}
        self.problems += unbuilt(course, f"{CONTENT}/course.yaml")
        self.labels = words = self.words(tree, course.get("lang", "en"))
        self.lesson_limit = self.budget("lessonKiB", LESSON_KIB)
        out.setup = Setup(words, interfaces(), self.lesson_limit, self.file_urls)
        parts, owners = self.phases(tree)
        out.parts = {one.folder: one for one in parts}
        records = read(parts, out.setup)
        self.others(tree)
        for one, owner in zip(records, owners, strict=True):
            owner.lessons.append(one)
            placed = (Diagnostic.from_json(entry) for entry in one.diagnostics)
            passed_over = () if self.has_words else _NEED_WORDS
            out.diagnostics.extend(entry for entry in placed if entry.code not in passed_over)
        out.report(self.problems)
        return out

    def others(self, tree: Folder) -> None:
        """Everything that no lesson depends on."""
        out = self.out
        if self.course:
            out.course = view(self.course)
        self.lists(tree)
        out.pathways = self.route_items(tree, "pathways", "pathway")
        out.roles = self.route_items(tree, "roles", "role")
        out.domains = self.route_items(tree, "domains", "domain")
        self.projects(tree)

    def budget(self, key: str, default_kib: int) -> int:
        """A limit of ``course.yaml`` in bytes."""
        return int(self.course.get("limits", {}).get(key, default_kib)) * KIB

    # -- single files -----------------------------------------------------------------------

    def known_root(self, tree: Folder) -> None:
        """Report what has no place directly below ``content/``."""
        for entry in tree.files:
            if entry.name not in _ROOT_FILES:
                self.problems.append(unknown(entry, list(_ROOT_FILES), "the content folder"))
        for folder in tree.folders:
            if folder.name not in _ROOT_FOLDERS:
                self.problems.append(unknown(folder, list(_ROOT_FOLDERS), "the content folder"))

    def text(self, entry: Entry, limit: int = TEXT_LIMIT) -> str | None:
        """The text of *entry*, kept for placing problems."""
        data = read_bytes(entry, limit, self.problems)
        text = None if data is None else text_of(data, entry.file, self.problems)
        if text is not None:
            self.out.texts[entry.file] = text
        return text

    def data(self, entry: Entry, name: str) -> Any:
        """The data of a YAML file when it is valid against schema *name*, else None."""
        text = self.text(entry)
        if text is None:
            return None
        data, problems = yamlsource.parse(text, entry.file)
        broken = [] if data is None else schema.check(name, data, entry.file)
        self.problems += problems + broken
        project = name == "project" and isinstance(data, dict)
        if not project or data.get("status") != "planned":
            self.problems += unfinished.problems(text, entry.file, entry.name, may_wait=project)
        return None if problems or broken else data

    def course_data(self, tree: Folder) -> dict[str, Any] | None:
        """``course.yaml``, without which there is no course."""
        entry = tree.get("course.yaml")
        if entry is None:
            self.problems.append(NO_COURSE)
            return None
        data: dict[str, Any] | None = self.data(entry, "course")
        return data

    def list_data(self, entry: Entry | None, name: str, kind: str) -> Any:
        """The data of a list file that may be absent; one with faults is noted as unread."""
        data = self.data(entry, name) if entry else None
        if entry and data is None:
            self.out.unread.add(kind)
        return data

    def lists(self, tree: Folder) -> None:
        """``concepts.yaml``, ``retired.yaml`` and ``ids.lock``; each may be absent."""
        concepts, retired = tree.get("concepts.yaml"), tree.get("retired.yaml")
        data = self.list_data(concepts, "concepts", "concept")
        if data is not None:
            self.out.concepts = view(data)
        data = self.list_data(retired, "retired", "retired")
        if data is not None:
            self.out.retired = view(data)
        lock = tree.get("ids.lock")
        text = self.text(lock) if lock else None
        if text is not None:
            self.out.has_lock = True
            self.out.lock, problems = ids.read_lock(text)
            self.problems += problems

    def words(self, tree: Folder, lang: str) -> markdown.Words:
        """The interface words of the course language; other languages must have equal keys."""
        folder = tree.folder("ui")
        found: dict[str, dict[str, Any]] = {}
        for entry in folder.files if folder else []:
            tag, _, suffix = entry.name.rpartition(".")
            if suffix != "yaml" or not is_language(tag):
                self.problems.append(unknown(entry, [f"{lang}.yaml"], "the folder ui"))
            elif (data := self.data(entry, "ui")) is not None:
                found[tag] = data
        own = found.get(lang)
        if own is None:
            self.has_words = False
            if not folder or not folder.get(f"{lang}.yaml"):
                self.problems.append(
                    Problem(
                        "CFG008",
                        f"{CONTENT}/ui/{lang}.yaml",
                        f"the interface words of the language {lang} are missing",
                        hint=f"copy another language to content/ui/{lang}.yaml and translate it",
                    )
                )
            kinds = schema.schema("ui")["properties"]["kinds"]["required"]
            own = {"kinds": {kind: kind.title() for kind in kinds}}
        else:
            self.problems += lacking(page_words() - set(own), f"{CONTENT}/ui/{lang}.yaml")
            for tag in sorted(set(found) - {lang}):
                self.problems += unequal(own, found[tag], f"{CONTENT}/ui/{tag}.yaml", lang)
        self.out.kinds = dict(own["kinds"])
        words = self.out.words = {key: word for key, word in own.items() if key != "kinds"}
        labels = {key: words.get(key, key) for key in ("output", "table", "done", "to_do")}
        alerts = {key: words.get(f"alert_{key}", key.title()) for key in markdown.ALERTS}
        return markdown.Words(self.out.kinds, **labels, alerts=alerts)

    # -- folders ----------------------------------------------------------------------------

    def phases(self, tree: Folder) -> tuple[list[Parts], list[PhaseSource]]:
        """The bytes of every lesson folder and the phase that each belongs to."""
        parts: list[Parts] = []
        owners: list[PhaseSource] = []
        root = tree.folder("phases")
        for entry in root.files if root else []:
            self.problems.append(unknown(entry, ["NN-phase-id/"], "the folder phases"))
        for folder in root.folders if root else []:
            phase = PhaseSource(self.phase_item(folder, self.numbered(folder, "phase")))
            self.out.phases.append(phase)
            for entry in folder.files:
                if entry.name != "phase.yaml":
                    known = ["phase.yaml", "NN-lesson-id/"]
                    self.problems.append(unknown(entry, known, "a phase folder"))
            for sub in folder.folders:
                name = self.numbered(sub, "lesson")
                one = self.lesson_parts(sub, name, phase.item.id)
                if one is None:
                    phase.lessons.append(Lesson(sub.file, phase.item.id, name))
                else:
                    parts.append(one)
                    owners.append(phase)
        return parts, owners

    def numbered(self, folder: Folder | Entry, what: str) -> str:
        """The id part of ``NN-id``; a name without number is reported and taken as the id."""
        stem = folder.name.removesuffix(".yaml")
        number = split_number(stem)
        if number is None:
            self.problems.append(
                Problem(
                    "SRC013",
                    folder.file,
                    f"the name of a {what} begins with its place in the order",
                    expected=f"NN-{stem}",
                    got=folder.name,
                    hint=f"rename it to 10-{folder.name.lstrip('0123456789-')}",
                )
            )
        return number[1] if number else stem

    def phase_item(self, folder: Folder, name: str) -> Item[models.Phase]:
        """``phase.yaml`` of a phase folder."""
        entry = folder.get("phase.yaml")
        if entry is None:
            self.problems += missing(folder, "phase.yaml", "a phase")
            return Item(name, f"{folder.file}/phase.yaml")
        return self.item(entry, "phase", name)

    def item(self, entry: Entry, kind: str, name: str) -> Item[Any]:
        """One YAML source of *kind*."""
        data = self.data(entry, kind)
        if data is None:
            return Item(name, entry.file)
        self.problems += ids.form_problems(data["id"], entry.file, name)
        return Item(data["id"], entry.file, data)

    def lesson_parts(self, folder: Folder, name: str, phase: str) -> Parts | None:
        """The bytes of one lesson folder, or None when there is no lesson.md to read."""
        if folder.get("lesson.md") is None:
            self.problems += missing(folder, "lesson.md", "a lesson")
            return None
        files: dict[str, bytes] = {}
        for entry in folder.files:
            if entry.name in ("lesson.md", "quiz.yaml"):
                self.add(files, entry, entry.name, TEXT_LIMIT)
            elif not is_translation(entry.name, self.course.get("languages", ())):
                known = ["lesson.md", "quiz.yaml", "code/", "media/"]
                self.problems.append(unknown(entry, known, "a lesson folder"))
        media_limit = self.budget("mediaKiB", MEDIA_KIB)
        for sub in folder.folders:
            if sub.name == "code":
                self.add_folder(files, sub, CODE_SUFFIXES, TEXT_LIMIT)
            elif sub.name == "media":
                self.add_folder(files, sub, MEDIA_SUFFIXES, media_limit)
            else:
                self.problems.append(unknown(sub, ["code", "media"], "a lesson folder"))
        if "lesson.md" not in files:
            return None
        if not folder.folders and len(files) == len(folder.files) + len(folder.refused):
            return Parts(folder.file, name, phase, files)
        every = {file.removeprefix(f"{folder.file}/") for file in folder.names()}
        return Parts(folder.file, name, phase, files, frozenset(every - set(files)))

    def add(self, files: dict[str, bytes], entry: Entry, name: str, limit: int) -> None:
        """Read *entry* into *files*."""
        data = read_bytes(entry, limit, self.problems)
        if data is not None:
            files[name] = data

    def add_folder(
        self, files: dict[str, bytes], folder: Folder, suffixes: tuple[str, ...], limit: int
    ) -> None:
        """Read the files of ``code/`` or ``media/``; neither has folders below."""
        for entry in folder.files:
            if entry.name.endswith(suffixes):
                self.add(files, entry, f"{folder.name}/{entry.name}", limit)
            else:
                known = [f"*{suffix}" for suffix in suffixes]
                self.problems.append(unknown(entry, known, f"the folder {folder.name}"))
        for sub in folder.folders:
            self.problems.append(unknown(sub, ["files only"], f"the folder {folder.name}"))

    def route_items(self, tree: Folder, plural: str, kind: str) -> list[Item[Any]]:
        """The YAML files of ``pathways/``, ``roles/`` or ``domains/`` in order."""
        folder = tree.folder(plural)
        found: list[Item[Any]] = []
        for sub in folder.folders if folder else []:
            self.problems.append(unknown(sub, [f"NN-{kind}-id.yaml"], f"the folder {plural}"))
        for entry in folder.files if folder else []:
            if not entry.name.endswith(".yaml"):
                known = [f"NN-{kind}-id.yaml"]
                self.problems.append(unknown(entry, known, f"the folder {plural}"))
            else:
                found.append(self.item(entry, kind, self.numbered(entry, kind)))
        return found

    def projects(self, tree: Folder) -> None:
        """The folders of ``projects/`` by name."""
        root = tree.folder("projects")
        for entry in root.files if root else []:
            self.problems.append(unknown(entry, ["project-id/"], "the folder projects"))
        for folder in root.folders if root else []:
            entry_yaml = folder.get("project.yaml")
            if entry_yaml is None:
                self.problems += missing(folder, "project.yaml", "a project")
                continue
            project = ProjectSource(self.item(entry_yaml, "project", folder.name))
            for entry in folder.files:
                if entry.name == "README.md":
                    self.readme(project, folder, entry)
                elif entry.name != "project.yaml":
                    known = ["project.yaml", "README.md", *_PROJECT_FOLDERS]
                    self.problems.append(unknown(entry, known, "a project folder"))
            for sub in folder.folders:
                if sub.name not in _PROJECT_FOLDERS:
                    self.problems.append(unknown(sub, list(_PROJECT_FOLDERS), "a project folder"))
                    continue
                for entry in sub.walk():
                    name = entry.file.removeprefix(f"{folder.file}/")
                    self.add(project.files, entry, name, PROJECT_FILE_LIMIT)
                    text = project.files.get(name, b"").decode("utf-8", "replace")
                    if merge := merge_marker(text, entry.file):
                        self.problems.append(merge)
            self.out.projects.append(project)

    def readme(self, project: ProjectSource, folder: Folder, entry: Entry) -> None:
        """The page text of a project; its first heading is left to the page."""
        text = self.text(entry, self.lesson_limit)
        project.readme, project.readme_unread = text or "", text is None
        project.files[entry.name] = project.readme.encode()
        source = markdown.Source(
            project.readme,
            entry.file,
            1,
            folder.file,
            self.labels,
            teaching=False,
            file_urls=self.file_urls,
            placed=True,
        )
        view = project.item.view
        if view is not None and view.status == "authored":
            self.problems += unfinished.problems(
                project.readme, entry.file, entry.name, may_wait=True
            )
        project.body = markdown.render(source)
        self.problems += project.body.problems
