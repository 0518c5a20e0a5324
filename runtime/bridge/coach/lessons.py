"""Which lesson of the course teaches what the coach asks for."""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp

from runtime.bridge.cues.concepts import CONCEPTS
from runtime.places import SITE

log = logging.getLogger(__name__)

CATALOG: Final = "api/v1/catalog.json"
LARGEST: Final = 16 << 20
COURSE_S: Final = 5.0


class Lesson(NamedTuple):
    """A lesson of the course."""

    id: str
    title: str
    url: str | None = None
    """Where to read it; None where no built course is known."""


class Lessons:
    """Lessons by concept and by their own id: those of the built course, else those that the
    coach knows by itself."""

    def __init__(
        self,
        by_concept: Mapping[str, Lesson] | None = None,
        course: Mapping[str, Lesson] | None = None,
    ) -> None:
        own = {one.id: Lesson(one.lesson.id, one.lesson.title) for one in CONCEPTS}
        of_concept = {**own, **(by_concept or {})}
        of_id = {lesson.id: lesson for lesson in of_concept.values()}
        self._known = {**of_id, **(course or {}), **of_concept}
        self.titles: Final = {key: lesson.title for key, lesson in self._known.items()}
        """By concept, and by the lesson's id."""

    def find(self, key: str) -> Lesson | None:
        """The lesson of a concept, or of its own id; None where there is none."""
        return self._known.get(key)


def parse_catalog(text: str | bytes, base: str = "") -> Lessons:
    """The lessons that a built course's catalog names.

    *base* stands before the addresses of the course. Raises ValueError for what is no catalog.
    """
    try:
        whole = json.loads(text)
        course = {
            str(one["id"]): Lesson(str(one["id"]), str(one["title"]), f"{base}{one['url']}")
            for one in _lessons(whole["phases"])
        }
        by_concept = {}
        for concept in whole["concepts"]:
            first = next((course[name] for name in concept["lessonIds"] if name in course), None)
            if first is not None:
                by_concept[str(concept["id"])] = first
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("this is not the catalog of a course") from error
    return Lessons(by_concept, course)


def read_lessons(folder: Path) -> Lessons:
    """The lessons of the course built in *folder*; without one those without an address."""
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


async def lessons_of(course: str) -> Lessons:
    """The lessons of a built course: a folder, an address, or the one beside the project."""
    if not course.startswith(("http://", "https://")):
        return read_lessons(Path(course) if course else SITE)
    base = f"{course.rstrip('/')}/"
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(COURSE_S)) as http,
            http.get(f"{base}{CATALOG}", raise_for_status=True) as response,
        ):
            body = await response.content.read(LARGEST)
        return parse_catalog(body, base)
    except (aiohttp.ClientError, OSError, ValueError) as problem:
        log.warning("the course is not used: %s", type(problem).__name__)
        return Lessons()


def _lessons(at: object) -> Iterator[dict[str, object]]:
    """Every lesson below the phases that can be read, wherever they keep them."""
    if isinstance(at, dict):
        if isinstance(at.get("url"), str) and isinstance(at.get("title"), str) and "id" in at:
            yield at
        for value in at.values():
            yield from _lessons(value)
    elif isinstance(at, list):
        for value in at:
            yield from _lessons(value)
