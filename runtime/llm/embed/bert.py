"""Writes a BERT sentence encoder as an ONNX file of plain operations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from runtime.llm.embed import onnxwrite
from runtime.llm.embed.onnxwrite import Array, Element, Graph, Model, Node, Tensor, ValueInfo

_MASKED: Final = -10_000.0
"""Added to the attention scores of padding: its weight is then 0 in float32."""
_INPUTS: Final = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT: Final = "last_hidden_state"


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
    """Of the layer normalisation."""

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


def write_bert(
    out: BinaryIO | Path, weights: Mapping[str, Array], config: BertConfig, *, half: bool = False
) -> None:
    """Write an encoder with the usual inputs, int64 (batch, seq), and the last hidden state.

    *weights* have the names of `BertConfig.shapes`, with or without ``bert.`` before them; others
    are left out. With *half* they are stored as float16, half the file; the sums stay float32.
    Raises ValueError for a weight that is missing or has another shape, OSError for a file that
    cannot be written.
    """
    model = _Writer(_checked(weights, config), config, half=half).model()
    if isinstance(out, Path):
        with out.open("wb") as file:
            onnxwrite.write(model, file)
    else:
        onnxwrite.write(model, out)


def _norm_shapes(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _checked(weights: Mapping[str, Array], config: BertConfig) -> dict[str, Array]:
    if config.hidden % config.heads:
        raise ValueError("the attention heads do not share the width evenly")
    known = {name.removeprefix("bert."): name for name in weights}
    found: dict[str, Array] = {}
    for name, shape in config.shapes().items():
        if name not in known:
            raise ValueError(f"the weights lack {name}")
        found[name] = weights[known[name]]
        if found[name].shape != shape:
            raise ValueError(f"{name} has the shape {found[name].shape} instead of {shape}")
    return found


class _Writer:
    """Collects the operations and constants of one encoder."""

    def __init__(self, weights: Mapping[str, Array], config: BertConfig, *, half: bool) -> None:
        self._weights = weights
        self._config = config
        self._stored = Element.FLOAT16 if half else Element.FLOAT
        self._nodes: list[Node] = []
        self._tensors: dict[str, Tensor] = {}

    def model(self) -> Model:
        """The whole encoder."""
        states = self._embeddings()
        mask = self._mask()
        for layer in range(self._config.layers):
            states = self._layer(f"encoder.layer.{layer}.", states, mask)
        self._nodes.append(Node("Identity", [states], [OUTPUT]))
        inputs = [ValueInfo(name, Element.INT64, ["batch", "seq"]) for name in _INPUTS]
        output = ValueInfo(OUTPUT, Element.FLOAT, ["batch", "seq", self._config.hidden])
        return Model(Graph("bert", self._nodes, inputs, [output], [*self._tensors.values()]))

    def _op(self, op: str, *inputs: str, **attributes: int | float | Sequence[int]) -> str:
        output = f"{op.lower()}_{len(self._nodes)}"
        self._nodes.append(Node(op, inputs, [output], attributes))
        return output

    def _float(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value), Element.FLOAT)

    def _ints(self, name: str, values: int | list[int]) -> str:
        return self._constant(name, np.array(values), Element.INT64)

    def _constant(self, name: str, values: Array, element: Element) -> str:
        self._tensors.setdefault(name, Tensor(name, values, element))
        return name

    def _weight(self, name: str, *, transposed: bool = False) -> str:
        """A weight as float32; an engine does the cast of a constant once, at load."""
        values = self._weights[name]
        stored = self._constant(name, values.T if transposed else values, self._stored)
        return self._as_float(stored)

    def _as_float(self, value: str) -> str:
        if self._stored is Element.FLOAT:
            return value
        return self._op("Cast", value, to=int(Element.FLOAT))

    def _rows(self, table: str, indices: str) -> str:
        """Rows of an embedding table, which stays as small in memory as it is in the file."""
        name = f"embeddings.{table}_embeddings.weight"
        stored = self._constant(name, self._weights[name], self._stored)
        return self._as_float(self._op("Gather", stored, indices))

    def _embeddings(self) -> str:
        length = self._op("Gather", self._op("Shape", "input_ids"), self._ints("one", 1))
        positions = self._op("Range", self._ints("zero", 0), length, self._ints("one", 1))
        words = self._rows("word", "input_ids")
        kinds = self._rows("token_type", "token_type_ids")
        places = self._rows("position", positions)
        total = self._op("Add", self._op("Add", words, kinds), places)
        return self._norm("embeddings.LayerNorm", total)

    def _mask(self) -> str:
        """What is added to the attention scores: 0 for a token, `_MASKED` for padding."""
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
        product = self._op("MatMul", states, self._weight(f"{name}.weight", transposed=True))
        return self._op("Add", product, self._weight(f"{name}.bias"))

    def _norm(self, name: str, states: str) -> str:
        scale, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        eps = self._config.eps
        return self._op("LayerNormalization", states, scale, bias, axis=-1, epsilon=eps)

    def _gelu(self, states: str) -> str:
        part = self._op("Erf", self._op("Div", states, self._float("root_two", math.sqrt(2.0))))
        grown = self._op("Mul", states, self._op("Add", part, self._float("one_float", 1.0)))
        return self._op("Mul", grown, self._float("half", 0.5))
