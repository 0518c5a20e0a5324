"""Python for the browser (Pyodide), for a course with ``runInPage``: fetched once, checked, kept.

It comes from the npm registry of the machine (``NPM_CONFIG_REGISTRY``, else as npm is configured),
lies in the cache folder afterwards, and goes into the site, so that readers ask nobody else.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Final
from urllib.request import urlopen

from course.publish.shell import PYODIDE, PYTHON_FOLDER
from course.publish.tree import Refusal
from course.read.files import replace_file

DIGEST: Final = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
"""SHA-256 of the archive of the version PYODIDE."""

_FILES: Final = (
    "pyodide-lock.json",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide.mjs",
    "python_stdlib.zip",
)
_WAIT_S: Final = 60.0
_LIMIT: Final = 64 << 20  # bytes of the archive


def runtime(cache: Path | None) -> dict[str, bytes]:
    """The files by their path in the site, from *cache* or else from the registry.

    Raises :class:`Refusal` when the registry does not answer or answers something else.
    """
    kept = cache / f"pyodide-{PYODIDE}.tgz" if cache else None
    archive = kept.read_bytes() if kept and kept.is_file() else b""
    if hashlib.sha256(archive).hexdigest() != DIGEST:
        archive = _fetch()
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            replace_file(kept, archive)
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        files = {name: members.extractfile(f"package/{name}") for name in _FILES}
        return {f"{PYTHON_FOLDER}{name}": file.read() for name, file in files.items() if file}


def _registry() -> str:
    """The address of the registry from which npm would install."""
    if address := os.environ.get("NPM_CONFIG_REGISTRY"):
        return address
    command = ["npm", "config", "get", "registry"]
    try:
        done = subprocess.run(command, capture_output=True, check=True, text=True, timeout=_WAIT_S)
    except (OSError, subprocess.SubprocessError) as error:
        hint = "install npm, set NPM_CONFIG_REGISTRY, or remove runInPage"
        raise Refusal("RUN004", "no npm registry is configured on this machine", hint) from error
    return done.stdout.strip()


def _fetch() -> bytes:
    url = f"{_registry().rstrip('/')}/pyodide/-/pyodide-{PYODIDE}.tgz"
    try:
        with urlopen(url, timeout=_WAIT_S) as answer:  # noqa: S310  (the address is set here)
            archive: bytes = answer.read(_LIMIT)
    except (OSError, ValueError) as error:
        why = f"the Python for the pages cannot be fetched: {error} ({url})"
        hint = "connect once, name a registry in NPM_CONFIG_REGISTRY, or remove runInPage"
        raise Refusal("RUN004", why, hint) from error
    if (digest := hashlib.sha256(archive).hexdigest()) != DIGEST:
        why = f"{url} is not the file that this version of the tool knows: SHA-256 {digest[:12]}…"
        raise Refusal("RUN004", why, "use another registry, or remove runInPage")
    return archive
