"""An encoder process as the server meets it: order, failures, and its end."""

import math
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.embed.protocol import (
    LENGTHS,
    MAX_HEAD,
    MAX_TEXTS,
    Embed,
    Embedded,
    Failed,
    Fit,
    Load,
    Loaded,
    Split,
    encode,
)
from runtime.llm.embed.worker.service import BROKEN
from tests.llm.embed import onnxkit
from tests.llm.embed.worker import ggufbert, harness
from tests.llm.embed.worker.harness import ROOT, Encoder, encoder, loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    onnxkit.write_tiny(folder, width=48)
    ggufbert.write(folder / "bert.gguf")
    return folder


@pytest.fixture
def tiny(folder: Path) -> Iterator[Encoder]:
    with loaded(folder / "tiny-embed.onnx") as started:
        yield started


@pytest.mark.parametrize("name", ["tiny-embed.onnx", "bert.gguf"])
def test_a_process_loads_a_model_and_embeds(name: str, folder: Path) -> None:
    with encoder() as started:
        answer = started.load(folder / name)
        embedded, rows = started.embed(["the red car", "", "the red car"])

    assert isinstance(answer, Loaded)
    assert (answer.id, answer.width) == (1, 48)
    assert embedded.tokens == [5, 2, 5]
    assert embedded.truncated == 0
    assert rows[0] == pytest.approx(rows[2], abs=1e-6)
    assert [math.hypot(*row) for row in rows] == pytest.approx([1, 1, 1])


def test_answers_come_in_the_order_of_the_commands(tiny: Encoder) -> None:
    texts = ["the car " * (at + 1) for at in range(30)]
    for number, text in enumerate(texts):
        tiny.send(Embed(100 + number, [text] * (30 - number)))

    answers = [tiny.expect(Embedded)[0] for _ in texts]

    assert [answer.id for answer in answers] == [100 + number for number in range(30)]
    assert [answer.tokens[0] for answer in answers] == [2 * at + 4 for at in range(30)]


def test_a_document_is_cut_into_chunks_that_fit_the_model(tiny: Encoder) -> None:
    text = "漢字" * 300
    prefix = "the red car: "

    chunks = tiny.split(text, prefix)

    sent = [f"{prefix}{chunk}" for chunk in chunks]
    for at in range(0, len(sent), MAX_TEXTS):
        assert tiny.embed(sent[at : at + MAX_TEXTS])[0].truncated == 0
    assert tiny.split("The lap.\n\nThe corner.") == ["The lap.\n\nThe corner."]
    assert tiny.split(" \n ") == []


def test_commands_that_cannot_be_done_say_why_and_the_process_goes_on(
    tiny: Encoder, folder: Path
) -> None:
    path = str(folder / "tiny-embed.onnx")
    told = [
        tiny.failure(Load(2, path, path, 1, None, None)),
        tiny.failure(Embed(3, [])),
        tiny.failure(Embed(4, ["a"] * (MAX_TEXTS + 1))),
        tiny.failure(Fit(5, ["a text"], "the " * 200)),
        tiny.failure(Fit(6, ["a"] * (MAX_TEXTS + 1))),
    ]
    assert told == [
        "this process holds a model already",
        "1 to 64 texts can be embedded at a time",
        "1 to 64 texts can be embedded at a time",
        "the model's prefix for documents leaves no room for a text",
        "64 texts at most can be fitted at a time",
    ]
    assert tiny.embed(["a"])[0].tokens == [3]


def test_nothing_can_be_embedded_before_a_load() -> None:
    with encoder() as started:
        assert started.failure(Embed(1, ["a"])) == "no model is loaded"
        assert started.failure(Split(2, "a")) == "no model is loaded"


def test_files_that_cannot_be_loaded_are_told_in_words_for_a_client(
    folder: Path, tmp_path: Path
) -> None:
    model, vocab = folder / "tiny-embed.onnx", folder / "tiny-embed-vocab.txt"
    (tmp_path / "text.onnx").write_text("a text")
    (tmp_path / "words.txt").write_text("[PAD]\n[UNK]\n[CLS]\n")
    (tmp_path / "short.onnx").write_bytes(model.read_bytes()[:1000])
    os.mkfifo(tmp_path / "pipe.onnx")
    with encoder() as started:
        answers = [
            started.load(path, words)
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
        assert isinstance(started.load(model), Loaded)
        started.socket.close()
        started.process.wait(30)
        assert started.process.stderr is not None
        assert started.process.stderr.read() == b""
    assert [answer.reason if isinstance(answer, Failed) else "" for answer in answers] == [
        "the file cannot be read",
        "the file cannot be read",
        "the file cannot be read",
        "this is no ONNX file",
        "the file ends too early",
        "the vocabulary cannot be read",
        "the vocabulary lacks the special token [SEP]",
        "an ONNX model needs a vocabulary file beside it",
    ]


@pytest.mark.parametrize("waiting", [0, 8])  # the second: more than are read ahead
def test_the_end_of_the_socket_ends_a_running_computation(waiting: int, tmp_path: Path) -> None:
    path = onnxkit.write_tiny(tmp_path, width=48, layers=6, positions=2048)
    with encoder() as started:
        assert isinstance(started.load(path, max_seq=2048), Loaded)
        started.send(Embed(2, ["the " * 2046] * MAX_TEXTS))  # takes minutes
        for number in range(waiting):
            started.send(Embed(3 + number, ["a"]))
        started.socket.close()
        assert started.process.wait(30) == 0


def test_the_end_of_the_socket_ends_a_process_that_waits_to_be_read(tiny: Encoder) -> None:
    tiny.send(Embed(2, ["a"] * MAX_TEXTS))
    tiny.socket.settimeout(0.2)
    sent = 0
    try:
        while sent < 10_000:
            tiny.send(Embed(3 + sent, ["a"] * MAX_TEXTS))
            sent += 1
    except TimeoutError:  # both directions are full now
        pass
    assert sent < 10_000
    tiny.socket.close()
    assert tiny.process.wait(30) == 0


def test_the_end_within_a_message_ends_the_process(tiny: Encoder) -> None:
    tiny.socket.sendall(encode(Embed(2, ["a"]))[:-3])
    tiny.socket.close()
    assert tiny.process.wait(30) == 0


BROKEN_MESSAGES = {
    "no JSON": LENGTHS.pack(4, 0) + b"oops",
    "an unknown kind": LENGTHS.pack(11, 0) + b'["Sing",{}]',
    "an event": encode(Loaded(1, 2, 3)),
    "fields of another kind": LENGTHS.pack(19, 0) + b'["Embed",{"id":"a"}',
    "a length that none has": LENGTHS.pack(MAX_HEAD + 1, 0),
}


@pytest.mark.parametrize("data", BROKEN_MESSAGES.values(), ids=BROKEN_MESSAGES)
def test_what_is_no_command_ends_the_process_with_a_status(data: bytes) -> None:
    with encoder() as started:
        started.socket.sendall(data)
        assert started.framed() is None
        assert started.process.wait(30) == BROKEN


def test_the_process_gives_way_to_the_server_and_the_engines(tiny: Encoder) -> None:
    ours = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, tiny.process.pid) == min(ours + 10, 19)


IMPORTS = {
    "runtime.llm.embed.worker.__main__": "numpy onnxruntime llama_cpp tokenizers regex",
    "runtime.llm.embed.worker.onnx": "llama_cpp",
    "runtime.llm.embed.worker.llama": "numpy onnxruntime tokenizers",
}


@pytest.mark.parametrize(("module", "absent"), IMPORTS.items())
def test_a_process_imports_only_what_its_model_needs(module: str, absent: str) -> None:
    never = f"{absent} pydantic pydantic_settings aiohttp runtime.web runtime.llm.app asyncio"
    code = f"import sys, {module}; print(*(m for m in {never.split()!r} if m in sys.modules))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    assert done.stdout.split() == []


def test_the_vectors_are_little_endian_rows(folder: Path) -> None:
    with harness.loaded(folder / "tiny-embed.onnx") as started:
        started.send(Embed(7, ["a", "the"]))
        embedded, body = started.expect(Embedded)
    assert len(body) == 2 * embedded.width * 4
    assert math.hypot(*struct.unpack(f"<{embedded.width}f", body[: len(body) // 2])) == (
        pytest.approx(1)
    )
