"""Requests made up from the bridge's own description: no failure, and every answer is described."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.bridgekit import launch
from tests.effort import repeats

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance"
)
STREAMS = ("/stream", "/cues/stream", "/telemetry/stream", "/notifications")
"""They have no end; they are opened in tests/hostile and tests/bridge/live."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_answer_to_made_up_requests_is_described(tmp_path: Path) -> None:
    process, url = launch(tmp_path, "analytical")
    with process:
        try:
            run = subprocess.run(
                [
                    *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json"),
                    *("--phases", "fuzzing", "--max-examples", str(repeats(2)), "--checks", CHECKS),
                    *("--generation-deterministic", "--no-color"),
                    *(word for path in STREAMS for word in ("--exclude-path", path)),
                ],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            process.terminate()
    assert run.returncode == 0, run.stdout[-4000:]
    counts = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", run.stdout)
    assert counts is not None
    selected, described, tried = map(int, counts.groups())
    assert tried == selected == described - len(STREAMS) > 80
