"""Log-probabilities of tokens; a module of its own, because only those who ask load NumPy."""

from typing import Final

import numpy as np

LEAST: Final = -9999.0
"""Stands for an impossible token: JSON knows no infinity."""


class Logprobs:
    """Natural logarithms of the probabilities of *logits*, 32-bit numbers."""

    def __init__(self, logits: bytes) -> None:
        values = np.frombuffer(logits, np.float32).astype(np.float64)
        values -= values.max()
        self._logprobs = np.maximum(values - np.log(np.exp(values).sum()), LEAST)

    def of(self, token: int) -> float:
        """The log-probability of a token."""
        return float(self._logprobs[token])

    def rank(self, count: int) -> list[int]:
        """The *count* likeliest tokens, the likeliest first, equally likely ones by number."""
        count = min(count, len(self._logprobs))
        if not count:
            return []
        likeliest = np.argpartition(-self._logprobs, count - 1)[:count]
        return [int(token) for token in sorted(likeliest, key=lambda n: (-self._logprobs[n], n))]
