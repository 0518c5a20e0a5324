"""Reads CAN databases: DBC files that define what the bytes of each message mean."""

import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from cantools.database import load_string
from cantools.database.can import Database, Message
from cantools.database.errors import Error as DatabaseError

from runtime.bridge.can.frames import EXTENDED

MAX_BYTES: Final = 8 << 20
MAX_MESSAGES: Final = 5_000
MAX_SIGNALS: Final = 20_000
LONGEST_PAYLOAD: Final = 64
MAX_LENGTH: Final = 2048
"""Largest declared message size in bytes, including transport protocols."""
MAX_MUX_VALUES: Final = 100_000

MessageKey: TypeAlias = int
"""Arbitration id, with `EXTENDED` for one of 29 bits."""

_AT: Final = re.compile(r"line (\d+)")
_SIZES: Final = re.compile(r"\bBO_\s+\d+\s+\w+\s*:\s*(\d+)|:\s*(\d+)\s*\|\s*(\d+)\s*@", re.ASCII)
_MUX_RANGE: Final = re.compile(r"(?<=[\s,])(\d+)\s*-\s*(\d+)(?=\s*[,;])", re.ASCII)
_IN_MESSAGE: Final = re.compile(r"\bmessage ([A-Za-z_]\w*)")


class DbcError(ValueError):
    """A DBC file that cannot be used; the text names the file and, if known, the line."""

    def __init__(self, file: str, reason: str, line: int | None = None) -> None:
        super().__init__(f"{file}:{line}: {reason}" if line else f"{file}: {reason}")


class DbcPack(NamedTuple):
    """One file of message definitions."""

    name: str
    messages: Mapping[MessageKey, Message]


def load_dbc(path: Path) -> DbcPack:
    """Read a DBC file; raises `DbcError`.

    A large file takes seconds: for start-up, not for the event loop. Overlapping signals are kept:
    they are common in real files.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise DbcError(path.name, "not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise DbcError(path.name, error.strerror or "cannot be read") from None
    return parse_dbc(data, path.name)


def merge_messages(packs: Iterable[DbcPack]) -> dict[MessageKey, Message]:
    """Merge the messages of all packs by id; later packs win."""
    messages: dict[MessageKey, Message] = {}
    for pack in packs:
        messages.update(pack.messages)
    return messages


def parse_dbc(data: bytes, name: str) -> DbcPack:
    """Parse UTF-8 or Windows-1252 text; raises `DbcError` with *name* as the file."""
    if len(data) > MAX_BYTES:
        raise DbcError(name, f"larger than {MAX_BYTES >> 20} MiB")
    text = _decode(data)
    _check_size(text, name)
    try:
        database = load_string(text, database_format="dbc", strict=False)
    except DatabaseError as error:
        raise _explain(error, text, name) from None
    if not isinstance(database, Database) or not database.messages:
        raise DbcError(name, "no message is defined")
    return DbcPack(
        name,
        {
            message.frame_id | (EXTENDED if message.is_extended_frame else 0): message
            for message in database.messages
            if message.length <= LONGEST_PAYLOAD  # longer ones belong to transport protocols
        },
    )


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _check_size(text: str, name: str) -> None:
    """Refuse files that would cost the parser many seconds or too much memory."""
    for mark, most, what in (("BO_", MAX_MESSAGES, "messages"), ("SG_", MAX_SIGNALS, "signals")):
        if len(re.findall(rf"^[ \t]*{mark}\s", text, re.MULTILINE)) > most:
            raise DbcError(name, f"more than {most} {what}")
    for match in _SIZES.finditer(text):
        length, start, bits = match.groups()
        if int((length or "0")[:12]) > MAX_LENGTH:
            reason = f"a message of more than {MAX_LENGTH} bytes"
        elif max(int((start or "0")[:12]), int((bits or "0")[:12])) > 8 * MAX_LENGTH:
            reason = f"a signal beyond {8 * MAX_LENGTH} bits"
        else:
            continue
        raise DbcError(name, reason, _find_line(text, match.start()))
    spread = 0
    for match in _MUX_RANGE.finditer(text):
        low, high = int(match[1][:12]), int(match[2][:12])
        spread += max(high - low, 0)
        if spread > MAX_MUX_VALUES:
            reason = f"multiplexing over more than {MAX_MUX_VALUES} values"
            raise DbcError(name, reason, _find_line(text, match.start()))


def _explain(error: DatabaseError, text: str, name: str) -> DbcError:
    cause = getattr(error, "e_dbc", None)
    if isinstance(cause, KeyError):
        word = str(cause.args[0])[:80]
        return DbcError(name, f"{word} is used but not defined", _find_line_of_word(text, word))
    reason = " ".join(str(cause or error).strip().strip('"').split())[:300]
    if at := _AT.search(reason):
        return DbcError(name, reason, int(at[1]))
    line = _find_line_of_message(text, at[1]) if (at := _IN_MESSAGE.search(reason)) else None
    return DbcError(name, reason or "not a DBC file", line)


def _find_line_of_word(text: str, word: str) -> int | None:
    at = text.find(word)
    return _find_line(text, at) if at >= 0 else None


def _find_line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _find_line_of_message(text: str, message: str) -> int | None:
    match = re.search(rf"^[ \t]*BO_ +\d+ +{re.escape(message)}\b", text, re.MULTILINE)
    return _find_line(text, match.start()) if match else None
