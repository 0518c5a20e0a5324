"""Drives a real encoder process over a socket pair, the way the server does."""

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from runtime.llm.embed.protocol import (
    LENGTHS,
    MAX_TEXTS,
    Chunks,
    Command,
    Embed,
    Embedded,
    Event,
    Failed,
    Fit,
    Framed,
    Load,
    Loaded,
    Pooling,
    Split,
    decode,
    encode,
    lengths,
)

ROOT = Path(__file__).resolve().parents[4]
Kind = TypeVar("Kind", bound=Event)


class Encoder:
    """One encoder process; every wait for it ends after 30 seconds."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "runtime.llm.embed.worker", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            cwd=ROOT,
            env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
            stderr=subprocess.PIPE,
        )
        theirs.close()
        self.socket = ours
        self.socket.settimeout(30)
        self._number = 0

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            if self.process.stderr:
                self.process.stderr.close()

    def number(self) -> int:
        self._number += 1
        return self._number

    def send(self, command: Command) -> None:
        self.socket.sendall(encode(command))

    def framed(self) -> Framed | None:
        """The next event and its body; None: the process is gone."""
        prefix = self._take(LENGTHS.size)
        if not prefix:
            return None
        head, body = lengths(prefix)
        return decode(self._take(head), self._take(body))

    def _take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionError:
                part = b""
            if not part:
                assert not data, "the process ended within a message"
                break
            data += part
        return bytes(data)

    def expect(self, kind: type[Kind]) -> tuple[Kind, bytes]:
        framed = self.framed()
        assert framed is not None, "the process is gone"
        assert isinstance(framed.message, kind), framed.message
        return framed.message, framed.body

    def load(
        self,
        path: Path,
        vocab: Path | None = None,
        *,
        threads: int = 1,
        pooling: Pooling | None = None,
        max_seq: int | None = None,
    ) -> Loaded | Failed:
        """Load a model; without *vocab* the one beside an ONNX file."""
        if vocab is None and path.suffix == ".onnx":
            vocab = path.with_name(f"{path.stem}-vocab.txt")
        words = None if vocab is None else str(vocab)
        self.send(Load(self.number(), str(path), words, threads, pooling, max_seq))
        framed = self.framed()
        assert framed is not None, "the process is gone"
        assert isinstance(framed.message, Loaded | Failed)
        return framed.message

    def embed(self, texts: Sequence[str]) -> tuple[Embedded, list[list[float]]]:
        """The answer and its vectors."""
        self.send(Embed(self.number(), list(texts)))
        embedded, body = self.expect(Embedded)
        return embedded, [list(row) for row in struct.iter_unpack(f"<{embedded.width}f", body)]

    def split(self, text: str, prefix: str = "") -> list[str]:
        """The chunks of a document, none too long for the model."""
        self.send(Split(self.number(), text))
        chunks = self.expect(Chunks)[0].texts
        fitted: list[str] = []
        for at in range(0, len(chunks), MAX_TEXTS):
            self.send(Fit(self.number(), chunks[at : at + MAX_TEXTS], prefix))
            fitted += self.expect(Chunks)[0].texts
        return fitted

    def failure(self, command: Command) -> str:
        """What the process says to a command that it cannot do."""
        self.send(command)
        return self.expect(Failed)[0].reason


@contextmanager
def encoder() -> Iterator[Encoder]:
    """An encoder process that has ended afterwards."""
    started = Encoder()
    try:
        yield started
    finally:
        started.close()


@contextmanager
def loaded(path: Path, *, pooling: Pooling | None = None) -> Iterator[Encoder]:
    """An encoder process that holds a model."""
    with encoder() as started:
        answer = started.load(path, pooling=pooling)
        assert isinstance(answer, Loaded), answer
        yield started
