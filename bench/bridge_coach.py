"""Measures the coach with the model that is shipped: `python -m bench.bridge_coach --quick`."""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypedDict

import aiohttp
import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE
from runtime.bridge.track.library import read_track
from tools.drive import USUAL, drive

ROOT: Final = Path(__file__).resolve().parent.parent
TRACK: Final = read_track(ROOT / "data" / "tracks" / "larkfell.json")[0]
KINDS: Final = ("lightweight", "analytical")
QUESTIONS: Final = (
    "Where do I lose the most time?",
    "How do I get more exit speed at Turn 11?",
    "Was I consistent?",
)


class Told(TypedDict):
    """What of a debrief is looked at."""

    narrative_source: str
    sentences_kept: int
    ungrounded_dropped: int
    latency_ms: float


class Debriefs(NamedTuple):
    """What the debriefs of one database came to."""

    sessions: int
    by_model: int
    kept: int
    """Sentences of the model that were shown."""
    dropped: int
    latency_ms: tuple[float, ...]


@contextmanager
def program(*command: str) -> Iterator[str]:
    """A server of this project in a process of its own; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield f"http://127.0.0.1:{ready['port']}"
    finally:
        process.terminate()
        process.wait(30)


def frames(seed: int) -> list[dict[str, float]]:
    """Four laps at 10 Hz, as a client sends them; the driver differs with the seed."""
    skill = 0.6 + 0.35 * ((seed * 7) % 10) / 10
    driven = drive(TRACK, 4, hz=10.0, seed=seed, skill=skill, noise=USUAL)
    columns = {name: driven.frames.columns[name].tolist() for name in WIDE}
    count = len(columns[TIMESTAMP])
    return [{name: values[at] for name, values in columns.items()} for at in range(count)]


async def debriefs(http: aiohttp.ClientSession, count: int) -> Debriefs:
    """Debrief so many sessions, one after another."""
    by_model = kept = dropped = 0
    taken = []
    for seed in range(count):
        session = f"s{seed}"
        meta = {"session_id": session, "driver": "Mia", "track": TRACK.name}
        await posted(http, "/session/start", meta)
        await posted(http, f"/session/{session}/frames", {"frames": frames(seed)})
        told = await posted(http, "/coach/debrief", {"session_id": session})
        by_model += told["narrative_source"] == "local_model"
        kept += told["sentences_kept"]
        dropped += told["ungrounded_dropped"]
        taken.append(told["latency_ms"])
    return Debriefs(count, by_model, kept, dropped, tuple(taken))


async def posted(http: aiohttp.ClientSession, path: str, body: Mapping[str, object]) -> Told:
    """The answer to a request that must be good."""
    async with http.post(path, json=body) as answer:
        answer.raise_for_status()
        found: Told = await answer.json()
        return found


async def first_words(http: aiohttp.ClientSession) -> list[float]:
    """Milliseconds until the first word of each answer; none where questions are not answered."""
    taken = []
    for question in QUESTIONS:
        body = {"question": question, "driver_id": "Mia", "session_id": "s0"}
        before = time.perf_counter()
        async with http.post("/coach/ask/stream", json=body) as answer:
            if answer.status != 200:
                return []
            async for line in answer.content:
                if line.startswith(b'data: {"delta"'):
                    taken.append((time.perf_counter() - before) * 1000)
                    break
    return taken


async def measure(kind: str, model: str, folder: Path, count: int) -> None:
    """One database."""
    flags = ("--port", "0", "--db-backend", kind, "--db", str(folder / kind))
    with program("runtime.bridge", *flags, "--model-url", f"{model}/v1") as url:
        async with aiohttp.ClientSession(url) as http:
            found = await debriefs(http, count)
            words = await first_words(http)
    said = found.kept + found.dropped
    share = 100 * found.kept / said if said else 0.0
    p50, worst = np.percentile(np.array(found.latency_ms), (50, 100))
    sys.stdout.write(
        f"{kind:12} {found.by_model}/{found.sessions} debriefs with words of the model, "
        f"{found.kept}/{said} of its sentences kept ({share:.0f} %), "
        f"p50 {p50:.0f} ms, worst {worst:.0f} ms\n"
    )
    shown = ", ".join(f"{one:.0f}" for one in words) or "questions are off"
    sys.stdout.write(f"{kind:12} first word of a streamed answer, ms: {shown}\n")


def main(argv: Sequence[str]) -> int:
    """Measure both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8 sessions instead of 40")
    count = 8 if parser.parse_args(argv).quick else 40
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags = ("--port", "0", "--models-dir", str(ROOT / "data" / "models"))
        with program("runtime.llm", *flags, "--data-dir", str(folder / "llm")) as model:
            for kind in KINDS:
                asyncio.run(measure(kind, model, folder, count))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
