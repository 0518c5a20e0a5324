"""What the routes need of the coach that answers questions; loads nothing of what answers them."""

from collections.abc import AsyncGenerator
from importlib.util import find_spec
from typing import Final, Protocol

from runtime.bridge.coach.agents.values import Answer, Question

PACKAGE: Final = "sqlglot"
OFF: Final = "off"


class Coach(Protocol):
    """Answers questions."""

    async def understand(
        self, text: str, driver_id: str = "", session_id: str = "", intent: str | None = None
    ) -> Question:
        """A question, and what it is about."""

    def admit(self) -> None:
        """Raises `TooManyQuestions` while no further question can be taken."""

    async def ask(self, question: Question) -> Answer:
        """The whole answer. Raises `TooManyQuestions`."""

    def stream(self, question: Question) -> AsyncGenerator[str | Answer, None]:
        """The answer sentence by sentence, then as a whole. Raises what `ask` raises."""

    async def end(self, key: str) -> int:
        """Write a conversation and forget it; how many rows were written."""

    async def close(self) -> None:
        """Write every conversation and end; the database must still be open."""


def why_off(backend: str) -> str | None:
    """Why no questions are answered, in a sentence; None: they are."""
    if backend == OFF:
        return "questions to the coach are switched off (BRIDGE_AGENT_BACKEND)"
    if find_spec(PACKAGE) is None:
        return f"questions to the coach need the package {PACKAGE}, which is not installed here"
    return None
