"""Measures the figures of the language-model servers, each one for every server in turn."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from bench.llm_client import Failed, Message, Reply, Request, ask, assistant, get, prompt, user
from bench.llm_servers import ROOT, Kind, Launch, Memory, Note, Server, free_port

TURNS: Final = 10
TURN_TOKENS: Final = 54
"""Of the last turn; with the markup of the chat template it is about 62."""
EXCHANGE_TOKENS: Final = 108
"""Of each turn before it and its reply."""
LEFT_TOKENS: Final = 1500
LEFT_AFTER_S: Final = 0.4
STREAMS: Final = 64
PAUSE_S: Final = 0.005
FAILURES: Final = 2
"""Probes that may fail before the rest is not tried: each failure costs the probe's limit."""


class Speed(NamedTuple):
    """One streamed reply, in milliseconds: a token, its processor time, the first text.

    Neither of the first two counts the prompt.
    """

    token_ms: float
    cpu_ms: float
    first_ms: float


class Pace(NamedTuple):
    """What a token costs in the plain loop, in milliseconds."""

    wall_ms: float
    cpu_ms: float


class TurnTimes(NamedTuple):
    """First text of turn 10 with the conversation kept, and with all of it sent anew."""

    kept_ms: float
    whole_ms: float
    cached: int
    """Tokens of the kept one that the server says it did not compute again."""


class Left(NamedTuple):
    """First text of a short request in milliseconds: of an idle server, and after a client left."""

    idle_ms: float
    after_ms: float


class Probes(NamedTuple):
    """Answers of the health route, in milliseconds, beside open streams."""

    times_ms: list[float]
    failed: int
    streams: str


class Start(NamedTuple):
    """A start from nothing: seconds to ready and to the first text, and memory."""

    ready_s: float
    first_text_s: float
    alone: Memory
    loaded: Memory


Value = TypeVar("Value")


def speeds(
    servers: Sequence[Server],
    raw: Callable[[], Pace] | None,
    *,
    rounds: int,
    tokens: int,
    limit_s: float,
    note: Note,
) -> tuple[dict[str, list[Speed]], list[Pace]]:
    """Stream from every server in turn, *rounds* times; a first reply before it does not count."""
    found: dict[str, list[Speed]] = {server.kind.name: [] for server in servers}
    floor: list[Pace] = []
    well = [server for server in servers if _attempt(note, server, partial(_first_reply, server))]
    for number in range(rounds):
        for server in well:
            found[server.kind.name] += _attempt(
                note, server, partial(_speed, server, tokens, limit_s, number)
            )
        if raw is not None:
            floor.append(raw())
    return found, floor


def _first_reply(server: Server) -> Reply:
    """Makes the model ready; peers keep prompts, so this one is not asked again."""
    return ask(server.port, server.ask([user(prompt(24, -1))], 4))


def _speed(server: Server, tokens: int, limit_s: float, salt: int) -> Speed:
    asked = server.ask([user(prompt(24, salt))], tokens)
    reply = ask(server.port, asked, limit_s, server.meter())
    if reply.finished and reply.tokens != tokens:
        raise Failed(f"{reply.tokens} tokens where {tokens} were asked for")
    return Speed(reply.token_ms, reply.cpu_s * 1e3 / reply.later_tokens, reply.first_s * 1e3)


def floor_of(
    model: Path, *, tokens: int, threads: int, environment: Mapping[str, str]
) -> Callable[[], Pace]:
    """A measurement of the plain loop in a process of its own."""
    command = [sys.executable, "-m", "bench.llm_raw", str(model)]
    command += ["--tokens", str(tokens), "--threads", str(threads)]

    def run() -> Pace:
        done = subprocess.run(
            command, env={**environment}, cwd=ROOT, capture_output=True, timeout=120, check=True
        )
        return Pace(**json.loads(done.stdout))

    return run


def turns(server: Server, rounds: int, reply_tokens: int, note: Note) -> list[TurnTimes]:
    """Hold conversations of ten turns; the last turn is also asked as part of another one."""
    found: list[TurnTimes] = []
    for number in range(rounds):
        found += _attempt(note, server, partial(_turns, server, number, reply_tokens))
    return found


def _turns(server: Server, number: int, reply_tokens: int) -> TurnTimes:
    name = f"turns-{number}"
    size = EXCHANGE_TOKENS - reply_tokens
    history: list[Message] = []
    for turn in range(TURNS - 1):
        history.append(user(prompt(size, 1000 * number + turn)))
        reply = ask(server.port, server.ask(history, reply_tokens, name))
        history.append(assistant(reply.text))
    history.append(user(prompt(TURN_TOKENS, 1000 * number + TURNS)))
    kept = ask(server.port, server.ask(history, 4, name))
    other = [user(prompt(size, 1000 * number + 999)), *history[1:]]
    whole = ask(server.port, server.ask(other, 4))
    return TurnTimes(kept.first_s * 1e3, whole.first_s * 1e3, kept.cached)


def after_leaving(server: Server, rounds: int, note: Note) -> list[Left]:
    """Leave a server in prefill, again and again, and ask it something short at once."""
    found: list[Left] = []
    if _attempt(note, server, partial(_first_reply, server)):
        for number in range(rounds):
            found += _attempt(note, server, partial(_after_leaving, server, number))
    return found


def _after_leaving(server: Server, number: int) -> Left:
    idle = ask(server.port, server.ask([user(prompt(4, 100 + number))], 4))
    long = [user(prompt(LEFT_TOKENS, 500 + number))]
    with Request(server.port, server.ask(long, 8)):
        time.sleep(LEFT_AFTER_S)
    after = ask(server.port, server.ask([user(prompt(4, 200 + number))], 4))
    return Left(idle.first_s * 1e3, after.first_s * 1e3)


def probes(server: Server, *, count: int, tokens: int, note: Note) -> Probes:
    """Ask for the health again and again while streams are open; raises `Failed`."""
    _first_reply(server)
    seconds = 5 + count * PAUSE_S * 4 + FAILURES * 3
    with _load(server, tokens, seconds) as load:
        time.sleep(1.0)
        times: list[float] = []
        failed = 0
        for _ in range(count):
            try:
                status, spent = get(server.port, server.kind.health)
            except OSError as error:
                status, spent = 0, 0.0
                note(f"{server.kind.name}: probe: {error!r}")
            if status == 200:
                times.append(spent)
            else:
                failed += 1
            if failed >= FAILURES:
                break
            time.sleep(PAUSE_S)
        return Probes(times, failed, "open" if load.poll() is None else "ended early")


@contextlib.contextmanager
def _load(server: Server, tokens: int, seconds: float) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "bench.llm_load", str(server.port), server.model]
    command += ["--streams", str(STREAMS), "--tokens", str(tokens), "--seconds", f"{seconds:g}"]
    command += ["--field", server.kind.limit_field]
    load = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert load.stdout is not None
        if load.stdout.readline() != b"open\n":
            raise Failed("the streams could not be opened")
        yield load
    finally:
        load.kill()
        load.communicate()


def start(kind: Kind, model: Path, folder: Path, threads: int) -> Start:
    """Start a server, ask it once, and stop it; raises RuntimeError or `Failed`."""
    server = Server(kind, Launch(model, free_port(), folder, threads))
    try:
        ready_s = server.wait_ready()
        alone = server.memory()
        first_text_s = ready_s + ask(server.port, server.ask([user(prompt(16))], 8)).first_s
        return Start(ready_s, first_text_s, alone, server.memory())
    finally:
        server.stop()


def _attempt(note: Note, server: Server, measure: Callable[[], Value]) -> list[Value]:
    """One measured value, or none and a note when the server fails."""
    try:
        return [measure()]
    except (Failed, ValueError) as error:
        note(f"{server.kind.name}, {server.model}: {error} ({server.state})")
        return []
