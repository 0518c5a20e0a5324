"""Makes a sentence encoder from a pinned wheel, tests it and puts it into the models folder."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from runtime.llm.commands.pull import selftest
from runtime.llm.commands.pull.fetch import (
    Progress,
    PullFailed,
    Screen,
    copy_hashed,
    format_bytes,
    place,
    refuse_full_disk,
    refuse_rivals,
    sha256_of,
    waiting_room,
)
from runtime.llm.commands.pull.selftest import Golden
from runtime.llm.models.catalogfile import NAME, Declaration, declare, format_table, load

READY: Final = "A running server lists it from now on."
STOP_S: Final = 5.0
_FLOAT32, _FLOAT16 = 1, 10  # types of numbers in an ONNX file
_PROGRESS: Final = re.compile(r"Progress (\d+) of \d+")
_KEPT_LINES: Final = 30
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
    size: int

    @property
    def requirement(self) -> str:
        """The line of a requirements file, by which pip takes this very wheel and no other."""
        return f"{self.package}=={self.version} --hash=sha256:{self.sha256}\n"


@dataclass(frozen=True)
class Member:
    """A pinned file in a wheel."""

    name: str
    sha256: str
    size: int


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
    parameters: int
    """How many numbers the model has."""
    declared: Declaration
    """What the catalog is told, less the checksum and size of the file made."""
    golden: Sequence[Golden]

    def model_in(self, models: Path) -> Path:
        """Where the model file lies."""
        return models / f"{self.id}.onnx"

    def vocab_in(self, models: Path) -> Path:
        """Where the vocabulary lies."""
        return models / f"{self.id}-vocab.txt"


def bring(recipe: Recipe, models: Path, screen: Screen, *, half: bool, force: bool) -> str:
    """Bring the encoder into the folder, unless it is there; answers a report for the user.

    Raises `PullFailed`, and OSError for a disk that fails.
    """
    model = recipe.model_in(models)
    if (broken := load(models / NAME).broken) is not None:
        raise PullFailed(f"{broken}; repair {models / NAME} first, no model runs meanwhile")
    refuse_rivals(models, model.name)
    with waiting_room(models) as room:
        there = not force and _is_there(recipe, models, screen, half=half)
        if not there:
            _make(recipe, models, room / recipe.id, screen, half=half)
    digest = sha256_of(model, screen)
    file = {"sha256": digest, "size_bytes": model.stat().st_size}
    declared = recipe.declared.model_copy(update=file)
    state = "there already and as it should be" if there else "ready"
    return "\n".join(
        [
            f"{recipe.id} is {state}",
            *_report(recipe, models),
            _declare(recipe.id, models, declared),
        ]
    )


def _is_there(recipe: Recipe, models: Path, screen: Screen, *, half: bool) -> bool:
    """Whether both files are there and right. Raises `PullFailed` when others have their names."""
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    if vocab.exists() and sha256_of(vocab, screen) != recipe.vocab.sha256:
        raise PullFailed(f"{vocab} is another vocabulary; --force replaces it")
    if not model.exists():
        return False
    if (model.stat().st_size < 3 * recipe.parameters) is not half:
        asked, other = ("half", "full") if half else ("full", "half")
        raise PullFailed(f"{model} has {other} precision; --force replaces it by {asked} precision")
    declared = load(models / NAME).models.get(recipe.id, Declaration()).sha256
    if declared is not None and sha256_of(model, screen) == declared:
        return vocab.exists()
    try:
        if not vocab.exists():
            raise PullFailed("its vocabulary is missing")
        selftest.check(model, vocab, recipe.golden, recipe.declared.max_seq)
    except PullFailed as failure:
        text = f"{model} is not the model that this command makes ({failure}); --force replaces it"
        raise PullFailed(text) from None
    return True


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
        for name, values in weights.items():
            if (known := name.removeprefix("bert.").encode()) not in graph:
                continue
            data = np.ascontiguousarray(values, dtype).tobytes()
            dims = b"".join(b"\x08" + _varint(size) for size in values.shape)
            head = dims + b"\x10" + _varint(kind) + _begin(8, len(known)) + known
            head += _begin(9, len(data))
            tensor = _begin(5, len(head) + len(data)) + head
            file.write(_begin(7, len(tensor) + len(data)) + tensor)
            file.write(data)


def _begin(field: int, size: int) -> bytes:
    """What comes before *size* bytes in that field of a message."""
    return _varint(field << 3 | 2) + _varint(size)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _make(recipe: Recipe, models: Path, folder: Path, screen: Screen, *, half: bool) -> None:
    """Download, convert, test, then put in place: the vocabulary first, so that a listed model is
    always whole."""
    clear(folder, recipe.wheel)
    try:
        size = recipe.parameters * (2 if half else 4)
        refuse_full_disk(models, recipe.wheel.size + recipe.weights.size + size)
        wheel = download(recipe.wheel, folder, screen)
        weights, vocab, model = folder / "weights", folder / "vocab.txt", folder / "model.onnx"
        extract(wheel, recipe.weights, weights, screen)
        extract(wheel, recipe.vocab, vocab, screen)
        screen.say("converting")
        try:
            write_model(recipe.graph, safetensors.numpy.load_file(weights), model, half=half)
        except safetensors.SafetensorError as problem:
            raise PullFailed(f"the weights cannot be used: {problem}") from None
        screen.say("testing")
        selftest.check(model, vocab, recipe.golden, recipe.declared.max_seq)
        place(vocab, recipe.vocab_in(models))
        place(model, recipe.model_in(models))
        wheel.unlink()
    finally:
        clear(folder, recipe.wheel)
        if not any(folder.iterdir()):
            folder.rmdir()


def _report(recipe: Recipe, models: Path) -> list[str]:
    model, vocab = recipe.model_in(models), recipe.vocab_in(models)
    package = f"{recipe.wheel.package} {recipe.wheel.version}"
    return [
        f"  model       {model} ({format_bytes(model.stat().st_size)})",
        f"  vocabulary  {vocab} ({format_bytes(vocab.stat().st_size)})",
        f"  origin      {recipe.origin}, from the Python package {package}",
        f"  licence     {recipe.declared.license} (model), {recipe.package_license} (package)",
    ]


def _declare(model: str, models: Path, declared: Declaration) -> str:
    """Declare the model in the catalog; answers what became of it."""
    path = models / NAME
    outcome = declare(models, model, declared)
    if outcome == "added":
        return f"  declared    in {path}\n{READY}"
    if outcome == "there":
        fault = load(models / NAME).faults.get(model)
        broken = f"; it has a fault: {fault}" if fault else ""
        return f"  declared    in {path}, where its table was left as it is{broken}\n{READY}"
    text = f"{path} cannot be written; to have up to {declared.max_seq} tokens of a text read, add:"
    return f"{READY} {text}\n\n{format_table(model, declared)}"


# --- the wheel


def clear(folder: Path, wheel: Wheel) -> None:
    """Make *folder*, or delete what is in it but the wheel."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != wheel.file:
            path.unlink()


def download(wheel: Wheel, folder: Path, screen: Screen) -> Path:
    """The wheel in *folder*, brought there by pip unless it is there. Raises `PullFailed`."""
    path = folder / wheel.file
    if _is_wheel(path, wheel, screen):
        return path
    path.unlink(missing_ok=True)
    requirements, spare = folder / "requirements.txt", folder / "tmp"
    requirements.write_text(wheel.requirement, encoding="ascii")
    spare.mkdir(exist_ok=True)
    with screen.step("downloading", wheel.size) as bar:
        _pip(wheel, requirements, spare, bar)
    if not _is_wheel(path, wheel, screen):
        raise PullFailed("pip brought another file than the one that was asked for")
    return path


def extract(wheel: Path, member: Member, out: Path, screen: Screen) -> None:
    """Write one file of the wheel to *out*. Raises `PullFailed` when it is not the pinned one."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member.name) as source,
            out.open("wb") as target,
            screen.step("unpacking", member.size) as bar,
        ):
            digest = copy_hashed(source, bar.show, target)
    except (KeyError, zipfile.BadZipFile):
        raise PullFailed(f"the package does not hold {member.name}") from None
    if digest != member.sha256:
        raise PullFailed(f"{member.name} in the package is not the file that it should be")


def _is_wheel(path: Path, wheel: Wheel, screen: Screen) -> bool:
    sized = path.is_file() and path.stat().st_size == wheel.size
    return sized and sha256_of(path, screen) == wheel.sha256


def _pip(wheel: Wheel, requirements: Path, spare: Path, bar: Progress) -> None:
    options = "--no-deps --only-binary=:all: --require-hashes --no-input --progress-bar=raw"
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
    places = ["--dest", str(requirements.parent), "--requirement", str(requirements)]
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(spare))
    process = subprocess.Popen(
        [*command, *options.split(), *places],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **temporary, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )
    try:
        bar.show(0)
        lines = follow_pip(process.stdout or (), bar)
        if process.wait() != 0:
            raise PullFailed(explain_pip(lines, f"{wheel.package} {wheel.version}"))
        bar.show(wheel.size)
    finally:
        _end(process)


def follow_pip(lines: Iterable[str], bar: Progress) -> list[str]:
    """Show pip's progress until its output ends; answers the last of its other lines."""
    kept: deque[str] = deque(maxlen=_KEPT_LINES)
    for line in lines:
        if match := _PROGRESS.match(line):
            bar.show(int(match[1]))
        else:
            kept.append("".join(filter(str.isprintable, line)))
    return list(kept)


def explain_pip(lines: Sequence[str], package: str) -> str:
    """Why pip failed: one line for a known problem, else its own words."""
    output = "\n".join(lines)
    for sign, text in _TROUBLE:
        if sign in output:
            return text.format(package)
    return "\n".join(["pip could not download the package:", *(f"  {line}" for line in lines)])


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
