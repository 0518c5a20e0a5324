"""The values that pass between encoders and those who ask them; plain data, no NumPy."""

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

Purpose = Literal["query", "document"]
"""What a text is embedded for: some models want another prefix for each."""

FLOAT: Final = 4
"""Bytes of a number of a vector."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """One unit vector a text, in the order of the texts."""

    width: int
    """Numbers a vector."""
    data: bytes
    """Little-endian float32, row after row: ``len(self) * width * 4`` bytes."""
    tokens: tuple[int, ...]
    """Tokens of each text that the model saw: special ones counted, padding not."""
    truncated: int = 0
    """How many of the texts were cut at the model's longest input."""

    def __len__(self) -> int:
        return len(self.tokens)

    def row(self, number: int) -> bytes:
        """The bytes of one vector."""
        size = self.width * FLOAT
        return self.data[number * size : (number + 1) * size]

    def floats(self, number: int) -> list[float]:
        """The numbers of one vector."""
        return _numbers(self.row(number)).tolist()

    def shortened(self, width: int) -> "Vectors":
        """The first *width* numbers of each vector, of unit length again."""
        rows = [_unit(_numbers(self.row(at))[:width]) for at in range(len(self))]
        return Vectors(width, b"".join(map(_bytes, rows)), self.tokens, self.truncated)


class Passages(NamedTuple):
    """A document cut into chunks, each with its vector."""

    texts: tuple[str, ...]
    vectors: Vectors


def joined(parts: Sequence[tuple[Sequence[int], Vectors]]) -> Vectors:
    """The vectors of several batches in the order of the whole; each part says where its rows go.

    Raises ValueError for no parts, or parts of different widths.
    """
    width, *others = {vectors.width for _, vectors in parts}
    if others:
        raise ValueError("the parts have different widths")
    total = sum(len(places) for places, _ in parts)
    rows, tokens = [b""] * total, [0] * total
    for places, vectors in parts:
        for number, place in enumerate(places):
            rows[place] = vectors.row(number)
            tokens[place] = vectors.tokens[number]
    truncated = sum(vectors.truncated for _, vectors in parts)
    return Vectors(width, b"".join(rows), tuple(tokens), truncated)


def _numbers(data: bytes) -> "array[float]":
    numbers = array("f", data)
    if _BIG_ENDIAN:
        numbers.byteswap()
    return numbers


def _bytes(numbers: "array[float]") -> bytes:
    if _BIG_ENDIAN:
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def _unit(numbers: "array[float]") -> "array[float]":
    length = max(math.sqrt(math.fsum(x * x for x in numbers)), 1e-12)
    return array("f", [x / length for x in numbers])


_BIG_ENDIAN: Final = array("H", [1]).tobytes() == b"\x00\x01"
