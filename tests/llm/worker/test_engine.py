"""An engine whose memory or decode fails keeps its books in order."""

import mmap
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import Ended, Run
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.chat import GREEDY, Engine
from runtime.llm.engine.worker.conversations import Prompt
from runtime.llm.engine.worker.prompt import Chatml, Quoter, Script, tokens_of
from tests.llm import tinymodel
from tests.llm.worker.harness import Messages, spoken

WORDS = [[b"red1 ", b"red2"], [b"green1 ", b"green2"]]
FIRST = [("user", "<green>")]
SECOND = [*FIRST, ("assistant", "green1 green2"), ("user", "two")]


class Bench:
    """An engine in this process, and how to ask it."""

    def __init__(self, path: Path) -> None:
        self.model = native.Model(str(path), 0)
        with tempfile.TemporaryFile() as file:
            file.write(b"\0\0")
            file.flush()
            flag = native.AbortFlag(mmap.mmap(file.fileno(), 2))
        self.quoter = Quoter(self.model.control_texts())
        context = native.Context(self.model, 1024, native.Threads(1, 1), abort=flag)
        self.engine = Engine(context, 256, flag, ["<|im_end|>"], self.quoter)
        self.text = ""

    def ask(self, pairs: Messages, name: str | None) -> Ended:
        messages = spoken(pairs)
        quoted = self.quoter.quote(Script(messages))
        rendering = Chatml().render(quoted.script)
        tokens = tokens_of(self.model, quoted.parts(rendering.text), whole=True)
        after = None if rendering.after is None else quoted.parts(rendering.after)
        self.text = ""
        run = Run(1, name, GREEDY, 0, [])
        return self.engine.run(run, Prompt(messages, tokens, after), self._emit)

    def _emit(self, text: str, tokens: int) -> None:
        self.text += text


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tinymodel.write_recall(tmp_path / "recall.gguf", WORDS))
    yield made
    made.engine.close()


def test_a_memory_that_cannot_forget_a_part_is_filled_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ask(FIRST, "a")
    monkeypatch.setattr(native.Context, "trim", lambda *_: False)
    ended = bench.ask(SECOND, "a")
    assert (ended.session, ended.cached_tokens, ended.kept) == ("rebuilt", 0, False)
    assert bench.text == "green1 green2"
    monkeypatch.undo()
    assert bench.ask(SECOND, "a").session == "miss"


def test_after_a_failed_decode_nothing_of_the_memory_is_used(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        bench.ask(FIRST, name)
    monkeypatch.setattr(native.Context, "decode", lambda *_, last: -3)
    failed = bench.ask(SECOND, "a")
    monkeypatch.undo()
    assert (failed.finish, failed.kept) == ("failed", False)
    assert failed.reason == "the engine could not compute the reply"
    for name in "abcde":
        ended = bench.ask(FIRST, name)
        assert (ended.session, bench.text) == ("miss", "green1 green2")


def test_a_full_memory_without_conversations_to_give_up_is_a_failure(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ask(FIRST, "a")
    monkeypatch.setattr(native.Context, "decode", lambda *_, last: native.NO_ROOM)
    failed = bench.ask(FIRST, "b")
    monkeypatch.undo()
    assert (failed.finish, failed.evicted) == ("failed", ("a",))
    assert bench.ask(FIRST, "a").session == "miss"


def test_a_refused_prompt_leaves_the_conversation(bench: Bench) -> None:
    bench.ask(FIRST, "a")
    refused = bench.ask([*FIRST, ("user", "x" * 300)], "a")
    assert (refused.finish, refused.kept) == ("failed", True)
    assert bench.ask(SECOND, "a").session == "hit"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("cannot open /srv/models/x.gguf", "cannot open the file"),
        ("cannot open 'C:\\models\\x.gguf'", "cannot open 'the file'"),
        ("a\n  b", "a b"),
        ("x" * 500, "x" * 200),
    ],
)
def test_a_line_of_the_log_loses_its_paths(line: str, shown: str) -> None:
    assert native.plain(line) == shown
