"""What the replies of all providers have in common: lazy start, outcome, whole characters."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence

from runtime.llm.sysmodel.base import Provider, SystemChat
from runtime.llm.sysmodel.flatten import flatten
from runtime.llm.values import Outcome, Sampling, Turn

WARM_UP = SystemChat(
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


class Characters:
    """Joins the halves of a character that a JSON writer put into two pieces."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, text: str) -> str:
        """*text* with an unfinished last character held back for the next call."""
        text = self._half + text
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        whole = text[: len(text) - len(self._half)]
        if whole.isascii():
            return whole
        return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_messages(turns: Sequence[Turn], *, flat: bool) -> list[dict[str, str]]:
    """The ``messages`` of a chat request; *flat* sends the whole history as one user message."""
    if flat:
        return [{"role": "user", "content": flatten(turns)}]
    return [{"role": turn.role, "content": turn.content} for turn in turns]


def output_cap(chat: SystemChat) -> int | None:
    """The cap on generated tokens for a provider that does not count its prompt beforehand."""
    caps = [cap for cap in (chat.max_output, chat.max_total) if cap is not None]
    return min(caps, default=None)


async def one_token(provider: Provider) -> None:
    """Make *provider* produce one token; its errors pass through."""
    reply = provider.generate(WARM_UP)
    try:
        async for _ in reply:
            break
    finally:
        await reply.aclose()
