"""A worker process seen from the server: start it, ask it, stream a reply from it, stop it."""

import asyncio
import contextlib
import itertools
import logging
import mmap
import os
import socket
import sys
import tempfile
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeVar

from runtime.llm.engine.protocol import (
    PREFIX,
    Command,
    Drop,
    Embed,
    Ended,
    Event,
    Failed,
    Fit,
    Forget,
    Piece,
    Prepare,
    Prepared,
    Run,
    Split,
    decode,
    encode,
    lengths,
)
from runtime.llm.errors import EngineDied, EngineFailed
from runtime.llm.values import Outcome, Sampling, Turn
from runtime.web.errors import BadRequest

log = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-m", "runtime.llm.engine.worker")
PROJECT: Final = Path(__file__).resolve().parents[3]
GONE: Final = "the model's process ended unexpectedly; it starts again with the next request"
ANSWER_S: Final = 120.0
"""How long a command may take; a slow board renders and tokenizes a long prompt for a minute."""
COMPUTE_S: Final = 900.0
"""How long a command that computes or reads the whole file may take, from a slow card too."""
SETTLE_S: Final = 5.0
"""An aborted reply that has not ended after this long costs its process."""
STOP_S: Final = 2.0
"""How long an ended process may take before it is killed, and a killed one before it is left."""
_LARGE: Final = 1 << 17  # characters or bytes whose JSON is too much work for the event loop
_LAST_WORDS: Final = 2000  # bytes of stderr that are logged

Answer = TypeVar("Answer", bound=Event)


class WorkerFailed(Exception):
    """A command failed; the text is fit for a client. The process goes on."""


class ShortOfMemory(WorkerFailed):
    """There is no room now for the *needed* bytes of what was to be loaded or opened."""

    def __init__(self, reason: str, needed: int) -> None:
        super().__init__(reason)
        self.needed = needed


class WorkerGone(WorkerFailed):
    """The process ended, did not answer in time, or sent something that cannot be right."""

    def __init__(self) -> None:
        super().__init__(GONE)


class Unpacker:
    """Cuts a stream of bytes into the numbers, heads and bodies of messages."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes, bytes]]:
        """The messages that are complete now; raises ValueError for an impossible length."""
        self._held += data
        messages = []
        start, size = 0, len(self._held)
        while size - start >= PREFIX.size:
            middle = start + PREFIX.size
            number, head, body = lengths(bytes(self._held[start:middle]))
            end = middle + head + body
            if size < end:
                break
            part = bytes(self._held[middle:end])
            messages.append((number, part[:head], part[head:]))
            start = end
        del self._held[:start]
        return messages


class _Link(asyncio.Protocol):
    """Passes on the messages of a process, and the news that its socket ended."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._unpacker = Unpacker()

    def data_received(self, data: bytes) -> None:
        try:
            for number, head, body in self._unpacker.feed(data):
                self._worker.receive(number, head, body)
        except ValueError:
            log.exception("a worker process sent bytes that are not a message")
            self._worker.kill()

    def connection_lost(self, exc: Exception | None) -> None:
        self._worker.lost()


class Reply:
    """The running reply of a worker as a `Generation`: iterate for text, then read the outcome."""

    def __init__(
        self, worker: "Worker", number: int, on_end: Callable[[Ended], None] | None = None
    ) -> None:
        self.number = number
        self.ended: Ended | None = None
        self._on_end = on_end
        self._worker = worker
        self._pieces: deque[str] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._settled = asyncio.Event()

    def push(self, event: Piece | Ended) -> None:
        """Take an event of this reply."""
        if isinstance(event, Piece):
            self._pieces.append(event.text)
        else:
            self.ended = event
            self._settled.set()
            if self._on_end is not None:
                self._on_end(event)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __aiter__(self) -> AsyncIterator[str]:
        return self

    async def __anext__(self) -> str:
        while not self._pieces:
            if self.ended is not None:
                if self.ended.finish in ("failed", "aborted"):
                    raise EngineFailed(self.ended.reason or "the generation was stopped")
                raise StopAsyncIteration
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        text = "".join(self._pieces)
        self._pieces.clear()
        return text

    @property
    def outcome(self) -> Outcome:
        """What the reply cost; only after it ended by itself."""
        ended = self.ended
        if ended is None or ended.finish not in ("stop", "length"):
            raise RuntimeError("the reply has no outcome")
        return Outcome(
            finish="stop" if ended.finish == "stop" else "length",
            completion_tokens=ended.completion_tokens,
            prompt_tokens=ended.prompt_tokens,
            cached_tokens=ended.cached_tokens,
            prompt_ms=ended.prompt_ms,
            predicted_ms=ended.predicted_ms,
            session=ended.session,
            session_reason=ended.session_reason,
        )

    async def aclose(self) -> None:
        """Abort the reply if it runs and wait until the worker is free, `SETTLE_S` at most."""
        if self.ended is None:
            self._worker.abort()
            try:
                await asyncio.wait_for(self._settled.wait(), SETTLE_S)
            except TimeoutError:
                log.error("an aborted reply did not end; its worker process is killed")
                self._worker.kill()


@dataclass
class _Asked:
    """A command on its way; it stays until the answer comes, also when nobody waits any more."""

    answer: asyncio.Future[tuple[bytes, bytes]]
    limit_s: float | None


class Worker:
    """A running worker process. One reply is generated at a time; `prepare` may overlap with it."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._overdue: asyncio.TimerHandle | None = None
        self._reply: Reply | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._words: asyncio.Task[bytes] | None = None
        self._flag: mmap.mmap | None = None
        self._gone = asyncio.Event()
        self._ending = False

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> "Worker":
        """Start the process; it holds no model yet. Raises OSError when none can be started."""
        worker = cls()
        ours, theirs = socket.socketpair()
        try:
            with tempfile.TemporaryFile() as flag:
                os.ftruncate(flag.fileno(), 2)  # a write would count as waiting for the disk
                worker._flag = mmap.mmap(flag.fileno(), 2)
                await worker._spawn(command, theirs, flag)
            loop = asyncio.get_running_loop()
            worker._transport, _ = await loop.create_connection(lambda: _Link(worker), sock=ours)
        except BaseException:
            ours.close()  # the end of its socket ends a process that has begun
            await asyncio.shield(asyncio.ensure_future(worker.close()))
            raise
        finally:
            theirs.close()
        return worker

    async def _spawn(
        self, command: Sequence[str], connection: socket.socket, flag: IO[bytes]
    ) -> None:
        descriptors = (connection.fileno(), flag.fileno())
        self._process = await asyncio.create_subprocess_exec(
            *command,
            *("--socket", str(descriptors[0]), "--flag", str(descriptors[1])),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=descriptors,
            env=environment(),
        )
        if self._process.stderr is not None:
            self._words = asyncio.create_task(_last_words(self._process.stderr))

    @property
    def alive(self) -> bool:
        """Whether the process still answers."""
        return not self._gone.is_set()

    @property
    def busy(self) -> bool:
        """Whether a reply is generated."""
        return self._reply is not None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid if self._process is not None else 0

    async def ask(
        self, command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        """Send a command and wait for its answer.

        The process is killed when the command is its turn and takes longer than *limit_s*, also
        when nobody waits any more: no other command could be done. None: the caller sees to it.
        Raises `WorkerFailed`, `ShortOfMemory`, `WorkerGone`; TypeError for text that is not
        Unicode.
        """
        number = next(self._ids)
        event = await self._answer(number, command, limit_s)
        if isinstance(event, Failed):
            if event.short_of:
                raise ShortOfMemory(event.reason, event.short_of)
            raise WorkerFailed(event.reason)
        return self._checked(event, kind)

    async def prepare(self, context: str, turns: Sequence[Turn]) -> Prepared:
        """Render and tokenize a prompt; raises `BadRequest` where the chat template refuses it."""
        number = next(self._ids)
        command = Prepare(context, [[turn.role, turn.content] for turn in turns])
        try:
            event = await self._answer(number, command, ANSWER_S)
            if not isinstance(event, Failed):
                return self._checked(event, Prepared)
        except WorkerGone as error:
            raise EngineDied(str(error)) from error
        except asyncio.CancelledError:
            self.drop(number)
            raise
        if event.unfit:
            raise BadRequest(event.reason, param="messages")
        raise EngineFailed(event.reason)

    def drop(self, job: int) -> None:
        """Forget a prepared prompt that will not be answered."""
        self._send(next(self._ids), Drop(job))

    def run(
        self,
        prepared: Prepared,
        sampling: Sampling,
        *,
        max_output: int | None = None,
        conversation: str | None = None,
        stop: Sequence[str] = (),
        on_end: Callable[[Ended], None] | None = None,
    ) -> Reply:
        """Start the reply to a prepared prompt, while no other one is generated.

        *on_end* is called once, when the process is free for the next reply.
        """
        if self._reply is not None or self._flag is None:
            raise RuntimeError("this worker process is already generating")
        reply = Reply(self, next(self._ids), on_end)
        if not self.alive:
            reply.push(Ended("failed", GONE))
            return reply
        self._flag[0] = 0
        self._reply = reply
        self._send(
            reply.number,
            Run(
                job=prepared.job,
                conversation=conversation,
                temperature=sampling.temperature,
                top_k=sampling.top_k,
                top_p=sampling.top_p,
                seed=sampling.seed,
                max_output=max_output or 0,
                stop=list(stop),
            ),
        )
        return reply

    def forget(self, conversations: Sequence[str]) -> None:
        """Free the cells of these conversations, without waiting."""
        self._send(next(self._ids), Forget(list(conversations)))

    def abort(self) -> None:
        """Stop the running reply within a token."""
        if self._flag is not None:
            self._flag[0] = 1

    def receive(self, number: int, head: bytes, body: bytes) -> None:
        """Take a message from the process; raises ValueError for one that makes no sense."""
        if asked := self._asked.pop(number, None):
            self._watch()
            if not asked.answer.done():
                asked.answer.set_result((head, body))
            return
        reply = self._reply
        if reply is None or reply.number != number:
            raise ValueError("nothing of that number was asked")
        event = decode(head, body)
        if not isinstance(event, Piece | Ended):
            raise ValueError("this is not a part of a reply")
        if isinstance(event, Ended):
            self._reply = None
        reply.push(event)

    def lost(self) -> None:
        """The socket ended: whoever waits hears that the process is gone."""
        self._gone.set()
        asked, self._asked = self._asked, {}
        self._watch()
        for waiting in asked.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(WorkerGone())
                waiting.answer.exception()  # nobody may be left to look at it
        if self._reply is not None:
            reply, self._reply = self._reply, None
            reply.push(Ended("failed", GONE))

    def kill(self) -> None:
        """End the process at once; whoever waits for it hears that it is gone."""
        self._ending = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._transport is not None:
            self._transport.abort()
        self.lost()

    async def close(self) -> None:
        """End the process: it stops by itself when its socket ends, and is killed after 2 s."""
        self._ending = self._ending or self.alive
        self.abort()
        if self._transport is not None:
            self._transport.abort()  # without waiting for what the process has not read yet
        self.lost()
        if self._process is not None:
            await _wait_for_end(self._process)
        if self._words is not None:
            await self._log_last_words(self._words)
        if self._flag is not None:
            self._flag.close()
            self._flag = None

    # --- inside

    async def _answer(self, number: int, command: Command, limit_s: float | None) -> Event:
        """Send a command and wait for what the process answers, checked to be a message."""
        large = _text_size(command) >= _LARGE
        data = (
            await asyncio.to_thread(encode, number, command) if large else encode(number, command)
        )
        if not self.alive or self._transport is None:
            raise WorkerGone
        asked = _Asked(asyncio.get_running_loop().create_future(), limit_s)
        self._asked[number] = asked
        if len(self._asked) == 1:
            self._watch()
        self._transport.write(data)
        head, body = await asked.answer
        try:
            if len(head) < _LARGE:
                return _as_event(head, body)
            return await asyncio.to_thread(_as_event, head, body)
        except ValueError as error:
            log.error("a worker process is killed: %s", error)
            self.kill()
            raise WorkerGone from error

    def _checked(self, event: Event, kind: type[Answer]) -> Answer:
        if isinstance(event, kind):
            return event
        log.error("a worker process answered out of turn and is killed")
        self.kill()
        raise WorkerGone

    def _watch(self) -> None:
        """Time the oldest command that is not answered: it is the one at work."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        oldest = next(iter(self._asked.values()), None)
        if oldest is not None and oldest.limit_s is not None:
            loop = asyncio.get_running_loop()
            self._overdue = loop.call_later(oldest.limit_s, self._give_up)

    def _give_up(self) -> None:
        log.error("a worker process does not answer and is killed")
        self.kill()

    def _send(self, number: int, command: Command) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode(number, command))

    async def _log_last_words(self, words: asyncio.Task[bytes]) -> None:
        await asyncio.wait({words}, timeout=STOP_S)
        if not words.done():
            words.cancel()
        elif not self._ending and not words.cancelled():
            status = self._process.returncode if self._process is not None else None
            text = words.result().decode(errors="replace").strip()
            log.error("a worker process ended with status %s: %s", status, text)


def _as_event(head: bytes, body: bytes) -> Event:
    message = decode(head, body)
    if not isinstance(message, Event):
        raise ValueError("a command is not an answer")
    return message


def _text_size(command: Command) -> int:
    match command:
        case Embed(texts=texts) | Fit(texts=texts):
            return sum(map(len, texts))
        case Split(text=text):
            return len(text)
    return 0


async def _wait_for_end(process: asyncio.subprocess.Process) -> None:
    """Wait until the process is gone; the second limit is for one that even a kill cannot end."""
    for last in (False, True):
        try:
            await asyncio.wait_for(process.wait(), STOP_S)
        except TimeoutError:
            if last:
                log.error("the worker process %s cannot be ended", process.pid)
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


def environment() -> dict[str, str]:
    """The server's environment less its settings, with threads that sleep instead of spinning.

    Two spinning threads on two shared cores are 3 to 20 times slower than two that sleep.
    """
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    inherited = {name: value for name, value in os.environ.items() if "LLMSVC" not in name}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"),
    }
