"""The threads of an encoder process: one answers commands, one reads them, one watches the end."""

import os
import queue
import select
import socket
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Final, NoReturn

from runtime.llm.embed.protocol import (
    LENGTHS,
    MAX_HEAD,
    MAX_TEXTS,
    Chunks,
    Command,
    Embed,
    Embedded,
    Event,
    Failed,
    Fit,
    Load,
    Loaded,
    Message,
    Split,
    decode,
    encode,
    lengths,
)
from runtime.llm.embed.worker.encoding import Encoder, Refused
from runtime.llm.engine.worker import resources

BROKEN: Final = 70
"""Exit status after a fault of ours, or a message that is none."""
_AHEAD: Final = 2  # commands that are read while one is answered
_MOST_JSON: Final = 6  # bytes of a character, quotes and commas left aside
_ONNX_MEMORY: Final = 2  # times the file: it is read whole before the weights are laid out


class Service:
    """An encoder process from its first command to the end of its socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._commands: queue.Queue[Command] = queue.Queue(_AHEAD)
        self._encoder: Encoder | None = None

    def serve(self) -> NoReturn:
        """Answer commands in their order; the process ends with the socket."""
        sys.excepthook = _die
        threading.excepthook = lambda fault: _die(
            fault.exc_type, fault.exc_value, fault.exc_traceback
        )
        threading.Thread(target=self._watch, name="watcher", daemon=True).start()
        threading.Thread(target=self._read, name="reader", daemon=True).start()
        while True:
            event, body = self._answer(self._commands.get())
            try:
                self._socket.sendall(encode(event, body))
            except OSError:
                os._exit(0)

    def _watch(self) -> None:
        """End the process when the other side has closed, whatever is still to be read."""
        poll = select.poll()
        poll.register(self._socket, 0)  # a hang-up is reported without being asked for
        poll.poll()
        os._exit(0)

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as stream:
                while (message := _next(stream)) is not None:
                    if not isinstance(message, Load | Embed | Split | Fit):
                        raise ValueError("not a command")
                    self._commands.put(message)
        except OSError:
            pass
        os._exit(0)

    def _answer(self, command: Command) -> tuple[Event, bytes]:
        try:
            if isinstance(command, Load):
                return self._load(command), b""
            if self._encoder is None:
                raise Refused("no model is loaded")
            if isinstance(command, Embed):
                return _embed(self._encoder, command)
            if isinstance(command, Fit):
                return _fit(self._encoder, command), b""
            return _split(command), b""
        except Refused as error:
            return Failed(command.id, str(error)), b""

    def _load(self, command: Load) -> Loaded:
        if self._encoder is not None:
            raise Refused("this process holds a model already")
        self._encoder = _encoder(command)
        return Loaded(command.id, self._encoder.width, self._encoder.max_tokens)


def _next(stream: BinaryIO) -> Message | None:
    """The next message; None where the stream ends, within a message too."""
    prefix = stream.read(LENGTHS.size)
    if len(prefix) < LENGTHS.size:
        return None
    sizes = lengths(prefix)
    head, body = (stream.read(size) for size in sizes)
    if (len(head), len(body)) != sizes:
        return None
    return decode(head, body).message


def _encoder(command: Load) -> Encoder:
    """The encoder for a file; an engine is imported only for files that need it."""
    path = Path(command.path)
    try:
        if not path.is_file():  # a pipe would be waited for
            raise Refused("the file cannot be read")
        size = path.stat().st_size
        with path.open("rb") as file:
            is_gguf = file.read(4) == b"GGUF"
    except (OSError, ValueError):
        raise Refused("the file cannot be read") from None
    needed = size if is_gguf else _ONNX_MEMORY * size
    if reason := resources.shortage(needed, resources.free_bytes()):
        raise Refused(reason)
    if is_gguf:
        from runtime.llm.embed.worker.llama import LlamaEncoder

        return LlamaEncoder(
            command.path,
            threads=command.threads,
            pooling=command.pooling,
            max_seq=command.max_seq,
        )
    return _onnx_encoder(command)


def _onnx_encoder(command: Load) -> Encoder:
    if command.vocab is None:
        raise Refused("an ONNX model needs a vocabulary file beside it")
    from runtime.llm.embed.worker.onnx import OnnxEncoder
    from runtime.llm.embed.worker.wordpiece import WordPieces, read_vocabulary

    return OnnxEncoder(
        command.path,
        WordPieces(read_vocabulary(command.vocab)),
        threads=command.threads,
        pooling=command.pooling,
        max_seq=command.max_seq,
    )


def _embed(encoder: Encoder, command: Embed) -> tuple[Embedded, bytes]:
    if not 1 <= len(command.texts) <= MAX_TEXTS:
        raise Refused(f"1 to {MAX_TEXTS} texts can be embedded at a time")
    data, tokens, truncated = encoder.embed(command.texts)
    return Embedded(command.id, encoder.width, tokens, truncated), data


def _fit(encoder: Encoder, command: Fit) -> Chunks:
    from runtime.llm.embed.chunks import fitted

    if len(command.texts) > MAX_TEXTS:
        raise Refused(f"{MAX_TEXTS} texts at most can be fitted at a time")
    prefix, longest = command.prefix, encoder.max_tokens
    if encoder.count(prefix) >= longest:
        raise Refused("the model's prefix for documents leaves no room for a text")
    return Chunks(
        command.id, fitted(command.texts, lambda text: encoder.count(prefix + text) <= longest)
    )


def _split(command: Split) -> Chunks:
    from runtime.llm.embed.chunks import chunk

    chunks = chunk(command.text)
    answer = Chunks(command.id, chunks)
    size = sum(map(len, chunks))
    if size * _MOST_JSON > MAX_HEAD and len(encode(answer)) > MAX_HEAD:
        raise Refused("the document is too long")
    return answer


def _die(
    kind: type[BaseException], fault: BaseException | None, where: TracebackType | None
) -> None:
    """End the process at once: the server then fails the command and starts another."""
    traceback.print_exception(kind, fault, where)
    sys.stderr.flush()
    os._exit(BROKEN)
