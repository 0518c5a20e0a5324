"""Which upstream a conversation belongs to, what a list may hold, when one is looked at."""

import asyncio

import pytest

from runtime.llm.models.daemon import DaemonTrouble, Patience
from runtime.llm.models.upstreams.fleet import (
    BACK_OFF_S,
    Served,
    Upstreams,
    UpstreamsUnavailable,
    parse_upstream,
    read_list,
)
from tests.waiting import Clock

URLS = [f"http://127.0.0.1:{port}/v1" for port in (1, 2, 3)]
KEYS = [f"conversation {number}" for number in range(600)]
GONE = DaemonTrouble("cannot be reached", away=True)


def fleet(clock: Clock | None = None) -> Upstreams:
    """Three upstreams that are up and serve the model ``m``; nothing looks at them."""
    upstreams = Upstreams(URLS, [], Patience(), clock or Clock())
    for upstream in upstreams.all:
        upstream.models, upstream.fault = {"m": Served("chat", 0, None)}, None
        upstream.probed.set()
    return upstreams


def first(upstreams: Upstreams) -> dict[str, str]:
    """The upstream of each conversation."""
    return {key: upstreams.order("m", key)[0].url for key in KEYS}


def test_conversations_spread_evenly_and_only_those_of_a_lost_upstream_move() -> None:
    upstreams = fleet()
    before = first(upstreams)
    lost = upstreams.all[1]
    upstreams.note_failure(lost, GONE)
    after = first(upstreams)

    assert all(150 < list(before.values()).count(url) < 250 for url in URLS)
    moved = {key for key in KEYS if before[key] != after[key]}
    assert moved == {key for key in KEYS if before[key] == lost.url}
    assert {after[key] for key in moved} == {URLS[0], URLS[2]}
    lost.fault = None
    assert first(upstreams) == before


def test_an_upstream_that_fails_often_is_looked_at_ever_later() -> None:
    clock = Clock()
    upstreams = fleet(clock)
    upstream = upstreams.all[0]
    waits = []
    for _ in range(len(BACK_OFF_S) + 1):
        upstream.fault = None  # its list could be read again
        upstreams.note_failure(upstream, GONE)
        waits.append(upstream.due - clock.now)
    upstream.fault = None
    upstreams.note_success(upstream)
    upstreams.note_failure(upstream, GONE)

    assert waits == [*BACK_OFF_S, BACK_OFF_S[-1]]
    assert upstream.due - clock.now == BACK_OFF_S[0]


def test_many_requests_that_fail_together_count_once() -> None:
    clock = Clock()
    upstreams = fleet(clock)
    for _ in range(50):
        upstreams.note_failure(upstreams.all[0], GONE)

    assert upstreams.all[0].due - clock.now == BACK_OFF_S[0]
    assert upstreams.all[0].errors == 50


@pytest.mark.parametrize(
    "trouble",
    [
        DaemonTrouble("is busy", 429, retry_after_s=3.0),
        DaemonTrouble("has no such model", 404),
        DaemonTrouble("answered with HTTP status 503", 503),
        DaemonTrouble("failed while answering"),
    ],
)
def test_an_upstream_that_answers_stays_in_use_and_is_looked_at_unless_it_is_busy(
    trouble: DaemonTrouble,
) -> None:
    upstreams = fleet()
    upstreams.all[0].due = 99.0
    upstreams.note_failure(upstreams.all[0], trouble)

    assert upstreams.all[0].up
    assert upstreams.all[0].errors == 1
    assert (upstreams.all[0].due == 99.0) == (trouble.retry_after_s is not None)


async def test_a_model_is_looked_for_where_an_upstream_was_never_reached() -> None:
    upstreams = fleet()
    assert (await upstreams.lists("m"), await upstreams.lists("x")) == (True, False)
    assert not await upstreams.lists("sysmodel-builtin")

    upstreams.all[0].models = None
    upstreams.all[0].fault = "cannot be reached"
    assert await upstreams.lists("x")
    with pytest.raises(UpstreamsUnavailable, match="cannot be reached"):
        upstreams.order("x", "key")
    upstreams.all[1].probed.clear()
    waiting = asyncio.ensure_future(upstreams.lists("m"))
    await asyncio.sleep(0)
    assert not waiting.done()
    upstreams.all[1].probed.set()
    assert await waiting


def test_a_list_is_read_as_far_as_it_makes_sense() -> None:
    entries: list[object] = [
        {"id": "Qwen/Qwen2.5-7B", "created": 5, "max_model_len": 4096},
        {"id": "e5", "meta": {"kind": "embedding", "n_ctx": 512}},
        {"id": "sysmodel-builtin"},
        {"id": "a\nb"},
        {"id": "x" * 300},
        {"id": 5, "created": "x"},
        None,
        {"id": "plain", "created": -1, "max_model_len": "many", "meta": []},
    ]

    assert read_list({"data": entries}) == {
        "Qwen/Qwen2.5-7B": Served("chat", 5, 4096),
        "e5": Served("embedding", 0, 512),
        "plain": Served("chat", 0, None),
    }
    assert len(read_list({"data": [{"id": f"m{number}"} for number in range(5000)]})) == 1000
    nothing: list[object] = [{}, [], {"data": "x"}, None]
    for wrong in nothing:
        with pytest.raises(DaemonTrouble, match="list of models"):
            read_list(wrong)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://gpu1:8000/v1",
        "http://192.168.1.7:8000/v1",
        "http://100.64.0.9:8000/v1",
        "http://[fd00::7]:8000/v1",
        "https://models.example/v1",
        "unix:/run/llama.sock",
    ],
)
def test_an_upstream_may_be_here_on_a_private_network_or_behind_https(url: str) -> None:
    assert parse_upstream(url).base


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://8.8.8.8/v1", "must be https"),
        ("http://169.254.169.254/v1", "link-local"),
        ("https://user:word@models.example/v1", "user name"),
        ("models.example", "must be http"),
    ],
)
def test_no_prompt_crosses_the_internet_in_the_open(url: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_upstream(url)
