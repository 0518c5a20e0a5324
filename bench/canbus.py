"""CAN: reading a full serial bus beside python-can, and decoding logs beside cantools.

A full bus of 1 Mbit/s brings 8,000 frames a second through a pseudo-terminal, 40 frames every 5 ms
as USB adapters do. The share of a core is that of the reading thread. Logs are a million messages
of the shipped database, a millisecond apart.
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
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import SlcanSource
from runtime.bridge.can.values import Batch
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


class Shares(NamedTuple):
    """What a reader used of a core, and what it got of the frames."""

    core: float
    read: float


class FullBus(NamedTuple):
    """A pseudo-terminal on which the frames of a full bus are sent."""

    path: str
    master: int

    @contextmanager
    def sending(self, seconds: float) -> Iterator["subprocess.Popen[bytes]"]:
        """The program that sends them for so long, or until the block ends."""
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
    """An adapter on a bus of 1 Mbit/s, which sends nothing yet."""
    master, slave = os.openpty()
    tty.setraw(slave)
    try:
        yield FullBus(os.ttyname(slave), master)
    finally:
        os.close(slave)
        os.close(master)


def read_bus(opening: Callable[[str], AbstractContextManager[Callable[[], int]]]) -> Shares:
    """Read a full bus to the last frame that is sent."""
    with full_bus() as bus, opening(bus.path) as read, bus.sending(SECONDS) as sender:
        frames, cpu, began = 0, time.thread_time(), time.monotonic()
        while (new := read()) or sender.poll() is None:
            frames += new
        spent = (time.thread_time() - cpu) / (time.monotonic() - began)
    return Shares(spent, frames / (SECONDS * FULL_BUS))


def log_of(pack: DbcPack, count: int) -> Batch:
    """The first eight messages in turn."""
    ids = np.array(sorted(pack.messages)[:8])
    data = np.random.default_rng(1).integers(0, 256, (count, 8)).astype(np.uint8)
    key = ids[np.arange(count) % 8].astype(np.int64)
    return Batch(1.7e9 + np.arange(count) / 1000, key, np.full(count, 8, np.uint8), data)


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


def figures() -> Iterator[Figure]:
    """The rows of the bus and of logs."""
    mine, peers = read_bus(ours), read_bus(python_can)
    what, peer = f"{FULL_BUS:,} frames a second", "python-can"
    yield Figure(what, "cores", mine.core, peer, peers.core)
    yield Figure(f"{what}, read", "share", mine.read, peer, peers.read)
    pack = load_dbc(DBC)
    log, few = log_of(pack, 1_000_000), log_of(pack, 20_000)
    decoded = len(log) / fastest(lambda: decode(pack, log), 3)
    slowly = len(few) / fastest(lambda: decode_with_cantools(pack, few), 3)
    yield Figure("log decoded", "messages/s", decoded, "cantools", slowly)
