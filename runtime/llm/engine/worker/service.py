"""The threads of a worker process: one reads commands, one does them, one generates replies."""

import mmap
import os
import queue
import select
import socket
import sys
import threading
import time
import traceback
from io import BufferedReader
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

from runtime.llm.engine.protocol import (
    MAX_HEAD,
    PREFIX,
    Chunks,
    Close,
    Command,
    Drop,
    Embed,
    Event,
    Failed,
    Fit,
    Forget,
    LoadChat,
    LoadEncoder,
    Ok,
    Open,
    Prepare,
    Run,
    Split,
    Warm,
    decode,
    encode,
    lengths,
)
from runtime.llm.engine.worker.resources import Refused

if TYPE_CHECKING:  # a process imports only what its model needs
    from runtime.llm.engine.worker.chat import ChatModel
    from runtime.llm.engine.worker.encoders import Encoder

STALL_S: Final = 30.0
"""How long the server may read nothing before the process gives up."""
BROKEN: Final = 70
"""Exit status after a fault of ours, or a message that is not a command."""
_QUEUE_LIMIT: Final = 1024  # commands; the server then waits in its socket
_MOST_JSON: Final = 6  # bytes of a character, quotes and commas left aside


class Stalled(Exception):
    """The server has read nothing for `STALL_S`."""


class Outbox:
    """A socket that several threads write whole messages to, at once or held while it is full."""

    def __init__(self, connection: socket.socket, stall_s: float = STALL_S) -> None:
        self._socket = connection
        self._stall_s = stall_s
        self._lock = threading.Lock()
        self._rest = memoryview(b"")  # of a message of which the socket took only a part
        self._moved = time.monotonic()

    def has_room(self) -> bool:
        """Whether nothing is held; raises Stalled once the socket has been full for too long."""
        with self._lock:
            if self._rest:
                self._push(b"")
            if self._rest and time.monotonic() - self._moved > self._stall_s:
                raise Stalled
            return not self._rest

    def offer(self, data: bytes) -> None:
        """Send a message without waiting; what the socket does not take is held."""
        with self._lock:
            self._push(data)

    def send(self, data: bytes) -> None:
        """Send a message after what is held; waits while the socket is full, raises Stalled."""
        with self._lock:
            self._push(data)
            until = time.monotonic() + self._stall_s
            while self._rest:
                left = until - time.monotonic()
                if left <= 0:
                    raise Stalled
                select.select([], [self._socket], [], left)
                before = len(self._rest)
                self._push(b"")
                if len(self._rest) < before:
                    until = time.monotonic() + self._stall_s

    def _push(self, data: bytes) -> None:
        if data:
            self._rest = memoryview(bytes(self._rest) + data)
        if not self._rest:
            return
        try:
            sent = self._socket.send(self._rest, socket.MSG_DONTWAIT)
            self._moved = time.monotonic()
        except BlockingIOError:
            sent = 0
        self._rest = self._rest[sent:]


class Service:
    """A worker process from its first command to the end of its socket."""

    def __init__(self, connection: socket.socket, flag: mmap.mmap) -> None:
        self._socket = connection
        self._flag = flag
        self._out = Outbox(connection)
        self._lane: queue.Queue[tuple[int, Run | Forget]] = queue.Queue(_QUEUE_LIMIT)
        self._side: queue.Queue[tuple[int, Command]] = queue.Queue(_QUEUE_LIMIT)
        self._chat: ChatModel | None = None
        self._encoder: Encoder | None = None

    def serve(self) -> NoReturn:
        """Run until the socket ends; this thread generates the replies."""
        sys.excepthook = _die
        threading.excepthook = lambda fault: _die(
            fault.exc_type, fault.exc_value, fault.exc_traceback
        )
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        threading.Thread(target=self._work, name="side", daemon=True).start()
        while True:
            number, command = self._lane.get()
            if self._chat is None:
                raise ValueError("no chat model is loaded")
            if isinstance(command, Forget):
                self._chat.forget(command.conversations)
            else:
                self._send(number, self._chat.run(number, command, self._out))

    def _read(self) -> None:
        """Hand out commands; at the end of the socket nobody needs this process any more."""
        try:
            with self._socket.makefile("rb") as stream:
                while (message := _next(stream)) is not None:
                    number, command = message
                    if isinstance(command, Run | Forget):
                        self._lane.put((number, command))
                    else:
                        self._side.put((number, command))
        except OSError:
            pass
        self._end()

    def _work(self) -> None:
        """Do what must not wait for the running reply."""
        while True:
            number, command = self._side.get()
            try:
                event = self._answer(number, command)
            except Refused as error:
                event = Failed(str(error), error.short_of)
            if event is not None:
                self._send(number, event)

    def _answer(self, number: int, command: Command) -> Event | None:
        match command:
            case LoadChat() | LoadEncoder() if self._chat is not None or self._encoder is not None:
                raise Refused("this process holds a model already")
            case LoadChat():
                from runtime.llm.engine.worker.chat import ChatModel

                self._chat = ChatModel(command, self._flag)
                return self._chat.loaded
            case LoadEncoder():
                from runtime.llm.engine.worker import encoders

                self._encoder = encoders.load(command)
                return encoders.loaded(self._encoder)
            case Embed() | Fit() | Split():
                return self._encode(command)
        if self._chat is None:
            raise Refused("no model is loaded")
        match command:
            case Prepare():
                return self._chat.prepare(number, command)
            case Drop():
                self._chat.drop(command.job)
                return None
            case Open():
                self._chat.open(command)
            case Close():
                self._chat.close(command.engine)
            case Warm():
                self._chat.warm()
        return Ok()

    def _encode(self, command: Embed | Fit | Split) -> Event:
        if self._encoder is None:
            raise Refused("no model is loaded")
        from runtime.llm.engine.worker import encoders
        from runtime.llm.engine.worker.chunks import chunk

        match command:
            case Embed():
                return encoders.embed(self._encoder, command)
            case Fit():
                return encoders.fit(self._encoder, command)
            case Split():
                chunks = Chunks(chunk(command.text))
                size = sum(map(len, chunks.texts))
                if size * _MOST_JSON > MAX_HEAD and len(encode(0, chunks)) > MAX_HEAD:
                    raise Refused("the document is too long")
                return chunks

    def _send(self, number: int, event: Event) -> None:
        try:
            self._out.send(encode(number, event))
        except (OSError, Stalled):
            self._end()

    def _end(self) -> NoReturn:
        self._flag[0] = 1
        os._exit(0)


def _next(stream: BufferedReader) -> tuple[int, Command] | None:
    """The next command; None where the stream ends, within a message too."""
    prefix = stream.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    number, *sizes = lengths(prefix)
    head, body = (stream.read(size) for size in sizes)
    if [len(head), len(body)] != sizes:
        return None
    message = decode(head, body)
    if not isinstance(message, Command):
        raise ValueError("not a command")
    return number, message


def _die(
    kind: type[BaseException], fault: BaseException | None, where: TracebackType | None
) -> None:
    """End the process at once: the server then fails what waits and starts another."""
    traceback.print_exception(kind, fault, where)
    sys.stderr.flush()
    os._exit(BROKEN)
