"""CAN: reading a full serial bus, compared with python-can, and decoding logs, with cantools.

A full bus of 1 Mbit/s sends 8,000 frames a second through a pseudo-terminal, 40 frames every 5 ms
as USB adapters do. The share of a core is that of the reading thread. The log holds a million
messages of the shipped DBC file, a millisecond apart.
"""

import os
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

import can
import numpy as np

from bench.common import ROOT, Figure, fastest
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.dbc import DbcPack, load_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frames import Batch
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import SlcanSource
from runtime.bridge.formats.can_recording import CHUNK

DBC: Final = ROOT / "data" / "dbc" / "paddock-dash.dbc"
FULL_BUS: Final = 8_000
SECONDS: Final = 4.0
SENDER: Final = """
import os, sys, time
lines = open(sys.argv[1], "rb").read().splitlines(keepends=True)
bursts = [b"".join(lines[at : at + 40]) for at in range(0, len(lines), 40)]
os.set_blocking(1, False)
began = time.monotonic()
rest = b""  # of a line partly written; lines that do not fit are lost, as in an adapter
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
def open_ours(path: str) -> Iterator[Callable[[], int]]:
    """Open the bus with our serial reader."""
    source = SlcanSource(CanSettings("slcan", path), EpochClock())
    yield lambda: len(source.read(0.2).frames)
    source.close()


@contextmanager
def open_python_can(path: str) -> Iterator[Callable[[], int]]:
    """Open the bus with python-can."""
    with can.Bus(
        interface="slcan", channel=path, bitrate=500_000, sleep_after_open=0, ignore_config=True
    ) as bus:
        yield lambda: int(bus.recv(0.2) is not None)


class Shares(NamedTuple):
    """The share of a core that a reader used, and of the frames that it received."""

    core: float
    read: float


class FullBus(NamedTuple):
    """A pseudo-terminal that carries the frames of a full bus."""

    path: str
    master: int

    @contextmanager
    def sending(self, seconds: float) -> Iterator["subprocess.Popen[bytes]"]:
        """Run a program that sends frames for *seconds*, or until the block ends."""
        text = b"".join(
            b"t%03X8%016X\r" % (0x420 + number % 0x33, number * 0x9E3779B97F4A7C15 % 2**64)
            for number in range(FULL_BUS)
        )
        with tempfile.NamedTemporaryFile() as file:
            file.write(text)
            file.flush()
            command = [sys.executable, "-c", SENDER, file.name, str(seconds)]
            with subprocess.Popen(command, stdout=self.master) as sender:
                try:
                    yield sender
                finally:
                    sender.terminate()


@contextmanager
def full_bus() -> Iterator[FullBus]:
    """Open an adapter on a bus of 1 Mbit/s that is silent at first."""
    master, slave = os.openpty()
    tty.setraw(slave)
    try:
        yield FullBus(os.ttyname(slave), master)
    finally:
        os.close(slave)
        os.close(master)


def read_bus(opening: Callable[[str], AbstractContextManager[Callable[[], int]]]) -> Shares:
    """Read a full bus until the sender ends."""
    with full_bus() as bus, opening(bus.path) as read, bus.sending(SECONDS) as sender:
        frames, cpu, began = 0, time.thread_time(), time.monotonic()
        while (new := read()) or sender.poll() is None:
            frames += new
        spent = (time.thread_time() - cpu) / (time.monotonic() - began)
    return Shares(spent, frames / (SECONDS * FULL_BUS))


def make_log(pack: DbcPack, count: int) -> Batch:
    """A log of the first eight messages in turn."""
    ids = np.array(sorted(pack.messages)[:8])
    data = np.random.default_rng(1).integers(0, 256, (count, 8)).astype(np.uint8)
    key = ids[np.arange(count) % 8].astype(np.int64)
    return Batch(1.7e9 + np.arange(count) / 1000, key, np.full(count, 8, np.uint8), data)


def decode(pack: DbcPack, log: Batch) -> None:
    """Decode a log with ours, in chunks as an import does."""
    decoder = Decoder(pack.messages)
    for at in range(0, len(log), CHUNK):
        part = slice(at, at + CHUNK)
        decoder.decode(Batch(log.t[part], log.key[part], log.length[part], log.data[part]))


def decode_with_cantools(pack: DbcPack, log: Batch) -> None:
    """Decode a log with cantools, message by message."""
    for key, row in zip(log.key.tolist(), log.data, strict=True):
        pack.messages[key].decode(row.tobytes(), decode_choices=False)


def figures() -> Iterator[Figure]:
    """The rows of the bus and of logs."""
    mine, theirs = read_bus(open_ours), read_bus(open_python_can)
    what, peer = f"{FULL_BUS:,} frames a second", "python-can"
    yield Figure(what, "cores", mine.core, peer, theirs.core)
    yield Figure(f"{what}, read", "share", mine.read, peer, theirs.read)
    pack = load_dbc(DBC)
    log, short_log = make_log(pack, 1_000_000), make_log(pack, 20_000)
    our_rate = len(log) / fastest(lambda: decode(pack, log), 3)
    cantools_rate = len(short_log) / fastest(lambda: decode_with_cantools(pack, short_log), 3)
    yield Figure("log decoded", "messages/s", our_rate, "cantools", cantools_rate)
