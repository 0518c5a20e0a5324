"""Passages of the course's lessons, and the sentences of them that teach what the coach tells."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.coach.understanding.grams import Grams

LONGEST: Final = 280
"""Characters of a quotation."""
FEWEST: Final = 8
"""Words of a quotation, which is to say something by itself."""
_TASKS: Final = ("predict", "exercise", "solution", "example")
"""How the anchors of sections begin that a learner is to work out, or that need their figures."""
_TAGS: Final = re.compile(r" \([a-z0-9_, ]+\)$")
"""The concepts that the title of a passage ends with."""
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_TABLE: Final = re.compile(r"\w[\w ]*, ")
"""How the names of the columns of a table begin, and no list does."""
_CODE: Final = re.compile(r"[_=|*^<>{}]")


class Passage(NamedTuple):
    """What stands under a heading of a lesson, 800 characters at most; or some of its sentences."""

    heading: str
    url: str
    """With the anchor of the heading."""
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

    *titles* are those of the lessons; *base* stands before the addresses of the course. Raises
    ValueError for what are no passages.
    """
    found: dict[str, list[Passage]] = defaultdict(list)
    try:
        for line in text.splitlines():
            row = json.loads(line)
            lesson, url = row["lessonId"], row["url"]
            anchor = url.partition("#")[2]
            heading = _TAGS.sub("", row["title"]).removeprefix(f"{titles[lesson]}: ")
            if anchor and not anchor.startswith(_TASKS):
                found[lesson].append(Passage(heading, f"{base}{url}", row["text"]))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError("these are not the passages of a course") from error
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
            if whole and run[0].isupper() and not _CODE.search(run):
                yield run
