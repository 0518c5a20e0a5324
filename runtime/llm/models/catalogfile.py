"""`catalog.toml`, which declares how the model files of a folder are run."""

import os
import re
import stat
import threading
import tomllib
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from runtime.llm.inference import SYSTEM_MODEL, Backend

NAME: Final = "catalog.toml"
MAX_BYTES: Final = 1 << 20

Kind = Literal["chat", "embedding"]
Format = Literal["gguf", "onnx"]

Tokens = Annotated[int, Field(ge=1, le=1 << 24)]
Marker = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(max_length=4000)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-fA-F]{64}$", to_lower=True)]


_WORDS: Final = {"extra_forbidden": "unknown key", "model_type": "must be a table"}
_FORMATS: Final[dict[str, Format]] = {".gguf": "gguf", ".onnx": "onnx"}
_PART: Final = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})")


class FileName(NamedTuple):
    """The parts of a model file's name."""

    id: str
    format: Format
    part: int = 1
    """Part number of a split GGUF, from 1."""
    parts: int = 1


def parse_file_name(name: str) -> FileName | None:
    """Parse a plain file name; None if no model file may have it.

    The extension's case does not matter. Hidden files, path separators, control characters and
    undecodable bytes are rejected: such an id could not be requested or displayed.
    """
    stem, extension = name[:-5], name[-5:].lower()
    if extension not in _FORMATS or name.startswith(".") or not is_plain(name):
        return None
    if extension == ".gguf" and (split := _PART.fullmatch(stem)):
        part, parts = int(split[2]), int(split[3])
        if 1 <= part <= parts:
            return FileName(split[1], "gguf", part, parts)
    return FileName(stem, _FORMATS[extension])


def is_plain(name: str) -> bool:
    """Whether a name has no separator, control character, line break or undecodable byte."""
    if name.isascii():
        return name.isprintable() and "/" not in name and "\\" not in name
    return not any(c in "/\\" or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name)


class Declaration(BaseModel):
    """A catalog's declaration of a model; None means undeclared."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    filename: Name | None = None
    """The declared file in a models folder; its stem is the model id."""
    backend: Backend | None = None
    """The only backend to try; None: LOCAL_CPU."""
    kind: Kind | None = None
    context_tokens: Tokens | None = None
    """The model's total token budget of prompt and reply."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """For requests without a temperature; None: that of the settings."""
    chat_template: Annotated[str, StringConstraints(min_length=1, max_length=65536)] | None = None
    """Jinja template that replaces the file's."""
    eos: Text | None = None
    n_gpu_layers: Annotated[int, Field(ge=-1, le=10_000)] | None = None
    """-1: all layers."""
    required_soc: Marker | None = None
    """Text that the name of this machine's chip must contain, in any case."""
    url: Text | None = None
    sha256: Digest | None = None
    """Of the whole file, in lower case; verified on download."""
    size_bytes: Annotated[int, Field(ge=1)] | None = None
    license: Text | None = None
    name: Text | None = None
    description: Text | None = None
    dims: Annotated[int, Field(ge=1, le=65536)] | None = None
    """Width of the embedding."""
    pooling: Literal["mean", "cls", "none"] | None = None
    max_seq: Tokens | None = None
    """Maximum input of an embedding model, in tokens."""
    query_prefix: Text | None = None
    doc_prefix: Text | None = None
    matryoshka: bool | None = None
    """Whether embeddings may be cut to their first numbers."""

    def fill_from(self, other: "Declaration") -> "Declaration":
        """This declaration with missing values taken from *other*."""
        mine = self.model_dump(exclude_none=True)
        return other.model_copy(update=mine)


@dataclass(frozen=True)
class CatalogText:
    """The content of a `catalog.toml`."""

    models: dict[str, Declaration] = field(default_factory=dict)
    """Valid tables by model id."""
    faults: dict[str, str] = field(default_factory=dict)
    """Errors of invalid tables by model id."""
    broken: str | None = None
    """Why the whole file is unreadable."""

    @property
    def errors(self) -> list[str]:
        """All problems for the log, one per line."""
        return ([self.broken] if self.broken else []) + list(self.faults.values())


def parse(text: str) -> CatalogText:
    """Parse tables ``[models."<id>"]``; an invalid table does not affect the others."""
    try:
        top: dict[str, object] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return CatalogText(broken=f"{NAME}: not a TOML file: {error}")
    unknown = sorted(set(top) - {"models"})
    tables = top.get("models", {})
    if unknown:
        return CatalogText(
            broken=f"{NAME}: {unknown[0]}: unknown key; models belong under [models]"
        )
    if not isinstance(tables, dict):
        return CatalogText(broken=f"{NAME}: models: must have a table for each model")
    catalog = CatalogText()
    for model, table in tables.items():
        read = _read(str(model), table)
        if isinstance(read, str):
            catalog.faults[str(model)] = read
        else:
            catalog.models[str(model)] = read
    return catalog


def _read(model: str, table: object) -> Declaration | str:
    """The declaration in a table, or its error."""
    where = f"{NAME}: models.{model}"
    if model == SYSTEM_MODEL:
        return f"{where}: the system model is declared in the settings, not here"
    try:
        declared = Declaration.model_validate(table)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join([where, *map(str, first["loc"])])
        words = _WORDS.get(first["type"], first["msg"])
        return f"{place}: {words[:1].lower()}{words[1:]}"
    if declared.filename is not None:
        name = parse_file_name(declared.filename)
        if name is None:
            return f"{where}.filename: must be a plain file name that ends in .gguf or .onnx"
        if name.id != model:
            return f"{where}.filename: is the file of model {name.id}"
    return declared


def chip_fits(required: str | None, soc: str) -> bool:
    """Whether this machine's chip has the marker; a model without a marker runs anywhere."""
    return required is None or required.casefold() in soc.casefold()


class CatalogFile:
    """The `catalog.toml` of a folder, reread when the file changes.

    An unreadable edit, such as a half-saved file, leaves the last valid content in force, but its
    error is reported. Thread-safe.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._seen: tuple[int, int, int] | None = None
        self._good = CatalogText()
        self._latest = CatalogText()
        self._lock = threading.Lock()

    def read(self) -> CatalogText:
        """Return the current catalog; a missing file is an empty catalog."""
        with self._lock:
            self._refresh()
            return self._good if self._latest.broken and self._good.models else self._latest

    @property
    def errors(self) -> list[str]:
        """Problems of the last reading, one per line."""
        with self._lock:
            return self._latest.errors

    def _refresh(self) -> None:
        try:
            info = self._path.stat()
            seen = (info.st_ino, info.st_size, info.st_mtime_ns)
        except OSError:
            seen = None
        if seen is not None and seen == self._seen:
            return
        self._latest = load(self._path)
        self._seen = None if self._latest.broken else seen
        if not self._latest.broken:
            self._good = self._latest


def load(path: Path) -> CatalogText:
    """Load a catalog; a missing file is an empty catalog."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return CatalogText(broken=f"{NAME}: not a plain file")
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return CatalogText()
    except OSError as error:
        return CatalogText(broken=f"{NAME}: cannot be read: {error.strerror}")
    if len(data) > MAX_BYTES:
        return CatalogText(broken=f"{NAME}: larger than {MAX_BYTES} bytes")
    try:
        return parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return CatalogText(broken=f"{NAME}: byte {error.start} is not UTF-8")


def _open_without_waiting(path: str, flags: int) -> int:
    # A pipe of this name would block its reader. Windows has no such flag.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
