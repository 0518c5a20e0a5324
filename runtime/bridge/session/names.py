"""Names of signals and circuits that can be stored and queried."""

import functools
import hashlib
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final

LONGEST_NAME: Final = 128
NAMES: Final = "a name has 1 to 128 letters from A to Z, digits, spaces and _ . : / % -"
_NAME: Final = re.compile(r"[A-Za-z0-9_.:/ %-]{1,128}")
LONGEST_SLUG: Final = 80
_APART: Final = 8
_LETTERS: Final = dict(
    zip(
        "\u00e6\u0153\u00f8\u0142\u0131\u0111\u00f0\u00fe\u0127\u0167\u014b",
        ("ae", "oe", "o", "l", "i", "d", "d", "th", "h", "t", "ng"),
        strict=True,
    )
)
"""Latin letters that do not decompose into a letter and an accent."""


def is_name(name: str) -> bool:
    """Whether a signal may have this name."""
    return _NAME.fullmatch(name) is not None


def clean_name(name: str) -> str:
    """Clean a name so that it can be stored and queried: no control characters, commas, ? & #."""
    kept = "".join(c if c.isprintable() and c not in ",?&#" else "_" for c in name.strip())
    return unicodedata.normalize("NFC", kept)[:LONGEST_NAME] or "unnamed"


def find_free_name(first: str, is_taken: Callable[[str], bool]) -> str:
    """Return the first free name of *first*, ``first-2``, ``first-3``, …"""
    numbered = (f"{first}-{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain((first,), numbered) if not is_taken(name))


@functools.lru_cache(maxsize=4096)
def slugify(name: str) -> str:
    """Make an id of a name: lower-case ASCII letters and digits, words joined by one hyphen.

    Latin letters lose their accents. A name in another script keeps its Latin words and gets a hash
    of the name, as a very long one does. Empty if the name has only punctuation.
    """
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name.casefold()).casefold())
    marked = "".join(_LETTERS.get(c, c) for c in _strip_accents(plain))
    words = "".join(c if unicodedata.category(c)[0] in "LNM" else " " for c in marked).split()
    latin = re.findall("[a-z0-9]+", " ".join(words))
    text = "-".join(latin)
    if text == "-".join(words) and len(text) <= LONGEST_SLUG and text:
        return text
    source = "-".join(words) or "".join(c for c in plain if unicodedata.category(c) == "So")
    if not source:
        return ""
    apart = hashlib.sha256(source.encode()).hexdigest()[:_APART]
    kept = text[: LONGEST_SLUG - _APART - 1].strip("-")
    return f"{kept or 'track'}-{apart}"


def _strip_accents(text: str) -> Iterator[str]:
    """Yield the characters without the marks of Latin letters; other scripts need theirs."""
    latin = True
    for c in text:
        if not unicodedata.combining(c):
            latin = c.isascii() or c in _LETTERS
        elif latin:
            continue
        yield c
