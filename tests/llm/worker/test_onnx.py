"""The ONNX encoder: what it makes of models of every shape, and which ones it refuses."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from runtime.llm.engine.protocol import Embedded, LoadEncoder, Pooling
from runtime.llm.engine.worker.encoders import NOT_COMPUTED, NOT_FINITE
from runtime.llm.engine.worker.onnx import OnnxEncoder
from runtime.llm.engine.worker.resources import Refused
from tests.llm.engine import onnxkit
from tests.llm.engine.onnxkit import vocabulary
from tools.bert_onnx import Element, node, onnx_file, tensor, value_info

Rows = npt.NDArray[np.float32]
BATCH = ["batch", "seq"]
IDS = "input_ids"
TOKENS = len(vocabulary())
ROUNDED = 128 * -(-TOKENS // 128)
A_TOKEN = value_info("out", Element.FLOAT, [*BATCH, 4])


def encoder(
    path: Path, *, pooling: Pooling | None = None, max_seq: int | None = None
) -> OnnxEncoder:
    words = onnxkit.write_vocabulary(path.with_suffix(".txt"))
    return OnnxEncoder(LoadEncoder(str(path), str(words), 1, pooling, max_seq))


def rows(encoded: Embedded) -> Rows:
    return np.frombuffer(encoded.vectors, "<f4").reshape(len(encoded.tokens), -1)


@dataclass(frozen=True)
class Built:
    """A small graph: a row of *table* a token, then *nodes* from ``rows`` to ``out``."""

    nodes: Sequence[bytes] = (node("Identity", ["rows"], "out"),)
    inputs: Sequence[bytes] = (value_info(IDS, Element.INT64, BATCH),)
    output: bytes = A_TOKEN
    tensors: Sequence[bytes] = ()
    table: Rows | None = None
    ids: str = IDS

    def write(self, folder: Path) -> Path:
        table = self.table if self.table is not None else numbers(TOKENS, 4)
        first = node("Gather", ["table", self.ids], "rows")
        tensors = [tensor("table", table), *self.tensors]
        nodes = [first, *self.nodes]
        path = folder / "built.onnx"
        path.write_bytes(onnx_file("built", nodes, self.inputs, self.output, tensors))
        return path


def numbers(*shape: int) -> Rows:
    return np.random.default_rng(3).standard_normal(shape, dtype=np.float32)


def unit(row: Rows) -> Rows:
    return row / np.float32(math.sqrt(float(row @ row)))


def test_the_mean_is_over_the_tokens_and_not_over_the_padding(tmp_path: Path) -> None:
    table = numbers(TOKENS, 4)
    built = encoder(Built(table=table).write(tmp_path))
    at = {token: number for number, token in enumerate(vocabulary())}

    encoded = built.embed(["the car", "lap lap lap lap"])

    for row, words in zip(rows(encoded), ("the car", "lap lap lap lap"), strict=True):
        ids = [at[word] for word in ("[CLS]", *words.split(), "[SEP]")]
        assert np.abs(row - unit(table[ids].mean(axis=0))).max() < 1e-6


def test_the_first_token_is_taken_where_that_is_declared(tmp_path: Path) -> None:
    table = numbers(TOKENS, 4)
    built = encoder(Built(table=table).write(tmp_path), pooling="cls")
    assert np.abs(rows(built.embed(["the car"]))[0] - unit(table[2])).max() < 1e-6


SUMMED = (node("ReduceMax", ["rows"], "out", axes=[1], keepdims=0),)


@pytest.mark.parametrize("pooling", [None, "none", "mean"])
def test_a_vector_a_text_is_taken_as_it_is(pooling: Pooling | None, tmp_path: Path) -> None:
    table = numbers(TOKENS, 4)
    output = value_info("out", Element.FLOAT, ["batch", 4])
    built = Built(SUMMED, output=output, table=table)

    encoded = encoder(built.write(tmp_path), pooling=pooling).embed(["the"])

    ids = [2, vocabulary().index("the"), 3]
    assert np.abs(rows(encoded)[0] - unit(table[ids].max(axis=0))).max() < 1e-6


@pytest.mark.parametrize("element", [Element.FLOAT16, Element.DOUBLE])
def test_other_floating_point_numbers_become_float32(element: Element, tmp_path: Path) -> None:
    cast = node("Cast", ["rows"], "out", to=int(element))
    output = value_info("out", element, [*BATCH, 4])
    encoded = encoder(Built([cast], output=output).write(tmp_path)).embed(["the car"])
    assert len(encoded.vectors) == 4 * 4
    assert abs(float(np.linalg.norm(rows(encoded)[0])) - 1) < 1e-6


def test_the_longest_input_is_what_the_positions_can_take(tmp_path: Path) -> None:
    path = onnxkit.write_tiny(tmp_path, width=12, positions=40)
    assert encoder(path).max_tokens == 32
    assert encoder(path, max_seq=40).max_tokens == 40
    with pytest.raises(Refused, match="the model cannot take inputs of 41 tokens"):
        encoder(path, max_seq=41)
    with pytest.raises(Refused, match="the maximum input must be 3 to 8192 tokens"):
        encoder(path, max_seq=2)


def infinite() -> Built:
    table = numbers(TOKENS, 4)
    table[vocabulary().index("red")] = np.inf
    table[vocabulary().index("blue")] = np.nan
    return Built(table=table)


@pytest.mark.parametrize("word", ["red", "blue"])
def test_numbers_that_are_none_are_told(word: str, tmp_path: Path) -> None:
    built = encoder(infinite().write(tmp_path))
    with pytest.raises(Refused, match=NOT_FINITE):
        built.embed(["green", f"a {word} car"])
    assert len(built.embed(["green"]).vectors) == 16


def test_a_model_that_fails_on_a_text_goes_on_with_the_next(tmp_path: Path) -> None:
    rows_of = np.arange(TOKENS)
    rows_of[vocabulary().index("red")] = 1_000_000  # a row that the table does not have
    nodes = [node("Gather", ["rows_of", IDS], "at"), node("Gather", ["table", "at"], "out")]
    tensors = [tensor("rows_of", rows_of, Element.INT64)]
    built = encoder(Built(nodes, tensors=tensors).write(tmp_path))

    with pytest.raises(Refused, match=NOT_COMPUTED):
        built.embed(["a red car"])

    assert len(built.embed(["a green car"]).vectors) == 16


def test_a_large_table_may_be_rounded_up_further(tmp_path: Path) -> None:
    words = onnxkit.write_vocabulary(tmp_path / "words.txt")
    words.write_text(words.read_text() + "".join(f"word{n}\n" for n in range(30_522 - TOKENS)))

    def load(rows: int) -> int:
        path = str(Built(table=numbers(rows, 4)).write(tmp_path))
        return OnnxEncoder(LoadEncoder(path, str(words), 1, None, None)).width

    assert [load(rows) for rows in (30_522, 30_528, 30_592, 30_720)] == [4] * 4
    with pytest.raises(Refused, match="far fewer tokens"):
        load(40_000)


def test_a_model_that_fails_on_every_text_is_refused(tmp_path: Path) -> None:
    halves = tensor("halves", np.array([0, -1, 7, 4]), Element.INT64)
    nodes = [node("Reshape", ["rows", "halves"], "out")]
    with pytest.raises(Refused, match="the model cannot be run"):
        encoder(Built(nodes, tensors=[halves]).write(tmp_path))


def given(**shapes: Sequence[int | str]) -> list[bytes]:
    return [value_info(name, Element.INT64, shape) for name, shape in shapes.items()]


OTHER_TYPE = [value_info(IDS, Element.INT32, BATCH)]
PAIRED = (node("Concat", ["rows", "rows"], "out", axis=0),)
FLAT = (node("Reshape", ["rows", "flat"], "out"),)
FLAT_SHAPE = tensor("flat", np.array([-1]), Element.INT64)

REFUSED: Mapping[str, tuple[Callable[[], Built], str]] = {
    "another input": (
        lambda: Built(inputs=given(input_ids=BATCH, bbox=BATCH)),
        "the model needs an unknown input: bbox",
    ),
    "no ids": (
        lambda: Built(inputs=given(attention_mask=BATCH), ids="attention_mask"),
        "the model has no input input_ids",
    ),
    "numbers of 32 bits": (
        lambda: Built(inputs=OTHER_TYPE),
        "the input input_ids is not of type int64",
    ),
    "three dimensions": (
        lambda: Built(
            inputs=given(input_ids=["batch", "one", "seq"]),
            output=value_info("out", Element.FLOAT, ["batch", "one", "seq", 4]),
        ),
        "the input input_ids does not accept any number of texts of any length",
    ),
    "a fixed length": (
        lambda: Built(inputs=given(input_ids=[1, 64])),
        "the input input_ids does not accept any number of texts of any length",
    ),
    "whole numbers": (
        lambda: Built(
            [node("Cast", ["rows"], "out", to=int(Element.INT64))],
            output=value_info("out", Element.INT64, [*BATCH, 4]),
        ),
        "the output out does not contain floating-point numbers",
    ),
    "more vectors than tokens": (
        lambda: Built(PAIRED, output=value_info("out", Element.FLOAT, ["b", "s", 4])),
        "the first output is neither a vector per token nor a vector per text",
    ),
    "a row of numbers": (
        lambda: Built(FLAT, output=value_info("out", Element.FLOAT, ["n"]), tensors=[FLAT_SHAPE]),
        "the first output is neither a vector per token nor a vector per text",
    ),
    "a vocabulary larger than the table": (
        lambda: Built(table=numbers(TOKENS - 1, 4)),
        "the vocabulary has more tokens than the model",
    ),
    "a vocabulary that lacks much of the table": (
        lambda: Built(table=numbers(ROUNDED + 1, 4)),
        "the vocabulary has far fewer tokens than the model",
    ),
    "vectors too wide": (
        lambda: Built(
            table=np.zeros((TOKENS, 65_537), np.float32),
            output=value_info("out", Element.FLOAT, [*BATCH, 65_537]),
        ),
        "the vectors have 65537 dimensions; the maximum is 65536",
    ),
    "an operation that there is none": (
        lambda: Built([node("Drive", ["rows"], "out")]),
        "the engine cannot read this model",
    ),
}


@pytest.mark.parametrize(("built", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_model_of_another_kind_is_refused(
    built: Callable[[], Built], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(Refused) as caught:
        encoder(built().write(tmp_path))
    assert reason in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_vector_a_token_needs_a_pooling(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="needs a pooling"):
        encoder(Built().write(tmp_path), pooling="none")


def test_damaged_models_are_refused_or_computed(tmp_path: Path) -> None:
    data = onnxkit.write_tiny(tmp_path, width=12, words=()).read_bytes()
    path = tmp_path / "damaged.onnx"
    reasons = []
    for at in range(0, 4000, 53):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        try:
            encoder(path).embed(["the car"])
        except Refused as error:
            reasons.append(str(error))
    assert len(reasons) > 10
    assert not [reason for reason in reasons if str(tmp_path) in reason or len(reason) > 100]
