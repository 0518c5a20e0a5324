"""An OpenAI-compatible daemon that behaves: states, requests, replies, busy times."""

import asyncio
from pathlib import Path

import pytest
from pydantic import SecretStr

from runtime.llm.errors import (
    SysmodelBackgroundBlocked,
    SysmodelRuntimeError,
)
from runtime.llm.models.daemon import Daemon
from runtime.llm.models.daemon import parse_address as parse
from runtime.llm.models.system.openai import OpenAiDaemon
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability, Status
from tests.llm.models.daemons import (
    Asked,
    Slept,
    answer,
    by_path,
    chat,
    client,
    collect,
    delta,
    head,
    says,
    scripted,
    sse,
    texts,
    upstream,
)

LIST = answer({"object": "list", "data": [{"id": "coach"}]})


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """What a provider slept, which takes no time."""
    slept = Slept()
    monkeypatch.setattr("runtime.llm.models.system.openai.sleep", slept)
    return slept


@pytest.mark.parametrize(
    ("entries", "model", "state"),
    [
        ([{"id": "coach"}], "coach", Availability(3)),
        ([{"id": "coach"}], None, Availability(3)),
        ([{"id": "coach", "status": {"value": "unloaded"}}], "coach", Availability(3)),
        ([{"id": "coach", "status": {"value": "loading"}}], "coach", Availability(3)),
        ([{"id": "coach", "status": "sleeping"}], "coach", Availability(3)),
        ([{"id": "coach", "status": {"value": "downloading"}}], "coach", Availability(1)),
        ([{"id": "coach", "status": "Downloading"}], "coach", Availability(1)),
        ([{"id": "coach", "status": "failed"}], "coach", Availability(0, "model_failed")),
        ([{"id": "coach", "status": 7}], "coach", Availability(7)),
        ([{"id": "other"}], "coach", Availability(0, "model_not_listed")),
        ([{"id": "a"}, {"id": "b"}], None, Availability(0, "model_not_chosen")),
        ([], None, Availability(0, "no_model")),
        ([{"id": 5}, "x", None], None, Availability(0, "no_model")),
    ],
)
async def test_the_list_of_models_tells_the_state(
    entries: list[object], model: str | None, state: Availability
) -> None:
    async with upstream(says(answer({"data": entries})), model=model) as (provider, _):
        assert await provider.probe() == state


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (answer({"error": "key"}, "401 Unauthorized"), "refused the key"),
        (answer({}, "500 Oops"), "HTTP status 500"),
        (answer({"data": 5}), "list of models"),
        (answer([]), "list of models"),
        (head(kind="text/html") + b"<html>hello</html>", "not JSON"),
        (head() + b"[" * 100_000, "not JSON"),
        (head() + b'{"data": [' + b" " * (1 << 21), "too long"),
        (head("302 Found", "text/html", "Location: http://127.0.0.1:1/"), "redirects"),
        (head("200 OK", "application/json", "Content-Encoding: gzip") + b"x", "compressed"),
        (b"SSH-2.0-OpenSSH_9\r\n", "broke off"),
        (b"", "broke off"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "broke off"),
        (answer({}, "200 OK", "Content-Length: 500")[:60], "broke off"),
    ],
)
async def test_a_list_that_cannot_be_read_is_an_unknown_state(reply: bytes, text: str) -> None:
    async with upstream(says(reply)) as (provider, _):
        error = (await provider.probe()).error

    assert error is not None
    assert text in error
    assert "127.0.0.1" not in error


async def test_the_four_cells_come_from_one_look_at_the_list() -> None:
    async with upstream(says(LIST), variants={"stable/full": "big"}) as (provider, daemon):
        cells = await provider.probe_configs()

    assert len(daemon.asked) == 1
    assert cells == {
        "stable/fast": Availability(3),
        "stable/full": Availability(0, "model_not_listed"),
        "preview/fast": Availability(0, "not_configured"),
        "preview/full": Availability(0, "not_configured"),
    }


async def test_a_reply_streams_and_its_cost_is_what_the_daemon_counted() -> None:
    usage = {
        "choices": [],
        "usage": {
            "prompt_tokens": 12,
            "completion_tokens": 3,
            "prompt_tokens_details": {"cached_tokens": 5},
        },
    }
    stream = sse(
        {"choices": [{"delta": {"role": "assistant"}}]},
        delta("Brake "),
        delta("late\ud83d"),
        delta("\ude00"),
        delta(finish="length"),
        usage,
    )
    async with scripted(says(stream)) as daemon:
        provider = OpenAiDaemon(
            Daemon(parse(f"{daemon.address}/v1"), key=SecretStr("hush")),
            SysmodelSettings.model_construct(model="coach"),
        )
        reply = provider.generate(chat("Hi", "Hello", "Why?", max_output=9, max_total=50))
        pieces = await collect(reply)
        await provider.close()

    assert texts(pieces) == "Brake late😀"
    assert (reply.outcome.finish, reply.outcome.completion_tokens) == ("length", 3)
    assert (reply.outcome.prompt_tokens, reply.outcome.cached_tokens) == (12, 5)
    (asked,) = daemon.asked
    assert asked.line == "POST /v1/chat/completions HTTP/1.1"
    assert asked.headers["authorization"] == "Bearer hush"
    assert asked.headers["accept-encoding"] == "identity"
    assert asked.json == {
        "model": "coach",
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Why?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 9,
    }


async def test_flat_history_goes_as_one_message_and_no_cap_is_invented() -> None:
    async with upstream(says(sse(delta("ok", "stop"))), flatten=True) as (provider, daemon):
        await collect(provider.generate(chat("Hi", "Hello", "Why?")))

    body = daemon.asked[0].json
    flat = "user: Hi\n\nassistant: Hello\n\nuser: Why?\n\nassistant: "
    assert body["messages"] == [{"role": "user", "content": flat}]
    assert "max_tokens" not in body
    assert "authorization" not in daemon.asked[0].headers


async def test_several_models_and_no_choice_is_an_error_that_names_the_setting() -> None:
    several = answer({"data": [{"id": "a"}, {"id": "b"}]})
    async with upstream(by_path(models=several), model=None) as (provider, _):
        with pytest.raises(SysmodelRuntimeError, match=r"sysmodel\.model"):
            await collect(provider.generate(chat()))


async def test_a_busy_daemon_is_asked_again_after_the_time_it_names(
    slept: Slept,
) -> None:
    busy = answer({"error": "wait"}, "429 Too Many Requests", "Retry-After: 3")
    loading = answer({"error": {"message": "Loading model"}}, "503 Service Unavailable")
    async with upstream(says(busy, loading, sse(delta("ok")))) as (provider, _):
        pieces = await collect(provider.generate(chat()))

    assert pieces == ["ok"]
    assert slept.seconds == [3.0, 1.0]


@pytest.mark.parametrize(
    ("header", "pause"), [("0", 0.1), ("86400", 30.0), ("nan", 1.0), ("Fri, 13", 1.0), ("-5", 0.1)]
)
async def test_a_strange_retry_time_is_pulled_into_reason(
    slept: Slept, header: str, pause: float
) -> None:
    busy = answer({}, "429 Too Many Requests", f"Retry-After: {header}")
    async with upstream(says(busy, sse(delta("ok")))) as (provider, _):
        await collect(provider.generate(chat()))

    assert slept.seconds == [pause]


@pytest.mark.parametrize(
    "reply",
    [
        answer({"error": {"code": 30, "message": "x"}}, "500 Oops"),
        answer({"error": {"message": "Background usage is blocked"}}, "403 Forbidden"),
        sse({"error": {"code": 30}}),
        sse(delta("Brake"), {"error": {"message": "error code 30"}}),
    ],
)
async def test_code_30_blocks_before_and_during_a_reply(reply: bytes) -> None:
    async with upstream(says(reply)) as (provider, _):
        with pytest.raises(SysmodelBackgroundBlocked):
            await collect(provider.generate(chat()))


async def test_each_piece_may_be_awaited_by_another_task() -> None:
    async with upstream(says(sse(*map(delta, "abc")))) as (provider, _):
        pieces = aiter(provider.generate(chat()))
        got = [await asyncio.create_task(anext(pieces, None)) for _ in range(4)]

    assert [piece and piece.text for piece in got] == ["a", "b", "c", None]


async def test_a_daemon_on_a_unix_socket_answers_under_v1(tmp_path: Path) -> None:
    script = by_path(models=LIST, completions=sse(delta("ok")))
    async with upstream(script, socket=tmp_path / "fm.sock", model=None) as (provider, daemon):
        assert (await provider.probe()).code == Status.AVAILABLE
        assert await collect(provider.generate(chat())) == ["ok"]

    assert [one.path for one in daemon.asked] == [
        "/v1/models",
        "/v1/models",
        "/v1/chat/completions",
    ]


async def test_a_missing_unix_socket_is_an_unknown_state(tmp_path: Path) -> None:
    provider = OpenAiDaemon(
        client(f"unix:{tmp_path}/none.sock"), SysmodelSettings.model_construct()
    )
    error = (await provider.probe()).error
    await provider.close()

    assert error is not None
    assert "cannot be reached" in error
    assert "none.sock" not in error


async def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted(says(LIST)) as proxy, scripted(says(LIST)) as daemon:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        provider = OpenAiDaemon(client(daemon.address), SysmodelSettings.model_construct())
        await provider.probe()
        await provider.close()

    assert (len(proxy.asked), len(daemon.asked)) == (0, 1)


async def test_a_redirect_reaches_nobody_else() -> None:
    async with scripted(says(LIST)) as canary:
        moved = head("307 Moved", "text/plain", f"Location: {canary.address}/models")
        async with scripted(says(moved)) as daemon:
            provider = OpenAiDaemon(
                client(daemon.address), SysmodelSettings.model_construct(model="coach")
            )
            assert (await provider.probe()).error
            with pytest.raises(SysmodelRuntimeError):
                await collect(provider.generate(chat()))
            await provider.close()

    assert canary.asked == []


@pytest.mark.parametrize(
    ("text", "pieces"), [("\ud83d \ude00", "\ufffd \ufffd"), ("a\ud83d\ude00b", "a😀b")]
)
async def test_halves_of_a_character_are_joined_and_a_lone_one_is_marked(
    text: str, pieces: str
) -> None:
    async with upstream(says(sse(*map(delta, text)))) as (provider, _):
        assert "".join(await collect(provider.generate(chat()))) == pieces


@pytest.mark.parametrize("size", [1, 2, 3, 7, 50])
async def test_the_slicing_of_the_network_changes_nothing(size: int) -> None:
    stream = (
        b": ka\r\nevent: x\r\n" + sse(delta("Br\u00e4ke "), delta("late", "stop"))[len(head()) :]
    )

    async def slowly(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head())
        for at in range(0, len(stream), size):
            writer.write(stream[at : at + size])
            await writer.drain()

    async with upstream(slowly) as (provider, _):
        assert "".join(await collect(provider.generate(chat()))) == "Br\u00e4ke late"
