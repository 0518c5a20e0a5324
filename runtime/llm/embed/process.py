"""An encoder process seen from the server: start it, ask it one thing after another, end it."""

import asyncio
import contextlib
import itertools
import logging
import socket
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runtime.llm.embed.answers import reason_of
from runtime.llm.embed.errors import BadText
from runtime.llm.embed.protocol import (
    LENGTHS,
    Command,
    Embed,
    Failed,
    Fit,
    Framed,
    Load,
    Split,
    decode,
    encode,
    lengths,
)
from runtime.llm.engine.process import environment

log = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-m", "runtime.llm.embed.worker")
GONE: Final = "the embedding process ended unexpectedly"
STOP_S: Final = 2.0
"""How long an ended process may take before it is killed, and a killed one before it is left."""
_LARGE: Final = 1 << 17  # characters or bytes whose JSON takes longer than a loop should stand
_LAST_WORDS: Final = 2000  # characters of stderr that are logged


class EncoderFailed(Exception):
    """A command failed; the text is fit for a client. The process goes on."""


class EncoderGone(Exception):
    """The process is dead: it ended by itself, was silent, or said what cannot be right."""


class EncoderSilent(EncoderGone):
    """The process did not answer in time and was killed."""


class Unpacker:
    """Cuts a stream of bytes into the heads and bodies of messages."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """What is complete now; raises ValueError for a length that no message has."""
        self._held += data
        found = []
        while len(self._held) >= LENGTHS.size:
            head, body = lengths(bytes(self._held[: LENGTHS.size]))
            middle, end = LENGTHS.size + head, LENGTHS.size + head + body
            if len(self._held) < end:
                break
            found.append((bytes(self._held[LENGTHS.size : middle]), bytes(self._held[middle:end])))
            del self._held[:end]
        return found


class _Link(asyncio.Protocol):
    """Passes on the messages of a process, and the news that its socket ended."""

    def __init__(self, process: "EncoderProcess") -> None:
        self._process = process
        self._unpacker = Unpacker()

    def data_received(self, data: bytes) -> None:
        try:
            for head, body in self._unpacker.feed(data):
                self._process.receive(head, body)
        except ValueError:
            log.exception("an encoder process sent bytes that are no message")
            self._process.kill()

    def connection_lost(self, exc: Exception | None) -> None:
        self._process.lost()


@dataclass
class _Asked:
    """A command on its way; it stays until the answer comes, also when nobody waits any more."""

    answer: asyncio.Future[tuple[bytes, bytes]]
    overdue: asyncio.TimerHandle


class EncoderProcess:
    """A running encoder process; it answers commands in the order in which they are sent."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._asked: deque[_Asked] = deque()
        self._transport: asyncio.WriteTransport | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._words: asyncio.Task[bytes] | None = None
        self._death: EncoderGone | None = None
        self._ending = False

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> "EncoderProcess":
        """Start the process; it holds no model yet. Raises OSError when none can be started.

        *command* is given the number of the socket's descriptor as its last argument.
        """
        process = cls()
        ours, theirs = socket.socketpair()
        try:
            await process._spawn(command, theirs)
            loop = asyncio.get_running_loop()
            process._transport, _ = await loop.create_connection(lambda: _Link(process), sock=ours)
        except BaseException:
            ours.close()  # the end of its socket ends a process that has begun
            await asyncio.shield(asyncio.ensure_future(process.close()))
            raise
        finally:
            theirs.close()
        return process

    async def _spawn(self, command: Sequence[str], connection: socket.socket) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *command,
            str(connection.fileno()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=(connection.fileno(),),
            env=environment(),
        )
        if self._process.stderr is not None:
            self._words = asyncio.create_task(_last_words(self._process.stderr))

    @property
    def alive(self) -> bool:
        """Whether the process still answers."""
        return self._death is None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid if self._process is not None else 0

    def next_id(self) -> int:
        """A fresh number for a command."""
        return next(self._ids)

    async def ask(self, command: Command, timeout: float) -> Framed:  # noqa: ASYNC109 - the process's limit
        """Send a command and wait for its answer, *timeout* seconds at most.

        Raises `EncoderFailed` when the process says so, `EncoderGone` when it ends, and `BadText`.
        A silent process is killed even if the one who asked has left: no other could use it.
        """
        data = await _encoded(command)
        if self._death is not None:
            raise self._gone()
        loop = asyncio.get_running_loop()
        overdue = loop.call_later(timeout, self._give_up)
        asked = _Asked(loop.create_future(), overdue)
        self._asked.append(asked)
        if self._transport is not None:
            self._transport.write(data)
        head, body = await asked.answer
        try:
            framed = await _decoded(head, body)
            if framed.message.id != command.id:
                raise ValueError("the answer is to another command")
            if isinstance(framed.message, Failed):
                raise EncoderFailed(reason_of(framed.message))
        except ValueError as error:
            log.error("an encoder process is killed: %s", error)
            self.kill()
            raise EncoderGone(GONE) from error
        return framed

    def receive(self, head: bytes, body: bytes) -> None:
        """Take a message; raises ValueError for one that answers nothing."""
        if not self._asked:
            raise ValueError("nothing was asked")
        asked = self._asked.popleft()
        asked.overdue.cancel()
        if not asked.answer.done():
            asked.answer.set_result((head, body))

    def kill(self) -> None:
        """End the process at once; what waits for it hears that it is gone."""
        self._ending = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._transport is not None:
            self._transport.abort()
        self.lost()

    def lost(self) -> None:
        """The socket ended: whoever waits hears that the process is gone."""
        if self._death is None:
            self._death = EncoderGone(GONE)
        while self._asked:
            asked = self._asked.popleft()
            asked.overdue.cancel()
            if not asked.answer.done():
                asked.answer.set_exception(self._gone())

    async def close(self) -> None:
        """End the process: it stops by itself when its socket ends, and is killed after 2 s."""
        self._ending = self._ending or self._death is None
        if self._transport is not None:
            self._transport.abort()  # without waiting for what it has not read yet
        self.lost()
        if self._process is not None:
            await _ended(self._process)
        if self._words is not None:
            await self._say_last_words(self._words)

    # --- inside

    def _gone(self) -> EncoderGone:
        """A fresh error each time: one that is raised twice grows a traceback."""
        return type(self._death or EncoderGone())(GONE)

    def _give_up(self) -> None:
        log.error("an encoder process does not answer and is killed")
        self._death = EncoderSilent(GONE)
        self.kill()

    async def _say_last_words(self, words: asyncio.Task[bytes]) -> None:
        await asyncio.wait({words}, timeout=STOP_S)
        if not words.done():
            words.cancel()
        elif not self._ending and not words.cancelled():
            status = self._process.returncode if self._process is not None else None
            text = words.result().decode(errors="replace").strip()
            log.error("an encoder process ended with status %s: %s", status, text)


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait until the process is gone; the second limit is for one that even a kill cannot end."""
    for last in (False, True):
        try:
            await asyncio.wait_for(process.wait(), STOP_S)
        except TimeoutError:
            if last:
                log.error("the encoder process %s cannot be ended", process.pid)
            else:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
        else:
            return


async def _last_words(stderr: asyncio.StreamReader) -> bytes:
    """The end of what the process wrote about itself."""
    words = b""
    while part := await stderr.read(4096):
        words = (words + part)[-_LAST_WORDS:]
    return words


async def _encoded(command: Command) -> bytes:
    """The bytes of a command, those of a large one made off the loop; raises `BadText`."""
    try:
        if _size(command) < _LARGE:
            return encode(command)
        return await asyncio.to_thread(encode, command)
    except TypeError as error:  # of the JSON writer
        raise BadText from error


def _size(command: Command) -> int:
    match command:
        case Load():
            return 0
        case Embed(texts=texts):
            return sum(map(len, texts))
        case Fit(texts=texts):
            return sum(map(len, texts))
        case Split(text=text):
            return len(text)


async def _decoded(head: bytes, body: bytes) -> Framed:
    """The message, that of a large head made off the loop; raises ValueError."""
    if len(head) < _LARGE:
        return decode(head, body)
    return await asyncio.to_thread(decode, head, body)
