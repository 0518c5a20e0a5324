"""Drives a real worker process over a socket pair, the way the server does."""

import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runtime.llm.engine.process import COMMAND, environment
from runtime.llm.engine.protocol import (
    MAX_TEXTS,
    PREFIX,
    ChatLoaded,
    Chunks,
    Command,
    Drop,
    Embed,
    Embedded,
    EncoderLoaded,
    Ended,
    Event,
    Failed,
    Fit,
    Handover,
    LoadChat,
    LoadEncoder,
    Ok,
    Open,
    Pooling,
    Prepare,
    Prepared,
    Run,
    Split,
    TextPiece,
    decode,
    encode,
    parse_lengths,
)
from runtime.llm.inference import Sampling
from runtime.llm.messages import ChatMessage

ROOT = Path(__file__).resolve().parents[3]
Messages = Sequence[tuple[str, str]]
Kind = TypeVar("Kind", bound=Event)


def spoken(messages: Messages) -> list[ChatMessage]:
    """Pairs of role and content as templates read them."""
    return [ChatMessage(role=role, content=content) for role, content in messages]


@dataclass(frozen=True)
class Reply:
    """What a prompt gave."""

    pieces: list[TextPiece]
    ended: Ended

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)


class Worker:
    """One worker process; every wait for it ends after 30 seconds."""

    def __init__(self, command: Sequence[str] = COMMAND) -> None:
        with Handover() as given:
            self.process = subprocess.Popen(
                command,
                stdin=given.stdin,
                cwd=ROOT,
                env={**environment(), "PYTHONPATH": str(ROOT)},
                stderr=subprocess.PIPE,
            )
        self.socket = given.ours
        self.socket.settimeout(30)
        self.answered = 0
        """Number of the command that the last event answered."""
        self._number = 0
        self._job = 0

    def close(self) -> None:
        self.socket.close()
        try:
            self.process.wait(30)
        finally:
            self.process.kill()
            self.process.wait()
            if self.process.stderr:
                self.process.stderr.close()

    def send(self, command: Command) -> int:
        """Send a command; its number."""
        self._number += 1
        self.socket.sendall(encode(self._number, command))
        return self._number

    def event(self) -> Event | None:
        """The next event; None: the process is gone."""
        prefix = self._take(PREFIX.size)
        if not prefix:
            return None
        self.answered, head, body = parse_lengths(prefix)
        event = decode(self._take(head), self._take(body))
        assert isinstance(event, Event)
        return event

    def _take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionError:
                part = b""
            if not part:
                break
            data += part
        return bytes(data)

    def expect(self, kind: type[Kind]) -> Kind:
        event = self.event()
        assert isinstance(event, kind), event
        return event

    def failure(self, command: Command) -> str:
        """What the process says to a command that it cannot do."""
        self.send(command)
        return self.expect(Failed).reason

    # --- a chat model

    def load(self, path: Path, threads: int = 1, parallel: int = 1) -> ChatLoaded:
        self.send(LoadChat(str(path), 0, threads, parallel=parallel))
        return self.expect(ChatLoaded)

    def open(self, budget: int = 1024, cells: int | None = None, engine: str = "e") -> None:
        self.send(Open(engine, budget, cells or budget, 4))
        self.expect(Ok)

    def prepare(
        self, messages: Messages, engine: str = "e", sampling: Sampling | None = None
    ) -> Prepared | Failed:
        grammar, trigger = (sampling.grammar, sampling.grammar_trigger) if sampling else ("", "")
        self.send(Prepare(engine, spoken(messages), grammar=grammar, trigger=trigger))
        event = self.event()
        assert isinstance(event, Prepared | Failed)
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
        client: str = "",
        sampling: Sampling | None = None,
    ) -> int:
        """Prepare and run a prompt; the caller reads its events, which have the answered number."""
        sampling = sampling or Sampling(temperature, top_k, 0.95, seed)
        prepared = self.prepare(messages, engine, sampling)
        assert isinstance(prepared, Prepared), prepared
        self._job = prepared.job
        return self.send(
            Run(
                prepared.job,
                conversation,
                sampling,
                max_output,
                list(stop),
                is_session=conversation is not None and not client,
                client=client,
            )
        )

    def abort(self) -> None:
        """Cancel the reply that was started last."""
        self.send(Drop(self._job))

    def finish(self) -> Reply:
        pieces: list[TextPiece] = []
        while isinstance(event := self.event(), TextPiece):
            pieces.append(event)
        assert isinstance(event, Ended), event
        return Reply(pieces, event)

    def ask(self, messages: Messages, conversation: str | None = None, **options: Any) -> Reply:
        """Prepare and run a prompt to its end; the options are those of `start`."""
        self.start(messages, conversation, **options)
        return self.finish()

    # --- an encoder

    def load_encoder(
        self, path: Path, vocab: Path | None = None, *, max_seq: int | None = None
    ) -> EncoderLoaded | Failed:
        """Load an encoder; without *vocab* the one beside an ONNX file."""
        self.send(load_command(path, vocab, max_seq=max_seq))
        event = self.event()
        assert isinstance(event, EncoderLoaded | Failed)
        return event

    def embed(self, texts: Sequence[str]) -> tuple[Embedded, list[list[float]]]:
        """The answer and its vectors."""
        self.send(Embed(list(texts)))
        embedded = self.expect(Embedded)
        return embedded, rows(embedded)

    def split(self, text: str, prefix: str = "") -> list[str]:
        """The chunks of a document, none too long for the model."""
        self.send(Split(text))
        chunks = self.expect(Chunks).texts
        fitted: list[str] = []
        for at in range(0, len(chunks), MAX_TEXTS):
            self.send(Fit(chunks[at : at + MAX_TEXTS], prefix))
            fitted += self.expect(Chunks).texts
        return fitted


def rows(embedded: Embedded) -> list[list[float]]:
    """The vectors of an answer."""
    return [list(row) for row in struct.iter_unpack(f"<{embedded.width}f", embedded.vectors)]


def load_command(
    path: Path,
    vocab: Path | None = None,
    *,
    pooling: Pooling | None = None,
    max_seq: int | None = None,
) -> LoadEncoder:
    """The command that loads an encoder; without *vocab* the one beside an ONNX file."""
    if vocab is None and path.suffix == ".onnx":
        vocab = path.with_name(f"{path.stem}-vocab.txt")
    return LoadEncoder(str(path), None if vocab is None else str(vocab), 1, pooling, max_seq)


@contextmanager
def worker() -> Iterator[Worker]:
    """A worker process that has ended afterwards."""
    started = Worker()
    try:
        yield started
    finally:
        started.close()


@contextmanager
def engine(
    path: Path, budget: int = 1024, cells: int | None = None, parallel: int = 1
) -> Iterator[Worker]:
    """A worker process with a chat model and an open context."""
    with worker() as started:
        started.load(path, parallel=parallel)
        started.open(budget, cells)
        yield started


@contextmanager
def encoder(path: Path) -> Iterator[Worker]:
    """A worker process that holds an encoder."""
    with worker() as started:
        answer = started.load_encoder(path)
        assert isinstance(answer, EncoderLoaded), answer
        yield started
