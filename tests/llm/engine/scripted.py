"""A worker process that does what its texts say: `python -m tests.llm.engine.scripted`.

A text, document or model path whose last part begins with ``!`` names a trick; all else is
answered as an encoder would, with vectors that can be worked out by hand.
"""

import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

from runtime.llm.engine.process import Worker
from runtime.llm.engine.protocol import (
    PREFIX,
    Chunks,
    Command,
    Embed,
    Embedded,
    EncoderLoaded,
    Event,
    Failed,
    Fit,
    LoadEncoder,
    Split,
    decode,
    encode,
    parse_lengths,
    take_connection,
)

WIDTH = 4
MAX_TOKENS = 128
COMMAND = (sys.executable, "-m", "tests.llm.engine.scripted")


async def start() -> Worker:
    """Start one in place of the real process."""
    return await Worker.start(COMMAND)


def row(text: str) -> bytes:
    """The vector of a text; not of unit length, but its own."""
    return struct.pack("<4f", len(text), ord(text[:1] or " "), ord(text[-1:] or " "), 1)


def tokens(text: str) -> int:
    return min(len(text.split()) + 2, MAX_TOKENS)


def answer(command: Command) -> Event:
    """What an encoder says."""
    match command:
        case LoadEncoder():
            return EncoderLoaded(WIDTH, MAX_TOKENS)
        case Embed(texts=texts):
            cut = sum(len(text.split()) + 2 > MAX_TOKENS for text in texts)
            return Embedded(WIDTH, [tokens(text) for text in texts], cut, b"".join(map(row, texts)))
        case Fit(texts=texts):
            return Chunks(texts)
        case Split(text=text):
            return Chunks([part for part in text.split("\n\n") if part.strip()])
    return Failed("this is not for an encoder")


def trick_of(command: Command) -> str:
    """The name of the trick that a command asks for, empty for none."""
    match command:
        case LoadEncoder(path=path):
            texts = [Path(path).name]
        case Embed(texts=texts) | Fit(texts=texts):
            pass
        case Split(text=text):
            texts = [text]
        case _:
            texts = []
    trick = next((text for text in texts if text.startswith("!")), "!")
    return trick[1:]


def crash() -> None:
    sys.stderr.write("something broke\n")
    sys.stderr.flush()
    os._exit(3)


def until_the_end(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass
    os._exit(0)


def bit_by_bit(connection: socket.socket, data: bytes) -> None:
    for at in range(0, len(data), 3):
        connection.sendall(data[at : at + 3])
        time.sleep(0.001)


def half(connection: socket.socket, data: bytes) -> None:
    connection.sendall(data[: len(data) // 2])
    os._exit(0)


Trick = Callable[[socket.socket, int, bytes], object]
TRICKS: dict[str, Trick] = {
    "crash": lambda connection, number, data: crash(),
    "silent": lambda connection, number, data: until_the_end(connection),
    "stubborn": lambda connection, number, data: time.sleep(600),
    "garbage": lambda connection, number, data: connection.sendall(b"\xff" * 100),
    "junk": lambda c, number, data: c.sendall(PREFIX.pack(number, 4, 0) + b"junk"),
    "number": lambda c, number, data: c.sendall(PREFIX.pack(number, 1, 0) + b"7"),
    "kindless": lambda c, number, data: c.sendall(PREFIX.pack(number, 10, 0) + b'["Nil",{}]'),
    "huge": lambda c, number, data: c.sendall(PREFIX.pack(number, 1 << 31, 0)),
    "half": lambda connection, number, data: half(connection, data),
    "slow": lambda connection, number, data: bit_by_bit(connection, data),
    "twice": lambda connection, number, data: connection.sendall(data + data),
    "other-id": lambda c, number, data: c.sendall(encode(number + 7, Failed("late"))),
    "other-kind": lambda c, number, data: c.sendall(encode(number, Split("text"))),
    "wider": lambda c, n, data: c.sendall(encode(n, Embedded(8, [3], 0, bytes(32)))),
    "shorter": lambda c, n, data: c.sendall(encode(n, Embedded(4, [3], 0, bytes(12)))),
    "fails": lambda c, number, data: c.sendall(encode(number, Failed("it is too difficult"))),
}


def play(connection: socket.socket, number: int, command: Command) -> None:
    """Answer a command, or do its trick; ``name@file`` is done only if *file* is not there yet."""
    data = encode(number, answer(command))
    name, _, file = trick_of(command).partition("@")
    if file:
        name = "" if Path(file).exists() else name
        Path(file).touch()
    if name in TRICKS:
        TRICKS[name](connection, number, data)
    else:
        connection.sendall(data)


def serve(connection: socket.socket) -> None:
    """Answer until the socket ends."""
    with connection.makefile("rb") as stream:
        while prefix := stream.read(PREFIX.size):
            number, head, body = parse_lengths(prefix)
            command = decode(stream.read(head), stream.read(body))
            assert isinstance(command, Command)
            play(connection, number, command)


if __name__ == "__main__":
    serve(take_connection())
