"""The bridge's `curl` lines of the README, typed as they stand, while a synthetic car drives."""

import json
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
ADDRESS = "localhost:8765"
TIMED_OUT = 28
"""curl's exit code where a stream was cut off by the clock."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bridge as the README starts it, but with shorter laps and on a free port."""
    command = [sys.executable, "-m", "runtime.bridge", "--port", "0", "--simulate", "--example"]
    command += ["--simulate-speed", "20", "--simulate-lap-seconds", "30"]
    command += ["--db", str(tmp_path_factory.mktemp("bridge"))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        yield f"localhost:{json.loads(process.stdout.readline())['port']}"
        process.terminate()
        assert process.wait(20) == 0


def got(address: str, path: str) -> Any:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
        return json.loads(answer.read())


def driven(address: str) -> str:
    """The session of the car, once it has two laps."""
    while True:
        for row in got(address, "/sessions")["sessions"]:
            if row["lap_count"] >= 2:
                return str(row["session_id"])
        time.sleep(0.2)


def test_every_curl_line_of_the_bridge_works(root: Path, address: str) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    lines = [x for x in text.splitlines() if x.startswith("curl ") and ADDRESS in x]
    assert len(lines) >= 4
    session = driven(address)
    for line in lines:
        endless = " -N " in line
        typed = line.replace(ADDRESS, address).replace("SESSION", session)
        limit_s = 3 if endless else 30
        typed = typed.replace("curl ", f"curl -sS --fail-with-body --max-time {limit_s} ", 1)
        run = subprocess.run(
            ["sh", "-c", typed], capture_output=True, text=True, timeout=50, check=False
        )
        assert run.returncode == (TIMED_OUT if endless else 0), f"{line}\n{run.stderr}"
        if endless:
            assert "event: hello" in run.stdout
            assert run.stdout.count("\ndata: {") > 1, line
        else:
            assert "error" not in json.loads(run.stdout), line
