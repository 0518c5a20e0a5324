"""A long drive: a full CAN bus, frames over HTTP, listeners and questions, for as long as is asked.

The bridge reads a bus of 1 Mbit/s from a pseudo-terminal (8,000 frames a second) and stores what it
decodes. Meanwhile a client sends 50 frames a second and keeps count of what was acknowledged,
sixteen listeners read the live stream and another one never reads, the coach and the language model
are asked something every five seconds, and analytics every ten. Sessions take ten minutes, as on a
day at a circuit. In the end everything that was acknowledged must be there, and memory be level:
the exit status says so.

A run of some minutes says nothing of memory. At first the page caches of SQLite fill, with some
20 MiB together, and what is read of a session grows until it ends: on a full bus by 6 MiB a minute.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import psutil

from bench.canbus import FULL_BUS, full_bus
from bench.common import ROOT, Server, bridge, percentiles, serving

COACH: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
HZ: Final = 50
STINT_S: Final = 600
"""Then new sessions begin."""
LISTENERS: Final = 16
SETTLED: Final = 0.3
"""Of the time: until then caches fill, afterwards memory is looked at."""
MOST_GROWTH: Final = 1 << 20
"""Bytes a minute."""
SHORT_S: Final = 1200.0
"""In less time nothing can be said of memory: the caches of SQLite still fill."""
QUESTIONS: Final = (
    "Where do I lose time?",
    "How is my braking?",
    "What was my fastest lap?",
    "Did I spin?",
    "Which gear in turn 3?",
    "How is the oil temperature?",
)
ANALYTICS: Final = ("laps", "stats", "corners", "highlights", "map", "signals?names=speed_ms,rpm")


@dataclass
class Log:
    """What was done and seen."""

    acknowledged: int = 0
    answered_ms: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    """By what was asked and the status of the answer."""
    events: Counter[int] = field(default_factory=Counter)
    """Live frames by listener."""
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    """By program: seconds since the begin, and bytes with all children."""
    handles: dict[str, list[int]] = field(default_factory=dict)
    """By program: open files and threads of the server."""


class Soak:
    """A run."""

    def __init__(self, servers: dict[str, Server], http: aiohttp.ClientSession) -> None:
        self.log = Log()
        self._servers = servers
        self._bridge, self._llm = servers["bridge"].url, servers["language model"].url
        self._http = http
        self._began = time.monotonic()
        self.session = ""
        """The one that is driven now."""

    async def every(self, seconds: float, work: Callable[[int], Awaitable[None]]) -> None:
        """Do it at a fixed rate, until cancelled; numbers count the rounds."""
        began, number = time.monotonic(), 0
        while True:
            await work(number)
            number += 1
            await asyncio.sleep(max(0.0, began + number * seconds - time.monotonic()))

    async def send(self, number: int) -> None:
        """One frame of the session that is counted."""
        stint, frame = divmod(number, STINT_S * HZ)
        self.session = f"counted-{stint + 1}"
        body = {"timestamp": frame / HZ, "speed_ms": 30 + number % 20, "rpm": 4000 + number % 100}
        began = time.monotonic()
        url = f"{self._bridge}/session/{self.session}/frame"
        async with self._http.post(url, json=body) as answer:
            self.log.acknowledged += answer.status == 200
            self.log.statuses[f"frame {answer.status}"] += 1
        self.log.answered_ms.append((time.monotonic() - began) * 1e3)

    async def change(self, number: int) -> None:
        """End the session of the bus, so that another one begins."""
        if number:
            url = f"{self._bridge}/session/{await self.driven()}/end"
            await self._asked("end", "POST", url, None)

    async def driven(self) -> str:
        """The session of the bus that is open."""
        async with self._http.get(f"{self._bridge}/sessions") as answer:
            rows = (await answer.json())["sessions"]
        return next(
            (row["session_id"] for row in rows if _of_bus(row) and row["ended_at"] is None), "_live"
        )

    async def ask(self, number: int) -> None:
        """The coach and the model something."""
        question = {"question": QUESTIONS[number % len(QUESTIONS)], "session_id": self.session}
        await self._asked("coach", "POST", f"{self._bridge}/coach/ask", question)
        turns = [{"role": "user", "content": f"Lap {number}: say something about braking."}]
        chat = {"model": COACH.stem, "messages": turns, "max_completion_tokens": 24}
        await self._asked("chat", "POST", f"{self._llm}/v1/chat/completions", chat)

    async def analyse(self, number: int) -> None:
        """One analytic of each session."""
        for sid in (self.session, await self.driven()):
            path = ANALYTICS[number % len(ANALYTICS)]
            await self._asked("analytics", "GET", f"{self._bridge}/session/{sid}/{path}", None)

    async def _asked(self, what: str, method: str, url: str, body: object) -> None:
        async with self._http.request(method, url, json=body) as answer:
            await answer.read()
            good = answer.status == 200 or (what == "analytics" and answer.status < 500)
            self.log.statuses[f"{what} {'answered' if good else answer.status}"] += 1

    async def listen(self, number: int) -> None:
        """Count live frames until cancelled; listener 0 never reads."""
        url = f"{self._bridge}/telemetry/stream?session_id=*"
        while True:  # who never reads is cut off, and comes back
            with suppress(aiohttp.ClientError):
                async with self._http.get(url) as stream:
                    if not number:
                        await asyncio.sleep(30)
                        continue
                    async for line in stream.content:
                        self.log.events[number] += line.startswith(b"data:")
            await asyncio.sleep(1)

    async def look(self, number: int) -> None:
        """Note memory and handles."""
        for name, server in self._servers.items():
            process = psutil.Process(server.pid)
            tree = [process, *process.children(recursive=True)]
            used = sum(one.memory_info().rss for one in tree)
            self.log.memory.setdefault(name, []).append((time.monotonic() - self._began, used))
            self.log.handles.setdefault(name, []).append(process.num_fds() + process.num_threads())

    async def run(self, seconds: float) -> None:
        """All of it at once."""
        work = [
            self.every(STINT_S, self.change),
            self.every(1 / HZ, self.send),
            self.every(5.0, self.ask),
            self.every(10.0, self.analyse),
            self.every(min(5.0, seconds / 20), self.look),
            *(self.listen(number) for number in range(LISTENERS + 1)),
        ]
        tasks = [asyncio.create_task(one) for one in work]
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when="FIRST_EXCEPTION")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()


def growth(marks: list[tuple[float, int]]) -> float:
    """Bytes a minute after the caches have filled: the slope of the line through the marks."""
    late = [mark for mark in marks if mark[0] >= SETTLED * marks[-1][0]]
    mean_t = sum(t for t, _ in late) / len(late)
    mean = sum(used for _, used in late) / len(late)
    spread = sum((t - mean_t) ** 2 for t, _ in late)
    return 60 * sum((t - mean_t) * (used - mean) for t, used in late) / spread


def _of_bus(row: dict[str, Any]) -> bool:
    return "live" in row["session_id"]


async def soak(servers: dict[str, Server], seconds: float) -> tuple[Log, dict[str, Any]]:
    """What happened, and what the bridge says of itself in the end."""
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        run = Soak(servers, http)
        await run.run(seconds)
        url, found = servers["bridge"].url, {}
        for name, path in {
            "health": "/health",
            "can": "/diagnostics/can",
            "sessions": "/sessions",
        }.items():
            async with http.get(url + path) as answer:
                found[name] = await answer.json()
        found["counted"] = found["live"] = 0
        for row in found["sessions"]["sessions"]:
            async with http.get(f"{url}/session/{row['session_id']}") as answer:
                found["live" if _of_bus(row) else "counted"] += (await answer.json())["n_frames"]
    return run.log, found


def report(log: Log, found: dict[str, Any], seconds: float) -> bool:
    """Print what was seen; whether nothing is lost and memory is level."""
    stored = found["counted"]
    streams, writer, bus = found["health"]["streams"], found["health"]["db"]["writer"], found["can"]
    p50, p99 = percentiles(log.answered_ms or [float("nan")])
    heard = sorted(log.events.values())
    print(
        f"soak of {seconds / 60:.1f} minutes\n"
        f"bus: {seconds * FULL_BUS:,.0f} frames sent, {bus['frames_total']:,} read,"
        f" {found['live']:,} rows stored, {bus['dropped_rows']} dropped\n"
        f"HTTP: {log.acknowledged:,} frames acknowledged, {stored:,} stored,"
        f" answered in {p50:.1f} ms (p50), {p99:.1f} ms (p99)\n"
        f"database: {writer['commits']:,} commits, {writer['refused']} refused,"
        f" {writer['failed']} failed\n"
        f"listeners: {heard[0]:,} to {heard[-1]:,} live frames,"
        f" {streams['dropped']:,} dropped for the one that never reads"
    )
    for name in sorted(log.statuses.keys() - {"frame 200"}):
        print(f"{name}: {log.statuses[name]:,}")
    level = True
    for name, marks in log.memory.items():
        slope = growth(marks)
        level &= slope < MOST_GROWTH or seconds < SHORT_S
        at, handles = int(SETTLED * len(marks)), log.handles[name]
        print(
            f"{name}: {marks[at][1] >> 20} MiB after {SETTLED:.0%}, {marks[-1][1] >> 20} MiB at the"
            f" end, {slope / (1 << 20):+.2f} MiB a minute; {handles[at]} and {handles[-1]} open"
            " files and threads"
        )
    failed = [name for name in log.statuses if "500" <= name.split()[-1] <= "599"]
    return level and stored >= log.acknowledged and not bus["dropped_rows"] and not failed


def main() -> int:
    """The exit status is 1 where something was lost, failed or grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--db-backend", default="lightweight")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder, full_bus() as bus:
        model = ("--port", "0", "--data-dir", folder, "--models-dir", str(COACH.parent))
        with (
            serving("runtime.llm", *model) as llm,
            bridge(
                options.db_backend,
                *("--can-interface", "slcan", "--can-channel", bus.path),
                *("--can-bitrate", "1000000", "--model-url", f"{llm.url}/v1"),
            ) as server,
            bus.sending(seconds),
        ):
            servers = {"bridge": server, "language model": llm}
            log, found = asyncio.run(soak(servers, seconds))
    return 0 if report(log, found, seconds) else 1


if __name__ == "__main__":
    sys.exit(main())
