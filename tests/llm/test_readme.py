"""The `curl` lines of the README, typed as they stand."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.engine.onnxkit import write_tiny

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl on this machine")
ADDRESS = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server as a newcomer starts it, on a free port."""
    data = tmp_path_factory.mktemp("data")
    write_tiny(data / "models", "all-minilm-l6-v2")  # in place of the one that pull brings
    command = [sys.executable, "-m", "runtime.llm", "--port", "0", "--data-dir", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        ready = re.search(r'"port":(\d+)', process.stdout.readline())
        assert ready is not None
        yield f"http://127.0.0.1:{ready[1]}"
        process.terminate()
        assert process.wait(20) == 0


def examples(root: Path) -> list[str]:
    text = (root / "README.md").read_text(encoding="utf-8")
    return [
        line for line in text.splitlines() if line.startswith("curl ") and f"{ADDRESS}/" in line
    ]


def test_every_curl_line_of_the_readme_works(root: Path, address: str) -> None:
    lines = examples(root)
    assert len(lines) >= 6
    for line in lines:
        typed = line.replace(ADDRESS, address).replace("curl ", "curl --fail-with-body ", 1)
        run = subprocess.run(
            ["sh", "-c", typed], capture_output=True, text=True, timeout=50, check=False
        )
        assert run.returncode == 0, f"{line}\n{run.stdout}{run.stderr}"
        assert run.stdout.strip(), line
        assert '"error"' not in run.stdout, f"{line}\n{run.stdout}"


def test_the_first_chat_of_a_newcomer_answers_in_words(root: Path, address: str) -> None:
    chat = next(line for line in examples(root) if "What is trail braking" in line)
    typed = chat.replace(ADDRESS, address)
    answer = subprocess.run(
        ["sh", "-c", typed], capture_output=True, text=True, timeout=50, check=True
    ).stdout
    content = re.search(r'"content":"([^"]+)"', answer)
    assert content is not None, answer
    assert "brak" in content[1].lower()
    assert len(content[1].split()) >= 8
