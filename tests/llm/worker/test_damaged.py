"""What the header check lets through must not end the engine process."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import LoadChat
from runtime.llm.models import gguf
from tests.llm import tinymodel
from tests.llm.worker import ggufkit as kit
from tests.llm.worker.harness import ROOT, worker

EVERY = 7  # of the single changes, so that the test takes seconds


def small(folder: Path) -> kit.File:
    shape = tinymodel.Shape(width=32, vocab=300, ffn=32)
    return kit.parse(tinymodel.write_random(folder / "tiny.gguf", shape))


def sentence_pieces(file: kit.File) -> kit.File:
    """The same weights with a SentencePiece vocabulary."""
    tokens: list[int | float | bytes] = [b"<unk>", b"<s>", b"</s>"]
    tokens += [b"<0x%02X>" % byte for byte in range(256)]
    tokens += [b"w%d" % at for at in range(300 - len(tokens))]
    types: list[int | float | bytes] = [2, 3, 3, *[6] * 256, *[1] * 41]
    scores: list[int | float | bytes] = [-float(at) for at in range(300)]
    for key in ("merges", "pre"):
        file = file.without(f"tokenizer.ggml.{key}")
    for key, token in (("bos", 1), ("eos", 2), ("unknown", 0), ("padding", 0)):
        file = file.having(f"tokenizer.ggml.{key}_token_id", kit.U32, token)
    return (
        file.having("tokenizer.ggml.model", kit.STRING, b"llama")
        .having("tokenizer.ggml.tokens", kit.ARRAY, (kit.STRING, tokens))
        .having("tokenizer.ggml.token_type", kit.ARRAY, (kit.I32, types))
        .having("tokenizer.ggml.scores", kit.ARRAY, (kit.F32, scores))
    )


@pytest.mark.slow
@pytest.mark.parametrize("phase", range(2))
def test_no_single_change_that_passes_the_check_ends_the_engine(phase: int, tmp_path: Path) -> None:
    base = small(tmp_path)
    changes = kit.mutants(sentence_pieces(base) if phase else base)
    passed: dict[str, Path] = {}
    for name, file in islice(changes, phase, None, EVERY):
        path = tmp_path / f"{len(passed)}.gguf"
        path.write_bytes(kit.build(file))
        try:
            if not gguf.read(path).embedding_only:
                passed[name] = path
        except gguf.BadModelFile:
            continue
    fed = subprocess.run(
        [sys.executable, "-m", "tests.llm.worker.feed", *map(str, passed.values())],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=55,
    )
    ends = dict(zip(passed, fed.stdout.split(), strict=True))
    assert len(ends) > 50
    assert {name: end for name, end in ends.items() if end not in ("fine", "refused")} == {}


def test_a_refused_file_leaves_the_process_ready_for_another(tmp_path: Path) -> None:
    base = small(tmp_path)
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(kit.build(base.having("llama.block_count", kit.U32, 0)))
    lost = tmp_path / "lost.gguf"
    index = base.index("blk.1.ffn_up.weight")
    lost.write_bytes(kit.build(base.changed(index, name=b"elsewhere")))
    with worker() as started:
        reasons = [started.failure(LoadChat(str(path), 0, 1)) for path in (bad, lost)]
        assert started.load(tmp_path / "tiny.gguf").threads == 1
    assert reasons[0] == "the file declares an impossible block count"
    assert "blk.1.ffn_up.weight" in reasons[1]
    assert str(tmp_path) not in reasons[1]
