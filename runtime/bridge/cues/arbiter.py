"""Decides when a message may be said: one voice, and never in the wrong moment."""

import math
from typing import Final, Generic, NamedTuple, TypeVar

from runtime.bridge.cues.values import SAFETY, WARNING

COOLDOWN_S: Final = 3.0
"""Between two messages that are not about safety."""
STALE_S: Final = 5.0
"""A message that was held for longer is worth nothing."""

T = TypeVar("T")


class Message(NamedTuple, Generic[T]):
    """Something that somebody wants said."""

    priority: int
    corner: str | None
    """What it is about; None: no corner."""
    body: T


class _Held(NamedTuple, Generic[T]):
    message: Message[T]
    since: float


class Arbiter(Generic[T]):
    """One voice of one session; *now* is in seconds of a clock that never steps back."""

    def __init__(self) -> None:
        self._spoke = -math.inf
        self._held: _Held[T] | None = None

    @property
    def held(self) -> Message[T] | None:
        """What waits for its moment."""
        return self._held.message if self._held else None

    def drop(self) -> None:
        """Forget what waits."""
        self._held = None

    def submit(
        self, message: Message[T] | None, now: float, *, on_straight: bool
    ) -> Message[T] | None:
        """What may be said now: *message*, or one that was held, or nothing.

        Priority 3 is said at once. A warning (2) waits for a straight, and everything but safety
        for the end of the cooldown; what is refused is held, in one slot, for `STALE_S`. A
        submission of None asks whether what is held may be said.
        """
        if self._held is not None and now - self._held.since > STALE_S:
            self._held = None
        if message is None:
            return self._deliver(now, on_straight=on_straight)
        if message.priority >= SAFETY:
            self._spoke = now
            return message
        held = self.held
        same = held is not None and message.corner is not None and held.corner == message.corner
        if same and held is not None and held.priority > message.priority:
            return self._deliver(now, on_straight=on_straight)
        waits_for_straight = message.priority >= WARNING and not on_straight
        if waits_for_straight or now - self._spoke < COOLDOWN_S:
            if held is None or held.priority <= message.priority:
                self._held = _Held(message, now)
            return None
        if same:
            self._held = None
        self._spoke = now
        return message

    def _deliver(self, now: float, *, on_straight: bool) -> Message[T] | None:
        if self._held is None or not on_straight or now - self._spoke < COOLDOWN_S:
            return None
        message, self._held = self._held.message, None
        self._spoke = now
        return message
