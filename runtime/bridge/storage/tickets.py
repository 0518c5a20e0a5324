"""Between the event loop and the writer's thread: who waits for a write, and when they are told."""

import asyncio
import contextlib
import logging
import time
from typing import Any, Final, Protocol, TypeAlias

from runtime.bridge.storage.errors import StoreBusy
from runtime.bridge.storage.operations import AppendRow, Operation
from runtime.bridge.storage.transaction import Row
from runtime.bridge.storage.writer import Finished, Writer

_LOG: Final = logging.getLogger("paddock.bridge")


class Ticket(Protocol):
    """What waits for a write, as a future does; of the event loop."""

    def done(self) -> bool:
        """Whether nobody waits any more."""

    def set_result(self, result: Any, /) -> None:
        """It is on disk."""

    def set_exception(self, error: Exception, /) -> None:
        """Nothing was changed."""


Job: TypeAlias = tuple[Operation[object], Ticket]


class Counter:
    """Takes single frames together to the writer, and its answers together to those who wait."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._writer: Writer[Ticket] | None = None
        self._gathered: list[Job] = []
        self._now_ms = 0

    def serve(self, writer: Writer[Ticket]) -> None:
        """Begin; *writer* answers to `answered`."""
        self._writer = writer

    def append_row(self, session_id: str, row: Row, ticket: Ticket) -> None:
        """See `Store.append_row`."""
        if not self._gathered:
            self._now_ms = now_ms()
            self._loop.call_soon(self.hand_over)
        self._gathered.append((AppendRow(session_id, row, self._now_ms), ticket))

    def hand_over(self) -> None:
        """What was gathered goes to the writer."""
        gathered, self._gathered = self._gathered, []
        if gathered and self._writer is not None:
            for ticket in self._writer.offer_all(gathered):
                _tell(ticket, None, StoreBusy())

    def answered(self, finished: list[Finished[Ticket]]) -> None:
        """On the writer's thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._answer, finished)

    def _answer(self, finished: list[Finished[Ticket]]) -> None:
        for ticket, result, error in finished:
            if not ticket.done():  # else its caller has gone
                _tell(ticket, result, error)


def _tell(ticket: Ticket, result: object, error: Exception | None) -> None:
    """Tell one who waits; what goes wrong there is nothing to those behind."""
    try:
        if error is not None:
            ticket.set_exception(error)
        else:
            ticket.set_result(result)
    except Exception:  # noqa: BLE001 - whatever it is, it is logged, and those behind are told
        _LOG.exception("a write is finished, but who waits for it could not be told")


def now_ms() -> int:
    """Unix milliseconds."""
    return int(time.time() * 1000)
