"""Writes the models of the speed comparison: real shapes with random weights, as GGUF files."""

import os
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path
from typing import Final, Literal, NamedTuple

import gguf
import numpy as np
import numpy.typing as npt
from gguf import quants

CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS: Final = ("<|bos|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
SYLLABLES: Final = tuple(c + v for c in "bcdfghjklmnprstvwxyz" for v in "aeiou")
"""Words are made of one to three of them, and every word with the space before it is a token."""
QUIET: Final = 0.01
"""Scale of the embeddings that must never be the likeliest: a reply is whole words, no end."""
SEED: Final = 7

Matrix = npt.NDArray[np.float32]


class Shape(NamedTuple):
    """Size of a model; the KV heads share the attention heads between them."""

    name: str
    millions: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    context: int = 4096
    weights: Literal["F32", "Q8_0", "Q4_0"] = "Q8_0"

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads


TINY: Final = Shape("tiny", 0, 64, 2, 4, 2, 128, 512, weights="F32")
SHAPES: Final = {
    "5m": Shape("r5m", 5, 128, 4, 4, 2, 352, 32_000),
    "125m": Shape("r125m", 110, 768, 12, 12, 12, 2048, 32_000),
    "500m": Shape("r500m", 494, 896, 24, 14, 2, 4864, 151_936, weights="Q4_0"),
}
"""By the size that it is called by; the last two are of GPT-2's and Qwen2.5-0.5B's shape."""


def ensure(shape: Shape, folder: Path) -> Path:
    """The model's file in *folder*, written unless it is there; about a minute for the largest."""
    path = folder / f"{shape.name}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    try:
        _write(unfinished, shape)
        os.replace(unfinished, path)  # noqa: PTH105 - the same call on every system
    finally:
        unfinished.unlink(missing_ok=True)
    return path


class Vocabulary(NamedTuple):
    """A byte-level BPE vocabulary: bytes, syllables, words, special tokens, and their merges."""

    tokens: list[str]
    merges: list[str]


def vocabulary(size: int) -> Vocabulary:
    """The first *size* tokens; a word of one syllable is one token in each of them."""
    alphabet = _byte_alphabet()
    words: list[str] = []
    merges: list[str] = []
    for left, right in islice(_pairs(alphabet[ord(" ")]), size - len(alphabet) - len(SPECIALS)):
        words.append(left + right)
        merges.append(f"{left} {right}")
    return Vocabulary([*alphabet, *words, *SPECIALS], merges)


def _pairs(space: str) -> Iterator[tuple[str, str]]:
    """What is merged, in the order of the merges; together they are the new token."""
    yield from ((syllable[0], syllable[1]) for syllable in SYLLABLES)
    shorter = [space]
    for _ in range(3):
        yield from product(shorter, SYLLABLES)
        shorter = [left + right for left, right in product(shorter, SYLLABLES)]


def _byte_alphabet() -> list[str]:
    """GPT-2's printable stand-in for each of the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {byte: chr(byte) for byte in shown}
    table.update({byte: chr(256 + at) for at, byte in enumerate(hidden)})
    return [table[byte] for byte in range(256)]


def _write(path: Path, shape: Shape) -> None:
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(shape.name)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.head)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(shape.vocab)
    writer.add_file_type(_file_type(shape))
    _add_vocabulary(writer, shape.vocab)
    kind = gguf.GGMLQuantizationType[shape.weights]
    for name, matrix in _tensors(shape):
        if matrix.ndim == 1:
            writer.add_tensor(name, matrix)
        else:
            writer.add_tensor(name, quants.quantize(matrix, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _file_type(shape: Shape) -> int:
    prefix = "ALL" if shape.weights == "F32" else "MOSTLY"
    return int(gguf.LlamaFileType[f"{prefix}_{shape.weights}"])


def _add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    tokens, merges = vocabulary(size)
    types = [int(gguf.TokenType.NORMAL)] * (size - len(SPECIALS))
    types += [int(gguf.TokenType.CONTROL)] * len(SPECIALS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index("<|bos|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|pad|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHATML)


def _tensors(shape: Shape) -> Iterator[tuple[str, Matrix]]:
    """Names and random weights, the same ones every time; norms are ones."""
    chance = np.random.default_rng(SEED)
    kv_width = shape.kv_heads * shape.head
    ones = np.ones(shape.width, np.float32)
    embedding = chance.standard_normal((shape.vocab, shape.width), np.float32) * np.float32(0.5)
    embedding[: 256 + len(SYLLABLES)] *= QUIET
    embedding[-len(SPECIALS) :] *= QUIET
    yield "token_embd.weight", embedding
    yield "output_norm.weight", ones
    sizes = {
        "attn_q": (shape.width, shape.width),
        "attn_k": (kv_width, shape.width),
        "attn_v": (kv_width, shape.width),
        "attn_output": (shape.width, shape.width),
        "ffn_gate": (shape.ffn, shape.width),
        "ffn_up": (shape.ffn, shape.width),
        "ffn_down": (shape.width, shape.ffn),
    }
    for layer in range(shape.layers):
        for norm in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{norm}.weight", ones
        for name, size in sizes.items():
            scale = np.float32(size[1] ** -0.5)
            yield f"blk.{layer}.{name}.weight", chance.standard_normal(size, np.float32) * scale
