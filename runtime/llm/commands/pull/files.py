"""Brings one GGUF or ONNX file from an address or a path into the models folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime.llm.commands.pull import selftest
from runtime.llm.commands.pull.fetch import (
    Misused,
    Origin,
    PullFailed,
    fetch,
    format_bytes,
    refuse_rivals,
    sha256_of,
    waiting_room,
)
from runtime.llm.inference import SYSTEM_MODEL
from runtime.llm.models import gguf, onnxfile
from runtime.llm.models.catalog import VOCABS
from runtime.llm.models.catalogfile import FileName, parse_file_name
from runtime.web.instance import move_into_place

MAX_VOCAB: Final = 5 << 20
"""Bytes of a vocabulary."""


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    model: Origin
    vocab: Origin | None = None
    name: str | None = None
    """Id, or file name, that the model is to have; None: as at its source."""
    force: bool = False
    """Replace other files that have the names."""


@dataclass(frozen=True)
class _Piece:
    """A file on its way to its place."""

    origin: Origin
    target: Path
    digest: str
    most: int | None = None
    """Bytes that it may have."""


def bring(request: Request, models: Path) -> str:
    """Bring the model and, of an ONNX model, the vocabulary; answers a report for the user.

    Raises `PullFailed`, and OSError for a disk that fails.
    """
    name = target_name(request.model, request.name)
    vocab = _vocabulary(request, name, models)
    refuse_rivals(models, _whole(name))
    with waiting_room(models) as room:
        model = _Piece(request.model, models / _whole(name), request.model.digest())
        beside = models / VOCABS[0].format(name.id)
        pieces = [model]  # the vocabulary first, so that a listed model is always whole
        if vocab is not None:
            pieces.insert(0, _Piece(vocab, beside, vocab.digest(), MAX_VOCAB))
        missing = [piece for piece in pieces if not _is_there(piece, request.force)]
        came = {
            piece.target: fetch(piece.origin, piece.digest, room, piece.most) for piece in missing
        }
        try:
            if missing:
                words = came.get(beside) or _beside(models, name.id) or beside
                _check(came.get(model.target, model.target), words, name)
        except PullFailed:
            for path in came.values():
                path.unlink(missing_ok=True)
            raise
        for target, waiting in came.items():
            move_into_place(waiting, target)
    state = "ready" if missing else "there already, checked by its checksum"
    first = f"{name.id} is {state}"
    return "\n".join([first, *map(_line, pieces), "A running server lists it from now on."])


def target_name(origin: Origin, wanted: str | None) -> FileName:
    """The name of the model file. Raises `Misused` for one that no model can have."""
    there = origin.file_name
    text = there if wanted is None else wanted
    name = parse_file_name(text)
    if name is None and wanted is not None and (source := parse_file_name(there)) is not None:
        name = parse_file_name(f"{wanted}.{source.format}")
    if name is None:
        raise Misused(
            f"{text or origin.shown} is not a valid name of a model file: it must end in .gguf"
            " or .onnx and hold no slash; --name NAME gives another one"
        )
    if name.id == SYSTEM_MODEL:
        raise Misused(f"the name {SYSTEM_MODEL} belongs to the system model; give another --name")
    return name


def _whole(name: FileName) -> str:
    part = f"-{name.part:05}-of-{name.parts:05}" if name.parts > 1 else ""
    return f"{name.id}{part}.{name.format}"


def _vocabulary(request: Request, name: FileName, models: Path) -> Origin | None:
    """Where the vocabulary is to be taken from; None: none is needed, or it is there.

    Raises `Misused`.
    """
    if name.format == "gguf":
        if request.vocab is not None:
            raise Misused("a GGUF file holds its vocabulary; leave --vocab out")
        return None
    if request.vocab is not None:
        return request.vocab
    source = request.model.path
    if source is not None and (beside := _beside(source.parent, source.stem)) is not None:
        return Origin(str(beside))
    if _beside(models, name.id) is None:
        raise Misused("an ONNX model needs its vocabulary: --vocab URL_OR_FILE, one token a line")
    return None


def _beside(folder: Path, model: str) -> Path | None:
    paths = (folder / pattern.format(model) for pattern in VOCABS)
    return next((path for path in paths if path.is_file()), None)


def _is_there(piece: _Piece, force: bool) -> bool:
    """Whether the target is the wanted file. Raises `PullFailed` for another one in its place."""
    if not piece.target.exists():
        return False
    if piece.target.is_file() and sha256_of(piece.target) == piece.digest:
        return True
    if not piece.target.is_file():
        raise PullFailed(f"{piece.target} exists and is not a file")
    if not force:
        raise PullFailed(f"{piece.target} is there with other content; --force replaces it")
    return False


def _check(model: Path, vocab: Path, name: FileName) -> None:
    """Raise `PullFailed` for a model that could not be run, before it has its name."""
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
    selftest.embedded(model, vocab)


def _line(piece: _Piece) -> str:
    size = format_bytes(piece.target.stat().st_size)
    return f"  {piece.target} ({size}, sha256 {piece.digest})"
