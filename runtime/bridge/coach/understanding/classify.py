"""Ranks the kinds of need and of danger for a question, as learnt from example sentences.

`training.understanding` learns from words and slots. With a sentence encoder the bridge learns the
same from the examples' embeddings and stores the result next to the database, since it takes
minutes.
"""

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, cast, get_args

import numpy as np
from pydantic import TypeAdapter

from runtime.bridge.coach.need import Language, LapWord, NeedKind, Slots
from runtime.bridge.coach.understanding.grams import BUCKETS, Buckets, Single, unit, weigh_grams
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.coach.understanding.tidy import fold
from runtime.bridge.session.recording import Numbers

SCALE: Final = 2.3
"""Score of a question on the margin of its own side; one on the other side has 0."""
VECTOR_WEIGHT: Final = 0.5
"""Share of the sentence encoder in the score, if there is one."""
KNOWN: Final = 0.68
"""Share of held-out examples that the encoder must get right in a language to be used there."""
STEPS: Final = 200
"""Iterations in which learning from embeddings settles."""
KINDS: Final = frozenset(get_args(NeedKind))
DANGER: Final = "danger "
"""Prefix of the kinds of danger."""
ORDINARY: Final = f"{DANGER}none"
"""Racing talk that only sounds dangerous."""
ANY: Final = "any danger"
"""The score learnt from all dangers together."""
_FOLDER: Final = Path(__file__).parent
LEARNT: Final = _FOLDER / "learnt.npz"
"""What `training.understanding` learnt from the examples."""
_FILE: Final = TypeAdapter(dict[NeedKind, list[str]])
_DANGERS: Final = TypeAdapter(dict[str, list[str]])


class Example(NamedTuple):
    """A question whose need or danger is known; its names are masked."""

    text: str
    language: Language
    kind: str


@cache
def read_examples() -> tuple[Example, ...]:
    """Read the examples of all languages, of needs and of dangers."""
    rows: list[Example] = []
    hazards = _FOLDER / "hazards" / "examples", DANGER, _DANGERS
    for folder, begin, shape in (hazards, (_FOLDER / "examples", "", _FILE)):
        for path in sorted(folder.glob("*.yaml")):
            for kind, texts in shape.validate_python(read_yaml(path)).items():
                name = f"{begin}{kind}"
                rows += [Example(text, cast("Language", path.stem), name) for text in texts]
    return tuple(rows)


def list_traits(slots: Slots) -> Iterator[str]:
    """List the features of the slots: which are filled, and with which words or types."""
    empty = Slots()
    for field in fields(Slots):
        value = getattr(slots, field.name)
        if value == getattr(empty, field.name):
            continue
        yield field.name
        if isinstance(value, tuple):
            yield from {f"{field.name} {_sort_of(item)}" for item in value}
            if len(value) > 1:
                yield f"{field.name} several"
        elif isinstance(value, str) or value is False:
            yield f"{field.name} {value}"


def _sort_of(value: object) -> str:
    """Name a lap word, or the type of anything else."""
    return str(value) if value in get_args(LapWord) else type(value).__name__


class _Learnt:
    """What was learnt from the examples of one language."""

    def __init__(self, language: Language) -> None:
        with np.load(LEARNT, allow_pickle=False) as file:
            self.kinds = tuple(map(str, file[f"{language}_kinds"]))
            step = file[f"{language}_step"]
            self._weights: Single = file[f"{language}_weights"].astype(np.float32) * step
            self._bias: Single = file[f"{language}_bias"]
            self._rarity: Single = file[f"{language}_rarity"]
            self._traits = {
                str(name): BUCKETS + i for i, name in enumerate(file[f"{language}_traits"])
            }

    def sides(self, text: str, slots: Slots) -> Single:
        """Return on which side of each kind's border a question is, and how far; the margin ends at
        1."""
        filled, weighed = weigh_grams(text, self._rarity)
        shown = [self._traits[trait] for trait in list_traits(slots) if trait in self._traits]
        return cast(
            "Single", weighed @ self._weights[filled] + self._weights[shown].sum(0) + self._bias
        )


class Classifier:
    """What was learnt from the examples, by words and, with *weights*, by embeddings."""

    def __init__(
        self, examples: Sequence[Example], weights: Mapping[Language, Single] | None = None
    ) -> None:
        self.examples = tuple(examples)
        self._weights = weights or {}
        self._learnt: dict[Language, _Learnt] = {}
        self._words: dict[Language, Counter[str]] = {}

    def rank(
        self,
        masked_text: str,
        language: Language,
        slots: Slots,
        vector: Numbers | None = None,
    ) -> list[tuple[NeedKind, float]]:
        """Rank kinds of need by score, best first; about 1.5 is certain, under 0.6 a guess."""
        learnt, weights = self._of(language), self._weights.get(language)
        scores = score_sides(learnt.sides(masked_text, slots))
        if vector is not None and weights is not None and len(vector) == len(weights) - 1:
            meant = score_sides(_append_ones(vector[None])[0] @ weights)
            scores = (1 - VECTOR_WEIGHT) * scores + VECTOR_WEIGHT * meant
        pairs = zip(learnt.kinds, map(float, scores), strict=True)
        ranked = sorted(pairs, key=lambda pair: -pair[1])
        return [(cast("NeedKind", kind), score) for kind, score in ranked if kind in KINDS]

    def weigh_danger(self, text: str, language: Language, slots: Slots) -> tuple[str, float]:
        """Return the likeliest danger, and how much likelier it is than an ordinary question."""
        learnt = self._of(language)
        weighed = map(float, learnt.sides(text, slots))
        sides = dict(zip(learnt.kinds, weighed, strict=True))
        any_danger = sides.pop(ANY)
        dangers = {kind for kind in sides if kind.startswith(DANGER)} - {ORDINARY}
        first = max(dangers, key=lambda kind: sides[kind])
        ordinary = max(side for kind, side in sides.items() if kind not in dangers)
        return first.removeprefix(DANGER), any_danger + sides[first] - ordinary

    def _of(self, language: Language) -> _Learnt:
        if language not in self._learnt:
            self._learnt[language] = _Learnt(language)
        return self._learnt[language]

    def words(self, language: Language) -> Counter[str]:
        """Count each word in the examples of a language."""
        if language not in self._words:
            texts = [
                example.text
                for example in self.examples
                if example.language == language and not example.kind.startswith(DANGER)
            ]
            self._words[language] = Counter(word for text in texts for word in fold(text).split())
        return self._words[language]

    @property
    def questions(self) -> tuple[Example, ...]:
        """The examples of needs."""
        return tuple(example for example in self.examples if example.kind in KINDS)

    def learn_vectors(self, vectors: Numbers) -> dict[Language, Single]:
        """Learn the weights of the embeddings of `questions`, a row for each; half a minute.

        Every fifth example is held out to test whether the encoder knows the language.
        """
        learnt: dict[Language, Single] = {}
        questions = self.questions
        for language in get_args(Language):
            rows = np.array(
                [i for i, question in enumerate(questions) if question.language == language]
            )
            kinds = self._of(language).kinds
            of = np.array([kinds.index(questions[row].kind) for row in rows])
            out = np.arange(len(rows)) % 5 == 4
            weights = part_kinds(vectors[rows[~out]], of[~out], len(kinds))
            guesses = (_append_ones(vectors[rows[out]]) @ weights).argmax(axis=1)
            if np.mean(guesses == of[out]) >= KNOWN:
                learnt[language] = weights
        return learnt


def part_kinds(vectors: Numbers, of: Buckets, kinds: int) -> Single:
    """Learn the weights of a linear support vector machine that separates each kind from the
    others.

    *of* is the kind of each vector. The weights have a column for each kind and a last row for the
    bias. The squared hinge loss is minimised by Nesterov's accelerated gradient.
    """
    rows = _append_ones(vectors)
    sides = np.full((len(rows), kinds), -1, np.float32)
    sides[np.arange(len(rows)), of] = 1
    step = 1 / (1 + 2 * np.linalg.norm(rows.T @ rows, 2))
    weights = ahead = np.zeros((rows.shape[1], kinds), np.float32)
    pace = 1.0
    for _ in range(STEPS):
        wrong = sides * np.maximum(1 - sides * (rows @ ahead), 0)
        moved = ahead - step * (ahead - 2 * rows.T @ wrong)
        pace, before = (1 + (1 + 4 * pace**2) ** 0.5) / 2, pace
        weights, ahead = moved, moved + (before - 1) / pace * (moved - weights)
    return cast("Single", weights.astype(np.float32))


def score_sides(sides: Single) -> Single:
    """Turn sides into scores: 0 at the other side's margin, `SCALE` at the own one."""
    return cast("Single", SCALE * np.maximum(sides + 1, 0) / 2)


def _append_ones(vectors: Numbers) -> Single:
    """Scale vectors to length 1 and append a column of ones."""
    rows = unit(vectors.astype(np.float32))
    return np.hstack([rows, np.ones((len(rows), 1), np.float32)])


@cache
def load_classifier() -> Classifier:
    """Load the classifier of the examples on file."""
    return Classifier(read_examples())


def digest_examples() -> str:
    """Digest the examples, to check that weights were learnt from them."""
    lines = [f"{row.language} {row.kind} {row.text}" for row in read_examples()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


log = logging.getLogger(__name__)


def weights_file(database: Path) -> Path:
    """Return the path of the weights of the examples' embeddings; if deleted, they are learnt
    again."""
    return database.with_name(f"{database.name}.examples.npz")


def read_weights(path: Path, model: str) -> dict[Language, Single] | None:
    """Read what was learnt from *model*'s vectors of the examples on file; None if the file belongs
    to others."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != _key_of(model):
                return None
            return {language: kept[language] for language in get_args(Language) if language in kept}
    except (OSError, ValueError, KeyError, EOFError):
        return None


def write_weights(path: Path, model: str, weights: Mapping[Language, Single]) -> None:
    """Store the weights; if that fails, they are learnt again next time."""
    part = path.with_name(f"{path.name}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            arrays: dict[str, Any] = {str(name): array for name, array in weights.items()}
            np.savez(file, key=_key_of(model), **arrays)
        part.replace(path)
    except OSError as problem:
        log.warning("could not store what was learnt from the examples: %s", type(problem).__name__)


def _key_of(model: str) -> str:
    return f"{model} {hashlib.sha256(LEARNT.read_bytes()).hexdigest()}"
