"""Writers that are killed at any moment: what was acknowledged is there, once, and in its place."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.bridge.storage.values import Backend
from tests.effort import repeats

KILLS = repeats(25)
"""Many more are made over HTTP, see tests/bridge/test_kill.py."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_acknowledged_frame_is_lost_when_the_process_is_killed(
    kind: Backend, tmp_path: Path, root: Path
) -> None:
    program = [sys.executable, "-m", "tests.bridge.storage.crashkit", kind, str(tmp_path)]
    command = [*program, str(KILLS)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["trials"] > min(KILLS, 20)
    assert found["acknowledged"] >= found["trials"] - 1
    assert {name: found[name] for name in ("lost", "wrong", "gaps")} == {
        "lost": 0,
        "wrong": 0,
        "gaps": 0,
    }
