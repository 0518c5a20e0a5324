"""Which lesson of the course teaches what the coach asks for."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.cues.concepts import CONCEPTS

log = logging.getLogger(__name__)

CATALOG: Final = "api/v1/catalog.json"
LARGEST: Final = 16 << 20
_CHOSEN: Final = re.compile(r"\s*\bIt is chosen\b.*", re.DOTALL)
"""What the course says of when the coach speaks of a concept."""
_SMALL: Final = frozenset({"a", "an", "and", "how", "in", "into", "of", "on", "or", "the", "to"})


class Lesson(NamedTuple):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None
    """Where to read it; None where no built course is known."""


class Entry(NamedTuple):
    """What the catalog of a course tells of a lesson."""

    lesson: Lesson
    summary: str
    tags: tuple[str, ...] = ()
    authored: bool = True
    """Whether it can be read; else it is only planned."""


class Lessons:
    """Lessons by concept: those of the built course, else those that the coach knows by itself.

    *said* are the course's own words for concepts, *course* all of its lessons.
    """

    def __init__(
        self,
        by_concept: Mapping[str, Lesson] | None = None,
        said: Mapping[str, str] | None = None,
        course: Sequence[Entry] = (),
    ) -> None:
        self._own = {
            concept.id: Lesson(concept.lesson.id, concept.lesson.title, None)
            for concept in CONCEPTS
        }
        self._read = dict(by_concept or {})
        own_words = {concept.id: concept.description for concept in CONCEPTS}
        self._said = {**own_words, **(said or {})}
        self._course = {one.lesson.id: one for one in course}
        known = (self.of(concept.id) for concept in CONCEPTS)
        self._known = {one.id: Entry(one, "") for one in known}

    def of(self, concept: str) -> Lesson:
        """The lesson of a concept, by its id. Raises KeyError for an id that is none."""
        own = self._own[concept]
        return self._read.get(concept, own)

    def said(self, concept: str) -> str:
        """What a concept means. Raises KeyError for an id that is none."""
        return self._said[concept]

    def named(self, lesson: str) -> Entry | None:
        """A lesson by its id, of the course, else of a concept; None where neither has it."""
        return self._course.get(lesson) or self._known.get(lesson)

    def about(self, term: str) -> Entry | None:
        """The lesson that has a term among its tags, else in its title; one to read before others.

        Plural and hyphens do not matter.
        """
        wanted = _words(term)
        if not wanted:
            return None
        course = sorted(self._course.values(), key=lambda one: not one.authored)
        tagged = (one for one in course if any(_words(tag) == wanted for tag in one.tags))
        titled = (one for one in course if set(wanted) <= set(_words(one.lesson.title)))
        return next(tagged, None) or next(titled, None)


def _words(text: str) -> tuple[str, ...]:
    """Words as they are compared."""
    found = re.findall(r"[^\W_]+", text.casefold())
    return tuple(one.removesuffix("s") for one in found if one not in _SMALL)


def parse_catalog(text: str | bytes, base: str = "") -> Lessons:
    """The lessons that a built course's catalog names for the concepts.

    *base* stands before the addresses of the course. Raises ValueError for what is no catalog.
    """
    try:
        whole = json.loads(text)
        known = {str(one["id"]): one for one in _lessons(whole["phases"])}
        found, said = {}, {}
        for concept in whole["concepts"]:
            told = _CHOSEN.sub("", str(concept.get("description") or "")).strip()
            if told:
                said[str(concept["id"])] = told
            first = next((known[name] for name in concept["lessonIds"] if name in known), None)
            if first is not None:
                url = f"{base}{first['url']}"
                found[str(concept["id"])] = Lesson(str(first["id"]), str(first["title"]), url)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("this is no catalog of a course") from error
    return Lessons(found, said, _entries(known, base))


def read_lessons(folder: Path | None) -> Lessons:
    """The lessons of the course built in *folder*; without one those without an address."""
    if folder is None:
        return Lessons()
    try:
        file = folder / CATALOG
        if file.stat().st_size > LARGEST:
            raise ValueError("the catalog is too large")
        return parse_catalog(file.read_bytes())
    except FileNotFoundError:
        return Lessons()
    except (OSError, ValueError) as error:
        log.warning("the course in %s is not used: %s", folder.name, error)
        return Lessons()


def _entries(known: Mapping[str, Mapping[str, object]], base: str) -> list[Entry]:
    """The lessons among what lies below the phases: they alone have a status."""
    found = []
    for one in known.values():
        tags, summary = one.get("tags"), one.get("summary")
        if not isinstance(one.get("status"), str):
            continue
        lesson = Lesson(str(one["id"]), str(one["title"]), f"{base}{one['url']}")
        words = tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()
        authored = one["status"] == "authored"
        found.append(Entry(lesson, str(summary or ""), words, authored))
    return found


def _lessons(phases: object) -> list[dict[str, object]]:
    """Every lesson below the phases, wherever they keep them."""
    found: list[dict[str, object]] = []
    waiting = [phases]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            if isinstance(at.get("url"), str) and isinstance(at.get("title"), str) and "id" in at:
                found.append(at)
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)
    return found
