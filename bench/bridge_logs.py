"""Importing of logs: decoding beside cantools and asammdf, candump end to end, VBO memory.

python -m bench.bridge_logs [--quick]

All work on the same made-up log of the shipped database. Rounds are interleaved, the best counts,
and times are the processor's, for the machine may be busy. asammdf starts from its own MF4 file.
"""

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import can
import numpy as np

from bench.bridge_vbo import make
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.dbc import DbcPack, load_dbc
from runtime.bridge.formats.canlog.decoder import LogDecoder
from runtime.bridge.formats.canlog.readers.candump import CandumpReader
from runtime.bridge.formats.canlog.recording import Bus, record_log
from runtime.bridge.formats.canlog.values import CHUNK, Batch
from runtime.bridge.formats.vbo.read import read as read_vbo

ROOT: Final = Path(__file__).resolve().parents[1]
DBC: Final = ROOT / "data" / "dbc" / "paddock-dash.dbc"
CAR: Final = ROOT / "data" / "cars" / "tarnhow-pip-180.yaml"
BEGIN: Final = 1_700_000_000.0


def batch_of(pack: DbcPack, frames: int) -> Batch:
    """A log of the first eight messages, a millisecond apart."""
    chance = np.random.default_rng(1)
    ids = np.array(sorted(pack.messages)[:8])
    data = chance.integers(0, 256, (frames, 8)).astype(np.uint8)
    length = np.full(frames, 8, np.uint8)
    t = BEGIN + np.arange(frames) / 1000
    return Batch(t, ids[np.arange(frames) % 8].astype(np.int64), length, data)


def part_of(batch: Batch, begin: int, end: int) -> Batch:
    """Some of the frames."""
    at = slice(begin, end)
    return Batch(batch.t[at], batch.key[at], batch.length[at], batch.data[at])


def candump_of(batch: Batch) -> bytes:
    """The same as a file of candump's."""
    rows = zip(batch.t.tolist(), batch.key.tolist(), batch.data, strict=True)
    return b"".join(
        b"(%.6f) can0 %03X#%s\n" % (t, key, row.tobytes().hex().upper().encode())
        for t, key, row in rows
    )


def by_columns(pack: DbcPack, batch: Batch) -> None:
    """Ours."""
    decoder = LogDecoder(pack.messages)
    for at in range(0, len(batch), CHUNK):
        decoder.decode(part_of(batch, at, at + CHUNK))


def by_cantools(pack: DbcPack, batch: Batch) -> None:
    """Frame by frame, with the message looked up beforehand."""
    for key, row in zip(batch.key.tolist(), batch.data, strict=True):
        pack.messages[key].decode(row.tobytes(), decode_choices=False)


def write_mf4(data: bytes, path: Path) -> None:
    """The log as an MF4 file, by python-can."""
    with can.CanutilsLogReader(io.StringIO(data.decode())) as log, can.MF4Writer(path) as mdf:
        for message in log:
            message.channel = 1
            mdf.on_message_received(message)


def by_asammdf(path: Path) -> None:
    """All signals out of the MF4 file."""
    from asammdf import MDF  # an extra

    mdf = MDF(path)
    found = mdf.extract_bus_logging(database_files={"CAN": [(DBC, 0)]})
    for group in range(len(found.groups)):
        found.select([(None, group, at) for at in range(len(found.groups[group].channels))])
    found.close()
    mdf.close()


def best(work: Callable[[], object], rounds: int) -> float:
    """The least processor time of some rounds, in seconds."""
    times = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def decoding(frames: int, rounds: int) -> None:
    """Messages a second of each decoder, and a whole candump import."""
    pack, car = load_dbc(DBC), load_car(CAR)
    batch = batch_of(pack, frames)
    part = part_of(batch, 0, 40_000)
    data = candump_of(batch)
    bus = Bus(pack.messages, car.plan, (pack.name,), car.id)
    few = candump_of(part)

    def row(name: str, count: int, seconds: float) -> None:
        print(f"{name:42} {count / seconds:14,.0f} messages/s")

    row("cantools, frame by frame", len(part), best(lambda: by_cantools(pack, part), rounds))
    row("ours, columns", frames, best(lambda: by_columns(pack, batch), rounds))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.mf4"
        write_mf4(few, path)
        row("asammdf, from its MF4 file", len(part), best(lambda: by_asammdf(path), rounds))
    parse = best(lambda: [0 for _ in CandumpReader(io.BytesIO(data))], rounds)
    row("candump lines, ours", frames, parse)
    peer = best(lambda: [0 for _ in can.CanutilsLogReader(io.StringIO(few.decode()))], rounds)
    row("candump lines, python-can", len(part), peer)
    whole = best(lambda: record_log(CandumpReader(io.BytesIO(data)), bus, "candump"), rounds)
    row("candump to recording, with a car file", frames, whole)


def vbo(megabytes: float) -> None:
    """Speed and peak memory of one file, in a process of its own."""
    with tempfile.NamedTemporaryFile(suffix=".vbo") as file:
        head, rows = make(min(megabytes, 50)).split(b"[data]\r\n")
        file.write(head + b"[data]\r\n")
        for _ in range(max(1, round(megabytes / 50))):
            file.write(rows)
        file.flush()
        subprocess.run([sys.executable, "-m", "bench.bridge_logs", "--vbo", file.name], check=True)


def peak_mb() -> float:
    """The most memory that this process has held; Linux only, 0 elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return 0.0
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def vbo_alone(path: Path) -> None:
    """Read one VBO file and print what it took."""
    before = peak_mb()
    begun = time.process_time()
    with path.open("rb") as stream:
        recording = read_vbo(stream)
    seconds = time.process_time() - begun
    peak = peak_mb()
    size = path.stat().st_size / 1e6
    numbers = len(recording.frames) * (len(recording.signals) + 12) * 8 / 2**20
    print(
        f"VBO of {size:.0f} MB: {size / seconds:.0f} MB/s, peak {peak:.0f} MB over {before:.0f} MB "
        f"at the start; its {numbers:.0f} MB of numbers included"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_logs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files, one round")
    parser.add_argument("--vbo", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.vbo:
        vbo_alone(given.vbo)
        return 0
    decoding(65_536 if given.quick else 1_000_000, 1 if given.quick else 3)
    vbo(25 if given.quick else 500)
    return 0


if __name__ == "__main__":
    sys.exit(main())
