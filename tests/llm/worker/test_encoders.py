"""A worker process with an encoder: order, failures, and its end."""

import dataclasses
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import (
    MAX_TEXTS,
    Embed,
    EncoderLoaded,
    Failed,
    Fit,
)
from tests.llm.engine import onnxkit
from tests.llm.worker import ggufbert
from tests.llm.worker.harness import ROOT, Worker, encoder, load_command, worker


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnxkit.write_tiny(folder, width=48)
    ggufbert.write(folder / "bert.gguf")
    return folder


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[Worker]:
    with encoder(folder / "tiny-embed.onnx") as started:
        yield started


@pytest.fixture
def tiny(folder: Path) -> Iterator[Worker]:
    with encoder(folder / "tiny-embed.onnx") as started:
        yield started


@pytest.mark.parametrize("name", ["tiny-embed.onnx", "bert.gguf"])
def test_a_process_loads_a_model_and_embeds(name: str, folder: Path) -> None:
    with worker() as started:
        answer = started.load_encoder(folder / name)
        embedded, vectors = started.embed(["the red car", "", "the red car"])

    assert isinstance(answer, EncoderLoaded)
    assert answer.width == 48
    assert embedded.tokens == [5, 2, 5]
    assert embedded.truncated == 0
    assert len(embedded.vectors) == 3 * 48 * 4
    assert vectors[0] == pytest.approx(vectors[2], abs=1e-6)
    assert [math.hypot(*row) for row in vectors] == pytest.approx([1, 1, 1])


def test_a_document_is_cut_into_chunks_that_fit_the_model(shared: Worker) -> None:
    text = "漢字" * 300
    prefix = "the red car: "

    chunks = shared.split(text, prefix)

    sent = [f"{prefix}{chunk}" for chunk in chunks]
    for at in range(0, len(sent), MAX_TEXTS):
        assert shared.embed(sent[at : at + MAX_TEXTS])[0].truncated == 0
    assert shared.split("The lap.\n\nThe corner.") == ["The lap.\n\nThe corner."]
    assert shared.split(" \n ") == []


def test_commands_that_cannot_be_done_say_why_and_the_process_goes_on(
    shared: Worker, folder: Path
) -> None:
    reasons = [
        shared.failure(load_command(folder / "tiny-embed.onnx")),
        shared.failure(Embed([])),
        shared.failure(Embed(["a"] * (MAX_TEXTS + 1))),
        shared.failure(Fit(["a text"], "the " * 200)),
        shared.failure(Fit(["a"] * (MAX_TEXTS + 1))),
    ]
    assert reasons == [
        "this process already has a model",
        "a command may embed 1 to 64 texts",
        "a command may embed 1 to 64 texts",
        "the model's prefix for documents leaves no room for a text",
        "a command may fit at most 64 texts",
    ]
    assert shared.embed(["a"])[0].tokens == [3]


def test_files_that_cannot_be_loaded_are_told_in_words_for_a_client(
    folder: Path, tmp_path: Path
) -> None:
    model, vocab = folder / "tiny-embed.onnx", folder / "tiny-embed-vocab.txt"
    (tmp_path / "text.onnx").write_text("a text")
    (tmp_path / "words.txt").write_text("[PAD]\n[UNK]\n[CLS]\n")
    (tmp_path / "short.onnx").write_bytes(model.read_bytes()[:1000])
    os.mkfifo(tmp_path / "pipe.onnx")
    with worker() as started:
        answers = [
            started.load_encoder(path, words)
            for path, words in (
                (tmp_path / "absent.onnx", vocab),
                (tmp_path, vocab),
                (tmp_path / "pipe.onnx", vocab),
                (tmp_path / "text.onnx", vocab),
                (tmp_path / "short.onnx", vocab),
                (model, tmp_path / "absent.txt"),
                (model, tmp_path / "words.txt"),
                (vocab, None),
            )
        ]
        width = started.failure(dataclasses.replace(load_command(model), dims=384))
        assert isinstance(started.load_encoder(model), EncoderLoaded)
        started.socket.close()
        started.process.wait(30)
        assert started.process.stderr is not None
        assert started.process.stderr.read() == b""
    assert width == "its vectors have 48 dimensions, not the declared 384"
    assert [answer.reason if isinstance(answer, Failed) else "" for answer in answers] == [
        "the file cannot be read",
        "the file cannot be read",
        "the file cannot be read",
        "this is not an ONNX file",
        "the file ends too early",
        "the vocabulary cannot be read",
        "the vocabulary lacks the special token [SEP]",
        "an ONNX model needs a vocabulary file next to it",
    ]


def test_the_end_of_the_socket_ends_a_running_computation(tmp_path: Path) -> None:
    path = onnxkit.write_tiny(tmp_path, width=48, layers=2, positions=2048)
    with worker() as started:
        assert isinstance(started.load_encoder(path, max_seq=2048), EncoderLoaded)
        started.send(Embed(["the " * 2046] * MAX_TEXTS))  # takes minutes
        for _ in range(8):  # more than are read ahead
            started.send(Embed(["a"]))
        started.socket.close()
        assert started.process.wait(30) == 0


def test_the_end_of_the_socket_ends_a_process_that_waits_to_be_read(tiny: Worker) -> None:
    tiny.send(Embed(["a"] * MAX_TEXTS))
    tiny.socket.settimeout(0.2)
    sent = 0
    try:
        while sent < 10_000:
            tiny.send(Embed(["a"] * MAX_TEXTS))
            sent += 1
    except TimeoutError:  # both directions are full now
        pass
    assert sent < 10_000
    tiny.socket.close()
    assert tiny.process.wait(30) == 0


def test_the_process_gives_way_to_the_server_and_the_engines(shared: Worker) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    threads = Path(f"/proc/{shared.process.pid}/task").iterdir()
    nice = [os.getpriority(os.PRIO_PROCESS, int(thread.name)) for thread in threads]
    assert min(nice) == min(ours + 5, 19)  # of the threads that only wait
    assert max(nice) == min(ours + 10, 19)


IMPORTS = {
    "runtime.llm.engine.worker.__main__": "numpy onnxruntime llama_cpp tokenizers regex",
    "runtime.llm.engine.worker.chatmodel": "numpy onnxruntime tokenizers regex jinja2",
}


@pytest.mark.parametrize(("module", "absent"), IMPORTS.items())
def test_a_process_imports_only_what_its_model_needs(module: str, absent: str) -> None:
    never = f"{absent} pydantic pydantic_settings aiohttp runtime.web runtime.llm.app asyncio"
    code = f"import sys, {module}; print(*(m for m in {never.split()!r} if m in sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.split() == []
