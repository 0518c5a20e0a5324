"""The output folder and its manifest: prepared beside the live one, then exchanged whole.

So the site is never half old and half new, whenever a build is killed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

MANIFEST: Final = "build-manifest.json"
CONTENT: Final = "content"
CHANGED: Final = -1  # the size of a file that the last build did not leave like this
_EXCHANGE: Final = 2
_AT_FDCWD: Final = -100
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z")


class ManifestError(ValueError):
    """The bytes are not a build manifest that this version understands."""


class File(NamedTuple):
    """One published file: its size in bytes and the hex SHA-256 of its content."""

    bytes: int
    sha256: str


Manifest = Mapping[str, File]


def read_manifest(data: bytes) -> dict[str, File]:
    """Files by path; raises ManifestError for all but schema version 1 with safe paths."""
    try:
        document: Any = orjson.loads(data)
    except ValueError as error:
        raise ManifestError("it is not JSON") from error
    if not isinstance(document, dict) or document.get("schemaVersion") != 1:
        raise ManifestError("its schemaVersion is not 1")
    entries = document.get("files")
    if not isinstance(entries, list):
        raise ManifestError('it has no list "files"')
    files: dict[str, File] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            raise ManifestError("an entry is not an object")
        path, size, sha256 = entry.get("path"), entry.get("bytes"), entry.get("sha256")
        if not isinstance(path, str) or not is_safe(path):
            raise ManifestError(f"an entry has the unusable path {path!r}")
        if not isinstance(size, int) or not isinstance(sha256, str) or not _SHA256.match(sha256):
            raise ManifestError(f"the entry of {path} lacks its bytes or its SHA-256")
        files[path] = File(size, sha256)
    return files


def read_built(site: Path) -> dict[str, File] | None:
    """The files that the last build wrote into *site*; None without a readable manifest."""
    try:
        return read_manifest((site / MANIFEST).read_bytes())
    except (OSError, ManifestError):
        return None


def encode_json(data: object) -> bytes:
    """*data* as it is published: sorted keys, two spaces, one line end at the end."""
    form = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return orjson.dumps(data, option=form)


def encode_manifest(files: Manifest) -> bytes:
    """``build-manifest.json``: every file but itself, by path."""
    entries = [{**file._asdict(), "path": path} for path, file in sorted(files.items())]
    return encode_json({"files": entries, "schemaVersion": 1})


def digest_tree(files: Manifest) -> str:
    """One digest for the whole site: equal bytes everywhere, equal digest."""
    lines = [f"{path}\0{digest}\n" for path, (_, digest) in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def is_safe(path: str) -> bool:
    """Whether *path* stays below the folder that it is joined to."""
    return "\\" not in path and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


class Refusal(Exception):
    """A build that cannot go on for a reason outside the sources; carries a rule code."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint

    def __reduce__(self) -> tuple[type[Refusal], tuple[str, str, str]]:
        """How it travels from one process of a build to another."""
        return Refusal, (self.code, str(self), self.hint)

    @classmethod
    def of_folder(cls, error: OSError, out: Path) -> Refusal:
        """The refusal for an *error* of the file system while *out* was written."""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return cls(
                "CFG005",
                f"the disk is full; {out.name}/ is as it was before",
                "free some space and build again",
            )
        if error.errno in (errno.EBUSY, errno.EXDEV):
            return cls(
                "CFG005",
                f"{out.name}/ cannot be exchanged: it is a mount point or lies on another file "
                "system",
                f"build into a folder below it: --out {out.name}/course",
            )
        return cls(
            "CFG005",
            f"{out.name}/ cannot be written: {error.strerror}; it is as it was before",
            "check the permissions of the folder and of the one above it",
        )


def check_places(root: Path, out: Path, cache: Path | None) -> None:
    """Raise :class:`Refusal` when the output or the cache would lie in a harmful place."""
    content = root / CONTENT
    _check_out(out, content, root)
    if cache is not None and cache.is_symlink():
        raise _refusal(
            "the cache cannot lie there", f"{cache} is a link", "give the folder that it points to"
        )
    if cache is not None and (_overlap(cache, content) or _overlap(cache, out)):
        raise _refusal(
            "the cache cannot lie there",
            f"{cache} overlaps the sources or the output",
            "give a folder of its own",
        )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _overlap(first: Path, second: Path) -> bool:
    first, second = _real(first), _real(second)
    return first == second or first in second.parents or second in first.parents


def _check_out(out: Path, content: Path, root: Path) -> None:
    if out.is_symlink():
        raise _refusal(
            "no site is written", f"{out} is a link", "give the folder that it points to"
        )
    if out.exists() and not out.is_dir():
        raise _refusal(
            "no site is written", f"{out} is a file", "give a folder that is empty or not there yet"
        )
    place, root = _real(out), _real(root)
    if place == Path(place.anchor) or place == root or place in root.parents:
        raise _refusal(
            "no site is written",
            f"{place} holds more than a site",
            f"give a folder of its own, such as {root / 'site'}",
        )
    if _overlap(place, content):
        raise _refusal(
            "no site is written",
            f"{out} overlaps the sources in {CONTENT}/",
            "give a folder outside it",
        )
    if (out / MANIFEST).exists() and read_built(out) is None:
        raise _refusal(
            "no site is written",
            f"{out / MANIFEST} cannot be read, so it is unknown which files the build wrote",
            "restore that file, or delete the whole folder if it held nothing but the site",
        )


def _refusal(what: str, why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"{what}: {why}", hint)


def listing(folder: Path) -> dict[str, int]:
    """Every file below *folder* with its size.

    Links, and files newer than the manifest, have the size :data:`CHANGED`: a build writes no
    links, and writes its manifest last.
    """
    try:
        built = (folder / MANIFEST).stat().st_mtime_ns
    except OSError:
        built = sys.maxsize
    sizes: dict[str, int] = {}
    todo = [(os.fspath(folder), "")]
    while todo:
        path, prefix = todo.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    todo.append((entry.path, f"{name}/"))
                elif entry.is_symlink() or entry.stat(follow_symlinks=False).st_mtime_ns > built:
                    sizes[name] = CHANGED
                else:
                    sizes[name] = entry.stat(follow_symlinks=False).st_size
    return sizes


@contextmanager
def lock_output(out: Path) -> Iterator[None]:
    """Hold the lock of the output folder; the system frees it when the process ends."""
    path = out.parent / f".{out.name}.lock"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Refusal.of_folder(error, out) from error
    try:
        try:
            _lock(descriptor)
        except OSError as error:
            raise Refusal(
                "CFG004",
                f"another build is writing {out.name}/",
                "wait until it ends, or give this one its own --out",
            ) from error
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    """Lock an open file, or raise OSError where somebody has locked it."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Outputs:
    """Takes the files of a build. This one only counts them, as a check does."""

    def __init__(self) -> None:
        self.files: dict[str, File] = {}

    def put(self, path: str, data: bytes) -> File:
        """Add *data* as the file *path*."""
        file = self.files[path] = File(len(data), "")
        return file

    def keep(self, path: str, file: File) -> bool:
        """Add *file* as an earlier build wrote it; False where it has to be made again."""
        self.files[path] = file
        return True


class Stage(Outputs):
    """The next state of the folder *out*, which stays invisible until :meth:`finish`.

    Only what differs from the live folder is written; the rest is linked when the stage is
    finished. *verify* reads every live file instead of trusting its size and date.
    """

    def __init__(self, out: Path, *, verify: bool = False) -> None:
        super().__init__()
        self.out = out
        self.next = out.parent / f".{out.name}.next"
        self._old = out.parent / f".{out.name}.old"
        self._made: set[str] = set()
        with self._refusing():
            if self._old.is_dir() and not out.exists():
                os.rename(self._old, out)  # killed between the two renames of _swap
            self._remove_leftovers()
            self.live = read_built(out)
            self.present = listing(out) if out.is_dir() else {}
        if verify:
            for path, file in (self.live or {}).items():
                if self.present.get(path) == file.bytes and _digest(out / path) != file.sha256:
                    self.present[path] = CHANGED

    def foreign(self) -> list[str]:
        """Files in the output folder that no build wrote."""
        built = self.live or {}
        return sorted(path for path in self.present if path not in built and path != MANIFEST)

    def put(self, path: str, data: bytes) -> File:
        """Add *data* as the file *path*; a path that leaves the folder is refused."""
        if not is_safe(path):  # only a cache that somebody has tampered with names such a path
            raise Refusal("CFG005", f"no file can be called {path}", "build with --clean")
        file = File(len(data), hashlib.sha256(data).hexdigest())
        if not self._is_intact(path, file):
            try:
                _write(self._place(path), data)
            except OSError as error:
                raise Refusal.of_folder(error, self.out) from error
        self.files[path] = file
        return file

    def keep(self, path: str, file: File) -> bool:
        """Add the file *path* if the live folder holds it, unchanged."""
        if not self._is_intact(path, file):
            return False
        self.files[path] = file
        return True

    def finish(self, foreign: list[str]) -> int:
        """Show the new state, with the *foreign* files; returns how many files changed."""
        kept = [path for path, file in self.files.items() if self._is_intact(path, file)]
        changed = len(self.files) - len(kept)
        removed = sum(path not in self.files for path in self.live or ())
        if changed or removed or self.live is None:
            with self._refusing():
                for path in kept:
                    _link(self.out / path, self._place(path))
                for path in foreign:
                    if path not in self.files:
                        shutil.copy2(self.out / path, self._place(path), follow_symlinks=False)
                _write(self._place(MANIFEST), encode_manifest(self.files))
                self._swap()
        return changed + removed

    def close(self) -> None:
        """Remove leftovers next to the live folder: the old state, or an abandoned new one."""
        self._remove_leftovers()

    def _is_intact(self, path: str, file: File) -> bool:
        """Whether the live folder holds *path* as the manifest says."""
        return (
            self.live is not None
            and self.live.get(path) == file
            and self.present.get(path) == file.bytes
        )

    def _place(self, path: str) -> str:
        """Return the location of *path* in the next state; creates its folder."""
        folder = f"{self.next}/{path.rpartition('/')[0]}"
        if folder not in self._made:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            self._made.add(folder)
        return f"{self.next}/{path}"

    def _swap(self) -> None:
        """Put the next state in the place of the live one."""
        if not self.out.exists():
            os.rename(self.next, self.out)
        elif not _exchange(self.next, self.out):
            os.rename(self.out, self._old)
            try:
                os.rename(self.next, self.out)
            except OSError:
                os.rename(self._old, self.out)
                raise

    def _remove_leftovers(self) -> None:
        shutil.rmtree(self.next, ignore_errors=True)
        shutil.rmtree(self._old, ignore_errors=True)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn an error of the file system into a refusal that says what to do."""
        try:
            yield
        except OSError as error:
            raise Refusal.of_folder(error, self.out) from error


def _digest(path: Path) -> str:
    """The hex SHA-256 of a file; empty when it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _link(source: Path, target: str) -> None:
    """Show the file *source* at *target*, too; a copy where the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _write(path: str, data: bytes) -> None:
    binary = getattr(os, "O_BINARY", 0)  # else Windows makes two bytes of each line feed
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | binary, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    finally:
        os.close(descriptor)


def _exchange(live: Path, other: Path) -> bool:
    """Swap two folders in one step; return False where the system has no call for it."""
    if os.name != "posix":
        return False
    import ctypes  # only a build that changes something needs it

    library = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(live), os.fsencode(other)
    if hasattr(library, "renameat2"):
        status = library.renameat2(_AT_FDCWD, first, _AT_FDCWD, second, _EXCHANGE)
    elif hasattr(library, "renamex_np"):
        status = library.renamex_np(first, second, _EXCHANGE)
    else:
        return False
    number = ctypes.get_errno()
    if status == 0 or number in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return bool(status == 0)
    raise OSError(number, os.strerror(number), os.fspath(other))
