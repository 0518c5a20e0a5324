"""Cuts the texts of a request into slices, so that requests can take turns between them."""

from collections.abc import Sequence
from typing import Final

TEXTS: Final = 16
"""Most texts of a slice."""
TOKENS: Final = 4096
"""About the most tokens of a slice, padding included; a single text may have more."""
_CHARS_PER_TOKEN: Final = 2  # few scripts have longer tokens on average, dense ones have shorter
_SPECIAL: Final = 2  # tokens around every text


def slices(texts: Sequence[str], max_tokens: int) -> list[list[int]]:
    """The places of *texts*, slice after slice, the short ones first.

    Texts of like length share a slice, since all are padded to the longest. *max_tokens* is the
    model's longest input. A slice bounds how long another request waits, so long inputs make
    slices of fewer texts.
    """
    found: list[list[int]] = []
    for place in sorted(range(len(texts)), key=lambda at: len(texts[at])):
        tokens = min(len(texts[place]) // _CHARS_PER_TOKEN + _SPECIAL, max_tokens)
        room = min(TEXTS, TOKENS // max(1, tokens))
        if found and len(found[-1]) < room:
            found[-1].append(place)
        else:
            found.append([place])
    return found
