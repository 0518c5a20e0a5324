"""Check an ONNX file and reject what no engine should see, above all external data.

An ONNX file may name other files with its weights, which an engine would open. Only the fields that
lead to tensors are followed; the data of tensors are skipped unread.
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
"""Fields of a message that are messages which may contain a tensor."""
_IR_VERSION, _GRAPH = 1, 7  # fields of a model
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14  # fields of a tensor

NO_ONNX: Final = "this is not an ONNX file"
ENDS_EARLY: Final = "the file ends too early"
UNREADABLE: Final = "the file cannot be read"
ELSEWHERE: Final = "the weights are in other files, which is not supported"


class BadOnnxFile(Exception):
    """The file is not a model that an engine may open; the text is for a client."""


class _Reader:
    """A moving window over the file.

    It reads instead of mapping: a mapped file that shrinks crashes the process.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self._data = b""
        self._start = 0

    def read_varint(self, at: int, end: int) -> tuple[int, int]:
        """Read the number at *at*; return it and where it ends, at most at *end*."""
        value = shift = 0
        while True:
            byte = self._read_byte(at, end)
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
            shift += 7
            if shift >= 7 * _MAX_VARINT:
                raise BadOnnxFile(NO_ONNX)

    def _read_byte(self, at: int, end: int) -> int:
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

    It must be a complete model with a graph, nested no deeper than `MAX_NESTING`, with at most
    `MAX_FIELDS` visited fields, and without external weights.
    """
    try:
        if not Path(path).is_file():  # opening a pipe would block
            raise BadOnnxFile(UNREADABLE)
        with Path(path).open("rb") as file:
            _check(_Reader(file))
    except (OSError, ValueError) as error:
        raise BadOnnxFile(UNREADABLE) from error


def _check(reader: _Reader) -> None:
    ends: list[tuple[_Message, int]] = [("model", reader.size)]
    visited: set[int] = set()  # fields of the model
    at = fields = 0
    while ends:
        kind, end = ends[-1]
        if at == end:
            ends.pop()
            continue
        fields += 1
        if fields > MAX_FIELDS:
            raise BadOnnxFile("the file has too many parts")
        number, wire, at = _read_tag(reader, at, end)
        if kind == "model":
            visited.add(number)
        elif kind == "tensor":
            _check_data_location(reader, number, at, end)
        begin, past = _locate_content(reader, wire, at, end)
        if past > end:
            cut_off = kind == "model" and _IR_VERSION in visited
            raise BadOnnxFile(ENDS_EARLY if cut_off else NO_ONNX)
        inner = _FOLLOWED[kind].get(number)
        if inner is None:
            at = past
            continue
        if wire != _BYTES:
            raise BadOnnxFile(NO_ONNX)
        if len(ends) == MAX_NESTING:
            raise BadOnnxFile("the parts of the file are nested too deeply")
        ends.append((inner, past))
        at = begin
    if not {_IR_VERSION, _GRAPH} <= visited:
        raise BadOnnxFile(NO_ONNX)


def _read_tag(reader: _Reader, at: int, end: int) -> tuple[int, int, int]:
    """Read number and wire type of the field at *at*, and the start of its content."""
    tag, at = reader.read_varint(at, end)
    number = tag >> 3
    if not number or tag > _MAX_TAG:
        raise BadOnnxFile(NO_ONNX)
    return number, tag & 7, at


def _check_data_location(reader: _Reader, number: int, at: int, end: int) -> None:
    """Raise `BadOnnxFile` if a tensor's field declares external data in any form."""
    is_external = number == _EXTERNAL_DATA
    if number == _DATA_LOCATION:
        is_external = reader.read_varint(at, end)[0] != 0
    if is_external:
        raise BadOnnxFile(ELSEWHERE)


def _locate_content(reader: _Reader, wire: int, at: int, end: int) -> tuple[int, int]:
    """Start and declared end of a field's content."""
    if wire == _VARINT:
        return at, reader.read_varint(at, end)[1]
    if wire == _BYTES:
        size, at = reader.read_varint(at, end)
    elif wire in (_FIXED32, _FIXED64):
        size = 4 if wire == _FIXED32 else 8
    else:
        raise BadOnnxFile(NO_ONNX)
    return at, at + size
