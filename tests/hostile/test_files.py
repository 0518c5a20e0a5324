"""Damaged files of every format: read as far as they go or refused in words, within limits.

Each reader gets a moment of processor time, a minute in `make test-full`.
"""

import io
import os
import random
import signal
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import IO, Final, NamedTuple

import numpy as np
import orjson
import pytest

from course import yamlsource
from course.read import trace
from runtime.bridge.can.carfile import CarError, parse_car
from runtime.bridge.can.dbc import DbcError, parse_dbc
from runtime.bridge.coach.lessons import parse_course
from runtime.bridge.formats import child_process
from runtime.bridge.formats.detection import read_recording
from runtime.bridge.formats.options import NO_OPTIONS, BusChoice, Options, UnreadableRecording
from runtime.bridge.formats.readers.mf4_child import FRAME
from runtime.bridge.storage.lake.layout import TABLES
from runtime.bridge.storage.lake.reading import Damaged, read_about, read_laps
from runtime.bridge.track.file import parse_track
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track, TrackError
from runtime.llm.commands.ingest import IngestFailed, parse_chunks
from runtime.llm.models import catalogfile, gguf, onnxfile
from tests.bridge.formats import logkit
from tests.bridge.formats.aimkit import xrk_bytes
from tests.bridge.formats.vbo.vbokit import ALL_DIALECTS, vbo_bytes
from tests.bridge.formats.vbo.vbokit import drive as vbo_drive
from tests.bridge.truth.drives import FILE_PLAN, drive
from tests.bridge.truth.exports import EXPORTS
from tests.course.coursekit import TRACE, checked, write_course
from tests.effort import EFFORT
from tests.hostile.sending import highest, resident
from tests.llm import tinymodel
from tests.llm.engine.onnxkit import write_tiny
from tools.lake import fill_lake

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "data"
SECONDS: Final[float] = 0.2 * EFFORT**2.3
ONE_S: Final = 5.0
"""Of processor time for one file; each seed takes some milliseconds."""
MOST_BYTES: Final = 300 << 20
CATALOG: Final = {
    "phases": [{"lessons": [{"id": "exits", "title": "Exits", "url": "lessons/exits/"}]}],
    "concepts": [{"id": "exit_speed", "lessonIds": ["gone", "exits"]}],
}
CHUNKS: Final = b"".join(
    b'{"id":"%d","lessonId":"exits","url":"lessons/exits/","title":"Exits","text":"Look."}\n' % at
    for at in range(3)
)
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


@contextmanager
def forked() -> Iterator[None]:
    """The readers of foreign formats in forks, which have their libraries at once.

    Raises TimeoutError where one takes too long, and AssertionError where it takes much memory.
    """

    import resource  # absent on Windows

    def run(extra: str, source: IO[bytes], output: IO[bytes]) -> None:
        reader = import_module(f"runtime.bridge.formats.readers.{extra}_child")
        load = getattr(reader, f"load_{'mdf' if extra == 'mf4' else extra}")
        load()
        pid = os.fork()
        if not pid:
            os.dup2(source.fileno(), 0)
            sys.stdout = open(output.fileno(), "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
            resource.setrlimit(resource.RLIMIT_CPU, (round(ONE_S), round(ONE_S)))
            code = child_process.run_child(load, reader.read)
            sys.stdout.flush()
            os._exit(code)
        _, status, used = os.wait4(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            raise TimeoutError
        assert (used.ru_maxrss << 10) - resident() < MOST_BYTES
        if status:
            raise UnreadableRecording("the file is damaged")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_process, "_run", run)
        yield


def apart(suffix: str, seeds: Callable[[Path], list[bytes]]) -> Reader:
    """A format whose reader runs in a process of its own."""

    def read(data: bytes, folder: Path) -> object:
        with forked():
            return read_recording(io.BytesIO(data), f"a{suffix}", Options(bus=BusChoice(DATA)))

    return Reader(seeds, read, (UnreadableRecording,))


def mf4_files(folder: Path) -> list[bytes]:
    """A log of a bus, and one of channels."""
    import asammdf

    drive = logkit.drive(1.0)
    fields = {"BusChannel": "u1", "ID": "<u4", "IDE": "u1", "DataLength": "u1", "DataBytes": "8u1"}
    kinds = [(f"{FRAME}.{name}", kind) for name, kind in fields.items()]
    rows = [
        (1, message.arbitration_id, 0, len(message.data), list(message.data.ljust(8, b"\0")))
        for message in drive
    ]
    frames = np.array(rows, kinds)
    times = np.array([message.timestamp - drive[0].timestamp for message in drive])
    t = np.arange(40) / 20
    names = ("vehicle_speed", "Oil Pressure")
    found = []
    for signals in (
        [asammdf.Signal(frames, times, name=FRAME)],
        [asammdf.Signal(np.sin(t), t, name=name, unit="bar") for name in names],
    ):
        with asammdf.MDF() as log:
            log.append(signals)
            found.append(log.save(folder / "a.mf4", overwrite=True).read_bytes())
    return found


def lake_files(folder: Path) -> list[bytes]:
    """The tables of a session, each behind its name and a zero."""
    fill_lake(str(folder / "lake"), library()["larkfell"], 1, laps=1, hz=2.0)
    found = sorted((folder / "lake").glob("*/*/*/*.parquet"))
    return [f"{path.stem}\0".encode() + path.read_bytes() for path in found]


def parquet_files(folder: Path) -> list[bytes]:
    """The frames of a session, as they are exported."""
    fill_lake(str(folder / "lake"), library()["larkfell"], 1, laps=1, hz=2.0)
    return [path.read_bytes() for path in (folder / "lake").glob("*/*/*/telemetry.parquet")]


def session_tables(data: bytes, folder: Path) -> dict[str, bytes]:
    """Those of the session with this table in place of its own."""
    whole = {path.stem: path.read_bytes() for path in (folder / "lake").glob("*/*/*/*.parquet")}
    name, _, content = data.partition(b"\0")
    return whole | {name.decode(errors="replace"): content}


def read_session(data: bytes, folder: Path) -> object:
    """An archive of the session."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        tables = session_tables(data, folder)
        for name in TABLES:
            archive.writestr(f"{name}.parquet", tables[name])
    packed.seek(0)
    return read_recording(packed, "a.zip")


def read_lake(data: bytes, folder: Path) -> object:
    """The session where it lies."""
    tables = session_tables(data, folder)
    return read_about(tables["session"]), read_laps(tables, library()["larkfell"])


@cache
def library() -> Mapping[str, Track]:
    return Library.read(DATA / "tracks").tracks


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
    "parquet": recording(".parquet", parquet_files),
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
    "mf4": apart(".mf4", mf4_files),
    "xrk": apart(".xrk", lambda _: [xrk_bytes(2)]),
    "xrz": apart(".xrz", lambda _: [zlib.compress(xrk_bytes(2))]),
    "lake": Reader(lake_files, read_lake, (Damaged,)),
    "session": Reader(lake_files, read_session, (UnreadableRecording,)),
    "lessons": Reader(
        lambda _: [orjson.dumps(CATALOG)], lambda data, _: parse_course(data), (ValueError,)
    ),
    "chunks": Reader(lambda _: [CHUNKS], lambda data, _: parse_chunks(data), (IngestFailed,)),
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


PACKAGES: Final = {"mf4": "asammdf", "xrk": "libxrk", "xrz": "libxrk"}
"""Extras that read these formats."""


def mutants(seeds: list[bytes], chance: random.Random) -> Iterator[bytes]:
    """Copies that are cut, insert_dropped, doubled, or have a few places changed."""
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


def processor_s() -> float:
    """Seconds of processor time, with that of readers in processes of their own."""
    return sum(os.times()[:4])


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
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name])
    reader = READERS[name]
    seeds = reader.seeds(tmp_path)
    for seed in seeds[:2]:
        reader.read(seed, tmp_path)  # what is whole can be read
    before, until, tried = resident(), processor_s() + SECONDS, 0
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
        if processor_s() > until:
            break
    print(f"{name}: {tried} files")  # noqa: T201 - for who looks at a long run
    assert tried
