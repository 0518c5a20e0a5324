"""Lets a capable model add to the facts what they bear out, in sentences of its own."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.asking import Question
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.grounding.evidence import Evidence
from runtime.bridge.coach.memory import Turn
from runtime.bridge.coach.model import Message, ModelClient, ModelFailed
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

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


class Remark(NamedTuple):
    """What a model adds."""

    text: str = ""
    """Its sentences that the facts bear out."""
    dropped: int = 0
    """Sentences that they do not."""
    reason: str | None = None
    """Why it adds nothing."""


async def narrate(
    model: ModelClient,
    question: Question,
    facts: Sequence[Fact],
    words: Words,
    names: Names,
    turns: Sequence[Turn],
    *,
    timeout_s: float,
) -> Remark:
    """What a model adds to *facts*, the answer to a question after some *turns*."""
    if not model.endpoint.url:
        return Remark(reason="off")
    if not await model.is_capable():
        return Remark(reason="too_small" if model.up else "model_unreachable")
    text = " ".join(map(words.sentence, facts))
    chat = prompt(f"Question: {question.text}\n{text}", words.language)
    try:
        async with model.call(
            "ask",
            "post_session",
            [*_recall(turns), *chat],
            session_id=question.session_id or None,
            timeout_s=timeout_s,
            max_tokens=MOST_TOKENS,
        ) as call:
            remark = weigh(await call.text(), facts, words, names)
            if remark.reason is not None:
                call.fell_back("ungrounded")
            return remark
    except ModelFailed as failed:
        return Remark(reason=failed.reason)


def prompt(text: str, language: Language) -> list[Message]:
    """Ask a model for what it has to add to a text."""
    system = (
        "You are a racing driver's coach. The text below is shown to the driver as it is. Add at "
        f"most two short sentences in {LANGUAGES[language]} that help to understand it or to do "
        "it. Copy numbers, units and corner names exactly, and use no others. Name nothing that "
        "the text does not name."
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def weigh(text: str, facts: Sequence[Fact], words: Words, names: Names) -> Remark:
    """What of a model's text may be shown: the sentences that the facts bear out."""
    evidence = Evidence(facts, words, names)
    known = {words.sentence(fact).casefold() for fact in facts}
    new = [each for each in split_sentences(text) if each.casefold() not in known]
    borne = [each for each in new if len(each) <= LONGEST and evidence.refute(each) is None]
    remark, dropped = " ".join(borne[:MOST_SENTENCES]), len(new) - len(borne)
    return Remark(remark, dropped, "ungrounded" if dropped and not remark else None)


def split_sentences(text: str) -> list[str]:
    """The sentences of a model's text, without marks of lists and moods."""
    parts = _SENTENCE.split(_TAG.sub("", text))
    return [part.strip() for part in parts if part and any(map(str.isalnum, part))]


def _recall(turns: Sequence[Turn]) -> list[Message]:
    chat: list[Message] = []
    for turn in turns:
        chat.append({"role": "user", "content": turn.question})
        chat.append({"role": "assistant", "content": turn.answer})
    return chat
