"""The GGUF encoder: the same vectors as the ONNX file of the same weights, and what it refuses."""

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import gguf
import pytest

from runtime.llm.engine.protocol import Embedded, Pooling
from runtime.llm.engine.worker.encoders import NOT_FINITE
from runtime.llm.engine.worker.llama import LlamaEncoder, normalise
from runtime.llm.engine.worker.resources import Refused
from tests.llm import tinymodel
from tests.llm.engine import onnxkit
from tests.llm.worker import ggufbert
from tests.llm.worker.harness import load_command


def encoder(path: Path, max_seq: int | None = None) -> LlamaEncoder:
    return LlamaEncoder(load_command(path, max_seq=max_seq))


def rows(encoded: Embedded, width: int) -> list[Sequence[float]]:
    return list(struct.iter_unpack(f"<{width}f", encoded.vectors))


def test_the_pooling_is_that_of_the_file_unless_another_is_declared(tmp_path: Path) -> None:
    def vector(name: str, kind: int | None, declared: Pooling | None) -> bytes:
        path = ggufbert.write(tmp_path / name, pooling=kind)
        loaded = LlamaEncoder(load_command(path, pooling=declared))
        return loaded.embed(["the red car"]).vectors

    mean = vector("mean.gguf", gguf.PoolingType.MEAN, None)
    first = vector("cls.gguf", gguf.PoolingType.CLS, None)
    assert mean != first
    assert vector("cls-mean.gguf", gguf.PoolingType.CLS, "mean") == mean
    assert vector("mean-cls.gguf", gguf.PoolingType.MEAN, "cls") == first
    assert vector("none.gguf", gguf.PoolingType.NONE, None) == mean
    assert vector("silent.gguf", None, None) == mean


@pytest.mark.parametrize("kind", [int(gguf.PoolingType.RANK), 5, 1 << 31])
def test_a_pooling_that_gives_no_vectors_is_refused(kind: int, tmp_path: Path) -> None:
    path = ggufbert.write(tmp_path / "bert.gguf", pooling=kind)
    with pytest.raises(Refused, match="declares a pooling that returns no vectors"):
        encoder(path)


def test_a_model_that_writes_text_can_embed_too(tmp_path: Path) -> None:
    llama = encoder(tinymodel.write_random(tmp_path / "chat.gguf"))
    once, again = llama.embed(["hello", "a longer text", ""]), llama.embed(["hello"])
    assert rows(once, llama.width)[0] == pytest.approx(rows(again, llama.width)[0], abs=1e-6)
    assert len(rows(once, llama.width)) == 3


def test_the_longest_input_is_bounded_by_the_file(tmp_path: Path) -> None:
    path = ggufbert.write(tmp_path / "bert.gguf", positions=40)
    assert encoder(path).max_tokens == 40
    assert encoder(path, 16).max_tokens == 16
    with pytest.raises(Refused, match="the model cannot take inputs of 41 tokens"):
        encoder(path, 41)
    with pytest.raises(Refused, match="must be 3 to 8192 tokens"):
        encoder(path, 2)


def test_numbers_that_are_none_are_told() -> None:
    for wrong in (math.inf, -math.inf, math.nan):
        with pytest.raises(Refused, match=NOT_FINITE):
            normalise([1.0, wrong])
    assert normalise([0.0, 0.0]) == bytes(8)
    assert struct.unpack("<2f", normalise([3e38, 4e38])) == pytest.approx((0.6, 0.8))


def test_files_that_are_no_encoder_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(Refused, match="version"):
        encoder(path)
    whole = ggufbert.write(tmp_path / "bert.gguf").read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Refused) as caught:
        encoder(path)
    assert str(tmp_path) not in str(caught.value)
    good = ggufbert.write(tmp_path / "good.gguf")
    with pytest.raises(Refused, match="needs a pooling"):
        LlamaEncoder(load_command(good, pooling="none"))


def test_a_table_smaller_than_the_vocabulary_is_refused(tmp_path: Path) -> None:
    config = onnxkit.config_for(48, 1, 100)
    weights = onnxkit.random_weights(config)
    path = ggufbert.write_weights(tmp_path / "small.gguf", weights, config)
    with pytest.raises(Refused, match="the vocabulary does not fit the weights"):
        encoder(path)
