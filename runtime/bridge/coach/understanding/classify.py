"""Ranks the kinds of need, and of danger, for a question, as learnt from example sentences.

`training.understanding` learns by words and by what the slots show. Where there is a sentence
encoder, the bridge learns the same by the examples' embeddings, and keeps that beside the database,
since they take minutes.
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
"""Score of a question on the sure side of what was learnt; one on the other side has 0."""
VECTOR_WEIGHT: Final = 0.5
"""Share of the sentence encoder in the score, where there is one."""
KNOWN: Final = 0.68
"""Share of examples left out that the encoder has to get right in a language, to be heard in it."""
STEPS: Final = 200
"""In which what is learnt of embeddings settles."""
KINDS: Final = frozenset(get_args(NeedKind))
DANGER: Final = "danger "
"""Begins the kinds of dangers."""
ORDINARY: Final = f"{DANGER}none"
"""Racing talk that only sounds dangerous."""
ANY: Final = "any danger"
"""What was learnt of all dangers together, beside the kinds."""
_FOLDER: Final = Path(__file__).parent
LEARNT: Final = _FOLDER / "learnt.npz"
"""What `training.understanding` learnt from the examples."""
_FILE: Final = TypeAdapter(dict[NeedKind, list[str]])
_DANGERS: Final = TypeAdapter(dict[str, list[str]])


class Example(NamedTuple):
    """A question whose need or danger is known; names are masked in its text."""

    text: str
    language: Language
    kind: str


@cache
def read_examples() -> tuple[Example, ...]:
    """The examples of all languages, of needs and of dangers."""
    rows: list[Example] = []
    hazards = _FOLDER / "hazards" / "examples", DANGER, _DANGERS
    for folder, begin, shape in (hazards, (_FOLDER / "examples", "", _FILE)):
        for path in sorted(folder.glob("*.yaml")):
            for kind, texts in shape.validate_python(read_yaml(path)).items():
                name = f"{begin}{kind}"
                rows += [Example(text, cast("Language", path.stem), name) for text in texts]
    return tuple(rows)


def list_traits(slots: Slots) -> Iterator[str]:
    """What can be learnt of the slots: which of them are filled, and with which words or what sort
    of things."""
    empty = Slots()
    for each in fields(Slots):
        value = getattr(slots, each.name)
        if value == getattr(empty, each.name):
            continue
        yield each.name
        if isinstance(value, tuple):
            yield from {f"{each.name} {_sort_of(one)}" for one in value}
            if len(value) > 1:
                yield f"{each.name} several"
        elif isinstance(value, str) or value is False:
            yield f"{each.name} {value}"


def _sort_of(thing: object) -> str:
    """The word for a lap, or what else it is."""
    return str(thing) if thing in get_args(LapWord) else type(thing).__name__


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
        """On which side of each kind's border a question is, and how far; the margin ends at 1."""
        filled, weighed = weigh_grams(text, self._rarity)
        shown = [self._traits[each] for each in list_traits(slots) if each in self._traits]
        return cast(
            "Single", weighed @ self._weights[filled] + self._weights[shown].sum(0) + self._bias
        )


class Classifier:
    """What was learnt from the examples, by their words and, with *weights*, their embeddings."""

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
        """Kinds of need with their scores, best first; about 1.5: certain, under 0.6: a guess."""
        learnt, weights = self._of(language), self._weights.get(language)
        scores = score_sides(learnt.sides(masked_text, slots))
        if vector is not None and weights is not None and len(vector) == len(weights) - 1:
            meant = score_sides(_with_one(vector[None])[0] @ weights)
            scores = (1 - VECTOR_WEIGHT) * scores + VECTOR_WEIGHT * meant
        pairs = zip(learnt.kinds, map(float, scores), strict=True)
        ranked = sorted(pairs, key=lambda pair: -pair[1])
        return [(cast("NeedKind", kind), score) for kind, score in ranked if kind in KINDS]

    def weigh_danger(self, text: str, language: Language, slots: Slots) -> tuple[str, float]:
        """The likeliest danger, and how much likelier it is than an ordinary question."""
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
        """How often the examples of a language use each word."""
        if language not in self._words:
            texts = [
                each.text
                for each in self.examples
                if each.language == language and not each.kind.startswith(DANGER)
            ]
            self._words[language] = Counter(word for text in texts for word in fold(text).split())
        return self._words[language]

    @property
    def questions(self) -> tuple[Example, ...]:
        """The examples of needs."""
        return tuple(each for each in self.examples if each.kind in KINDS)

    def learn_vectors(self, vectors: Numbers) -> dict[Language, Single]:
        """The weights of the embeddings of `questions`, a row for each; half a minute.

        Every fifth one is left out, to see whether the encoder knows the language.
        """
        learnt: dict[Language, Single] = {}
        questions = self.questions
        for language in get_args(Language):
            rows = np.array([i for i, one in enumerate(questions) if one.language == language])
            kinds = self._of(language).kinds
            of = np.array([kinds.index(questions[row].kind) for row in rows])
            out = np.arange(len(rows)) % 5 == 4
            weights = part_kinds(vectors[rows[~out]], of[~out], len(kinds))
            found = (_with_one(vectors[rows[out]]) @ weights).argmax(axis=1)
            if np.mean(found == of[out]) >= KNOWN:
                learnt[language] = weights
        return learnt


def part_kinds(vectors: Numbers, of: Buckets, kinds: int) -> Single:
    """The weights of a linear support vector machine that parts each kind from all others.

    *of* is the kind of each vector. The weights have a column for each kind and a last row that is
    added. The squared hinge loss is minimised by Nesterov's accelerated gradient.
    """
    rows = _with_one(vectors)
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
    """How sure it is: 0 on the other side of the margin, `SCALE` on its own."""
    return cast("Single", SCALE * np.maximum(sides + 1, 0) / 2)


def _with_one(vectors: Numbers) -> Single:
    """Vectors of length 1, and a last column of ones."""
    rows = unit(vectors.astype(np.float32))
    return np.hstack([rows, np.ones((len(rows), 1), np.float32)])


@cache
def load_classifier() -> Classifier:
    """The classifier of the examples on file."""
    return Classifier(read_examples())


def digest_examples() -> str:
    """Of the examples, to tell whether what was learnt is of these."""
    lines = [f"{each.language} {each.kind} {each.text}" for each in read_examples()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


log = logging.getLogger(__name__)


def weights_file(database: Path) -> Path:
    """Where the weights of the examples' embeddings lie; the file may be deleted, they are learnt
    again."""
    return database.with_name(f"{database.name}.examples.npz")


def read_weights(path: Path, model: str) -> dict[Language, Single] | None:
    """What was learnt of the vectors that *model* made of the examples on file; None where the file
    is of others."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != _key_of(model):
                return None
            return {one: kept[one] for one in get_args(Language) if one in kept}
    except (OSError, ValueError, KeyError, EOFError):
        return None


def write_weights(path: Path, model: str, weights: Mapping[Language, Single]) -> None:
    """Keep them; where that fails, they are learnt again the next time."""
    part = path.with_name(f"{path.name}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            arrays: dict[str, Any] = {str(name): array for name, array in weights.items()}
            np.savez(file, key=_key_of(model), **arrays)
        part.replace(path)
    except OSError as problem:
        log.warning("what was learnt of the examples is not kept: %s", type(problem).__name__)


def _key_of(model: str) -> str:
    return f"{model} {hashlib.sha256(LEARNT.read_bytes()).hexdigest()}"
