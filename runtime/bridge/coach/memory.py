"""Conversations in memory: the turns sent along with a question, when they are written, and the
steps of an answer."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.need import Reading, Units
from runtime.bridge.storage.coaching import TraceRow, TurnRow

IDLE_S: Final = 3600.0
BUDGET: Final = 60_000
"""Characters of a conversation."""
MOST: Final = 256
"""Conversations in memory."""
MOST_TURNS: Final = 200
SENT: Final = 6
"""Turns that a model reads."""


@dataclass(frozen=True)
class Turn:
    """A question with its answer."""

    question: str
    answer: str
    emotion: str
    asked_at: int
    """Unix milliseconds, as is *answered_at*."""
    answered_at: int


@dataclass
class Talk:
    """The turns of one driver about one session, and the basis of a follow-up."""

    driver_id: str
    session_id: str
    turns: list[Turn] = field(default_factory=list)
    touched: float = 0.0
    """Seconds of a monotonic clock."""
    reading: Reading | None = None
    """The last question that was understood."""
    facts: tuple[Fact, ...] = ()
    """The answer to it."""
    units: Units | None = None
    speeds: Units | None = None

    @property
    def chars(self) -> int:
        """Characters of all turns."""
        return sum(len(turn.question) + len(turn.answer) for turn in self.turns)


def key_of(driver_id: str, session_id: str) -> str:
    """Return the name of a conversation."""
    return f"{driver_id}:{session_id}"


class Memory:
    """Conversations by key; those that leave memory are returned as rows to write."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self._talks: OrderedDict[str, Talk] = OrderedDict()

    def talk(self, driver_id: str, session_id: str) -> Talk:
        """Return the conversation; a new one, not stored yet, if there is none."""
        talk = self._talks.get(key_of(driver_id, session_id))
        return talk or Talk(driver_id, session_id)

    def recent(self, talk: Talk) -> list[Turn]:
        """Return the last turns that fit into the budget, oldest first."""
        turns: list[Turn] = []
        left = self.budget
        for turn in reversed(talk.turns[-SENT:]):
            left -= len(turn.question) + len(turn.answer)
            if left < 0:
                break
            turns.insert(0, turn)
        return turns

    def add(self, talk: Talk, turn: Turn, now: float) -> tuple[Talk, list[TurnRow]]:
        """Remember a turn; return the stored conversation and the rows that had to leave memory."""
        key = key_of(talk.driver_id, talk.session_id)
        talk = self._talks.setdefault(key, talk)
        talk.turns.append(turn)
        talk.touched = now
        self._talks.move_to_end(key)
        left: list[TurnRow] = []
        while len(talk.turns) > 1 and (talk.chars > self.budget or len(talk.turns) > MOST_TURNS):
            left += _rows(talk, [talk.turns.pop(0)])
        while len(self._talks) > MOST:
            left += self.end(next(iter(self._talks)))
        return talk, left

    def end(self, key: str) -> list[TurnRow]:
        """Forget a conversation; return its rows, none if it is unknown."""
        talk = self._talks.pop(key, None)
        return _rows(talk, talk.turns) if talk else []

    def forget(self, session_id: str) -> None:
        """Drop the conversations about a deleted session without writing them."""
        for key in [key for key, talk in self._talks.items() if talk.session_id == session_id]:
            del self._talks[key]

    def list_idle(self, now: float) -> list[str]:
        """Return the keys of abandoned conversations."""
        return [key for key, talk in self._talks.items() if now - talk.touched >= IDLE_S]

    def list_ended(self, ended_at: dict[str, int]) -> list[str]:
        """Return the keys of conversations whose session ended after their last turn.

        *ended_at* gives Unix milliseconds by session.
        """
        return [
            key
            for key, talk in self._talks.items()
            if talk.turns and ended_at.get(talk.session_id, -1) >= talk.turns[-1].answered_at
        ]

    def sessions(self) -> set[str]:
        """Return the sessions of all conversations."""
        return {talk.session_id for talk in self._talks.values() if talk.session_id}

    def list_keys(self) -> list[str]:
        """Return the keys of all conversations, the longest idle first."""
        return list(self._talks)


def _rows(talk: Talk, turns: Sequence[Turn]) -> list[TurnRow]:
    """Return two rows per turn: the question and the answer."""
    rows = []
    for turn in turns:
        ids = talk.session_id, talk.driver_id
        rows.append(TurnRow(*ids, "user", turn.question, turn.asked_at))
        answer = TurnRow(*ids, "assistant", turn.answer, turn.answered_at, emotion=turn.emotion)
        rows.append(answer)
    return rows


LONGEST_DETAIL: Final = 500


class Trace:
    """The steps of one question, on the running loop."""

    _newest_us = 0
    """Moments are unique, so that a reader who asks for rows newer than the last one skips none."""

    def __init__(self, trace_id: str, session_id: str) -> None:
        self.trace_id = trace_id
        self.agent = ""
        """Name of the answering role."""
        self.rows: list[TraceRow] = []
        self._session_id = session_id

    def add(
        self, event: str, detail: str, latency_ms: float = 0.0, *, success: bool = True
    ) -> None:
        """Note a step."""
        Trace._newest_us = max(time.time_ns() // 1000, Trace._newest_us + 1)
        self.rows.append(
            TraceRow(
                trace_id=self.trace_id,
                session_id=self._session_id,
                agent_name=self.agent,
                event_type=event,
                detail=detail[:LONGEST_DETAIL],
                ts=Trace._newest_us,
                latency_ms=round(latency_ms, 3),
                success=success,
            )
        )
