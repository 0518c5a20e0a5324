"""Questions which of two numbers is the larger one, which the coach turns down."""

import random
from collections.abc import Mapping
from typing import Any, Final

from training.coach.corpus import data, grammar, values
from training.coach.corpus.exchange import Exchange, ask, pick

CLOSE: Final = 0.5  # share of pairs whose numbers are neighbours
CLOCK: Final = 0.4  # share of the times that are written with minutes
NO_UNIT: Final = 0.12


def _numbers(quantity: Mapping[str, Any], rng: random.Random) -> list[str]:
    """Three different numbers of a quantity, as they are written."""
    least, most = quantity["least"], quantity["most"]
    digits = rng.choice((1, 2, 3)) if isinstance(least, float) else rng.choice((0, 0, 0, 0, 1))
    first = rng.uniform(least, most)
    reach = (most - least) * (0.08 if rng.random() < CLOSE else 1)
    drawn = [first, *(rng.uniform(max(least, first - reach), first + reach) for _ in range(2))]
    if "lap" in quantity["name"] and rng.random() < CLOCK:
        return [values.lap_text(number + 40, rng.choice(("clock", "tenths"))) for number in drawn]
    return [f"{number:.{digits}f}" for number in drawn]


def _unit(quantity: Mapping[str, Any], rng: random.Random) -> str:
    unit = str(rng.choice(quantity["unit"]))
    if not unit or rng.random() < NO_UNIT:
        return ""
    return ("" if rng.random() < 0.15 else " ") + unit


def about_pair(rng: random.Random) -> Exchange:
    """Two or three numbers of one kind and a question that would take a comparison."""
    quantity = rng.choice(list(data.section("pairs", "quantity").values()))
    places = {"n": str(rng.randint(1, 20)), "m": str(rng.randint(1, 20))}
    first, second = rng.choice(data.section("pairs", "names")["pair"])
    x, y, z = _numbers(quantity, rng)
    unit = _unit(quantity, rng)
    slots = {
        "x": x,
        "y": y,
        "z": z,
        "u": "" if ":" in x else unit,
        "q": rng.choice(quantity["name"]),
        "cmp": rng.choice(quantity["cmp"]),
        "sup": rng.choice(quantity["sup"]),
        "who": grammar.fill(first, places),
        "other": grammar.fill(second, places),
    }
    prompt, _ = ask(rng.choice(data.texts("pairs", "pair", "ask")), slots, rng)
    return Exchange("pair", prompt, pick(data.texts("pairs", "pair", "reply"), rng))
