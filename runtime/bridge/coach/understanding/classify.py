"""Ranks the kinds of need for a question by example sentences."""

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast, get_args
from zlib import crc32

import numpy as np
import numpy.typing as npt
import yaml
from pydantic import TypeAdapter

from runtime.bridge.coach.need import Language, NeedKind
from runtime.bridge.coach.understanding.tidy import fold, tidy
from runtime.bridge.session.recording import Numbers

__all__ = ["Classifier", "Example", "fold", "load_classifier", "read_examples"]

Single: TypeAlias = npt.NDArray[np.float32]
Buckets: TypeAlias = npt.NDArray[np.intp]

BUCKETS: Final = 4096
"""Hashed words and n-grams of characters."""
GRAMS: Final = (3, 4, 5)
WORD_WEIGHT: Final = 8.0
PAIR_WEIGHT: Final = 2.0
RIDGE: Final = 0.5
STEPS: Final = 3
RIDGE_WEIGHT: Final = 1.5
VECTOR_WEIGHT: Final = 0.6
"""Share of the sentence encoder in the similarity, where there is one."""
KINDS: Final[tuple[NeedKind, ...]] = get_args(NeedKind)
_FOLDER: Final = Path(__file__).parent / "examples"
_FILE: Final = TypeAdapter(dict[NeedKind, list[str]])


class Example(NamedTuple):
    """A question whose need is known; names are masked in its text."""

    text: str
    language: Language
    kind: NeedKind


def count_grams(text: str) -> tuple[Buckets, Single]:
    """Buckets of the words, word pairs and n-grams of characters, and the roots of their counts."""
    words = fold(text).split()
    buckets = [bucket for word in words for bucket in _of_word(word)]
    weights = [weight for word in words for weight in _weights_of(len(word))]
    pairs = [_bucket(" ".join(pair)) for pair in pairwise(words)]
    counts = np.bincount(buckets + pairs, weights + [PAIR_WEIGHT] * len(pairs), 1)
    filled = np.flatnonzero(counts)
    return filled, np.sqrt(counts[filled]).astype(np.float32)


@lru_cache(1 << 14)
def _of_word(word: str) -> tuple[int, ...]:
    """Buckets of a word and of its n-grams."""
    padded = f" {word} "
    grams = (padded[start : start + n] for n in GRAMS for start in range(len(padded) - n + 1))
    return (_bucket(f"={word}"), *map(_bucket, grams))


@cache
def _weights_of(letters: int) -> tuple[float, ...]:
    """Weights of a word of so many letters and of its n-grams."""
    return (WORD_WEIGHT, *[1.0] * sum(max(letters + 3 - n, 0) for n in GRAMS))


def _bucket(gram: str) -> int:
    return crc32(gram.encode()) % BUCKETS


@cache
def read_examples() -> tuple[Example, ...]:
    """The examples of all languages."""
    rows: list[Example] = []
    for path in sorted(_FOLDER.glob("*.yaml")):
        language = cast("Language", path.stem)
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for kind, texts in _FILE.validate_python(content).items():
            rows += [Example(text, language, kind) for text in texts]
    return tuple(rows)


class _Fit:
    """Examples of one language, fitted; *vectors* are their embeddings, of length 1."""

    def __init__(self, examples: Sequence[Example], vectors: Single | None) -> None:
        counts = [count_grams(tidy(each.text, each.language)) for each in examples]
        filled = np.concatenate([buckets for buckets, _ in counts])
        values = np.concatenate([roots for _, roots in counts])
        text = np.repeat(np.arange(len(counts)), [len(buckets) for buckets, _ in counts])
        seen = np.bincount(filled, minlength=BUCKETS)
        self.rarity: Single = np.sqrt(np.log((1 + len(counts)) / (1 + seen))).astype(np.float32)
        values = values * self.rarity[filled]
        length = np.sqrt(np.bincount(text, values * values, len(counts)))
        self.grams = np.zeros((BUCKETS, len(counts)), np.float32)
        self.grams[filled, text] = values / np.maximum(length, 1e-9)[text]
        self.vectors = vectors
        kinds = np.array([KINDS.index(example.kind) for example in examples])
        self.members = [np.flatnonzero(kinds == kind) for kind in range(len(KINDS))]
        self._targets = np.eye(len(KINDS), dtype=np.float32)[kinds]
        self._weights: dict[bool, tuple[Single, Single]] = {}

    def compare(self, text: str, vector: Single | None) -> tuple[Single, Single]:
        """Similarities of a text to the examples, at most 1, and what is learnt of its kinds."""
        filled, values = count_grams(text)
        weighed = _unit((values * self.rarity[filled])[None])[0]
        alike = weighed @ self.grams[filled]
        of_grams, of_vectors = self._learn(vector is not None)
        learnt = weighed @ of_grams[filled]
        if vector is None or self.vectors is None:
            return alike, learnt
        return (
            (1 - VECTOR_WEIGHT) * alike + VECTOR_WEIGHT * (self.vectors @ vector),
            (1 - VECTOR_WEIGHT) ** 0.5 * learnt + VECTOR_WEIGHT**0.5 * (vector @ of_vectors),
        )

    def _learn(self, with_vectors: bool) -> tuple[Single, Single]:
        """Weights of the grams and of the embedding (rows) for the kinds: ridge regression by a
        few steps of conjugate gradients, which is enough and linear in the examples.
        """
        if with_vectors not in self._weights:
            rows = self.grams
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
        self._vectors = None if vectors is None else _unit(vectors.astype(np.float32))
        self._fits: dict[Language, _Fit] = {}
        self._words: dict[Language, Counter[str]] = {}

    def with_vectors(self, vectors: Numbers) -> "Classifier":
        """The classifier with the examples' embeddings, a row for each."""
        return Classifier(self.examples, vectors)

    def rank(
        self, masked_text: str, language: Language, vector: Numbers | None = None
    ) -> list[tuple[NeedKind, float]]:
        """Kinds with their scores, best first; about 1.5: certain, under 0.6: a guess."""
        fit = self._fit(language)
        embedded = None
        if vector is not None and fit.vectors is not None:
            embedded = _unit(vector[None].astype(np.float32))[0]
        alike, learnt = fit.compare(masked_text, embedded)
        scores = []
        for kind, members in enumerate(fit.members):
            if len(members):
                best = np.sort(alike[members])[-3:]
                scores.append(
                    (
                        KINDS[kind],
                        float(0.6 * best[-1] + 0.4 * best.mean() + RIDGE_WEIGHT * learnt[kind]),
                    )
                )
        return sorted(scores, key=lambda pair: -pair[1])

    def words(self, language: Language) -> Counter[str]:
        """How often the examples of a language use each word."""
        if language not in self._words:
            texts = [each.text for each in self.examples if each.language == language]
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


def _unit(rows: Single) -> Single:
    """Rows of length 1; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return cast("Single", rows / np.where(length > 0, length, 1))
