"""The server's side of a worker process: start it, send commands, stream replies, stop it."""

import asyncio
import contextlib
import itertools
import logging
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from runtime.llm.engine.protocol import (
    PREFIX,
    Command,
    Drop,
    Ended,
    Event,
    Failed,
    Forget,
    Handover,
    Prepare,
    Prepared,
    Run,
    TextPiece,
    decode,
    encode,
    parse_lengths,
)
from runtime.llm.errors import EngineDied, EngineFailed
from runtime.llm.inference import Outcome, Piece, ReplyFormat
from runtime.web.errors import BadRequest

log = logging.getLogger(__name__)

COMMAND: Final = (sys.executable, "-m", "runtime.llm.engine.worker")
PROJECT: Final = Path(__file__).resolve().parents[3]
GONE: Final = "the model's process ended unexpectedly; it restarts with the next request"
ANSWER_S: Final = 120.0
"""Time limit of a command; a slow board takes a minute to render and tokenize a long prompt."""
COMPUTE_S: Final = 900.0
"""Time limit of a command that computes or reads the whole file, even from a slow card."""
SETTLE_S: Final = 5.0
"""If an aborted reply has not ended after this long, its process is killed."""
STOP_S: Final = 2.0
"""Time for a process to end before it is killed, and for a killed one before it is abandoned."""
_LAST_WORDS: Final = 2000  # bytes of stderr that are logged

Answer = TypeVar("Answer", bound=Event)


class WorkerFailed(Exception):
    """A command failed; the text is for a client. The process continues."""


class ShortOfMemory(WorkerFailed):
    """The *needed* bytes of a model or context do not fit into memory now."""

    def __init__(self, reason: str, needed: int) -> None:
        super().__init__(reason)
        self.needed = needed


class WorkerGone(WorkerFailed):
    """The process ended, did not answer in time, or sent something invalid."""

    def __init__(self) -> None:
        super().__init__(GONE)


class WorkerReply:
    """A running reply of a worker as a `Generation`: iterate, then read the outcome."""

    def __init__(
        self,
        worker: "Worker",
        number: int,
        job: int,
        form: ReplyFormat,
        on_end: Callable[[Ended], None],
    ) -> None:
        self.number = number
        self.format: Final = form
        self.ended: Ended | None = None
        self._on_end = on_end
        self._worker = worker
        self._job = job
        self._pieces: deque[TextPiece] = deque()
        self._news = asyncio.Event()
        self._settled = asyncio.Event()

    def push(self, event: TextPiece | Ended) -> None:
        """Add an event of this reply."""
        self._news.set()
        if isinstance(event, TextPiece):
            self._pieces.append(event)
            return
        self.ended = event
        self._settled.set()
        self._on_end(event)

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self

    async def __anext__(self) -> Piece:
        while not self._pieces:
            if self.ended is not None:
                if self.ended.bad_grammar:
                    raise BadRequest(self.ended.reason)
                if self.ended.finish in ("failed", "aborted"):
                    raise EngineFailed(self.ended.reason or "the generation was stopped")
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        pieces = list(self._pieces)
        self._pieces.clear()
        text = "".join(piece.text for piece in pieces)
        return Piece(text, [token for piece in pieces for token in piece.logprobs])

    @property
    def outcome(self) -> Outcome:
        """The cost of the reply; available once it has ended by itself."""
        ended = self.ended
        if ended is None or ended.finish not in ("stop", "length"):
            raise RuntimeError("the reply has no outcome")
        return ended

    async def aclose(self) -> None:
        """Abort the reply if it runs, and wait at most `SETTLE_S` until the worker is free."""
        if self.ended is None:
            self._worker.drop(self._job)
            try:
                await asyncio.wait_for(self._settled.wait(), SETTLE_S)
            except TimeoutError:
                log.error("an aborted reply did not end; its worker process is killed")
                self._worker.kill()


class Worker:
    """A running worker process. `prepare` may overlap with replies."""

    parallel = 1
    """Maximum concurrent replies, as reported when the model was loaded."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._pending: dict[int, tuple[asyncio.Future[Event], float | None]] = {}
        """Outstanding answers with their limits in seconds, even if nobody waits for them."""
        self._overdue: asyncio.TimerHandle | None = None
        self._replies: dict[int, WorkerReply] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._words: asyncio.Task[bytes] | None = None
        self._gone = asyncio.Event()
        self._ending = False

    @classmethod
    async def start(cls, command: Sequence[str] = COMMAND) -> "Worker":
        """Start the process without a model. Raises OSError if it cannot be started."""
        worker = cls()
        handover = Handover()
        try:
            with handover:
                await worker._spawn(command, handover)
            reader, worker._writer = await asyncio.open_connection(sock=handover.ours)
            worker._listening = asyncio.create_task(worker._listen(reader))
        except BaseException:
            handover.ours.close()  # a process that has started ends with its socket
            await asyncio.shield(asyncio.ensure_future(worker.close()))
            raise
        return worker

    async def _spawn(self, command: Sequence[str], handover: Handover) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=handover.stdin,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            env=environment(),
        )
        if self._process.stdin is not None:
            self._process.stdin.write(handover.share_with(self._process.pid))
            self._process.stdin.close()
        if self._process.stderr is not None:
            self._words = asyncio.create_task(_last_words(self._process.stderr))

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return not self._gone.is_set()

    @property
    def busy(self) -> bool:
        """Whether a reply is being generated."""
        return bool(self._replies)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid if self._process is not None else 0

    async def ask(
        self, command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        """Send a command and wait for its answer.

        The process is killed if the command takes longer than *limit_s* once its turn has come,
        even if nobody waits any more, because it blocks all others. None: the caller sets a limit.
        Raises `WorkerFailed`, `ShortOfMemory`, `WorkerGone`; TypeError for text that is not valid
        Unicode.
        """
        event = await self._answer(next(self._ids), command, limit_s)
        if isinstance(event, Failed):
            if event.short_of:
                raise ShortOfMemory(event.reason, event.short_of)
            raise WorkerFailed(event.reason)
        return self._check_kind(event, kind)

    async def prepare(self, command: Prepare) -> Prepared:
        """Render and tokenize a prompt, and compile its grammar.

        Raises `BadRequest` if the chat template rejects it or the grammar is invalid.
        """
        number = next(self._ids)
        try:
            event = await self._answer(number, command, ANSWER_S)
            if not isinstance(event, Failed):
                return self._check_kind(event, Prepared)
        except WorkerGone as error:
            raise EngineDied(str(error)) from error
        except asyncio.CancelledError:
            self.drop(number)
            raise
        if event.unfit:
            param = "messages" if command.prompt is None else "prompt"
            raise BadRequest(event.reason, param=param)
        if event.bad_grammar:
            raise BadRequest(event.reason)
        raise EngineFailed(event.reason)

    def drop(self, job: int) -> None:
        """Discard a prepared prompt, or stop its reply within a token."""
        self._send(next(self._ids), Drop(job))

    def run(self, command: Run, form: ReplyFormat, on_end: Callable[[Ended], None]) -> WorkerReply:
        """Start the reply to a prepared prompt while fewer than `parallel` replies run.

        *on_end* is called once, when the process is free for another reply.
        """
        if len(self._replies) >= self.parallel:
            raise RuntimeError("this worker process is already generating")
        reply = WorkerReply(self, next(self._ids), command.job, form, on_end)
        if not self.alive:
            reply.push(Ended("failed", reason=GONE))
            return reply
        self._replies[reply.number] = reply
        self._send(reply.number, command)
        return reply

    def forget(self, conversations: Sequence[str]) -> None:
        """Free the cells of these conversations without waiting."""
        self._send(next(self._ids), Forget(list(conversations)))

    def kill(self) -> None:
        """Kill the process; everyone who waits for it gets `WorkerGone`."""
        self._ending = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        self._hang_up()

    async def close(self) -> None:
        """End the process: it stops when its socket ends, or is killed after 2 s."""
        self._ending = self._ending or self.alive
        self._hang_up()
        if self._listening is not None:
            await asyncio.wait({self._listening})
        if self._process is not None:
            await _wait_for_end(self._process)
        if self._words is not None:
            await self._log_last_words(self._words)

    # --- inside

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        """Receive messages until the socket ends."""
        try:
            while True:
                number, head, body = parse_lengths(await reader.readexactly(PREFIX.size))
                data = await reader.readexactly(head + body)
                self._receive(number, decode(data[:head], data[head:]))
        except ValueError as error:
            log.error("a worker process is killed: %s", error)
            self.kill()
        except (EOFError, OSError):
            pass  # the process has ended
        finally:
            self._hang_up()

    def _receive(self, number: int, event: object) -> None:
        """Handle a message from the process. Raises ValueError if it makes no sense."""
        if not isinstance(event, Event):
            raise ValueError("it sent a command")
        if pending := self._pending.pop(number, None):
            self._watch()
            if not pending[0].done():
                pending[0].set_result(event)
            return
        reply = self._replies.get(number)
        if reply is None or not isinstance(event, TextPiece | Ended):
            raise ValueError("unsolicited message")
        if isinstance(event, Ended):
            del self._replies[number]
        reply.push(event)

    def _hang_up(self) -> None:
        """Close the socket; everyone who waits gets `WorkerGone`."""
        if self._writer is not None:
            self._writer.transport.abort()  # without waiting for unread data
        self._gone.set()
        pending, self._pending = self._pending, {}
        self._watch()
        for answer, _ in pending.values():
            if not answer.done():
                answer.set_exception(WorkerGone())
                answer.exception()  # there may be nobody left to read it
        replies, self._replies = self._replies, {}
        for reply in replies.values():
            reply.push(Ended("failed", reason=GONE))

    async def _answer(self, number: int, command: Command, limit_s: float | None) -> Event:
        """Send a command and wait for its answer."""
        data = encode(number, command)
        if not self.alive or self._writer is None:
            raise WorkerGone
        answer: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer, limit_s
        if len(self._pending) == 1:
            self._watch()
        self._writer.write(data)
        return await answer

    def _check_kind(self, event: Event, kind: type[Answer]) -> Answer:
        if isinstance(event, kind):
            return event
        log.error("a worker process answered out of turn and is killed")
        self.kill()
        raise WorkerGone

    def _watch(self) -> None:
        """Start the time limit of the oldest unanswered command, which is being executed."""
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None
        _, limit_s = next(iter(self._pending.values()), (None, None))
        if limit_s is not None:
            loop = asyncio.get_running_loop()
            self._overdue = loop.call_later(limit_s, self._give_up)

    def _give_up(self) -> None:
        log.error("a worker process does not answer and is killed")
        self.kill()

    def _send(self, number: int, command: Command) -> None:
        if self._writer is not None and self.alive:
            self._writer.write(encode(number, command))

    async def _log_last_words(self, words: asyncio.Task[bytes]) -> None:
        await asyncio.wait({words}, timeout=STOP_S)
        if not words.done():
            words.cancel()
        elif not self._ending and not words.cancelled():
            status = self._process.returncode if self._process is not None else None
            text = words.result().decode(errors="replace").strip()
            log.error("a worker process ended with status %s: %s", status, text)


async def _wait_for_end(process: asyncio.subprocess.Process) -> None:
    """Wait a limited time for the process to end; then kill it and wait again."""
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
    """Read the end of the process's standard error."""
    words = b""
    while part := await stderr.read(4096):
        words = (words + part)[-_LAST_WORDS:]
    return words


def environment() -> dict[str, str]:
    """The server's environment without its settings, with threads that spin briefly, then sleep.

    Threads that spin until the others are ready hold each other up as soon as another program needs
    a core; threads that sleep at once are woken by the kernel hundreds of times per token. Measured
    on two cores with 135 M parameters and four clients, in tokens per second, with 1,000, 5,000 and
    20,000 spins: idle machine 116, 121 and 123; next to a program that uses a core 58, 60 and 61;
    next to two 22, 23 and 22, and for one client 22, 18 and 18. Endless spinning: 2 to 10 next to
    other programs.
    """
    paths = [str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])]
    inherited = {name: value for name, value in os.environ.items() if "LLMSVC" not in name}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE"),
        "GOMP_SPINCOUNT": os.environ.get("GOMP_SPINCOUNT", "5000"),
    }
