"""A chat client that measures: when text came, how much of it, and what the server counted."""

import contextlib
import http.client
import json
import random
import re
import socket
import time
from collections.abc import Callable, Iterable, Sequence
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
    def token_ms(self) -> float:
        """Milliseconds between two tokens; raises ValueError when there are not two."""
        if self.tokens < 2:
            raise ValueError("a reply of one token has no speed")
        return (self.last_s - self.first_s) * 1e3 / (self.tokens - 1)


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


def reply_of(chunks: Iterable[tuple[float, bytes]]) -> Reply:
    """A reply from what was read and when; raises `Failed` when it holds an error or no text."""
    events = Events()
    pieces: list[str] = []
    first = last = None
    cached, finished = 0, False
    for at, chunk in chunks:
        for data in events.feed(chunk):
            if data == "[DONE]":
                finished = True
                continue
            frame = json.loads(data)
            if "error" in frame:
                raise Failed(str(frame["error"])[:200])
            text = _content(frame)
            if text:
                pieces.append(text)
                first, last = at if first is None else first, at
            details = (frame.get("usage") or {}).get("prompt_tokens_details") or {}
            cached = details.get("cached_tokens") or cached
    if first is None or last is None:
        raise Failed("the reply had no text")
    return Reply("".join(pieces), first, last, cached, finished)


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
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=limit_s)
        self._ask = ask
        self._sent = 0.0

    def __enter__(self) -> "Request":
        headers = {"Content-Type": "application/json", "User-Agent": "bench/1"}
        try:
            self._link.connect()
            sock = self._link.sock
            assert isinstance(sock, socket.socket)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            body = self._ask.body()
            self._sent = time.perf_counter()
            self._link.request("POST", "/v1/chat/completions", body, headers)
        except OSError as error:
            self._link.close()
            raise Failed(f"the server does not answer: {error}") from error
        return self

    def __exit__(self, *_exc: object) -> None:
        self._link.close()

    def read(self) -> Reply:
        """Read to the end, or until the limit; raises `Failed`."""
        chunks: list[tuple[float, bytes]] = []
        began: float | None = None
        until = self._sent + self._limit_s
        try:
            with contextlib.closing(self._link.getresponse()) as response:
                if response.status != http.client.OK:
                    raise Failed(f"status {response.status}: {response.read(300)!r}")
                while time.perf_counter() < until and (chunk := response.read1(65536)):
                    chunks.append((time.perf_counter() - self._sent, chunk))
                    if began is None and TEXT.search(chunk):
                        began = self._meter()
        except TimeoutError:
            if not chunks:
                raise Failed(f"no text in {self._limit_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            raise Failed(f"the server broke off: {error!r}") from error
        spent = self._meter() - began if began is not None else 0.0
        return reply_of(chunks)._replace(cpu_s=spent)


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
    chooser = random.Random(salt)
    return "".join(f" {chooser.choice(SYLLABLES)}" for _ in range(tokens))


def user(text: str) -> Message:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    """A message of the model."""
    return {"role": "assistant", "content": text}
