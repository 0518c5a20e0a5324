"""Looks through an ONNX file and refuses what no engine should see: above all, other files.

An ONNX file may name further files that hold its weights, and an engine opens whatever is named.
Only the fields that lead to a tensor are followed; the data of tensors are stepped over unread.
"""

import os
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

MAX_FIELDS: Final = 1_000_000
MAX_NESTING: Final = 32
_WINDOW: Final = 1 << 16
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT: Final = 10  # bytes
_MAX_TAG: Final = (1 << 32) - 1

_Message: TypeAlias = str
_FOLLOWED: Final[dict[_Message, dict[int, _Message]]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor",
        6: "graph",
        10: "tensor",
        11: "graph",
        22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""Which fields of a message are messages that may hold a tensor."""
_IR_VERSION, _GRAPH = 1, 7  # fields of a model
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor

NO_ONNX: Final = "this is not an ONNX file"
ENDS_EARLY: Final = "the file ends too early"
UNREADABLE: Final = "the file cannot be read"
ELSEWHERE: Final = "the weights lie in other files, which is not supported"


class BadOnnxFile(Exception):
    """The file is no model that an engine may open; the text is for a client."""


class _Reader:
    """A window that moves over the file.

    It reads rather than maps: a file that shrinks while it is mapped ends the process.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._data = b""
        self._start = 0

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at *at* and where it ends, which is not behind *end*."""
        value = shift = 0
        while True:
            byte = self._byte(at, end)
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
            if shift >= 7 * _MAX_VARINT:
                raise BadOnnxFile(NO_ONNX)

    def _byte(self, at: int, end: int) -> int:
        if at >= end:
            raise BadOnnxFile(NO_ONNX)
        offset = at - self._start
        if not 0 <= offset < len(self._data):
            self._file.seek(at)
            self._data = self._file.read(_WINDOW)
            self._start, offset = at, 0
            if not self._data:
                raise BadOnnxFile(ENDS_EARLY)
        return self._data[offset]


def check(path: str | os.PathLike[str]) -> None:
    """Raise `BadOnnxFile` for a file that an engine should not open.

    It must be a model with a graph, whole, nested no deeper than `MAX_NESTING` and of at most
    `MAX_FIELDS` fields where this looks, with all its weights inside.
    """
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            raise BadOnnxFile(UNREADABLE)
        with Path(path).open("rb") as file:
            _check(_Reader(file))
    except (OSError, ValueError) as error:
        raise BadOnnxFile(UNREADABLE) from error


def _check(reader: _Reader) -> None:
    ends: list[tuple[_Message, int]] = [("model", reader.size)]
    seen: set[int] = set()  # fields of the model
    at = fields = 0
    while ends:
        kind, end = ends[-1]
        if at == end:
            ends.pop()
            continue
        fields += 1
        if fields > MAX_FIELDS:
            raise BadOnnxFile("the file has too many parts")
        number, wire, at = _tag(reader, at, end)
        if kind == "model":
            seen.add(number)
        elif kind == "tensor":
            _check_place(reader, number, at, end)
        begin, past = _content(reader, wire, at, end)
        if past > end:
            cut_off = kind == "model" and _IR_VERSION in seen
            raise BadOnnxFile(ENDS_EARLY if cut_off else NO_ONNX)
        inner = _FOLLOWED[kind].get(number)
        if inner is None:
            at = past
            continue
        if wire != _BYTES:
            raise BadOnnxFile(NO_ONNX)
        if len(ends) == MAX_NESTING:
            raise BadOnnxFile("the file nests its parts too deep")
        ends.append((inner, past))
        at = begin
    if not {_IR_VERSION, _GRAPH} <= seen:
        raise BadOnnxFile(NO_ONNX)


def _tag(reader: _Reader, at: int, end: int) -> tuple[int, int, int]:
    """Number and wire type of the field at *at*, and where its content begins."""
    tag, at = reader.varint(at, end)
    number = tag >> 3
    if not number or tag > _MAX_TAG:
        raise BadOnnxFile(NO_ONNX)
    return number, tag & 7, at


def _check_place(reader: _Reader, number: int, at: int, end: int) -> None:
    """Of a field of a tensor: any sign that its data lie elsewhere, however it is put."""
    elsewhere = number == _EXTERNAL_DATA
    if number == _DATA_LOCATION:
        elsewhere = reader.varint(at, end)[0] != 0
    if elsewhere:
        raise BadOnnxFile(ELSEWHERE)


def _content(reader: _Reader, wire: int, at: int, end: int) -> tuple[int, int]:
    """Where the content of a field begins and would end."""
    if wire == _VARINT:
        return at, reader.varint(at, end)[1]
    if wire == _BYTES:
        size, at = reader.varint(at, end)
    elif wire in (_FIXED32, _FIXED64):
        size = 4 if wire == _FIXED32 else 8
    else:
        raise BadOnnxFile(NO_ONNX)
    return at, at + size
