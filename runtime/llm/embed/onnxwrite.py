"""Writes ONNX files: the few messages of the format that a sentence encoder is made of."""

import io
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

_VARINT, _BYTES, _FIXED32 = 0, 2, 5
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7
_LIMIT: Final = (1 << 31) - 1  # bytes of one message, in every reader of the format


class Element(IntEnum):
    """Types of numbers, by their codes in the format."""

    FLOAT = 1
    INT32 = 6
    INT64 = 7
    FLOAT16 = 10
    DOUBLE = 11


_DTYPES: Final[Mapping[Element, np.dtype[Any]]] = {
    Element.FLOAT: np.dtype("<f4"),
    Element.INT32: np.dtype("<i4"),
    Element.INT64: np.dtype("<i8"),
    Element.FLOAT16: np.dtype("<f2"),
    Element.DOUBLE: np.dtype("<f8"),
}


@dataclass(frozen=True, eq=False)
class Tensor:
    """A constant; *values* become numbers of type *element* only while they are written."""

    name: str
    values: Array
    element: Element = Element.FLOAT


@dataclass(frozen=True)
class Node:
    """One operation."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, int | float | Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class ValueInfo:
    """An input or output: a named dimension is one that the caller chooses."""

    name: str
    element: Element
    shape: Sequence[int | str]


@dataclass(frozen=True)
class Graph:
    """Operations in an order in which they can be computed."""

    name: str
    nodes: Sequence[Node]
    inputs: Sequence[ValueInfo]
    outputs: Sequence[ValueInfo]
    tensors: Sequence[Tensor] = ()


@dataclass(frozen=True)
class Model:
    """A graph and the version of the operations that it uses."""

    graph: Graph
    opset: int = 17
    ir_version: int = 8
    producer: str = "paddock"


_Part: TypeAlias = bytes | Tensor
"""Bytes of a message, or the raw data of a tensor, which take their turn when it is written."""


def write(model: Model, out: BinaryIO) -> int:
    """Write the file and answer its size in bytes; one tensor at a time is held in memory.

    Raises ValueError for a model of 2 GiB or more.
    """
    graph = list(_graph(model.graph))
    head = _number(1, model.ir_version) + _text(2, model.producer)
    head += _message(8, _number(2, model.opset)) + _tag(7, _BYTES) + _varint(_size(graph))
    size = len(head) + _size(graph)
    if size > _LIMIT:
        raise ValueError("an ONNX file cannot be larger than 2 GiB")
    out.write(head)
    for part in graph:
        out.write(part if isinstance(part, bytes) else _raw(part))
    return size


def to_bytes(model: Model) -> bytes:
    """The file in memory."""
    out = io.BytesIO()
    write(model, out)
    return out.getvalue()


def _graph(graph: Graph) -> Iterator[_Part]:
    for node in graph.nodes:
        yield _message(1, _node(node))
    yield _text(2, graph.name)
    for tensor in graph.tensors:
        yield from _tensor(tensor)
    for value in graph.inputs:
        yield _message(11, _value_info(value))
    for value in graph.outputs:
        yield _message(12, _value_info(value))


def _tensor(tensor: Tensor) -> Iterator[_Part]:
    """Field 5 of a graph, in two parts: what describes the tensor, and its data."""
    fields = b"".join(_number(1, size) for size in tensor.values.shape)
    fields += _number(2, tensor.element) + _text(8, tensor.name)
    fields += _tag(9, _BYTES) + _varint(_data_size(tensor))
    yield _tag(5, _BYTES) + _varint(len(fields) + _data_size(tensor)) + fields
    yield tensor


def _node(node: Node) -> bytes:
    parts = [_text(1, name) for name in node.inputs]
    parts += [_text(2, name) for name in node.outputs]
    parts.append(_text(4, node.op))
    parts += [_message(5, _attribute(name, value)) for name, value in node.attributes.items()]
    return b"".join(parts)


def _attribute(name: str, value: int | float | Sequence[int]) -> bytes:
    head = _text(1, name)
    if isinstance(value, float):
        data = _tag(2, _FIXED32) + struct.pack("<f", value)
        return head + data + _number(20, _FLOAT_ATTRIBUTE)
    if isinstance(value, int):
        return head + _number(3, value) + _number(20, _INT_ATTRIBUTE)
    return head + b"".join(_number(8, n) for n in value) + _number(20, _INTS_ATTRIBUTE)


def _value_info(value: ValueInfo) -> bytes:
    sizes = (_text(2, n) if isinstance(n, str) else _number(1, n) for n in value.shape)
    shape = b"".join(_message(1, size) for size in sizes)
    tensor_type = _number(1, value.element) + _message(2, shape)
    return _text(1, value.name) + _message(2, _message(1, tensor_type))


def _raw(tensor: Tensor) -> memoryview:
    values = np.ascontiguousarray(tensor.values, dtype=_DTYPES[tensor.element])
    data: memoryview = values.reshape(-1).view(np.uint8).data
    return data


def _data_size(tensor: Tensor) -> int:
    return tensor.values.size * _DTYPES[tensor.element].itemsize


def _size(parts: Iterable[_Part]) -> int:
    return sum(len(part) if isinstance(part, bytes) else _data_size(part) for part in parts)


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _number(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + _varint(value & (1 << 64) - 1)


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode())


def _message(number: int, data: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
