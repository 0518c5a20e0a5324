"""A clock that a test moves, and waiting for what nobody announces."""

import asyncio
from collections.abc import Callable


class Clock:
    """Time that passes when told to, in seconds."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


async def until(condition: Callable[[], bool], limit_s: float = 40.0) -> None:
    """Wait until *condition* holds: for what the loop does by itself, then for others."""
    async with asyncio.timeout(limit_s):
        for _ in range(100):
            if condition():
                return
            await asyncio.sleep(0)
        while not condition():  # noqa: ASYNC110 - what is looked at has no event of its own
            await asyncio.sleep(0.005)
