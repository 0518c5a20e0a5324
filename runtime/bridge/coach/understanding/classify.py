"""Ranks the kinds of need for a question by example sentences."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast, get_args
from zlib import crc32

import numpy as np
import numpy.typing as npt
import yaml
from pydantic import TypeAdapter

from runtime.bridge.coach.need import Language, NeedKind
from runtime.bridge.session.recording import Numbers

Single: TypeAlias = npt.NDArray[np.float32]

BUCKETS: Final = 4096
"""Hashed words and n-grams of characters."""
GRAMS: Final = (3, 4)
WORD_WEIGHT: Final = 4.0
RIDGE: Final = 0.5
RIDGE_WEIGHT: Final = 1.5
VECTOR_WEIGHT: Final = 0.6
"""Share of the sentence encoder in the similarity, where there is one."""
KINDS: Final[tuple[NeedKind, ...]] = get_args(NeedKind)
_FOLDER: Final = Path(__file__).parent / "examples"
_FILE: Final = TypeAdapter(dict[NeedKind, list[str]])
_APOSTROPHE: Final = re.compile("['\u2019`\u00b4]")
_OTHER: Final = re.compile(r"[^a-z0-9]+")


class Example(NamedTuple):
    """A question whose need is known; names are masked in its text."""

    text: str
    language: Language
    kind: NeedKind


def fold(text: str) -> str:
    """Lower case, without accents, apostrophes and punctuation, for people who leave them out."""
    text = _APOSTROPHE.sub("", text.casefold())
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _OTHER.sub(" ", plain).strip()


def count_grams(text: str) -> Single:
    """Square roots of the counts of words, word pairs and n-grams of characters, by bucket."""
    folded = fold(text)
    words = folded.split()
    padded = f" {folded} "
    pairs = map(" ".join, pairwise(words))
    whole = [f"={word}" for word in (*words, *pairs)]
    grams = [padded[start : start + n] for n in GRAMS for start in range(len(padded) - n + 1)]
    weights = [WORD_WEIGHT] * len(whole) + [1.0] * len(grams)
    buckets = [crc32(gram.encode()) % BUCKETS for gram in (*whole, *grams)]
    return np.sqrt(np.bincount(buckets, weights, BUCKETS)).astype(np.float32)


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
        counts = np.stack([count_grams(example.text) for example in examples])
        seen = np.count_nonzero(counts, axis=0)
        self.rarity: Single = np.sqrt(np.log((1 + len(counts)) / (1 + seen))).astype(np.float32)
        self.grams = _unit(counts * self.rarity)
        self.vectors = vectors
        kinds = np.array([KINDS.index(example.kind) for example in examples])
        self.members = [np.flatnonzero(kinds == kind) for kind in range(len(KINDS))]
        self._targets = np.eye(len(KINDS), dtype=np.float32)[kinds]
        self._ridges: dict[bool, Single] = {}

    def compare(self, grams: Single, vectors: Single | None) -> Single:
        """Similarities of texts (rows) to the examples (columns), at most 1."""
        alike = grams @ self.grams.T
        if vectors is None or self.vectors is None:
            return alike
        return (1 - VECTOR_WEIGHT) * alike + VECTOR_WEIGHT * (vectors @ self.vectors.T)

    def ridge(self, with_vectors: bool) -> Single:
        """Weights of the examples (rows) for the kinds (columns)."""
        if with_vectors not in self._ridges:
            alike = self.compare(self.grams, self.vectors if with_vectors else None)
            damping = RIDGE * np.eye(len(alike), dtype=np.float32)
            self._ridges[with_vectors] = np.linalg.solve(alike + damping, self._targets)
        return self._ridges[with_vectors]


class Classifier:
    """Nearest examples and a ridge classifier on the similarities to them, closed form.

    Examples of a language are for that language: 0.5 % more are right with the English ones
    beside them, for 20 times the work.
    """

    def __init__(self, examples: Sequence[Example], vectors: Numbers | None = None) -> None:
        self.examples = tuple(examples)
        self._vectors = None if vectors is None else _unit(vectors.astype(np.float32))
        self._fits: dict[Language, _Fit] = {}

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
            embedded = _unit(vector[None].astype(np.float32))
        alike = fit.compare(_unit(count_grams(masked_text)[None] * fit.rarity), embedded)[0]
        learnt = RIDGE_WEIGHT * (alike @ fit.ridge(embedded is not None))
        scores = []
        for kind, members in enumerate(fit.members):
            if len(members):
                best = np.sort(alike[members])[-3:]
                scores.append(
                    (KINDS[kind], float(0.6 * best[-1] + 0.4 * best.mean() + learnt[kind]))
                )
        return sorted(scores, key=lambda pair: -pair[1])

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
