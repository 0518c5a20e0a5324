"""Compares texts by their words and spelling, without a language model."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, TypeAlias, cast
from zlib import crc32

import numpy as np
import numpy.typing as npt

from runtime.bridge.coach.understanding.tidy import fold

Single: TypeAlias = npt.NDArray[np.float32]
Buckets: TypeAlias = npt.NDArray[np.intp]

BUCKETS: Final = 8192
"""Number of hash buckets for words and character n-grams."""
GRAMS: Final = (3, 4, 5)
WORD_WEIGHT: Final = 8.0
PAIR_WEIGHT: Final = 2.0


class Grams:
    """Indexed texts: each gram weighed by its rarity among them, each text of length 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        counts = [count_grams(text) for text in texts]
        filled = np.concatenate([buckets for buckets, _ in counts])
        values = np.concatenate([roots for _, roots in counts])
        text = np.repeat(np.arange(len(counts)), [len(buckets) for buckets, _ in counts])
        seen = np.bincount(filled, minlength=BUCKETS)
        rarity = np.sqrt(np.log((1 + len(counts)) / (1 + seen)))
        self.rarity: Single = rarity.astype(np.float32)
        values = values * self.rarity[filled]
        length = np.sqrt(np.bincount(text, values * values, len(counts)))
        values = values / np.maximum(length, 1e-9)[text]
        order = np.argsort(filled, kind="stable")
        self._count = len(counts)
        self._starts = np.concatenate([[0], np.cumsum(seen)])
        self._texts, self._values = text[order].astype(np.int32), values[order].astype(np.float32)

    def weigh(self, text: str) -> tuple[Buckets, Single]:
        """Return the buckets of a text and their weights, of length 1."""
        return weigh_grams(text, self.rarity)

    def compare(self, filled: Buckets, weighed: Single) -> Single:
        """Return the similarity of a weighed text to each text, 0 to 1, looked up by bucket."""
        runs = [slice(self._starts[b], self._starts[b + 1]) for b in filled]
        texts = np.concatenate([self._texts[run] for run in runs] or [self._texts[:0]])
        parts = [self._values[run] * weight for run, weight in zip(runs, weighed, strict=True)]
        values = np.concatenate(parts or [self._values[:0]])
        return np.bincount(texts, values, self._count).astype(np.float32)

    def cells(self) -> tuple[Buckets, Buckets, Single]:
        """Return text, bucket and weight of all non-zero cells."""
        buckets = np.repeat(np.arange(BUCKETS), np.diff(self._starts))
        return self._texts.astype(np.intp), buckets, self._values


def weigh_grams(text: str, rarity: Single) -> tuple[Buckets, Single]:
    """Return the buckets of a text and their weights, of length 1; *rarity* is per bucket."""
    filled, values = count_grams(text)
    return filled, unit((values * rarity[filled])[None])[0]


def count_grams(text: str) -> tuple[Buckets, Single]:
    """Return the buckets of words, word pairs and character n-grams, and the roots of their
    counts."""
    words = fold(text).split()
    buckets = [bucket for word in words for bucket in _of_word(word)]
    weights = [weight for word in words for weight in _weights_of(len(word))]
    pairs = [_bucket(" ".join(pair)) for pair in pairwise(words)]
    counts = np.bincount(buckets + pairs, weights + [PAIR_WEIGHT] * len(pairs), 1)
    filled = np.flatnonzero(counts)
    return filled, np.sqrt(counts[filled]).astype(np.float32)


@lru_cache(1 << 14)
def _of_word(word: str) -> tuple[int, ...]:
    """Return the buckets of a word and its n-grams."""
    padded = f" {word} "
    grams = (padded[start : start + n] for n in GRAMS for start in range(len(padded) - n + 1))
    return (_bucket(f"={word}"), *map(_bucket, grams))


@cache
def _weights_of(letters: int) -> tuple[float, ...]:
    """Return the weights of a word of that many letters and of its n-grams."""
    return (WORD_WEIGHT, *[1.0] * sum(max(letters + 3 - n, 0) for n in GRAMS))


def _bucket(gram: str) -> int:
    return crc32(gram.encode()) % BUCKETS


def unit(rows: Single) -> Single:
    """Scale rows to length 1; a row of zeros stays."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return cast("Single", rows / np.where(length > 0, length, 1))
