"""The speed comparison of language-model servers: what it computes, and one small whole run."""

import json
import signal
import sys
from pathlib import Path

import pytest

from bench import llm
from bench.llm_client import Ask, Events, Failed, Reply, Unchunked, ask, get, prompt, reply_of
from bench.llm_figures import Left, Pace, Probes, Speed, TurnTimes
from bench.llm_models import SHAPES, SYLLABLES, TINY, ensure, vocabulary
from bench.llm_peers import DEFAULTS, LLAMA_SERVER, OURS, Tools, kinds
from bench.llm_report import (
    Figures,
    floor_table,
    left_table,
    percentile,
    probes_table,
    speed_table,
    turns_table,
    verdicts,
)
from bench.llm_servers import Kind, Launch, Server, free_port


def frame(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n"


# --- the reader of streams


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_the_same_however_the_stream_is_cut(size: int) -> None:
    stream = b': ka\n\ndata: {"a": 1}\n\nevent: x\ndata: one\ndata: two\r\n\r\ndata:[DONE]\n\n'
    events = Events()
    found = [e for at in range(0, len(stream), size) for e in events.feed(stream[at : at + size])]
    assert found == ['{"a": 1}', "one\ntwo", "[DONE]"]


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 1000])
def test_the_body_of_a_chunked_answer_is_the_same_however_it_is_read(size: int) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    stream = head + b"5\r\nhello\r\n1a\r\n" + b"\r\n" * 13 + b"\r\n0\r\n\r\n"
    answer = Unchunked()
    parts = [answer.feed(stream[at : at + size]) for at in range(0, len(stream), size)]
    assert b"".join(parts) == b"hello" + b"\r\n" * 13
    assert answer.status == 200


def test_a_reply_is_timed_from_its_first_text_to_its_last() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens_details": {"cached_tokens": 7}}}
    reply = reply_of(
        [
            (0.1, HEAD + b'data: {"choices": [{"delta": {"content": null}}]}\n\n'),
            (0.5, frame(" ba") + frame(" be")[:9]),
            (0.7, frame(" be")[9:]),
            (1.0, frame(" bi bo")),
            (1.5, b"data: " + json.dumps(usage).encode() + b"\n\ndata: [DONE]\n\n"),
        ]
    )
    assert reply == Reply(" ba be bi bo", 0.5, 1.0, 1, 7, finished=True)
    assert reply.tokens == 4
    assert reply.token_ms == pytest.approx(500 / 3)


def test_what_a_late_client_finds_waiting_does_not_make_the_server_faster() -> None:
    late = reply_of([(0.9, HEAD + frame(" ba") + frame(" be")), (1.0, frame(" bi bo"))])
    assert late.token_ms == pytest.approx(50)


def test_a_reply_that_is_cut_short_is_not_finished() -> None:
    assert not reply_of([(0.5, HEAD + frame(" ba be"))]).finished


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (HEAD + b'data: {"error": {"message": "no room"}}\n\ndata: [DONE]\n\n', "no room"),
        (b"HTTP/1.1 429 Too Many Requests\r\n\r\nqueue full", "status 429: b'queue full'"),
        (HEAD + b"data: [DONE]\n\n", "no text"),
        (b"", "no text"),
    ],
)
def test_an_error_is_no_measurement(stream: bytes, reason: str) -> None:
    with pytest.raises(Failed, match=reason):
        reply_of([(0.1, stream)])


@pytest.mark.parametrize(("text", "at_first"), [(" ba be", 2), (" ba be bi bo", 3), (" ba", 1)])
def test_a_reply_that_comes_at_once_has_no_speed(text: str, at_first: int) -> None:
    with pytest.raises(ValueError, match="too late"):
        _ = Reply(text, 0.1, 0.2, at_first, 0, finished=True).token_ms


def test_a_server_that_is_not_there_is_a_failure_and_not_a_crash() -> None:
    port = free_port()
    with pytest.raises(Failed, match="does not answer"):
        ask(port, Ask("m", [], 1))
    with pytest.raises(OSError, match=r"refused|111"):
        get(port, "/health")


# --- prompts and models


def test_a_prompt_has_one_word_a_token_and_differs_with_its_salt() -> None:
    words = prompt(1500, 3).split(" ")
    assert words.pop(0) == ""  # each word has a space before it
    assert len(words) == 1500
    assert set(words) <= set(SYLLABLES)
    assert prompt(1500, 3) == prompt(1500, 3) != prompt(1500, 4)


@pytest.mark.parametrize("size", [512, 32_000, 151_936])
def test_a_vocabulary_has_its_size_and_every_merge_makes_a_token(size: int) -> None:
    tokens, merges = vocabulary(size)
    assert len(tokens) == len(set(tokens)) == size
    assert {merge.replace(" ", "") for merge in merges} == set(tokens[256:-4])
    assert {f"Ġ{syllable}" for syllable in SYLLABLES} <= set(tokens)


def test_the_shapes_are_as_large_as_they_are_called() -> None:
    for shape in SHAPES.values():
        attention = 2 * shape.width**2 + 2 * shape.width * shape.kv_heads * shape.head
        layer = attention + 3 * shape.width * shape.ffn
        parameters = shape.vocab * shape.width + shape.layers * layer
        assert round(parameters / 1e6) == pytest.approx(shape.millions, abs=1)


def test_a_model_is_written_once_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    first = ensure(TINY, tmp_path)
    written = first.stat().st_mtime_ns
    assert first.read_bytes()[:4] == b"GGUF"
    assert ensure(TINY, tmp_path).stat().st_mtime_ns == written
    assert list(tmp_path.iterdir()) == [first]


# --- figures, tables, verdicts


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, 1.0), (0.5, 2.0), (0.51, 3.0), (0.99, 4.0), (1.0, 4.0)]
)
def test_a_percentile_is_a_value_that_was_measured(share: float, value: float) -> None:
    assert percentile([4.0, 1.0, 3.0, 2.0], share) == value


def test_a_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_the_table_of_speeds_puts_every_server_in_relation_to_ours() -> None:
    found = {
        OURS: [Speed(5.0, 1.0, 40.0), Speed(4.0, 2.0, 30.0)],
        "Peer": [Speed(8.0, 4.0, 50.0)],
        "Broken": [],
    }
    ours, peer, broken = speed_table("5m", found).splitlines()[2:]
    assert ours == "| Paddock | 250.0 | 222.2 | 1.000 | 30.0 | 1.00 | 1.00 |"
    assert peer == "| Peer | 125.0 | 125.0 | 4.000 | 50.0 | 2.00 | 0.25 |"
    assert broken.count("failed") == 6


def test_every_table_has_as_many_cells_in_each_line() -> None:
    speeds = {OURS: [Speed(5.0, 1.0, 40.0)], f"{OURS}{DEFAULTS}": [Speed(5.0, 1.0, 40.0)]}
    tables = [
        speed_table("5m", speeds),
        floor_table("5m", [Pace(4.0, 0.9)], speeds),
        turns_table("125m", {OURS: [TurnTimes(20.0, 190.0, 1100)]}),
        left_table("500m", {"Peer": [Left(50.0, 70.0)]}),
        probes_table({OURS: Probes([1.0, 2.0], 0, "open"), "Peer": Probes([], 3, "open")}),
    ]
    for lines in (text.splitlines() for text in tables):
        assert {line.count("|") for line in lines} == {lines[0].count("|")}
    assert "| Paddock | 5.000 | 1.000 | 1000 | 100 |" in tables[1]
    assert "defaults" not in tables[1]
    assert "| Paddock | 20 | 190 | 9.5 | 1100 |" in tables[2]


def test_a_verdict_says_what_is_met_and_what_is_not() -> None:
    fast, slow = [Speed(5.0, 1.0, 9.0)], [Speed(60.0, 1.0, 9.0)]
    figures = Figures(
        speeds={
            "5m": {OURS: [Speed(0.5, 0.4, 5.0)], LLAMA_SERVER: [Speed(0.1, 0.4, 5.0)]},
            "125m": {OURS: fast, LLAMA_SERVER: fast},
            "500m": {OURS: slow, LLAMA_SERVER: fast},
        },
        shared={
            "125m": {OURS + DEFAULTS: fast, LLAMA_SERVER + DEFAULTS: slow},
            "tiny": {OURS + DEFAULTS: slow, LLAMA_SERVER + DEFAULTS: slow},
        },
        floor=[Pace(0.45, 0.4)],
        turns={"125m": {OURS: [TurnTimes(20.0, 100.0, 1100)]}},
        left={"500m": {OURS: [Left(50.0, 70.0)]}},
        probes={OURS: Probes([1.0] * 99 + [9.0] * 9, 0, "open")},
    )
    said = [(line.split(":")[0][2:], line.split(": ")[-1]) for line in verdicts(figures)]
    assert said == [
        ("met", "1.00 of it"),
        ("NOT MET", "0.08 of it"),
        ("met", "12.0 times"),
        ("NOT MET", "1.0 times"),
        ("met", "50 us, of CPU 0 us"),
        ("NOT MET", "1/5.0"),
        ("met", "70 ms, idle 50 ms"),
        ("NOT MET", "9.00 ms, 0 failed"),
    ]


def test_nothing_measured_gives_no_verdict() -> None:
    assert verdicts(Figures()) == []


# --- servers


def test_each_server_comes_with_our_settings_and_with_its_defaults(tmp_path: Path) -> None:
    found = kinds(Tools(tmp_path / "llama-server", tmp_path / "bin" / "python", None))
    assert len(found) == len({kind.name for kind in found}) == 6
    for tuned, plain in zip(found[::2], found[1::2], strict=True):
        assert plain.name == tuned.name + DEFAULTS
        assert (len(tuned.settings) > 0, len(plain.settings)) == (True, 0)
        assert "OMP_WAIT_POLICY" not in plain.environment


def test_a_server_that_ends_at_once_is_reported_with_its_output(tmp_path: Path) -> None:
    words = [sys.executable, "-c", "print('no such model'); raise SystemExit(3)"]
    server = Server(Kind("Broken", lambda _: words), Launch(tmp_path, free_port(), tmp_path, 1))
    try:
        with pytest.raises(RuntimeError, match=r"Broken did not start \(exit status 3\):\nno such"):
            server.wait_ready()
    finally:
        server.stop()


def test_a_server_that_ignores_the_signal_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "time.sleep(60)\n"
    )
    words = [sys.executable, "-c", code]
    server = Server(Kind("Deaf", lambda _: words), Launch(tmp_path, free_port(), tmp_path, 1))
    while len(tree := server.tree()) < 2:
        assert server.state == "running"
    server.stop(patience_s=0.2)
    assert server.state == signal.Signals.SIGKILL.name
    assert not any(process.is_running() and process.status() != "zombie" for process in tree)


@pytest.mark.slow
def test_a_whole_run_with_the_smallest_shape_measures_everything_and_leaves_nothing_behind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--quick", "--rounds", "2", "--shapes", "tiny", "--tools", str(tmp_path)]
    assert llm.main([*flags, "--only", "paddock"]) == 0
    shown = capsys.readouterr().out
    assert "| failed | failed |" not in shown
    for head in ("streaming", "a token", "turn 10", "a client left", "/health", "start"):
        assert head in shown
    assert [path.name for path in tmp_path.iterdir()] == ["models"]
