"""When a message may be said, to the edge of each rule."""

from typing import NamedTuple

import pytest

from runtime.bridge.cues.advice import Arbiter, Message


def note(priority: int, text: str, corner: str | None = None) -> Message:
    return Message(priority, corner, text)  # type: ignore[arg-type]


class Step(NamedTuple):
    """A submission, and what comes of it."""

    now: float
    message: Message | None
    straight: bool
    said: object


A, B = note(1, "a"), note(1, "b")
WARN, URGENT = note(2, "warn"), note(3, "urgent")
ASK = None
RULES: dict[str, list[Step]] = {
    "the first message passes": [Step(0, A, True, "a")],
    "advice passes in a bend too": [Step(0, A, False, "a")],
    "a second one is too early": [Step(0, A, True, "a"), Step(2.999, B, True, None)],
    "at exactly three seconds it passes": [Step(0, A, True, "a"), Step(3.0, B, True, "b")],
    "what was refused comes later": [
        Step(0, A, True, "a"),
        Step(1, B, True, None),
        Step(2.9, ASK, True, None),
        Step(3.0, ASK, True, "b"),
        Step(9.0, ASK, True, None),
    ],
    "what is held waits for a straight": [
        Step(0, A, True, "a"),
        Step(1, B, True, None),
        Step(4, ASK, False, None),
        Step(5, ASK, True, "b"),
    ],
    "at exactly five seconds a held one lives": [
        Step(0, WARN, False, None),
        Step(5.0, ASK, True, "warn"),
    ],
    "after five seconds it is dropped": [
        Step(0, WARN, False, None),
        Step(5.001, ASK, True, None),
    ],
    "a warning waits for a straight": [Step(0, WARN, False, None), Step(1, ASK, True, "warn")],
    "a warning passes on a straight": [Step(0, WARN, True, "warn")],
    "safety is said at once": [
        Step(0, A, True, "a"),
        Step(0.1, URGENT, False, "urgent"),
        Step(0.2, URGENT, False, "urgent"),
    ],
    "safety restarts the cooldown": [
        Step(0, A, True, "a"),
        Step(2, URGENT, False, "urgent"),
        Step(4.9, B, True, None),
        Step(5.0, B, True, "b"),
    ],
    "safety leaves what is held": [
        Step(0, WARN, False, None),
        Step(1, URGENT, False, "urgent"),
        Step(4, ASK, True, "warn"),
    ],
    "a higher one replaces what is held": [
        Step(0, A, True, "a"),
        Step(1, B, True, None),
        Step(2, WARN, True, None),
        Step(3, ASK, True, "warn"),
    ],
    "a lower one does not": [
        Step(0, A, True, "a"),
        Step(1, WARN, True, None),
        Step(2, B, True, None),
        Step(3, ASK, True, "warn"),
    ],
    "a replaced one is fresh again": [
        Step(0, WARN, False, None),
        Step(4, note(2, "newer"), False, None),
        Step(9.0, ASK, True, "newer"),
    ],
    "a stale one makes room for a lower one": [
        Step(0, WARN, False, None),
        Step(5.5, A, True, "a"),
        Step(6, B, True, None),
        Step(8.5, ASK, True, "b"),
    ],
    "one that passes leaves what is held of another corner": [
        Step(0, note(2, "t1", "T1"), False, None),
        Step(1, note(1, "t2", "T2"), True, "t2"),
        Step(4, ASK, True, "t1"),
    ],
    "of the same corner the fresher one wins": [
        Step(0, note(2, "old", "T1"), False, None),
        Step(1, note(2, "new", "T1"), True, "new"),
        Step(4, ASK, True, None),
    ],
    "of the same corner the higher one wins": [
        Step(0, note(2, "high", "T1"), False, None),
        Step(1, note(1, "low", "T1"), True, "high"),
        Step(4, ASK, True, None),
    ],
    "of the same corner the higher one waits on": [
        Step(0, note(2, "high", "T1"), False, None),
        Step(1, note(1, "low", "T1"), False, None),
        Step(2, ASK, True, "high"),
    ],
}


@pytest.mark.parametrize("rule", RULES)
def test_the_arbiter_keeps_the_rule_that(rule: str) -> None:
    arbiter = Arbiter()

    for step in RULES[rule]:
        said = arbiter.submit(step.message, step.now, on_straight=step.straight)
        assert (said.body if said else None) == step.said, step
