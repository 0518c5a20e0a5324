"""What the server and an encoder process say to each other.

A message is two little-endian 32-bit lengths, then a JSON head ``[kind, fields]`` of the first
length, then raw bytes of the second: the vectors of an `Embedded`, nothing for the others.
"""

import struct
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import orjson

LENGTHS: Final = struct.Struct("<II")
MAX_HEAD: Final = 64 << 20
MAX_BODY: Final = 64 << 20
MAX_TEXTS: Final = 64
"""Texts of one `Embed` or `Fit`."""

Pooling = Literal["mean", "cls", "none"]


@dataclass(frozen=True)
class Load:
    """Read the model; the first command of a process, and the only one of its kind."""

    id: int
    path: str
    vocab: str | None
    """Of an ONNX model: one token a line."""
    threads: int
    pooling: Pooling | None
    """None: mean for ONNX, the file's own for GGUF."""
    max_seq: int | None
    """Longest input in tokens; None: the encoder's default."""


@dataclass(frozen=True)
class Embed:
    """Make a vector of each text; at most `MAX_TEXTS`."""

    id: int
    texts: list[str]


@dataclass(frozen=True)
class Split:
    """Cut a document into chunks, however many tokens they have."""

    id: int
    text: str


@dataclass(frozen=True)
class Fit:
    """Cut those of the chunks that are too long for the model together with *prefix*."""

    id: int
    texts: list[str]
    prefix: str = ""


@dataclass(frozen=True)
class Loaded:
    """The model is ready."""

    id: int
    width: int
    max_tokens: int
    """Longest input; what is behind is cut."""


@dataclass(frozen=True)
class Embedded:
    """The vectors, in the body: little-endian float32, one row a text."""

    id: int
    width: int
    tokens: list[int]
    truncated: int


@dataclass(frozen=True)
class Chunks:
    """Chunks in order; of a `Split` at least one for a text that is not blank."""

    id: int
    texts: list[str]


@dataclass(frozen=True)
class Failed:
    """The command failed; *reason* is text for a client: no path, no class name."""

    id: int
    reason: str


Command = Load | Embed | Split | Fit
Event = Loaded | Embedded | Chunks | Failed
Message = Command | Event


class Framed(NamedTuple):
    """A message with its raw bytes."""

    message: Message
    body: bytes = b""


_KINDS: Final[dict[str, type[Message]]] = {
    kind.__name__: kind for kind in (Load, Embed, Split, Fit, Loaded, Embedded, Chunks, Failed)
}


def encode(message: Message, body: bytes = b"") -> bytes:
    """The bytes of a message."""
    head = orjson.dumps([type(message).__name__, message])
    return LENGTHS.pack(len(head), len(body)) + head + body


def decode(head: bytes, body: bytes = b"") -> Framed:
    """The message of a head and a body; raises ValueError when it is none."""
    try:
        kind, fields = orjson.loads(head)
        return Framed(_KINDS[kind](**fields), body)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError("not a message of the encoder protocol") from error


def lengths(prefix: bytes) -> tuple[int, int]:
    """The lengths of head and body; raises ValueError for more than a message may have."""
    head, body = LENGTHS.unpack(prefix)
    if head > MAX_HEAD or body > MAX_BODY:
        raise ValueError("a message of the encoder protocol is too long")
    return head, body
