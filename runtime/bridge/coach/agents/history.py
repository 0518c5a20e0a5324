"""The conversations in memory: what is sent along with a question, and when they are written."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.bridge.coach.agents.followups import Subject
from runtime.bridge.coach.agents.values import Turn
from runtime.bridge.storage.coaching import TurnRow

IDLE_S: Final = 3600.0
BUDGET: Final = 60_000
MOST: Final = 256
"""Conversations in memory."""
MOST_TURNS: Final = 200


@dataclass
class Conversation:
    """The turns of one driver about one session."""

    driver_id: str
    session_id: str
    turns: list[Turn] = field(default_factory=list)
    touched: float = 0.0
    """Seconds of a monotonic clock."""
    subject: Subject | None = None
    """What the last question was about."""

    @property
    def chars(self) -> int:
        """Of all turns."""
        return sum(len(turn.question) + len(turn.answer) for turn in self.turns)


def key_of(driver_id: str, session_id: str) -> str:
    """The name of a conversation."""
    return f"{driver_id}:{session_id}"


class Histories:
    """Conversations by key. Whatever leaves memory is handed out as rows, to be written."""

    def __init__(self, budget: int = BUDGET, idle_s: float = IDLE_S) -> None:
        self.budget = budget
        self.idle_s = idle_s
        self._known: OrderedDict[str, Conversation] = OrderedDict()

    def turns(self, key: str) -> list[Turn]:
        """What was said, oldest first."""
        known = self._known.get(key)
        return list(known.turns) if known else []

    def subject(self, key: str) -> Subject | None:
        """What the last question of a conversation was about; None where it was no single fact."""
        known = self._known.get(key)
        return known.subject if known else None

    def add(
        self,
        driver_id: str,
        session_id: str,
        turn: Turn,
        now: float,
        subject: Subject | None = None,
        *,
        keep: bool = False,
    ) -> tuple[int, list[TurnRow]]:
        """Remember a turn; how many there are, and what had to leave memory for it.

        *keep*: it was not understood, so that the subject stays what it was.
        """
        key = key_of(driver_id, session_id)
        talk = self._known.setdefault(key, Conversation(driver_id, session_id))
        talk.turns.append(turn)
        talk.touched = now
        talk.subject = talk.subject if keep else subject
        self._known.move_to_end(key)
        left: list[TurnRow] = []
        while len(talk.turns) > 1 and (talk.chars > self.budget or len(talk.turns) > MOST_TURNS):
            left += _rows(talk, [talk.turns.pop(0)])
        while len(self._known) > MOST:
            left += self.end(next(iter(self._known)))
        return len(talk.turns), left

    def end(self, key: str) -> list[TurnRow]:
        """Forget a conversation; its rows, none for one that is not known."""
        talk = self._known.pop(key, None)
        return _rows(talk, talk.turns) if talk else []

    def idle(self, now: float) -> list[str]:
        """Keys of the conversations that nobody goes on with."""
        return [key for key, one in self._known.items() if now - one.touched >= self.idle_s]

    def ended(self, ended_at: dict[str, int]) -> list[str]:
        """Keys of the conversations whose session has ended since they were last gone on with.

        *ended_at* gives Unix milliseconds by session.
        """
        return [
            key
            for key, one in self._known.items()
            if one.turns and ended_at.get(one.session_id, -1) >= one.turns[-1].answered_at
        ]

    def sessions(self) -> set[str]:
        """The sessions that are talked about."""
        return {one.session_id for one in self._known.values() if one.session_id}

    def known(self) -> list[str]:
        """Keys of all conversations, the one that was left alone longest first."""
        return list(self._known)


def _rows(talk: Conversation, turns: Sequence[Turn]) -> list[TurnRow]:
    """Two rows a turn: the question as it was asked, the answer as it was given."""
    rows = []
    for turn in turns:
        asked = TurnRow(talk.session_id, talk.driver_id, "user", turn.question, turn.asked_at)
        rows.append(asked)
        rows.append(
            TurnRow(
                talk.session_id,
                talk.driver_id,
                "assistant",
                turn.answer,
                turn.answered_at,
                emotion=turn.emotion,
            )
        )
    return rows
