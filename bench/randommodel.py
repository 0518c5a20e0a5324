"""Writes GGUF files of a real model's shape with random quantised weights, in seconds.

The speed of an engine depends on the shape and the type of the weights, not on their values; the
replies are noise and never end by themselves.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import gguf
import numpy as np
import numpy.typing as npt

SPECIALS: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
TEMPLATE: Final = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TILE_ROWS: Final = 96
"""Distinct rows of a matrix, repeated over it."""
_MUTE_ROWS: Final = 512
"""First tokens that are never generated: bytes that are no whole characters are among them."""


@dataclass(frozen=True)
class Shape:
    """Sizes of a transformer of the Llama kind whose embedding is its output matrix too."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int


QWEN_1_5B: Final = Shape(width=1536, layers=28, heads=12, kv_heads=2, ffn=8960, vocab=151_936)


def write(path: Path, shape: Shape, kind: gguf.GGMLQuantizationType) -> Path:
    """Write a model with matrices of that *kind*; norms stay float32."""
    writer = gguf.GGUFWriter(str(path), "llama")
    head = shape.width // shape.heads
    writer.add_context_length(8192)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(1_000_000.0)
    writer.add_vocab_size(shape.vocab)
    _add_vocabulary(writer, shape.vocab)
    rows = {
        "attn_q": (shape.width, shape.width),
        "attn_k": (shape.kv_heads * head, shape.width),
        "attn_v": (shape.kv_heads * head, shape.width),
        "attn_output": (shape.width, shape.width),
        "ffn_gate": (shape.ffn, shape.width),
        "ffn_up": (shape.ffn, shape.width),
        "ffn_down": (shape.width, shape.ffn),
    }
    tiles = {width: _tile(width, kind) for width in {size[1] for size in rows.values()}}
    embedding = _fill(tiles[shape.width], shape.vocab)
    embedding[:_MUTE_ROWS] = embedding[-len(SPECIALS) :] = _mute(shape.width, kind)
    writer.add_tensor("token_embd.weight", embedding, raw_dtype=kind)
    ones = np.ones(shape.width, np.float32)
    writer.add_tensor("output_norm.weight", ones)
    for layer in range(shape.layers):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        for name, (count, width) in rows.items():
            matrix = _fill(tiles[width], count)
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tile(width: int, kind: gguf.GGMLQuantizationType) -> npt.NDArray[np.uint8]:
    """Quantised rows of that many weights."""
    rows = np.random.default_rng(0).standard_normal((_TILE_ROWS, width), dtype=np.float32)
    packed: npt.NDArray[np.uint8] = gguf.quants.quantize(rows * width**-0.5, kind)
    return packed


def _mute(width: int, kind: gguf.GGMLQuantizationType) -> npt.NDArray[np.uint8]:
    """A row of zeros."""
    packed: npt.NDArray[np.uint8] = gguf.quants.quantize(np.zeros((1, width), np.float32), kind)
    row: npt.NDArray[np.uint8] = packed[0]
    return row


def _fill(tile: npt.NDArray[np.uint8], count: int) -> npt.NDArray[np.uint8]:
    """A matrix of *count* rows."""
    return np.tile(tile, (-(-count // len(tile)), 1))[:count]


def _add_vocabulary(writer: gguf.GGUFWriter, size: int) -> None:
    """The bytes, words that no text contains, and the special tokens."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in shown] + [chr(256 + at) for at in range(256 - len(shown))]
    words = [f"Ġw{at}" for at in range(size - len(letters) - len(SPECIALS))]
    plain = [*letters, *words]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*plain, *SPECIALS])
    normal, control = int(gguf.TokenType.NORMAL), int(gguf.TokenType.CONTROL)
    writer.add_token_types([normal] * len(plain) + [control] * len(SPECIALS))
    writer.add_token_merges(["Ā Ā"])  # one, or none is stored
    writer.add_bos_token_id(size - 3)
    writer.add_eos_token_id(size - 1)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
