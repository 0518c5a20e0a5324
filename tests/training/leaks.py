"""Finds questions that the corpus could produce: its templates matched against masked text."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from training.coach.corpus import data, grammar, questions

CORNER = re.compile(
    r"\b(?:turn |corner |t|c)\d+[ab]?\b"
    r"|\bthe (?:hairpin|chicane|carousel|esses|(?:last|first) corner|final turn"
    r"|fast (?:left|right)|long sweeper|downhill right|uphill left|double right|banked turn)\b"
)
NUMBER = re.compile(r"[+-]?\d+(?:[.:]\d+)*")
NOISE = re.compile(r"[^a-z0-9_@#\s]")
WORD = "[a-z]+"
SLOTS = {
    "c": "@",
    "noise": "(?!)",
    "code": "(?!)",
    "wheel": "(?:front|rear) (?:left|right)",
    "list": "#(?: #)*",
    **dict.fromkeys(("last", "best", "gap", "n", "t", "temp", "year"), "#"),
    **dict.fromkeys(("thing", "place", "name", "act"), WORD),
}


def masked(text: str) -> str:
    """Small letters, corners as @, numbers as #, no punctuation, single spaces."""
    text = CORNER.sub("@", text.lower().replace("what's", "what is"))
    return " ".join(NOISE.sub("", NUMBER.sub("#", text)).split())


def pattern(template: str) -> re.Pattern[str]:
    """Every text of the template, as `masked` would write it; names of a topic as a group."""
    template = re.sub(r"\{(?:noun|verb|word)\}", "{name_}", template.lower())
    slots = SLOTS | {"name_": "(?P<name>.+)"}
    told = grammar.pattern(template.replace("what's", "what is"), slots, NOISE)
    return re.compile(f" *{told.replace(chr(92) + ' ', ' *')} *")


@cache
def names() -> frozenset[str]:
    """Everything that a frame may put in the place of a topic."""
    said = [name for topic in data.topics() for name in (*topic.noun, *topic.verb)]
    for topic in data.topics():
        said += data.texts("keywords", "words", topic.id)
    every = (text.replace("{c}", "@") for name in said for text in grammar.every(name))
    return frozenset(" ".join(NOISE.sub("", text.lower()).split()) for text in every)


def _whole() -> Iterator[str]:
    """Question templates that need nothing from a topic, telemetry formats apart."""
    for topic in data.topics():
        yield from topic.ask
    for talk in chain(data.small_talk(), data.off_topic()):
        yield from talk.ask
    for kind in data.section("dialogue", "follow"):
        yield from data.texts("dialogue", "follow", kind)
    for group in ("compare", "gap", "gain", "three", "series", "single"):
        yield from data.texts("laps", group, "ask")
    yield from data.texts("telemetry", "tyre", "ask")


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """Every template that holds a word of its own, and every frame around a topic."""
    whole = [text for text in _whole() if re.search(r"[a-z]", grammar.SLOT.sub("", text).lower())]
    aspects = {*questions.CONCEPT_ASPECTS, *questions.TOPIC_ASPECTS} - {"ask", "word"}
    frames = [text for aspect in aspects for text in data.texts("dialogue", "frames", aspect)]
    shells = data.texts("keywords", "shell")
    return tuple(pattern(template) for template in (*whole, *frames, *shells))


def produced(text: str) -> bool:
    """Whether a template of the corpus can say this, whatever its slots hold."""
    said = masked(text)
    for found in patterns():
        match = found.fullmatch(said)
        name = match.groupdict().get("name") if match else None
        if match and (name is None or " ".join(name.split()) in names()):
            return True
    return False
