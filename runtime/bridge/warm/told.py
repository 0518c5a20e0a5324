"""Makes of what a model wrote a narrative that may be shown: true, in order, complete; pure."""

import json
import re
from typing import Final, NamedTuple

from runtime.bridge.warm.claims import read
from runtime.bridge.warm.debrief import PROBLEMS, Story
from runtime.bridge.warm.evidence import Evidence
from runtime.bridge.warm.grounding import Grounded, grounded, sentences

LEAST_SENTENCES: Final = 2
"""Of a model's text that are worth more than the plain one, and words in them."""
LEAST_TEXT: Final = 12
LEAST_WORDS: Final = 2
_ENDS: Final = (".", "!", "?")
MOST_FOCUS: Final = 3
LONGEST_FOCUS: Final = 80
_TAGGED: Final = re.compile(r"<FOCUS>(.*?)</FOCUS>", re.IGNORECASE | re.DOTALL)
_LISTED: Final = re.compile(
    r"^[ \t]*\**FOCUS\**:?\**[ \t]*((?:\n[ \t]*[-*\u2022].*|\n[ \t]*\d[.)].*)+)",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*\u2022]|\d[.)])[ \t]*(.+)$", re.MULTILINE)
_LEFTOVER: Final = re.compile(r"</?FOCUS>", re.IGNORECASE)
_PRAISE: Final = re.compile(
    r"\b(?:good|great|well|nice|strong|solid|best|clean|smooth|improv\w+|excellent|fine"
    r"|consistent|proud|confident)\b",
    re.IGNORECASE,
)


class Told(NamedTuple):
    """A narrative that a model had a part in."""

    text: str
    kept: int
    """Sentences of the model."""
    dropped: int


class Focused(NamedTuple):
    """A text without its block of things to focus on, and those."""

    text: str
    items: tuple[str, ...]


def focused(text: str) -> Focused:
    """Take the focus out: a JSON list in tags, else the bullets under *FOCUS:*."""
    tagged = _TAGGED.search(text)
    if tagged is not None:
        rest = _LEFTOVER.sub("", f"{text[: tagged.start()]}{text[tagged.end() :]}")
        try:
            given = json.loads(tagged.group(1))
        except (ValueError, RecursionError):
            given = None
        items = [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
        return Focused(rest.strip(), short(items))
    listed = _LISTED.search(text)
    if listed is not None:
        rest = f"{text[: listed.start()]}{text[listed.end() :]}"
        return Focused(rest.strip(), short(_ITEM.findall(listed.group(1))))
    return Focused(_LEFTOVER.sub("", text).strip(), ())


def short(items: list[str]) -> tuple[str, ...]:
    """The items as they are shown: trimmed, each once, three at most, 80 characters at most."""
    trimmed = (" ".join(item.split())[:LONGEST_FOCUS].strip() for item in items)
    return tuple(dict.fromkeys(item for item in trimmed if item))[:MOST_FOCUS]


def may_say(items: tuple[str, ...], evidence: Evidence) -> tuple[str, ...]:
    """Those of the items that *evidence* carries."""
    return tuple(item for item in items if grounded(item, evidence).dropped == 0)


def told_debrief(text: str, story: Story, evidence: Evidence) -> Told | None:
    """The model's text as a debrief: praise first, two problems at most, one focus, a lesson.

    What is missing of that comes from *story*. None where too little may be said.
    """
    found = proper(grounded(text, evidence))
    if found.kept < LEAST_SENTENCES or len(found.text.split()) < LEAST_TEXT:
        return None
    kept, left_out = _in_order(found.text)
    if not kept:
        return None
    first = next(iter(sentences(kept.splitlines()[0])), "")
    parts = [kept, story.focus, story.reading]
    if not is_praise(first):
        parts.insert(0, story.opening)
    text = "\n\n".join(part for part in parts if part)
    return Told(text, found.kept - left_out, found.dropped)


def told_comment(text: str, story: Story, evidence: Evidence) -> Told | None:
    """The plain debrief with what a small model says about its focus; None where that is nothing.

    Such a model compares badly: the numbers stay those of *story*.
    """
    found = proper(grounded(text, evidence))
    if not found.kept:
        return None
    parts = (story.opening, *story.problems, story.focus, found.text, story.reading)
    return Told("\n\n".join(part for part in parts if part), found.kept, found.dropped)


def proper(found: Grounded) -> Grounded:
    """Without sentences that are no sentences, or were said before."""
    heard: set[str] = set()
    lines, kept, dropped = [], 0, found.dropped
    for line in found.text.splitlines():
        good = []
        for sentence in sentences(line):
            folded = sentence.casefold().strip(" -*")
            bare = len(folded.split()) < LEAST_WORDS or not folded.rstrip('"*_)').endswith(_ENDS)
            if bare or folded in heard:
                dropped += 1
                continue
            heard.add(folded)
            good.append(sentence)
        kept += len(good)
        if good or not line.strip():
            lines.append(" ".join(good))
    return Grounded("\n".join(lines).strip(), kept, dropped)


def told_brief(text: str, plain: str, evidence: Evidence, least: int = 2) -> Told | None:
    """The model's text of *least* sentences or more as a briefing, behind *plain*."""
    found = proper(grounded(text, evidence))
    if found.kept < least:
        return None
    return Told(f"{plain}\n\n{found.text}" if plain else found.text, found.kept, found.dropped)


def is_praise(sentence: str) -> bool:
    """Whether a sentence may open a debrief."""
    said = read(sentence)
    complains = "slower" in said.stated or any("slower" in one.claims for one in said.numbers)
    return not complains and not said.negated and bool(_PRAISE.search(sentence))


def _in_order(text: str) -> tuple[str, int]:
    """The text without problems behind the second, and how many sentences went."""
    lines, problems, left_out = [], 0, 0
    for line in text.splitlines():
        kept = []
        for sentence in sentences(line):
            said = read(sentence)
            if any("slower" in number.claims for number in said.numbers):
                problems += 1
                if problems > PROBLEMS:
                    left_out += 1
                    continue
            kept.append(sentence)
        if kept or not line.strip():
            lines.append(" ".join(kept))
    return "\n".join(lines).strip(), left_out
