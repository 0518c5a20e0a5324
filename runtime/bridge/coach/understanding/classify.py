"""Ranks the kinds of need, and of danger, for a question by example sentences; keeps the vectors of
these beside the database, since they take minutes to make."""

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast, get_args

import numpy as np
from pydantic import TypeAdapter

from runtime.bridge.coach.need import Language, NeedKind
from runtime.bridge.coach.understanding.grams import BUCKETS, Grams, Single, unit
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.coach.understanding.tidy import fold, tidy
from runtime.bridge.session.recording import Numbers

RIDGE: Final = 0.5
STEPS: Final = 3
RIDGE_WEIGHT: Final = 1.5
VECTOR_WEIGHT: Final = 0.6
"""Share of the sentence encoder in the similarity, where there is one."""
FAR: Final = 9.0
KINDS: Final = frozenset(get_args(NeedKind))
DANGER: Final = "danger "
"""Begins the kinds of dangers."""
ORDINARY: Final = f"{DANGER}none"
"""Racing talk that only sounds dangerous."""
_FOLDER: Final = Path(__file__).parent
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


class _Fit:
    """Examples of one language, fitted; *vectors* are their embeddings, of length 1."""

    def __init__(self, examples: Sequence[Example], vectors: Single | None) -> None:
        self._grams = Grams([tidy(each.text, each.language) for each in examples])
        self.vectors = vectors
        self.kinds = tuple(dict.fromkeys(example.kind for example in examples))
        kinds = np.array([self.kinds.index(example.kind) for example in examples])
        self._of_kind = kinds
        ends = np.cumsum(np.bincount(kinds))
        firsts = np.concatenate([[0], ends[:-1]])
        self._nearest = np.maximum(ends[:, None] - [1, 2, 3], firsts[:, None])
        self._targets = np.eye(len(self.kinds), dtype=np.float32)[kinds]
        self._weights: dict[bool, tuple[Single, Single]] = {}

    def compare(self, text: str, vector: Single | None) -> tuple[Single, Single]:
        """Similarities of a text to the examples, at most 1, and what is learnt of its kinds."""
        filled, weighed = self._grams.weigh(text)
        alike = self._grams.compare(filled, weighed)
        of_grams, of_vectors = self._learn(vector is not None)
        learnt = weighed @ of_grams[filled]
        if vector is None or self.vectors is None:
            return alike, learnt
        return (
            (1 - VECTOR_WEIGHT) * alike + VECTOR_WEIGHT * (self.vectors @ vector),
            (1 - VECTOR_WEIGHT) ** 0.5 * learnt + VECTOR_WEIGHT**0.5 * (vector @ of_vectors),
        )

    def near_kinds(self, alike: Single) -> Single:
        """How near the examples of each kind are: the nearest counts most, then the next two."""
        best = alike[np.lexsort((alike, self._of_kind))][self._nearest]
        return cast("Single", 0.6 * best[:, 0] + 0.4 * best.mean(axis=1))

    def _learn(self, with_vectors: bool) -> tuple[Single, Single]:
        """Weights of the grams and of the embedding (rows) for the kinds: ridge regression by a
        few steps of conjugate gradients, which is enough and linear in the examples.
        """
        if with_vectors not in self._weights:
            rows = self._grams.table()
            if with_vectors and self.vectors is not None:
                shares = (1 - VECTOR_WEIGHT) ** 0.5, VECTOR_WEIGHT**0.5
                rows = np.concatenate([shares[0] * rows, shares[1] * self.vectors.T])
            rest = rows @ self._targets
            weights, step, size = np.zeros_like(rest), rest, np.sum(rest * rest, axis=0)
            for _ in range(STEPS):
                ahead = rows @ (rows.T @ step) + RIDGE * step
                length = size / np.maximum(np.sum(step * ahead, axis=0), 1e-9)
                weights, rest = weights + length * step, rest - length * ahead
                before, size = size, np.sum(rest * rest, axis=0)
                step = rest + size / np.maximum(before, 1e-9) * step
            self._weights[with_vectors] = weights[:BUCKETS], weights[BUCKETS:]
        return self._weights[with_vectors]


class Classifier:
    """Nearest examples and a ridge classifier on the similarities to them, closed form.

    Examples of a language are for that language: 0.5 % more are right with the English ones
    beside them, for 20 times the work.
    """

    def __init__(self, examples: Sequence[Example], vectors: Numbers | None = None) -> None:
        self.examples = tuple(examples)
        self._vectors = None if vectors is None else unit(vectors.astype(np.float32))
        self._fits: dict[Language, _Fit] = {}
        self._words: dict[Language, Counter[str]] = {}

    def with_vectors(self, vectors: Numbers) -> "Classifier":
        """The classifier with the examples' embeddings, a row for each."""
        return Classifier(self.examples, vectors)

    def rank(
        self, masked_text: str, language: Language, vector: Numbers | None = None
    ) -> list[tuple[NeedKind, float]]:
        """Kinds of need with their scores, best first; about 1.5: certain, under 0.6: a guess."""
        scores = self._score(masked_text, language, vector)
        ranked = sorted(scores.items(), key=lambda pair: -pair[1])
        return [(cast("NeedKind", kind), score) for kind, score in ranked if kind in KINDS]

    def weigh_danger(self, text: str, language: Language) -> tuple[str, float]:
        """The likeliest danger, and by how much it is likelier than an ordinary question."""
        scores = self._score(tidy(text, language), language, None)
        dangers = {kind for kind in scores if kind.startswith(DANGER)} - {ORDINARY}
        if not dangers:
            return "", -FAR
        first = max(dangers, key=lambda kind: scores[kind])
        ordinary = max(score for kind, score in scores.items() if kind not in dangers)
        return first.removeprefix(DANGER), scores[first] - ordinary

    def _score(self, text: str, language: Language, vector: Numbers | None) -> dict[str, float]:
        fit = self._fit(language)
        embedded = None
        if vector is not None and fit.vectors is not None:
            embedded = unit(vector[None].astype(np.float32))[0]
        alike, learnt = fit.compare(text, embedded)
        scores = fit.near_kinds(alike) + RIDGE_WEIGHT * learnt
        return dict(zip(fit.kinds, map(float, scores), strict=True))

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

    def _fit(self, language: Language) -> _Fit:
        if language not in self._fits:
            rows = [i for i, each in enumerate(self.examples) if each.language == language]
            vectors = None if self._vectors is None else self._vectors[rows]
            self._fits[language] = _Fit([self.examples[row] for row in rows], vectors)
        return self._fits[language]


@cache
def load_classifier() -> Classifier:
    """The classifier of the examples on file."""
    return Classifier(read_examples())


log = logging.getLogger(__name__)


def vectors_file(database: Path) -> Path:
    """Where the vectors lie; the file may be deleted, they are made again."""
    return database.with_name(f"{database.name}.examples.npz")


def read_vectors(path: Path, model: str, texts: Sequence[str]) -> Numbers | None:
    """The vectors that *model* made of these *texts*, in rows; None where the file has others."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            if str(kept["key"]) != _key(model, texts):
                return None
            vectors: Numbers = kept["vectors"].astype(np.float64)
    except (OSError, ValueError, KeyError, EOFError):
        return None
    return vectors if len(vectors) == len(texts) else None


def write_vectors(path: Path, model: str, texts: Sequence[str], vectors: Numbers) -> None:
    """Keep them; where that fails, they are made again the next time."""
    part = path.with_name(f"{path.name}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "wb") as file:
            np.savez(file, key=_key(model, texts), vectors=vectors.astype(np.float16))
        part.replace(path)
    except OSError as problem:
        log.warning("the vectors of the examples are not kept: %s", type(problem).__name__)


def _key(model: str, texts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join([model, *texts]).encode()).hexdigest()
