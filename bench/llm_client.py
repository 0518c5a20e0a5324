"""A chat client that measures: when text came, how much of it, and what the server counted."""

import http
import json
import random
import re
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from bench.llm_models import SYLLABLES

Message = dict[str, str]

LIMIT_S: Final = 60.0
"""How long a reply may keep the bench waiting; what came until then counts."""
PROBE_LIMIT_S: Final = 3.0
TEXT: Final = re.compile(rb'"content": ?"[^"]')
"""What the first chunk with text has and the frame before it, which only names a role, has not."""
Meter = Callable[[], float]
"""Seconds of processor time so far."""


class Ask(NamedTuple):
    """A streamed chat request of which exactly *tokens* are to be generated."""

    model: str
    messages: Sequence[Message]
    tokens: int
    session: str | None = None
    limit_field: str = "max_completion_tokens"
    """What the server calls the limit on generated tokens."""

    def body(self) -> bytes:
        """The request as JSON."""
        fields: dict[str, object] = {
            "model": self.model,
            "messages": list(self.messages),
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
            self.limit_field: self.tokens,
        }
        if self.session is not None:
            fields["session_id"] = self.session
        return json.dumps(fields).encode()


class Reply(NamedTuple):
    """A reply as a client saw it; times are seconds from the moment the request was sent."""

    text: str
    first_s: float
    last_s: float
    first_tokens: int
    """Tokens that were there at the first look: more than one when the client was late."""
    cached: int
    finished: bool
    """False: the bench stopped waiting."""
    cpu_s: float = 0.0
    """What the meter of the request counted from the first text to the end."""

    @property
    def tokens(self) -> int:
        """Generated tokens, counted in the text: each is a word with a space before it."""
        return self.text.count(" ")

    @property
    def later_tokens(self) -> int:
        """Tokens behind the first look; raises ValueError when they are too few to be timed."""
        later = self.tokens - self.first_tokens
        if later < max(1, self.tokens / 2):
            raise ValueError("the client came too late to see the speed")
        return later

    @property
    def token_ms(self) -> float:
        """Milliseconds of a token."""
        return (self.last_s - self.first_s) * 1e3 / self.later_tokens


class Unchunked:
    """Takes the HTTP head and the chunk sizes out of an answer, however it was cut into reads."""

    def __init__(self) -> None:
        self.status = 0
        self._rest = b""
        self._left = -1
        """Bytes of the chunk that are to come; -1: its size comes next, or the head."""
        self._chunked = False

    def feed(self, data: bytes) -> bytes:
        """The part of the body in these bytes."""
        self._rest += data
        if not self.status:
            head, found, rest = self._rest.partition(b"\r\n\r\n")
            if not found:
                return b""
            self.status = int(head.split(b" ", 2)[1])
            self._chunked = b"transfer-encoding: chunked" in head.lower()
            self._rest = rest
        if not self._chunked:
            body, self._rest = self._rest, b""
            return body
        return b"".join(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        while self._rest:
            if self._left < 0:
                size, found, rest = self._rest.partition(b"\r\n")
                if not found:
                    return
                self._left, self._rest = int(size, 16) + 2, rest
            part, self._rest = self._rest[: self._left], self._rest[self._left :]
            self._left -= len(part)
            # the two bytes behind a chunk may be in the next read
            yield part[: len(part) - max(0, 2 - self._left)] if self._left < 2 else part
            if not self._left:
                self._left = -1


class Events:
    """Cuts a stream of Server-Sent Events into the data of its events; comments are dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        """The events that are complete now."""
        joined = (self._rest + chunk).replace(b"\r\n", b"\n")
        *whole, self._rest = joined.split(b"\n\n")
        return [text for event in whole if (text := _data(event)) is not None]


def _data(event: bytes) -> str | None:
    lines = [line[5:] for line in event.decode().split("\n") if line.startswith("data:")]
    return "\n".join(line.removeprefix(" ") for line in lines) if lines else None


class Failed(Exception):
    """The server answered with an error, or broke off."""


def reply_of(reads: Iterable[tuple[float, bytes]]) -> Reply:
    """A reply from what was read and when; raises `Failed` when it holds an error or no text."""
    answer, events = Unchunked(), Events()
    pieces: list[str] = []
    first = last = None
    first_tokens, cached, finished = 0, 0, False
    for at, data in reads:
        body = answer.feed(data)
        if answer.status not in (0, http.HTTPStatus.OK):
            raise Failed(f"status {answer.status}: {body[:200]!r}")
        for event in events.feed(body):
            if event == "[DONE]":
                finished = True
                continue
            frame = json.loads(event)
            if "error" in frame:
                raise Failed(str(frame["error"])[:200])
            if text := _content(frame):
                pieces.append(text)
                first, last = at if first is None else first, at
                first_tokens += text.count(" ") if at == first else 0
            details = (frame.get("usage") or {}).get("prompt_tokens_details") or {}
            cached = details.get("cached_tokens") or cached
    if first is None or last is None:
        raise Failed("the reply had no text")
    return Reply("".join(pieces), first, last, first_tokens, cached, finished)


def _content(frame: dict[str, list[dict[str, dict[str, str]]]]) -> str:
    choices = frame.get("choices") or []
    return choices[0]["delta"].get("content") or "" if choices else ""


class Request:
    """A chat request under way; leaving the block closes its connection, however far it is."""

    def __init__(
        self, port: int, ask: Ask, limit_s: float = LIMIT_S, meter: Meter = lambda: 0.0
    ) -> None:
        self._limit_s = limit_s
        self._meter = meter
        body = ask.body()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            "Content-Type: application/json\r\nUser-Agent: bench/1\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            self._link = socket.create_connection(("127.0.0.1", port), limit_s)
        except OSError as error:
            raise Failed(f"the server does not answer: {error}") from error
        self._sent = time.perf_counter()
        self._link.sendall(head.encode() + body)

    def __enter__(self) -> "Request":
        return self

    def __exit__(self, *_exc: object) -> None:
        self._link.close()

    def read(self) -> Reply:
        """Read to the end, or until the limit; raises `Failed`."""
        reads: list[tuple[float, bytes]] = []
        began: float | None = None
        try:
            while (left := self._sent + self._limit_s - time.perf_counter()) > 0:
                self._link.settimeout(left)
                data = self._link.recv(1 << 20)
                if not data:
                    break
                reads.append((time.perf_counter() - self._sent, data))
                if began is None and TEXT.search(data):
                    began = self._meter()
                if b"[DONE]" in data[-64:]:
                    break
        except TimeoutError:
            if not reads:
                raise Failed(f"no answer in {self._limit_s:g} s") from None
        except OSError as error:
            raise Failed(f"the server broke off: {error}") from error
        spent = self._meter() - began if began is not None else 0.0
        return reply_of(reads)._replace(cpu_s=spent)


def ask(port: int, request: Ask, limit_s: float = LIMIT_S, meter: Meter = lambda: 0.0) -> Reply:
    """Send a request and read its reply; raises `Failed`."""
    with Request(port, request, limit_s, meter) as under_way:
        return under_way.read()


def get(port: int, path: str, limit_s: float = PROBE_LIMIT_S) -> tuple[int, float]:
    """Status and milliseconds of a GET on a new connection; raises OSError."""
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    started = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=limit_s) as link:
        link.sendall(head.encode())
        answer = link.recv(65536)
        spent = (time.perf_counter() - started) * 1e3
    if not answer:
        raise ConnectionResetError("closed without an answer")
    return int(answer.split(b" ", 2)[1]), spent


def prompt(tokens: int, salt: int = 0) -> str:
    """A text of exactly *tokens* tokens for the models here, another one for another *salt*."""
    chooser = random.Random(f"{salt}")  # as a number its sign would not count
    return "".join(f" {chooser.choice(SYLLABLES)}" for _ in range(tokens))


def user(text: str) -> Message:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """A message of the model."""
    return {"role": "assistant", "content": text}
