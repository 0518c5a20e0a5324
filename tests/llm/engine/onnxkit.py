"""Writes tiny sentence encoders for tests: random weights, a small vocabulary, any fault wanted."""

import math
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from runtime.llm.commands.pull.encoder import write_model
from tools.bert_onnx import BertConfig, bert_graph

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
WORDS = tuple(
    """
    the of and to in is you that it he was for on are as with his they at be this have from or one
    had by word but not what all were we when your can said there use an each which she do how their
    if will up other about out many then them these so some her would make like him into time has
    look two more write go see number no way could people my than first water been call who oil its
    now find long down day did get come made may part over new sound take only little work know
    place year live me back give most very after thing our just name good sentence man think say
    great where help through much before line right too mean old any same tell boy follow came want
    show also around form three small set put end does another well large must big even such because
    turn here why ask went men read need land different home us move try kind hand picture again
    change off play spell air away animal house point page letter mother answer found study still
    learn should world car race track lap corner brake throttle gear tyre speed line fast slow red
    blue green engine driver wheel road rain sun dry wet left right apex exit entry straight pit
    """.split()
)

Weights = dict[str, npt.NDArray[np.float32]]


def vocabulary(words: Sequence[str] = WORDS) -> list[str]:
    """Special tokens, single characters that can spell any ASCII text, whole words."""
    letters = [*string.ascii_lowercase, *string.digits]
    spelled = [*string.punctuation, *letters, *(f"##{letter}" for letter in letters)]
    return list(dict.fromkeys([*SPECIALS, *spelled, *words]))


def config_for(width: int, layers: int, vocab: int, positions: int = 512) -> BertConfig:
    """Sizes with as many heads of a sensible size as divide the width."""
    heads = math.gcd(width, 12)
    return BertConfig(width, layers, heads, width, vocab, positions)


def random_weights(config: BertConfig, seed: int = 0) -> Weights:
    """Weights under which a text's vector is mostly that of its words, whatever their order."""
    random = np.random.default_rng(seed)
    weights: Weights = {}
    for name, shape in config.shapes().items():
        if "LayerNorm.weight" in name:
            weights[name] = np.ones(shape, np.float32)
        elif len(shape) == 1:
            weights[name] = np.zeros(shape, np.float32)
        else:
            scale = 1.0 if "word_embeddings" in name else 0.03
            weights[name] = random.standard_normal(shape, dtype=np.float32) * np.float32(scale)
    return weights


def write_vocabulary(path: Path, words: Sequence[str] = WORDS) -> Path:
    """A vocabulary file, one token a line."""
    path.write_text("".join(f"{token}\n" for token in vocabulary(words)), encoding="utf-8")
    return path


def write_tiny(
    folder: Path,
    name: str = "tiny-embed",
    *,
    width: int = 384,
    layers: int = 1,
    seed: int = 0,
    words: Sequence[str] = WORDS,
    positions: int = 512,
    half: bool = False,
) -> Path:
    """Write ``NAME.onnx`` and ``NAME-vocab.txt`` and answer the first; takes some 30 ms."""
    folder.mkdir(parents=True, exist_ok=True)
    config = config_for(width, layers, len(vocabulary(words)), positions)
    path = folder / f"{name}.onnx"
    write_model(bert_graph(config), random_weights(config, seed), path, half=half)
    write_vocabulary(folder / f"{name}-vocab.txt", words)
    return path
