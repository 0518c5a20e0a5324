"""What one lesson is made of: the bytes of its folder, and what they say once read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from course.diagnostics import TOP, Diagnostic, Problem, diagnostic
from course.read import markdown, yamlsource

KIB: Final = 1024
_OPENING: Final = "---\n"


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
