"""Replay: how punctually frames go out; simulator: what a frame costs and how fast it can drive.

python -m bench.bridge_replay [--quick]

Frames go out on an event loop that does nothing else, by the real clock; how late each one is
stands against a loop that sleeps from one frame to the next, as most replays do. The simulator
sends through python-can's virtual channel to a reader that decodes every frame.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from runtime.bridge.can.assembler import Assembler
from runtime.bridge.can.bus import open_source
from runtime.bridge.can.cars import load_car
from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.can.decode import Decoder
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.live.pacing import Pacing, pace
from runtime.bridge.live.replay import Replay
from runtime.bridge.live.source import Recorded
from runtime.bridge.session.recording import TIMESTAMP, Frames, LiveFrame, Numbers, Samples
from runtime.bridge.simulator.schedule import Schedule, schedule_of
from runtime.bridge.simulator.simulator import Simulator, SourceSend
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library
from tools.drive import drive

DATA = Path(__file__).resolve().parents[1] / "data"
SIGNALS = 60
RATES = ((10.0, 1.0), (50.0, 1.0), (100.0, 1.0), (100.0, 10.0), (10.0, 100.0))
"""Frames a second, and speed."""
CHANNEL = "bench-simulator"


class Late(NamedTuple):
    """Milliseconds after the due time."""

    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, at: Sequence[float], due: Numbers, speed: float) -> "Late":
        """Of frames that went out *at* these times; the first one is the measure of the others."""
        wanted = at[0] + (due[: len(at)] - due[0]) / speed
        late = (np.array(at) - wanted) * 1000.0
        return cls(*(float(np.percentile(late, share)) for share in (50, 99, 100)))


async def replayed(store: Store, hz: float, speed: float, seconds: float) -> tuple[Late, float]:
    """How late the frames of a session with many signals are; and the share of a core."""
    session = f"at {hz:g} Hz for {seconds * speed:g} s"
    if store.session(session) is None:
        await store.append_frames(session, *_session(hz, seconds * speed))
    row = store.session(session)
    assert row is not None
    source = await Recorded.read(store, row)
    at: list[float] = []
    spent: list[float] = []

    def publish(_: LiveFrame) -> None:
        at.append(time.monotonic())
        spent.append(time.process_time())

    pacing = pace(source.t)
    replay = Replay("replay-bench", source, pacing, speed, False, publish, _nothing)
    await replay.run()
    return Late.of(at, pacing.due, speed), (spent[-1] - spent[0]) / (at[-1] - at[0])


async def slept(pacing: Pacing, speed: float) -> Late:
    """A loop that sleeps for each step."""
    at = [time.monotonic()]
    for step in np.diff(pacing.due).tolist():
        await asyncio.sleep(step / speed)
        at.append(time.monotonic())
    return Late.of(at, pacing.due, speed)


def _nothing(*_: object) -> None:
    """Nobody listens."""


def _session(hz: float, seconds: float) -> tuple[Frames, dict[str, Samples]]:
    track = Library.read(DATA / "tracks").tracks["larkfell"]
    laps = max(1, round(seconds / 90.0 + 1))
    frames = drive(track, laps, hz=hz).frames
    count = min(len(frames), max(2, round(seconds * hz)))
    columns = {name: values[:count] for name, values in frames.columns.items()}
    t = columns[TIMESTAMP]
    return Frames(columns), {f"signal_{n}": Samples(t, np.sin(t + n)) for n in range(SIGNALS)}


def _schedule() -> Schedule:
    track = Library.read(DATA / "tracks").tracks["larkfell"]
    messages = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
    return schedule_of(track, 90.0, messages, load_car(DATA / "cars" / "oberling-vesper-30.yaml"))


def encoded(seconds: int) -> float:
    """Processor microseconds for a frame of the synthetic car."""
    schedule = _schedule()
    begun = time.process_time()
    count = sum(len(schedule.second(number)) for number in range(seconds))
    return (time.process_time() - begun) / count * 1e6


def driven(speed: float, seconds: float) -> tuple[float, float]:
    """What speed comes about with a reader that decodes everything; and the share of a core."""
    messages = load_dbc(DATA / "dbc" / "paddock-dash.dbc").messages
    car = load_car(DATA / "cars" / "oberling-vesper-30.yaml")
    decoder, assembler = Decoder(messages, car.plan), Assembler()
    wiring = CanSettings(channel=CHANNEL, listen_only=False, keep_stamps=True)
    reader, send, taken = open_source(wiring), SourceSend(lambda: open_source(wiring)), [0]
    simulator = Simulator(send, _schedule(), speed, taken=lambda: taken[0])
    simulator.start()
    begun, cpu = time.monotonic(), time.process_time()
    while (now := time.monotonic()) - begun < seconds:
        received = reader.read(0.1)
        assembler.feed(decoder.decode_all(received.frames))
        taken[0] += len(received.frames)
    reached = simulator.state().drive_s / (now - begun)
    used = (time.process_time() - cpu) / (now - begun)
    simulator.stop()
    send.close()
    reader.close()
    return reached, used


async def replays(seconds: float, say: Callable[[str], None]) -> None:
    """The table of the replay."""
    say(f"{'replay':>22} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8} {'core':>6}   sleeping by steps")
    with tempfile.TemporaryDirectory() as folder:
        store = await Store.open(Path(folder) / "bench.db", "lightweight")
        for hz, speed in RATES:
            late, core = await replayed(store, hz, speed, seconds)
            steps = pace(np.arange(round(seconds * speed * hz)) / hz)
            plain = await slept(steps, speed)
            name = f"{hz:g} Hz at {speed:g}x"
            say(
                f"{name:>22} {late.p50:8.2f} {late.p99:8.2f} {late.most:8.2f} {core:6.1%}"
                f"   p99 {plain.p99:.1f} ms"
            )
        await store.close()


def main(argv: Sequence[str] | None = None) -> int:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_replay", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    given = parser.parse_args(argv)
    seconds = 3.0 if given.quick else 20.0
    asyncio.run(replays(seconds, print))
    print(f"simulator: {encoded(10 if given.quick else 60):.1f} us of processor time a frame")
    for speed in (1.0, 10.0, 100.0):
        reached, core = driven(speed, seconds)
        print(f"simulator at {speed:5.1f}x: reaches {reached:6.2f}x with its reader, {core:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
