"""Which lesson of the course teaches what the coach asks for."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.coach.concepts import CONCEPTS

log = logging.getLogger(__name__)

CATALOG: Final = "api/v1/catalog.json"
LARGEST: Final = 16 << 20


class Lesson(NamedTuple):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None
    """Where to read it; None where no built course is known."""


class Lessons:
    """Lessons by concept: those of the built course, else those that the coach knows by itself."""

    def __init__(self, by_concept: Mapping[str, Lesson] | None = None) -> None:
        self._own = {
            concept.id: Lesson(concept.lesson.id, concept.lesson.title, None)
            for concept in CONCEPTS
        }
        self._read = dict(by_concept or {})

    def of(self, concept: str) -> Lesson:
        """The lesson of a concept, by its id. Raises KeyError for an id that is none."""
        own = self._own[concept]
        return self._read.get(concept, own)


def parse_catalog(text: str | bytes, base: str = "") -> Lessons:
    """The lessons that a built course's catalog names for the concepts.

    *base* stands before the addresses of the course. Raises ValueError for what is no catalog.
    """
    try:
        whole = json.loads(text)
        known = {one["id"]: one for one in _lessons(whole["phases"])}
        found = {}
        for concept in whole["concepts"]:
            first = next((known[name] for name in concept["lessonIds"] if name in known), None)
            if first is not None:
                url = f"{base}{first['url']}"
                found[str(concept["id"])] = Lesson(str(first["id"]), str(first["title"]), url)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("this is no catalog of a course") from error
    return Lessons(found)


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


def _lessons(phases: object) -> list[dict[str, str]]:
    """Every lesson below the phases, wherever they keep them."""
    found: list[dict[str, str]] = []
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
