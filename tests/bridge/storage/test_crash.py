"""Writers that are cut off at any moment: what was acknowledged is there, once, and in its place.

With each kill the power fails, where the machine has a compiler for `tests/faults/powerloss.c`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.bridge.storage.records import Backend
from tests.effort import repeats
from tests.faults.powerloss import POSSIBLE, Disk

CUTS = repeats(12)
"""Kills, which leave the files as they are, are made over HTTP: see tests/bridge/test_kill.py."""


def cut_often(kind: Backend, folder: Path, root: Path, count: int, *options: str) -> dict[str, int]:
    """What was found after *count* cuts."""
    program = [sys.executable, "-m", "tests.bridge.storage.crashkit", kind, str(folder), str(count)]
    environment = Disk(folder).environment if POSSIBLE else dict(os.environ)
    done = subprocess.run(
        [*program, *options], cwd=root, env=environment, stdout=subprocess.PIPE, check=True
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_acknowledged_frame_is_lost_when_the_power_fails(
    kind: Backend, tmp_path: Path, root: Path
) -> None:
    found = cut_often(kind, tmp_path, root, CUTS)
    print(kind, found)  # noqa: T201 - for who looks at a long run
    assert found["trials"] > 0.8 * CUTS
    assert found["acknowledged"] >= found["trials"] - 1
    assert {name: found[name] for name in ("lost", "wrong", "gaps")} == {
        "lost": 0,
        "wrong": 0,
        "gaps": 0,
    }


@pytest.mark.slow
@pytest.mark.skipif(not POSSIBLE, reason="a power cut needs Linux and a C compiler")
def test_a_store_that_does_not_wait_for_the_disk_loses_frames(tmp_path: Path, root: Path) -> None:
    found = cut_often("lightweight", tmp_path, root, 5, "unsynced")
    assert found["lost"] > 0
