"""`build.py deploy-list`: lists the changes between two builds, for your own upload tool."""

from __future__ import annotations

import sys
from pathlib import Path

from course.publish.hosting import stage
from course.publish.tree import MANIFEST, Manifest, ManifestError, read_manifest


def run(site: Path, since: Path) -> int:
    """The command: print the list. Returns 0, or 2 when a manifest cannot be read."""
    try:
        lines = deploy_list(_read(site / MANIFEST), _read(since))
    except ManifestError as error:
        sys.stderr.write(f"error: {error}\n  hint: build first; --since names an older manifest\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return 0


def deploy_list(new: Manifest, old: Manifest) -> list[str]:
    """Files of the site *new* that differ from *old*, in the order of upload.

    Assets come first and pages last, so that no page names what is not there yet; then the
    manifest, and the files that are gone, with ``-`` in front.
    """
    changed = [path for path, file in new.items() if path not in old or old[path] != file]
    changed.sort(key=lambda path: (stage(path), path))
    gone = [f"-{path}" for path in sorted(old) if path not in new]
    return [*changed, *([MANIFEST] if new != old else []), *gone]


def _read(path: Path) -> Manifest:
    try:
        return read_manifest(path.read_bytes())
    except OSError as error:
        raise ManifestError(f"{path.name} cannot be read: {error.strerror}") from error
    except ManifestError as error:
        raise ManifestError(f"{path.name} is not a build manifest") from error
