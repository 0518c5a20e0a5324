"""The threads of a worker process: reading commands, executing them, generating replies."""

import contextlib
import os
import queue
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from io import BufferedReader
from types import TracebackType
from typing import TYPE_CHECKING, Final, NoReturn

from runtime.llm.engine.protocol import (
    PREFIX,
    Close,
    Command,
    Drop,
    Embed,
    EncoderLoaded,
    Ended,
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
    TextPiece,
    Warm,
    decode,
    encode,
    parse_lengths,
    take_connection,
)
from runtime.llm.engine.worker import resources
from runtime.llm.engine.worker.resources import Refused
from runtime.llm.inference import TokenLogprob

if TYPE_CHECKING:  # a process imports only what its model needs
    from runtime.llm.engine.worker.chatmodel import ChatModel
    from runtime.llm.engine.worker.encoders import Encoder

STALL_S: Final = 30
"""If the server reads nothing for this long, the process exits."""
BROKEN: Final = 70
"""Exit status after an internal error or an invalid message."""
_QUEUE_LIMIT: Final = 1024  # commands; the server then waits in its socket
PAUSE_S: Final = 0.02


class Outbox:
    """A socket to which several threads write whole events; if it fails, the process exits.

    The pieces of a step are sent together, at most every twenty milliseconds, which no reader
    notices: each message wakes the server on a computing core (measured on two: 0.6 of 13 ms per
    token).
    """

    def __init__(self, connection: socket.socket, stall_s: int = STALL_S) -> None:
        posix = os.name == "posix"
        patience = struct.pack("ll", stall_s, 0) if posix else struct.pack("L", 1000 * stall_s)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
        self._socket = connection
        self._lock = threading.Lock()
        self._held = bytearray()
        self._due = 0.0

    def send(self, number: int, event: Event) -> None:
        """Send an event, waiting while the socket is full."""
        self._write(encode(number, event))

    def hold(self, number: int, event: Event, *, soon: bool) -> None:
        """Keep an event for `flush`; only the generating thread calls these two."""
        self._held += encode(number, event)
        if soon:
            self._due = 0.0

    def flush(self) -> None:
        """Send the held events if they are due."""
        if self._held and (now := time.monotonic()) >= self._due:
            held, self._held, self._due = self._held, bytearray(), now + PAUSE_S
            self._write(held)

    def _write(self, data: bytes | bytearray) -> None:
        try:
            with self._lock:
                self._socket.sendall(data)
        except OSError:  # the server is gone, or has read nothing for `STALL_S`
            os._exit(0)


class Pieces:
    """Sends the pieces of a reply; the first and the last go out at once."""

    def __init__(self, number: int, out: Outbox) -> None:
        self._number, self._out = number, out
        self._begun = False

    def emit(self, text: str, tokens: int, logprobs: Sequence[TokenLogprob] = ()) -> None:
        """Send the next text."""
        is_first = bool(text) and not self._begun
        self._begun = self._begun or is_first
        self._out.hold(self._number, TextPiece(text, tokens, logprobs), soon=is_first)

    def end(self, ended: Ended) -> None:
        """Send the end."""
        self._out.hold(self._number, ended, soon=True)


class WorkerThreads:
    """A worker process from its first command to the end of its socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._out = Outbox(connection)
        self._lane: queue.Queue[tuple[int, Run | Forget]] = queue.Queue(_QUEUE_LIMIT)
        self._side: queue.Queue[tuple[int, Command]] = queue.Queue(_QUEUE_LIMIT)
        self._chat: ChatModel | None = None
        self._encoder: Encoder | None = None

    def serve(self) -> NoReturn:
        """Run until the socket ends; the calling thread generates the replies."""
        sys.excepthook = _die
        threading.excepthook = lambda fault: _die(
            fault.exc_type, fault.exc_value, fault.exc_traceback
        )
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        threading.Thread(target=self._work, name="side", daemon=True).start()
        while True:
            self._take()
            while self._chat is not None and self._chat.busy:
                self._out.flush()
                self._chat.step()
                while self._lane.qsize():
                    self._take()
            self._out.flush()

    def _take(self) -> None:
        """Wait for the next command of the generating thread and start it."""
        number, command = self._lane.get()
        if self._chat is None:
            raise ValueError("no chat model is loaded")
        if isinstance(command, Forget):
            self._chat.forget(command.conversations)
        else:
            self._chat.begin(command, Pieces(number, self._out))

    def _read(self) -> None:
        """Distribute commands; exit at the end of the socket."""
        with contextlib.suppress(OSError), self._socket.makefile("rb") as stream:
            while (message := _next(stream)) is not None:
                number, command = message
                wanted = None if self._chat is None else self._chat.wanted
                if wanted is not None and isinstance(command, Drop) and wanted.cancel(command.job):
                    continue
                if wanted is not None and isinstance(command, Run):
                    wanted.begin(command.job)
                if isinstance(command, Run | Forget):
                    self._lane.put((number, command))
                else:
                    self._side.put((number, command))
        os._exit(0)

    def _work(self) -> None:
        """Execute the commands that must not wait for a running reply."""
        while True:
            number, command = self._side.get()
            try:
                event = self._answer(number, command)
            except Refused as error:
                event = Failed(str(error), error.short_of)
            if event is not None:
                self._out.send(number, event)

    def _answer(self, number: int, command: Command) -> Event | None:
        match command:
            case LoadChat() | LoadEncoder() if self._chat is not None or self._encoder is not None:
                raise Refused("this process already has a model")
            case LoadChat():
                from runtime.llm.engine.worker.chatmodel import ChatModel

                self._chat = ChatModel(command)
                return self._chat.loaded
            case LoadEncoder():
                from runtime.llm.engine.worker import encoders

                self._encoder = encoders.load(command)
                return EncoderLoaded(self._encoder.width, self._encoder.max_tokens)
            case Embed() | Fit() | Split() if self._encoder is not None:
                from runtime.llm.engine.worker import encoders

                return encoders.answer(self._encoder, command)
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
            case _:
                raise Refused("no model is loaded")
        return Ok()


def _next(stream: BufferedReader) -> tuple[int, Command] | None:
    """Read the next command; None if the stream ends, even within a message."""
    prefix = stream.read(PREFIX.size)
    if len(prefix) < PREFIX.size:
        return None
    number, *sizes = parse_lengths(prefix)
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
    """Exit at once: the server fails pending requests and starts another process."""
    traceback.print_exception(kind, fault, where)
    sys.stderr.flush()
    os._exit(BROKEN)


def main() -> None:
    """Serve commands until the socket of this process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when to stop
    resources.set_limit("CORE", 0)  # a core dump would contain people's texts
    resources.prefer_oom_kill()
    resources.lower_priority(resources.CHAT_NICE)
    WorkerThreads(take_connection()).serve()
