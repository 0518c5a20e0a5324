"""Limits how often each client may ask: a token bucket for every client, kept in memory."""

import math
import time
from collections.abc import Callable
from typing import Final

from runtime.web.buckets import ROUNDING, Buckets

LONGEST_WAIT_S: Final = 86_400


class RateLimiter:
    """Decides whether a request may pass; off while both rates are 0.

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
    ) -> None:
        self._clients, self._addresses = Buckets(rate, burst), Buckets(per_address, burst)
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
            return max(1, math.ceil(min(wait, LONGEST_WAIT_S) - ROUNDING))
        for buckets, key in charged:
            buckets.take(key, now)
        return None
