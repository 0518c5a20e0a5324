"""Knows the sentences of the project's own about driving, which a model may repeat; pure."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

from runtime.bridge.warm.claims import plain

FILE: Final = Path(__file__).with_name("teachings.txt")
_CORNER: Final = re.compile(r"\b(?:turn|corner|t) ?\d+[a-z]?\b")
_WORD: Final = re.compile(r"\{c\}|[^\W_](?:[\w'/.:-]*[^\W_])?|[%+]")


_HANGS: Final = re.compile(
    r"(?:because|that|this|then|it|they|both|those|these|the cause is|give it|for black|move the"
    r" uphill)\b"
)
"""Beginnings of sentences that say something only behind the one they stood behind."""


def taught(sentence: str, corners: re.Pattern[str] | None) -> bool:
    """Whether a sentence is one of them, whichever corner it names; *corners* finds their names."""
    key = key_of(sentence, corners)
    return key in _known() and not _HANGS.match(key)


def key_of(sentence: str, corners: re.Pattern[str] | None = None) -> str:
    """A sentence as it is compared: its words in small letters, with a corner as *{c}*."""
    text = plain(sentence).casefold()
    if corners is not None:
        text = corners.sub("{c}", text)
    return " ".join(_WORD.findall(_CORNER.sub("{c}", text)))


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    return frozenset(FILE.read_text(encoding="utf-8").splitlines())
