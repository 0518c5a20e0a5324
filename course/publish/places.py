"""Where a build may write: an output folder and a cache folder that cannot hurt anything else."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

from course.options import Options
from course.publish.tree import MANIFEST, Refusal, Tree, locked, read_manifest

CONTENT: Final = "content"
_OURS: Final = re.compile(r"(?:phase-.+|state-[0-9a-f]+|links)\.json(?:\.[0-9]+)?\Z")
_MORE: Final = 3


def check_places(options: Options) -> None:
    """Raise :class:`Refusal` when the output or the cache would lie where it does harm."""
    content = _real(options.root / CONTENT)
    _check_out(options.out, content, _real(options.root))
    if options.cache is not None:
        _check_cache(options.cache, content, _real(options.out))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _overlap(one: Path, other: Path) -> bool:
    return one == other or one in other.parents or other in one.parents


def _check_out(out: Path, content: Path, root: Path) -> None:
    place = _real(out)
    if out.is_symlink():
        raise _no_output(f"{out} is a link", "give the folder that it points to")
    if out.exists() and not out.is_dir():
        raise _no_output(f"{out} is a file", "give a folder that is empty or not there yet")
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
    place = _real(cache)
    if cache.is_symlink():
        raise _no_cache(f"{cache} is a link", "give the folder that it points to")
    if _overlap(place, content) or _overlap(place, out):
        raise _no_cache(f"{cache} overlaps the sources or the output", "give a folder of its own")
    foreign = foreign_files(cache)
    if foreign:
        some = ", ".join(foreign[:_MORE]) + (" …" if len(foreign) > _MORE else "")
        raise _no_cache(f"{cache} holds other files: {some}", "give an empty folder, or a new name")


def _no_cache(why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"the cache cannot lie there: {why}", hint)


def foreign_files(cache: Path) -> list[str]:
    """What a cache folder holds that no build put there."""
    try:
        return sorted(one.name for one in cache.iterdir() if not _OURS.match(one.name))
    except OSError:
        return []  # not there, or not a folder: the build goes on without a cache


def forget(options: Options) -> None:
    """Remove the cache and the prepared folder; the files of others stay."""
    if options.cache is not None and options.cache.is_dir():
        for one in options.cache.iterdir():
            if _OURS.match(one.name):
                shutil.rmtree(one) if one.is_dir() else one.unlink()
        if not any(options.cache.iterdir()):
            options.cache.rmdir()
    with locked(options.out):
        Tree(options.out).clean()
