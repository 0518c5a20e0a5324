"""The Python for the pages: fetched once, compared with its checksum, kept in the cache."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from course import pyodide
from course.publish.shell import PYODIDE, PYTHON_FOLDER
from course.publish.tree import Refusal
from tests.course.sitekit import served

NAMES = (
    "pyodide-lock.json",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide.mjs",
    "python_stdlib.zip",
)


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An archive of the right form, whose checksum counts as the known one."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as members:
        for name in (*NAMES, "README.md"):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(name)
            members.addfile(entry, io.BytesIO(name.encode()))
    monkeypatch.setattr(pyodide, "DIGEST", hashlib.sha256(out.getvalue()).hexdigest())
    return out.getvalue()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], Path]:
    """Puts an archive where the registry on this machine serves it from."""
    place = tmp_path / "registry" / "pyodide" / "-" / f"pyodide-{PYODIDE}.tgz"
    place.parent.mkdir(parents=True)
    (tmp_path / "registry" / "404.html").write_bytes(b"")

    def put(data: bytes) -> Path:
        place.write_bytes(data)
        return tmp_path / "registry"

    return put


def test_it_is_fetched_once_and_kept(
    archive: bytes,
    registry: Callable[[bytes], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = tmp_path / "cache"
    with served(registry(archive)) as host:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", host.url)
        files = pyodide.runtime(cache)
    assert files == {f"{PYTHON_FOLDER}{name}": name.encode() for name in NAMES}
    assert pyodide.runtime(cache) == files  # the registry is gone
    with pytest.raises(Refusal, match="cannot be fetched"):
        pyodide.runtime(None)


def test_another_archive_is_refused(
    archive: bytes,
    registry: Callable[[bytes], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with served(registry(archive + b"\0")) as host:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", host.url)
        with pytest.raises(Refusal, match="is not the file") as caught:
            pyodide.runtime(tmp_path)
    assert caught.value.code == "RUN004"
    assert list(tmp_path.glob("*.tgz")) == []
