"""Two builds that differ in everything that must not matter, compared file by file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from course.options import Options
from course.tree import read_manifest

_DOOR: Final = Path(__file__).resolve().parent.parent / "build.py"
_ONE: Final = {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"}
_OTHER: Final = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"}


def differences(options: Options) -> list[str]:
    """One line for each file that two builds of the same sources do not share; empty is good.

    The builds differ in hash seed, time zone, locale, umask and number of processes; the second
    runs with an empty and then with a full cache.
    """
    with tempfile.TemporaryDirectory(prefix="course-") as folder:
        base = Path(folder)
        cache = base / "cache"
        runs = (
            ("one", _ONE, 0o022, ["--jobs", "1", "--no-cache"]),
            ("two", _OTHER, 0o077, ["--jobs", "2", "--cache", str(cache)]),
            ("three", _OTHER, 0o027, ["--jobs", "2", "--cache", str(cache)]),
        )
        trees = []
        for name, environment, umask, more in runs:
            out = base / name
            if problem := _build(options, out, environment, umask, more):
                return [problem]
            trees.append(read_manifest(out) or {})
    first = trees[0]
    found: list[str] = []
    for name, tree in zip(("second", "cached"), trees[1:], strict=True):
        found += [
            f"{path}: the {name} build differs from the first"
            for path in sorted(set(first) | set(tree))
            if first.get(path) != tree.get(path)
        ]
    return found


def _build(
    options: Options, out: Path, environment: dict[str, str], umask: int, more: list[str]
) -> str | None:
    command = [sys.executable, os.fspath(_DOOR), "build", "--quiet", "--out", os.fspath(out)]
    command += ["--root", os.fspath(options.root), *more]
    if options.base_url:
        command += ["--base-url", options.base_url]
    if options.file_urls:
        command.append("--file-urls")
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
    )
    return None if done.returncode == 0 else f"a build failed: {done.stdout}{done.stderr}"
