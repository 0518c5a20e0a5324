"""Limits how often each client may ask: a token bucket for every client, kept in memory."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

BUCKETS: Final = 1024
"""How many buckets one limiter remembers; the one unused for longest is forgotten first."""
LONGEST_WAIT_S: Final = 86_400
_ROUNDING: Final = 1e-9
"""Tolerance, so that rounding refuses no client that waited exactly as long as asked."""


class Buckets:
    """Token buckets of one rate, by key; a key that is not known has a full one.

    A bucket fills continuously with *rate* tokens a second up to *burst*. A *rate* that is not
    above 0 limits nothing. Times are seconds of one clock that never goes back.
    """

    def __init__(self, rate: float, burst: float, size: int = BUCKETS) -> None:
        self._rate, self._burst, self._size = rate, burst, size
        self._filled: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._filled)

    def wait(self, key: str, now: float) -> float:
        """Seconds until the bucket holds a token; 0 when it does. Takes nothing."""
        missing = 1.0 - self._fill(key, now)
        if self._rate <= 0 or missing <= _ROUNDING:
            return 0.0
        return missing / self._rate

    def take(self, key: str, now: float) -> None:
        """Take a token out of a bucket that holds one."""
        if self._rate <= 0:
            return
        self._filled[key] = (max(0.0, self._fill(key, now) - 1.0), now)
        self._filled.move_to_end(key)
        self._forget(now)

    def _fill(self, key: str, now: float) -> float:
        tokens, at = self._filled.get(key, (self._burst, now))
        return min(self._burst, tokens + max(0.0, now - at) * max(0.0, self._rate))

    def _forget(self, now: float) -> None:
        """Drop old buckets that are full again, then the oldest above the size."""
        while self._filled:
            oldest = next(iter(self._filled))
            if len(self._filled) <= self._size and self._fill(oldest, now) < self._burst:
                return
            del self._filled[oldest]


class RateLimiter:
    """Decides whether a request may pass; off while its rate is not above 0.

    With *per_address*, in requests a second, the peer's network address has a bucket of its own
    beside the client's, so that a changed name does not help.
    """

    def __init__(
        self,
        rate: float = 0.0,
        burst: float = 10.0,
        *,
        per_address: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
        size: int = BUCKETS,
    ) -> None:
        self._clients = Buckets(rate, burst, size)
        self._addresses = Buckets(per_address, burst, size)
        self._clock = clock

    def take(self, client: str, address: str | None = None) -> int | None:
        """Charge one request: None when it may pass, else whole seconds to wait, at least 1.

        A refused request costs nothing.
        """
        now = self._clock()
        charged = [(self._clients, client)]
        if address is not None:
            charged.append((self._addresses, address))
        wait = max(buckets.wait(key, now) for buckets, key in charged)
        if wait > 0:
            return max(1, math.ceil(min(wait, LONGEST_WAIT_S) - _ROUNDING))
        for buckets, key in charged:
            buckets.take(key, now)
        return None
