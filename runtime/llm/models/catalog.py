"""List the model files on this machine, with their declarations in catalogs."""

import logging
import os
import stat
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Final, NamedTuple

from runtime.llm.inference import SYSTEM_MODEL, Backend
from runtime.llm.models import gguf, onnxfile
from runtime.llm.models.catalogfile import (
    CatalogFile,
    CatalogText,
    Declaration,
    Format,
    Kind,
    chip_fits,
    parse_file_name,
)

log = logging.getLogger(__name__)

VOCABS: Final = ("{}-vocab.txt", "{}.vocab.txt", "{}_vocab.txt")
"""Names of the vocabulary next to ``<id>.onnx``, in the order in which they are tried."""
_REMEMBERED: Final = 256
_NOTHING: Final = Declaration()


class Fingerprint(NamedTuple):
    """Identifies the state of a model's files, to detect changes."""

    inode: int
    """Inode of the first file."""
    size: int
    """Total bytes of all files."""
    mtime_ns: int
    """Time of the newest file, including the vocabulary."""


@dataclass(frozen=True)
class Entry:
    """A model on disk."""

    id: str
    path: Path
    """The model file, or the first part of a split GGUF."""
    format: Format
    fingerprint: Fingerprint
    declared: Declaration = _NOTHING
    fault: str | None = None
    """Why this model must not be loaded, as text for a client; None if it may be loaded."""
    parts: tuple[Path, ...] = ()
    """All parts of a split GGUF in order; empty for a single file."""
    vocab: Path | None = None
    """The vocabulary of an ONNX model."""
    created: int = 0
    """Unix seconds of the last write to the model file or its newest part."""

    @property
    def size(self) -> int:
        """Total bytes of all parts."""
        return self.fingerprint.size

    @property
    def kind(self) -> Kind:
        """As declared, else by the format; a GGUF may still turn out to be an embedding model."""
        return self.declared.kind or ("embedding" if self.format == "onnx" else "chat")

    @property
    def backend(self) -> Backend:
        """The only backend to try; undeclared files run on the CPU."""
        return self.declared.backend or "LOCAL_CPU"


@dataclass(frozen=True)
class Meta:
    """Facts from the header of a model file; None if missing or unreadable."""

    kind: Kind
    size: int
    n_ctx_train: int | None = None
    n_params: int | None = None
    """None for a split model, whose first file contains only some of them."""
    quant: str | None = None
    chat_template: gguf.TemplateSource | None = None
    """Of a chat model."""
    note: str | None = None
    """Why the file is unusable."""


class _File(NamedTuple):
    path: Path
    state: Fingerprint


def scan(folder: Path, only: str | None = None) -> tuple[list[Entry], list[str]]:
    """List the models of a flat folder, GGUF before ONNX and by file name, and warnings.

    No file is opened, and no catalog is read. A missing folder has no models. With *only*, other
    models are skipped.
    """
    warnings: list[str] = []
    candidates: list[Entry] = []
    split: dict[tuple[str, int, str], dict[int, _File]] = defaultdict(dict)
    for text in _list_names(folder, warnings):
        name = parse_file_name(text)
        if name is None or (only is not None and name.id != only):
            continue
        file = _stat_file(folder / text)
        if file is None:
            continue
        if name.id == SYSTEM_MODEL:
            warnings.append(f"{text} is ignored: its name is reserved for the system model")
        elif name.parts > 1:
            split[name.id, name.parts, text[-5:]][name.part] = file
        elif name.format == "gguf":
            candidates.append(_make_entry(name.id, "gguf", [file]))
        elif vocab := _find_vocab(folder, name.id):
            candidates.append(_make_entry(name.id, "onnx", [file], vocab))
    for (model, count, _), parts in split.items():
        if len(parts) == count:
            candidates.append(_make_entry(model, "gguf", [parts[n] for n in range(1, count + 1)]))
        else:
            warnings.append(
                f"{model} is not listed: only {len(parts)} of its {count} parts are here"
            )
    return _hide_duplicates(candidates, warnings), warnings


def _list_names(folder: Path, warnings: list[str]) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - only names are needed
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(f"models folder {folder.name} cannot be read: {error.strerror}")
        return []


def _stat_file(path: Path) -> _File | None:
    """Stat a non-empty regular file, following links; None for anything else."""
    try:
        info = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
        return None
    return _File(path, Fingerprint(info.st_ino, info.st_size, info.st_mtime_ns))


def _find_vocab(folder: Path, model: str) -> _File | None:
    files = (_stat_file(folder / pattern.format(model)) for pattern in VOCABS)
    return next((file for file in files if file), None)


def _make_entry(
    model: str, form: Format, files: Sequence[_File], vocab: _File | None = None
) -> Entry:
    states = [file.state for file in (*files, vocab) if file is not None]
    fingerprint = Fingerprint(
        inode=states[0].inode,
        size=sum(file.state.size for file in files),
        mtime_ns=max(state.mtime_ns for state in states),
    )
    return Entry(
        model,
        files[0].path,
        form,
        fingerprint,
        parts=tuple(file.path for file in files) if len(files) > 1 else (),
        vocab=vocab.path if vocab else None,
        created=max(0, *(file.state.mtime_ns // 10**9 for file in files)),
    )


def _hide_duplicates(candidates: list[Entry], warnings: list[str]) -> list[Entry]:
    """Keep only the first model of each id, by format and file name."""
    first: dict[str, Entry] = {}
    for entry in sorted(candidates, key=lambda e: (e.format != "gguf", e.path.name)):
        if (kept := first.setdefault(entry.id, entry)) is not entry:
            name, other = entry.path.name, kept.path.name
            warnings.append(f"{name} is hidden by {other}: both are model {entry.id}")
    return list(first.values())


class Catalog:
    """The models of several folders; the first folder with an id wins.

    Every call looks at the disk, so what was copied in a moment ago is there: call it off the
    event loop. Safe to call from several threads.
    """

    def __init__(self, folders: Sequence[Path], *, soc: str = "") -> None:
        """*soc* names this machine's chip, for models that need a certain one."""
        self._folders = [(folder, CatalogFile(folder)) for folder in dict.fromkeys(folders)]
        self._soc = soc
        self._logged: set[str] = set()
        self._lock = threading.Lock()

    def entries(self) -> list[Entry]:
        """List the models on disk: GGUF files, then ONNX files, each by id.

        No GGUF file is opened; an ONNX file is checked once for external data.
        """
        models, warnings = self._scan()
        self._log_new_warnings(warnings)
        return sorted(models.values(), key=lambda entry: (entry.format != "gguf", entry.id))

    def find(self, model: str) -> Entry | None:
        """Find the model with this id; the text is only compared and never used as a path."""
        return self._scan(model)[0].get(model)

    def _scan(self, only: str | None = None) -> tuple[dict[str, Entry], list[str]]:
        """Scan the models on disk by id, with warnings."""
        texts = [file.read() for _, file in self._folders]
        models: dict[str, Entry] = {}
        warnings = self.errors()
        for (folder, _), text in zip(self._folders, texts, strict=True):
            scanned, doubts = scan(folder, only)
            warnings += doubts
            for entry in scanned:
                if entry.id in models:
                    warnings.append(
                        f"model {entry.id} of an earlier folder hides the one in a later folder"
                    )
                elif entry.format == "onnx" and not _is_self_contained(
                    entry.path, entry.fingerprint
                ):
                    warnings.append(f"{entry.path.name} is not listed: {onnxfile.ELSEWHERE}")
                else:
                    models[entry.id] = self._declare(entry, text.broken, texts)
        return models, warnings

    def errors(self) -> list[str]:
        """List the problems in the catalog files for the log, one per line."""
        return [problem for _, file in self._folders for problem in file.errors]

    def meta(self, entry: Entry) -> Meta:
        """Facts about a model file, cached until the file changes.

        ONNX files are never opened.
        """
        if entry.format != "gguf":
            return Meta(entry.kind, entry.size)
        header = read_header(entry.path, entry.fingerprint)
        if isinstance(header, gguf.BadModelFile):
            return Meta(entry.kind, entry.size, note=f"damaged file: {header}")
        return Meta(
            kind="embedding" if header.embedding_only else entry.kind,
            size=entry.size,
            n_ctx_train=header.context_length or None,
            n_params=None if entry.parts else header.parameters,
            quant=header.quantization or None,
            chat_template=None
            if header.embedding_only
            else header.template_source(entry.declared.chat_template),
        )

    def _declare(self, entry: Entry, broken: str | None, texts: Sequence[CatalogText]) -> Entry:
        """Add the catalogs' declaration and its faults to the entry."""
        declared = _merge_declarations(entry.id, texts)
        faults = [text.faults[entry.id] for text in texts if entry.id in text.faults]
        fault = next(iter(faults), broken) or _find_fault(entry, declared, self._soc)
        return replace(entry, declared=declared, fault=fault)

    def _log_new_warnings(self, warnings: Iterable[str]) -> None:
        """Log the warnings that are new since the last scan."""
        now = dict.fromkeys(warnings)
        with self._lock:
            new = [text for text in now if text not in self._logged]
            self._logged = set(now)
        for text in new:
            log.warning("%s", text)


@lru_cache(maxsize=_REMEMBERED)
def read_header(path: Path, fingerprint: Fingerprint) -> gguf.Header | gguf.BadModelFile:
    """Read the header of a GGUF file, or its error; cached per state of the file."""
    del fingerprint  # only a part of the cache key
    try:
        return gguf.read(path)
    except gguf.BadModelFile as error:
        log.warning("model file %s: %s", path.name, error)
        return error


@lru_cache(maxsize=_REMEMBERED)
def _is_self_contained(path: Path, fingerprint: Fingerprint) -> bool:
    """Whether an ONNX model has no data in other files."""
    del fingerprint
    try:
        onnxfile.check(path)
    except onnxfile.BadOnnxFile as error:
        return str(error) != onnxfile.ELSEWHERE  # other faults are reported on loading
    return True


def _merge_declarations(model: str, texts: Sequence[CatalogText]) -> Declaration:
    """Merge the catalogs' declarations; earlier catalogs override later ones key by key."""
    tables = [text.models[model] for text in texts if model in text.models]
    return reduce(Declaration.fill_from, tables) if tables else _NOTHING


def _find_fault(entry: Entry, declared: Declaration, soc: str) -> str | None:
    """Why a declaration does not match this file or machine; None if it matches."""
    here = entry.path.name
    if declared.filename is not None and declared.filename.casefold() != here.casefold():
        return f"the catalog declares the file {declared.filename} for this model, not {here}"
    if entry.format == "onnx" and declared.kind == "chat":
        return "an ONNX file is an embedding model, but the catalog declares a chat model"
    if not chip_fits(declared.required_soc, soc):
        return f"the model needs a chip named {declared.required_soc}; this machine has another"
    return None
