"""What every encoder of this process offers, whatever its file format."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

MIN_TOKENS: Final = 3
"""Of a longest input: two special tokens and one of the text."""
MAX_TOKENS: Final = 8192
"""Of a longest input: the memory for attention grows with its square."""
MAX_WIDTH: Final = 65_536
"""Numbers of a vector."""
NOT_FINITE: Final = "the model gave numbers that are not finite"
NOT_COMPUTED: Final = "the model could not compute the vectors"


class Refused(Exception):
    """It cannot be done; the text is for a client: no path, no class name."""


class Encoded(NamedTuple):
    """Vectors of texts, in their order."""

    data: bytes
    """Unit vectors, little-endian float32, row after row."""
    tokens: list[int]
    """Tokens of each text that the model saw: special ones counted, padding not."""
    truncated: int
    """How many texts were cut."""


class Encoder(Protocol):
    """A loaded model."""

    @property
    def width(self) -> int:
        """Numbers a vector."""

    @property
    def max_tokens(self) -> int:
        """Longest input, special tokens counted."""

    def count(self, text: str) -> int:
        """Tokens of a whole text, special ones counted."""

    def embed(self, texts: Sequence[str]) -> Encoded:
        """The vectors; raises `Refused`."""


def check_longest(tokens: int) -> None:
    """Raise `Refused` for a longest input that no model may have."""
    if not MIN_TOKENS <= tokens <= MAX_TOKENS:
        raise Refused(f"the longest input must be {MIN_TOKENS} to {MAX_TOKENS} tokens")


def check_width(width: int) -> None:
    """Raise `Refused` for vectors that no answer could carry."""
    if not 1 <= width <= MAX_WIDTH:
        raise Refused(f"the model gives vectors of {width} numbers, {MAX_WIDTH} at most are usable")
