"""One lesson: the bytes of its folder, and what they say once read, with every problem placed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from course.diagnostics import TOP, Diagnostic, Problem, Span, diagnostic, meant, nearest
from course.read import ids, images, markdown, quiz, schema, yamlsource
from course.read.files import find_unfinished, span_at, text_of

KIB: Final = 1024
PROSE_MINIMUM: Final = 400
MOST_OBJECTIVES: Final = 6
_OPENING: Final = "---\n"
_REQUIRED: Final = (
    ("minutes", "LES011", "the time that it takes", "add minutes: 30"),
    ("level", "LES012", "its level", "add level: intro, core or advanced"),
    (
        "evidence",
        "LES014",
        "the evidence that the learner keeps",
        "add evidence: with 1 to 6 items",
    ),
    ("check", "LES015", "an open question", "add check: with prompt and answer"),
)
# Keys whose absence has a rule of its own instead of the general SCH002.
_OWN_RULE: Final[dict[tuple[str | int, ...], tuple[str, str]]] = {
    ("status",): ("LES001", "add status: planned, or status: authored when the material is here"),
    ("objectives",): ("LES013", "add objectives:"),
}


class Setup(NamedTuple):
    """What every lesson of one language is read with."""

    words: markdown.Words
    interfaces: frozenset[str]
    lesson_limit: int = 64 * KIB
    file_urls: bool = False


class Parts(NamedTuple):
    """The bytes of one lesson folder, by name below it (``code/x.py``).

    ``unread`` names the files that exist and cannot be read, which is reported already.
    """

    folder: str
    name: str
    phase: str
    files: Mapping[str, bytes]
    unread: frozenset[str] = frozenset()


@dataclass(slots=True)
class Material:
    """What an authored lesson teaches with, in the shapes of the lesson resource."""

    markdown: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    toc: list[dict[str, Any]] = field(default_factory=list)
    code: list[dict[str, Any]] = field(default_factory=list)
    media: list[dict[str, Any]] = field(default_factory=list)
    questions: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Lesson:
    """What one lesson folder says; holds JSON-able values only, so that it can be cached.

    ``usable`` says that the front matter is valid, whatever is wrong with body and quiz.
    ``material`` stays with the process that read it: None in a record that comes from a cache
    or from elsewhere, and for a planned lesson.
    """

    folder: str
    phase: str
    id: str
    front: dict[str, Any] = field(default_factory=dict)
    links: list[dict[str, Any]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    media_files: dict[str, str] = field(default_factory=dict)
    diagnostics: list[dict[str, Any]] = field(default_factory=list)
    usable: bool = False
    material: Material | None = None

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

    @property
    def sound(self) -> bool:
        """Whether nothing in the folder stops the build."""
        return self.usable and all(one["severity"] != "error" for one in self.diagnostics)


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
    if problem.span is not None:
        return diagnostic(problem, problem.span)
    if problem.path is None:
        return diagnostic(problem, TOP)
    span = yamlsource.locate(text, problem.path, on_key=problem.on_key, first_line=first_line)
    return diagnostic(problem, span)


def read_lesson(parts: Parts, setup: Setup) -> Lesson:
    """The lesson of *parts* with its placed diagnostics."""
    return _Reader(parts, setup).read()


class _Reader:
    def __init__(self, parts: Parts, setup: Setup) -> None:
        self.parts = parts
        self.setup = setup
        self.file = f"{parts.folder}/lesson.md"
        self.lesson = Lesson(parts.folder, parts.phase, parts.name)
        self.material = Material()
        self.front_text = ""

    def report(self, problem: Problem) -> None:
        """Place a problem of lesson.md and keep it."""
        placed = place(problem, self.front_text, first_line=2)
        self.lesson.diagnostics.append(placed.as_json())

    def read(self) -> Lesson:
        """Front matter, then body and quiz by status."""
        found: list[Problem] = []
        data = self.parts.files["lesson.md"]
        text = text_of(data, self.file, found)
        for problem in found:
            self.report(problem)
        if text is None:
            return self.lesson
        split = split_front(text)
        if split is None:
            self.report(_no_front(text, self.file))
            return self.lesson
        self.front_text, body, body_line = split
        if self.front(text):
            self.body(text, body, body_line)
            self.read_quiz()
            if self.lesson.authored:
                self.lesson.material = self.material
        return self.lesson

    def front(self, text: str) -> bool:
        """Read and check the front matter; False when there is nothing to go on with."""
        data, problems = yamlsource.parse(self.front_text, self.file, first_line=2)
        if data is not None:
            problems += schema.check("lesson", data, self.file)
        for problem in problems:
            own = _OWN_RULE.get(problem.path or ()) if problem.code == "SCH002" else None
            self.report(replace(problem, code=own[0], hint=own[1]) if own else problem)
        if not isinstance(data, dict):
            return False
        self.lesson.front = data
        self.lesson.usable = not problems
        if ids.is_id(data.get("id")):
            self.lesson.id = data["id"]
        for problem in ids.form_problems(data.get("id"), self.file, self.parts.name):
            self.report(problem)
        self.more_front(data, text)
        return True

    def more_front(self, data: dict[str, Any], text: str) -> None:
        """Rules of the front matter that need more than one field."""
        needed = data.get("prerequisites")
        if isinstance(needed, list) and data.get("id") in needed:
            at = ("prerequisites", needed.index(data["id"]))
            self.report(
                Problem("LES023", self.file, "the lesson requires itself", at, hint="remove it")
            )
        routes = data.get("interfaces")
        for number, route in enumerate(routes if isinstance(routes, list) else []):
            if isinstance(route, str) and route not in self.setup.interfaces:
                self.report(
                    Problem(
                        "LES026",
                        self.file,
                        "no product has this route",
                        ("interfaces", number),
                        got=route,
                        hint=nearest(route, self.setup.interfaces) or "see interfaces.txt",
                    )
                )
        size, limit = len(self.parts.files["lesson.md"]), self.setup.lesson_limit
        if size > limit:
            self.report(
                Problem(
                    "LES025",
                    self.file,
                    "the lesson is larger than its budget",
                    span=TOP,
                    expected=f"at most {limit // KIB} KiB",
                    got=f"{size / KIB:.1f} KiB",
                    hint="split the lesson, or raise limits.lessonKiB in course.yaml",
                )
            )
        if data.get("status") == "authored":
            for problem in _unfinished(text, self.file):
                self.report(problem)

    # -- by status --------------------------------------------------------------------------

    def body(self, text: str, body: str, line: int) -> None:
        """The body of an authored lesson, or the absence of one."""
        status = self.lesson.front.get("status")
        if status == "planned":
            for problem in self.planned(text, body):
                self.report(problem)
        elif status == "authored":
            for problem in self.missing():
                self.report(problem)
            if len(self.parts.files["lesson.md"]) <= self.setup.lesson_limit:
                self.text(body, line)

    def planned(self, text: str, body: str) -> Iterator[Problem]:
        """A planned brief carries nothing that only finished lessons have."""
        for key in ("check", "review"):
            if key in self.lesson.front:
                yield Problem(
                    "LES002",
                    self.file,
                    f'a planned lesson has no "{key}"',
                    (key,),
                    on_key=True,
                    hint="remove it, or set status: authored",
                )
        if body.strip():
            start = len(text) - len(body.lstrip())
            yield Problem(
                "LES002",
                self.file,
                "a planned lesson has no body",
                span=span_at(text, start, len(text)),
                hint="set status: authored, or move the text elsewhere",
            )
        for name in self.parts.files:
            if name != "lesson.md":
                yield Problem(
                    "LES002",
                    f"{self.parts.folder}/{name}",
                    f"a planned lesson has no {name}",
                    span=TOP,
                    hint="set status: authored, or begin the name with _",
                )

    def missing(self) -> Iterator[Problem]:
        """What an authored lesson lacks."""
        found = self.lesson.diagnostics
        misspelt = {one.get("hint") for one in found if one["code"] == "SCH003"}
        for key, code, what, hint in _REQUIRED:
            if key not in self.lesson.front and meant(key) not in misspelt:
                message = f"an authored lesson must state {what}"
                yield Problem(code, self.file, message, (key,), hint=hint)
        if "quiz.yaml" not in {*self.parts.files, *self.parts.unread}:
            yield Problem(
                "LES016",
                self.file,
                "an authored lesson must have a quiz",
                ("status",),
                hint="write quiz.yaml beside lesson.md",
            )

    # -- body -------------------------------------------------------------------------------

    def text(self, body: str, line: int) -> None:
        """Render the body and keep what became of it."""
        code = self.code_files()
        pictures = self.pictures()
        urls = {f"media/{name}": f"../../{entry['url']}" for name, entry in pictures.items()}
        source = markdown.Source(
            body,
            self.file,
            line,
            self.parts.folder,
            self.setup.words,
            code,
            dict.fromkeys(self.parts.unread, "") | urls,
            {
                urls[f"media/{name}"]: (entry["width"], entry["height"])
                for name, entry in pictures.items()
                if "width" in entry
            },
            file_urls=self.setup.file_urls,
        )
        read = markdown.render(source)
        for problem in read.problems:
            self.report(problem)
        self.lesson.links, self.lesson.anchors = read.links, read.anchors
        if any(problem.code == "MD012" for problem in read.problems):
            return  # the rest of the text is inside the fence: nothing can be said about it
        if read.prose < PROSE_MINIMUM:
            self.report(
                Problem(
                    "LES010",
                    self.file,
                    "the body of an authored lesson is too short",
                    span=Span(line, 1, line, 1),
                    expected=f"at least {PROSE_MINIMUM} characters of prose",
                    got=f"{read.prose} characters",
                    hint="write the lesson, or set status: planned",
                )
            )
        self.block_order(read.kinds, body, line)
        material = self.material
        material.markdown, material.blocks = read.markdown, read.blocks
        material.toc, material.code = read.toc, read.code
        self.used(read, code, pictures)

    def block_order(self, kinds: list[tuple[str, int]], body: str, line: int) -> None:
        """One exercise at least; each solution after the exercise that it solves."""
        names = [kind for kind, _ in kinds]
        if "exercise" not in names:
            self.report(self.no_exercise(body, line))
        for number, (kind, at) in enumerate(kinds):
            if kind == "solution" and "exercise" not in names[:number]:
                self.report(
                    Problem(
                        "LES021",
                        self.file,
                        "a solution stands before its exercise",
                        span=Span(at, 1, at, 1),
                        hint="move it below the exercise",
                    )
                )

    def no_exercise(self, body: str, line: int) -> Problem:
        """What to say when no block is an exercise; points to a heading that was meant as one."""
        word = self.setup.words.kinds["exercise"]
        span, hint = Span(line, 1, line, 1), f"add a heading: ## {word}: what to do"
        if meant := _almost(word, body):
            span = span_at(body, meant.start(), meant.end(), line)
            hint = f"write the heading as: ## {word}: {meant[1].strip() or 'what to do'}"
        message = "an authored lesson must have an exercise"
        return Problem("LES017", self.file, message, span=span, hint=hint)

    def code_files(self) -> dict[str, str]:
        """The files of ``code/`` as text, by name."""
        found: dict[str, str] = {}
        for name in self.parts.unread:
            if name.startswith("code/"):
                found[name.removeprefix("code/")] = ""
        for name, data in self.parts.files.items():
            if name.startswith("code/"):
                file = f"{self.parts.folder}/{name}"
                problems: list[Problem] = []
                text = text_of(data, file, problems)
                for problem in problems:
                    self.report(problem)
                found[name.removeprefix("code/")] = text or ""
        return found

    def pictures(self) -> dict[str, dict[str, Any]]:
        """The files of ``media/`` as resource entries, by name."""
        found: dict[str, dict[str, Any]] = {}
        for name, data in self.parts.files.items():
            if name.startswith("media/"):
                short_name = name.removeprefix("media/")
                if problem := images.problem(short_name, data, f"{self.parts.folder}/{name}"):
                    self.report(problem)
                found[short_name] = images.describe(short_name, data, self.lesson.id)
        return found

    def used(
        self, read: markdown.Body, code: dict[str, str], pictures: dict[str, dict[str, Any]]
    ) -> None:
        """Note the images in use, and report files that nothing includes."""
        alts = {image["target"].casefold(): image["alt"] for image in read.images}
        included = {entry.get("file") for entry in read.code}
        included.update(self.parts.unread)  # what cannot be read is reported already
        unused = [f"code/{name}" for name in code if f"code/{name}" not in included]
        for name, entry in pictures.items():
            alt = alts.get(f"media/{name}".casefold())
            if alt is None:
                unused.append(f"media/{name}")
            else:
                self.material.media.append({**entry, "alt": alt})
                self.lesson.media_files[entry["url"]] = f"{self.parts.folder}/media/{name}"
        for name in unused:
            self.report(
                Problem(
                    "MD010",
                    f"{self.parts.folder}/{name}",
                    "the lesson does not use this file",
                    span=TOP,
                    hint="include it, or begin its name with _",
                )
            )

    # -- quiz -------------------------------------------------------------------------------

    def read_quiz(self) -> None:
        """Check quiz.yaml and keep its published form."""
        data = self.parts.files.get("quiz.yaml")
        if data is None or self.lesson.front.get("status") != "authored":
            return
        file = f"{self.parts.folder}/quiz.yaml"
        problems: list[Problem] = []
        text = text_of(data, file, problems)
        questions: list[dict[str, Any]] = []
        if text is not None:
            tree, problems = yamlsource.parse(text, file)
            problems += _unfinished(text, file)
            if tree is not None:
                given = self.lesson.front.get("objectives")
                count = len(given) if isinstance(given, list) else MOST_OBJECTIVES
                broken = quiz.counted(schema.check("quiz", tree, file), count)
                problems += broken
                if not broken:
                    questions = tree["questions"]
                    problems += quiz.problems(questions, count, file)
        for problem in problems:
            self.lesson.diagnostics.append(place(problem, text or "").as_json())
        if not problems or not any(_is_error(d) for d in self.lesson.diagnostics):
            self.material.questions = quiz.published(questions)


def _unfinished(text: str, file: str) -> Iterator[Problem]:
    return find_unfinished(text, file, "an authored lesson", may_wait=True)


def _no_front(text: str, file: str) -> Problem:
    """What to say about a lesson whose front matter is absent or never closed."""
    if text.startswith("---\n"):
        return Problem(
            "YML008",
            file,
            "the front matter is never closed",
            span=Span(1, 1, 1, 4),
            expected="a line --- after the YAML",
            hint="write a line --- between the fields and the text",
        )
    return Problem(
        "YML008",
        file,
        "the file does not begin with front matter",
        span=TOP,
        expected="--- on the first line, and a line --- after the YAML",
        hint="begin the file with ---, the fields of the lesson, and --- again",
    )


def _almost(word: str, body: str) -> re.Match[str] | None:
    """The line of *body* that is meant as the heading of a block of kind *word*."""
    mark = rf"^ {{0,3}}#{{1,6}}[ ]*{re.escape(word)}\b[ ]*[:.\u2013-]?[ ]*(.*)$"
    return re.search(mark, body, re.MULTILINE | re.IGNORECASE)


def _is_error(entry: dict[str, Any]) -> bool:
    return bool(entry["severity"] == "error")
