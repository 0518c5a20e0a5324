"""The output folder: built aside, then exchanged whole, so that it is never half old, half new."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

MANIFEST: Final = "build-manifest.json"
_EXCHANGE: Final = 2
_AT_FDCWD: Final = -100


class Refusal(Exception):
    """A build that cannot go on for a reason outside the sources; carries a rule code."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint

    def __reduce__(self) -> tuple[type[Refusal], tuple[str, str, str]]:
        """How it travels from one process of a build to another."""
        return Refusal, (self.code, str(self), self.hint)


class File(NamedTuple):
    """One published file: its size in bytes and the hex SHA-256 of its content."""

    bytes: int
    sha256: str


Manifest = Mapping[str, File]


def manifest_bytes(files: Manifest) -> bytes:
    """``build-manifest.json``: every file but itself, by path."""
    # The keys stand in the order of the alphabet, as in every file that is published.
    entries = [
        {"bytes": size, "path": path, "sha256": digest}
        for path, (size, digest) in sorted(files.items())
    ]
    return orjson.dumps(
        {"files": entries, "schemaVersion": 1},
        option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE,
    )


def read_manifest(folder: Path) -> dict[str, File] | None:
    """The files that the build which wrote *folder* put there; None when it tells no such thing."""
    try:
        data: Any = orjson.loads((folder / MANIFEST).read_bytes())
        found = {
            str(entry["path"]): File(int(entry["bytes"]), str(entry["sha256"]))
            for entry in data["files"]
        }
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if all(map(_inside, found)) else None


def _inside(path: str) -> bool:
    parts = path.split("/")
    return bool(path) and not path.startswith("/") and ".." not in parts and "\\" not in path


def listing(folder: Path, bare: list[str] | None = None) -> dict[str, int]:
    """Every file below *folder* with its size; what no build left there counts as of size -1.

    That are links, and files younger than the manifest, which a build writes last: somebody has
    changed them. Folders without anything in them are added to *bare*.
    """
    found: dict[str, int] = {}
    written = _written(folder)
    todo = [(os.fspath(folder), "")]
    while todo:
        path, prefix = todo.pop()
        entry = None
        with os.scandir(path) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, name + "/"))
                elif entry.is_symlink():
                    found[name] = -1
                else:
                    facts = entry.stat(follow_symlinks=False)
                    found[name] = facts.st_size if facts.st_mtime_ns <= written else -1
        if entry is None and bare is not None:
            bare.append(prefix.rstrip("/"))
    return found


def _written(folder: Path) -> int:
    """When the manifest of *folder* was written, in ns; the end of time when there is none."""
    try:
        return (folder / MANIFEST).stat().st_mtime_ns
    except OSError:
        return sys.maxsize


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the lock of the output folder; a second build is refused, a killed one lets go."""
    path = out.parent / f".{out.name}.lock"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise _refusal(error, out) from error
    try:
        if not _try_lock(descriptor):
            raise Refusal(
                "CFG004",
                f"another build is writing {out.name}/",
                "wait until it ends, or give this one its own --out",
            )
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Tree:
    """The live output folder and the one that is prepared beside it."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.next = out.parent / f".{out.name}.next"
        self.old = out.parent / f".{out.name}.old"
        self._restore()
        self.live = read_manifest(out) if out.is_dir() else None
        self.present = listing(out) if out.is_dir() else {}

    def _restore(self) -> None:
        """Undo a replacement that was cut short between its two renames."""
        if self.old.is_dir() and not self.out.exists():
            os.rename(self.old, self.out)

    def foreign(self) -> list[str]:
        """Files in the output folder that no build wrote."""
        known = self.live or {}
        return sorted(path for path in self.present if path not in known and path != MANIFEST)

    def intact(self, path: str, file: File) -> bool:
        """Whether the live folder holds *path* as the manifest says."""
        return (
            self.live is not None
            and self.live.get(path) == file
            and self.present.get(path) == file.bytes
        )

    def stage(self) -> Stage:
        """Begin to prepare the next state."""
        return Stage(self)

    def swap(self) -> None:
        """Put the prepared folder in the place of the live one."""
        if not self.out.exists():
            os.rename(self.next, self.out)
        elif not _exchange(self.next, self.out):
            shutil.rmtree(self.old, ignore_errors=True)
            os.rename(self.out, self.old)
            try:
                os.rename(self.next, self.out)
            except OSError:
                os.rename(self.old, self.out)
                raise
            os.rename(self.old, self.next)

    def clean(self) -> None:
        """Remove the folder beside; the next build prepares it from nothing."""
        shutil.rmtree(self.next, ignore_errors=True)


class Stage:
    """The next state of an output folder, file by file; nothing shows until :meth:`finish`.

    The folder beside usually holds the state before the live one, so that most files are there
    already. Its manifest is absent while it is half done: a killed build leaves no trace.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.files: dict[str, File] = {}
        self._owner = os.getpid()
        self._base = os.fspath(tree.next) + os.sep
        self._live = os.fspath(tree.out) + os.sep
        self._made: set[str] = {""}
        self._spare: dict[str, File] = {}
        self._sizes: dict[str, int] = {}
        self._bare: list[str] = []  # empty folders that somebody made while this one was live
        with self._guard():
            spare = read_manifest(tree.next)
            if spare is None:
                shutil.rmtree(tree.next, ignore_errors=True)
                tree.next.mkdir(parents=True, mode=0o755)
            else:
                self._spare, self._sizes = spare, listing(tree.next, self._bare)
                os.unlink(self._base + MANIFEST)

    def put(self, path: str, data: bytes, sha256: str = "") -> File:
        """Add *data* as the file *path*; a path that leaves the folder is refused.

        *sha256* is the digest where that is known.
        """
        if not _inside(path):  # only a cache that somebody has tampered with names such a path
            raise Refusal("CFG005", f"no file can be called {path}", "build with --clean")
        file = File(len(data), sha256 or hashlib.sha256(data).hexdigest())
        if not self.keep(path, file):
            try:
                self._clear(path)
                _replace(self._base + path, data)
            except OSError as error:
                raise self._failure(error) from error
            self.files[path] = file
        return file

    def keep(self, path: str, file: File) -> bool:
        """Add the file *path* if one of the two folders holds it already; else say no."""
        if self.files.get(path) == file:
            return True
        if self._sizes.get(path) == file.bytes and self._spare.get(path) == file:
            self.files[path] = file
            return True
        if not self.tree.intact(path, file):
            return False
        with self._guard():
            self._clear(path)
            if not _link(self._live + path, self._base + path):
                return False
        self.files[path] = file
        return True

    def finish(self, foreign: list[str]) -> int:
        """Show the new state, *foreign* files kept; returns how many files changed."""
        live = self.tree.live or {}
        changed = sum(not self.tree.intact(path, file) for path, file in self.files.items())
        gone = sum(path not in self.files for path in live)
        with self._guard():
            for path in foreign:
                if path not in self.files:
                    self._clear(path)
                    shutil.copy2(self._live + path, self._base + path, follow_symlinks=False)
            self._remove_others({*self.files, *foreign})
            _write(self._base + MANIFEST, manifest_bytes(self.files))
            if changed or gone or self.tree.live is None:
                self.tree.swap()
        return changed + gone

    def abandon(self) -> None:
        """Give the next state up; the live folder is as it was."""
        if os.getpid() == self._owner:  # a forked helper leaves that to its parent
            self.tree.clean()

    def _clear(self, path: str) -> None:
        """Make room for *path*: the old file goes, because its bytes may be shared by a link."""
        if path in self._sizes or path in self.files:
            self._sizes.pop(path, None)
            os.unlink(self._base + path)
            return
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            self._make(folder)

    def _make(self, folder: str) -> None:
        """Make *folder* and those above it; another process of this build may be first."""
        above = folder.rpartition("/")[0]
        if above not in self._made:
            self._make(above)
        with suppress(FileExistsError):
            os.mkdir(self._base + folder, mode=0o755)
        self._made.add(folder)

    def _remove_others(self, wanted: set[str]) -> None:
        emptied = set(self._bare)
        for path in self._sizes:
            if path not in wanted and path != MANIFEST:
                os.unlink(self._base + path)
                emptied.add(os.path.dirname(path))
        for folder in sorted(emptied, key=len, reverse=True):
            _prune(self._base, folder)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> Refusal:
        self.abandon()
        return _refusal(error, self.tree.out)


def _link(source: str, target: str) -> bool:
    try:
        os.link(source, target)
    except OSError:
        return False
    return True


def _replace(path: str, data: bytes) -> None:
    """Write a file that another process of this build may have written already."""
    try:
        _write(path, data)
    except FileExistsError:
        os.unlink(path)
        _write(path, data)


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _prune(base: str, folder: str) -> None:
    while folder:
        try:
            os.rmdir(base + folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system has no such call."""
    if os.name != "posix":
        return False
    import ctypes  # only a build that changes something asks

    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        done = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    elif hasattr(library, "renamex_np"):
        done = library.renamex_np(first, second, _EXCHANGE)
    else:
        return False
    if done == 0:
        return True
    if ctypes.get_errno() in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    number = ctypes.get_errno()
    raise OSError(number, os.strerror(number), os.fspath(other))


def _refusal(error: OSError, out: Path) -> Refusal:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Refusal(
            "CFG005",
            f"the disk is full; {out.name}/ is as it was before",
            "free some space and build again",
        )
    if error.errno in (errno.EBUSY, errno.EXDEV):
        return Refusal(
            "CFG005",
            f"{out.name}/ cannot be exchanged: it is a mount point or lies on another file system",
            f"build into a folder below it: --out {out.name}/course",
        )
    return Refusal(
        "CFG005",
        f"{out.name}/ cannot be written: {error.strerror}; it is as it was before",
        "check the permissions of the folder and of the one above it",
    )
