"""Words that sources may or must use and that no source declares: routes and interface words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from course.diagnostics import Problem


@cache
def interfaces() -> frozenset[str]:
    """The product routes that lessons may name."""
    return _lines("interfaces.txt")


@cache
def page_words() -> frozenset[str]:
    """The interface words that the pages use."""
    return _lines("words.txt")


def _lines(name: str) -> frozenset[str]:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))


def lacking(keys: Iterable[str], file: str) -> Iterator[Problem]:
    """CFG007 for each interface word of *keys*, which the language of *file* does not have."""
    for key in sorted(keys):
        yield Problem("CFG007", file, f'the word "{key}" is missing', (key,), hint=f"add {key}:")


def unequal(own: Iterable[str], other: Iterable[str], file: str, lang: str) -> Iterator[Problem]:
    """CFG007 for each word that only one of two languages has; *own* is that of the course."""
    yield from lacking(set(own) - set(other), file)
    for key in sorted(set(other) - set(own)):
        message = f'the word "{key}" is not in {lang}.yaml'
        yield Problem("CFG007", file, message, (key,), on_key=True, hint="remove it")


def unbuilt(course: Mapping[str, Any], file: str) -> Iterator[Problem]:
    """CFG012 when the course offers languages besides its own; *file* is ``course.yaml``."""
    others = [tag for tag in course.get("languages", ()) if tag != course["lang"]]
    if others:
        message = f"no pages are built in {', '.join(others)}: only {course['lang']} is shown"
        hint = "translations may lie beside the lessons; nothing is read from them yet"
        yield Problem("CFG012", file, message, ("languages",), hint=hint)
