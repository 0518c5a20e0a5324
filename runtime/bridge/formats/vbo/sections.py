"""The head of a VBO file: its sections up to the data, in whatever order and encoding."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import BinaryIO, Final, NamedTuple

from runtime.bridge.formats.vbo.errors import VboError

LONGEST_LINE: Final = 65_536
LONGEST_HEAD: Final = 1_048_576
MOST_COLUMNS: Final = 256
_LONGEST_TITLE: Final = 80
_DATE: Final = re.compile(
    r"(\d{1,4})[/.\-](\d{1,2})[/.\-](\d{2,4})"
    r"(?:\D{1,8}(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?)?"
)


class Head(NamedTuple):
    """What a file says before its data; lines are decoded and lie under lower-case names."""

    sections: Mapping[str, Sequence[str]]
    """The lines before the first section lie under the empty name."""
    names: tuple[str, ...]
    """One for each column, as written; not yet made unique."""
    commas: bool
    """The names are divided by commas, so the rows are most likely too."""
    encoding: str
    created: datetime | None
    """The moment in the first lines, read as UTC."""


def read_head(stream: BinaryIO) -> Head:
    """Read up to and including the line ``[data]``; raise VboError when there is no such head."""
    raw = _head_bytes(stream)
    text, encoding = _decode(raw)
    sections = _sections(text)
    line = [text for text in _names_lines(sections) if text.strip()]
    if not line:
        raise VboError("the file names no columns: it has no [column names] section")
    names, commas = _split_names(line)
    if len(names) > MOST_COLUMNS:
        raise VboError(f"the file has more than {MOST_COLUMNS} columns")
    opening = "\n".join(sections.get("", ()))[:1000]
    return Head(sections, names, commas, encoding, parse_date(opening))


def _head_bytes(stream: BinaryIO) -> bytes:
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(LONGEST_LINE + 2):
        if len(line) > LONGEST_LINE:
            raise VboError(f"a line is longer than {LONGEST_LINE} bytes")
        if line.strip().lower() == b"[data]":
            return b"".join(lines)
        lines.append(line)
        size += len(line)
        if size > LONGEST_HEAD:
            break
    raise VboError("the file has no [data] section")


def _decode(raw: bytes) -> tuple[str, str]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "cp1252"
    return text, "utf-8" if raw.startswith(b"\xef\xbb\xbf") or not raw.isascii() else "ascii"


def _sections(text: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in text.split("\n"):
        line = line.rstrip("\r")
        title = line.strip()
        if len(title) <= _LONGEST_TITLE and title.startswith("[") and title.endswith("]"):
            lines = sections.setdefault(" ".join(title[1:-1].lower().split()), [])
        else:
            lines.append(line)
    return sections


def _names_lines(sections: Mapping[str, Sequence[str]]) -> Sequence[str]:
    return sections.get("column names") or sections.get("channel names") or ()


def _split_names(lines: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    commas = "," in lines[0]
    if not commas and "\t" not in lines[0].strip():
        return tuple(word for line in lines for word in line.split()), False
    divider = "," if commas else "\t"
    words = [word.strip() for line in lines for word in line.strip().split(divider)]
    while words and not words[-1]:  # a trailing comma names nothing
        words.pop()
    return tuple("_".join(word.split()) or "unnamed" for word in words), commas


def parse_date(text: str) -> datetime | None:
    """The first date in a text, with its time of day where it has one; None when there is none.

    Day comes before month, unless only the other order can be; years may come first.
    """
    found = _DATE.search(text)
    if found is None:
        return None
    first, second, third = (int(part) for part in found.groups()[:3])
    year, month, day = (first, second, third) if first > 31 else (third, second, first)
    if month > 12:
        month, day = day, month
    hour, minute, seconds = (int(part or 0) for part in found.groups()[3:6])
    if found[7]:
        hour = hour % 12 + (12 if found[7].lower() == "pm" else 0)
    try:
        return datetime(
            year + 2000 if year < 100 else year, month, day, hour, minute, seconds, tzinfo=UTC
        )
    except ValueError:
        return None
