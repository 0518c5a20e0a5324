"""`build.py deploy-list`: what changed between two builds, for uploads that compare nothing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import orjson

from course.publish.tree import MANIFEST

_PAGES_LAST: Final = ".html"
_FIRST: Final = ("assets/", "media/")


class ManifestError(Exception):
    """A file is not the build manifest that it should be; the message names it."""


def run(site: Path, since: Path) -> int:
    """The command: print the list. Returns 0, or 2 when a manifest cannot be read."""
    try:
        lines = deploy_list(site, since)
    except ManifestError as error:
        sys.stderr.write(f"error: {error}\n  hint: build first; --since names an older manifest\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def deploy_list(site: Path, since: Path) -> list[str]:
    """Files of *site* that differ from the build manifest *since*, in the order of upload.

    Assets come first and pages last, so that no page names what is not there yet; then the
    files that are gone, with ``-`` in front. Raises :class:`ManifestError`.
    """
    new, old = _hashes(site / MANIFEST), _hashes(since)
    changed = [path for path, sha256 in new.items() if old.get(path) != sha256]
    if new != old:
        changed.append(MANIFEST)
    gone = sorted(path for path in old if path not in new)
    return [*sorted(changed, key=_turn), *(f"-{path}" for path in gone)]


def _turn(path: str) -> tuple[int, str]:
    if path == MANIFEST:
        return 3, path
    if path.startswith(_FIRST):
        return 0, path
    return (2 if path.endswith(_PAGES_LAST) else 1), path


def _hashes(path: Path) -> dict[str, str]:
    try:
        data: Any = orjson.loads(path.read_bytes())
        return {str(entry["path"]): str(entry["sha256"]) for entry in data["files"]}
    except OSError as error:
        raise ManifestError(f"{path.name} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ManifestError(f"{path.name} is not a build manifest") from error
