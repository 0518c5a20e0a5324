"""Lets a capable model order the facts after the leading one and add a sentence of its own."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runtime.bridge.coach.asking import Question
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.grounding.evidence import Evidence
from runtime.bridge.coach.memory import Turn
from runtime.bridge.coach.model import Message, ModelClient, ModelFailed, Schema
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

LINKS: Final = ("", "also", "then")
"""Connectives before a fact: keys of the messages ``link-…``; none claims a cause, which no fact
knows."""
MOST_SENTENCES: Final = 3
LONGEST: Final = 240
"""Characters of one sentence of a model."""
MOST_TOKENS: Final = 256
LANGUAGES: Final[dict[Language, str]] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
}
_SENTENCE: Final = re.compile(r"(?<=[.!?…])[\"”»\u2019)]*\s+(?=[\"“«¿¡(]*[A-ZÀ-Þ¿¡\d])|\n+")
_TAG: Final = re.compile(
    r"\[\s*emotion\s*:[^\[\]]*\]|\*\*|^\s*(?:[-*•#]+|\d{1,2}[.)])\s+", re.I | re.M
)


@dataclass(frozen=True)
class Narration:
    """The order of the facts after the leading one, and the model's addition."""

    order: tuple[int, ...]
    """Places of the facts without the leading one, 0."""
    links: tuple[str, ...]
    """The connective before each; empty: none."""
    remark: str = ""
    """Sentences of the model that the facts support."""
    dropped: int = 0
    """Sentences that they do not support."""
    reason: str | None = None
    """Why no model took part."""
    used: bool = False
    """Whether a model took part."""

    @classmethod
    def plain(cls, count: int, reason: str | None = None) -> "Narration":
        """Return the *count* facts in their own order."""
        rest = tuple(range(1, count))
        return cls(rest, ("",) * len(rest), reason=reason)


async def narrate(
    model: ModelClient,
    question: Question,
    facts: Sequence[Fact],
    words: Words,
    names: Names,
    turns: Sequence[Turn],
    *,
    timeout_s: float,
) -> Narration:
    """Let a model work on *facts*, whose first one leads; they stay as they are if it has no
    part."""
    sentences = [words.sentence(fact) for fact in facts]
    chat = [*_recall(turns), *_ask(question, sentences, words.language)]
    try:
        async with model.call(
            "ask",
            "post_session",
            chat,
            session_id=question.session_id or None,
            timeout_s=timeout_s,
            max_tokens=MOST_TOKENS,
            schema=schema_of(len(facts)),
        ) as call:
            narration = weigh(await call.text(), facts, words, names)
            if narration.reason == "ungrounded":
                call.record_fallback("ungrounded")
            return narration
    except ModelFailed as failed:
        return Narration.plain(len(facts), failed.reason)


def schema_of(count: int) -> Schema:
    """Return the schema of a model's answer: the order of the facts after the first, connectives, a
    remark."""
    place = {"type": "integer", "minimum": 1, "maximum": max(count - 1, 1)}
    link = {"type": "string", "enum": list(LINKS)}
    properties = {
        "order": {"type": "array", "items": place, "maxItems": count - 1},
        "links": {"type": "array", "items": link, "maxItems": count - 1},
        "remark": {"type": "string", "maxLength": LONGEST * MOST_SENTENCES},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": ["order", "links", "remark"],
        "additionalProperties": False,
    }


def weigh(text: str, facts: Sequence[Fact], words: Words, names: Names) -> Narration:
    """Return what is usable of a model's answer: a valid order, and the sentences that the facts
    support.

    An answer that is not JSON counts as sentences.
    """
    plain = Narration.plain(len(facts))
    order, links, remark = plain.order, plain.links, text
    try:
        reply = json.loads(text)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, dict):
        remark = reply["remark"] if isinstance(reply.get("remark"), str) else ""
        wanted, joined = reply.get("order"), reply.get("links")
        if isinstance(wanted, list) and sorted(map(str, wanted)) == sorted(map(str, plain.order)):
            order = tuple(int(place) for place in wanted)
        if isinstance(joined, list) and len(joined) == len(order):
            links = tuple(link if link in LINKS else "" for link in map(str, joined))
    evidence = Evidence(facts, words, names)
    shown = {words.sentence(fact).casefold() for fact in facts}
    kept: list[str] = []
    dropped = 0
    for sentence in split_sentences(remark):
        if sentence.casefold() in shown:
            continue
        if len(sentence) > LONGEST or evidence.refute(sentence) is not None:
            dropped += 1
        elif len(kept) < MOST_SENTENCES:
            kept.append(sentence)
    used = bool(kept) or order != plain.order or links != plain.links
    return Narration(
        order, links, " ".join(kept), dropped, None if used or not dropped else "ungrounded", used
    )


def split_sentences(text: str) -> list[str]:
    """Split a model's text into sentences, without list marks and moods."""
    parts = _SENTENCE.split(_TAG.sub("", text))
    return [part.strip() for part in parts if part and any(map(str.isalnum, part))]


def _recall(turns: Sequence[Turn]) -> list[Message]:
    chat: list[Message] = []
    for turn in turns:
        chat.append({"role": "user", "content": turn.question})
        chat.append({"role": "assistant", "content": turn.answer})
    return chat


def _ask(question: Question, sentences: Sequence[str], language: Language) -> list[Message]:
    system = (
        "You are a racing driver's coach. The facts below answer the driver's question; they are "
        "shown as they are, fact 0 first. Answer in JSON: `order`, the numbers of the other facts "
        "in the order in which they help most; `links`, one for each of them: also, then, or "
        f"empty; `remark`, at most one or two short sentences in {LANGUAGES[language]} that help "
        "to understand or to do it. Copy numbers, units and corner names exactly from the facts, "
        "and use no others. Name nothing that the facts do not name. An empty remark is better "
        "than a guess."
    )
    lines = "\n".join(f"{at}. {sentence}" for at, sentence in enumerate(sentences))
    user = f"Question: {question.text}\nFacts:\n{lines}"
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
