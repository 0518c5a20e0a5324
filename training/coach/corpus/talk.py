"""Small talk, questions about the coach itself, and friendly refusals."""

import random
from functools import cache
from typing import Final

from training.coach.corpus import data, values
from training.coach.corpus.exchange import Exchange, ask, pick

MADE_UP: Final = 0.3  # share of the foreign words that no list holds


@cache
def _words(kind: str) -> tuple[str, ...]:
    return tuple(str(data.section("offtopic", "words")[kind]).split())


def _word(kind: str, rng: random.Random) -> str:
    if kind != "act" and rng.random() < MADE_UP:
        word = values.make_up_word(rng)
        return word.lower() if kind == "thing" else word
    return rng.choice(_words(kind)).replace("-", " ")


def _fillings(rng: random.Random) -> dict[str, str]:
    number = rng.choice((rng.randint(0, 20), rng.randint(0, 999), rng.randint(1000, 99999)))
    return {
        "thing": _word("thing", rng),
        "place": _word("place", rng),
        "name": _word("name", rng),
        "act": _word("act", rng),
        "n": str(number),
        "year": str(rng.randint(1700, 2030)),
        "noise": values.gibberish(rng),
        "code": values.code_line(rng),
    }


def any_word(rng: random.Random) -> str:
    """A word that has nothing to do with driving."""
    return _word(rng.choice(("thing", "thing", "place", "name", "act")), rng)


def refusal(rng: random.Random) -> Exchange:
    """A question that is not about driving, or that asks for harm, and the refusal."""
    categories = data.off_topic()
    category = rng.choices(categories, [entry.weight for entry in categories])[0]
    prompt, _ = ask(rng.choice(category.ask), _fillings(rng), rng)
    return Exchange("refusal", prompt or "?", pick(category.reply, rng))


def small_talk(rng: random.Random) -> Exchange:
    """A greeting or a question about the coach."""
    talk = rng.choice(data.small_talk())
    prompt, _ = ask(rng.choice(talk.ask), {}, rng)
    return Exchange("talk", prompt or "?", pick(talk.reply, rng))
