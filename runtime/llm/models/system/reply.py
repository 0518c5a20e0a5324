"""What is asked of the system model, and a reply that starts when its first piece is wanted."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from runtime.llm.values import Generation, Outcome, Sampling, Turn

# A text whose line begins like a turn would read as one. All line ends count that a model may see.
_LIKE_A_TURN: Final = re.compile(
    r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    r"(?=[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(?:system|assistant|user|tool)\s*:)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class SystemChat:
    """One request to the system model; always stateless."""

    turns: Sequence[Turn]
    sampling: Sampling
    max_output: int | None
    """Cap on generated tokens; None: the provider's own."""
    max_total: int | None = None
    """Cap on prompt and output together, for a provider that knows the size of its prompt."""


WARM_UP: Final = SystemChat(
    turns=(Turn("user", "Hi"),),
    sampling=Sampling(temperature=0.0, top_k=1, top_p=1.0, seed=0),
    max_output=1,
)
"""The smallest request that makes a model produce a token."""


class Reply:
    """A `runtime.llm.values.Generation` over an async generator that reports its own outcome.

    The task that iterates is the one that closes; a task that waits for a piece is cancelled.
    """

    def __init__(self, run: Callable[["Reply"], AsyncGenerator[str, None]]) -> None:
        self._outcome: Outcome | None = None
        self._pieces = run(self)

    @property
    def outcome(self) -> Outcome:
        """The cost of the reply; raises `RuntimeError` before its end."""
        if self._outcome is None:
            raise RuntimeError("the reply has not ended")
        return self._outcome

    def settle(self, outcome: Outcome) -> None:
        """Called by the generator as its last act."""
        self._outcome = outcome

    def __aiter__(self) -> AsyncIterator[str]:
        return self._pieces

    async def aclose(self) -> None:
        """Stop the work if it still runs."""
        await self._pieces.aclose()


def flatten(turns: Sequence[Turn]) -> str:
    """One paragraph ``role: text`` a turn, blank turns left out, then ``assistant: `` to go on.

    Inside a text, a line that begins like a turn is marked with ``> ``, so that nobody can put
    words into another speaker's mouth.
    """
    paragraphs = [
        f"{turn.role}: {_escape(turn.content)}\n\n" for turn in turns if turn.content.strip()
    ]
    return "".join(paragraphs) + "assistant: "


def _escape(text: str) -> str:
    return _LIKE_A_TURN.sub(r"\1> ", text)


async def wait_for_token(reply: Generation) -> None:
    """Have one piece of a reply generated, then stop it; its errors pass through."""
    try:
        async for _ in reply:
            break
    finally:
        await reply.aclose()
