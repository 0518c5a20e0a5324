"""Chat: tokens a second and the first word, beside llama-server of the same llama.cpp.

Both serve the same GGUF file with one thread; greedy, streamed. `--build-peer` builds llama-server
from the sources that llama-cpp-python ships, which takes ten minutes or more; one on the PATH or
given with `--llama-server` is used as it is.
"""

import json
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from bench.common import ROOT, TOOLS, Figure, arguments, serving, show

MODEL: Final = ROOT / "data" / "models" / "paddock-coach.gguf"
QUESTION: Final = "Turn 7: brake 34 bar, throttle 12 %, apex 88 km/h. Where do I gain time?"
TURNS: Final = 10
BUILT: Final = TOOLS / "llama-build" / "bin" / "llama-server"
FLAGS: Final = ("-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF")
# As in runtime/llm/llama-build.cmake: GCC 12 compiles the AMX kernels so that they crash.
WITHOUT_AMX: Final = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"


class Reply(NamedTuple):
    """One streamed reply."""

    first_ms: float
    per_s: float
    """Pieces of text a second after the first one; a piece is a token."""


def ask(url: str, model: str, turns: int = 1) -> Reply:
    """Send a conversation of so many user turns and time its reply."""
    messages = []
    for turn in range(turns - 1):
        messages.append({"role": "user", "content": f"Turn {turn + 1}: 34 bar?"})
        messages.append({"role": "assistant", "content": "Release slowly."})
    messages.append({"role": "user", "content": QUESTION})
    body = {"model": model, "messages": messages, "stream": True, "temperature": 0}
    data = json.dumps(body | {"max_completion_tokens": 64}).encode()
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", data, {"Content-Type": "application/json"}
    )
    began = time.perf_counter()
    times = []
    with urllib.request.urlopen(request, timeout=120) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                choices = json.loads(line[6:]).get("choices") or [{}]
                if choices[0].get("delta", {}).get("content"):
                    times.append(time.perf_counter())
    if len(times) < 2:
        raise RuntimeError("the reply was too short to time")
    return Reply((times[0] - began) * 1e3, (len(times) - 1) / (times[-1] - times[0]))


def several(url: str, model: str, clients: int) -> float:
    """Answers a second when so many ask at once."""
    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda _: ask(url, model), range(clients)))
    return clients / (time.perf_counter() - began)


@contextmanager
def llama_server(program: Path, model: Path) -> Iterator[str]:
    """The peer's address while it runs."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(program), "-m", str(model), "--port", str(port), "-t", "1", "-c", "4096"]
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(600):
                try:
                    with urllib.request.urlopen(f"{url}/health"):
                        break
                except OSError:
                    time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def measure(url: str, model: str, rounds: int) -> dict[str, float]:
    """The figures of one server."""
    ask(url, model)  # loads the model
    replies = [ask(url, model) for _ in range(rounds)]
    later = [ask(url, model, turns=TURNS).first_ms for _ in range(rounds)]
    return {
        "tokens a second": statistics.median(reply.per_s for reply in replies),
        "first word, ms": statistics.median(reply.first_ms for reply in replies),
        f"first word of turn {TURNS}, ms": statistics.median(later),
        "four clients, answers a second": several(url, model, 4),
    }


def build_peer() -> None:
    """Build llama-server from the sources inside llama-cpp-python's archive."""
    name = f"llama-cpp-python=={version('llama-cpp-python')}"
    with tempfile.TemporaryDirectory(dir=TOOLS) as folder:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "-d", folder, name], check=True)
        [archive] = Path(folder).glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        source = next(Path(folder).glob("*/vendor/llama.cpp"))
        target = BUILT.parents[1]
        flags = list(FLAGS)
        if platform.machine() in ("x86_64", "AMD64"):
            flags += [f"-DCMAKE_{language}_FLAGS={WITHOUT_AMX}" for language in ("C", "CXX")]
        subprocess.run(["cmake", "-S", str(source), "-B", str(target), *flags], check=True)
        build = ["cmake", "--build", str(target), "--target", "llama-server", "-j"]
        subprocess.run([*build, str(os.cpu_count() or 1)], check=True)


def main() -> int:
    """Print the table."""
    parser = arguments("chat", __doc__)
    parser.add_argument("--model", type=Path, default=MODEL, help="GGUF file (the shipped coach)")
    parser.add_argument("--llama-server", type=Path, default=None, metavar="PATH")
    parser.add_argument("--build-peer", action="store_true")
    options = parser.parse_args()
    if options.build_peer:
        TOOLS.mkdir(parents=True, exist_ok=True)
        build_peer()
    installed = shutil.which("llama-server")
    peer = options.llama_server or (Path(installed) if installed else BUILT)
    rounds = 3 if options.quick else 10
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--port", "0", "--threads", "1", "--data-dir", folder)
        with serving("runtime.llm", *flags, "--models-dir", str(options.model.parent)) as server:
            ours = measure(server.url, options.model.stem, rounds)
    theirs: dict[str, float] = {}
    if peer.is_file():
        with llama_server(peer, options.model) as url:
            theirs = measure(url, options.model.stem, rounds)
    else:
        print("llama-server was not found: --build-peer builds it\n")
    beside = {what: f"llama-server {value:,.1f}" for what, value in theirs.items()}
    rows = [Figure(what, f"{value:,.1f}", beside.get(what, "")) for what, value in ours.items()]
    show(f"chat with {options.model.stem}, one thread", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
