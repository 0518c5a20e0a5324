"""An engine whose memory or decode fails keeps its books in order."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from runtime.llm.engine.protocol import Ended, Run
from runtime.llm.engine.worker import native
from runtime.llm.engine.worker.conversations import Prompt
from runtime.llm.engine.worker.engine import Engine
from runtime.llm.engine.worker.prompt import CHATML_TURNS, Quoter, Script, tokenize_parts
from runtime.llm.inference import GREEDY, TokenLogprob
from tests.llm import tinymodel
from tests.llm.worker.harness import Messages, spoken

WORDS = [[b"red1 ", b"red2"], [b"green1 ", b"green2"]]
FIRST = [("user", "<green>")]
SECOND = [*FIRST, ("assistant", "green1 green2"), ("user", "two")]


class Talk:
    """The sink of one reply."""

    def __init__(self, job: int) -> None:
        self.job = job
        self.text = ""
        self.signs = 0
        self.ended: Ended | None = None

    def emit(self, text: str, tokens: int, logprobs: Sequence[TokenLogprob] = ()) -> None:
        self.text += text
        self.signs += not text

    def end(self, ended: Ended) -> None:
        assert self.ended is None
        self.ended = ended


class Bench:
    """An engine in this process, and how to ask it."""

    def __init__(self, path: Path, *, cells: int = 1024, budget: int = 256, room: int = 5) -> None:
        self.model = native.Model(str(path), 0)
        self.wanted = native.Wanted()
        self.jobs = itertools.count(1)
        self.quoter = Quoter(self.model.control_texts())
        threads = native.Threads(1, 1)
        context = native.Context(self.model, cells, threads, sequences=room, wanted=self.wanted)
        self.engine = Engine(
            context, budget, self.wanted, ["<|im_end|>"], self.quoter, lambda *_: None
        )
        self.text = ""

    def begin(
        self,
        pairs: Messages,
        name: str | None = None,
        *,
        client: str = "",
        is_session: bool | None = None,
    ) -> Talk:
        is_session = bool(name and not client) if is_session is None else is_session
        messages = spoken(pairs)
        quoted = self.quoter.quote(Script(messages))
        rendering = CHATML_TURNS.render(quoted.script)
        tokens = tokenize_parts(self.model, quoted.split(rendering.text), whole=True)
        after = None if rendering.after is None else quoted.split(rendering.after)
        talk = Talk(next(self.jobs))
        self.wanted.begin(talk.job)
        run = Run(talk.job, name, GREEDY, 0, [], is_session=is_session, client=client)
        self.engine.begin(run, Prompt(messages, tokens, after), talk)
        return talk

    def finish(self) -> None:
        while self.engine.busy:
            self.engine.step()

    def ask(self, pairs: Messages, name: str | None, client: str = "") -> Ended:
        talk = self.begin(pairs, name, client=client)
        self.finish()
        self.text = talk.text
        assert talk.ended is not None
        return talk.ended


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
    monkeypatch.setattr(native.Context, "decode", lambda *_: -3)
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
    monkeypatch.setattr(native.Context, "decode", lambda *_: native.NO_ROOM)
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
    assert native.sanitise(line) == shown


# --- prompts without a session


LONG = [("user", "<green> " + "x" * 100)]


def test_a_prompt_begins_with_a_copy_of_what_the_client_asked_before(bench: Bench) -> None:
    first = bench.ask(LONG, "1", client="ann")
    talk = [*LONG, ("assistant", bench.text), ("user", "two")]
    second = bench.ask(talk, "2", client="ann")
    assert (first.cached_tokens, first.session, first.kept) == (0, None, True)
    assert second.cached_tokens >= (first.prompt_tokens or 0)
    assert second.evicted == ("1",)  # goes on in the second
    assert bench.text == "green1 green2"


def test_the_same_prompt_again_computes_its_last_token_and_answers_the_same(bench: Bench) -> None:
    first = bench.ask(LONG, "1", client="ann")
    again = bench.ask(LONG, "2", client="ann")
    assert again.cached_tokens == (first.prompt_tokens or 0) - 1
    assert bench.text == "green1 green2"


def test_talks_with_the_same_instruction_are_kept_beside_each_other(bench: Bench) -> None:
    rules = ("system", "<green> " + "r" * 50)
    talks = [[rules, ("user", letter * 60)] for letter in "ab"]
    for number, talk in enumerate(talks):
        ended = bench.ask(talk, f"first {number}", client="ann")
        assert ended.evicted == ()
    for number, talk in enumerate(talks):
        before = bench.ask(talk, f"again {number}", client="ann")
        assert before.cached_tokens == (before.prompt_tokens or 0) - 1


def test_a_session_lends_its_beginning_to_its_client_and_stays_as_it_is(bench: Bench) -> None:
    bench.begin(LONG, "a", client="ann", is_session=True)
    bench.finish()
    for client, lent in (("ann", True), ("bob", False)):
        assert (bench.ask(LONG, client, client=client).cached_tokens > 100) == lent
    assert bench.ask([*LONG, ("user", "two")], "a").session == "hit"


def test_a_memory_that_cannot_forget_a_part_lends_only_what_it_is_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recurrent memories: a copy cannot be cut."""
    bench.ask(LONG, "1", client="ann")
    trim = native.Context.trim
    size = bench.engine._kept["1"]
    monkeypatch.setattr(
        native.Context,
        "trim",
        lambda self, sequence, length: length >= len(size.tokens) and trim(self, sequence, length),
    )
    assert bench.ask([("user", "<green> " + "x" * 90)], "2", client="ann").cached_tokens == 0
    assert bench.text == "green1 green2"
    talk = [*LONG, ("assistant", "green1 green2"), ("user", "two")]
    assert bench.ask(talk, "3", client="ann").cached_tokens == 0  # the echo is tokenized anew
    assert bench.text == "green1 green2"


# --- replies side by side


def test_replies_side_by_side_are_those_of_one_after_the_other(bench: Bench) -> None:
    talks = [
        bench.begin([("user", f"{text} {'x' * 20 * n}")])
        for n, text in enumerate(("<green>", "<red>", "<green>", "<red>"))
    ]
    bench.finish()
    assert [talk.text for talk in talks] == ["green1 green2", "red1 red2"] * 2


def test_a_cancelled_reply_ends_alone(bench: Bench) -> None:
    stays, leaves, reads = (
        bench.begin([("user", text)]) for text in ("<green>", "<red>", "<red>" + "x" * 200)
    )
    bench.engine.step()
    assert bench.wanted.cancel(leaves.job)
    assert bench.wanted.cancel(reads.job)
    bench.wanted.go_on()
    bench.engine.drop_cancelled()
    bench.finish()
    assert stays.text == "green1 green2"
    for talk in (leaves, reads):
        assert talk.ended is not None
        assert talk.ended.finish == "aborted"
    assert bench.ask(FIRST, "a").session == "miss"


def test_an_interrupted_step_is_repeated_for_those_who_stay(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = native.Context.decode
    talks = [bench.begin([("user", text)]) for text in ("<green>", "<red>")]
    bench.engine.step()

    def interrupted(context: native.Context, slices: Sequence[native.Slice]) -> int:
        decode(context, slices)
        return native.ABORTED

    monkeypatch.setattr(native.Context, "decode", interrupted)
    bench.engine.step()  # computed, and told to be interrupted
    monkeypatch.undo()
    bench.finish()
    assert [talk.text for talk in talks] == ["green1 green2", "red1 red2"]


def test_two_requests_of_one_session_take_turns(bench: Bench) -> None:
    first, second = bench.begin(FIRST, "a"), bench.begin(SECOND, "a")
    bench.finish()
    assert first.ended is not None
    assert second.ended is not None
    assert (first.ended.session, second.ended.session) == ("miss", "hit")


def test_a_session_that_is_forgotten_while_it_runs_is_not_kept(bench: Bench) -> None:
    talk = bench.begin(FIRST, "a")
    bench.engine.forget(["a"])
    bench.finish()
    assert talk.ended is not None
    assert not talk.ended.kept
    assert bench.ask(SECOND, "a").session == "miss"


def test_where_the_cells_are_short_the_youngest_reply_waits(tmp_path: Path) -> None:
    words = [[b"r%d " % n for n in range(30)], [b"g%d " % n for n in range(30)]]
    path = tinymodel.write_recall(tmp_path / "long.gguf", words)
    bench = Bench(path, cells=256, budget=256)
    talks = [
        bench.begin([("user", f"{text} {'x' * 90}")]) for text in ("<green>", "<red>", "<green>")
    ]
    bench.finish()
    bench.engine.close()
    texts = [b"".join(words[n]).decode() for n in (1, 0, 1)]
    assert [talk.text for talk in talks] == texts


def test_a_failed_step_ends_every_reply_and_the_next_one_is_whole(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks = [bench.begin([("user", text)]) for text in ("<green>", "<red>")]
    monkeypatch.setattr(native.Context, "decode", lambda *_: -3)
    bench.finish()
    monkeypatch.undo()
    assert [talk.ended and talk.ended.finish for talk in talks] == ["failed", "failed"]
    for name in "abcde":
        bench.ask(FIRST, name)
        assert bench.text == "green1 green2"


def test_a_long_prompt_gives_signs_while_it_is_read(tmp_path: Path) -> None:
    path = tinymodel.write_recall(tmp_path / "recall.gguf", WORDS)
    bench = Bench(path, cells=4096, budget=4096)
    talk = bench.begin([("user", "<green>" + "x" * 1500)])
    bench.engine.step()
    assert (talk.signs, talk.text) == (1, "")
    bench.finish()
    bench.engine.close()
    assert (talk.signs, talk.text) == (2, "green1 green2")
