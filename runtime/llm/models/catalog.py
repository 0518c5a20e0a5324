"""Lists the model files that are on this machine, with what the catalogs declare about them."""

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
    file_name,
)

log = logging.getLogger(__name__)

VOCABS: Final = ("{}-vocab.txt", "{}.vocab.txt", "{}_vocab.txt")
"""Names of the vocabulary beside ``<id>.onnx``, in the order in which they are tried."""
_REMEMBERED: Final = 256
_NOTHING: Final = Declaration()


class Fingerprint(NamedTuple):
    """Tells whether a model's files are still the ones that were loaded."""

    inode: int
    """Of the first file."""
    size: int
    """Bytes of all files together."""
    mtime_ns: int
    """Of the newest file, the vocabulary too."""


@dataclass(frozen=True)
class Entry:
    """One model on disk."""

    id: str
    path: Path
    """The model file; of a split GGUF the first part."""
    format: Format
    fingerprint: Fingerprint
    declared: Declaration = _NOTHING
    fault: str | None = None
    """Why this model must not be loaded, in words for a client; None: nothing is against it."""
    parts: tuple[Path, ...] = ()
    """Every part of a split GGUF in order; empty for a file that is not split."""
    vocab: Path | None = None
    """The vocabulary of an ONNX model."""
    created: int = 0
    """When the model file, or the newest part of it, was last written, Unix seconds."""

    @property
    def size(self) -> int:
        """Bytes, all parts together."""
        return self.fingerprint.size

    @property
    def kind(self) -> Kind:
        """As declared, else by the format; a GGUF may still turn out to be for embedding only."""
        return self.declared.kind or ("embedding" if self.format == "onnx" else "chat")

    @property
    def backend(self) -> Backend:
        """The one backend to try; a file that no catalog speaks of runs on the CPU."""
        return self.declared.backend or "LOCAL_CPU"


@dataclass(frozen=True)
class Meta:
    """What the header of a model file says; None where it does not, or cannot be read."""

    kind: Kind
    size: int
    n_ctx_train: int | None = None
    n_params: int | None = None
    """None for a split model, whose first file holds only some of them."""
    quant: str | None = None
    chat_template: gguf.TemplateSource | None = None
    """Of a chat model."""
    note: str | None = None
    """Why the file is of no use."""


class _File(NamedTuple):
    path: Path
    state: Fingerprint


def scan(folder: Path, only: str | None = None) -> tuple[list[Entry], list[str]]:
    """The models of one flat folder, GGUF before ONNX and by file name, and warnings in words.

    No file is opened, and no catalog is asked. A missing folder holds nothing. With *only* no
    other model is looked at.
    """
    warnings: list[str] = []
    candidates: list[Entry] = []
    split: dict[tuple[str, int, str], dict[int, _File]] = defaultdict(dict)
    for text in _listing(folder, warnings):
        name = file_name(text)
        if name is None or (only is not None and name.id != only):
            continue
        file = _stat_file(folder / text)
        if file is None:
            continue
        if name.id == SYSTEM_MODEL:
            warnings.append(f"{text} is ignored: the name belongs to the system model")
        elif name.parts > 1:
            split[name.id, name.parts, text[-5:]][name.part] = file
        elif name.format == "gguf":
            candidates.append(_entry(name.id, "gguf", [file]))
        elif vocab := _vocab(folder, name.id):
            candidates.append(_entry(name.id, "onnx", [file], vocab))
    for (model, count, _), parts in split.items():
        if len(parts) == count:
            candidates.append(_entry(model, "gguf", [parts[n] for n in range(1, count + 1)]))
        else:
            warnings.append(f"{model} is not listed: {len(parts)} of its {count} parts are here")
    return _hide_duplicates(candidates, warnings), warnings


def _listing(folder: Path, warnings: list[str]) -> list[str]:
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names are all that is needed
    except FileNotFoundError:
        return []
    except OSError as error:
        warnings.append(f"models folder {folder.name} cannot be read: {error.strerror}")
        return []


def _stat_file(path: Path) -> _File | None:
    """A regular file that is not empty, seen through links; None for anything else."""
    try:
        info = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(info.st_mode) or info.st_size == 0:
        return None
    return _File(path, Fingerprint(info.st_ino, info.st_size, info.st_mtime_ns))


def _vocab(folder: Path, model: str) -> _File | None:
    files = (_stat_file(folder / pattern.format(model)) for pattern in VOCABS)
    return next((file for file in files if file), None)


def _entry(model: str, form: Format, files: Sequence[_File], vocab: _File | None = None) -> Entry:
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
    """The first by kind and file name of those that share an id."""
    first: dict[str, Entry] = {}
    for entry in sorted(candidates, key=lambda e: (e.format != "gguf", e.path.name)):
        if (kept := first.setdefault(entry.id, entry)) is not entry:
            name, other = entry.path.name, kept.path.name
            warnings.append(f"{name} is hidden by {other}: both are model {entry.id}")
    return list(first.values())


class Catalog:
    """The models of several folders; the first folder wins where two hold the same id.

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
        """What is on disk now: GGUF files, then ONNX files, each by id.

        No GGUF file is opened; an ONNX file is looked through once for what lies outside of it.
        """
        listed, warnings = self._scan()
        self._log_news(warnings)
        return sorted(listed.values(), key=lambda entry: (entry.format != "gguf", entry.id))

    def find(self, model: str) -> Entry | None:
        """The model of that id, for any text at all: it is only compared, never made a path."""
        return self._scan(model)[0].get(model)

    def _scan(self, only: str | None = None) -> tuple[dict[str, Entry], list[str]]:
        """The models on disk by id, and what is wrong with them in words."""
        texts = [file.read() for _, file in self._folders]
        listed: dict[str, Entry] = {}
        warnings = self.errors()
        for (folder, _), text in zip(self._folders, texts, strict=True):
            models, doubts = scan(folder, only)
            warnings += doubts
            for entry in models:
                if entry.id in listed:
                    warnings.append(
                        f"model {entry.id} of an earlier folder hides the one in a later"
                    )
                elif entry.format == "onnx" and not _is_self_contained(
                    entry.path, entry.fingerprint
                ):
                    warnings.append(f"{entry.path.name} is not listed: {onnxfile.ELSEWHERE}")
                else:
                    listed[entry.id] = self._declared(entry, text.broken, texts)
        return listed, warnings

    def errors(self) -> list[str]:
        """What is wrong in the catalog files, one problem a line, for logs."""
        return [problem for _, file in self._folders for problem in file.errors]

    def meta(self, entry: Entry) -> Meta:
        """What the file says about itself, remembered until the file changes.

        ONNX files are never opened.
        """
        if entry.format != "gguf":
            return Meta(entry.kind, entry.size)
        header = read_header(entry.path, entry.fingerprint)
        if isinstance(header, gguf.BadModelFile):
            return Meta(entry.kind, entry.size, note=f"a broken file: {header}")
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

    def _declared(self, entry: Entry, broken: str | None, texts: Sequence[CatalogText]) -> Entry:
        """The entry with what the catalogs say of it."""
        declared = _merge_declarations(entry.id, texts)
        faults = [text.faults[entry.id] for text in texts if entry.id in text.faults]
        fault = next(iter(faults), broken) or _find_fault(entry, declared, self._soc)
        return replace(entry, declared=declared, fault=fault)

    def _log_news(self, warnings: Iterable[str]) -> None:
        """Log the warnings that the last scan did not have."""
        now = dict.fromkeys(warnings)
        with self._lock:
            new = [text for text in now if text not in self._logged]
            self._logged = set(now)
        for text in new:
            log.warning("%s", text)


@lru_cache(maxsize=_REMEMBERED)
def read_header(path: Path, fingerprint: Fingerprint) -> gguf.Header | gguf.BadModelFile:
    """The header of a GGUF file, or what is wrong with it; read once for each state of it."""
    del fingerprint  # only the key under which the answer is remembered
    try:
        return gguf.read(path)
    except gguf.BadModelFile as error:
        log.warning("model file %s: %s", path.name, error)
        return error


@lru_cache(maxsize=_REMEMBERED)
def _is_self_contained(path: Path, fingerprint: Fingerprint) -> bool:
    """Whether no part of an ONNX model lies in another file."""
    del fingerprint
    try:
        onnxfile.check(path)
    except onnxfile.BadOnnxFile as error:
        return str(error) != onnxfile.ELSEWHERE  # other faults are reported when it is loaded
    return True


def _merge_declarations(model: str, texts: Sequence[CatalogText]) -> Declaration:
    """What the catalogs say together; an earlier one overrides a later one key by key."""
    tables = [text.models[model] for text in texts if model in text.models]
    return reduce(Declaration.over, tables) if tables else _NOTHING


def _find_fault(entry: Entry, declared: Declaration, soc: str) -> str | None:
    """Why a declaration and this file on this machine do not go together."""
    here = entry.path.name
    if declared.filename is not None and declared.filename.casefold() != here.casefold():
        return f"the catalog declares the file {declared.filename} for this model; {here} is here"
    if entry.format == "onnx" and declared.kind == "chat":
        return "an ONNX file is an embedding model; the catalog declares a chat model"
    if not chip_fits(declared.required_soc, soc):
        return f"the model needs a chip named {declared.required_soc}; this one is another"
    return None
