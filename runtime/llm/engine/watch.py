"""Notices an engine process that hangs: the command at work must be answered in its time."""

import asyncio
from collections.abc import Callable
from typing import Final

from runtime.llm.engine.protocol import Command, Load, Open, Warm

ANSWER_S: Final = 120.0
"""How long a command may take; a slow board renders and tokenizes a long prompt for a minute."""
COMPUTE_S: Final = 900.0
"""How long a command that computes or reads the whole file may take, from a slow card too."""


def limit_of(command: Command) -> float | None:
    """Seconds that *command* may take once it is at work; None: whoever sent it sees to that."""
    match command:
        case Load():
            return None
        case Open() | Warm():
            return COMPUTE_S
        case _:
            return ANSWER_S


class Watch:
    """The commands that a process has not answered yet, in the order in which it does them.

    Only the first is at work, so only its time runs. *give_up* is called when that is over, also
    when nobody waits for the answer any more.
    """

    def __init__(self, give_up: Callable[[], None]) -> None:
        self._give_up = give_up
        self._limits: dict[int, float | None] = {}
        self._timer: asyncio.TimerHandle | None = None

    def sent(self, number: int, limit_s: float | None) -> None:
        """A command is on its way."""
        self._limits[number] = limit_s
        if len(self._limits) == 1:
            self._begin()

    def answered(self, number: int) -> None:
        """It is done; the next one begins."""
        if number in self._limits:
            first = next(iter(self._limits)) == number
            del self._limits[number]
            if first:
                self._begin()

    def end(self) -> None:
        """The process is gone."""
        self._limits.clear()
        self._begin()

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        limit_s = next(iter(self._limits.values()), None)
        if limit_s is not None:
            self._timer = asyncio.get_running_loop().call_later(limit_s, self._give_up)
