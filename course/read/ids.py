"""Ids: their form, the reserved words, and the lock file of all published ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from course.diagnostics import Problem, Span, shorten
from course.read.files import DEVICE_NAMES

RESERVED: Final = frozenset(
    "index catalog pathways roles projects lessons schemas assets api search 404".split()
) | frozenset({"phases", "domains", "concepts", "media", "downloads", "print", "corpus"})
LOCK_FILE: Final = "content/ids.lock"
LOCK_HEADER: Final = (
    "# Every id that was ever published: kind, id and, for lessons, status.\n"
    "# Written by check --accept-ids. Lines are added, never removed.\n"
)
_FORM: Final = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*\Z")
_NUMBERED: Final = re.compile(r"-[0-9]{1,3}\Z")
_LOCK_LINE: Final = re.compile(
    r"(phase|lesson|pathway|role|domain|project|concept) ([a-z0-9_-]+)( authored| planned)?\Z"
)


class Locked(NamedTuple):
    """One published id."""

    kind: str
    status: str
    line: int


def is_id(value: object) -> bool:
    """Whether *value* has the form of an id, reserved or not."""
    return isinstance(value, str) and bool(_FORM.match(value))


def check_form(value: object, file: str, folder_name: str | None) -> list[Problem]:
    """Return the problems of the id *value* of *file* beyond its schema."""
    if not isinstance(value, str) or not _FORM.match(value):
        return []
    problems: list[Problem] = []
    if value in RESERVED or value in DEVICE_NAMES:
        problems.append(Problem("IDS002", file, f'"{value}" is a reserved word', ("id",)))
    elif _NUMBERED.search(value):
        problems.append(Problem("IDS007", file, f'the id "{value}" ends in a number', ("id",)))
    if folder_name is not None and value != folder_name:
        problems.append(
            Problem(
                "IDS008",
                file,
                "the id differs from the name of its folder or file",
                ("id",),
                expected=folder_name,
                got=value,
            )
        )
    return problems


def read_lock(text: str) -> tuple[dict[str, Locked], list[Problem]]:
    """The published ids of a lock file."""
    ids: dict[str, Locked] = {}
    problems: list[Problem] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LOCK_LINE.match(line)
        if match is None:
            problems.append(
                Problem(
                    "CFG006",
                    LOCK_FILE,
                    f"line {number} is not a valid entry",
                    span=Span(number, 1, number, len(line) + 1),
                    expected="KIND ID [STATUS]",
                    got=shorten(line),
                )
            )
            continue
        ids[match[2]] = Locked(match[1], (match[3] or "").strip(), number)
    return ids, problems


def write_lock(ids: Mapping[str, tuple[str, str]]) -> str:
    """The lock file for *ids*: id to kind and status."""
    lines = sorted(f"{kind} {name} {status}".rstrip() for name, (kind, status) in ids.items())
    return LOCK_HEADER + "".join(f"{line}\n" for line in lines)
