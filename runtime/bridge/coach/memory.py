"""The conversations in memory: what is sent along with a question, when they are written, and the
steps on the way to an answer."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.need import Asked, Units
from runtime.bridge.storage.coaching import TraceRow, TurnRow

IDLE_S: Final = 3600.0
BUDGET: Final = 60_000
"""Characters of a conversation."""
MOST: Final = 256
"""Conversations in memory."""
MOST_TURNS: Final = 200
SENT: Final = 6
"""Turns that a model gets to read."""


@dataclass(frozen=True)
class Turn:
    """One question with its answer."""

    question: str
    answer: str
    emotion: str
    asked_at: int
    """Unix milliseconds, as is *answered_at*."""
    answered_at: int


@dataclass
class Talk:
    """The turns of one driver about one session, and what a follow-up goes on from."""

    driver_id: str
    session_id: str
    turns: list[Turn] = field(default_factory=list)
    touched: float = 0.0
    """Seconds of a monotonic clock."""
    asked: Asked | None = None
    """The last question that was understood."""
    facts: tuple[Fact, ...] = ()
    """What was answered to it."""
    units: Units | None = None
    speeds: Units | None = None

    @property
    def chars(self) -> int:
        """Of all turns."""
        return sum(len(turn.question) + len(turn.answer) for turn in self.turns)


def key_of(driver_id: str, session_id: str) -> str:
    """The name of a conversation."""
    return f"{driver_id}:{session_id}"


class Memory:
    """Conversations by key. Whatever leaves memory is handed out as rows, to be written."""

    def __init__(self, budget: int = BUDGET) -> None:
        self.budget = budget
        self._talks: OrderedDict[str, Talk] = OrderedDict()

    def talk(self, driver_id: str, session_id: str) -> Talk:
        """The conversation; an empty one, not kept yet, where there is none."""
        known = self._talks.get(key_of(driver_id, session_id))
        return known or Talk(driver_id, session_id)

    def recent(self, talk: Talk) -> list[Turn]:
        """The last turns, as many as fit into the budget, oldest first."""
        turns: list[Turn] = []
        left = self.budget
        for turn in reversed(talk.turns[-SENT:]):
            left -= len(turn.question) + len(turn.answer)
            if left < 0:
                break
            turns.insert(0, turn)
        return turns

    def add(self, talk: Talk, turn: Turn, now: float) -> tuple[Talk, list[TurnRow]]:
        """Remember a turn; the conversation that is kept, and what had to leave memory for it."""
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
        """Forget a conversation; its rows, none for one that is not known."""
        talk = self._talks.pop(key, None)
        return _rows(talk, talk.turns) if talk else []

    def forget(self, session_id: str) -> None:
        """Drop the conversations about a session that was deleted; they are not written."""
        for key in [key for key, one in self._talks.items() if one.session_id == session_id]:
            del self._talks[key]

    def idle(self, now: float) -> list[str]:
        """Keys of the conversations that nobody goes on with."""
        return [key for key, one in self._talks.items() if now - one.touched >= IDLE_S]

    def ended(self, ended_at: dict[str, int]) -> list[str]:
        """Keys of the conversations whose session has ended since they were last gone on with.

        *ended_at* gives Unix milliseconds by session.
        """
        return [
            key
            for key, one in self._talks.items()
            if one.turns and ended_at.get(one.session_id, -1) >= one.turns[-1].answered_at
        ]

    def sessions(self) -> set[str]:
        """The sessions that are talked about."""
        return {one.session_id for one in self._talks.values() if one.session_id}

    def known(self) -> list[str]:
        """Keys of all conversations, the one that was left alone longest first."""
        return list(self._talks)


def _rows(talk: Talk, turns: Sequence[Turn]) -> list[TurnRow]:
    """Two rows a turn: the question as it was asked, the answer as it was given."""
    rows = []
    for turn in turns:
        ids = talk.session_id, talk.driver_id
        rows.append(TurnRow(*ids, "user", turn.question, turn.asked_at))
        said = TurnRow(*ids, "assistant", turn.answer, turn.answered_at, emotion=turn.emotion)
        rows.append(said)
    return rows


LONGEST_DETAIL: Final = 500


class Trace:
    """The steps of one question, on the running loop."""

    _newest_us = 0
    """No moment comes twice, so that a reader who asks for newer rows by the time of the last one
    skips none."""

    def __init__(self, trace_id: str, session_id: str) -> None:
        self.trace_id = trace_id
        self.agent = ""
        """Name of the role that answers."""
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
