"""Drives a real engine process over a socket pair, the way the server does."""

import mmap
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from runtime.llm.engine.protocol import (
    Command,
    Ended,
    Event,
    Failed,
    Load,
    Loaded,
    Ok,
    Open,
    Piece,
    Prepare,
    Prepared,
    Run,
    decode,
    encode,
)

ROOT = Path(__file__).resolve().parents[3]
Messages = Sequence[tuple[str, str]]
Kind = TypeVar("Kind", bound=Event)


@dataclass(frozen=True)
class Reply:
    """What a job gave."""

    pieces: list[Piece]
    ended: Ended

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class Worker:
    """One engine process; every wait for it ends after 30 seconds."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as flag:
            flag.write(b"\0\0")
            flag.flush()
            self.flag = mmap.mmap(flag.fileno(), 2)
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "runtime.llm.engine.worker"),
                    *("--socket", str(theirs.fileno()), "--flag", str(flag.fileno())),
                ],
                pass_fds=(theirs.fileno(), flag.fileno()),
                cwd=ROOT,
                env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},
                stderr=subprocess.PIPE,
            )
        theirs.close()
        self.socket = ours
        self.socket.settimeout(30)
        self._rest = b""
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
            self.flag.close()

    def number(self) -> int:
        self._number += 1
        return self._number

    def send(self, command: Command) -> None:
        self.socket.sendall(encode(command))

    def event(self) -> Event | None:
        """The next event; None: the process is gone."""
        while b"\n" not in self._rest:
            try:
                part = self.socket.recv(1 << 16)
            except ConnectionError:
                return None
            if not part:
                return None
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        event = decode(line)
        assert isinstance(event, Ok | Loaded | Failed | Prepared | Piece | Ended)
        return event

    def expect(self, kind: type[Kind]) -> Kind:
        event = self.event()
        assert isinstance(event, kind), event
        return event

    def load(self, path: Path, threads: int = 1) -> Loaded:
        self.send(Load(self.number(), str(path), 0, threads))
        return self.expect(Loaded)

    def open(self, budget: int = 1024, cells: int | None = None, engine: str = "e") -> None:
        self.send(Open(self.number(), engine, budget, cells or budget))
        self.expect(Ok)

    def prepare(self, messages: Messages, engine: str = "e") -> Prepared | Ended:
        job = self.number()
        self.send(Prepare(job, engine, [list(pair) for pair in messages]))
        event = self.event()
        assert isinstance(event, Prepared | Ended)
        return event

    def start(
        self,
        messages: Messages,
        conversation: str | None = None,
        *,
        temperature: float = 0.0,
        top_k: int = 40,
        seed: int = 1,
        max_output: int = 0,
        stop: Sequence[str] = (),
        engine: str = "e",
    ) -> int:
        """Prepare and run a job; the caller reads its events."""
        prepared = self.prepare(messages, engine)
        assert isinstance(prepared, Prepared), prepared
        self.flag[0] = 0
        run = Run(
            prepared.job, conversation, temperature, top_k, 0.95, seed, max_output, list(stop)
        )
        self.send(run)
        return prepared.job

    def finish(self) -> Reply:
        pieces: list[Piece] = []
        while isinstance(event := self.event(), Piece):
            pieces.append(event)
        assert isinstance(event, Ended), event
        return Reply(pieces, event)

    def ask(
        self,
        messages: Messages,
        conversation: str | None = None,
        *,
        temperature: float = 0.0,
        top_k: int = 40,
        seed: int = 1,
        max_output: int = 0,
        stop: Sequence[str] = (),
        engine: str = "e",
    ) -> Reply:
        self.start(
            messages,
            conversation,
            temperature=temperature,
            top_k=top_k,
            seed=seed,
            max_output=max_output,
            stop=stop,
            engine=engine,
        )
        return self.finish()


@contextmanager
def worker() -> Iterator[Worker]:
    """An engine process that has ended afterwards."""
    started = Worker()
    try:
        yield started
    finally:
        started.close()


@contextmanager
def engine(path: Path, budget: int = 1024, cells: int | None = None) -> Iterator[Worker]:
    """An engine process with a model and an open context."""
    with worker() as started:
        started.load(path)
        started.open(budget, cells)
        yield started
