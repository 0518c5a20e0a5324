"""How likely each token is before anything but the model has a say.

Apart, since NumPy is loaded only when somebody asks for it.
"""

from typing import Final

import numpy as np

LEAST: Final = -9999.0
"""Stands for an impossible token: JSON knows no infinity."""


class Odds:
    """Natural logarithms of the probabilities behind *logits*, 32-bit numbers."""

    def __init__(self, logits: bytes) -> None:
        values = np.frombuffer(logits, np.float32).astype(np.float64)
        values -= values.max()
        self._odds = np.maximum(values - np.log(np.exp(values).sum()), LEAST)

    def of(self, token: int) -> float:
        """That of one token."""
        return float(self._odds[token])

    def likeliest(self, count: int) -> list[int]:
        """The *count* likeliest tokens, the likeliest first; equal ones by their number."""
        count = min(count, len(self._odds))
        if not count:
            return []
        some = np.argpartition(-self._odds, count - 1)[:count]
        return [int(token) for token in sorted(some, key=lambda token: (-self._odds[token], token))]
