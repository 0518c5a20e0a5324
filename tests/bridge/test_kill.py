"""A bridge that is killed while eight clients send frames has every frame that it acknowledged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.effort import repeats

KILLS: Final = repeats(10)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_acknowledged_frame_is_lost_or_doubled(tmp_path: Path, backend: str, root: Path) -> None:
    program = [sys.executable, "-m", "tests.bridge.killkit", backend, str(tmp_path)]
    done = subprocess.run([*program, str(KILLS)], cwd=root, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    found = json.loads(done.stdout)
    assert {name: found[name] for name in ("lost", "doubled", "gaps", "alarms")} == {
        "lost": 0,
        "doubled": 0,
        "gaps": 0,
        "alarms": 0,
    }
    assert found["kills"] == KILLS
    assert found["acknowledged"] > found["kills"]
