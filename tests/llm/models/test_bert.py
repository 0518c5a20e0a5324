"""The written BERT encoder against the same sums done in NumPy."""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
import pytest

from runtime.llm.commands.pull.encoder import MINILM, write_model
from tools.bert_onnx import OUTPUT, BertConfig, bert_graph

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CONFIG = BertConfig(hidden=24, layers=3, heads=4, ffn=40, vocab=50, positions=16, eps=1e-12)


class Reference:
    """A BERT forward pass in float64, one text at a time, without padding."""

    def __init__(self, weights: dict[str, npt.NDArray[np.float32]], config: BertConfig) -> None:
        self._weights = {name: values.astype(np.float64) for name, values in weights.items()}
        self._config = config

    def _dense(self, name: str, x: Floats) -> Floats:
        y: Floats = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return y

    def _norm(self, name: str, x: Floats) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + self._config.eps)
        y: Floats = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return y

    def _attention(self, name: str, x: Floats) -> Floats:
        heads, size = self._config.heads, self._config.hidden // self._config.heads
        query, key, value = (self._dense(f"{name}.{part}", x) for part in ("query", "key", "value"))
        out = np.empty_like(x)
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = query[:, part] @ key[:, part].T / math.sqrt(size)
            shares = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, part] = shares / shares.sum(-1, keepdims=True) @ value[:, part]
        return out

    def states(self, ids: list[int], kinds: list[int]) -> Floats:
        """The last hidden state of each token."""
        tables = [
            self._weights[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "token_type", "position")
        ]
        x = tables[0][ids] + tables[1][kinds] + tables[2][: len(ids)]
        x = self._norm("embeddings.LayerNorm", x)
        for number in range(self._config.layers):
            layer = f"encoder.layer.{number}"
            attended = self._attention(f"{layer}.attention.self", x)
            attended = self._dense(f"{layer}.attention.output.dense", attended)
            x = self._norm(f"{layer}.attention.output.LayerNorm", x + attended)
            inner = self._dense(f"{layer}.intermediate.dense", x)
            gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
            x = self._norm(
                f"{layer}.output.LayerNorm", x + self._dense(f"{layer}.output.dense", gelu)
            )
        return x


@pytest.fixture(scope="module")
def weights() -> dict[str, npt.NDArray[np.float32]]:
    """Weights large enough that every part of a layer shows in the result."""
    random = np.random.default_rng(5)
    return {
        name: (random.standard_normal(shape) * 0.4 + ("LayerNorm.weight" in name)).astype(
            np.float32
        )
        for name, shape in CONFIG.shapes().items()
    }


def written(
    weights: dict[str, npt.NDArray[np.float32]], path: Path, *, half: bool = False
) -> onnxruntime.InferenceSession:
    write_model(bert_graph(CONFIG), weights, path, half=half)
    return onnxruntime.InferenceSession(path)


def computed(session: onnxruntime.InferenceSession, ids: Ints, mask: Ints, kinds: Ints) -> Floats:
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    states: Floats = session.run([OUTPUT], feeds)[0]
    return states


TEXTS = [[2, 7, 9, 3], [2, 3], [2, *range(4, 17), 3]]
KINDS = [[0, 0, 1, 1], [0, 1], [0] * 15]


def test_the_encoder_computes_what_bert_does(
    weights: dict[str, npt.NDArray[np.float32]], tmp_path: Path
) -> None:
    reference, session = Reference(weights, CONFIG), written(weights, tmp_path / "bert.onnx")
    longest = max(map(len, TEXTS))
    ids, mask, kinds = (np.zeros((len(TEXTS), longest), np.int64) for _ in range(3))
    for row, text in enumerate(TEXTS):
        ids[row, : len(text)], mask[row, : len(text)] = text, 1
        kinds[row, : len(text)] = KINDS[row]

    states = computed(session, ids, mask, kinds)

    for row, text in enumerate(TEXTS):
        expected = reference.states(text, KINDS[row])
        assert np.abs(states[row, : len(text)] - expected).max() < 2e-5


def test_half_the_bytes_give_nearly_the_same_numbers(
    weights: dict[str, npt.NDArray[np.float32]], tmp_path: Path
) -> None:
    whole, half = tmp_path / "whole.onnx", tmp_path / "half.onnx"
    written(weights, whole)
    session = written(weights, half, half=True)
    ids, mask = np.array([TEXTS[0]]), np.ones((1, 4), np.int64)

    states = computed(session, ids, mask, np.array([KINDS[0]]))

    expected = Reference(weights, CONFIG).states(TEXTS[0], KINDS[0])
    assert states.dtype == np.float32
    assert 1e-6 < np.abs(states[0] - expected).max() < 0.02
    assert half.stat().st_size < 0.75 * whole.stat().st_size  # the names are as long


def test_names_of_a_checkpoint_may_carry_a_prefix_and_others_are_left_out(
    weights: dict[str, npt.NDArray[np.float32]], tmp_path: Path
) -> None:
    named = {f"bert.{name}": values for name, values in weights.items()}
    named["pooler.dense.weight"] = np.zeros((24, 24), np.float32)
    plain, prefixed = tmp_path / "plain.onnx", tmp_path / "prefixed.onnx"

    write_model(bert_graph(CONFIG), weights, plain)
    write_model(bert_graph(CONFIG), named, prefixed)

    assert plain.read_bytes() == prefixed.read_bytes()


def test_the_shipped_graph_is_the_one_that_is_made() -> None:
    assert MINILM.graph == bert_graph(BertConfig())
