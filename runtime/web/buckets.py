"""Token buckets: how often something may happen."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

BUCKETS: Final = 1024
"""How many buckets of a kind are remembered; the one unused for longest is forgotten first."""
LONGEST_WAIT_S: Final = 86_400
ROUNDING: Final = 1e-9
"""Tolerance, so that rounding refuses no client that waited exactly as long as asked."""


class Buckets:
    """Token buckets by key, filled with *rate* tokens a second up to *burst*.

    An unknown key has a full bucket. A *rate* of 0 means no limit.
    """

    def __init__(self, rate: float, burst: float, size: int = BUCKETS) -> None:
        self._rate, self._burst, self._size = rate, burst, size
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._filled)

    def wait(self, key: str, now: float) -> float:
        """Return the seconds until the bucket has a token, 0 if it has one; takes nothing."""
        missing = 1.0 - self._fill(key, now)
        return missing / self._rate if self._rate > 0 and missing > ROUNDING else 0.0

    def take(self, key: str, now: float, tokens: float = 1.0) -> float:
        """Take *tokens*, or all that are there; return how many are left."""
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


class RateLimiter:
    """Decides whether a request may pass; off if both rates are 0.

    With *per_address*, in requests a second, the network address has its own bucket in addition to
    the client's, so changing the name does not help.
    """

    def __init__(
        self,
        rate: float = 0.0,
        burst: float = 10.0,
        *,
        per_address: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clients, self._addresses = Buckets(rate, burst), Buckets(per_address, burst)
        self._clock = clock

    def take(self, client: str, address: str | None = None) -> int | None:
        """Charge a request: return None if it may pass, else the seconds to wait, at least 1.

        A refused request costs nothing.
        """
        now = self._clock()
        charged = [(self._clients, client)]
        if address is not None:
            charged.append((self._addresses, address))
        wait = max(buckets.wait(key, now) for buckets, key in charged)
        if wait > 0:
            return max(1, math.ceil(min(wait, LONGEST_WAIT_S) - ROUNDING))
        for buckets, key in charged:
            buckets.take(key, now)
        return None
