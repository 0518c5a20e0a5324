"""Cuts notes into chunks and turns text into vectors."""

import re
from math import sqrt
from zlib import crc32

SIZE = 384
SMALL_WORDS = "a an and at be do does for how i in is it my of on the to what when with"
COMMON = frozenset(SMALL_WORDS.split())


def sentences(text: str) -> list[str]:
    """Sentences of a text, without line breaks inside."""
    plain = " ".join(text.split())
    return [part for part in re.split(r"(?<=[.!?])\s+", plain) if part]


def chunks(text: str, limit: int = 160) -> list[str]:
    """Join sentences up to the limit; each chunk repeats the last sentence before.

    A sentence is never cut, so a chunk is longer than the limit where one
    sentence is, or where a sentence does not fit behind the repeated one.
    """
    found: list[list[str]] = []
    for sentence in sentences(text):
        if found and len(" ".join([*found[-1], sentence])) <= limit:
            found[-1].append(sentence)
        else:
            found.append([found[-1][-1], sentence] if found else [sentence])
    return [" ".join(parts) for parts in found]


def features(text: str) -> list[str]:
    """Words that matter, and their groups of four letters."""
    words = [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in COMMON]
    groups = [w[i : i + 4] for w in words for i in range(len(w) - 3)]
    return words + ["#" + group for group in groups]


def embed(text: str) -> list[float] | None:
    """A vector of length 1, the same on every machine; None without a word."""
    vector = [0.0] * SIZE
    for feature in features(text):
        code = crc32(feature.encode())
        vector[code % SIZE] += 1.0 if code & 0x8000_0000 else -1.0
    length = sqrt(sum(entry * entry for entry in vector))
    return [entry / length for entry in vector] if length else None
