"""A model's table is added to the catalog, and nothing that a user wrote is lost."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.llm.models.catalogfile import MAX_BYTES, CatalogFile, Declaration, parse
from runtime.llm.models.pull.declaring import appended, catalog_of, declare, table

NEW = Declaration(kind="embedding", name='Say "é"\\', dims=384, pooling="mean", max_seq=256)
OLD = "[models.old]\ncontext_tokens = 512  # mine\n"


def in_force(folder: Path) -> dict[str, Declaration]:
    return CatalogFile(folder).read().models


def test_a_table_reads_back_as_what_was_declared() -> None:
    assert parse(table("a.b-c d", NEW)).models == {"a.b-c d": NEW}


@pytest.mark.parametrize(
    "before",
    [
        "",
        OLD,
        OLD.rstrip("\n"),
        OLD.replace("\n", "\r\n"),
        f"# a comment at the end, without a line break\n{OLD}# fin",
        f"{OLD}\n\n\n",
        "models.old.context_tokens = 512\n",
        '[models]\n[models."other one"]\nname = "[models.new]"\n',
        f"{OLD}[models.bad]\ndims = -1\n",
        "# nothing but a comment",
    ],
)
def test_a_table_goes_behind_what_is_there(tmp_path: Path, before: str) -> None:
    path = tmp_path / "catalog.toml"
    path.write_bytes(before.encode())
    known = parse(before)

    assert declare(tmp_path, "new", NEW) == "added"

    after = path.read_bytes().decode()
    assert after.startswith(before)
    assert ("\r\n" in before) == ("\r\n" in after)
    assert parse(after).models == {**known.models, "new": NEW}
    assert parse(after).faults == known.faults
    assert in_force(tmp_path)["new"] == NEW


def test_a_folder_without_a_catalog_gets_one(tmp_path: Path) -> None:
    assert declare(tmp_path, "new", NEW) == "added"
    assert in_force(tmp_path) == {"new": NEW}


@pytest.mark.parametrize(
    "before",
    [
        '[models.new]\nname = "mine"\n',
        "models = {new = {dims = 5}}\n",
        '[models.new]\nnonsense = "x"\n',
        "[models]\nnew = 3\n",
    ],
)
def test_a_table_that_is_there_stays_whatever_it_says(tmp_path: Path, before: str) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(before)

    assert declare(tmp_path, "new", NEW) == "there"
    assert path.read_text() == before


@pytest.mark.parametrize(
    "before",
    [
        b"[models.old\n",
        b"top = 1\n",
        b"models = 3\n",
        b"models = {old = {dims = 5}}\n",  # cannot be added to
        b"[models.old]\nname = '''never closed\n",
        b"\xff\xfe",
        b"# " + b"x" * MAX_BYTES,
    ],
)
def test_a_catalog_that_cannot_be_added_to_stays_as_it_is(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "catalog.toml"
    path.write_bytes(before)

    assert declare(tmp_path, "new", NEW) == "refused"
    assert path.read_bytes() == before


def test_a_catalog_without_the_right_to_write_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "catalog.toml"
    path.write_text(OLD)
    path.chmod(0o444)

    assert declare(tmp_path, "new", NEW) == "refused"
    assert path.read_text() == OLD


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_catalog_that_is_no_file_is_refused(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "catalog.toml")

    assert declare(tmp_path, "new", NEW) == "refused"


def test_a_linked_catalog_stays_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    real.write_text(OLD)
    (tmp_path / "catalog.toml").symlink_to(real)

    assert declare(tmp_path, "new", NEW) == "added"
    assert (tmp_path / "catalog.toml").is_symlink()
    assert in_force(tmp_path).keys() == {"old", "new"}


def test_a_disk_that_fills_up_meanwhile_leaves_no_half_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "catalog.toml"
    path.write_text(OLD)
    monkeypatch.setattr(os, "fsync", full)

    assert declare(tmp_path, "new", NEW) == "refused"
    assert path.read_text() == OLD


def test_an_addition_that_would_change_the_meaning_is_none() -> None:
    assert appended("models = {old = {dims = 5}}\n", "new", NEW) is None
    assert appended(OLD, "old", NEW) is None


def test_a_catalog_that_is_absent_says_nothing(tmp_path: Path) -> None:
    assert catalog_of(tmp_path).models == {}
    assert catalog_of(tmp_path).broken is None
