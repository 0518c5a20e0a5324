"""Requests made up from the server's own description: every answer is one that it describes."""

import asyncio
import hashlib
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.effort import repeats
from tests.llm.faults.program import Program, running

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

EXAMPLES = repeats(3)
CONFIG = """
[[operations]]  # that the last message is the user's is more than a schema can say
include-name = "POST /v1/chat/completions"
checks.positive_data_acceptance.enabled = false

[[operations]]  # that a text is not blank is more than the schema says
include-name = "POST /v1/embeddings"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /v1/documents"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "POST /v1/search"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "DELETE /v1/documents/{id}"
checks.positive_data_acceptance.enabled = false

[[operations]]
include-name = "DELETE /v1/tenants/{tenantId}"
checks.positive_data_acceptance.enabled = false

[[operations]]  # a body that makes no sense counts as an empty one
include-name = "POST /v1/sysmodel/benchmark"
checks.negative_data_rejection.enabled = false

[[operations]]  # a model that is not there is a 503 on purpose, with a body of its own
include-name = "POST /health/warm"
checks.not_a_server_error.enabled = false
"""


@pytest.fixture
async def program(tmp_path: Path, models: Path) -> AsyncIterator[Program]:
    """A server whose system model is available, so that no 503 is called for."""
    path = models / "recall.gguf"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    system = ["--sysmodel.provider=managed_gguf", f"--sysmodel.path={path}"]
    async with running(tmp_path, models, *system, f"--sysmodel.sha256={digest}") as started:
        yield started


async def fuzz(program: Program, folder: Path) -> tuple[int, str]:
    """Exit code and report of a run."""
    (folder / "schemathesis.toml").write_text(CONFIG)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{program.url}/openapi.json"),
        *("--phases", "fuzzing", "--max-examples", str(EXAMPLES), "--generation-deterministic"),
        "--no-color",
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode()


async def test_every_answer_to_made_up_requests_is_described_and_no_failure(
    program: Program, tmp_path: Path
) -> None:
    code, report = await fuzz(program, tmp_path)

    assert code == 0, report
    counts = re.search(r"Selected: (\d+)/(\d+)\s+Tested: (\d+)", report)
    assert counts is not None
    assert len(set(counts.groups())) == 1  # every operation was tried
    assert "Traceback" not in (tmp_path / "log").read_text()
    health = await program.get("/health")
    assert (health["inflight"], health["queue_depth"]) == (0, 0)
