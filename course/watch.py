"""The sources under watch: a signature that changes when a source file does."""

from __future__ import annotations

import os
import time
from hashlib import blake2b
from pathlib import Path
from typing import Final

from course.publish.places import CONTENT

SETTLED_S: Final = 0.05
PATIENCE_S: Final = 1.0


def signature(root: Path) -> str:
    """A digest of name, size, time and inode of everything that a build reads below *root*.

    Drafts and dot files do not count. Reads no file: about 3 microseconds an entry. A folder
    that cannot be listed counts as empty, so that the digest changes when it can be again.
    """
    digest = blake2b(digest_size=16)
    todo = [os.fspath(root / CONTENT)]
    while todo:
        folder = todo.pop()
        for name, path, is_folder, facts in _entries(folder):
            digest.update(f"{folder}/{name}\0{facts}\0".encode("utf-8", "surrogateescape"))
            if is_folder:
                todo.append(path)
    return digest.hexdigest()


def settled(root: Path) -> str:
    """The signature once it stands still: an editor that saves many files has finished.

    Blocks for 50 ms at least and for about a second at most.
    """
    until = time.monotonic() + PATIENCE_S
    now, before = signature(root), ""
    while now != before and time.monotonic() < until:
        time.sleep(SETTLED_S)
        before, now = now, signature(root)
    return now


def _entries(folder: str) -> list[tuple[str, str, bool, tuple[int, ...]]]:
    found: list[tuple[str, str, bool, tuple[int, ...]]] = []
    try:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                if entry.name[0] in "._":
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                stat = entry.stat(follow_symlinks=False)
                facts = () if is_folder else (stat.st_size, stat.st_mtime_ns)
                kind = (stat.st_mode, stat.st_ino)
                found.append((entry.name, entry.path, is_folder, kind + facts))
    except OSError:
        return []
    return found
