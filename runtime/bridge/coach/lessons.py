"""The lesson of the course on each coaching concept, and its sentences on a topic."""

import json
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import numpy as np
from pydantic import BaseModel, Field, ValidationError

from runtime.bridge.coach.understanding.grams import Grams
from runtime.bridge.cues.concepts import CONCEPTS, Lesson
from runtime.places import SITE

LONGEST: Final = 280
"""Characters of a quotation."""
FEWEST: Final = 8
"""The least words of a quotation, which has to stand alone."""
_TASKS: Final = ("predict", "diagnose", "exercise", "solution", "example")
"""Beginnings of the anchors of sections that set the learner a task or need their figures."""
_TAGS: Final = re.compile(r" \([a-z0-9_, ]+\)$")
"""The concepts at the end of a passage's title."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_TABLE: Final = re.compile(r"\w[\w ]*, ")
"""Beginning of a table's column names, never of a list."""
_CODE: Final = re.compile(r"[_=|*^<>{}$\\\[\]]")
_LEANING: Final = re.compile(r"\b(?:above|below|dashed)\b", re.IGNORECASE)
"""Words that refer to a figure or text outside the quotation."""


class Passage(NamedTuple):
    """The text under a heading of a lesson, at most 800 characters; or some of its sentences."""

    heading: str
    url: str
    """With the anchor of the heading."""
    text: str


class _Row(BaseModel):
    """A line of the file of passages."""

    lesson_id: str = Field(alias="lessonId")
    title: str
    url: str
    text: str


class Passages:
    """The passages of one lesson, in its order."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._runs = [
            passage._replace(text=run) for passage in passages for run in _runs(passage.text)
        ]

    def quote(self, about: str) -> Passage | None:
        """Return the sentences most like *about*, in full; None if there are none."""
        if not self._runs:
            return None
        return self._runs[int(np.argmax(self._grams.compare(*self._grams.weigh(about))))]

    @cached_property
    def _grams(self) -> Grams:
        return Grams([run.text for run in self._runs])


def parse_passages(
    text: str | bytes, titles: Mapping[str, str], base: str = ""
) -> dict[str, Passages]:
    """Parse the passages that a built course publishes, one JSON object per line, by lesson.

    *titles* are those of the lessons; *base* is put before the course's addresses. A line that is
    not a passage of one of them is left out.
    """
    by_lesson: dict[str, list[Passage]] = defaultdict(list)
    for line in text.splitlines():
        try:
            row = _Row.model_validate_json(line)
        except ValidationError:
            continue
        anchor = row.url.partition("#")[2]
        if row.lesson_id in titles and anchor and not anchor.startswith(_TASKS):
            heading = _TAGS.sub("", row.title).removeprefix(f"{titles[row.lesson_id]}: ")
            by_lesson[row.lesson_id].append(Passage(heading, f"{base}{row.url}", row.text))
    return {lesson: Passages(passages) for lesson, passages in by_lesson.items()}


def _runs(text: str) -> Iterator[str]:
    """Yield the first sentences of each paragraph and list line, which need none before them."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if len(lines) > 1 and _TABLE.match(block):
            continue
        for line in lines:
            sentences = _SENTENCE.split(line)
            run = sentences[0]
            for after in sentences[1:]:
                if len(run) + 1 + len(after) > LONGEST:
                    break
                run += f" {after}"
            whole = run[-1:] in ".!?" and len(run.split()) >= FEWEST and len(run) <= LONGEST
            if whole and run[0].isupper() and not _CODE.search(run) and not _LEANING.search(run):
                yield run


log = logging.getLogger(__name__)

CATALOG: Final = "api/v1/catalog.json"
PASSAGES: Final = "corpus/chunks.jsonl"
LARGEST: Final = 16 << 20
COURSE_S: Final = 5.0
UNREAD: Final = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""Errors of a course file that cannot be fetched or used."""


class Lessons:
    """Lessons by concept and by id: those of the built course, else the coach's own."""

    def __init__(
        self,
        by_concept: Mapping[str, Lesson] | None = None,
        course: Mapping[str, Lesson] | None = None,
        passages: Mapping[str, Passages] | None = None,
    ) -> None:
        own = {concept.id: concept.lesson for concept in CONCEPTS}
        of_concept = {**own, **(by_concept or {})}
        of_id = {lesson.id: lesson for lesson in of_concept.values()}
        self._by_key = {**of_id, **(course or {}), **of_concept}
        self.titles: Final = {key: lesson.title for key, lesson in self._by_key.items()}
        """By concept, and by the lesson's id."""
        self._passages = passages or {}

    def find(self, key: str) -> Lesson | None:
        """Return the lesson of a concept or id; None if there is none."""
        return self._by_key.get(key)

    def quote(self, lesson: Lesson, about: str) -> Passage | None:
        """Return the sentences of a lesson on *about*, in English; None without a course."""
        passages = self._passages.get(lesson.id)
        return passages.quote(about) if passages else None


def parse_course(catalog: str | bytes, passages: str | bytes = "", base: str = "") -> Lessons:
    """Parse the lessons of a built course's catalog, with its passages.

    *base* is put before the course's addresses. Raises ValueError if it is not a catalog.
    """
    try:
        whole = json.loads(catalog)
        course = {
            str(lesson["id"]): Lesson(
                str(lesson["id"]), str(lesson["title"]), f"{base}{lesson['url']}"
            )
            for lesson in _lessons(whole["phases"])
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
    """Load the lessons of a built course: a folder, an address, or the one beside the project;
    without a course they have no address and no passages."""
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
    """Read a file; empty if there is none."""
    if not file.is_file():
        return b""
    if file.stat().st_size > LARGEST:
        raise ValueError(f"{file.name} is too large")
    return file.read_bytes()


async def _fetch(http: aiohttp.ClientSession, address: str) -> bytes:
    """Fetch all of an address."""
    async with http.get(address) as response:
        response.raise_for_status()
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > LARGEST:
                raise ValueError(f"{address} is too large")
        return bytes(body)


def _lessons(at: object) -> Iterator[dict[str, object]]:
    """Yield every readable lesson below the phases, wherever they keep it."""
    if isinstance(at, dict):
        if isinstance(at.get("url"), str) and isinstance(at.get("title"), str) and "id" in at:
            yield at
        for value in at.values():
            yield from _lessons(value)
    elif isinstance(at, list):
        for value in at:
            yield from _lessons(value)
