"""The model file that the repository ships: whole, described truly, and of the right kind."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType, GGUFReader

from training.coach.shape import BOS, CHAT_TEMPLATE, CONTEXT_TOKENS, END, PAD, SPECIAL

MODELS = Path(__file__).resolve().parents[2] / "data" / "models"
FILE = MODELS / "paddock-coach.gguf"
MOST_BYTES = 6 * 1024 * 1024


@pytest.fixture(scope="module")
def reader() -> GGUFReader:
    return GGUFReader(FILE)


@pytest.fixture(scope="module")
def facts() -> dict[str, object]:
    told: dict[str, object] = json.loads((MODELS / "paddock-coach.json").read_text("utf-8"))
    return told


def value(reader: GGUFReader, key: str) -> object:
    return reader.fields[key].contents()


def test_the_facts_beside_the_file_are_those_of_the_file(facts: dict[str, object]) -> None:
    data = FILE.read_bytes()
    assert facts["sha256"] == hashlib.sha256(data).hexdigest()
    assert facts["size_bytes"] == len(data) <= MOST_BYTES
    assert facts["file"] == FILE.name
    assert facts["licence"] == "Apache-2.0"
    assert facts["context_tokens"] == CONTEXT_TOKENS


def test_the_model_card_names_the_same_digest_and_size(facts: dict[str, object]) -> None:
    card = (MODELS / "README.md").read_text("utf-8")
    assert str(facts["sha256"]) in card
    assert f"{facts['size_bytes']:,} bytes" in card


def test_the_file_holds_a_llama_model_with_its_chat_template(reader: GGUFReader) -> None:
    assert value(reader, "general.architecture") == "llama"
    assert value(reader, "llama.context_length") == CONTEXT_TOKENS
    assert value(reader, "tokenizer.chat_template") == CHAT_TEMPLATE
    assert value(reader, "tokenizer.ggml.model") == "gpt2"
    assert value(reader, "general.license") == "apache-2.0"


def test_vocabulary_and_embedding_have_the_same_size(reader: GGUFReader) -> None:
    tokens = value(reader, "tokenizer.ggml.tokens")
    assert isinstance(tokens, list)
    embedding = next(t for t in reader.tensors if t.name == "token_embd.weight")
    assert len(tokens) == embedding.shape[1] == value(reader, "llama.vocab_size")
    assert tuple(tokens[: len(SPECIAL)]) == SPECIAL
    assert tokens[int(str(value(reader, "tokenizer.ggml.eos_token_id")))] == END
    assert tokens[int(str(value(reader, "tokenizer.ggml.bos_token_id")))] == BOS
    assert tokens[int(str(value(reader, "tokenizer.ggml.padding_token_id")))] == PAD


def test_every_merge_makes_a_token_of_two_tokens(reader: GGUFReader) -> None:
    tokens = value(reader, "tokenizer.ggml.tokens")
    merges = value(reader, "tokenizer.ggml.merges")
    assert isinstance(tokens, list)
    assert isinstance(merges, list)
    known = set(tokens)
    pairs = [merge.split(" ") for merge in merges]
    assert [pair for pair in pairs if len(pair) != 2 or not {*pair, "".join(pair)} <= known] == []


def test_matrices_are_q8_0_and_vectors_are_whole(reader: GGUFReader) -> None:
    kinds = {(len(t.shape) > 1, t.tensor_type) for t in reader.tensors}
    assert kinds == {(True, GGMLQuantizationType.Q8_0), (False, GGMLQuantizationType.F32)}


def test_the_catalog_and_the_card_name_the_same_temperature(facts: dict[str, object]) -> None:
    catalog = tomllib.loads((MODELS / "catalog.toml").read_text("utf-8"))
    assert catalog["models"][FILE.stem]["temperature"] == facts["temperature"] == 0
