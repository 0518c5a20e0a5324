"""A file named by a client is opened only when it is what and where it should be."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.bridge.formats.files import NotImportable, open_inside

LIMIT = 2**20


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "good.vbo").write_bytes(b"hello")
    (folder / "other.txt").write_bytes(b"hello")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.vbo").write_bytes(b"secret")
    return folder


def opened(path: str, roots: list[Path] | None) -> bytes:
    with open_inside(path, roots, suffixes={".vbo"}, max_bytes=LIMIT) as stream:
        return stream.read()


def _link(inside: Path) -> str:
    (inside / "link.vbo").symlink_to(inside.parent / "outside" / "secret.vbo")
    return str(inside / "link.vbo")


def _link_in_parent(inside: Path) -> str:
    (inside / "folder").symlink_to(inside.parent / "outside")
    return str(inside / "folder" / "secret.vbo")


def _hard_link(inside: Path) -> str:
    os.link(inside.parent / "outside" / "secret.vbo", inside / "hard.vbo")
    return str(inside / "hard.vbo")


def _pipe(inside: Path) -> str:
    os.mkfifo(inside / "pipe.vbo")
    return str(inside / "pipe.vbo")


def _folder(inside: Path) -> str:
    (inside / "folder.vbo").mkdir()
    return str(inside / "folder.vbo")


def _device(inside: Path) -> str:
    (inside / "zero.vbo").symlink_to("/dev/zero")
    return str(inside / "zero.vbo")


def _process(inside: Path) -> str:
    (inside / "environ.vbo").symlink_to("/proc/self/environ")
    return str(inside / "environ.vbo")


def _socket(inside: Path) -> str:
    with socket.socket(socket.AF_UNIX) as listener:
        os.chdir(inside)  # addresses of sockets are short
        listener.bind("socket.vbo")
    return str(inside / "socket.vbo")


def _large(inside: Path) -> str:
    with (inside / "large.vbo").open("wb") as file:
        file.truncate(LIMIT + 1)
    return str(inside / "large.vbo")


def _circle(inside: Path) -> str:
    (inside / "a.vbo").symlink_to(inside / "b.vbo")
    (inside / "b.vbo").symlink_to(inside / "a.vbo")
    return str(inside / "a.vbo")


def _renamed(inside: Path) -> str:
    (inside / "text.vbo").symlink_to(inside / "other.txt")
    return str(inside / "text.vbo")


REFUSED: dict[str, Callable[[Path], str]] = {
    "a link that leads outside": _link,
    "a folder that leads outside": _link_in_parent,
    "a second name of a file outside": _hard_link,
    "a pipe": _pipe,
    "a folder": _folder,
    "a device": _device,
    "a file of the process": _process,
    "a socket": _socket,
    "too large a file": _large,
    "links in a circle": _circle,
    "a link to another kind": _renamed,
    "a way out by dots": lambda inside: str(inside / ".." / "outside" / "secret.vbo"),
    "a file outside": lambda inside: str(inside.parent / "outside" / "secret.vbo"),
    "a missing file": lambda inside: str(inside / "missing.vbo"),
    "a file below a file": lambda inside: str(inside / "good.vbo" / "x.vbo"),
    "another kind": lambda inside: str(inside / "other.txt"),
    "no kind": lambda inside: str(inside / "good"),
    "a relative path": lambda inside: "good.vbo",
    "a home": lambda inside: "~/good.vbo",
    "nothing": lambda inside: "",
    "a NUL": lambda inside: str(inside / "good.vbo") + "\x00.vbo",
    "half a character": lambda inside: str(inside / "\ud800.vbo"),
    "too long a name": lambda inside: str(inside / ("x" * 5000 + ".vbo")),
}


@pytest.fixture
def descriptors() -> Callable[[], int]:
    folder = Path("/proc/self/fd")
    return lambda: len(list(folder.iterdir())) if folder.is_dir() else 0


@pytest.mark.parametrize("name", REFUSED)
def test_whatever_is_wrong_is_refused_in_the_same_words(
    name: str, inside: Path, descriptors: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inside)  # put back afterwards: one case changes the folder
    path = REFUSED[name](inside)
    before = descriptors()
    with pytest.raises(NotImportable) as error:
        opened(path, [inside])
    assert error.value.status == 400
    assert str(error.value) == (
        "give the absolute path of a readable .vbo file of at most 1 MiB "
        "in a folder that may be imported from"
    )
    assert descriptors() == before


def test_a_pipe_is_refused_at_once(inside: Path) -> None:
    path = _pipe(inside)
    with pytest.raises(NotImportable):
        opened(path, None)  # without O_NONBLOCK it would wait for a writer forever


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(inside: Path) -> None:
    (inside / "good.vbo").chmod(0)
    with pytest.raises(NotImportable):
        opened(str(inside / "good.vbo"), [inside])


@pytest.mark.parametrize("roots", [1, 2, None])
def test_a_good_file_is_opened(inside: Path, roots: int | None) -> None:
    folders = {1: [inside], 2: [inside.parent / "missing", inside.parent], None: None}[roots]
    assert opened(str(inside / "good.vbo"), folders) == b"hello"


def test_links_that_stay_inside_are_followed(inside: Path, tmp_path: Path) -> None:
    (inside / "link.vbo").symlink_to(inside / "good.vbo")
    (tmp_path / "door").symlink_to(inside)
    assert opened(str(inside / "link.vbo"), [inside]) == b"hello"
    assert opened(str(tmp_path / "door" / "good.vbo"), [inside]) == b"hello"
    assert opened(str(inside / "good.vbo"), [tmp_path / "door"]) == b"hello"
    assert opened(str(inside / ".." / "inside" / "good.vbo"), [inside]) == b"hello"


def test_without_roots_any_place_and_second_names_are_fine(inside: Path) -> None:
    assert opened(_hard_link(inside), None) == b"secret"
    assert opened(_link(inside), None) == b"secret"


def test_without_any_root_nothing_is_opened(inside: Path) -> None:
    with pytest.raises(NotImportable):
        opened(str(inside / "good.vbo"), [])


def test_the_suffix_may_be_in_capitals(inside: Path) -> None:
    (inside / "LOUD.VBO").write_bytes(b"x")
    assert opened(str(inside / "LOUD.VBO"), [inside]) == b"x"


def test_a_file_swapped_between_opening_and_checking_is_refused(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = inside / "good.vbo"
    real = os.open

    def swapped(name: str | Path, flags: int) -> int:
        descriptor = real(name, flags)
        path.unlink()
        path.symlink_to(inside.parent / "outside" / "secret.vbo")
        return descriptor

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(NotImportable):
        opened(str(path), [inside])
