"""Which lesson of the course teaches what the coach asks for."""

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import aiohttp

from runtime.bridge.coach.passages import Passage, Passages, parse_passages
from runtime.bridge.cues.concepts import CONCEPTS, Lesson
from runtime.places import SITE

log = logging.getLogger(__name__)

CATALOG: Final = "api/v1/catalog.json"
PASSAGES: Final = "corpus/chunks.jsonl"
LARGEST: Final = 16 << 20
COURSE_S: Final = 5.0
UNREAD: Final = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""What happens where a file of a course cannot be had or used."""


class Lessons:
    """Lessons by concept and by their own id: those of the built course, else those that the
    coach knows by itself."""

    def __init__(
        self,
        by_concept: Mapping[str, Lesson] | None = None,
        course: Mapping[str, Lesson] | None = None,
        passages: Mapping[str, Passages] | None = None,
    ) -> None:
        own = {one.id: one.lesson for one in CONCEPTS}
        of_concept = {**own, **(by_concept or {})}
        of_id = {lesson.id: lesson for lesson in of_concept.values()}
        self._known = {**of_id, **(course or {}), **of_concept}
        self.titles: Final = {key: lesson.title for key, lesson in self._known.items()}
        """By concept, and by the lesson's id."""
        self._passages = passages or {}

    def find(self, key: str) -> Lesson | None:
        """The lesson of a concept, or of its own id; None where there is none."""
        return self._known.get(key)

    def quote(self, lesson: Lesson, about: str) -> Passage | None:
        """The sentences of a lesson that teach what *about* says in English; None without a
        course."""
        passages = self._passages.get(lesson.id)
        return passages.quote(about) if passages else None


def parse_course(catalog: str | bytes, passages: str | bytes = "", base: str = "") -> Lessons:
    """The lessons that a built course's catalog names, with the passages that it publishes.

    *base* stands before the addresses of the course. Raises ValueError for what is no catalog.
    """
    try:
        whole = json.loads(catalog)
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
    titles = {lesson.id: lesson.title for lesson in course.values()}
    return Lessons(by_concept, course, parse_passages(passages, titles, base))


async def lessons_of(course: str) -> Lessons:
    """The lessons of a built course: a folder, an address, or the one beside the project; without
    one those without an address and passages."""
    base = f"{course.rstrip('/')}/" if course.startswith(("http://", "https://")) else ""
    try:
        if base:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(COURSE_S)) as http:
                catalog = await _fetch(http, f"{base}{CATALOG}")
                passages = b""
                with suppress(*UNREAD):  # the lessons count without them
                    passages = await _fetch(http, f"{base}{PASSAGES}")
        else:
            folder = Path(course) if course else SITE
            catalog, passages = _read(folder / CATALOG), b""
            with suppress(*UNREAD):
                passages = _read(folder / PASSAGES)
        return parse_course(catalog, passages, base) if catalog else Lessons()
    except UNREAD as problem:
        log.warning("the course is not used: %s", type(problem).__name__)
        return Lessons()


def _read(file: Path) -> bytes:
    """What a file holds; nothing where there is none."""
    if not file.is_file():
        return b""
    if file.stat().st_size > LARGEST:
        raise ValueError(f"{file.name} is too large")
    return file.read_bytes()


async def _fetch(http: aiohttp.ClientSession, address: str) -> bytes:
    """All that an address holds."""
    async with http.get(address) as response:
        response.raise_for_status()
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > LARGEST:
                raise ValueError(f"{address} is too large")
        return bytes(body)


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
