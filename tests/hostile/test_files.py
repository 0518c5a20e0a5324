"""Damaged files of every format: read as far as they go or refused in words, within limits.

Each reader gets a moment of processor time, a minute in `make test-full`.
"""

import io
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Final, NamedTuple

import pytest

from course.read import trace, yamlsource
from runtime.bridge.can.carfile import CarError, parse_car
from runtime.bridge.can.dbc import DbcError, parse_dbc
from runtime.bridge.formats.formats import read_recording
from runtime.bridge.formats.options import NO_OPTIONS, BusChoice, Options, UnreadableRecording
from runtime.bridge.track.file import parse_track
from runtime.bridge.track.model import TrackError
from runtime.llm.models import catalogfile, gguf, onnxfile
from tests.bridge.formats import logkit
from tests.bridge.formats.vbo.vbokit import ALL_DIALECTS, vbo_bytes
from tests.bridge.formats.vbo.vbokit import drive as vbo_drive
from tests.bridge.truth.drives import FILE_PLAN, drive
from tests.bridge.truth.exports import EXPORTS
from tests.course.coursekit import TRACE, checked, write_course
from tests.effort import EFFORT
from tests.hostile.sending import highest, resident
from tests.llm import tinymodel
from tests.llm.engine.onnxkit import write_tiny

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "data"
SECONDS: Final = 0.3 * EFFORT**2
ONE_S: Final = 5.0
"""Of processor time for one file; each seed takes some milliseconds."""
MOST_BYTES: Final = 300 << 20
TOKENS: Final = (
    b"", b"0", b"-1", b"9" * 40, b"1e999", b"nan", b"inf", b"\x00", b"\xff", b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80", b"\n", b"\r\n", b"\t", b",", b";", b":", b'"', b"'", b"[", b"]", b"{",
    b"}", b"(" * 50, b"[" * 2000, b"&a *a", b"<a>", b"&#0;", b"$", b"\\", b"```", b"---\n", b"!!",
    b"%", "\u2028\u202e\U0001f3c1".encode(),
)  # fmt: skip


class Reader(NamedTuple):
    """What reads files of a format."""

    seeds: Callable[[Path], list[bytes]]
    """Whole files; the folder may be used to write them."""
    read: Callable[[bytes, Path], object]
    refused: tuple[type[Exception], ...]
    """What it may raise."""


@cache
def exports() -> dict[str, bytes]:
    """The first seconds of a drive as each program writes it."""
    made = drive(FILE_PLAN)
    made = replace(made, columns={name: values[:16] for name, values in made.columns.items()})
    return {name: export.write(made) for name, export in EXPORTS.items()}


def recording(
    suffix: str, seeds: Callable[[Path], list[bytes]], options: Options = NO_OPTIONS
) -> Reader:
    def read(data: bytes, folder: Path) -> object:
        return read_recording(io.BytesIO(data), f"a{suffix}", options)

    return Reader(seeds, read, (UnreadableRecording,))


def logs(suffix: str, folder: Path) -> list[bytes]:
    """The frames of a drive, and some of all kinds."""
    path = folder / f"a{suffix}"
    plain = logkit.write(path, logkit.drive(1.0)).read_bytes()
    some = logkit.messages(40, flexible=suffix != ".trc", remote=suffix != ".trc")
    return [plain, logkit.write(path, [*some, *logkit.drive(1.0)]).read_bytes()]


def files(pattern: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [path.read_bytes() for path in sorted(ROOT.glob(pattern))][:20]


def by_path(read: Callable[[Path], object], data: bytes, folder: Path) -> object:
    path = folder / "file"
    path.write_bytes(data)
    return read(path)


def course_files(folder: Path) -> list[bytes]:
    """Those of the small course, each behind its name and a zero."""
    root = write_course(folder / "seed")
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return [f"{path.relative_to(root)}\0".encode() + path.read_bytes() for path in found]


def check_course(data: bytes, folder: Path) -> object:
    """The small course with this file in place of its own."""
    name, _, content = data.partition(b"\0")
    root = folder / "course"
    if not root.exists():
        write_course(root)
    path = root / name.decode(errors="replace")
    if path not in root.rglob("*") or not path.is_file():  # its name was damaged, too
        return None
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        return checked(root)
    finally:
        path.write_bytes(before)


def tiny_gguf(folder: Path) -> list[bytes]:
    shape = tinymodel.Shape(width=32, vocab=300, ffn=32)
    return [tinymodel.write_random(folder / "tiny.gguf", shape).read_bytes()]


def tiny_onnx(folder: Path) -> list[bytes]:
    write_tiny(folder, "tiny", width=48)
    return [path.read_bytes() for path in sorted(folder.rglob("*.onnx"))]


def read_trace(data: bytes, folder: Path) -> object:
    return trace.read_trace(data.decode(errors="replace"), "a.md", 1, "a", {})


READERS: Final = {
    **{
        name: recording(export.suffix, lambda folder, name=name: [exports()[name]])  # type: ignore[misc]
        for name, export in EXPORTS.items()
    },
    **{
        f"can{suffix}": recording(suffix, partial(logs, suffix), Options(bus=BusChoice(DATA)))
        for suffix in logkit.FORMS
    },
    "vbo": recording(
        ".vbo",
        lambda folder: [
            vbo_bytes(vbo_drive(laps=0.1, lead_m=60.0), dialect)
            for dialect in ALL_DIALECTS.values()
        ],
    ),
    "dbc": Reader(files("data/dbc/*.dbc"), lambda d, _: parse_dbc(d, "a.dbc"), (DbcError,)),
    "car": Reader(files("data/cars/*.yaml"), lambda d, _: parse_car(d), (CarError,)),
    "track": Reader(
        files("data/tracks/*.json"),
        lambda data, _: parse_track(data.decode("utf-8-sig")),
        (TrackError, UnicodeDecodeError),
    ),
    "gguf": Reader(tiny_gguf, partial(by_path, gguf.read), (gguf.BadModelFile,)),
    "onnx": Reader(tiny_onnx, partial(by_path, onnxfile.check), (onnxfile.BadOnnxFile,)),
    "catalog": Reader(
        files("data/models/catalog.toml"),
        lambda data, _: catalogfile.parse(data.decode(errors="replace")),
        (),
    ),
    "yaml": Reader(
        files("content/**/*.yaml"),
        lambda data, _: yamlsource.parse(data.decode(errors="replace"), "a.yaml"),
        (),
    ),
    "trace": Reader(lambda folder: [TRACE.partition("\n")[2].encode()], read_trace, ()),
    "course": Reader(course_files, check_course, ()),
}


def mutants(seeds: list[bytes], chance: random.Random) -> Iterator[bytes]:
    """Copies that are cut, spliced, doubled, or have a few places changed."""
    while True:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 2, 4, 8))):
            # most damage goes where the structure is
            at = chance.randrange(min(len(data), chance.choice((64, 600, 1 << 30))) or 1)
            to = min(len(data), at + chance.choice((1, 2, 4, 8, 40, 400)))
            match chance.randrange(9):
                case 0:
                    data[at:to] = chance.randbytes(to - at)
                case 1 | 2:
                    data[at:to] = chance.choice(TOKENS)
                case 3:
                    data[at:at] = chance.choice(TOKENS)
                case 4 if data:
                    data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
                case 5:
                    data[at:at] = data[at:to] * chance.choice((1, 2, 200))
                case 6:
                    del data[at:to]
                case 7:
                    other = chance.choice(seeds)
                    start = chance.randrange(len(other) or 1)
                    data[at:to] = other[start : start + 400]
                case _ if chance.random() < 0.3:
                    del data[at:]
        yield bytes(data)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block once it has taken so much processor time."""

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * SECONDS)
@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="needs POSIX")
@pytest.mark.parametrize("name", READERS)
def test_no_damage_to_a_file_breaks_its_reader(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    seeds = reader.seeds(tmp_path)
    for seed in seeds[:2]:
        reader.read(seed, tmp_path)  # what is whole can be read
    before, until, tried = resident(), time.process_time() + SECONDS, 0
    for data in mutants(seeds, random.Random(name)):
        (tmp_path / "tried").write_bytes(data)
        try:
            with limited(ONE_S):
                reader.read(data, tmp_path)
        except reader.refused:
            pass
        except Exception as error:
            raise AssertionError(f"{error!r} for the file {tmp_path / 'tried'}") from error
        tried += 1
        assert highest() - before < MOST_BYTES, f"the file {tmp_path / 'tried'}"
        if time.process_time() > until:
            break
    print(f"{name}: {tried} files")  # noqa: T201 - for who looks at a long run
    assert tried
