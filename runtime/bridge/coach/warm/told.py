"""Puts what a model wrote into a text that is whole without it: true, in its place, once; pure."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.warm.debrief import Story
from runtime.bridge.coach.warm.evidence import Evidence
from runtime.bridge.coach.warm.grounding import Grounded, Tone, grounded, sentences, tone
from runtime.bridge.coach.warm.same import faults, opposes, says_again
from runtime.bridge.track.model import Corner

LEAST_WORDS: Final = 2
MOST_FOCUS: Final = 3
LONGEST_FOCUS: Final = 80
_ENDS: Final = (".", "!", "?")
_TAGGED: Final = re.compile(r"<FOCUS>(.*?)</FOCUS>", re.IGNORECASE | re.DOTALL)
_LISTED: Final = re.compile(
    r"^[ \t]*\**FOCUS\**:?\**[ \t]*((?:\n[ \t]*[-*\u2022].*|\n[ \t]*\d[.)].*)+)",
    re.IGNORECASE | re.MULTILINE,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*\u2022]|\d[.)])[ \t]*(.+)$", re.MULTILINE)
_LEFTOVER: Final = re.compile(r"</?FOCUS>", re.IGNORECASE)
_BULLET: Final = re.compile(r"^\s*(?:[-*\u2022]|\d{1,2}[.)]|#{1,6}|>)\s+")
_FOREIGN: Final = re.compile(r"https?:|www\.|[<>{}|`]|\]\(|!\[|\bemotion\b", re.IGNORECASE)
_RUN_ON: Final = re.compile(r"[.!?][\"')*_]*\s+\S")
_FOLLOWS: Final = re.compile(
    r"^[^\w]*(?:it|it's|its|this|that|that's|these|those|there|here|they|them|then|so|and|but|also"
    r"|still|however|because|which)\b",
    re.IGNORECASE,
)
_ANOTHER: Final = re.compile(
    r"\b(?:one thing|focus|priorit\w*|main (?:goal|point|task)|next (?:run|session|time|outing)"
    r"|the goal)\b",
    re.IGNORECASE,
)
"""A text has one focus, and that is said already."""
_SURFACE: Final = re.compile(
    r"\b(?:surface|damp|wet|dry|fog|grip|cool|cold|warm|sun|wind|weather|rain)\b", re.IGNORECASE
)
_ITEM_WORDS: Final = frozenset(
    (
        "a ahead and apex at breathe brake braking build calm clean consistency consistent corner "
        "each entry even every exit exits eyes far feel first focus for gently grip hands in "
        "into laps line look of on one onto out pace patience patient place pressure relaxed "
        "rhythm same slow smooth smoothly soft speed squeeze steady steer steering straight"
        " the then throttle through time to track trail turn turn-in up vision wheel with your"
    ).split()
)
"""An item for the driver's mind may be made of these, and of names of corners."""


class Told(NamedTuple):
    """A narrative that a model had a part in."""

    text: str
    kept: int
    """Sentences of the model."""
    dropped: int
    """Sentences that were not carried, stood in no place, or said the same again."""


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


def short(items: Iterable[str]) -> tuple[str, ...]:
    """The items as they are shown: trimmed, each once, three at most, 80 characters at most."""
    trimmed = (" ".join(item.split())[:LONGEST_FOCUS].strip() for item in items)
    return tuple(dict.fromkeys(item for item in trimmed if item))[:MOST_FOCUS]


def may_say(items: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the items that are made of names of corners and plain words of driving alone."""
    return tuple(
        item
        for item in items
        if set(re.findall(r"[^\s,.!:]+", _unnamed(item, names))) <= _ITEM_WORDS
    )


def told_debrief(
    text: str, story: Story, evidence: Evidence, names: Mapping[str, str]
) -> Told | None:
    """The whole of *story*, with the sentences of a model where they belong.

    Praise stands behind the opening, a word about a problem's corner behind that problem, advice
    behind the focus, the rest before the reading; no more words than the story has. *names* are
    those of the corners, in small letters, with the name that the story uses. None where no
    sentence may be said.
    """

    def place(sentence: str) -> int | None:
        return _of_debrief(sentence, _toned(sentence, names), story, corners_in(sentence, names))

    return _joined(proper(grounded(text, evidence)), story.parts, place, _same_fault)


def told_brief(
    text: str,
    parts: Sequence[str],
    weakest: str | None,
    evidence: Evidence,
    names: Mapping[str, str],
) -> Told | None:
    """The whole of a briefing, with the sentences of a model where they belong.

    What is said of the surface stands behind the first part, a word about the *weakest* corner
    behind the part that names it, the rest before the last part. None where no sentence may be
    said.
    """

    def place(sentence: str) -> int | None:
        about = corners_in(sentence, names)
        if _toned(sentence, names) == "loss" or _ANOTHER.search(sentence):
            return None
        if about:
            named = [at for at, part in enumerate(parts) if f"**{weakest}**" in part]
            return named[0] if named and about == {weakest} else None
        return 0 if _SURFACE.search(sentence) else len(parts) - 1

    return _joined(proper(grounded(text, evidence)), parts, place)


def proper(found: Grounded) -> Grounded:
    """Without sentences that are no sentences, or were said before; one a line, without marks."""
    heard: set[str] = set()
    kept, dropped = [], found.dropped
    for line in found.text.splitlines():
        for sentence in sentences(_BULLET.sub("", line)):
            folded = sentence.casefold().strip(" -*")
            bare = len(folded.split()) < LEAST_WORDS or not folded.rstrip('"*_)').endswith(_ENDS)
            foreign = _FOREIGN.search(sentence) or _RUN_ON.search(sentence)
            if bare or folded in heard or foreign:
                dropped += 1
                continue
            heard.add(folded)
            kept.append(sentence)
    return Grounded("\n".join(kept), len(kept), dropped)


def corners_in(text: str, names: Mapping[str, str]) -> set[str]:
    """The corners that a text names, by any of their names; *T3* and *corner 3* are *Turn 3*."""
    folded = re.sub(r"\b(?:turn|corner|t)[ -]?(?=\d)", "turn ", text.casefold())
    return {
        corner
        for name, corner in names.items()
        if name in folded and re.search(rf"\b{re.escape(name)}\b", folded)
    }


def is_praise(sentence: str) -> bool:
    """Whether a sentence may open a debrief."""
    return tone(sentence) == "praise"


def _toned(sentence: str, names: Mapping[str, str]) -> Tone:
    """What a sentence is, whichever corner it is about."""
    every = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    if every:
        sentence = re.sub(rf"\b(?:{every})\b", "the corner", sentence, flags=re.IGNORECASE)
    return tone(sentence)


def _of_debrief(sentence: str, kind: Tone, story: Story, about: set[str]) -> int | None:
    """Behind which part of the story a sentence stands; None: nowhere.

    The last place is before the last part.
    """
    last = len(story.parts) - 1
    blamed = [corner for corner in story.corners if corner]
    if _ANOTHER.search(sentence):
        return None
    if kind == "praise":
        return None if about & set(blamed) else 0
    if kind == "advice":
        return last - 1 if about <= {story.focus_corner} else None
    if about & set(blamed):
        return story.corners.index(next(iter(about))) + 1 if len(about) == 1 else None
    return None if kind == "loss" else last


def _same_fault(sentence: str, part: str, at: int, last: int) -> bool:
    """Whether a word about a problem names no fault but those that the problem names."""
    found = faults(sentence)
    return 0 < at < last - 1 and bool(found) and found <= faults(part)


def _joined(
    found: Grounded,
    parts: Sequence[str],
    place: Callable[[str], int | None],
    again: Callable[[str, str, int, int], bool] | None = None,
) -> Told | None:
    """The parts with the sentences behind those where they belong, the last one ahead of it.

    A sentence that leans on the one before it stands behind that one, and goes with it.
    """
    behind: dict[int, list[str]] = {}
    said, last = list(parts[:-1]), len(parts) - 1
    left = sum(len(part.split()) for part in parts)
    at: int | None = None
    lines = found.text.splitlines()
    for number, sentence in enumerate(lines):
        at = at if number and _FOLLOWS.match(sentence) else place(sentence)
        length = len(sentence.split())
        if at is not None and (
            length > left
            or says_again(sentence, said)
            or any(opposes(sentence, parts[there]) for there in (0, at, last - 1))
            or (again is not None and again(sentence, parts[at], at, last))
        ):
            at = None
        if at is not None:
            behind.setdefault(at, []).append(sentence)
            said.append(sentence)
            left -= length
    kept = sum(len(some) for some in behind.values())
    if not kept:
        return None
    told = [" ".join([part, *behind.get(at, ())]) for at, part in enumerate(parts[:-1])]
    told += [" ".join(behind.get(last, ())), parts[-1]]
    return Told("\n\n".join(part for part in told if part), kept, found.dropped + len(lines) - kept)


def _unnamed(item: str, names: Mapping[str, str]) -> str:
    """An item without the names of corners and the number behind them."""
    folded = item.casefold()
    for name in sorted(names, key=len, reverse=True):
        folded = re.sub(rf"\b{re.escape(name)}\b", " ", folded)
    return folded


def spoken(corners: Sequence[Corner], others: Sequence[str] = ()) -> dict[str, str]:
    """Every name of the corners in small letters, with the name that the track file uses."""
    found = {name.casefold(): name for name in others if name}
    for corner in corners:
        for name in (corner.name, f"turn {corner.number}", *corner.nicknames):
            found.setdefault(name.casefold(), corner.name)
    return found
