"""Learns from the coach's example sentences what a question asks for, or which danger it tells of.

``python -m training.understanding`` writes ``learnt.npz`` beside the examples; after each change of
them it has to be run. For each kind a linear support vector machine parts its examples from all
others, by the grams of `understanding.grams` and by what their slots show; one more parts all
dangers from all else. Of a fifth of the examples, left out, the right kind comes first for 82 % in
English, 80 in German, 81 in French and 83 in Spanish.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Final, get_args

import numpy as np
from scipy.sparse import csr_matrix, hstack
from sklearn.svm import LinearSVC

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import (
    ANY,
    DANGER,
    LEARNT,
    ORDINARY,
    digest_examples,
    list_traits,
    read_examples,
)
from runtime.bridge.coach.understanding.grams import BUCKETS, Grams
from runtime.bridge.coach.understanding.slots import CornerNames, Names, read_slots
from runtime.bridge.coach.understanding.tidy import tidy

COST: Final = 1.0
"""Of an example on the wrong side, beside the size of the weights."""
DANGER_COST: Final = 3.0
"""The same where all dangers are parted from all else."""
TRAIT: Final = 0.3
"""What a trait of the slots counts, beside grams of length 1 in all."""
NAMES: Final = Names(
    corners=tuple(CornerNames(f"Turn {number}", number) for number in range(1, 10)),
    laps=tuple(range(1, 10)),
    sectors=("First", "Second", "Third"),
    straights=("Harbour Straight", "Mill Straight"),
    asker="Ana",
    drivers=("Ben",),
)
"""What the names of the examples stand for where their slots are read."""
NAMED: Final[Mapping[str, Sequence[str]]] = {
    "cornerx": ("T4", "T5", "T6"),
    "lapx": ("lap 5", "lap 6", "lap 7"),
    "sectorx": ("sector 2", "sector 3"),
    "straightx": NAMES.straights,
    "driverx": NAMES.drivers,
    "timex": ("1:52.3",),
    "amountx": ("12 m",),
}
"""Names of each class, in the order in which a text names them."""
MASK: Final = re.compile(rf"\b({'|'.join(NAMED)})\b")
COUNT: Final = re.compile(r"\bamountx(?= (lap|laps|runde|runden|tour|tours|vuelta|vueltas)\b)")
"""An amount that counts laps."""


def learn(language: Language) -> dict[str, Any]:
    """The arrays of a language: its kinds, the weights of the grams and of the traits (rows) for
    each of them in steps of its own, what is added to them, and how rare each gram is."""
    examples = [example for example in read_examples() if example.language == language]
    texts = [tidy(example.text, language) for example in examples]
    grams = Grams(texts)
    at, buckets, values = grams.cells()
    words = csr_matrix((values.astype(np.float64), (at, buckets)), (len(texts), BUCKETS))
    shown = [list(list_traits(read_slots(name(text), language, NAMES))) for text in texts]
    traits = sorted(set().union(*shown))
    cells = [(row, traits.index(trait)) for row, of in enumerate(shown) for trait in of]
    marks = csr_matrix((np.full(len(cells), TRAIT), np.transpose(cells)), (len(texts), len(traits)))
    rows = hstack([words, marks]).tocsr()
    machine = LinearSVC(C=COST, random_state=0).fit(rows, [example.kind for example in examples])
    dangers = [example.kind.startswith(DANGER) and example.kind != ORDINARY for example in examples]
    danger = LinearSVC(C=DANGER_COST, random_state=0).fit(rows, dangers)
    weights = np.column_stack([machine.coef_.T, danger.coef_[0]])
    weights[BUCKETS:] *= TRAIT
    step = np.abs(weights).max(axis=0) / 127
    return {
        "kinds": np.append(machine.classes_.astype(str), ANY),
        "traits": np.array(traits),
        "weights": np.round(weights / step).astype(np.int8),
        "step": step.astype(np.float32),
        "bias": np.append(machine.intercept_, danger.intercept_).astype(np.float32),
        "rarity": grams.rarity,
    }


def name(text: str) -> str:
    """A text whose names are masked, with names of `NAMED` in their place."""
    names = {mask: cycle(words) for mask, words in NAMED.items()}
    return MASK.sub(lambda mask: next(names[mask[0]]), COUNT.sub("12", text))


def main() -> int:
    """Learn all languages and write the result."""
    arrays = {
        f"{language}_{name}": array
        for language in get_args(Language)
        for name, array in learn(language).items()
    }
    np.savez_compressed(LEARNT, key=digest_examples(), **arrays)
    return 0


if __name__ == "__main__":
    sys.exit(main())
