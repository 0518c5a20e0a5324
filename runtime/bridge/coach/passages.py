"""Passages of the course's lessons, and the sentences of them that teach what the coach tells."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from runtime.bridge.coach.understanding.grams import Grams

LONGEST: Final = 280
"""Characters of a quotation."""
FEWEST: Final = 8
"""Words of a quotation, which is to say something by itself."""
_TASKS: Final = ("predict", "diagnose", "exercise", "solution", "example")
"""How the anchors of sections begin that a learner is to work out, or that need their figures."""
_TAGS: Final = re.compile(r" \([a-z0-9_, ]+\)$")
"""The concepts that the title of a passage ends with."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_TABLE: Final = re.compile(r"\w[\w ]*, ")
"""How the names of the columns of a table begin, and no list does."""
_CODE: Final = re.compile(r"[_=|*^<>{}$\\\[\]]")
_LEANING: Final = re.compile(r"\b(?:above|below|dashed)\b", re.IGNORECASE)
"""Words that point at a figure or a text which a quotation leaves behind."""


class Passage(NamedTuple):
    """What stands under a heading of a lesson, 800 characters at most; or some of its sentences."""

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
        self._runs = [one._replace(text=run) for one in passages for run in _runs(one.text)]

    def quote(self, about: str) -> Passage | None:
        """The sentences that are most like *about*, in whole; None where there are none."""
        if not self._runs:
            return None
        return self._runs[int(np.argmax(self._grams.compare(*self._grams.weigh(about))))]

    @cached_property
    def _grams(self) -> Grams:
        return Grams([run.text for run in self._runs])


def parse_passages(
    text: str | bytes, titles: Mapping[str, str], base: str = ""
) -> dict[str, Passages]:
    """The passages that a built course publishes, a JSON object a line, by lesson.

    *titles* are those of the lessons; *base* stands before the addresses of the course. A line
    that is not a passage of one of them is left out.
    """
    found: dict[str, list[Passage]] = defaultdict(list)
    for line in text.splitlines():
        try:
            row = _Row.model_validate_json(line)
        except ValidationError:
            continue
        anchor = row.url.partition("#")[2]
        if row.lesson_id in titles and anchor and not anchor.startswith(_TASKS):
            heading = _TAGS.sub("", row.title).removeprefix(f"{titles[row.lesson_id]}: ")
            found[row.lesson_id].append(Passage(heading, f"{base}{row.url}", row.text))
    return {lesson: Passages(passages) for lesson, passages in found.items()}


def _runs(text: str) -> Iterator[str]:
    """The first sentences of each paragraph and of each line of a list, which need none before."""
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
