"""Where the files of a build go: into the stage of an output folder, or nowhere for a check."""

from __future__ import annotations

from typing import Protocol

from course.publish.tree import File


class Target(Protocol):
    """What takes the files of a build."""

    files: dict[str, File]

    def put(self, path: str, data: bytes, sha256: str = "") -> File:
        """Add *data* as the file *path*; *sha256* is its digest where that is known."""

    def keep(self, path: str, file: File) -> bool:
        """Whether *file* is there already; then it is part of the output."""


class Nowhere:
    """The target of a check: files are counted, not written."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}

    def put(self, path: str, data: bytes, sha256: str = "") -> File:
        """Count the file *path*."""
        file = self.files[path] = File(len(data), "")
        return file

    def keep(self, path: str, file: File) -> bool:
        """Every file that a cached unit names counts as there."""
        self.files[path] = file
        return True
