"""CAN: reading a full serial bus beside python-can, and decoding logs beside cantools.

A full bus of 1 Mbit/s brings 8,000 frames a second through a pseudo-terminal, 40 frames every 5 ms
as USB adapters do. The share of a core is that of the reading thread. Logs are a million messages
of the shipped database, a millisecond apart.
"""

import io
import os
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import can
import numpy as np

from bench.common import ROOT, Figure, arguments, fastest, show
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.dbc import DbcPack, load_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import SlcanSource
from runtime.bridge.can.values import Batch
from runtime.bridge.formats.canlog import CHUNK, Tally
from runtime.bridge.formats.logs import candump_frames

DBC: Final = ROOT / "data" / "dbc" / "paddock-dash.dbc"
FULL_BUS: Final = 8_000
SENDER: Final = """
import os, sys, time
lines = open(sys.argv[1], "rb").read().splitlines(keepends=True)
bursts = [b"".join(lines[at : at + 40]) for at in range(0, len(lines), 40)]
os.set_blocking(1, False)
began = time.monotonic()
rest = b""  # of a line that was begun; whole lines without room are lost, as in an adapter
for number in range(int(float(sys.argv[2]) * 200)):
    time.sleep(max(0, began + number / 200 - time.monotonic()))
    burst = rest + bursts[number % len(bursts)]
    try:
        written = os.write(1, burst)
    except BlockingIOError:
        continue
    whole = burst.find(b"\\r", max(0, written - 1)) + 1
    rest = burst[written:whole]
os.set_blocking(1, True)
os.write(1, rest)
"""


@contextmanager
def ours(path: str) -> Iterator[Callable[[], int]]:
    """Our serial reader."""
    source = SlcanSource(CanSettings("slcan", path), EpochClock())
    yield lambda: len(source.read(0.2).frames)
    source.close()


@contextmanager
def python_can(path: str) -> Iterator[Callable[[], int]]:
    """The reader of python-can."""
    with can.Bus(
        interface="slcan", channel=path, bitrate=500_000, sleep_after_open=0, ignore_config=True
    ) as bus:
        yield lambda: int(bus.recv(0.2) is not None)


def read_bus(opening: Callable[[str], "object"], seconds: float) -> str:
    """Read a full bus to the last frame that is sent: the share of a core, and of the frames."""
    text = b"".join(b"t%03X8%016X\r" % (0x400 + number % 30, number) for number in range(FULL_BUS))
    master, slave = os.openpty()
    tty.setraw(slave)
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        with opening(os.ttyname(slave)) as read:  # type: ignore[attr-defined]
            command = [sys.executable, "-c", SENDER, file.name, str(seconds)]
            with subprocess.Popen(command, stdout=master) as sender:
                frames, cpu, began = 0, time.thread_time(), time.monotonic()
                while (new := read()) or sender.poll() is None:
                    frames += new
                spent = (time.thread_time() - cpu) / (time.monotonic() - began)
    os.close(slave)
    os.close(master)
    return f"{spent:.1%}; {frames / (seconds * FULL_BUS):.0%}"


def log_of(pack: DbcPack, count: int) -> Batch:
    """The first eight messages in turn."""
    ids = np.array(sorted(pack.messages)[:8])
    data = np.random.default_rng(1).integers(0, 256, (count, 8)).astype(np.uint8)
    key = ids[np.arange(count) % 8].astype(np.int64)
    return Batch(1.7e9 + np.arange(count) / 1000, key, np.full(count, 8, np.uint8), data)


def candump_of(log: Batch) -> bytes:
    """The same as a file of candump's."""
    rows = zip(log.t.tolist(), log.key.tolist(), log.data, strict=True)
    return b"".join(
        b"(%.6f) can0 %03X#%s\n" % (t, key, row.tobytes().hex().upper().encode())
        for t, key, row in rows
    )


def decode(pack: DbcPack, log: Batch) -> None:
    """Ours, in the portions of an import."""
    decoder = Decoder(pack.messages)
    for at in range(0, len(log), CHUNK):
        part = slice(at, at + CHUNK)
        decoder.decode(Batch(log.t[part], log.key[part], log.length[part], log.data[part]))


def decode_with_cantools(pack: DbcPack, log: Batch) -> None:
    """Message by message."""
    for key, row in zip(log.key.tolist(), log.data, strict=True):
        pack.messages[key].decode(row.tobytes(), decode_choices=False)


def main() -> int:
    """Print the table."""
    options = arguments("canbus", __doc__).parse_args()
    seconds, count, rounds = (1.0, 100_000, 1) if options.quick else (5.0, 1_000_000, 3)
    mine, theirs = read_bus(ours, seconds), read_bus(python_can, seconds)
    pack = load_dbc(DBC)
    log, few = log_of(pack, count), log_of(pack, 20_000)
    text, some = candump_of(log), candump_of(few)
    decoded = count / fastest(lambda: decode(pack, log), rounds)
    peer = len(few) / fastest(lambda: decode_with_cantools(pack, few), rounds)
    lines = count / fastest(lambda: list(candump_frames(io.BytesIO(text), Tally())), rounds)
    peer_lines = len(few) / fastest(
        lambda: list(can.CanutilsLogReader(io.StringIO(some.decode()))), rounds
    )
    show(
        "CAN",
        [
            Figure(
                f"{FULL_BUS:,} frames a second, share of a core; frames read",
                mine,
                f"python-can {theirs}",
            ),
            Figure("log messages decoded a second", f"{decoded:,.0f}", f"cantools {peer:,.0f}"),
            Figure("candump lines a second", f"{lines:,.0f}", f"python-can {peer_lines:,.0f}"),
        ],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
