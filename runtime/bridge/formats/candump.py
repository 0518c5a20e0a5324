"""Reads what candump writes: log files (``-l``, ``-L``) and its console output with time stamps.

A block of lines is read at once where they are regular log lines of classic frames; every other
line is read by itself.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.can.values import (
    CLASSIC,
    EXTENDED,
    LARGEST_ID,
    LONGEST,
    Batch,
    Bytes,
    Flags,
    Rows,
)
from runtime.bridge.formats.canlog import CHUNK, LATEST, Tally, line_blocks, read_log
from runtime.bridge.formats.reading import Options
from runtime.bridge.session.recording import Numbers, Recording

_ERROR: Final = 0x2000_0000
_BAD: Final = 255
_PAD: Final = 64
_LONGEST_NAME: Final = 16
_LONGEST_LINE: Final = 255
_FEW: Final = 16
"""Lines of one form that are not worth reading at once."""
_LOG: Final = re.compile(
    rb"\((\d{1,17}(?:\.\d{1,9})?)\)\s+([^\s#]{1,32})\s+([0-9A-Fa-f]{3}|[0-9A-Fa-f]{8})#(\S*)"
    rb"(?:\s+[RTrt])?\s*"
)
_CONSOLE: Final = re.compile(
    rb"\s*\(([-:. \d]{1,32})\)\s+(\S{1,32})\s+(?:(?:RX|TX)\s+\S+\s+\S+\s+)?"
    rb"([0-9A-Fa-f]{3}|[0-9A-Fa-f]{8})\s+\[(\d{1,2})\]\s*(.*)"
)
_STAMP: Final = re.compile(rb"\(\d{1,10}\.\d{6}\) ")
_REMOTE: Final = re.compile(rb"[Rr]\d?")
_BYTES: Final = re.compile(rb"(?:[0-9A-Fa-f]{2}\s?)*")


def _nibbles() -> Bytes:
    table = np.full(256, _BAD, np.uint8)
    for value, digit in enumerate("0123456789abcdef"):
        table[ord(digit)] = table[ord(digit.upper())] = value
    return table


_NIBBLE: Final = _nibbles()


def read_candump(stream: BinaryIO, options: Options) -> Recording:
    """A recording of a candump log. Raises `UnreadableRecording`."""
    return read_log(stream, options, "candump", candump_frames)


def candump_frames(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """The frames of a candump log, in blocks; a file without any frame gives none."""
    for block in line_blocks(stream, tally):
        text = np.frombuffer(block + b"\n" + bytes(_PAD), np.uint8)
        ends = np.flatnonzero(text == ord("\n"))
        starts = np.concatenate((ends[:1] * 0, ends[:-1] + 1))
        for at in range(0, len(ends), CHUNK):
            part = slice(at, at + CHUNK)
            batch = _Block(block, text, starts[part], ends[part], tally).batch()
            if len(batch):
                yield batch


def _read_line(line: bytes, tally: Tally) -> tuple[float, int, bytes] | None:
    """Time, key and payload of a single line; None where it is no data frame that is wanted."""
    if not (line := line.strip()):
        return None
    found = _LOG.fullmatch(line)
    read = _from_log(found) if found else _from_console(line)
    if read is None:
        tally.malformed += 1
        return None
    t, can_id, extended, data, name = read
    if extended and can_id & _ERROR:
        tally.errors += 1
        return None
    if data is None:
        tally.remote += 1
        return None
    can_id &= LARGEST_ID
    if len(data) > LONGEST or not 0 <= t < LATEST or (not extended and can_id > 0x7FF):
        tally.malformed += 1
        return None
    if not tally.takes(name, 1):
        return None
    return t, can_id | EXTENDED if extended else can_id, data


def _from_log(found: re.Match[bytes]) -> tuple[float, int, bool, bytes | None, str] | None:
    payload: bytes | None = found[4]
    if payload and _REMOTE.fullmatch(payload):
        payload = None
    elif payload is not None:
        digits = payload[2:] if payload.startswith(b"#") else payload
        if len(digits) % 2 or not _BYTES.fullmatch(digits):
            return None
        payload = bytes.fromhex(digits.decode("ascii"))
    name = found[2].decode("ascii", "replace")
    return float(found[1]), int(found[3], 16), len(found[3]) == 8, payload, name


def _from_console(line: bytes) -> tuple[float, int, bool, bytes | None, str] | None:
    found = _CONSOLE.fullmatch(line)
    if found is None:
        return None
    t = _moment(found[1].decode("ascii"))
    if t is None:
        return None
    rest = found[5].strip()
    data: bytes | None = None
    if not rest.lower().startswith(b"remote"):
        length = int(found[4])
        digits = rest[: 3 * length].strip()
        if not _BYTES.fullmatch(digits):
            return None
        data = bytes.fromhex(digits.decode("ascii"))
        if len(data) != length:
            return None
    name = found[2].decode("ascii", "replace")
    return t, int(found[3], 16), len(found[3]) == 8, data, name


def _moment(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    for form in ("%Y-%m-%d %H:%M:%S.%f", "%Y-%m-%d %H:%M:%S"):
        try:
            return datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    return None


class _Block:
    """Some whole lines."""

    def __init__(self, block: bytes, text: Bytes, starts: Rows, ends: Rows, tally: Tally) -> None:
        self._block = block
        self._text = text
        self._tally = tally
        self._starts = starts
        self._ends = ends - ((ends > starts) & (text[ends - 1] == ord("\r")))
        n = len(starts)
        self._t: Numbers = np.zeros(n)
        self._key = np.zeros(n, np.int64)
        self._length = np.zeros(n, np.uint8)
        self._data: Bytes = np.zeros((n, CLASSIC), np.uint8)
        self._good = np.zeros(n, np.bool_)

    def batch(self) -> Batch:
        """The data frames of these lines."""
        regular = self._regular()
        for at in np.flatnonzero(~regular & (self._ends > self._starts)).tolist():
            read = _read_line(self._block[self._starts[at] : self._ends[at]], self._tally)
            if read is not None:
                t, key, data = read
                if len(data) > self._data.shape[1]:
                    wide = np.zeros((len(self._t), LONGEST), np.uint8)
                    wide[:, : self._data.shape[1]] = self._data
                    self._data = wide
                self._t[at], self._key[at], self._length[at] = t, key, len(data)
                self._data[at, : len(data)] = np.frombuffer(data, np.uint8)
                self._good[at] = True
        good = self._good
        if good.all():
            return Batch(self._t, self._key, self._length, self._data)
        return Batch(self._t[good], self._key[good], self._length[good], self._data[good])

    def _regular(self) -> Flags:
        """Read the lines of each frequent form at once; which lines that were, wanted or not."""
        starts, ends = self._starts, self._ends
        done = np.zeros(len(starts), np.bool_)
        begin, end = int(starts[0]), int(ends[-1]) + 1
        marks = np.flatnonzero(self._text[begin:end] == ord("#")) + begin
        if len(marks) != len(starts) or not ((marks > starts) & (marks < ends)).all():
            if not len(marks):
                return done
            at = np.searchsorted(marks, starts)
            marks = marks[np.minimum(at, len(marks) - 1)]
        size, offset = ends - starts, marks - starts
        fits = (size < _LONGEST_LINE) & (offset > 0) & (offset < size)
        form = np.where(fits, size * _LONGEST_LINE + offset, 0).astype(np.uint16)
        counts = np.bincount(form)
        for code in np.flatnonzero(counts >= _FEW).tolist():
            if code:
                rows = np.flatnonzero(form == code)
                self._of_form(rows, *divmod(code, _LONGEST_LINE), done)
        return done

    def _of_form(self, rows: Rows, size: int, mark: int, done: Flags) -> None:
        """Read lines of *size* bytes whose mark stands at *mark*; those that differ are left."""
        first = self._block[self._starts[rows[0]] : self._starts[rows[0]] + size]
        stamp = _STAMP.match(first)
        digits = 3 if first[mark - 4 : mark - 3] == b" " else 8
        payload = size - mark - 1
        if stamp is None or payload % 2 or payload > 2 * CLASSIC:
            return
        name_at, name_end = stamp.end(), mark - digits - 1
        if not 0 < name_end - name_at <= _LONGEST_NAME:
            return
        view = np.lib.stride_tricks.sliding_window_view(self._text, size)
        text: Bytes = np.ascontiguousarray(view[self._starts[rows]].T)
        point = name_at - 9
        fixed = [0, point, name_at - 2, name_at - 1, name_end]
        good = (text[fixed] == np.frombuffer(first, np.uint8)[fixed][:, None]).all(axis=0)
        numbers = np.concatenate((text[1:point], text[point + 1 : name_at - 2])) - np.uint8(48)
        good &= numbers.max(axis=0) <= 9
        nibbles = _NIBBLE[text[mark - digits :]]
        nibbles[digits] = 0  # the mark itself
        good &= nibbles.max(axis=0, initial=0) < 16
        can_id = np.zeros(len(rows), np.int64)
        for nibble in nibbles[:digits]:
            can_id = can_id << 4 | nibble
        # Flagged ids are errors and the like: the slower reader knows them.
        good &= can_id <= (LARGEST_ID if digits == 8 else 0x7FF)
        good &= ~(text[name_at:name_end] == ord(" ")).any(axis=0)
        done[rows[good]] = True
        good = self._of_channel(text[name_at:name_end], good)
        whole = good.all()
        at = rows if whole else rows[good]
        if digits == 8:
            can_id |= EXTENDED
        data = (nibbles[digits + 1 :: 2] << 4 | nibbles[digits + 2 :: 2]).T
        t = _decimal(numbers)
        self._t[at] = t if whole else t[good]
        self._key[at] = can_id if whole else can_id[good]
        self._length[at] = payload // 2
        self._data[at, : payload // 2] = data if whole else data[good]
        self._good[at] = True

    def _of_channel(self, names: Bytes, good: Flags) -> Flags:
        """Count the channels of good lines and take out what is not wanted."""
        left, kept = good.copy(), good.copy()
        while left.any():
            name = names[:, int(np.argmax(left))]
            mine = left & (names == name[:, None]).all(axis=0)
            text = name.tobytes().decode("ascii", "replace")
            if not self._tally.takes(text, int(np.count_nonzero(mine))):
                kept &= ~mine
            left &= ~mine
        return kept


def _decimal(digits: Bytes) -> Numbers:
    """Digits, the last six of them behind the point, as the nearest number."""
    total = np.zeros(digits.shape[1])
    for start in range(0, len(digits), 4):
        four = digits[start : start + 4].astype(np.uint16)
        part = four[0]
        for row in four[1:]:
            part = part * np.uint16(10) + row
        total = total * 10.0 ** len(four) + part
    return total / 1e6
