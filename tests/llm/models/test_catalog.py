"""The models folder: what is listed, what is refused, what a file says about itself."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.models import catalog as module
from runtime.llm.models import onnxfile
from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.models.catalogfile import parse_file_name
from tests.llm.tinymodel import Shape, write_random


def put(folder: Path, *names: str, size: int = 100) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(bytes(size))


def ids(*folders: Path) -> list[str]:
    return [entry.id for entry in Catalog(folders).entries()]


def the(catalog: Catalog, model: str) -> Entry:
    entry = catalog.find(model)
    assert entry is not None
    return entry


# --- the folder


def test_a_missing_or_empty_folder_lists_nothing(tmp_path: Path) -> None:
    assert ids(tmp_path / "nowhere", tmp_path) == []


def test_chat_models_come_before_embedding_models_each_by_id(tmp_path: Path) -> None:
    put(tmp_path, "z.gguf", "m.GGUF", "a.onnx", "a-vocab.txt", "B.gguf", "y.Onnx", "y_vocab.txt")

    assert ids(tmp_path) == ["B", "m", "z", "a", "y"]


def test_an_entry_tells_what_the_file_system_knows(tmp_path: Path) -> None:
    put(tmp_path, "coach.v1-q8_0.gguf", size=123)
    path = tmp_path / "coach.v1-q8_0.gguf"
    os.utime(path, ns=(1, 1_700_000_000_900_000_000))

    entry = the(Catalog([tmp_path]), "coach.v1-q8_0")

    assert (entry.path, entry.created, entry.size) == (path, 1_700_000_000, 123)
    assert entry.fingerprint == (path.stat().st_ino, 123, 1_700_000_000_900_000_000)
    assert (entry.kind, entry.format, entry.backend) == ("chat", "gguf", "LOCAL_CPU")
    assert entry.declared.context_tokens is None
    assert (entry.fault, entry.parts, entry.vocab) == (None, (), None)


@pytest.mark.parametrize(
    "name",
    [
        "a.gguf.part",
        "a.gguf.tmp",
        "a.part",
        "a.bin",
        "agguf",
        ".gguf",
        ".hidden.gguf",
        "._a.gguf",
        "a\nb.gguf",
        "a\x1b[31m.gguf",
        "a\x85.gguf",
        "a\\b.gguf",
        "a\u2028b.gguf",
        "bad\udcff.gguf",
        "alone.onnx",
        "sysmodel-builtin.gguf",
        "sysmodel-builtin-00001-of-00001.gguf",
    ],
)
def test_what_no_client_could_or_should_ask_for_is_not_listed(tmp_path: Path, name: str) -> None:
    put(tmp_path, name)

    assert ids(tmp_path) == []


def test_an_empty_file_is_a_download_that_has_not_begun(tmp_path: Path) -> None:
    put(tmp_path, "a.gguf", "e.onnx", "e-vocab.txt", size=0)
    put(tmp_path, "f.onnx")
    put(tmp_path, "f-vocab.txt", size=0)

    assert ids(tmp_path) == []


def test_links_lead_to_regular_files_only(tmp_path: Path) -> None:
    put(tmp_path / "store", "blob")
    put(tmp_path / "models")
    models = tmp_path / "models"
    (models / "good.gguf").symlink_to(tmp_path / "store" / "blob")
    (models / "dangling.gguf").symlink_to(tmp_path / "gone")
    (models / "loop.gguf").symlink_to(models / "loop.gguf")
    (models / "folder.gguf").symlink_to(tmp_path / "store")
    (models / "device.gguf").symlink_to("/dev/zero")
    (models / "deep.gguf").mkdir()
    os.mkfifo(models / "pipe.gguf")

    assert ids(models) == ["good"]


def test_a_models_folder_that_is_a_file_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "models")

    assert ids(tmp_path / "models") == []
    assert "models folder models cannot be read" in caplog.text


@pytest.mark.parametrize("vocab", ["e-vocab.txt", "e.vocab.txt", "e_vocab.txt"])
def test_an_onnx_model_is_one_with_a_vocabulary_beside_it(tmp_path: Path, vocab: str) -> None:
    put(tmp_path, "e.onnx", vocab)
    os.utime(tmp_path / vocab, ns=(1, 4_000_000_000_000_000_000))

    entry = the(Catalog([tmp_path]), "e")

    assert (entry.kind, entry.format, entry.vocab) == ("embedding", "onnx", tmp_path / vocab)
    assert entry.created == int((tmp_path / "e.onnx").stat().st_mtime)


def test_a_split_model_is_one_entry_with_all_its_parts(tmp_path: Path) -> None:
    names = [f"big-q4-0000{n}-of-00003.gguf" for n in (1, 2, 3)]
    put(tmp_path, *names)
    os.utime(tmp_path / names[1], ns=(1, 4_000_000_000_000_000_000))

    (entry,) = Catalog([tmp_path]).entries()

    assert entry.id == "big-q4"
    assert entry.path == tmp_path / names[0]
    assert entry.parts == tuple(tmp_path / name for name in names)
    assert entry.size == 300
    assert entry.created == 4_000_000_000
    assert entry.fingerprint.mtime_ns == 4_000_000_000_000_000_000


def test_a_split_model_with_a_part_missing_or_empty_is_not_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "big-00001-of-00003.gguf", "big-00003-of-00003.gguf")
    put(tmp_path, "big-00002-of-00003.gguf", size=0)

    assert ids(tmp_path) == []
    assert "big is not listed: only 2 of its 3 parts are here" in caplog.text


@pytest.mark.parametrize("name", ["x-00000-of-00002", "x-00003-of-00002", "x-1-of-2", "x-00001-of"])
def test_numbers_that_are_no_part_belong_to_the_name(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"{name}.gguf")

    assert ids(tmp_path) == [name]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("a.GGUF", "a.gguf"), "a.GGUF"),
        (("a.gguf", "a.onnx", "a-vocab.txt"), "a.gguf"),
        (("a-00001-of-00001.gguf", "a.gguf"), "a-00001-of-00001.gguf"),
    ],
)
def test_of_two_files_with_one_id_the_first_by_name_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, names: tuple[str, ...], kept: str
) -> None:
    put(tmp_path, *names)

    (entry,) = Catalog([tmp_path]).entries()

    assert entry.path.name == kept
    assert f"is hidden by {kept}: both are model a" in caplog.text


def test_an_onnx_file_without_vocabulary_takes_no_id_from_another(tmp_path: Path) -> None:
    put(tmp_path / "first", "a.onnx")
    put(tmp_path / "second", "a.gguf")

    assert ids(tmp_path / "first", tmp_path / "second") == ["a"]


def test_the_first_folder_wins_and_the_log_says_it_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mine, bundled = tmp_path / "mine", tmp_path / "bundled"
    put(mine, "a.gguf")
    put(bundled, "a.gguf", "b.gguf")
    catalog = Catalog([mine, bundled])

    for _ in range(5):
        catalog.entries()

    assert [entry.path for entry in catalog.entries()] == [mine / "a.gguf", bundled / "b.gguf"]
    assert caplog.text.count("hides") == 1


def test_a_file_copied_in_a_moment_ago_is_found_and_a_deleted_one_is_not(tmp_path: Path) -> None:
    catalog = Catalog([tmp_path])
    assert catalog.find("a") is None

    put(tmp_path, "a.gguf")
    before = the(catalog, "a").fingerprint
    put(tmp_path, "a.gguf", size=200)
    after = the(catalog, "a").fingerprint
    (tmp_path / "a.gguf").unlink()

    assert before != after
    assert catalog.find("a") is None


def test_a_folder_that_changes_under_the_eyes_of_several_threads_is_listed(tmp_path: Path) -> None:
    catalog = Catalog([tmp_path])
    put(tmp_path, "stays.gguf")

    def churn(worker: int) -> list[bool]:
        mine = tmp_path / f"{worker}.gguf"
        listed = []
        for _ in range(50):
            mine.write_bytes(b"x")
            listed.append(catalog.find("stays") is not None)
            mine.unlink()
        return listed

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(churn, range(4)))

    assert answers == [[True] * 50] * 4


WHOLE = b"\x08\x08\x3a\x02\x2a\x00"
"""An ONNX model whose graph has a tensor."""
ELSEWHERE = b"\x08\x08\x3a\x04\x2a\x02\x6a\x00"
"""The same with data in another file."""


def test_an_onnx_model_with_weights_in_another_file_is_not_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "e-vocab.txt", "f-vocab.txt")
    (tmp_path / "e.onnx").write_bytes(ELSEWHERE)
    (tmp_path / "f.onnx").write_bytes(WHOLE)
    catalog = Catalog([tmp_path])

    assert [entry.id for entry in catalog.entries()] == ["f"]
    assert catalog.find("e") is None
    assert "e.onnx is not listed" in caplog.text


def test_an_onnx_file_is_looked_through_once_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "e-vocab.txt")
    (tmp_path / "e.onnx").write_bytes(WHOLE)
    looks: list[Path] = []
    monkeypatch.setattr(onnxfile, "check", looks.append)
    catalog = Catalog([tmp_path])
    for _ in range(3):
        assert catalog.find("e")
    assert len(looks) == 1

    (tmp_path / "e.onnx").write_bytes(WHOLE + b"\x08\x08")
    assert catalog.find("e")
    assert len(looks) == 2


@pytest.mark.parametrize(
    "model", ["", ".", "..", "../a", "a.gguf", "a\0", "/etc/passwd", "A", "x" * 100_000, "\udcff"]
)
def test_any_text_may_be_looked_up(tmp_path: Path, model: str) -> None:
    put(tmp_path, "a.gguf")

    assert Catalog([tmp_path]).find(model) is None


@given(st.text())
def test_no_name_of_a_file_breaks_the_reading_of_names(name: str) -> None:
    for extension in (".gguf", ".onnx", ".GGUF", ""):
        found = parse_file_name(name + extension)
        if found is not None:
            assert found.id
            assert found.id.isprintable() or " " in found.id or not found.id.isascii()
            assert 1 <= found.part <= found.parts


# --- what files say about themselves


def test_meta_comes_from_the_header(tmp_path: Path) -> None:
    write_random(tmp_path / "tiny.gguf", Shape(context=512))
    catalog = Catalog([tmp_path])
    entry = the(catalog, "tiny")

    meta = catalog.meta(entry)

    assert (meta.kind, meta.size, meta.n_ctx_train) == ("chat", entry.size, 512)
    assert meta.n_params is not None
    assert meta.n_params > 10_000


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    catalog = Catalog([tmp_path])
    write_random(path, Shape(context=512))
    before = catalog.meta(the(catalog, "tiny"))

    path.unlink()
    write_random(path, Shape(context=1024))

    assert before.n_ctx_train == 512
    assert catalog.meta(the(catalog, "tiny")).n_ctx_train == 1024


def test_a_damaged_file_is_listed_and_its_meta_says_what_is_wrong(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path, "zeros.gguf")
    catalog = Catalog([tmp_path])
    entry = the(catalog, "zeros")

    metas = [catalog.meta(entry) for _ in range(3)]

    reason = "damaged file: this is not a GGUF file"
    assert metas == [module.Meta("chat", 100, note=reason)] * 3
    assert caplog.text.count("model file zeros.gguf:") == 1
