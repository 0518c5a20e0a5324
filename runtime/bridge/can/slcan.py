"""Reads and writes the lines that serial CAN adapters speak (SLCAN)."""

import re
from binascii import unhexlify
from struct import Struct
from typing import Final, NamedTuple

from runtime.bridge.can.values import EXTENDED, CanFrame

LONGEST_LINE: Final = 256
"""Bytes; the longest valid line, 64 data bytes under a 29-bit id with a time stamp, has 142."""
FD_LENGTHS: Final = (*range(9), 12, 16, 20, 24, 32, 48, 64)
"""Data bytes by the length code of a line."""
_STAMP: Final = 4
"""Hex digits of the time stamp that some adapters append: milliseconds of a minute."""
_CACHED: Final = 8192
_BEGIN: Final = (b"t", b"T", b"r", b"R")
"""They begin a frame and are no hex digits: behind noise they tell where it may go on."""
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_FULL: Final = 22
"""Bytes of a full line: ``t``, three digits, the length code ``8``, sixteen digits, its end."""
_ID_AND_DATA: Final = Struct(">H8s")
_REPLY: Final = re.compile(rb"[zZ]|F[0-9a-fA-F]{2}|[VvN][0-9A-Za-z]{4}")
"""What an adapter answers: sent, status, version, serial number."""


class _Head(NamedTuple):
    """What the beginning of a line says, up to its length code."""

    key: int
    at: int
    """Where the data begin."""
    end: int
    """Where they end."""


class SlcanParser:
    """Cuts a stream of bytes into frames; however it is cut into pieces, they are the same.

    A classic frame behind noise, or behind the first half of another line, is found all the same.
    Remote frames and replies of the adapter are passed over.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._long = False
        self._heads: dict[bytes, _Head] = {}

    def feed(self, data: bytes) -> tuple[list[tuple[int, bytes]], int]:
        """Keys and data of the frames that *data* complete, and how many lines were none."""
        text = _with_one_end(self._rest + data)
        if not self._long and (cut := text.rfind(b"\r") + 1):
            full = _full_frames(text[:cut])
            if full is not None and len(text) - cut <= LONGEST_LINE:
                self._rest = text[cut:]
                return full, 0
        lines = text.split(b"\r")
        rest = lines.pop()
        frames: list[tuple[int, bytes]] = []
        malformed = 0
        if lines and self._long:
            malformed = -1  # the line was counted while it grew
            self._long = False
        heads = self._heads
        for line in lines:
            if head := heads.get(line[:5]) or heads.get(line[:10]):
                key, at, end = head
                length = len(line)
                try:
                    if length == end:
                        frames.append((key, unhexlify(line[at:])))
                        continue
                    if length == end + _STAMP:
                        frames.append((key, unhexlify(line[at:])[: -_STAMP // 2]))
                        continue
                except ValueError:
                    pass
            if line:
                malformed += self._odd(line, frames)
        if len(rest) > LONGEST_LINE:
            malformed += not self._long
            self._long = True
            rest = rest[-LONGEST_LINE:]
        self._rest = rest
        return frames, malformed

    def _odd(self, line: bytes, frames: list[tuple[int, bytes]]) -> int:
        """Read a line that is not of a known shape; 1 if it, or its beginning, is none at all."""
        if self._read(line, frames) or _REPLY.fullmatch(line):
            return 0
        if (begin := max(line.rfind(letter, 1) for letter in _BEGIN)) > 0:
            self._read(line[begin:], frames)
        return 1

    def _read(self, line: bytes, frames: list[tuple[int, bytes]]) -> bool:
        head = _head(line)
        if head is None:
            return False
        remote = line[:1] in b"rR"
        end = head.at if remote else head.end
        if len(line) not in (end, end + _STAMP) or not _HEX.issuperset(line[head.at :]):
            return False
        if not remote:
            frames.append((head.key, unhexlify(line[head.at : end])))
            if len(self._heads) >= _CACHED:
                self._heads.clear()
            self._heads[line[: head.at]] = head
        return True


def encode(frame: CanFrame) -> bytes:
    """The line of a data frame; raises ValueError where no CAN frame has that id or length."""
    number = frame.key & ~EXTENDED
    wide = frame.key & EXTENDED
    if not 0 <= number < (1 << 29 if wide else 1 << 11):
        raise ValueError(f"there is no CAN id {number:#x}")
    length = len(frame.data)
    if length not in FD_LENGTHS:
        raise ValueError(f"a CAN frame cannot have {length} bytes")
    kind = ("D" if wide else "d") if length > 8 else ("T" if wide else "t")
    code = FD_LENGTHS.index(length)
    line = f"{kind}{number:0{8 if wide else 3}X}{code:X}{frame.data.hex().upper()}\r"
    return line.encode()


def _with_one_end(data: bytes) -> bytes:
    """*data* with a carriage return where a line ends in any other way."""
    if b"\x07" in data:
        data = data.replace(b"\x07", b"\r")
    if b"\n" in data:
        data = data.replace(b"\n", b"\r")
    return data


def _full_frames(text: bytes) -> list[tuple[int, bytes]] | None:
    """The frames of a text of full lines and nothing else; None for any other text.

    Eight bytes under an id of 11 bits are what a full bus brings. Together they are read in a
    quarter of the time that they take one by one.
    """
    n, over = divmod(len(text), _FULL)
    if over or text[::_FULL] != b"t" * n or text[_FULL - 1 :: _FULL] != b"\r" * n:
        return None
    if text[4::_FULL] != b"8" * n or text[1::_FULL].strip(b"01234567"):
        return None
    digits = bytearray(text)
    del digits[_FULL - 1 :: _FULL]
    del digits[4 :: _FULL - 1]
    digits[:: _FULL - 2] = b"0" * n  # in place of the t: four digits of the id
    try:
        return list(_ID_AND_DATA.iter_unpack(unhexlify(digits)))
    except ValueError:
        return None


def _head(line: bytes) -> _Head | None:
    kind = line[:1]
    if not kind or kind not in b"tTrRdDbB":
        return None
    wide = kind in b"TRDB"
    at = 10 if wide else 5
    if len(line) < at or not _HEX.issuperset(line[1:at]):
        return None
    number, code = int(line[1 : at - 1], 16), int(line[at - 1 : at], 16)
    if number >= (1 << 29 if wide else 1 << 11) or (code > 8 and kind in b"tTrR"):
        return None
    return _Head(number | EXTENDED if wide else number, at, at + 2 * FD_LENGTHS[code])
