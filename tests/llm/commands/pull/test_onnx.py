"""ONNX files: only with a vocabulary, only what an encoder can use."""

import hashlib
from pathlib import Path

import pytest

from runtime.llm.commands.pull import files
from runtime.llm.models.catalog import Catalog
from runtime.web.instance import move_into_place
from tests.llm.commands.pull.pullkit import Puller
from tests.llm.engine.onnxkit import write_tiny

BOTH = ["e-vocab.txt", "e.onnx"]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model and its vocabulary, which do not lie in one folder."""
    folder = tmp_path_factory.mktemp("pair")
    model = write_tiny(folder, "e")
    vocab = folder / "elsewhere" / "words.txt"
    vocab.parent.mkdir()
    (folder / "e-vocab.txt").rename(vocab)
    return model, vocab


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def field(number: int, content: bytes | int) -> bytes:
    """One field of a protobuf message; lengths below 128."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def external() -> bytes:
    """A model whose weights are said to lie in another file."""
    entry = field(1, b"location") + field(2, b"/etc/passwd")
    tensor = bytes([13 << 3 | 2, len(entry)]) + entry + bytes([14 << 3, 1])
    return field(1, 8) + field(7, field(5, tensor))


def test_a_model_comes_with_its_vocabulary(pull: Puller, pair: tuple[Path, Path]) -> None:
    model, vocab = pair
    said = pull.run(str(model), "--vocab", str(vocab))

    assert (said.status, pull.left) == (0, BOTH), said.err
    assert sha(model) in said.out
    assert sha(vocab) in said.out
    (entry,) = Catalog([pull.models]).entries()
    assert (entry.id, entry.kind) == ("e", "embedding")


def read(path: Path) -> bytes:
    return path.read_bytes()


def test_a_vocabulary_beside_the_source_is_taken_along(pull: Puller, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "source", "e")

    assert pull.run(str(model)).status == 0
    assert pull.left == BOTH


@pytest.mark.parametrize("name", ["e-vocab.txt", "e.vocab.txt", "e_vocab.txt"])
def test_a_vocabulary_in_the_folder_is_enough(
    pull: Puller, pair: tuple[Path, Path], name: str
) -> None:
    model, vocab = pair
    pull.models.mkdir()
    (pull.models / name).write_bytes(read(vocab))

    assert pull.run(str(model)).status == 0
    assert pull.left == sorted([name, "e.onnx"])


def test_a_model_without_a_vocabulary_is_refused(pull: Puller, pair: tuple[Path, Path]) -> None:
    said = pull.run(str(pair[0]))

    assert (said.status, pull.left) == (2, [])
    assert "needs its vocabulary" in said.complaint


def test_an_address_of_a_vocabulary_needs_a_checksum(pull: Puller, pair: tuple[Path, Path]) -> None:
    said = pull.run(str(pair[0]), "--vocab", "https://models.example/vocab.txt")

    assert (said.status, pull.left) == (2, [])
    assert "checksum" in said.complaint


def test_a_vocabulary_has_a_bound(
    pull: Puller, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_VOCAB", 100)
    said = pull.run(str(pair[0]), "--vocab", str(pair[1]))

    assert (said.status, pull.left) == (1, [])
    assert "more than 100" in said.complaint


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an ONNX file"),
        (b"no model at all", ""),
        (external(), "in other files"),
    ],
)
def test_a_file_that_no_engine_should_see_never_gets_its_name(
    pull: Puller, pair: tuple[Path, Path], tmp_path: Path, data: bytes, words: str
) -> None:
    (tmp_path / "e.onnx").write_bytes(data)
    said = pull.run(str(tmp_path / "e.onnx"), "--vocab", str(pair[1]))

    assert (said.status, pull.left) == (1, [])
    assert "cannot be used" in said.complaint
    assert words in said.complaint


def test_a_vocabulary_has_its_name_before_the_model_has(
    pull: Puller, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    placed: list[str] = []

    def noted(waiting: Path, target: Path) -> None:
        placed.append(target.name)
        move_into_place(waiting, target)

    monkeypatch.setattr(files, "move_into_place", noted)

    assert pull.run(str(pair[0]), "--vocab", str(pair[1])).status == 0
    assert placed == BOTH
