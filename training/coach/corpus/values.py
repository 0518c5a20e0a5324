"""Draws what fills the slots of a template: corners, lap times, made-up names and noise."""

import random
from typing import Final

TURNS: Final = 24
PLACES: Final = (
    "the hairpin", "the chicane", "the last corner", "the first corner", "the fast left",
    "the fast right", "the downhill right", "the long sweeper", "the esses", "the final turn",
    "the uphill left", "the double right", "the banked turn", "the carousel",
)  # fmt: skip
HEADS: Final = (
    "Ald", "Bram", "Cor", "Dun", "Esk", "Far", "Gar", "Hol", "Ing", "Kel", "Lor", "Mar", "Nor",
    "Oak", "Pen", "Ros", "Sten", "Tarn", "Ul", "Wen", "Bel", "Cas", "Dor", "Fen", "Gil", "Har",
    "Lin", "Mon", "Pad", "Quin", "Rid", "Sal", "Tos", "Var", "Wal", "Zan", "Bri", "Clo", "Dra",
)  # fmt: skip
TAILS: Final = (
    "wood", "bury", "ford", "dale", "mere", "ridge", "stone", "by", "ham", "ley", "hof", "bach",
    "berg", "more", "tino", "ville", "ka", "ra", "ton", "well", "gate", "moor", "lin", "ano",
)  # fmt: skip
BENDS: Final = ("", "", "", " curve", " bend", " corner", " hairpin", " Corner", " S")
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
WHEELS: Final = ("front left", "front right", "rear left", "rear right")


def make_up_word(rng: random.Random) -> str:
    """A word that no dictionary holds, capital first."""
    middle = rng.choice(("", "", "", "e", "a", "o", "in", "er"))
    return rng.choice(HEADS) + middle + rng.choice(TAILS)


def corner(rng: random.Random) -> str:
    """The name of a corner as a driver or a bridge writes it."""
    kind, turn = rng.random(), rng.randint(1, TURNS)
    if kind < 0.62:
        head = rng.choice(("turn ", "turn ", "Turn ", "Turn ", "T", "T", "t", "corner ", "C"))
        return f"{head}{turn}" + (rng.choice("ab") if rng.random() < 0.04 else "")
    if kind < 0.82:
        return rng.choice(PLACES)
    name = make_up_word(rng) + rng.choice(BENDS)
    return f"the {name}" if rng.random() < 0.1 else name


def lap_seconds(rng: random.Random) -> float:
    """A lap time in seconds, with thousandths."""
    return round(rng.choice((rng.uniform(38, 75), rng.uniform(75, 140), rng.uniform(140, 620))), 3)


def lap_text(seconds: float, style: str) -> str:
    """A lap time as text: *style* is "clock" (1:42.318), "tenths" (1:42.3) or "seconds"."""
    if style == "seconds":
        return f"{seconds:.1f}"
    digits = 1 if style == "tenths" else 3
    units = round(seconds * 10**digits)
    minutes, rest = divmod(units, 60 * 10**digits)
    whole, part = divmod(rest, 10**digits)
    return f"{minutes}:{whole:02d}.{part:0{digits}d}"


def gibberish(rng: random.Random) -> str:
    """Letters, digits or made-up words without a meaning."""
    kind = rng.random()
    if kind < 0.4:
        letters = LETTERS + "0123456789" if rng.random() < 0.3 else LETTERS
        words = rng.randint(1, 4)
        return " ".join(
            "".join(rng.choice(letters) for _ in range(rng.randint(2, 9))) for _ in range(words)
        )
    if kind < 0.8:
        return " ".join(make_up_word(rng).lower() for _ in range(rng.randint(1, 6)))
    return "".join(rng.choice("!?.,;:#*+-/&%$") for _ in range(rng.randint(1, 6)))


def code_line(rng: random.Random) -> str:
    """A line that looks like a program."""
    a, b, n = rng.choice(LETTERS), rng.choice(LETTERS), rng.randint(0, 99)
    return rng.choice(
        (
            f"for {a} in range({n}): print({a})",
            f"def {a}({b}): return {b} + {n}",
            f"SELECT {a} FROM {b} WHERE id = {n};",  # noqa: S608 - only ever read by the model
            f"let {a} = {n}; console.log({a});",
            f"import {a}{b}",
            f"print('{a}{b}')",
            f"int {a} = {n};",
            f"<{a}>{b}</{a}>",
        )
    )
