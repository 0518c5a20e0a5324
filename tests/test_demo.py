"""`make demo` as a reader runs it: in a terminal, ended with Ctrl-C."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

ROOT = Path(__file__).resolve().parent.parent
# A pseudo-terminal of its own, in a process of its own: what we write is what is typed.
TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"


@pytest.fixture
def terminal() -> Iterator[subprocess.Popen[bytes]]:
    ports = ["PORT=0", "LLM_PORT=0", "BRIDGE_PORT=0"]
    command = [sys.executable, "-c", TERMINAL, "make", "demo", *ports]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    ) as process:
        yield process
        process.kill()


def read_json(url: str) -> dict[str, object]:
    with urlopen(url) as answer:
        assert answer.status == 200
        found = json.load(answer)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_the_demo_serves_course_and_coach_and_ctrl_c_ends_it_well(
    terminal: subprocess.Popen[bytes],
) -> None:
    assert terminal.stdin is not None
    assert terminal.stdout is not None
    shown = b""
    while not (base := re.search(rb"OpenAI base URL: (http://[\w.:]+/v1)", shown)):
        piece = terminal.stdout.read(4096)
        assert piece, shown.decode()
        shown += piece
    course = re.search(rb"course +(http://[\w.:]+/)", shown)
    assert course is not None
    assert read_json(f"{course[1].decode()}api/v1/catalog.json")
    models = read_json(f"{base[1].decode()}/models")["data"]
    assert isinstance(models, list)
    assert "sysmodel-builtin" in [model["id"] for model in models]
    bridge = re.search(rb"bridge +(http://[\w.:]+/health)", shown)
    assert bridge is not None
    assert read_json(bridge[1].decode())["analytics_db"] is True
    terminal.stdin.write(b"\x03")
    rest = terminal.stdout.read()
    assert terminal.wait() == 0, (shown + rest).decode()
    assert b"Traceback" not in shown + rest
