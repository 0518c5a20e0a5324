"""One call of a model with limits, so that every ending is known and none takes long."""

from typing import NamedTuple

CONNECT_S, FIRST_S, TOTAL_S = 2.0, 7.0, 10.0


class Attempt(NamedTuple):
    """What a model server does when it is asked; inf means never."""

    connected_s: float
    first_word_s: float
    done_s: float
    text: str


def outcome(attempt: Attempt) -> tuple[str, float]:
    """How the call ends, and after how many seconds the driver has an answer."""
    if attempt.connected_s > CONNECT_S:
        return "unreachable", CONNECT_S
    if attempt.first_word_s > FIRST_S:
        return "no first word", FIRST_S
    if attempt.done_s > TOTAL_S:
        return "too slow", TOTAL_S
    return ("model" if attempt.text.strip() else "empty"), attempt.done_s


NEVER = float("inf")
for name, attempt in {
    "as planned": Attempt(0.01, 1.9, 3.8, "You lose 0.23 s in T1."),
    "server not started": Attempt(NEVER, NEVER, NEVER, ""),
    "model still loading": Attempt(0.01, 24.0, 26.0, "You lose 0.23 s in T1."),
    "hot tablet, slow": Attempt(0.01, 4.0, 15.0, "You lose 0.23 s in T1."),
    "stops at once": Attempt(0.01, 0.4, 0.4, " "),
}.items():
    ending, waited_s = outcome(attempt)
    print(f"{name:20} {ending:14} {waited_s:4.1f} s")
