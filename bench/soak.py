"""A long drive: a full CAN bus, frames over HTTP, listeners and questions, for a chosen time.

The bridge reads a bus of 1 Mbit/s from a pseudo-terminal (8,000 frames a second) and stores what it
decodes. A client sends 50 frames a second and counts the acknowledged ones, sixteen listeners read
the live stream and another never reads. The coach and the language model get a question every five
seconds, the analytics a request every ten. New sessions begin every ten minutes. At the end all
acknowledged frames must be stored and memory must be level; the exit status says so.

A run of a few minutes says nothing about memory: the page caches of SQLite first fill to about
20 MiB, and the bridge caches a session, 6 MiB a minute on a full bus, until it ends.
"""

import argparse
import asyncio
import itertools
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from statistics import linear_regression
from typing import Any, Final, NamedTuple

import aiohttp
import psutil

from bench.canbus import FULL_BUS, full_bus
from bench.common import ROOT, Server, bridge, percentiles, start_server

COACH: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
HZ: Final = 50
STINT_S: Final = 600
"""After this time new sessions begin."""
LISTENERS: Final = 16
SETTLED: Final = 0.3
"""Share of the run after which memory counts; caches fill before."""
MAX_GROWTH: Final = 1 << 20
"""Bytes a minute."""
SHORT_S: Final = 1200.0
"""A shorter run does not judge memory."""
QUESTIONS: Final = (
    "Where do I lose time?",
    "How is my braking?",
    "What was my fastest lap?",
    "Did I spin?",
    "Which gear in turn 3?",
    "How is the oil temperature?",
)
ANALYTICS: Final = ("laps", "stats", "corners", "highlights", "map", "signals?names=speed_ms,rpm")


class Usage(NamedTuple):
    """What a server used at a moment."""

    t: float
    memory: int
    """Bytes, with all child processes."""
    handles: int
    """Open files and threads."""


class Soak:
    """One run and what it counted."""

    def __init__(self, servers: dict[str, Server], http: aiohttp.ClientSession) -> None:
        self.answer_ms: list[float] = []
        self.statuses: Counter[str] = Counter()
        """Answers by kind of request and status."""
        self.events: Counter[int] = Counter()
        """Live frames by listener."""
        self.usage: defaultdict[str, list[Usage]] = defaultdict(list)
        self._servers = servers
        self._bridge, self._llm = servers["bridge"].url, servers["language model"].url
        self._http = http
        self._session = ""
        """The session that the client sends frames to."""

    async def run(self, seconds: float) -> None:
        """Do everything at once."""
        work = [
            repeat(STINT_S, self.change_session),
            repeat(1 / HZ, self.send_frame),
            repeat(5.0, self.ask),
            repeat(10.0, self.analyse),
            repeat(min(5.0, seconds / 20), self.note_usage),
            *(self.listen(number) for number in range(LISTENERS + 1)),
        ]
        tasks = [asyncio.create_task(job) for job in work]
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when="FIRST_EXCEPTION")
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in done:
            task.result()

    async def send_frame(self, number: int) -> None:
        """Send one frame and note how long its answer takes."""
        stint, frame = divmod(number, STINT_S * HZ)
        self._session = f"counted-{stint + 1}"
        body = {"timestamp": frame / HZ, "speed_ms": 30 + number % 20, "rpm": 4000 + number % 100}
        began = time.monotonic()
        await self._request("frame", "POST", f"{self._bridge}/session/{self._session}/frame", body)
        self.answer_ms.append((time.monotonic() - began) * 1e3)

    async def change_session(self, number: int) -> None:
        """End the session of the bus, so that the next one begins."""
        if number:
            url = f"{self._bridge}/session/{await self.find_bus_session()}/end"
            await self._request("end", "POST", url)

    async def find_bus_session(self) -> str:
        """The open session of the bus."""
        async with self._http.get(f"{self._bridge}/sessions") as answer:
            rows = (await answer.json())["sessions"]
        is_open = (row["session_id"] for row in rows if is_of_bus(row) and row["ended_at"] is None)
        return next(is_open, "_live")

    async def ask(self, number: int) -> None:
        """Put a question to the coach and another to the language model."""
        question = {"question": QUESTIONS[number % len(QUESTIONS)], "session_id": self._session}
        await self._request("coach", "POST", f"{self._bridge}/coach/ask", question)
        turns = [{"role": "user", "content": f"Lap {number}: say something about braking."}]
        chat = {"model": COACH.stem, "messages": turns, "max_completion_tokens": 24}
        await self._request("chat", "POST", f"{self._llm}/v1/chat/completions", chat)

    async def analyse(self, number: int) -> None:
        """Request one analytic of each open session."""
        for session in (self._session, await self.find_bus_session()):
            path = ANALYTICS[number % len(ANALYTICS)]
            await self._request("analytics", "GET", f"{self._bridge}/session/{session}/{path}")

    async def _request(self, kind: str, method: str, url: str, body: object = None) -> None:
        async with self._http.request(method, url, json=body) as answer:
            await answer.read()
            self.statuses[f"{kind} {answer.status}"] += 1

    async def listen(self, number: int) -> None:
        """Count live frames until cancelled; listener 0 never reads."""
        url = f"{self._bridge}/telemetry/stream?session_id=*"
        while True:  # the bridge cuts off a listener that never reads; it connects again
            with suppress(aiohttp.ClientError):
                async with self._http.get(url) as stream:
                    if not number:
                        await asyncio.sleep(30)
                        continue
                    async for line in stream.content:
                        self.events[number] += line.startswith(b"data:")
            await asyncio.sleep(1)

    async def note_usage(self, _: int) -> None:
        """Note memory and handles of both servers."""
        for name, server in self._servers.items():
            process = psutil.Process(server.pid)
            tree = [process, *process.children(recursive=True)]
            memory = sum(member.memory_info().rss for member in tree)
            handles = process.num_fds() + process.num_threads()
            self.usage[name].append(Usage(time.monotonic(), memory, handles))


async def repeat(seconds: float, work: Callable[[int], Awaitable[None]]) -> None:
    """Call *work* with the number of the round at a fixed rate, until cancelled."""
    began = time.monotonic()
    for number in itertools.count():
        await asyncio.sleep(max(0.0, began + number * seconds - time.monotonic()))
        await work(number)


def is_of_bus(row: dict[str, Any]) -> bool:
    """Whether a session was recorded from the bus."""
    return "live" in row["session_id"]


def growth(usage: list[Usage]) -> float:
    """Bytes a minute once the caches are full: the slope of the regression line."""
    began, ended = usage[0].t, usage[-1].t
    late = [mark for mark in usage if mark.t - began >= SETTLED * (ended - began)]
    return 60 * linear_regression([m.t for m in late], [m.memory for m in late]).slope


async def soak(servers: dict[str, Server], seconds: float) -> bool:
    """Run, print what was counted, and return whether nothing was lost and memory is level."""
    connector, timeout = aiohttp.TCPConnector(limit=0), aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
        run = Soak(servers, http)
        await run.run(seconds)

        async def get(path: str) -> Any:
            async with http.get(servers["bridge"].url + path) as answer:
                return await answer.json()

        bus, health = await get("/diagnostics/can"), await get("/health")
        stored: Counter[bool] = Counter()
        for row in (await get("/sessions"))["sessions"]:
            stored[is_of_bus(row)] += (await get(f"/session/{row['session_id']}"))["n_frames"]
    acknowledged, events = run.statuses["frame 200"], sorted(run.events.values())
    p50, p99 = percentiles(run.answer_ms)
    print(
        f"soak of {seconds / 60:.1f} minutes\n"
        f"bus: {seconds * FULL_BUS:,.0f} frames sent, {bus['frames_total']:,} read,"
        f" {stored[True]:,} rows stored, {bus['dropped_rows']} dropped\n"
        f"HTTP: {acknowledged:,} frames acknowledged, {stored[False]:,} stored,"
        f" answered in {p50:.1f} ms (p50), {p99:.1f} ms (p99)\n"
        f"database: {health['db']['writer']}\n"
        f"listeners: {events[0]:,} to {events[-1]:,} live frames,"
        f" {health['streams']['dropped']:,} dropped for the listener that never reads\n"
        f"answers: {dict(run.statuses)}"
    )
    level = True
    for name, usage in run.usage.items():
        slope = growth(usage)
        level &= slope < MAX_GROWTH or seconds < SHORT_S
        settled, last = usage[int(SETTLED * len(usage))], usage[-1]
        print(
            f"{name}: {settled.memory >> 20} MiB after {SETTLED:.0%}, {last.memory >> 20} MiB at"
            f" the end, {slope / (1 << 20):+.2f} MiB a minute; {settled.handles} and"
            f" {last.handles} open files and threads"
        )
    failed = [status for status in run.statuses if "500" <= status.split()[-1] <= "599"]
    return level and stored[False] >= acknowledged and not bus["dropped_rows"] and not failed


def main() -> int:
    """Return 1 where something was lost, failed or grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--db-backend", default="lightweight")
    options = parser.parse_args()
    seconds = 60 * options.minutes
    with tempfile.TemporaryDirectory() as folder, full_bus() as bus:
        model = ("--port", "0", "--data-dir", folder, "--models-dir", str(COACH.parent))
        with (
            start_server("runtime.llm", *model) as llm,
            bridge(
                options.db_backend,
                *("--can-interface", "slcan", "--can-channel", bus.path),
                *("--can-bitrate", "1000000", "--model-url", f"{llm.url}/v1"),
            ) as server,
            bus.sending(seconds),
        ):
            return not asyncio.run(soak({"bridge": server, "language model": llm}, seconds))


if __name__ == "__main__":
    sys.exit(main())
