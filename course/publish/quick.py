"""The shortest build: equal sources, equal tool and an intact output need no work at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from course.publish.jsonfile import read_json, write_json
from course.publish.tree import MANIFEST, Tree

if TYPE_CHECKING:
    from course.read.files import Entry, Folder

CONTENT: Final = "content"
P = TypeVar("P")
F = TypeVar("F")


def source_key(root: Path, options_key: str) -> str | None:
    """A digest of every name and byte below ``content/``; None when something is unreadable."""
    try:
        return _digest(options_key, os.fspath(root / CONTENT), _below, _read)
    except (OSError, UnicodeEncodeError):
        return None


def read_key(options_key: Callable[[], str], tree: Folder, data: Mapping[str, bytes]) -> str | None:
    """The :func:`source_key` of sources as they were read: *data* holds the files of *tree*.

    So a file that changes while the build runs costs one more build.
    """

    def read(file: Entry) -> bytes:
        found = data.get(file.file)
        return _read(file.path) if found is None else found  # what no build looks at

    try:
        return _digest(options_key(), tree, _of_folder, read)
    except OSError:
        return None


def _digest(
    options_key: str,
    root: P,
    below: Callable[[P], list[tuple[str, P | None, F | None]]],
    read: Callable[[F], bytes],
) -> str:
    """The digest of a tree; *below* gives what a folder holds as names and folders or files."""
    digest = sha256(options_key.encode())
    todo = [(root, "")]
    while todo:
        top, prefix = todo.pop()
        pieces: list[bytes] = []  # one update a folder: they cost more than their bytes
        for name, folder, file in sorted(below(top), key=itemgetter(0)):
            path = prefix + name
            if folder is not None:
                pieces.append(b"d%s\0" % path.encode())
                todo.append((folder, f"{path}/"))
            elif file is not None:
                data = read(file)
                pieces += (b"f%s\0%d\0" % (path.encode(), len(data)), data)
        digest.update(b"".join(pieces))
    return digest.hexdigest()


def _below(path: str) -> list[tuple[str, str | None, str | None]]:
    """What the folder *path* of the disk holds; an OSError for what is neither file nor folder."""
    found: list[tuple[str, str | None, str | None]] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.name[0] in "._":
                continue
            if entry.is_dir(follow_symlinks=False):
                found.append((entry.name, entry.path, None))
            elif entry.is_file(follow_symlinks=False):
                found.append((entry.name, None, entry.path))
            else:
                raise OSError(f"{entry.path} is no file")
    return found


def _of_folder(folder: Folder) -> list[tuple[str, Folder | None, Entry | None]]:
    """What a folder that was walked holds."""
    folders: list[tuple[str, Folder | None, Entry | None]]
    folders = [(one.name, one, None) for one in folder.folders]
    return folders + [(one.name, None, one) for one in folder.files]


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.read()


def _state(folder: Path, out: Path) -> Path:
    name = sha256(os.fspath(out.resolve()).encode()).hexdigest()[:12]
    return folder / f"state-{name}.json"


def _manifest_hash(out: Path) -> str:
    return sha256((out / MANIFEST).read_bytes()).hexdigest()


def remembers(folder: Path, out: Path) -> bool:
    """Whether an earlier build of *out* left word, so that its key is worth to know at once."""
    return _state(folder, out).exists()


def recall(folder: Path, tree: Tree, key: str | None) -> dict[str, Any] | None:
    """The report of the last build when it would say the same now, else None."""
    state = read_json(_state(folder, tree.out)) if key else None
    if state is None or state.get("key") != key or tree.live is None:
        return None
    if any(tree.present.get(path) != file.bytes for path, file in tree.live.items()):
        return None
    try:
        same = state.get("manifest") == _manifest_hash(tree.out)
    except OSError:
        return None
    report = state.get("report")
    return report if same and isinstance(report, dict) else None


def remember(folder: Path, out: Path, key: str, report: dict[str, Any]) -> None:
    """Keep *report* for the next build of the same sources."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {"key": key, "manifest": _manifest_hash(out), "report": report}
    write_json(_state(folder, out), state)
