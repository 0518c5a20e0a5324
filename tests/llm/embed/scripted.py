"""An encoder process that does what its texts say: `python -m tests.llm.embed.scripted FD`.

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

from runtime.llm.embed.process import EncoderProcess
from runtime.llm.embed.protocol import (
    LENGTHS,
    Chunks,
    Command,
    Embed,
    Embedded,
    Event,
    Failed,
    Fit,
    Load,
    Loaded,
    Split,
    decode,
    encode,
    lengths,
)

WIDTH = 4
MAX_TOKENS = 128
COMMAND = (sys.executable, "-m", "tests.llm.embed.scripted")


async def start() -> EncoderProcess:
    """Start one in place of the real process."""
    return await EncoderProcess.start(COMMAND)


def row(text: str) -> bytes:
    """The vector of a text; not of unit length, but its own."""
    return struct.pack("<4f", len(text), ord(text[:1] or " "), ord(text[-1:] or " "), 1)


def tokens(text: str) -> int:
    return min(len(text.split()) + 2, MAX_TOKENS)


def answer(command: Command) -> tuple[Event, bytes]:
    """What an encoder says."""
    match command:
        case Load(id=number):
            return Loaded(number, WIDTH, MAX_TOKENS), b""
        case Embed(id=number, texts=texts):
            cut = sum(len(text.split()) + 2 > MAX_TOKENS for text in texts)
            counts = [tokens(text) for text in texts]
            return Embedded(number, WIDTH, counts, cut), b"".join(map(row, texts))
        case Fit(id=number, texts=texts):
            return Chunks(number, texts), b""
        case Split(id=number, text=text):
            return Chunks(number, [part for part in text.split("\n\n") if part.strip()]), b""


def trick_of(command: Command) -> str:
    """The name of the trick that a command asks for, empty for none."""
    if isinstance(command, Load):
        texts = [Path(command.path).name]
    else:
        texts = [command.text] if isinstance(command, Split) else command.texts
    found = next((text for text in texts if text.startswith("!")), "!")
    return found[1:]


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
    "junk": lambda connection, number, data: connection.sendall(LENGTHS.pack(4, 0) + b"junk"),
    "number": lambda connection, number, data: connection.sendall(LENGTHS.pack(1, 0) + b"7"),
    "kindless": lambda c, number, data: c.sendall(LENGTHS.pack(11, 0) + b'["Nil",{}]\n'),
    "huge": lambda connection, number, data: connection.sendall(LENGTHS.pack(1 << 31, 0)),
    "half": lambda connection, number, data: half(connection, data),
    "slow": lambda connection, number, data: bit_by_bit(connection, data),
    "twice": lambda connection, number, data: connection.sendall(data + data),
    "other-id": lambda c, number, data: c.sendall(encode(Failed(number + 7, "late"))),
    "other-kind": lambda c, number, data: c.sendall(encode(Split(number, "text"))),
    "wider": lambda c, number, data: c.sendall(encode(Embedded(number, 8, [3], 0), bytes(32))),
    "shorter": lambda c, number, data: c.sendall(encode(Embedded(number, 4, [3], 0), bytes(12))),
    "fails": lambda c, number, data: c.sendall(encode(Failed(number, "it is too difficult"))),
    "no-width": lambda c, number, data: c.sendall(encode(Loaded(number, 0, 128))),
}


def play(connection: socket.socket, command: Command) -> None:
    """Answer a command, or do its trick; ``name@file`` is done only if *file* is not there yet."""
    data = encode(*answer(command))
    name, _, file = trick_of(command).partition("@")
    if file:
        name = "" if Path(file).exists() else name
        Path(file).touch()
    if name in TRICKS:
        TRICKS[name](connection, command.id, data)
    else:
        connection.sendall(data)


def serve(connection: socket.socket) -> None:
    """Answer until the socket ends."""
    with connection.makefile("rb") as stream:
        while prefix := stream.read(LENGTHS.size):
            head, body = lengths(prefix)
            command = decode(stream.read(head), stream.read(body)).message
            assert isinstance(command, Load | Embed | Split | Fit)
            play(connection, command)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
