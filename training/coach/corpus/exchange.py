"""What all kinds of questions share: a question, its reply and what a second turn refers to."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from training.coach.corpus import data, grammar, noise

NOWHERE: Final = "the corner"
SENTENCE_END: Final = re.compile(r"[.?!](?=\s|$)")
MOST_SENTENCES: Final = 3


@dataclass(frozen=True)
class Exchange:
    """One question and its reply.

    `kind` is topic, reading (numbers of a corner), laps, talk or refusal; `topic` is the id of
    the topic that a second turn is about, empty when there is none.
    """

    kind: str
    prompt: str
    reply: str
    topic: str = ""
    label: str = ""


def sentences(text: str) -> int:
    """How many sentences a reply has."""
    return len(SENTENCE_END.findall(text))


@cache
def _words() -> noise.Words:
    synonyms = data.section("words", "synonyms")
    return noise.Words(
        before=data.texts("dialogue", "around", "before"),
        behind=data.texts("dialogue", "around", "behind"),
        fillers=data.texts("words", "fillers", "text"),
        synonyms={word: data.texts("words", "synonyms", word) for word in synonyms},
    )


def ask(template: str, values: Mapping[str, str], rng: random.Random) -> tuple[str, dict[str, str]]:
    """The question as it is typed, and the values in the spelling that it used."""
    expanded = grammar.expand(template, rng)
    typed, small = noise.disturb(expanded, rng, _words())
    spelling = dict(values)
    if small and "c" in spelling and rng.random() < 0.85:
        spelling["c"] = spelling["c"].lower()
    return " ".join(grammar.fill(typed, spelling).split()), spelling


def pick(texts: Sequence[str], rng: random.Random) -> str:
    """One of the templates, expanded."""
    return grammar.expand(rng.choice(texts), rng)


def dress(body: str, rng: random.Random, *, closing: bool) -> str:
    """The reply with, now and then, a word before it and a sentence behind it."""
    room = MOST_SENTENCES - sentences(body)
    if room > 0 and rng.random() < 0.08:
        body = pick(data.texts("dialogue", "opening", "text"), rng) + body
        room -= 1
    if closing and room > 0 and rng.random() < 0.2:
        body += pick(data.texts("dialogue", "closing", "text"), rng)
    return grammar.tidy(body)
