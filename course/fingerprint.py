"""What the outputs depend on besides the sources: this tool and the libraries it uses."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Final

_LIBRARIES: Final = (
    "jinja2",
    "jsonschema-rs",
    "orjson",
    "pydantic",
    "pygments",
    "pyromark",
    "pyyaml",
)
_PACKAGE: Final = Path(__file__).resolve().parent


@cache
def fingerprint() -> str:
    """A digest of the package, its schemas and the versions of the libraries."""
    digest = blake2b(digest_size=16)
    digest.update(repr(sys.version_info[:3]).encode())
    for name in _LIBRARIES:
        digest.update(f"{name}={version(name)};".encode())
    for folder in (_PACKAGE, _PACKAGE.parent / "schemas" / "course"):
        for path in sorted(_files(folder)):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if "__pycache__" not in path.parts and path.is_file():
            yield path
