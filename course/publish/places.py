"""Where a build may write: an output folder and a cache folder that hold nothing else."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from course.options import Options
from course.publish.tree import MANIFEST, Refusal, read_manifest

CONTENT: Final = "content"
# What this version and earlier ones write into the cache folder.
_CACHE_FILE: Final = re.compile(r"(?:lessons|links|phase-.+|state-[0-9a-f]+)\.json(?:\.[0-9]+)?\Z")
_NAMED: Final = 3


def check_places(options: Options) -> None:
    """Raise :class:`Refusal` when the output or the cache would lie where it does harm."""
    content = options.root / CONTENT
    _check_out(options.out, content, options.root)
    if options.cache is not None:
        _check_cache(options.cache, content, options.out)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _overlap(one: Path, other: Path) -> bool:
    one, other = _real(one), _real(other)
    return one == other or one in other.parents or other in one.parents


def _check_out(out: Path, content: Path, root: Path) -> None:
    if out.is_symlink():
        raise _no_output(f"{out} is a link", "give the folder that it points to")
    if out.exists() and not out.is_dir():
        raise _no_output(f"{out} is a file", "give a folder that is empty or not there yet")
    place, root = _real(out), _real(root)
    if place == Path(place.anchor) or place == root or place in root.parents:
        raise _no_output(
            f"{place} holds more than a site", f"give a folder of its own, such as {root / 'site'}"
        )
    if _overlap(place, content):
        raise _no_output(f"{out} overlaps the sources in {CONTENT}/", "give a folder outside it")
    if (out / MANIFEST).exists() and read_manifest(out) is None:
        raise _no_output(
            f"{out / MANIFEST} cannot be read, so nobody knows which files are the build's",
            "restore that file, or delete the whole folder if it held nothing but the site",
        )


def _no_output(why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"no site is written: {why}", hint)


def _check_cache(cache: Path, content: Path, out: Path) -> None:
    if cache.is_symlink():
        raise _no_cache(f"{cache} is a link", "give the folder that it points to")
    if _overlap(cache, content) or _overlap(cache, out):
        raise _no_cache(f"{cache} overlaps the sources or the output", "give a folder of its own")
    if foreign := foreign_files(cache):
        some = ", ".join(foreign[:_NAMED]) + (" …" if len(foreign) > _NAMED else "")
        raise _no_cache(f"{cache} holds other files: {some}", "give an empty folder, or a new name")


def _no_cache(why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"the cache cannot lie there: {why}", hint)


def foreign_files(cache: Path) -> list[str]:
    """What a cache folder holds that no build put there."""
    try:
        return sorted(path.name for path in cache.iterdir() if not _CACHE_FILE.match(path.name))
    except OSError:
        return []  # not there, or not a folder: the build goes on without a cache


def remove_cache(folder: Path) -> None:
    """Remove the files of the cache; those of others stay."""
    if folder.is_dir():
        for path in folder.iterdir():
            if _CACHE_FILE.match(path.name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
