"""The stock ``openai`` client, unchanged, against a server on a real port."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam
from pydantic import SecretStr

from runtime.web.lifecycle import LIFECYCLE
from tests.llm.conftest import Start
from tests.llm.serverkit import REPLIES, Json, Server, declared
from tests.waiting import until

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "<gold>"}]
GOLD = REPLIES["<gold>"]


def client_of(server: Server, *, key: str = "none", retries: int = 2) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=retries, timeout=30)


@pytest.fixture
async def client(server: Server) -> AsyncIterator[AsyncOpenAI]:
    async with client_of(server) as opened:
        yield opened


def asked(server: Server) -> int:
    """Requests that came to the server so far."""
    return server.app[LIFECYCLE].accepted


async def test_models_are_listed_and_retrieved(client: AsyncOpenAI) -> None:
    listed = [model async for model in client.models.list()]
    one = await client.models.retrieve("recall")
    assert [model.id for model in listed][-2:] == ["strict", "sysmodel-builtin"]
    assert (one.id, one.owned_by, one.object) == ("recall", "local", "model")
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("nothing")
    assert caught.value.type == "model_not_found"
    assert caught.value.param == "model"


async def test_a_chat_is_parsed_whole(client: AsyncOpenAI) -> None:
    reply = await client.chat.completions.create(model="recall", messages=HELLO, temperature=0)

    assert reply.choices[0].message.content == GOLD
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
    assert reply.usage.prompt_tokens_details is not None
    assert reply.usage.prompt_tokens_details.cached_tokens == 0
    assert reply.id.startswith("chatcmpl-")
    assert reply._request_id == reply.id.removeprefix("chatcmpl-")


async def test_errors_arrive_with_their_type_and_body_and_are_not_repeated(
    client: AsyncOpenAI, server: Server
) -> None:
    cases: list[tuple[str, dict[str, object], type[openai.APIStatusError], str]] = [
        ("nothing", {}, openai.NotFoundError, "model_not_found"),
        ("recall", {"top_k": -1}, openai.BadRequestError, "invalid_request_error"),
        ("embed", {}, openai.InternalServerError, "local_engine_failed"),
        ("sysmodel-builtin", {}, openai.InternalServerError, "sysmodel_unavailable"),
    ]
    bodies: list[Json] = []
    for model, extra, kind, word in cases:
        before = asked(server)
        with pytest.raises(kind) as caught:
            await client.chat.completions.create(model=model, messages=HELLO, extra_body=extra)
        assert caught.value.type == word
        bodies.append(caught.value.body)
        assert asked(server) == before + 1, model
    assert (bodies[-1]["code"], bodies[-1]["actionable"]) == ("SYSMODEL_UNAVAILABLE", False)
    assert bodies[-1]["next_steps"]


async def test_a_timeout_is_not_repeated(start: Start) -> None:
    async with start() as server, client_of(server) as client:
        server.service.chats.request_s = 1e-9
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="endless", messages=HELLO)
        assert (caught.value.status_code, caught.value.type) == (408, "timeout")
        assert asked(server) == 1
        assert server.service.admission.totals.admitted == 1


async def test_a_wrong_key_is_told_as_such(start: Start) -> None:
    async with start(api_key=SecretStr("good")) as server:
        async with client_of(server, key="bad") as client:
            with pytest.raises(openai.AuthenticationError) as caught:
                await client.models.list()
        async with client_of(server, key="good") as client:
            assert (await client.models.list()).data
    assert caught.value.type == "invalid_api_key"


async def test_an_empty_bucket_is_waited_for_as_long_as_it_says(start: Start) -> None:
    async with (
        start(rate_limit_per_sec=0.5, rate_limit_burst=1.0) as server,
        client_of(server) as client,
    ):
        assert (await server.request("POST", "/health/warm?model=recall")).status == 200
        while True:  # as a rule the second finds it empty; where the machine is held, it fills
            before, began = asked(server), asyncio.get_running_loop().time()
            reply = await client.chat.completions.create(
                model="recall", messages=HELLO, temperature=0
            )
            assert reply.choices[0].message.content == GOLD
            rejected = server.service.rejects["rate"]
            assert asked(server) == before + 1 + rejected
            if rejected:
                break
        assert rejected == 1
        assert asyncio.get_running_loop().time() - began >= 0.9  # of the one or two seconds told


async def test_a_model_on_its_way_is_waited_for(start: Start, models: Path) -> None:
    system = declared(models / "recall.gguf", download_bytes_per_s=300_000)
    async with start(sysmodel=system) as server, client_of(server, retries=5) as client:
        assert (await server.request("POST", "/v1/sysmodel/download")).status == 202
        transfer = getattr(server.service.provider, "_transfer")  # noqa: B009 - private
        await until(lambda: transfer.seconds_left() is not None)
        server.service.probing.forget()
        before = asked(server)

        async def until_asked_again(seconds: float) -> None:
            await until(lambda: asked(server) > before + 1, limit_s=40)

        transfer._pace = transfer._pace._replace(sleep=until_asked_again)
        reply = await client.chat.completions.create(
            model="sysmodel-builtin", messages=HELLO, temperature=0
        )
        assert reply.choices[0].message.content == GOLD
        assert asked(server) > before + 1


async def test_an_error_in_mid_stream_is_raised_with_its_words(start: Start) -> None:
    async def read(stream: AsyncStream[ChatCompletionChunk], texts: list[str]) -> None:
        async for chunk in stream:
            texts.append(chunk.choices[0].delta.content or "")  # noqa: PERF401 - it breaks off

    async with start() as server, client_of(server) as client:
        stream = await client.chat.completions.create(
            model="endless", messages=HELLO, temperature=0, stream=True
        )
        texts: list[str] = []
        reading = asyncio.ensure_future(read(stream, texts))
        await until(lambda: "".join(texts).startswith(GOLD))
        (ticket,) = server.service.admission.unfinished
        assert (await server.request("DELETE", f"/v1/requests/{ticket.number}")).status == 202
        with pytest.raises(openai.APIError, match="cancelled"):
            await reading
