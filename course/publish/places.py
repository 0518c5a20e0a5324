"""Where a build may write: an output folder and a cache folder that hold nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from course.options import Options
from course.publish.manifest import MANIFEST, read_built
from course.publish.tree import Refusal

CONTENT: Final = "content"


def check_places(options: Options) -> None:
    """Raise :class:`Refusal` when the output or the cache would lie where it does harm."""
    content, cache = options.root / CONTENT, options.cache
    _check_out(options.out, content, options.root)
    if cache is not None and cache.is_symlink():
        raise _no_cache(f"{cache} is a link", "give the folder that it points to")
    if cache is not None and (_overlap(cache, content) or _overlap(cache, options.out)):
        raise _no_cache(f"{cache} overlaps the sources or the output", "give a folder of its own")


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
    if (out / MANIFEST).exists() and read_built(out) is None:
        raise _no_output(
            f"{out / MANIFEST} cannot be read, so nobody knows which files are the build's",
            "restore that file, or delete the whole folder if it held nothing but the site",
        )


def _no_output(why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"no site is written: {why}", hint)


def _no_cache(why: str, hint: str) -> Refusal:
    return Refusal("CFG005", f"the cache cannot lie there: {why}", hint)
