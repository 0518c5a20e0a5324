"""A broken rule in a source file, before and after it has a line and a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

GOT_LIMIT = 80


class Span(NamedTuple):
    """A place in a text file; lines and columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


TOP = Span(1, 1, 1, 1)


def span_at(text: str, start: int, end: int, first_line: int = 1) -> Span:
    """The span of characters *start* to *end* of *text*, cut at the end of its first line."""
    line = text.count("\n", 0, start)
    begin = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", start)
    end = min(end, newline if newline >= 0 else len(text))
    column = start - begin + 1
    return Span(line + first_line, column, line + first_line, max(column, end - begin + 1))


@dataclass(frozen=True, slots=True)
class Problem:
    """A broken rule, placed by *path* into YAML data, by *span*, or on the whole file.

    ``path`` is a tuple of keys and indexes into the front matter or YAML file; ``on_key``
    marks the key itself instead of its value. ``file`` is a POSIX path from the root.
    """

    code: str
    file: str
    message: str
    path: tuple[str | int, ...] | None = None
    on_key: bool = False
    span: Span | None = None
    expected: str | None = None
    got: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A broken rule as it is reported."""

    code: str
    severity: str
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    pointer: str | None = None
    expected: str | None = None
    got: str | None = None
    hint: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The record of the machine formats: camelCase names, absent values left out."""
        full = asdict(self)
        full |= {"endLine": full.pop("end_line"), "endColumn": full.pop("end_column")}
        return {name: value for name, value in full.items() if value is not None}


def format_pointer(path: Iterable[str | int]) -> str:
    """The JSON Pointer (RFC 6901) of *path*; the empty string is the whole document."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def sort_unique(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """*diagnostics* without repetitions, by file, line, column and code."""
    return sorted(set(diagnostics), key=lambda d: (d.file, d.line, d.column, d.code, d.message))


def shorten(value: object) -> str:
    """*value* as a reader may see it: one line, cut at 80 characters."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= GOT_LIMIT else text[: GOT_LIMIT - 1] + "…"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """A sentence that offers the nearest of *words* to *word*, or None."""
    import difflib  # only a build with mistakes asks

    match = difflib.get_close_matches(word, list(words), n=1, cutoff=0.6)
    return did_you_mean(match[0]) if match else None


def did_you_mean(word: str) -> str:
    """The sentence that offers *word*."""
    return f'did you mean "{word}"?'
