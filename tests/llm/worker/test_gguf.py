"""A damaged header costs the reader an error and no more; a sound one tells what it is."""

import os
import struct
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runtime.llm.models import gguf
from tests.llm import tinymodel
from tests.llm.worker import ggufkit as kit

Change = Callable[[kit.File], kit.File]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = tinymodel.Shape(width=32, vocab=300, ffn=32)
    return tinymodel.write_random(tmp_path_factory.mktemp("models") / "tiny.gguf", shape)


@pytest.fixture(scope="module")
def file(path: Path) -> kit.File:
    return kit.parse(path)


def test_a_sound_file_tells_what_it_is(path: Path) -> None:
    header = gguf.read(path)
    assert (header.architecture, header.quantization) == ("llama", "F32")
    assert (header.context_length, header.embedding_only) == (2048, False)
    assert header.kv_bytes_per_token == 2 * 2 * (8 + 8) * 2  # layers, heads, keys and values, f16
    assert header.size == path.stat().st_size
    assert header.chat_template == tinymodel.CHATML
    assert header.parameters > 300 * 32 * 2


def one(key: str, kind: int, value: kit.Value) -> Change:
    return lambda file: file.having(key, kind, value)


def tokens(change: Callable[[list[int | float | bytes]], list[int | float | bytes]]) -> Change:
    key = "tokenizer.ggml.tokens"
    return lambda file: file.having(key, kit.ARRAY, (kit.STRING, change(file.array(key))))


def with_kind(architecture: bytes) -> Change:
    """The same numbers under the name of another architecture."""

    def change(file: kit.File) -> kit.File:
        prefix = architecture + b"."
        values = {key.replace(b"llama.", prefix): v for key, v in file.values.items()}
        renamed = replace(file, values=values)
        return renamed.having("general.architecture", kit.STRING, architecture)

    return change


REFUSED: dict[str, tuple[Change, str]] = {
    "magic": (lambda f: replace(f, magic=b"GGML"), "not a GGUF"),
    "version": (lambda f: replace(f, version=1), "version"),
    "big endian": (lambda f: replace(f, version=3 << 24), "version"),
    "keys": (lambda f: replace(f, counts=(1, 2**60)), "too many"),
    "tensors": (lambda f: replace(f, counts=(2**32, 1)), "too many"),
    "more keys than there are": (lambda f: replace(f, counts=(1, 200)), "."),
    "a key twice": (
        lambda f: replace(
            f,
            extra=kit.text(b"general.name") + struct.pack("<II", kit.U32, 0),
            counts=(len(f.tensors), len(f.values) + 1),
        ),
        "key appears twice",
    ),
    "no architecture": (lambda f: f.without("general.architecture"), "architecture"),
    "no layers": (one("llama.block_count", kit.U32, 0), "block count"),
    "many layers": (one("llama.block_count", kit.U32, 513), "block count"),
    "no heads": (one("llama.attention.head_count", kit.U32, 0), "heads"),
    "uneven heads": (one("llama.attention.head_count_kv", kit.U32, 3), "evenly"),
    "few heads a layer": (
        one("llama.attention.head_count", kit.ARRAY, (kit.U32, [4])),
        "head_count",
    ),
    "more heads than width": (one("llama.attention.head_count", kit.U32, 64), "heads"),
    "wide rope": (one("llama.rope.dimension_count", kit.U32, 64), "rope"),
    "odd rope": (one("llama.rope.dimension_count", kit.U32, 7), "rope"),
    "rope sections": (one("llama.rope.dimension_sections", kit.ARRAY, (kit.I32, [0] * 4)), "rope"),
    "rope scaling": (one("llama.rope.scaling.type", kit.STRING, b"x"), "scaling"),
    "eps": (one("llama.attention.layer_norm_rms_epsilon", kit.F32, float("nan")), "epsilon"),
    "rope base": (one("llama.rope.freq_base", kit.F32, 0.0), "freq_base"),
    "experts": (one("llama.expert_used_count", kit.U32, 4), "experts"),
    "experts that nobody asks": (one("llama.expert_count", kit.U32, 4), "experts"),
    "groups of no experts": (one("llama.expert_group_count", kit.U32, 2), "experts"),
    "prediction layers": (one("llama.nextn_predict_layers", kit.U32, 3), "nextn"),
    "no experts": (with_kind(b"llada-moe"), "experts"),
    "no sections": (with_kind(b"paddleocr"), "rope sections"),
    "no recurrence": (with_kind(b"jamba"), "recurrent"),
    "bos": (one("tokenizer.ggml.bos_token_id", kit.U32, 300), "outside the vocabulary"),
    "a token twice": (tokens(lambda t: [*t[:-1], t[0]]), "twice"),
    "a token less": (tokens(lambda t: t[:-1]), "differ in length"),
    "no tokens": (tokens(lambda t: []), "vocabulary"),
    "no tokenizer": (one("tokenizer.ggml.model", kit.STRING, b"none"), "vocabulary"),
    "no bytes": (one("tokenizer.ggml.model", kit.STRING, b"llama"), "single bytes"),
    "no escapes": (one("tokenizer.ggml.model", kit.STRING, b"rwkv"), "single bytes"),
    "alignment": (one("general.alignment", kit.U32, 33), "alignment"),
    "no alignment": (one("general.alignment", kit.U32, 0), "alignment"),
    "split": (one("split.count", 2, 0xFFFF), "set of files"),
    "work type": (lambda f: f.changed(0, kind=9), "unknown type"),
    "removed type": (lambda f: f.changed(0, kind=4), "unknown type"),
    "half a block": (lambda f: f.changed(0, kind=12), "whole blocks"),
    "beyond the end": (lambda f: f.changed(0, offset=2**40), "outside"),
    "overlap": (
        lambda f: f.changed(1, offset=f.tensors[0].offset),
        "outside the file or overlaps",
    ),
    "unaligned": (lambda f: f.changed(-1, offset=f.tensors[-1].offset - 1), "outside"),
    "wrapping size": (lambda f: f.changed(0, shape=(2**32, 2**32)), "impossible size"),
    "nothing in it": (lambda f: f.changed(0, shape=(0,)), "impossible size"),
    "five dimensions": (lambda f: f.changed(0, shape=(1,) * 5), "dimensions"),
    "long name": (lambda f: f.changed(0, name=b"n" * 64), "too long"),
    "a name in no encoding": (lambda f: f.changed(0, name=b"\xff"), "UTF-8"),
    "twice": (lambda f: replace(f, tensors=[*f.tensors, f.tensors[0]]), "twice"),
    "no weights": (lambda f: replace(f, tensors=[]), "no weights"),
    "other vocabulary": (
        lambda f: f.changed(f.index("token_embd.weight"), shape=(32, 299)),
        "does not fit the weights",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_lying_header_is_refused_with_a_reason(case: str, file: kit.File, tmp_path: Path) -> None:
    change, reason = REFUSED[case]
    lying = tmp_path / "lying.gguf"
    lying.write_bytes(kit.build(change(file)))
    with pytest.raises(gguf.BadModelFile, match=reason):
        gguf.read(lying)


@pytest.mark.parametrize(
    "entry",
    [
        struct.pack("<IIQ", kit.ARRAY, kit.STRING, 2**62),
        struct.pack("<IIQ", kit.ARRAY, kit.U64, 2**61),
        struct.pack("<IIQ", kit.ARRAY, kit.U32, 2**40),
        struct.pack("<IIQIQ", kit.ARRAY, kit.ARRAY, 1, kit.U32, 1),
        struct.pack("<IQ", kit.STRING, 2**63),
        struct.pack("<II", 13, 0),
        struct.pack("<IB", kit.BOOL, 2),
    ],
    ids=["texts", "numbers", "wide", "nested", "long", "type", "switch"],
)
def test_a_lying_count_costs_neither_time_nor_memory(
    entry: bytes, file: kit.File, tmp_path: Path
) -> None:
    keys = len(file.values) + 1
    extra = kit.text(b"x.y") + entry
    lying = tmp_path / "lying.gguf"
    lying.write_bytes(kit.build(replace(file, extra=extra, counts=(len(file.tensors), keys))))
    os.truncate(lying, 1 << 33)  # sparse: the file is as large as it likes to be
    tracemalloc.start()
    try:
        with pytest.raises(gguf.BadModelFile):
            gguf.read(lying)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_file_that_ends_early_is_refused_wherever_it_ends(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    short = tmp_path / "short.gguf"
    for size in [*range(200), *range(200, len(whole), 997), len(whole) - 1]:
        short.write_bytes(whole[:size])
        with pytest.raises(gguf.BadModelFile):
            gguf.read(short)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "nothing", "nu\0ll"):
        with pytest.raises(gguf.BadModelFile, match="cannot be read"):
            gguf.read(tmp_path / name)


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        ("llama.attention.causal", kit.BOOL, 0),
        ("llama.pooling_type", kit.U32, 1),
        ("tokenizer.ggml.model", kit.STRING, b"bert"),
    ],
)
def test_an_embedding_model_is_told_apart(
    key: str, kind: int, value: kit.Value, file: kit.File, tmp_path: Path
) -> None:
    made = tmp_path / "made.gguf"
    made.write_bytes(kit.build(file.having(key, kind, value)))
    assert gguf.read(made).embedding_only


def test_an_empty_token_is_renamed_by_the_engine_and_may_repeat(
    file: kit.File, tmp_path: Path
) -> None:
    made = tmp_path / "made.gguf"
    made.write_bytes(kit.build(tokens(lambda t: [b"", b"", *t[2:]])(file)))
    assert gguf.read(made).size == made.stat().st_size
