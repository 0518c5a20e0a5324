"""What the outputs depend on besides the sources: this tool and the libraries it uses."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

_LIBRARIES: Final = (
    "jinja2",
    "jsonschema-rs",
    "orjson",
    "pygments",
    "pyromark",
    "pyyaml",
)
_PACKAGE: Final = Path(__file__).resolve().parent.parent
_INSTALLED: Final = ".dist-info"


@cache
def fingerprint() -> str:
    """A digest of the package, its schemas and the versions of the libraries."""
    digest = sha256()
    digest.update(repr(sys.version_info[:3]).encode())
    found = _versions()
    for name in _LIBRARIES:
        digest.update(f"{name}={found.get(name) or _by_metadata(name)};".encode())
    for folder in (_PACKAGE, _PACKAGE.parent / "schemas" / "course"):
        for name, path in sorted(_files(os.fspath(folder), "")):
            digest.update(name.encode())
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123  (10 ms less)
                digest.update(file.read())
    return digest.hexdigest()


def _versions() -> dict[str, str]:
    """What is installed, by the names of the folders that say so."""
    found: dict[str, str] = {}
    for folder in sys.path:
        with suppress(OSError):
            for entry in os.listdir(folder or "."):  # noqa: PTH208  (2 ms less)
                if entry.endswith(_INSTALLED):
                    name, _, version = entry.removesuffix(_INSTALLED).partition("-")
                    found.setdefault(name.lower().replace("_", "-"), version)
    return found


def _by_metadata(name: str) -> str:
    """The version of a library that is installed in another way."""
    from importlib.metadata import version  # takes longer than everything else here

    return version(name)


def _files(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Every file below *folder* but compiled modules: its name from there and its path."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _files(entry.path, f"{prefix}{entry.name}/")
            elif entry.is_file():
                yield prefix + entry.name, entry.path
