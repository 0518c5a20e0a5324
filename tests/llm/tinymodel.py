"""Writes tiny GGUF files for tests: random weights, or weights whose reply is certain."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = ("<|bos|>", "<|im_start|>", "<|im_end|>", "<|pad|>")
SECRETS = ("<red>", "<green>", "<blue>", "<gold>")

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """Size and texts of a tiny model."""

    width: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    ffn: int = 128
    vocab: int = 400
    context: int = 2048
    seed: int = 0
    name: str = "tiny"
    template: str | None = CHATML
    add_bos: bool = False
    rope_base: float = 10_000.0
    tokens: Sequence[str] = field(default=())
    """Further tokens, before the special ones; their texts are in the byte alphabet of GPT-2."""
    marked: Sequence[str] = field(default=())
    """Further tokens that are found in a text as they are."""


def byte_alphabet() -> list[str]:
    """GPT-2's printable stand-in for each of the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    table = {byte: chr(byte) for byte in shown}
    table.update({byte: chr(256 + at) for at, byte in enumerate(hidden)})
    return [table[byte] for byte in range(256)]


def spelled(text: bytes) -> str:
    """A token that stands for these bytes, whether or not they are whole characters."""
    alphabet = byte_alphabet()
    return "".join(alphabet[byte] for byte in text)


def vocabulary(shape: Shape) -> tuple[list[str], list[int]]:
    """Tokens and their types: bytes, own tokens, fillers, marked tokens, special tokens."""
    tokens = [*byte_alphabet(), *shape.tokens]
    filler = shape.vocab - len(tokens) - len(shape.marked) - len(SPECIALS)
    tokens += [f"Ġw{at}" for at in range(filler)]
    types = [int(gguf.TokenType.NORMAL)] * len(tokens)
    types += [int(gguf.TokenType.USER_DEFINED)] * len(shape.marked)
    types += [int(gguf.TokenType.CONTROL)] * len(SPECIALS)
    return [*tokens, *shape.marked, *SPECIALS], types


def _write(path: Path, shape: Shape, weights: dict[str, Matrix]) -> Path:
    tokens, types = vocabulary(shape)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name(shape.name)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.ffn)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(shape.width // shape.heads)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([f"{spelled(bytes(1))} {spelled(bytes(1))}"])  # one, or none is stored
    writer.add_bos_token_id(tokens.index("<|bos|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_pad_token_id(tokens.index("<|pad|>"))
    writer.add_add_bos_token(shape.add_bos)
    if shape.template is not None:
        writer.add_chat_template(shape.template)
    for name, matrix in weights.items():
        writer.add_tensor(name, np.ascontiguousarray(matrix, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _layers(shape: Shape) -> dict[str, Matrix]:
    """A model of zeros, which passes each token's embedding on unchanged."""
    width, head = shape.width, shape.width // shape.heads
    weights: dict[str, Matrix] = {"output_norm.weight": np.ones(width, np.float32)}
    sizes = {
        "attn_q": (width, width),
        "attn_k": (shape.kv_heads * head, width),
        "attn_v": (shape.kv_heads * head, width),
        "attn_output": (width, width),
        "ffn_gate": (shape.ffn, width),
        "ffn_up": (shape.ffn, width),
        "ffn_down": (width, shape.ffn),
    }
    for layer in range(shape.layers):
        for norm in ("attn_norm", "ffn_norm"):
            weights[f"blk.{layer}.{norm}.weight"] = np.ones(width, np.float32)
        for name, size in sizes.items():
            weights[f"blk.{layer}.{name}.weight"] = np.zeros(size, np.float32)
    return weights


def write_random(path: Path, shape: Shape | None = None) -> Path:
    """Random weights: every path through an engine works, the text is noise."""
    shape = shape or Shape()
    random = np.random.default_rng(shape.seed)
    weights = _layers(shape)
    for name in ("token_embd.weight", "output.weight"):
        weights[name] = np.zeros((shape.vocab, shape.width), np.float32)
    for name, matrix in weights.items():
        if matrix.ndim == 2:
            scale = 0.5 if name.startswith("token_embd") else matrix.shape[1] ** -0.5
            weights[name] = random.standard_normal(matrix.shape, dtype=np.float32) * scale
    return _write(path, shape, weights)


def write_recall(
    path: Path,
    words: Sequence[Sequence[bytes]],
    *,
    endless: bool = False,
    shape: Shape | None = None,
    width: int = 128,
) -> Path:
    """A model that answers a prompt with the words of the secret in it, with a wide margin.

    ``words[k]`` are the tokens of the reply to a text with ``SECRETS[k]`` in it, wherever that
    stands; all replies are equally long. After its last word it ends the turn, or begins anew.
    Attention finds the secret in the KV cache, so a reply proves that the cache holds it. The
    words are no tokens that a text would ever become, so an echoed reply tokenizes differently.
    """
    tokens = [spelled(word) for reply in words for word in reply]
    shape = shape or Shape()
    shape = Shape(
        width=width,
        layers=1,
        heads=1,
        kv_heads=1,
        ffn=32,
        vocab=256 + len(tokens) + len(SECRETS) + len(SPECIALS),
        context=shape.context,
        template=shape.template,
        name=shape.name,
        rope_base=1e15,
        tokens=tokens,
        marked=SECRETS,
    )
    return _write(path, shape, _recall_weights(shape, words, endless=endless))


def _recall_weights(
    shape: Shape, words: Sequence[Sequence[bytes]], *, endless: bool
) -> dict[str, Matrix]:
    """Embedding: a constant, the place in a reply, the secret; attention copies the secret."""
    tokens, _ = vocabulary(shape)
    length, width = len(words[0]), shape.width
    place, secret, found = 1, 40, 50  # first column of each part of the embedding
    embedding = np.zeros((len(tokens), width), np.float32)
    head = np.zeros((len(tokens), width), np.float32)
    embedding[:, 0] = 1
    embedding[:, place] = 1  # a token outside a reply: the first word comes next
    for k, reply in enumerate(words):
        embedding[tokens.index(SECRETS[k]), secret + k] = 1
        for at in range(len(reply)):
            row = 256 + k * length + at
            embedding[row, place : place + length + 1] = 0
            embedding[row, place + at + 1] = 1
            head[row, place + at] = 40
            head[row, found + k] = 20
            head[row, 0] = -k * 0.1  # without a secret the first reply is the answer
    after = 256 if endless else tokens.index("<|im_end|>")
    head[after, place + length] = 80
    weights = _layers(shape)
    weights["token_embd.weight"], weights["output.weight"] = embedding, head
    # the last pair of columns turns so slowly with the position that it stays put
    weights["blk.0.attn_q.weight"][width - 1, 0] = 60
    for k in range(len(words)):
        weights["blk.0.attn_k.weight"][width - 1, secret + k] = 10
        weights["blk.0.attn_v.weight"][k, secret + k] = (3 / width) ** 0.5  # undoes the norm
        weights["blk.0.attn_output.weight"][found + k, k] = 1
    return weights
