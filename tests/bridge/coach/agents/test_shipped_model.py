"""The coach model that comes along, in the loop: every number that is said is one of the facts."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.coach.agents.questions import Questions
from tests.bridge.bridgekit import ROOT
from tests.bridge.coach.warm.modelkit import LARKFELL, laps
from tests.bridge.conftest import Start

NUMBER: Final = re.compile(r"\d+(?::\d\d)?(?:\.\d+)?")
ASKED: Final = (
    "How is turn 4?",
    "What happened at turn 10?",
    "Do I have understeer?",
    "Set me a goal",
    "Where do I lose time?",
    "Was turn 11 good?",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The language-model server with the shipped model, in a process of its own."""
    flags = ["--port", "0", "--data-dir", str(tmp_path / "llm")]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.llm", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        yield f"http://127.0.0.1:{ready['port']}/v1"
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.mark.slow
async def test_what_the_shipped_model_adds_is_true_and_asked_for(start: Start, server: str) -> None:
    async with start(model_url=server) as bridge:
        await bridge.ok("POST", "/session/start", {"session_id": "s", "track": LARKFELL.name})
        await bridge.service.db.append_frames("s", laps(4))
        questions = bridge.service.questions
        assert isinstance(questions, Questions)
        by_model = 0
        for text in ASKED:
            found = await questions.ask(await questions.understand(text, "Mia", "s"))
            known = " ".join((text, *(one.evidence for one in found.found)))
            assert numbers(found.text) <= numbers(known), found.text
            assert "I do not know" not in found.text
            by_model += found.source == "local_model"
        assert by_model >= 2
        taught = await questions.ask(await questions.understand("What is an apex?"))
        assert taught.source == "local_model"
        assert "apex" in taught.text


def numbers(text: str) -> set[str]:
    """The numbers of a text; 1.40 and 1.4 are one."""
    found = NUMBER.findall(text)
    return {one.rstrip("0").rstrip(".") if "." in one else one for one in found}
