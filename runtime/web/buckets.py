"""Token buckets: how often something may happen."""

from collections import OrderedDict
from typing import Final

BUCKETS: Final = 1024
"""How many buckets of a kind are remembered; the one unused for longest is forgotten first."""
ROUNDING: Final = 1e-9
"""Tolerance, so that rounding refuses no client that waited exactly as long as asked."""


class Buckets:
    """Token buckets by key, which fill with *rate* tokens a second up to *burst*.

    A key that is not remembered has a full one. A *rate* of 0 limits nothing.
    """

    def __init__(self, rate: float, burst: float, size: int = BUCKETS) -> None:
        self._rate, self._burst, self._size = rate, burst, size
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._filled)

    def wait(self, key: str, now: float) -> float:
        """Seconds until the bucket holds a token; 0 when it does. Takes nothing."""
        missing = 1.0 - self._fill(key, now)
        return missing / self._rate if self._rate > 0 and missing > ROUNDING else 0.0

    def take(self, key: str, now: float, tokens: float = 1.0) -> float:
        """Take so many tokens, or all there are; how many are left."""
        left = max(0.0, self._fill(key, now) - tokens)
        if self._rate > 0:
            self._filled[key] = (left, now)
            self._filled.move_to_end(key)
            if len(self._filled) > self._size:
                self._filled.popitem(last=False)
        return left

    def _fill(self, key: str, now: float) -> float:
        tokens, at = self._filled.get(key, (self._burst, now))
        return min(self._burst, tokens + max(0.0, now - at) * self._rate)
