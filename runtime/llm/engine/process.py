"""An engine process seen from the server: start it, ask it, stream a reply from it, stop it."""

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
from pathlib import Path
from typing import IO, Final

from runtime.llm.engine.protocol import (
    Command,
    Drop,
    Ended,
    Event,
    Failed,
    Forget,
    Loaded,
    Ok,
    Piece,
    Prepare,
    Prepared,
    Run,
    decode,
    encode,
)
from runtime.llm.engine.watch import Watch, limit_of
from runtime.llm.errors import EngineDied, EngineFailed
from runtime.llm.values import Outcome, Sampling, Turn
from runtime.web.errors import BadRequest

log = logging.getLogger(__name__)

SETTLE_S: Final = 5.0
"""An aborted job that has not ended after this long costs its process."""
MAX_LINE: Final = 4 << 20
PROJECT: Final = Path(__file__).resolve().parents[3]
GONE: Final = "the engine process ended unexpectedly; it starts again with the next request"


class WorkerFailed(Exception):
    """A command failed; the text is fit for a client."""


class ShortOfMemory(WorkerFailed):
    """There is no room now for the *needed* bytes of what was to be loaded or opened."""

    def __init__(self, reason: str, needed: int) -> None:
        super().__init__(reason)
        self.needed = needed


class _Link(asyncio.Protocol):
    """Cuts the stream into lines; tells the worker's handle what came and when it ended."""

    def __init__(self, worker: "Worker") -> None:
        self._worker = worker
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        try:
            for line in lines:
                self._worker.receive(decode(line))
        except ValueError:
            log.exception("an engine process sent a line that is no message")
            self._worker.kill()
        if len(self._rest) > MAX_LINE:
            self._worker.kill()

    def connection_lost(self, exc: Exception | None) -> None:
        self._worker.lost()


class Reply:
    """The running job of a worker as a `Generation`: iterate for text, then read the outcome."""

    def __init__(
        self, worker: "Worker", job: int, on_end: Callable[[Ended], None] | None = None
    ) -> None:
        self.job = job
        self._on_end = on_end
        self.ended: Ended | None = None
        self.tokens = 0
        self._worker = worker
        self._pieces: deque[str] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._settled = asyncio.Event()

    def push(self, event: Piece | Ended) -> None:
        """Take an event of this job."""
        if isinstance(event, Piece):
            self._pieces.append(event.text)
            self.tokens += event.tokens
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
                _raise_failure(self.ended)
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
        """Abort the job if it runs and wait until its lane is free, `SETTLE_S` at most."""
        if self.ended is None:
            self._worker.abort()
            try:
                await asyncio.wait_for(self._settled.wait(), SETTLE_S)
            except TimeoutError:
                log.error("an aborted job did not end; its engine process is killed")
                self._worker.kill()


def _raise_failure(ended: Ended) -> None:
    if ended.finish in ("failed", "aborted"):
        raise EngineFailed(ended.reason or "the generation was stopped")


class Worker:
    """A running engine process. One job runs at a time; `prepare` may overlap with it."""

    def __init__(self, flag: IO[bytes]) -> None:
        self._flag_file = flag
        self._flag = mmap.mmap(flag.fileno(), 2)
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Event]] = {}
        self._jobs: dict[int, asyncio.Future[Event]] = {}
        self._watch = Watch(self._give_up)
        self._reply: Reply | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._gone = asyncio.Event()

    @classmethod
    async def start(cls) -> "Worker":
        """Start the process; it holds no model yet. Raises OSError when none can be started."""
        worker = cls(_flag_file())
        ours, theirs = socket.socketpair()
        try:
            await worker._spawn(theirs)
            loop = asyncio.get_running_loop()
            worker._transport, _ = await loop.create_connection(lambda: _Link(worker), sock=ours)
        except BaseException:
            ours.close()  # the end of its socket ends a process that has begun
            await asyncio.shield(asyncio.ensure_future(worker.close()))
            raise
        finally:
            theirs.close()
        return worker

    async def _spawn(self, connection: socket.socket) -> None:
        flag = self._flag_file.fileno()
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "runtime.llm.engine.worker"),
            *("--socket", str(connection.fileno()), "--flag", str(flag)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=(connection.fileno(), flag),
            env=environment(),
        )

    @property
    def alive(self) -> bool:
        """Whether the process still answers."""
        return not self._gone.is_set()

    @property
    def busy(self) -> bool:
        """Whether a job is running."""
        return self._reply is not None

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid if self._process is not None else 0

    def next_id(self) -> int:
        """A fresh number for a command or a job."""
        return next(self._ids)

    async def ask(self, command: Command) -> Ok | Loaded:
        """Send a command that has an id and wait for its answer; raises `WorkerFailed`."""
        number = getattr(command, "id")  # noqa: B009 - every such command has one
        event = await self._wait(self._asked, number, command)
        if isinstance(event, Failed):
            if event.short_of:
                raise ShortOfMemory(event.reason, event.short_of)
            raise WorkerFailed(event.reason)
        if not isinstance(event, Ok | Loaded):
            raise WorkerFailed("the engine answered out of turn")
        return event

    async def prepare(self, engine: str, turns: Sequence[Turn]) -> Prepared:
        """Render and tokenize a prompt; raises `BadRequest` where the chat template refuses it."""
        job = self.next_id()
        messages = [[turn.role, turn.content] for turn in turns]
        try:
            event = await self._wait(self._jobs, job, Prepare(job, engine, messages))
        except WorkerFailed as error:
            raise EngineDied(str(error)) from error
        except asyncio.CancelledError:
            self.drop(job)
            raise
        if isinstance(event, Prepared):
            return event
        reason = event.reason if isinstance(event, Ended) else GONE
        if not self.alive:
            raise EngineDied(reason)
        if reason.startswith("template: "):
            raise BadRequest(reason.removeprefix("template: "), param="messages")
        raise EngineFailed(reason)

    def drop(self, job: int) -> None:
        """Forget a prepared job that will not run."""
        self._send(Drop(job))

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
        """Start a prepared job. The caller holds the lane: no other job runs.

        *on_end* is called once, when the process is free for the next job.
        """
        if self._reply is not None:
            raise RuntimeError("this engine process is already generating")
        reply = Reply(self, prepared.job, on_end)
        if not self.alive:
            reply.push(Ended(prepared.job, "failed", GONE))
            return reply
        self._flag[0] = 0
        self._reply = reply
        self._send(
            Run(
                job=prepared.job,
                conversation=conversation,
                temperature=sampling.temperature,
                top_k=sampling.top_k,
                top_p=sampling.top_p,
                seed=sampling.seed,
                max_output=max_output or 0,
                stop=list(stop),
            )
        )
        return reply

    def forget(self, conversations: Sequence[str]) -> None:
        """Free the cells of these conversations, without waiting."""
        self._send(Forget(self.next_id(), list(conversations)))

    def abort(self) -> None:
        """Stop the running job within a token."""
        self._flag[0] = 1

    def receive(self, event: object) -> None:
        """Take an event from the process."""
        match event:
            case Piece(job=job) if self._reply is not None and self._reply.job == job:
                self._reply.push(event)
            case Ended(job=job) if self._reply is not None and self._reply.job == job:
                reply, self._reply = self._reply, None
                reply.push(event)
            case Prepared(job=job) | Ended(job=job):
                self._watch.answered(job)
                _answer(self._jobs.get(job), event)
            case Ok(id=number) | Loaded(id=number) | Failed(id=number):
                self._watch.answered(number)
                _answer(self._asked.get(number), event)
            case _:
                pass

    def lost(self) -> None:
        """The socket ended: whoever waits hears that the process is gone."""
        self._gone.set()
        self._watch.end()
        for number, waiting in self._asked.items():
            _answer(waiting, Failed(number, GONE))
        for job, waiting in self._jobs.items():
            _answer(waiting, Ended(job, "failed", GONE))
        if self._reply is not None:
            reply, self._reply = self._reply, None
            reply.push(Ended(reply.job, "failed", GONE))

    def kill(self) -> None:
        """End the process at once."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        """End the process: it stops by itself when its socket closes, and is killed after 2 s."""
        self.abort()
        if self._transport is not None:
            self._transport.close()
        if self._process is not None:
            try:
                await asyncio.wait_for(self._process.wait(), 2.0)
            except TimeoutError:
                self.kill()
                await self._process.wait()
        self.lost()
        self._release()

    async def _wait(
        self, table: dict[int, asyncio.Future[Event]], number: int, command: Command
    ) -> Event:
        if not self.alive:
            raise WorkerFailed(GONE)
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        table[number] = future
        self._watch.sent(number, limit_of(command))  # until the answer, also when the asker left
        try:
            self._send(command)
            return await future
        finally:
            del table[number]

    def _give_up(self) -> None:
        log.error("an engine process does not answer and is killed")
        self.kill()

    def _send(self, command: Command) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encode(command))

    def _release(self) -> None:
        self._flag.close()
        self._flag_file.close()


def _flag_file() -> IO[bytes]:
    """Two bytes of memory that server and process share."""
    flag = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
    os.ftruncate(flag.fileno(), 2)  # a write would count as waiting for the disk
    return flag


def _answer(waiting: asyncio.Future[Event] | None, event: Event) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(event)


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
