"""Writes a trained checkpoint as a GGUF file: python -m training.coach.export FOLDER FILE."""

import argparse
import hashlib
import json
import sys
from pathlib import Path
from typing import Final

import gguf
import torch
from gguf import GGMLQuantizationType, LlamaFileType, quants
from tokenizers import Tokenizer

from training.coach import vocabulary
from training.coach.model import Coach
from training.coach.shape import (
    BOS,
    CHAT_TEMPLATE,
    CONTEXT_TOKENS,
    END,
    NORM_EPSILON,
    PAD,
    ROPE_BASE,
    SPECIAL,
    Shape,
)

NAME: Final = "Paddock coach"
LICENCE: Final = "Apache-2.0"
DESCRIPTION: Final = (
    "Small demonstration: driving advice in English from generated sentences; knows nothing else."
)


def write_head(writer: gguf.GGUFWriter, shape: Shape) -> None:
    """The facts about the model and its shape."""
    writer.add_name(NAME)
    writer.add_description(DESCRIPTION)
    writer.add_license(LICENCE.lower())
    writer.add_languages(["en"])
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.hidden)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(NORM_EPSILON)
    writer.add_rope_dimension_count(shape.head_width)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_vocab_size(shape.vocabulary)
    writer.add_file_type(LlamaFileType.MOSTLY_Q8_0)


def write_tokenizer(writer: gguf.GGUFWriter, words: vocabulary.Vocabulary) -> None:
    """Write tokens, merges, special ids and the chat template."""
    kinds = [
        gguf.TokenType.CONTROL if token in SPECIAL else gguf.TokenType.NORMAL
        for token in words.tokens
    ]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(vocabulary.PRE_TOKENIZER)
    writer.add_token_list(words.tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(words.merges)
    writer.add_bos_token_id(words.tokens.index(BOS))
    writer.add_eos_token_id(words.tokens.index(END))
    writer.add_pad_token_id(words.tokens.index(PAD))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_tensors(writer: gguf.GGUFWriter, weights: dict[str, torch.Tensor]) -> None:
    """Write matrices as q8_0 and vectors in single precision."""
    for name, tensor in weights.items():
        values = tensor.float().numpy()
        if values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            packed = quants.quantize(values, GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, packed, raw_dtype=GGMLQuantizationType.Q8_0)


def export(checkpoint: Path, target: Path) -> str:
    """Write *target* and return its SHA-256."""
    summary = json.loads((checkpoint / "summary.json").read_text("utf-8"))
    weights: dict[str, torch.Tensor] = torch.load(checkpoint / "weights.pt", weights_only=True)
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    writer = gguf.GGUFWriter(target, "llama")
    write_head(writer, Shape(**summary["shape"]))
    write_tokenizer(writer, vocabulary.vocabulary(tokenizer))
    write_tensors(writer, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return hashlib.sha256(target.read_bytes()).hexdigest()


def reopen(source: Path) -> tuple[Coach, Tokenizer]:
    """Return model and vocabulary of an exported file, with quantised weights."""
    reader = gguf.GGUFReader(source)
    weights = {
        tensor.name: torch.tensor(quants.dequantize(tensor.data, tensor.tensor_type))
        for tensor in reader.tensors
    }

    def number(key: str) -> int:
        return int(reader.fields[f"llama.{key}"].contents())

    shape = Shape(
        vocabulary=number("vocab_size"),
        width=number("embedding_length"),
        layers=number("block_count"),
        heads=number("attention.head_count"),
        kv_heads=number("attention.head_count_kv"),
        hidden=number("feed_forward_length"),
    )
    model = Coach(shape)
    model.load_state_dict(weights)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    return model, vocabulary.restore(tokens, merges)


def card(checkpoint: Path, target: Path, digest: str) -> str:
    """Return the facts about the model file, as JSON."""
    summary = json.loads((checkpoint / "summary.json").read_text("utf-8"))
    facts = {
        "file": target.name,
        "name": NAME,
        "sha256": digest,
        "size_bytes": target.stat().st_size,
        "context_tokens": CONTEXT_TOKENS,
        "architecture": "llama",
        "quantization": "q8_0",
        "parameters": summary["parameters"],
        "licence": LICENCE,
        "languages": ["en"],
        "temperature": 0.0,
        "training": summary["stages"],
    }
    return json.dumps(facts, indent=2) + "\n"


def main() -> None:
    """Export a file and, with --card, the facts about it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path, help="folder that the training wrote")
    parser.add_argument("target", type=Path, help="GGUF file to write")
    parser.add_argument("--card", type=Path, help="also write the facts about the file here")
    options = parser.parse_args()
    digest = export(options.checkpoint, options.target)
    if options.card:
        options.card.write_text(card(options.checkpoint, options.target, digest), "utf-8")
    sys.stdout.write(f"{options.target.stat().st_size} bytes, SHA-256 {digest}\n")


if __name__ == "__main__":
    main()
