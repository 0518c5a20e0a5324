"""A file named by a client is opened only when it is what and where it should be."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.bridge.formats.safe_open import NotImportable, open_inside

LIMIT = 2**20


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good file, and with whatever a client might name in its place."""
    folder, outside = tmp_path / "inside", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    secret = outside / "secret.vbo"
    secret.write_bytes(b"secret")
    (folder / "good.vbo").write_bytes(b"hello")
    (folder / "other.txt").write_bytes(b"hello")
    links = {
        "link": secret,
        "zero": Path("/dev/zero"),
        "environ": Path("/proc/self/environ"),
        "a": folder / "b.vbo",
        "b": folder / "a.vbo",
        "text": folder / "other.txt",
    }
    for name, target in links.items():
        (folder / f"{name}.vbo").symlink_to(target)
    (folder / "folder").symlink_to(outside)
    os.link(secret, folder / "hard.vbo")
    os.mkfifo(folder / "pipe.vbo")
    (folder / "folder.vbo").mkdir()
    with (folder / "large.vbo").open("wb") as file:
        file.truncate(LIMIT + 1)
    monkeypatch.chdir(folder)  # addresses of sockets are short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.vbo")
    return folder


def read_inside(path: str, roots: list[Path] | None) -> bytes:
    with open_inside(path, roots, suffixes={".vbo"}, max_bytes=LIMIT) as stream:
        return stream.read()


REFUSED = {
    "a link that leads outside": "{}/link.vbo",
    "a folder that leads outside": "{}/folder/secret.vbo",
    "a second name of a file outside": "{}/hard.vbo",
    "a pipe": "{}/pipe.vbo",
    "a folder": "{}/folder.vbo",
    "a device": "{}/zero.vbo",
    "a file of the process": "{}/environ.vbo",
    "a socket": "{}/socket.vbo",
    "too large a file": "{}/large.vbo",
    "links in a circle": "{}/a.vbo",
    "a link to another kind": "{}/text.vbo",
    "a way out by dots": "{}/../outside/secret.vbo",
    "a file outside": "{1}/secret.vbo",
    "a missing file": "{}/missing.vbo",
    "a file below a file": "{}/good.vbo/x.vbo",
    "another kind": "{}/other.txt",
    "no kind": "{}/good",
    "a relative path": "good.vbo",
    "a home": "~/good.vbo",
    "nothing": "",
    "a NUL": "{}/good.vbo\x00.vbo",
    "half a character": "{}/\ud800.vbo",
    "too long a name": "{}/" + "x" * 5000 + ".vbo",
}


@pytest.fixture
def descriptors() -> Callable[[], int]:
    folder = Path("/proc/self/fd")
    return lambda: len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("name", REFUSED)
def test_whatever_is_wrong_is_refused_in_the_same_words(
    name: str, inside: Path, descriptors: Callable[[], int]
) -> None:
    path = REFUSED[name].format(inside, inside.parent / "outside")
    before = descriptors()
    with pytest.raises(NotImportable) as error:
        read_inside(path, [inside])
    assert error.value.status == 400
    assert str(error.value) == (
        "give the absolute path of a readable .vbo file of at most 1 MiB "
        "in a folder that may be imported from"
    )
    assert descriptors() == before


def test_a_pipe_is_refused_at_once(inside: Path) -> None:
    with pytest.raises(NotImportable):
        # without O_NONBLOCK it would wait for a writer for ever
        read_inside(str(inside / "pipe.vbo"), None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(inside: Path) -> None:
    (inside / "good.vbo").chmod(0)
    with pytest.raises(NotImportable):
        read_inside(str(inside / "good.vbo"), [inside])


@pytest.mark.parametrize("roots", [1, 2, None])
def test_a_good_file_is_opened(inside: Path, roots: int | None) -> None:
    folders = {1: [inside], 2: [inside.parent / "missing", inside.parent], None: None}[roots]
    assert read_inside(str(inside / "good.vbo"), folders) == b"hello"


def test_links_that_stay_inside_are_followed(inside: Path, tmp_path: Path) -> None:
    (inside / "way.vbo").symlink_to(inside / "good.vbo")
    (tmp_path / "door").symlink_to(inside)
    assert read_inside(str(inside / "way.vbo"), [inside]) == b"hello"
    assert read_inside(str(tmp_path / "door" / "good.vbo"), [inside]) == b"hello"
    assert read_inside(str(inside / "good.vbo"), [tmp_path / "door"]) == b"hello"
    assert read_inside(str(inside / ".." / "inside" / "good.vbo"), [inside]) == b"hello"


def test_without_roots_any_place_and_second_names_are_fine(inside: Path) -> None:
    assert read_inside(str(inside / "hard.vbo"), None) == b"secret"
    assert read_inside(str(inside / "link.vbo"), None) == b"secret"


def test_without_any_root_nothing_is_opened(inside: Path) -> None:
    with pytest.raises(NotImportable):
        read_inside(str(inside / "good.vbo"), [])


def test_the_suffix_may_be_in_capitals(inside: Path) -> None:
    (inside / "LOUD.VBO").write_bytes(b"x")
    assert read_inside(str(inside / "LOUD.VBO"), [inside]) == b"x"


def test_a_file_swapped_between_opening_and_checking_is_refused(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = inside / "good.vbo"
    real = os.open

    def swap(name: str | Path, flags: int) -> int:
        descriptor = real(name, flags)
        path.unlink()
        path.symlink_to(inside.parent / "outside" / "secret.vbo")
        return descriptor

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(NotImportable):
        read_inside(str(path), [inside])
