"""The template engine: its settings, and templates in compiled form beside their sources."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Final

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined
from jinja2.bccache import Bucket

TEMPLATES: Final = Path(__file__).parent / "templates"
_COMPILED: Final = TEMPLATES / "__pycache__"
_TRIM: Final = True  # lines that hold a statement only leave nothing behind
_SAFE: Final = "lesson.html"  # rendered a thousand times; what it is given is escaped already


def environment(constants: Mapping[str, Any], filters: Mapping[str, Any]) -> Environment:
    """The engine with *filters*; every template may name the *constants*, and nothing else."""
    made = Environment(
        loader=FunctionLoader(_source),
        bytecode_cache=_Compiled(),
        autoescape=lambda name: name != _SAFE,  # noqa: S701  (see _SAFE)
        undefined=StrictUndefined,
        trim_blocks=_TRIM,
        lstrip_blocks=_TRIM,
    )
    made.globals = dict(constants)
    made.filters |= filters
    return made


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


class _Compiled(BytecodeCache):
    """Keeps compiled templates, as Python keeps its modules; to compile them takes 0.1 s.

    A file fits one version of Python, of the engine, of the settings and of its source; one that
    does not fit is made anew.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill *bucket* from its file, if there is one that can be read."""
        with (
            suppress(OSError, EOFError, UnpicklingError, ValueError),
            self._path(bucket).open("rb") as file,
        ):
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Replace the file of *bucket* in one step, unless Python is told to write none."""
        if sys.dont_write_bytecode:
            return
        path = self._path(bucket)
        beside = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):  # a folder of somebody else: compiled again by each build
            _COMPILED.mkdir(exist_ok=True)
            beside.write_bytes(bucket.bytecode_to_string())
            beside.replace(path)

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The name of the template: nobody else writes into the folder."""
        return name

    def get_source_checksum(self, source: str) -> str:
        """What a compiled template must have been made from."""
        return super().get_source_checksum(f"{_TRIM}{_SAFE}{source}")

    def _path(self, bucket: Bucket) -> Path:
        return _COMPILED / f"{bucket.key}.{sys.implementation.cache_tag}"
