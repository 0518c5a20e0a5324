"""The limit on the wait for the next token of a reply."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from runtime.llm.chats import TimedOut, limit_waits
from runtime.llm.inference import Outcome, Piece, ReplyFormat

LIMIT_S = 0.5


class Drips:
    """A reply with a piece after each pause."""

    outcome = Outcome("stop")
    format = ReplyFormat()

    def __init__(self, *pauses_s: float) -> None:
        self._pauses_s = pauses_s

    async def __aiter__(self) -> AsyncIterator[Piece]:
        for number, pause_s in enumerate(self._pauses_s):
            await asyncio.sleep(pause_s)
            yield Piece(str(number))

    async def aclose(self) -> None:
        """Nothing to stop."""


async def test_a_reply_that_flows_may_take_longer_than_the_limit() -> None:
    pieces = limit_waits(Drips(*[LIMIT_S / 4] * 8), LIMIT_S)
    assert "".join([piece.text async for piece in pieces]) == "01234567"


async def test_a_reply_that_dries_up_is_a_timeout_that_tells_the_limit() -> None:
    pieces = limit_waits(Drips(0, 0, 60), LIMIT_S)
    assert [await anext(pieces), await anext(pieces)] == [Piece("0"), Piece("1")]
    with pytest.raises(TimedOut, match=r"0\.5 s"):
        await anext(pieces)


async def test_a_reader_that_rests_between_tokens_is_no_timeout() -> None:
    pieces = []
    async for piece in limit_waits(Drips(0, 0), LIMIT_S):
        pieces.append(piece.text)
        await asyncio.sleep(LIMIT_S * 1.2)
    assert pieces == ["0", "1"]
