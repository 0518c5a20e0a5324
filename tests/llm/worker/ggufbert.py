"""Writes a tiny BERT encoder as a GGUF file: the same weights and vocabulary as an ONNX file."""

from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np

from tests.llm.engine.onnxkit import Weights, config_for, random_weights, vocabulary
from tools.bert_onnx import BertConfig

NAMES = {
    "embeddings.word_embeddings": "token_embd",
    "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "token_embd_norm",
}
PARTS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}


def tensor_name(name: str) -> str:
    """The name of a weight in a GGUF file."""
    module, _, kind = name.rpartition(".")
    if module in NAMES:
        return f"{NAMES[module]}.{kind}"
    layer, _, part = module.removeprefix("encoder.layer.").partition(".")
    return f"blk.{layer}.{PARTS[part]}.{kind}"


def spelled(token: str) -> str:
    """A WordPiece as GGUF spells it: the mark is on words instead of on their continuations."""
    if token.startswith("[") and token.endswith("]") and len(token) > 2:
        return token
    return token.removeprefix("##") if token.startswith("##") and token != "##" else f"▁{token}"


def write(
    path: Path,
    *,
    positions: int = 512,
    pooling: int | None = gguf.PoolingType.MEAN,
) -> Path:
    """The encoder that `onnxkit.write_tiny` writes in a width of 48."""
    config = config_for(48, 1, len(vocabulary()), positions)
    return write_weights(path, random_weights(config), config, pooling=pooling)


def write_weights(
    path: Path,
    weights: Weights,
    config: BertConfig,
    *,
    pooling: int | None = gguf.PoolingType.MEAN,
) -> Path:
    """An encoder with these weights."""
    writer = gguf.GGUFWriter(str(path), "bert")
    writer.add_name("tiny-bert")
    writer.add_context_length(config.positions)
    writer.add_embedding_length(config.hidden)
    writer.add_block_count(config.layers)
    writer.add_feed_forward_length(config.ffn)
    writer.add_head_count(config.heads)
    writer.add_layer_norm_eps(config.eps)
    writer.add_causal_attention(False)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    if pooling is not None:
        writer.add_uint32("bert.pooling_type", pooling)
    _add_vocabulary(writer, vocabulary())
    for name, values in weights.items():
        writer.add_tensor(tensor_name(name), np.ascontiguousarray(values, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_vocabulary(writer: gguf.GGUFWriter, tokens: Sequence[str]) -> None:
    special = int(gguf.TokenType.CONTROL)
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list([spelled(token) for token in tokens])
    writer.add_token_types(
        [special if spelled(token) == token else int(gguf.TokenType.NORMAL) for token in tokens]
    )
    writer.add_bos_token_id(tokens.index("[CLS]"))
    writer.add_sep_token_id(tokens.index("[SEP]"))
    writer.add_eos_token_id(tokens.index("[SEP]"))
    writer.add_unk_token_id(tokens.index("[UNK]"))
    writer.add_pad_token_id(tokens.index("[PAD]"))
    writer.add_mask_token_id(tokens.index("[MASK]"))
