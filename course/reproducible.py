"""Compares builds that differ in everything that must not matter, file by file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from course.build import Options
from course.publish.tree import MANIFEST, read_built

_HOME: Final = Path(__file__).resolve().parent.parent  # where `course` is imported from
_ONE: Final = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"}
_OTHER: Final = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}


def differences(options: Options) -> list[str]:
    """One line for each file that two builds of the same sources do not share; empty is good.

    The builds differ in hash seed, time zone, locale, umask and number of processes. The second
    begins with an empty cache; the cached one with that cache and the site of the second; the
    incremental one with copies of the cache and the site that are there.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        base = Path(folder)
        cache, earlier = str(base / "cache"), base / "earlier-cache"
        runs = [
            ("first", None, _ONE, 0o022, ["--jobs", "1", "--no-cache"]),
            ("second", None, _OTHER, 0o077, ["--jobs", "2", "--cache", cache]),
            ("cached", base / "second", _OTHER, 0o027, ["--jobs", "2", "--cache", cache]),
        ]
        if options.cache is not None and options.cache.is_dir():
            shutil.copytree(options.cache, earlier, symlinks=True)
            runs.append(("incremental", options.out, _ONE, 0o022, ["--cache", str(earlier)]))
        trees = {}
        for name, site, environment, umask, more in runs:
            out = base / name
            if site is not None:
                _copy(site, out)
            if problem := _build(options, out, environment, umask, more):
                return [problem]
            trees[name] = read_built(out) or {}
    first = trees.pop("first")
    return [
        f"{path}: the {name} build differs from the first"
        for name, tree in trees.items()
        for path in sorted(set(first) | set(tree))
        if first.get(path) != tree.get(path)
    ]


def _copy(site: Path, out: Path) -> None:
    """Copy the files of a build from *site* to *out*, if there are any."""
    listed = read_built(site)
    for path in [] if listed is None else [*listed, MANIFEST]:
        if (site / path).is_file():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(site / path, out / path)


def _build(
    options: Options, out: Path, environment: dict[str, str], umask: int, more: list[str]
) -> str | None:
    command = [sys.executable, "-m", "course", "build", "--quiet", "--out", os.fspath(out)]
    command += ["--root", os.fspath(options.root), *more]
    if options.base_url:
        command += ["--base-url", options.base_url]
    if options.file_urls:
        command.append("--file-urls")
    process = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.fspath(_HOME), **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    return None if process.returncode == 0 else f"a build failed: {process.stdout}{process.stderr}"
