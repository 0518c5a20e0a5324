"""The catalog file: how it is read and merged, and what a bad one does."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.models.catalogfile import CatalogFile, parse


def put(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_bytes(bytes(100))


def the(catalog: Catalog, model: str) -> Entry:
    entry = catalog.find(model)
    assert entry is not None
    return entry


FULL = f"""
[models.a]
filename = "a.gguf"
backend = "LOCAL_GPU"
n_gpu_layers = -1
context_tokens = 2048
chat_template = "x"
sha256 = "{"AB" * 32}"
license = "Apache-2.0"
name = "Model A"
description = "first"
url = "https://models.example/a.gguf"
size_bytes = 100
"""


def test_a_declaration_decides_how_a_file_is_run(tmp_path: Path) -> None:
    put(tmp_path, "a.gguf")
    (tmp_path / "catalog.toml").write_text(FULL)

    entry = the(Catalog([tmp_path]), "a")

    assert (entry.backend, entry.declared.n_gpu_layers, entry.declared.context_tokens) == (
        "LOCAL_GPU",
        -1,
        2048,
    )
    assert (entry.declared.chat_template, entry.declared.sha256) == ("x", "ab" * 32)
    assert entry.fault is None


def test_a_declared_model_without_a_file_is_not_listed(tmp_path: Path) -> None:
    (tmp_path / "catalog.toml").write_text(FULL)
    catalog = Catalog([tmp_path])

    assert catalog.entries() == []


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("[models.a]\ncontxt_tokens = 1", "catalog.toml: models.a.contxt_tokens: unknown key"),
        ("[models.a]\ncontext_tokens = '1'", "models.a.context_tokens: input should be a valid in"),
        ("[models.a]\ncontext_tokens = true", "models.a.context_tokens: input should be a valid i"),
        ("[models.a]\ncontext_tokens = 0", "models.a.context_tokens: input should be greater than"),
        ("[models.a]\nbackend = 'LOCAL_TPU'", "models.a.backend: input should be 'LOCAL_CPU', 'LO"),
        ("[models.a]\nbackend = 'SYSMODEL'", "models.a.backend: input should be 'LOCAL_CPU'"),
        ("[models.a]\nsha256 = 'abc'", "models.a.sha256: string should match pattern"),
        ("[models.a]\nfilename = '../a.gguf'", "models.a.filename: must be a plain file name"),
        ("[models.a]\nfilename = 'a.bin'", "models.a.filename: must be a plain file name"),
        ("[models.a]\nfilename = 'c.gguf'", "models.a.filename: is the file of model c"),
        ("[models]\na = 3", "models.a: must be a table"),
    ],
)
def test_a_bad_table_is_named_by_key_and_the_others_still_count(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, table: str, problem: str
) -> None:
    put(tmp_path, "a.gguf", "b.gguf")
    (tmp_path / "catalog.toml").write_text(table + "\n[models.b]\ncontext_tokens = 7\n")
    catalog = Catalog([tmp_path])

    entries = {entry.id: entry for entry in catalog.entries()}

    (error,) = catalog.errors()
    assert problem in error
    assert entries["a"].fault == error
    assert (entries["b"].declared.context_tokens, entries["b"].fault) == (7, None)
    assert caplog.text.count(problem) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"[models.a\n", "catalog.toml: not a TOML file"),
        (b"a = [" * 5000, "catalog.toml: not a TOML file"),
        (b"\xff\xfe", "catalog.toml: byte 0 is not UTF-8"),
        (b"[model.a]\n", "catalog.toml: model: unknown key"),
        (b"models = 3\n", "catalog.toml: models: must have a table for each model"),
        (b"#" * ((1 << 20) + 1), "catalog.toml: larger than 1048576 bytes"),
    ],
)
def test_a_catalog_that_cannot_be_read_lets_no_model_run_on_a_guess(
    tmp_path: Path, text: bytes, problem: str
) -> None:
    mine, bundled = tmp_path / "mine", tmp_path / "bundled"
    put(mine, "a.gguf")
    put(bundled, "b.gguf")
    (mine / "catalog.toml").write_bytes(text)
    catalog = Catalog([mine, bundled])

    entries = {entry.id: entry for entry in catalog.entries()}

    assert problem in (entries["a"].fault or "")
    assert entries["b"].fault is None
    assert len(catalog.errors()) == 1


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_folder(path: Path) -> None:
    path.mkdir()


NO_FILES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (a_pipe, "catalog.toml: not a plain file"),
    "a device": (a_device, "catalog.toml: not a plain file"),
    "a folder": (a_folder, "catalog.toml: cannot be read: Is a directory"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs the files of a Unix")
@pytest.mark.parametrize("case", NO_FILES)
def test_what_is_no_plain_file_is_named_and_never_waited_for(tmp_path: Path, case: str) -> None:
    make, problem = NO_FILES[case]
    make(tmp_path / "catalog.toml")
    put(tmp_path, "a.gguf")
    catalog = Catalog([tmp_path])

    for _ in range(3):
        assert the(catalog, "a").fault == problem
    assert catalog.errors() == [problem]


def test_the_system_model_cannot_be_declared_in_a_folder() -> None:
    read = parse("[models.sysmodel-builtin]\nname = 'x'\n")

    assert read.models == {}
    assert "is declared in the settings" in read.errors[0]


def test_a_half_saved_edit_leaves_the_last_good_catalog_in_force(tmp_path: Path) -> None:
    catalog = CatalogFile(tmp_path)
    file = tmp_path / "catalog.toml"
    file.write_text("[models.a]\ncontext_tokens = 10")
    catalog.read()

    file.write_text("[models.a]\ncontext_tok")

    assert catalog.read().models["a"].context_tokens == 10
    assert "not a TOML file" in catalog.errors[0]
    file.write_text("[models.a]\ncontext_tokens = 30")
    assert catalog.read().models["a"].context_tokens == 30
    assert catalog.errors == []


def test_the_users_catalog_overrides_the_bundled_one_key_by_key(tmp_path: Path) -> None:
    mine, bundled = tmp_path / "mine", tmp_path / "bundled"
    put(mine)
    put(bundled, "a.gguf")
    (mine / "catalog.toml").write_text("[models.a]\ncontext_tokens = 99\n")
    (bundled / "catalog.toml").write_text(FULL)

    entry = the(Catalog([mine, bundled]), "a")

    assert (entry.declared.context_tokens, entry.backend) == (99, "LOCAL_GPU")


def test_a_bundled_declaration_counts_for_a_file_in_the_users_folder(tmp_path: Path) -> None:
    mine, bundled = tmp_path / "mine", tmp_path / "bundled"
    put(mine, "a.gguf")
    put(bundled)
    (bundled / "catalog.toml").write_text(FULL)

    assert the(Catalog([mine, bundled]), "a").declared.context_tokens == 2048


def test_a_file_of_another_name_than_declared_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "a.onnx", "a-vocab.txt")
    (tmp_path / "catalog.toml").write_text("[models.a]\nfilename = 'a.gguf'\n")

    assert "declares the file a.gguf" in (the(Catalog([tmp_path]), "a").fault or "")


def test_an_onnx_file_cannot_be_declared_a_chat_model(tmp_path: Path) -> None:
    put(tmp_path, "a.onnx", "a-vocab.txt")
    (tmp_path / "catalog.toml").write_text("[models.a]\nkind = 'chat'\n")

    assert "ONNX file is an embedding model" in (the(Catalog([tmp_path]), "a").fault or "")
