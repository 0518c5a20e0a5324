"""A frame's way through a live bridge: from a serial line to a listener, and to the disk.

python -m bench.bridge_live [--quick] [--all]

A process of its own plays the adapter on a pseudo-terminal, 350 frames a second, and listens to the
stream: how old is the newest frame of a row when it arrives? The bridge notes when each sample is
on disk. --all runs the other live figures behind it: reading and decoding a full bus, log import,
listeners, replay, each beside its peer.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import tty
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.app import assemble, make_app
from runtime.bridge.can.slcan import encode
from runtime.bridge.can.values import CanFrame
from runtime.bridge.session.recording import Frames, Numbers, Samples
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Appended, SessionMeta
from runtime.web.serve import started

ROOT: Final = Path(__file__).resolve().parents[1]
HZ: Final = 350.0
ENGINE: Final = 0x420
KINDS: Final = ("analytical", "lightweight")
CADENCES_MS: Final = (100, 20)
OTHERS: Final = ("bridge_can", "bridge_logs", "bridge_streams", "bridge_replay")


class Ages(NamedTuple):
    """Milliseconds."""

    p50: float
    p95: float
    p99: float

    @classmethod
    def of(cls, ages_s: Sequence[float] | Numbers) -> "Ages":
        """Of ages in seconds."""
        return cls(*(float(np.percentile(np.array(ages_s) * 1e3, at)) for at in (50, 95, 99)))


class Adapter:
    """Sends frames that count themselves, and listens to what becomes of them."""

    def __init__(self, line: int, url: str, seconds: float) -> None:
        self._line, self._url, self._seconds = line, url, seconds
        self._sent: dict[int, float] = {}
        self._ages: list[float] = []

    def run(self) -> Ages:
        """Drive, listen, and say how old the newest frame of each row was."""
        for task in (self._answer, self._listen):
            threading.Thread(target=task, daemon=True).start()
        begin = time.monotonic() + 1.0
        for number in range(int(self._seconds * HZ)):
            due = begin + number / HZ
            if (wait := due - time.monotonic()) > 0:
                time.sleep(wait)
            count = 1000 + number % 60_000
            data = count.to_bytes(2, "little") + bytes((100, 1, 0, 0, 100, 3))
            self._sent[count] = time.monotonic()
            os.write(self._line, encode(CanFrame(0.0, ENGINE, data)))
        time.sleep(0.5)
        return Ages.of(self._ages[10:])

    def _answer(self) -> None:
        """Read the commands that open the adapter."""
        while os.read(self._line, 4096):
            pass

    def _listen(self) -> None:
        address = f"{self._url}/telemetry/stream?session_id=*"
        with urllib.request.urlopen(address) as stream:  # noqa: S310 - our own bridge
            for line in stream:
                if not line.startswith(b"data: {"):
                    continue
                told = json.loads(line[6:]).get("rpm")
                if told is not None and (sent := self._sent.get(int(told))) is not None:
                    self._ages.append(time.monotonic() - sent)


class Watched:
    """A store that notes how old samples are when they are on disk."""

    def __init__(self, store: Store) -> None:
        self.ages: list[float] = []
        self._store = store
        self._append = store.append_frames
        store.append_frames = self._timed  # type: ignore[method-assign]

    async def _timed(
        self,
        session_id: str,
        frames: Frames,
        extras: Mapping[str, Samples] | None = None,
        meta: SessionMeta = SessionMeta(),  # noqa: B008 - immutable
        now_ms: int | None = None,
    ) -> Appended:
        done = await self._append(session_id, frames, extras, meta, now_ms)
        now = time.time()
        for samples in (extras or {}).values():
            self.ages += (now - samples.t).tolist()
        return done


async def measured(kind: str, flush_ms: int, seconds: float) -> tuple[Ages, Ages, float]:
    """To the stream, to the disk, and the share of a core that the bridge took."""
    master, slave = os.openpty()
    tty.setraw(slave)
    with tempfile.TemporaryDirectory() as folder:
        settings = BridgeSettings.model_validate(
            {
                "db": Path(folder) / "db",
                "db_backend": kind,
                "can_interface": "slcan",
                "can_channel": os.ttyname(slave),
                "can_car_config": "oberling-vesper-30",
                "can_flush_ms": flush_ms,
            }
        )
        service = assemble(settings)
        async with started(make_app(service)) as running:
            watched = Watched(service.db)
            begin = time.process_time(), time.monotonic()
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "bench.bridge_live", "--adapter", str(master)),
                *("--url", running.url, "--seconds", str(seconds)),
                cwd=ROOT,
                stdout=subprocess.PIPE,
                pass_fds=(master,),
            )
            told, _ = await process.communicate()
            spent = (time.process_time() - begin[0]) / (time.monotonic() - begin[1])
            assert service.bus is not None
            lost = int(seconds * HZ) - service.bus.snapshot().frames_total
            if lost:
                print(f"  {lost} frames lost")
    os.close(master)
    os.close(slave)
    return Ages(*json.loads(told)), Ages.of(watched.ages), spent


def main(argv: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_live", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few seconds each")
    parser.add_argument("--all", action="store_true", help="every live figure, one after the other")
    parser.add_argument("--adapter", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=0.0, help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    if asked.adapter is not None:
        print(json.dumps(Adapter(asked.adapter, asked.url, asked.seconds).run()))
        return 0
    seconds = 5.0 if asked.quick else 20.0
    print(f"{HZ:.0f} frames/s on a serial line; p50 / p95 / p99 ms", flush=True)
    for kind in KINDS:
        for flush_ms in CADENCES_MS:
            stream, disk, spent = asyncio.run(measured(kind, flush_ms, seconds))
            print(
                f"{kind:<12} rows of {flush_ms:>3} ms:"
                f"  to the stream {stream.p50:6.1f} /{stream.p95:6.1f} /{stream.p99:6.1f}"
                f"  to the disk {disk.p50:6.1f} /{disk.p95:6.1f} /{disk.p99:6.1f}"
                f"  core {spent:.0%}",
                flush=True,
            )
    for name in OTHERS if asked.all else ():
        print(f"\n{name}", flush=True)
        quick = ("--quick",) if asked.quick else ()
        subprocess.run([sys.executable, "-m", f"bench.{name}", *quick], cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
