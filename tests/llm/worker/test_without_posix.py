"""A worker process and its renderer on a system that lacks what POSIX has."""

import sys
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import ChatLoaded
from runtime.llm.engine.worker import prompt
from runtime.llm.engine.worker.prompt import Renderer, Script, TemplateFailed
from tests.llm import tinymodel
from tests.llm.worker.harness import Worker, spoken

BARE = (sys.executable, str(Path(__file__).with_name("unposix.py")))
WORDS = [[b"green1 ", b"green2"]]
ENDLESS = (
    "{% if messages[0].content == 'hang' %}{% for a in range(90000) %}"
    "{% for b in range(90000) %}{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}"
)


def test_a_model_is_loaded_answers_and_is_interrupted(tmp_path: Path) -> None:
    model = tinymodel.write_recall(tmp_path / "m.gguf", WORDS, endless=True)
    worker = Worker([*BARE, "runtime.llm.engine.worker"])
    try:
        assert isinstance(worker.load(model), ChatLoaded)
        worker.open()
        assert worker.ask([("user", "<red>")], max_output=2).text == "green1 green2"
        worker.start([("user", "<red>")])
        assert worker.event() is not None
        worker.abort()
        assert worker.finish().ended.finish == "aborted"
    finally:
        worker.close()


def test_a_chat_template_is_rendered_and_one_without_end_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prompt, "COMMAND", (*BARE, "runtime.llm.engine.worker.template"))
    renderer = Renderer(ENDLESS, time_limit_s=0.5)
    try:
        renderer.compile("", "")
        assert renderer.render(Script(spoken([("user", "a")]))).text == "a"
        with pytest.raises(TemplateFailed, match="too"):
            renderer.render(Script(spoken([("user", "hang")])))
    finally:
        renderer.close()
