"""What the coach wants to say about a moment, and when it may be said."""

import math
from typing import Final, NamedTuple

from runtime.bridge.cues.circuit import AHEAD_M, NOWHERE_M, Circuit, Place
from runtime.bridge.cues.concepts import Concept, Inputs
from runtime.bridge.cues.model import ADVICE, SAFETY, WARNING, Burst
from runtime.bridge.cues.phrases import DOING, TOLD_LATER, Occasion
from runtime.bridge.session.units import KMH

COOLDOWN_S: Final = 3.0
"""Least time between two messages that are not about safety."""
STALE_S: Final = 5.0
"""A message held for longer is dropped."""

WINDOW_M: Final = 250.0
WINDOW_S: Final = 6.0
"""Advice begins this long before the brake point: at speed 250 m are too short for a sentence.

A burst is up to 1 s old, chain and driver take 1.3 s, and ten words 3.5 s.
"""
STRAIGHT_G: Final = 0.3


class Message(NamedTuple):
    """A message that may be said."""

    priority: int
    corner: str | None
    """The corner it is about, if any."""
    body: Occasion | None


class Arbiter:
    """The voice of one session, for posted bursts and live frames; *now* is in seconds of a
    monotonic clock."""

    def __init__(self) -> None:
        self._spoke = -math.inf
        self.held: Message | None = None
        """The message that waits for its moment."""
        self._since = -math.inf

    def is_quiet(self, now: float, cooldown_s: float = COOLDOWN_S) -> bool:
        """Whether nothing was said for that long."""
        return now - self._spoke >= cooldown_s

    def submit(self, message: Message | None, now: float, *, on_straight: bool) -> Message | None:
        """Return what may be said now: *message*, a held one, or nothing.

        Priority 3 is said at once. A warning (2) waits for a straight, and everything but safety
        for the end of the cooldown; a refused message is held, in one slot, for `STALE_S`.
        Submitting None asks for the held message.
        """
        if now - self._since > STALE_S:
            self.held = None
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
        if waits_for_straight or not self.is_quiet(now):
            if held is None or held.priority <= message.priority:
                self.held, self._since = message, now
            return None
        if same:
            self.held = None
        self._spoke = now
        return message

    def _deliver(self, now: float, *, on_straight: bool) -> Message | None:
        if self.held is None or not on_straight or not self.is_quiet(now):
            return None
        message, self.held = self.held, None
        self._spoke = now
        return message


def read_inputs(burst: Burst, place: Place | None) -> Inputs:
    """Return the inputs of the concepts; *place* is where the burst ended."""
    moment = burst.moment
    ahead_m = burst.dist_to_next_corner_m
    to_entry = ahead_m if ahead_m is not None else place.to_entry if place else NOWHERE_M
    return Inputs(
        burst.in_corner,
        burst.past_apex,
        moment.brake,
        moment.thr,
        moment.glat,
        moment.v,
        to_entry,
        place.bz if place else 0.0,
        place.dz if place else 0.0,
    )


def rank_advice(concept: Concept, inputs: Inputs) -> int | None:
    """Return how urgent the concept is now; None: not at all."""
    if inputs.in_corner and concept.id == "early_brake_release":
        return WARNING
    if concept.id == "full_commitment" or 0.0 < inputs.to_entry < _window(inputs):
        return ADVICE
    return None


def _window(inputs: Inputs) -> float:
    """Return the metres before an entry where advice begins: 250, or more at high speed."""
    # NaN loses every comparison, so an unknown speed leaves the 250 m.
    return min(max(WINDOW_M, inputs.bz + WINDOW_S * inputs.v / KMH), AHEAD_M)


def make_occasion(
    concept: Concept, inputs: Inputs, circuit: Circuit | None, place: Place | None
) -> Occasion:
    """Make an occasion of the concept and the corner it is about."""
    if place is None:
        return Occasion(concept, inputs)
    about = place.corner if concept.id in DOING else place.next
    return Occasion(concept, inputs, circuit, place, about)


def is_approach(occasion: Occasion) -> bool:
    """Whether it is about a corner to come."""
    return occasion.concept.id not in DOING


def refresh(occasion: Occasion, inputs: Inputs, place: Place | None) -> Occasion | None:
    """Return the occasion as it stands now; None if it is over.

    It is over once its corner is reached, or once the driver stops doing it; a brake release is
    discussed afterwards.
    """
    concept = occasion.concept
    if not is_approach(occasion):
        told_later = concept.id in TOLD_LATER
        return occasion if told_later or concept.holds(inputs) else None
    if occasion.corner is None or place is None:
        return occasion
    if not inputs.to_entry > 0:
        return None
    if place.next is not occasion.corner or inputs.in_corner:
        return None
    return occasion._replace(inputs=inputs, place=place)
