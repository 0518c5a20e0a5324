"""The command line `llm`, with the server declared in its file of further models."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import CAPITAL, Served

pytest.importorskip("llm", reason="the clients are not installed: make test-clients")

LIMIT_S = 60.0
WEATHER = """
def get_weather(city: str) -> str:
    "Tell the weather of a city."
    return f"Sunny in {city}."
"""


@pytest.fixture
def home(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of settings with the server in it."""
    (tmp_path / "extra-openai-models.yaml").write_text(
        f"- model_id: small\n  model_name: {served.model}\n  api_base: {served.url}\n"
        "  supports_schema: true\n  supports_tools: true\n"
        f"- model_id: base\n  model_name: {served.model}\n  api_base: {served.url}\n"
        "  completion: true\n"
    )
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv("LLM_LOAD_PLUGINS", "")
    return tmp_path


def llm(*words: str) -> str:
    """What the command prints; it must succeed."""
    done = subprocess.run(
        ["llm", *words], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("home")
def test_a_question_is_answered_and_followed_by_another() -> None:
    assert "Paris" in llm(
        "-m", "small", CAPITAL, "-o", "temperature", "0", "-o", "max_tokens", "20"
    )
    assert llm("-c", "Say the name of the city again.", "-o", "max_tokens", "20").strip()
    assert "Paris" in llm("-m", "small", "--no-stream", CAPITAL, "-o", "temperature", "0")


@pytest.mark.usefixtures("home")
def test_a_text_is_completed() -> None:
    text = llm("-m", "base", "The capital of France is", "-o", "max_tokens", "8")
    assert text.strip()


@pytest.mark.usefixtures("home")
def test_an_answer_has_the_shape_of_a_schema() -> None:
    answer = llm("-m", "small", "--schema", "year int", "When did the Berlin wall fall?")
    assert isinstance(json.loads(answer)["year"], int)


@pytest.mark.usefixtures("home")
def test_a_question_with_a_tool_is_answered() -> None:
    words = ("--functions", WEATHER, "What is the weather in Paris?", "-o", "max_tokens", "60")
    assert llm("-m", "small", *words).strip()
