"""Writes the graph of a BERT sentence encoder, which `pull` fills with weights.

    python -m tools.bert_onnx > data/models/all-minilm-l6-v2.graph

An ONNX file is a protobuf message. Only the few parts of the format are written that an encoder is
made of.
"""

import math
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.llm.commands.pull.encoder import encode_varint

OUTPUT: Final = "last_hidden_state"
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
_MASKED: Final = -10_000.0
"""Added to the attention scores of padding: its weight is then 0 in float32."""
_IR_VERSION, _OPSET = 8, 17
Attribute: TypeAlias = int | float | Sequence[int]


class Element(IntEnum):
    """Types of numbers, by their codes in the format."""

    FLOAT = 1
    INT32 = 6
    INT64 = 7
    FLOAT16 = 10
    DOUBLE = 11


def onnx_file(
    name: str,
    nodes: Iterable[bytes],
    inputs: Iterable[bytes],
    output: bytes,
    tensors: Iterable[bytes],
) -> bytes:
    """A model with one graph, whose operations stand in an order in which they can be computed."""
    graph = [_message(1, part) for part in nodes]
    graph.append(_message(2, name))
    graph += [_message(5, part) for part in tensors]
    graph += [_message(11, part) for part in inputs]
    graph.append(_message(12, output))
    head = _number(1, _IR_VERSION) + _message(2, "paddock")
    return head + _message(8, _number(2, _OPSET)) + _message(7, *graph)


def node(op: str, inputs: Iterable[str], output: str, **attributes: Attribute) -> bytes:
    """Encode an operation."""
    settings = [_message(5, _message(1, name), _value(v)) for name, v in attributes.items()]
    sources = [_message(1, name) for name in inputs]
    return b"".join([*sources, _message(2, output), _message(4, op), *settings])


def tensor(name: str, values: npt.NDArray[Any], element: Element = Element.FLOAT) -> bytes:
    """Encode a constant."""
    data = np.ascontiguousarray(values, "<i8" if element == Element.INT64 else "<f4").tobytes()
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, element) + _message(8, name) + _message(9, data)


def value_info(name: str, element: Element, shape: Iterable[int | str]) -> bytes:
    """Encode an input or output; the caller chooses named dimensions."""
    sizes = [_message(1, _message(2, n) if isinstance(n, str) else _number(1, n)) for n in shape]
    kind = _message(1, _number(1, element), _message(2, *sizes))
    return _message(1, name) + _message(2, kind)


def _value(value: Attribute) -> bytes:
    if isinstance(value, float):
        return encode_varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return _number(3, value) + _number(20, 2)
    return b"".join(_number(8, n) for n in value) + _number(20, 7)


def _number(field: int, number: int) -> bytes:
    return encode_varint(field << 3) + encode_varint(number & (1 << 64) - 1)


def _message(field: int, *parts: bytes | str) -> bytes:
    """Encode a field with a text or nested fields."""
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return encode_varint(field << 3 | 2) + encode_varint(len(data)) + data


@dataclass(frozen=True)
class BertConfig:
    """Sizes of a BERT encoder; the defaults are those of all-MiniLM-L6-v2."""

    hidden: int = 384
    layers: int = 6
    heads: int = 12
    ffn: int = 1536
    vocab: int = 30_522
    positions: int = 512
    types: int = 2
    eps: float = 1e-12
    """Epsilon of the layer normalisation."""

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The weights by their names in the usual checkpoints, a dense layer's as (out, in)."""
        embeddings = "embeddings."
        shapes: dict[str, tuple[int, ...]] = {
            f"{embeddings}word_embeddings.weight": (self.vocab, self.hidden),
            f"{embeddings}position_embeddings.weight": (self.positions, self.hidden),
            f"{embeddings}token_type_embeddings.weight": (self.types, self.hidden),
            **_norm_shapes(f"{embeddings}LayerNorm", self.hidden),
        }
        for layer in range(self.layers):
            shapes.update(self._layer_shapes(f"encoder.layer.{layer}."))
        return shapes

    def _layer_shapes(self, layer: str) -> dict[str, tuple[int, ...]]:
        width = self.hidden
        dense = {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (self.ffn, width),
            "output.dense": (width, self.ffn),
        }
        shapes: dict[str, tuple[int, ...]] = {}
        for name, size in dense.items():
            shapes[f"{layer}{name}.weight"], shapes[f"{layer}{name}.bias"] = size, size[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes.update(_norm_shapes(f"{layer}{name}", width))
        return shapes


def _norm_shapes(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def bert_graph(config: BertConfig) -> bytes:
    """An ONNX file with the usual inputs, int64 (batch, seq), and the last hidden state.

    It lacks its weights, which have the names of `BertConfig.shapes` and may be float32 or
    float16; the sums are float32. Raises ValueError for heads that do not share the width evenly.
    """
    if config.hidden % config.heads:
        raise ValueError("the attention heads do not share the width evenly")
    return _Writer(config).model()


class _Writer:
    """Collects the operations and constants of one encoder."""

    def __init__(self, config: BertConfig) -> None:
        self._config = config
        self._nodes: list[bytes] = []
        self._tensors: dict[str, bytes] = {}

    def model(self) -> bytes:
        """Build the whole encoder."""
        states = self._embeddings()
        mask = self._mask()
        for layer in range(self._config.layers):
            states = self._layer(f"encoder.layer.{layer}.", states, mask)
        self._nodes.append(node("Identity", [states], OUTPUT))
        inputs = [value_info(name, Element.INT64, ["batch", "seq"]) for name in _INPUTS]
        output = value_info(OUTPUT, Element.FLOAT, ["batch", "seq", self._config.hidden])
        return onnx_file("bert", self._nodes, inputs, output, self._tensors.values())

    def _op(self, op: str, *inputs: str, **attributes: Attribute) -> str:
        output = f"{op.lower()}_{len(self._nodes)}"
        self._nodes.append(node(op, inputs, output, **attributes))
        return output

    def _float(self, name: str, value: float) -> str:
        self._tensors.setdefault(name, tensor(name, np.array(value)))
        return name

    def _ints(self, name: str, values: int | list[int]) -> str:
        self._tensors.setdefault(name, tensor(name, np.array(values), Element.INT64))
        return name

    def _weight(self, name: str) -> str:
        """A weight as float32; an engine does the cast of a constant once, at load."""
        return self._op("Cast", name, to=int(Element.FLOAT))

    def _rows(self, table: str, indices: str) -> str:
        """Rows of an embedding table, which stays as small in memory as it is in the file."""
        return self._weight(self._op("Gather", f"embeddings.{table}_embeddings.weight", indices))

    def _embeddings(self) -> str:
        length = self._op("Gather", self._op("Shape", "input_ids"), self._ints("one", 1))
        positions = self._op("Range", self._ints("zero", 0), length, self._ints("one", 1))
        words = self._rows("word", "input_ids")
        kinds = self._rows("token_type", "token_type_ids")
        places = self._rows("position", positions)
        total = self._op("Add", self._op("Add", words, kinds), places)
        return self._norm("embeddings.LayerNorm", total)

    def _mask(self) -> str:
        """The mask added to the attention scores: 0 for a token, `_MASKED` for padding."""
        spread = self._op("Unsqueeze", "attention_mask", self._ints("head_axes", [1, 2]))
        real = self._op("Cast", spread, to=int(Element.FLOAT))
        padding = self._op("Sub", self._float("one_float", 1.0), real)
        return self._op("Mul", padding, self._float("masked", _MASKED))

    def _layer(self, layer: str, states: str, mask: str) -> str:
        attended = self._linear(f"{layer}attention.output.dense", self._heads(layer, states, mask))
        states = self._norm(f"{layer}attention.output.LayerNorm", self._op("Add", attended, states))
        inner = self._gelu(self._linear(f"{layer}intermediate.dense", states))
        outer = self._linear(f"{layer}output.dense", inner)
        return self._norm(f"{layer}output.LayerNorm", self._op("Add", outer, states))

    def _heads(self, layer: str, states: str, mask: str) -> str:
        query = self._split(self._linear(f"{layer}attention.self.query", states), [0, 2, 1, 3])
        key = self._split(self._linear(f"{layer}attention.self.key", states), [0, 2, 3, 1])
        value = self._split(self._linear(f"{layer}attention.self.value", states), [0, 2, 1, 3])
        root = math.sqrt(self._config.hidden // self._config.heads)
        scores = self._op("Div", self._op("MatMul", query, key), self._float("root", root))
        shares = self._op("Softmax", self._op("Add", scores, mask), axis=-1)
        mixed = self._op("Transpose", self._op("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self._op("Reshape", mixed, self._ints("joined", [0, 0, self._config.hidden]))

    def _split(self, states: str, order: Sequence[int]) -> str:
        heads, hidden = self._config.heads, self._config.hidden
        shape = self._ints("split", [0, 0, heads, hidden // heads])
        return self._op("Transpose", self._op("Reshape", states, shape), perm=order)

    def _linear(self, name: str, states: str) -> str:
        weight = self._op("Transpose", self._weight(f"{name}.weight"), perm=[1, 0])
        product = self._op("MatMul", states, weight)
        return self._op("Add", product, self._weight(f"{name}.bias"))

    def _norm(self, name: str, states: str) -> str:
        scale, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        eps = self._config.eps
        return self._op("LayerNormalization", states, scale, bias, axis=-1, epsilon=eps)

    def _gelu(self, states: str) -> str:
        part = self._op("Erf", self._op("Div", states, self._float("root_two", math.sqrt(2.0))))
        grown = self._op("Mul", states, self._op("Add", part, self._float("one_float", 1.0)))
        return self._op("Mul", grown, self._float("half", 0.5))


if __name__ == "__main__":
    sys.stdout.buffer.write(bert_graph(BertConfig()))
