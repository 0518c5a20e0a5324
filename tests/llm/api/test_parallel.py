"""Several replies of one engine at a time, as far as the settings allow."""

import asyncio
from contextlib import AsyncExitStack

from tests.llm.conftest import Start
from tests.llm.serverkit import DONE, REPLIES, Events, Server, joined
from tests.waiting import until

SECRETS = ("<red>", "<green>", "<blue>", "<gold>")


async def endless(server: Server, stack: AsyncExitStack, text: str) -> Events:
    """A stream without end that has begun."""
    events = await stack.enter_async_context(server.streaming("endless", text))
    await events.piece()
    return events


async def test_replies_run_side_by_side_and_one_more_waits(start: Start) -> None:
    async with start(parallel=3) as server, AsyncExitStack() as stack:
        for secret in SECRETS[:3]:
            await endless(server, stack, secret)
        health = (await server.get("/health")).json
        fourth = asyncio.create_task(server.ask("endless", "<gold>", max_completion_tokens=3))
        await until(lambda: server.service.chats.local.waiting == 1)
        assert (health["inflight"], health["engines"][0]["compute"]["parallel"]) == (3, 3)
        await stack.aclose()
        answer = await fourth
        assert answer.said == REPLIES["<gold>"]
        assert answer.headers["X-Queue-Position"] == "4"
        await server.idle()


async def test_who_leaves_stops_only_its_own_reply(start: Start) -> None:
    async with start(parallel=4) as server, AsyncExitStack() as stack:
        stays = await endless(server, stack, "<red>")
        for _ in range(10):
            async with server.streaming("endless", "<green>" + "x" * 2000) as leaver:
                await leaver.next()
        await until(lambda: len(server.service.chats.local.holders) == 1)
        for _ in range(20):
            await stays.piece()
        assert (await server.ask("endless", "<blue>", max_completion_tokens=3)).said == REPLIES[
            "<blue>"
        ]
    assert server.totals_add_up()


async def test_many_at_once_answer_as_each_alone(start: Start) -> None:
    async with start(parallel=4, max_queue_depth=32) as server:
        texts = [f"{SECRETS[n % 4]} {'x' * (37 * n % 900)}" for n in range(24)]
        streams = await asyncio.gather(
            *(server.stream("recall", text, session_id=f"{n % 3}") for n, text in enumerate(texts))
        )
        assert [joined(events) for events in streams] == [
            REPLIES[SECRETS[n % 4]] for n in range(24)
        ]
        assert all(events[-1] == DONE for events in streams)
        await server.idle()


async def test_a_measurement_chooses_how_many(start: Start) -> None:
    async with start(parallel=0) as server:
        assert (await server.ask("recall", "<gold>")).said == REPLIES["<gold>"]
        (engine,) = (await server.get("/health")).json["engines"]
    assert engine["compute"]["parallel"] in (1, 2, 4, 8)
