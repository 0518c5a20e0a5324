"""Far more requests than the server takes, from clients of which half leave at random."""

import asyncio
import random
from collections import Counter

import aiohttp
import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, REPLIES, Json, Server, chat
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

REQUESTS = 400
BURST = 50  # below the limit on connections of one address


async def one(server: Server, body: Json, patience_s: float | None) -> str:
    """How a request ended for its client: a status, or that it left."""
    try:
        async with asyncio.timeout(patience_s), server.http.post(CHAT, json=body) as response:
            data = await response.read()
    except TimeoutError:
        return "left"
    except aiohttp.ClientError as error:
        return type(error).__name__
    if response.status == 429:
        assert response.headers["Retry-After"] == "5"
    elif response.status == 200 and body["stream"]:
        assert data.endswith(b"data: [DONE]\n\n")
    return str(response.status)


def requests(chance: random.Random) -> list[tuple[Json, float | None]]:
    """Bodies, and how long the client of each waits."""
    found: list[tuple[Json, float | None]] = []
    for _ in range(REQUESTS):
        model = chance.choice(["recall", "recall", "endless", "noise", "nothing", "embed"])
        body = chat(
            model,
            chance.choice(["<gold>", "x" * 400]),
            stream=chance.random() < 0.5,
            max_completion_tokens=chance.choice([1, 20, 200]),
        )
        if chance.random() < 0.3:
            body["session_id"] = f"s{chance.randrange(6)}"
        found.append((body, chance.uniform(0.001, 0.4) if chance.random() < 0.5 else None))
    return found


async def test_a_storm_passes_and_every_request_is_counted_once(start: Start) -> None:
    async with start() as server:
        highest = 0

        def look() -> None:
            nonlocal highest
            highest = max(highest, len(server.service.admission.unfinished))
            assert server.totals_add_up()

        ends: Counter[str] = Counter()
        asked = requests(random.Random(7))
        for first in range(0, REQUESTS, BURST):
            burst = [one(server, *each) for each in asked[first : first + BURST]]
            for end in asyncio.as_completed(burst):
                ends[await end] += 1
                look()
        await server.idle()
        health = await server.get("/health")
        found = await server.metrics()
        answered = await server.ask("recall", "<gold>")
        users = [engine.users for engine in server.service.pool.list_engines()]

    assert highest <= 8
    assert set(ends) <= {"left", "200", "404", "429", "503"}, ends
    assert ends.total() == REQUESTS
    assert min(ends["200"], ends["429"], ends["left"]) > 2, ends
    assert answered.said == REPLIES["<gold>"]
    assert users == [0] * len(users)
    assert (health.json["inflight"], health.json["queue_depth"]) == (0, 0)
    total = found["llmsvc_requests_total"]
    parts = [
        found[f"llmsvc_requests_{word}_total"] for word in ("completed", "errored", "cancelled")
    ]
    assert total == sum(parts)
    assert parts[0] >= ends["200"]
    assert parts[1] >= ends["404"] + ends["503"]
    assert total + found['llmsvc_requests_rejected_total{reason="queue"}'] <= REQUESTS


async def test_engines_that_are_killed_in_a_storm_come_back(start: Start) -> None:
    chance = random.Random(11)
    async with start() as server:
        over = asyncio.Event()

        async def kill() -> None:
            while not over.is_set():
                for engine in server.service.pool.list_engines():
                    if chance.random() < 0.5:
                        engine.worker.kill()
                await asyncio.sleep(0.3)

        killer = asyncio.ensure_future(kill())
        ends: Counter[str] = Counter()
        for _ in range(12):
            body = chat("recall", "<gold>", stream=False)
            ends.update(await asyncio.gather(*(one(server, body, None) for _ in range(6))))
        over.set()
        await killer
        await server.idle()
        await until(lambda: not server.service.pool._loads)
        answered = await server.ask("recall", "<gold>")

    assert answered.said == REPLIES["<gold>"]
    assert set(ends) <= {"200", "500", "503"}, ends
    assert ends["200"] > 0
