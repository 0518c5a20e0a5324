"""The shortest build: equal sources, equal tool and an intact output need no work at all."""

from __future__ import annotations

import os
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Final

from course.jsonfile import read_json, write_json
from course.tree import MANIFEST, Tree

CONTENT: Final = "content"


def source_key(root: Path, options_key: str) -> str | None:
    """A digest of every name and byte below ``content/``; None when something is unreadable."""
    digest = blake2b(options_key.encode(), digest_size=20)
    todo = [(os.fspath(root / CONTENT), "")]
    try:
        while todo:
            path, prefix = todo.pop()
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
            for entry in entries:
                if entry.name[0] in "._":
                    continue
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    digest.update(b"d%s\0" % name.encode())
                    todo.append((entry.path, f"{name}/"))
                elif entry.is_file(follow_symlinks=False):
                    data = _read(entry.path)
                    digest.update(b"f%s\0%d\0" % (name.encode(), len(data)))
                    digest.update(data)
                else:
                    return None
    except (OSError, UnicodeEncodeError):
        return None
    return digest.hexdigest()


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
