"""The CAN reader: serial adapter beside python-can's reader, then decoding and assembling.

python -m bench.bridge_can [--quick]

Rounds are interleaved and the best of each counts, for the machine may be busy. Processor time
is that of the reading thread alone. A full bus goes on while nobody reads: what finds no room on
the line is lost, and all that were sent count beside those that were read.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import can
from cantools.database.can import Message

from runtime.bridge.can.assembler import Assembler
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.dbc import EXTENDED, load_dbc, parse_dbc
from runtime.bridge.can.decode import NO_CAR, Decoder
from runtime.bridge.can.pipeline import Plan
from runtime.bridge.can.serialbus import SlcanSource
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import SlcanParser, encode
from runtime.bridge.can.statistics import BusStatistics
from runtime.bridge.can.values import CanFrame, Received

DATA = Path(__file__).resolve().parents[1] / "data"
FULL_BUS = 8_000
"""Frames a second that fill a bus of 1 Mbit/s."""
PATIENCE_S = 20.0
Read = Callable[[], int]
"""Reads once; how many frames that brought."""
Opening = Callable[[str], AbstractContextManager[Read]]


class Cost(NamedTuple):
    """What reading cost."""

    sent: int
    frames: int
    wall_s: float
    cpu_s: float

    @property
    def share(self) -> float:
        """Of a core, in percent."""
        return self.cpu_s / self.wall_s * 100.0


@contextmanager
def ours(path: str) -> Iterator[Read]:
    """Our own source."""
    source = SlcanSource(CanSettings("slcan", path), EpochClock())
    yield lambda: len(source.read(0.2).frames)
    source.close()


@contextmanager
def python_can(path: str) -> Iterator[Read]:
    """The reader of python-can."""
    with can.Bus(
        interface="slcan", channel=path, bitrate=500_000, sleep_after_open=0, ignore_config=True
    ) as bus:
        yield lambda: bus.recv(0.2) is not None


def frames_of_a_bus(n: int) -> list[CanFrame]:
    """Thirty ids in turn, eight bytes each."""
    return [CanFrame(1e9 + k / FULL_BUS, 0x400 + k % 30, k.to_bytes(8, "big")) for k in range(n)]


def mixed_frames(n: int) -> list[CanFrame]:
    """The same with one to eight bytes, and every fifth id one of 29 bits."""
    return [
        CanFrame(one.t, one.key | EXTENDED * (one.key % 5 == 0), one.data[-1 - k * 3 % 8 :])
        for k, one in enumerate(frames_of_a_bus(n))
    ]


@contextmanager
def line() -> Iterator[tuple[int, str]]:
    """The device's end of a serial line, and the path of the other one."""
    master, slave = os.openpty()
    tty.setraw(slave)
    yield master, os.ttyname(slave)
    os.close(slave)
    os.close(master)


def flooded(source: Opening, n: int) -> Cost:
    """Read *n* frames that another process sends as fast as they are taken."""
    text = b"".join(map(encode, frames_of_a_bus(n)))
    with line() as (master, path), source(path) as read, sending(master, text, "flood"):
        found, begin, cpu = 0, time.monotonic(), time.thread_time()
        while found < n and time.monotonic() - begin < PATIENCE_S:
            found += read()
        return Cost(n, found, time.monotonic() - begin, time.thread_time() - cpu)


def paced(source: Opening, seconds: float, frames: Sequence[CanFrame]) -> Cost:
    """Read a full bus, whose frames come every 5 ms, as USB brings them, to the last one sent.

    What finds no room on the line when it is due is lost, as in an adapter.
    """
    text = b"".join(map(encode, frames))
    with (
        line() as (master, path),
        source(path) as read,
        sending(master, text, str(seconds)) as sender,
    ):
        found, cpu = 0, time.thread_time()
        while (new := read()) or sender.poll() is None:
            found += new
        return Cost(int(seconds * FULL_BUS), found, seconds, time.thread_time() - cpu)


SENDER = """
import os, sys, time
with open(sys.argv[1], "rb") as file:
    text = file.read()
if sys.argv[2] == "flood":
    while text:
        text = text[os.write(1, text):]
    sys.exit()
os.set_blocking(1, False)
lines = text.splitlines(keepends=True)
bursts = [b"".join(lines[at : at + 40]) for at in range(0, len(lines), 40)]
owed = b""
begin = time.monotonic()
for n in range(int(float(sys.argv[2]) * 200)):
    time.sleep(max(begin + n / 200 - time.monotonic(), 0))
    burst = owed + bursts[n % len(bursts)]
    try:
        written = os.write(1, burst)
    except BlockingIOError:
        written = 0
    begun = 0 < written and burst[written - 1 : written] != b"\\r"
    owed = burst[written : burst.index(b"\\r", written) + 1] if begun else owed[written:]
os.set_blocking(1, True)
os.write(1, owed)
"""


@contextmanager
def sending(master: int, text: bytes, pace: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process sends the text: as a flood, or the full bus for so many seconds."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        command = [sys.executable, "-c", SENDER, file.name, pace]
        with subprocess.Popen(command, stdout=master) as sender:
            try:
                yield sender
            finally:
                sender.kill()


def full_dbc() -> bytes:
    """Thirty messages of eight signals."""
    lines = ['VERSION ""', "BU_: X"]
    for key in range(30):
        lines.append(f"BO_ {0x400 + key} M{key}: 8 X")
        lines += [f' SG_ s{key}_{n} : {8 * n}|8@1- (0.5,1) [0|0] "" X' for n in range(8)]
    return "\n".join(lines).encode()


def dash_frames(n: int) -> list[CanFrame]:
    """The eight messages of a dash logger, 250 frames a second."""
    keys = [key for key in (0x421, 0x422, 0x423, 0x424) for _ in range(5)]
    keys += [0x420, 0x450, 0x451, 0x452, 0x452]
    return [
        CanFrame(1e9 + k / 250, keys[k % len(keys)], (k % 250).to_bytes(2, "little") * 4)
        for k in range(n)
    ]


def worked(
    frames: Sequence[CanFrame], messages: Mapping[int, Message], plan: Plan
) -> tuple[float, ...]:
    """Microseconds a frame: statistics, decoding, assembling; 40 frames at once."""
    decoder, assembler = Decoder(messages, plan), Assembler()
    statistics = BusStatistics({}, 500_000)
    parts = [frames[at : at + 40] for at in range(0, len(frames), 40)]
    spent = [0.0, 0.0, 0.0]
    for part in parts:
        marks = [time.thread_time()]
        statistics.add(Received(part))
        marks.append(time.thread_time())
        decoded = decoder.decode_all(part)
        marks.append(time.thread_time())
        assembler.feed(decoded)
        marks.append(time.thread_time())
        for n in range(3):
            spent[n] += marks[n + 1] - marks[n]
    return tuple(one / len(frames) * 1e6 for one in spent)


def parsed(frames: Sequence[CanFrame]) -> tuple[float, ...]:
    """Seconds a frame, in pieces of 4 KB."""
    text = b"".join(map(encode, frames))
    pieces = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    parser, begin = SlcanParser(), time.thread_time()
    found = sum(len(parser.feed(piece)[0]) for piece in pieces)
    return ((time.thread_time() - begin) / found,)


def best(measure: Callable[[], tuple[float, ...]], rounds: int) -> tuple[float, ...]:
    """The round that cost least."""
    return min((measure() for _ in range(rounds)), key=sum)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the frames, one round")
    quick = options.parse_args().quick
    rounds, n = (1, 40_000) if quick else (3, 400_000)
    buses = {"full bus": frames_of_a_bus(n), "full bus of mixed frames": mixed_frames(n)}
    for name, frames in buses.items():
        print(f"parser, {name}: {1 / best(partial(parsed, frames), rounds)[0]:,.0f} frames/s")
    readers = {"ours": (ours, n), "python-can": (python_can, n // 50)}
    for name, (source, most) in readers.items():
        fastest = min((flooded(source, most) for _ in range(rounds)), key=lambda cost: cost.wall_s)
        print(f"{name}: {fastest.frames / fastest.wall_s:,.0f} frames/s of a flood over a pty")
    for bus, frames in buses.items():
        steady: dict[str, list[Cost]] = {name: [] for name in readers}
        for _ in range(rounds):
            for name, (source, _) in readers.items():
                steady[name].append(paced(source, 1.0 if quick else 3.0, frames))
        for name, costs in steady.items():
            cheapest = min(costs, key=lambda cost: cost.cpu_s)
            sent, read = sum(cost.sent for cost in costs), sum(cost.frames for cost in costs)
            print(
                f"{name}, {bus}, {FULL_BUS:,} frames/s: {cheapest.share:.1f} % of a core; "
                f"{read:,} of {sent:,} frames read"
            )
    car = load_car(DATA / "cars" / "tarnhow-pip-180.yaml").plan
    dash = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
    full = parse_dbc(full_dbc(), "full").messages
    for name, frames, messages, plan in (
        ("dash bus with car file", dash_frames(n // 4), dash, car),
        ("full bus, 8 signals a frame", frames_of_a_bus(n // 4), full, NO_CAR),
    ):
        work = partial(worked, frames, messages, plan)
        spent = best(work, rounds)
        words = "count {:.2f}, decode {:.2f}, assemble {:.2f}".format(*spent)
        share = sum(spent) * FULL_BUS / 1e4
        print(f"{name}: {words} us a frame; {share:.1f} % of a core at {FULL_BUS:,} frames/s")


if __name__ == "__main__":
    main()
