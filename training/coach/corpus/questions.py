"""Questions about the topics, in many wordings, and the replies to them."""

import random
from typing import Final

from training.coach.corpus import data, grammar, values
from training.coach.corpus.data import Topic
from training.coach.corpus.exchange import NOWHERE, Exchange, ask, dress, pick, sentences

# How often a question asks for an aspect; what a topic has no answer to is left out.
CONCEPT_ASPECTS: Final = {
    "ask": 16, "word": 8, "how": 20, "what": 22, "why": 13,
    "drill": 8, "when": 8, "cue": 15, "wrong": 4,
}  # fmt: skip
TOPIC_ASPECTS: Final = {"ask": 26, "word": 22, "how": 20, "what": 16, "why": 9, "drill": 7}
ANSWER: Final = {
    "ask": "tip",
    "how": "tip",
    "word": "tip",
}  # the others are answered by their own name


def aspects(topic: Topic) -> dict[str, int]:
    """The aspects that the topic can be asked about, with their weights."""
    weights = CONCEPT_ASPECTS if topic.concept else TOPIC_ASPECTS
    return {
        aspect: weight
        for aspect, weight in weights.items()
        if (aspect == "cue" or ANSWER.get(aspect, aspect) in topic.answers)
        and (aspect != "ask" or topic.ask)
    }


def _frame(topic: Topic, aspect: str, rng: random.Random) -> str:
    """One template; a noun or a verb is drawn before its words are."""
    if aspect == "ask":
        return rng.choice(topic.ask)
    if aspect == "word":
        shell = rng.choice(data.texts("keywords", "shell"))
        return shell.replace("{word}", rng.choice(data.texts("keywords", "words", topic.id)))
    usable = [
        frame
        for frame in data.texts("dialogue", "frames", aspect)
        if topic.verb or "{verb}" not in frame
    ]
    frame = rng.choice(usable).replace("{noun}", rng.choice(topic.noun))
    return frame.replace("{verb}", rng.choice(topic.verb)) if topic.verb else frame


def answer(topic: Topic, aspect: str, label: str, rng: random.Random) -> str:
    """The reply to an aspect, about the corner *label*."""
    names = {"c": label}
    if aspect == "cue":
        meaning = grammar.fill(pick(topic.answers["what"], rng), names)
        advice = grammar.fill(pick(topic.answers["tip"], rng), names)
        both = f"{meaning} {advice}"
        return meaning if sentences(both) > 3 else both
    body = grammar.fill(pick(topic.answers[ANSWER.get(aspect, aspect)], rng), names)
    return dress(body, rng, closing=aspect in ("ask", "how", "drill", "word"))


def about_topic(topic: Topic, rng: random.Random) -> Exchange:
    """A question about the topic and its reply."""
    weights = aspects(topic)
    aspect = rng.choices(list(weights), list(weights.values()))[0]
    template = _frame(topic, aspect, rng)
    label = values.corner(rng)
    expanded = grammar.expand(template, rng)
    prompt, spelling = ask(expanded, {"c": label}, rng)
    place = spelling["c"] if "c" in grammar.slots(expanded) else NOWHERE
    return Exchange("topic", prompt, answer(topic, aspect, place, rng), topic.id, place)


def about_concept(rng: random.Random) -> Exchange:
    """A question about one of the nine concepts."""
    return about_topic(rng.choice([topic for topic in data.topics() if topic.concept]), rng)


def about_technique(rng: random.Random) -> Exchange:
    """A question about anything else around driving."""
    return about_topic(rng.choice([topic for topic in data.topics() if not topic.concept]), rng)
