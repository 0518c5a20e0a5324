"""Builds conversations from exchanges: system prompts, second turns, ChatML."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from training.coach.corpus import (
    data,
    grammar,
    laps,
    pairs,
    questions,
    readings,
    records,
    talk,
    values,
)
from training.coach.corpus.exchange import NOWHERE, Exchange, ask, pick

KINDS: Final = {
    questions.about_concept: 21,
    questions.about_technique: 31,
    readings.about_numbers: 26,
    laps.about_laps: 9,
    pairs.about_pair: 14,
    talk.refusal: 11,
    talk.small_talk: 8,
}
TURNS: Final = {1: 52, 2: 36, 3: 12}
FOLLOWS: Final = 0.8  # share of later turns that refer to the one before
NO_SYSTEM, SHORT_SYSTEM = 0.4, 0.35  # the rest is composed


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str
    content: str


def first(rng: random.Random) -> Exchange:
    """Draw an exchange without context."""
    if rng.random() < 0.012:
        return _lost(rng)
    return rng.choices(list(KINDS), list(KINDS.values()))[0](rng)


def _lost(rng: random.Random) -> Exchange:
    """Draw a second turn without a first one."""
    kind = rng.choice(("why", "next", "drill", "more", "how"))
    prompt, _ = ask(
        rng.choice(data.texts("dialogue", "follow", kind)), {"c": values.corner(rng)}, rng
    )
    unclear = next(entry for entry in data.small_talk() if entry.id == "unclear")
    return Exchange("talk", prompt, pick(unclear.reply, rng))


def _follow_kinds(before: Exchange) -> list[str]:
    answers = data.topic(before.topic).answers
    kinds = ["corner", "corner", "how", "wet", "more"]
    if before.topic in ("public_road", "rain", "aquaplaning", "drying", "flags"):
        kinds = ["how", "more"]
    kinds += ["why", "why"] if "why" in answers else []
    kinds += ["drill", "drill", "next", "next"] if "drill" in answers else []
    return kinds + (["wrong"] if "wrong" in answers else [])


def _again(before: Exchange, label: str, rng: random.Random) -> str:
    """The advice of the exchange before, now for another corner."""
    if before.kind == "reading":
        return grammar.fill(pick(data.texts("dialogue", "no_numbers", "reply"), rng), {"c": label})
    lead = grammar.fill(pick(data.texts("dialogue", "lead", "corner"), rng), {"c": label})
    tip = grammar.fill(pick(data.topic(before.topic).answers["tip"], rng), {"c": label})
    return lead + tip


def follow(before: Exchange, rng: random.Random) -> Exchange:
    """A second turn that only makes sense after *before*."""
    if before.kind == "refusal":
        prompt, _ = ask(rng.choice(data.texts("dialogue", "follow", "why")), {}, rng)
        return Exchange("refusal", prompt, pick(data.texts("dialogue", "refused", "reply"), rng))
    if before.kind == "reading" and before.label != NOWHERE and rng.random() < 0.15:
        return _next_record(rng)
    kind = rng.choice(_follow_kinds(before))
    answers = data.topic(before.topic).answers
    label = values.corner(rng)
    prompt, spelling = ask(rng.choice(data.texts("dialogue", "follow", kind)), {"c": label}, rng)
    label = spelling["c"]
    place = before.label or NOWHERE
    if kind == "corner":
        reply = _again(before, label, rng)
    elif kind == "wet":
        reply, label = pick(data.texts("dialogue", "lead", "wet"), rng), place
    elif kind == "wrong":
        reply, label = grammar.fill(pick(answers["wrong"], rng), {"c": place}), place
    else:
        aspect = {"next": "drill", "how": "tip", "more": "what"}.get(kind, kind)
        replies = answers.get(aspect, answers["tip"])
        lead = pick(data.texts("dialogue", "lead", kind), rng)
        reply = lead + grammar.fill(pick(replies, rng), {"c": place})
        label = place
    kept = before.kind if kind == "corner" else "topic"
    return Exchange(kept, prompt, grammar.tidy(reply), before.topic, label)


def _next_record(rng: random.Random) -> Exchange:
    """And at another corner, with its numbers."""
    exchange = readings.about_record(records.draw(rng), rng)
    lead = rng.choice(("And ", "and ", "Next corner: ", "Now ", "What about this: ", ""))
    return Exchange(
        exchange.kind, lead + exchange.prompt, exchange.reply, exchange.topic, exchange.label
    )


def exchanges(rng: random.Random) -> list[Exchange]:
    """One to three turns of a conversation."""
    turns = rng.choices(list(TURNS), list(TURNS.values()))[0]
    talk = [first(rng)]
    while len(talk) < turns:
        before = talk[-1]
        refers = before.topic or (before.kind == "refusal" and rng.random() < 0.3)
        talk.append(follow(before, rng) if refers and rng.random() < FOLLOWS else first(rng))
    return talk


def system(rng: random.Random) -> str:
    """A system prompt, short or composed of many sentences; empty for none."""
    kind = rng.random()
    if kind < NO_SYSTEM:
        return ""
    if kind < NO_SYSTEM + SHORT_SYSTEM:
        return rng.choice(data.texts("dialogue", "system", "short"))
    parts = data.texts("dialogue", "system", "parts")
    count = rng.choice((1, 2, 3, 4, 5, 6, 8, 10, 13))
    chosen = [pick([part], rng) for part in rng.sample(parts, count)]
    glue = rng.choice((" ", " ", "\n", "\n- "))
    return glue.join(grammar.SLOT.sub(lambda slot: _facts(rng)[slot[1]], part) for part in chosen)


def _facts(rng: random.Random) -> dict[str, str]:
    return {
        "car": rng.choice(data.texts("dialogue", "system", "car")),
        "name": values.make_up_word(rng),
        "track": values.make_up_word(rng),
        "n": str(rng.randint(1, 60)),
        "lap": values.lap_text(values.lap_seconds(rng), "clock"),
        "c": values.corner(rng),
        "words": " ".join(talk.any_word(rng) for _ in range(rng.randint(2, 9))),
    }


def conversation(rng: random.Random) -> list[Message]:
    """A whole conversation, with or without a system prompt."""
    instruction = system(rng)
    messages = [Message("system", instruction)] if instruction else []
    for exchange in exchanges(rng):
        messages.append(Message("user", exchange.prompt))
        messages.append(Message("assistant", exchange.reply))
    return messages


def chatml(messages: Sequence[Message]) -> str:
    """The conversation in ChatML."""
    return "".join(f"<|im_start|>{m.role}\n{m.content}<|im_end|>\n" for m in messages)


def conversations(seed: int) -> Iterator[list[Message]]:
    """Yield an endless, reproducible stream of conversations."""
    rng = random.Random(seed)  # noqa: S311 - nothing here is a secret
    while True:
        yield conversation(rng)
