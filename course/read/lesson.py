"""One lesson: the bytes of its folder, and what they say once read, with every problem placed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

from course import yamlsource
from course.diagnostics import (
    Diagnostic,
    Problem,
    Span,
    did_you_mean,
    nearest,
    shorten,
    span_at,
)
from course.read import blocks, ids, images, markdown, quiz, schema
from course.read.files import decode_text, find_unfinished
from course.rules import diagnose

KIB: Final = 1024
PROSE_MINIMUM: Final = 400
MOST_OBJECTIVES: Final = 6
_OPENING: Final = "---\n"
_BLANKS: Final = re.compile(r"^---[ \t]+$", re.MULTILINE)
_REQUIRED: Final = (
    ("minutes", "LES011", "the time that it takes"),
    ("level", "LES012", "its level"),
    ("evidence", "LES014", "the evidence that the learner keeps"),
    ("check", "LES015", "an open question"),
)
# Keys whose absence has a rule of its own instead of the general SCH002.
_OWN_RULE: Final[dict[tuple[str | int, ...], str]] = {
    ("status",): "LES001",
    ("objectives",): "LES013",
}


class Setup(NamedTuple):
    """The setup that all lessons are read with; a *draft* is completed with stand-ins."""

    words: Mapping[str, Any]
    interfaces: frozenset[str]
    lesson_limit: int = 64 * KIB
    file_urls: bool = False
    draft: bool = False


class Parts(NamedTuple):
    """The bytes of one lesson folder, by name below it (``code/x.py``).

    ``unread`` names the files that exist and cannot be read, which is reported already.
    """

    folder: str
    name: str
    phase: str
    files: Mapping[str, bytes]
    unread: frozenset[str] = frozenset()


class Material(NamedTuple):
    """The material of an authored lesson, in the shapes of the lesson resource.

    ``pieces`` make up its Markdown; ``prose`` is what of it is read, code blocks left out.
    """

    content: dict[str, Any]
    questions: list[dict[str, Any]]
    pieces: list[markdown.Piece]
    prose: str


@dataclass(slots=True)
class Lesson:
    """The facts of one lesson folder, all JSON-able for the cache.

    ``usable`` says that the front matter is valid, whatever is wrong with body and quiz.
    """

    folder: str
    phase: str
    id: str
    front: dict[str, Any] = field(default_factory=dict)
    links: list[dict[str, Any]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    media_files: dict[str, str] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    usable: bool = False

    @property
    def file(self) -> str:
        """The Markdown file, as diagnostics name it."""
        return f"{self.folder}/lesson.md"

    @property
    def authored(self) -> bool:
        """Whether lesson material exists."""
        return self.front.get("status") == "authored"

    def rename(self, name: str) -> None:
        """Be known as *name*; the front matter, which says otherwise, is out of use."""
        self.id, self.usable = name, False


def split_front(text: str) -> tuple[str, str, int] | None:
    """Front matter, body and the line at which the body begins; None without front matter."""
    if not text.startswith(_OPENING):
        return None
    end = text.find("\n---\n", 3)
    if end < 0:
        if not text.endswith("\n---"):
            return None
        end = len(text) - 4
    front, body = text[4 : end + 1], text[end + 5 :]
    return front, body, front.count("\n") + 3


def place(problem: Problem, text: str, first_line: int = 1) -> Diagnostic:
    """*problem* with the line and column of its path in the YAML *text*."""
    span = problem.span
    if span is None and problem.path is not None:
        span = yamlsource.locate(text, problem.path, on_key=problem.on_key, first_line=first_line)
    return diagnose(problem, span)


class Readings:
    """The lesson folders of a course, by path, and what this process has read of them."""

    def __init__(self, parts: Iterable[Parts], setup: Setup) -> None:
        self.parts = {lesson.folder: lesson for lesson in parts}
        self.setup = setup
        self._materials: dict[str, Material] = {}

    def read(self, folder: str) -> Lesson:
        """The lesson of *folder* with its placed diagnostics; its material is kept."""
        reader = _Reader(self.parts[folder], self.setup)
        lesson = reader.read()
        self._materials[folder] = reader.material
        return lesson

    def material(self, folder: str) -> Material:
        """Return the material of the lesson in *folder*; read it again in another process."""
        if folder not in self._materials:
            self.read(folder)
        return self._materials[folder]


class _Reader:
    """Every step yields the problems of its part, and keeps what it read in the lesson."""

    def __init__(self, parts: Parts, setup: Setup) -> None:
        self.parts = parts
        self.setup = setup
        self.file = f"{parts.folder}/lesson.md"
        self.others = [name for name in parts.unread if name.count(".") == 1]
        self.lesson = Lesson(parts.folder, parts.phase, parts.name)
        self.content: dict[str, Any] = {"markdown": ""}
        self.content |= {key: [] for key in ("blocks", "toc", "code", "media")}
        self.questions: list[dict[str, Any]] = []
        self.pieces: list[markdown.Piece] = []
        self.prose = ""
        self.material = Material({}, [], [], "")
        self.front_text = self.quiz_text = ""

    def read(self) -> Lesson:
        """The lesson, its problems placed."""
        diagnostics = self.lesson.diagnostics
        for problem in self.check():
            if problem.file.endswith("/quiz.yaml"):
                diagnostics.append(place(problem, self.quiz_text))
            else:
                diagnostics.append(place(problem, self.front_text, first_line=2))
        return self.lesson

    def check(self) -> Iterator[Problem]:
        """Front matter, then body and quiz by status."""
        faults: list[Problem] = []
        text = decode_text(self.parts.files["lesson.md"], self.file, faults)
        yield from faults
        if text is None:
            return
        split = split_front(text)
        if split is None:
            yield _report_missing_front(text, self.file)
            if not self.setup.draft:
                return
            split = "", text, 1
        self.front_text, body, line = split
        yield from self.read_front(text)
        if self.lesson.front.get("status") == "planned":
            yield from self.check_planned(text, body)
        elif self.lesson.authored or body.strip():
            if self.lesson.authored:
                yield from self.check_required()
            if len(self.parts.files["lesson.md"]) <= self.setup.lesson_limit:
                yield from self.read_body(body, line)
            yield from self.read_quiz()
            self.material = Material(self.content, self.questions, self.pieces, self.prose)

    def read_front(self, text: str) -> Iterator[Problem]:
        """Read and check the front matter; when it is unusable, the lesson keeps none."""
        data, problems = yamlsource.parse(self.front_text, self.file, first_line=2)
        if data is not None:
            problems += schema.check("lesson", data, self.file)
        cuts = list(self.find_cut_texts(data)) if isinstance(data, dict) else []
        for problem in problems:
            own = _OWN_RULE.get(problem.path or ()) if problem.code == "SCH002" else None
            if problem.path and (cut := _find_cut(problem.path[0], cuts)):  # the cause of the rest
                problem = replace(cut, code=problem.code, hint="put the whole text in quotes")
            yield replace(problem, code=own, hint=None) if own else problem
        broken = {problem.path[0] for problem in problems if problem.path}
        yield from (cut for cut in cuts if cut.path and cut.path[0] not in broken)
        if self.setup.draft:
            data = schema.complete_source("lesson", data, self.parts.name)
            problems = []
        if isinstance(data, dict):
            self.lesson.front = data
            self.lesson.usable = not problems
            if ids.is_id(data.get("id")):
                self.lesson.id = data["id"]
            yield from ids.check_form(data.get("id"), self.file, self.parts.name)
            yield from self.check_front(data, text)

    def check_front(self, data: dict[str, Any], text: str) -> Iterator[Problem]:
        """Rules of the front matter that need more than one field."""
        needed = data.get("prerequisites")
        own = data.get("id") == self.parts.name  # the id of a copy is reported as such
        if own and isinstance(needed, list) and data["id"] in needed:
            at = ("prerequisites", needed.index(data["id"]))
            yield Problem("LES023", self.file, "the lesson requires itself", at)
        routes = data.get("interfaces")
        for number, route in enumerate(routes if isinstance(routes, list) else []):
            if isinstance(route, str) and route not in self.setup.interfaces:
                near, at = nearest(route, self.setup.interfaces), ("interfaces", number)
                message = "no service has this route"
                yield Problem("LES026", self.file, message, at, got=route, hint=near)
        size, limit = len(self.parts.files["lesson.md"]), self.setup.lesson_limit
        if size > limit:
            yield Problem(
                "LES025",
                self.file,
                "the lesson is too large",
                expected=f"at most {limit // KIB} KiB",
                got=f"{size / KIB:.1f} KiB",
            )
        if data.get("status") == "authored":
            yield from _find_unfinished(text, self.file)

    def find_cut_texts(self, data: dict[str, Any]) -> Iterator[Problem]:
        """A comma inside brackets ends a text: what goes on in lower case is a part of it."""
        for key in ("objectives", "evidence"):
            texts = data.get(key)
            pairs = pairwise(texts if isinstance(texts, list) else ())
            for number, (before, text) in enumerate(pairs, 1):
                if not (isinstance(before, str) and isinstance(text, str) and before and text):
                    continue
                if before[0].isupper() and before[-1] not in ".!?" and text[0].islower():
                    message = f"this looks like the end of the text before it: {shorten(before)}"
                    yield Problem("YML011", self.file, message, (key, number), got=text)

    # -- by status --------------------------------------------------------------------------

    def check_planned(self, text: str, body: str) -> Iterator[Problem]:
        """Report what only authored lessons may have."""
        for key in ("check", "review"):
            if key in self.lesson.front:
                message, hint = (
                    f'a planned lesson has no "{key}"',
                    "remove it, or set status: authored",
                )
                yield Problem("LES002", self.file, message, (key,), on_key=True, hint=hint)
        if body.strip():
            span = span_at(text, len(text) - len(body.lstrip()), len(text))
            yield Problem("LES002", self.file, "a planned lesson has no body", span=span)
        for name in self.parts.files:
            if name != "lesson.md":
                hint = "set status: authored, or begin the name with _"
                message = f"a planned lesson has no {name}"
                yield Problem("LES002", f"{self.parts.folder}/{name}", message, hint=hint)

    def check_required(self) -> Iterator[Problem]:
        """Report what an authored lesson lacks."""
        misspelt = {problem.hint for problem in self.lesson.diagnostics if problem.code == "SCH003"}
        for key, code, what in _REQUIRED:
            if key not in self.lesson.front and did_you_mean(key) not in misspelt:
                yield Problem(code, self.file, f"an authored lesson must state {what}", (key,))
        if not any(name.partition(".")[0] == "quiz" for name in (*self.parts.files, *self.others)):
            yield Problem("LES016", self.file, "an authored lesson must have a quiz", ("status",))

    # -- body -------------------------------------------------------------------------------

    def read_body(self, body: str, line: int) -> Iterator[Problem]:
        """Render the body and keep what became of it."""
        folder, unread = self.parts.folder, self.parts.unread
        code = {name: "" for name in unread if name.startswith("code/")}
        data = {name: "" for name in unread if name.startswith("data/")}
        pictures: dict[str, dict[str, Any]] = {}
        for name, content in self.parts.files.items():
            problems: list[Problem] = []
            if name.startswith("code/"):
                code[name] = decode_text(content, f"{folder}/{name}", problems) or ""
            elif name.startswith("data/"):
                data[name] = decode_text(content, f"{folder}/{name}", problems) or ""
            elif name.startswith("media/"):
                problems += images.check(name, content, f"{folder}/{name}")
                pictures[name] = images.describe(name, content, self.lesson.id)
            yield from problems
        urls = {name: f"../../{entry['url']}" for name, entry in pictures.items()}
        source = markdown.Source(
            body,
            self.file,
            line,
            folder,
            self.setup.words,
            code,
            data,
            dict.fromkeys(unread, "") | urls,
            {
                urls[name]: (entry["width"], entry["height"])
                for name, entry in pictures.items()
                if "width" in entry
            },
            themed=frozenset(
                urls[name] for name in urls if images.follows_theme(self.parts.files[name])
            ),
            file_urls=self.setup.file_urls,
        )
        read = blocks.render(source, draft=self.setup.draft)
        yield from read.problems
        self.lesson.links, self.lesson.anchors = read.links, read.anchors
        if any(problem.code == "MD012" for problem in read.problems) and not self.setup.draft:
            return  # the rest of the text is inside the fence: nothing can be said about it
        if (size := sum(map(len, read.prose))) < PROSE_MINIMUM:
            yield Problem(
                "LES010",
                self.file,
                "the body of an authored lesson is too short",
                span=Span(line, 1, line, 1),
                expected=f"at least {PROSE_MINIMUM} characters of prose",
                got=f"{size} characters",
            )
        misnamed = any(problem.code in ("LES022", "MD016") for problem in read.problems)
        if not misnamed:  # the block that is missing may be the one of the wrong name
            yield from self.check_block_order(read.kinds, body, line)
        self.pieces, self.prose = read.pieces, "\n".join(read.prose)
        self.content["markdown"] = "".join([piece.text for piece in read.pieces])
        self.content |= {key: getattr(read, key) for key in ("blocks", "toc", "code")}
        yield from self.check_files(read, code, data, pictures)

    def check_block_order(
        self, kinds: list[tuple[str, int]], body: str, line: int
    ) -> Iterator[Problem]:
        """One exercise at least; each solution after the exercise that it solves."""
        names = [kind for kind, _ in kinds]
        if "exercise" not in names:
            word = self.setup.words["kinds"]["exercise"]
            span, hint = Span(line, 1, line, 1), f"add a heading: ## {word}: what to do"
            if almost := _find_near_heading(word, body):
                span = span_at(body, almost.start(), almost.end(), line)
                hint = f"write the heading as: ## {word}: {almost[1].strip() or 'what to do'}"
            message = "an authored lesson must have an exercise"
            yield Problem("LES017", self.file, message, span=span, hint=hint)
        for number, (kind, at) in enumerate(kinds):
            if kind == "solution" and "exercise" not in names[:number]:
                message = "a solution comes before its exercise"
                yield Problem("LES021", self.file, message, span=Span(at, 1, at, 1))

    def check_files(
        self,
        read: markdown.Body,
        code: dict[str, str],
        data: dict[str, str],
        pictures: dict[str, dict[str, Any]],
    ) -> Iterator[Problem]:
        """Record the images in use, and report files that nothing includes."""
        folder = self.parts.folder
        alts = {image["target"].casefold(): image["alt"] for image in read.images}
        included = {entry.get("file") for entry in read.code} | self.parts.unread
        unused = [name for name in code if name not in included]
        unused += [name for name in data if name not in {*read.data, *self.parts.unread}]
        for name, entry in pictures.items():
            alt = alts.get(name.casefold())
            if alt is None:
                unused.append(name)
            else:
                self.content["media"].append({**entry, "alt": alt})
                self.lesson.media_files[entry["url"]] = f"{folder}/{name}"
        for name in unused:
            yield Problem("MD010", f"{folder}/{name}", "the lesson does not use this file")

    # -- quiz -------------------------------------------------------------------------------

    def read_quiz(self) -> Iterator[Problem]:
        """Check quiz.yaml and keep its published form."""
        problems: list[Problem] = []
        file = f"{self.parts.folder}/quiz.yaml"
        data = self.parts.files.get("quiz.yaml")
        text = None if data is None else decode_text(data, file, problems)
        yield from problems
        if text is None:
            return
        self.quiz_text = text
        tree, problems = yamlsource.parse(text, file)
        problems += _find_unfinished(text, file)
        if tree is not None:
            objectives = self.lesson.front.get("objectives")
            count = len(objectives) if isinstance(objectives, list) else MOST_OBJECTIVES
            broken = quiz.fit_objective_errors(schema.check("quiz", tree, file), count)
            problems += broken
            problems += quiz.check(_list_sound_questions(tree, broken), count, file)
            if self.setup.draft:
                questions = dict(_list_sound_questions(tree, problems)).values()
                self.questions = quiz.publish_questions(questions)
            elif not broken:
                self.questions = quiz.publish_questions(tree["questions"])
        yield from problems


def _list_sound_questions(tree: Any, problems: list[Problem]) -> list[tuple[int, dict[str, Any]]]:
    """The questions of the quiz data *tree* that none of *problems* is about, by number."""
    questions = tree.get("questions") if isinstance(tree, dict) else None
    wrong = {path[1] for path in (problem.path or () for problem in problems) if len(path) > 1}
    numbered = enumerate(questions if isinstance(questions, list) else ())
    return [(number, question) for number, question in numbered if number not in wrong]


def _find_unfinished(text: str, file: str) -> Iterator[Problem]:
    return find_unfinished(text, file, "an authored lesson", may_wait=True)


def _find_cut(key: str | int, cuts: Iterable[Problem]) -> Problem | None:
    """The first of *cuts* in the list of that key."""
    return next((cut for cut in cuts if cut.path and cut.path[0] == key), None)


def _report_missing_front(text: str, file: str) -> Problem:
    """Return the problem of a lesson whose front matter is missing or never closed."""
    if text.startswith("---") and (match := _BLANKS.search(text)):
        message, span = "spaces follow the three hyphens", span_at(text, *match.span())
        return Problem("YML008", file, message, span=span, hint="delete the spaces")
    if text.startswith(_OPENING):
        return Problem(
            "YML008",
            file,
            "the front matter is never closed",
            span=Span(1, 1, 1, 4),
            expected="a line --- after the YAML",
            hint="write a line --- between the fields and the text",
        )
    expected = "--- on the first line, and a line --- after the YAML"
    return Problem("YML008", file, "the file does not begin with front matter", expected=expected)


def _find_near_heading(word: str, body: str) -> re.Match[str] | None:
    """The line of *body* that is meant as the heading of a block of kind *word*."""
    mark = rf"^ {{0,3}}#{{1,6}}[ ]*{re.escape(word)}\b[ ]*[:.\u2013-]?[ ]*(.*)$"
    return re.search(mark, body, re.MULTILINE | re.IGNORECASE)
