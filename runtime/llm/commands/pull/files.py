"""Install a GGUF or ONNX file from an address or path in the models folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime.llm.commands.pull.encoder import embed_texts
from runtime.llm.commands.pull.fetch import (
    Misused,
    Origin,
    PullFailed,
    compute_sha256,
    fetch,
    format_bytes,
    open_waiting_room,
    refuse_duplicates,
)
from runtime.llm.inference import SYSTEM_MODEL
from runtime.llm.models import gguf, onnxfile
from runtime.llm.models.catalog import VOCABS
from runtime.llm.models.catalogfile import FileName, parse_file_name
from runtime.web.instance import move_into_place

MAX_VOCAB: Final = 5 << 20
"""Maximum bytes of a vocabulary."""


@dataclass(frozen=True)
class Request:
    """The user's request."""

    model: Origin
    vocab: Origin | None = None
    name: str | None = None
    """Id or file name for the model; None: as at its source."""
    force: bool = False
    """Whether to replace other files of the same names."""


@dataclass(frozen=True)
class _Piece:
    """A file to install."""

    origin: Origin
    target: Path
    digest: str
    most: int | None = None
    """Maximum bytes."""


def install(request: Request, models: Path) -> str:
    """Install the model, and the vocabulary of an ONNX model; return a report for the user.

    Raises `PullFailed`, and OSError if the disk fails.
    """
    name = choose_name(request.model, request.name)
    vocab = _choose_vocabulary(request, name, models)
    refuse_duplicates(models, _write_name(name))
    with open_waiting_room(models) as room:
        model = _Piece(request.model, models / _write_name(name), request.model.choose_digest())
        beside = models / VOCABS[0].format(name.id)
        pieces = [model]  # the vocabulary first, so that a listed model is always complete
        if vocab is not None:
            pieces.insert(0, _Piece(vocab, beside, vocab.choose_digest(), MAX_VOCAB))
        missing = [piece for piece in pieces if not _is_installed(piece, request.force)]
        fetched = {
            piece.target: fetch(piece.origin, piece.digest, room, piece.most) for piece in missing
        }
        try:
            if missing:
                words = fetched.get(beside) or _find_vocabulary(models, name.id) or beside
                _check(fetched.get(model.target, model.target), words, name)
        except PullFailed:
            for path in fetched.values():
                path.unlink(missing_ok=True)
            raise
        for target, waiting in fetched.items():
            move_into_place(waiting, target)
    state = "installed" if missing else "already installed; its checksum is correct"
    first = f"{name.id} is {state}"
    return "\n".join([first, *map(_report_piece, pieces), "A running server lists it from now on."])


def choose_name(origin: Origin, wanted: str | None) -> FileName:
    """Choose the name of the model file. Raises `Misused` for an invalid name."""
    original = origin.file_name
    text = original if wanted is None else wanted
    name = parse_file_name(text)
    if name is None and wanted is not None and (source := parse_file_name(original)) is not None:
        name = parse_file_name(f"{wanted}.{source.format}")
    if name is None:
        raise Misused(
            f"{text or origin.shown} is not a valid name of a model file: it must end in .gguf"
            " or .onnx and contain no slash; use --name NAME to change it"
        )
    if name.id == SYSTEM_MODEL:
        raise Misused(f"the name {SYSTEM_MODEL} is reserved; choose another --name")
    return name


def _write_name(name: FileName) -> str:
    part = f"-{name.part:05}-of-{name.parts:05}" if name.parts > 1 else ""
    return f"{name.id}{part}.{name.format}"


def _choose_vocabulary(request: Request, name: FileName, models: Path) -> Origin | None:
    """Find the source of the vocabulary; None if none is needed or it is installed.

    Raises `Misused`.
    """
    if name.format == "gguf":
        if request.vocab is not None:
            raise Misused("a GGUF file contains its vocabulary; omit --vocab")
        return None
    if request.vocab is not None:
        return request.vocab
    source = request.model.path
    if source is not None and (beside := _find_vocabulary(source.parent, source.stem)) is not None:
        return Origin(str(beside))
    if _find_vocabulary(models, name.id) is None:
        raise Misused("an ONNX model needs its vocabulary: --vocab URL_OR_FILE, one token per line")
    return None


def _find_vocabulary(folder: Path, model: str) -> Path | None:
    paths = (folder / pattern.format(model) for pattern in VOCABS)
    return next((path for path in paths if path.is_file()), None)


def _is_installed(piece: _Piece, force: bool) -> bool:
    """Whether the target is the requested file. Raises `PullFailed` if it is another one."""
    if not piece.target.exists():
        return False
    if piece.target.is_file() and compute_sha256(piece.target) == piece.digest:
        return True
    if not piece.target.is_file():
        raise PullFailed(f"{piece.target} exists and is not a file")
    if not force:
        raise PullFailed(f"{piece.target} exists with different content; --force replaces it")
    return False


def _check(model: Path, vocab: Path, name: FileName) -> None:
    """Raise `PullFailed` for an unusable model before it is installed."""
    if name.format == "gguf":
        try:
            gguf.read(model)
        except gguf.BadModelFile as problem:
            raise PullFailed(f"the file cannot be used: {problem}") from None
        return
    try:
        onnxfile.check(model)
    except onnxfile.BadOnnxFile as problem:
        raise PullFailed(f"the file cannot be used: {problem}") from None
    embed_texts(model, vocab)


def _report_piece(piece: _Piece) -> str:
    size = format_bytes(piece.target.stat().st_size)
    return f"  {piece.target} ({size}, sha256 {piece.digest})"
