"""The queue: who is admitted, in what order they run, and who sees and ends what."""

import asyncio
import json
from functools import partial

from runtime.llm.chats import State
from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, DONE, REPLIES, Answer, Server, chat
from tests.waiting import until


async def test_the_ninth_request_at_once_is_refused_and_waiting_ones_are_counted(
    server: Server,
) -> None:
    body = chat("endless", max_completion_tokens=400)
    asked = [
        asyncio.ensure_future(server.request("POST", CHAT, json=body | {"stream": bool(n % 2)}))
        for n in range(12)
    ]
    answers: list[Answer] = await asyncio.gather(*asked)

    served = [answer for answer in answers if answer.status == 200]
    refused = [answer for answer in answers if answer.status == 429]
    assert (len(served), len(refused)) == (8, 4)
    places = [int(answer.headers["X-Queue-Position"]) for answer in served]
    assert sorted(places) == list(range(1, 9))
    assert places == [int(answer.headers["X-Queue-Depth"]) for answer in served]
    assert {answer.headers["Retry-After"] for answer in refused} == {"5"}
    assert {answer.headers["X-Queue-Depth"] for answer in refused} == {"8"}
    assert server.totals_add_up()
    assert server.service.admission.totals.completed == 8


async def test_a_client_that_fills_its_queue_keeps_no_other_out(server: Server) -> None:
    body = chat("endless", max_completion_tokens=2000)
    greedy = [asyncio.ensure_future(server.request("POST", CHAT, json=body)) for _ in range(12)]
    await until(lambda: len(server.service.chats.local.unfinished) == 8)

    answer = await server.ask("recall", "<gold>", headers={"User-Agent": "another"})

    assert (answer.status, answer.said) == (200, REPLIES["<gold>"])
    assert int(answer.headers["X-Queue-Position"]) < int(answer.headers["X-Queue-Depth"]) == 9
    assert not all(task.done() for task in greedy)  # it did not wait for all of them
    for task in greedy:
        task.cancel()


def _in_line(server: Server, waiting: int) -> bool:
    return len(server.service.chats.local._waiting) == waiting


def _holds(server: Server, requests: int) -> bool:
    return len(server.service.chats.local.unfinished) == requests


async def test_requests_run_in_the_order_in_which_they_came(server: Server) -> None:
    ended: list[int] = []
    server.service.admission.on_finish = lambda ticket: ended.append(ticket.number)
    async with server.streaming("endless") as running:
        await running.piece()
        waiting = []
        for place in range(2, 6):
            waiting.append(asyncio.ensure_future(server.ask("recall", "<gold>")))
            await until(partial(_holds, server, place))
            await until(partial(_in_line, server, place - 1))  # its prompt is ready too
    answers = await asyncio.gather(*waiting)
    numbers = [int(answer.headers["X-Request-Id"]) for answer in answers]
    in_turn = [number for number in ended if number in numbers]  # the first may end among them
    assert in_turn == numbers == sorted(numbers)


async def test_a_finished_request_makes_room_at_once(start: Start) -> None:
    async with start(max_queue_depth=1) as server:
        for _ in range(20):
            assert (await server.ask("recall", "<gold>")).status == 200


async def test_the_view_of_requests_shows_where_each_stands_and_no_text(server: Server) -> None:
    await server.ask("recall", "<gold> secret words")
    async with server.streaming("endless", "secret words") as running:
        await running.piece()
        async with server.streaming("recall", "secret words"):
            view = await server.get("/v1/requests")
    await until(lambda: not server.service.admission.unfinished)
    after = (await server.get("/v1/requests")).json

    assert b"secret" not in view.body
    (one,), (two,), (done,) = (view.json[name] for name in ("running", "waiting", "last"))
    assert (one["model"], one["state"], one["stream"]) == ("endless", "running", True)
    assert (two["model"], two["state"], two["chunks"]) == ("recall", "queued", 0)
    assert two["position"] == 2
    assert "position" not in one
    assert (done["state"], done["completion_tokens"], done["chunks"]) == ("completed", 3, 1)
    assert {record["client"] for record in (one, two, done)} == {"tester"}
    assert {record["lane"] for record in (one, two, done)} == {"local"}
    assert [record["id"] for record in after["last"]] == [one["id"], two["id"], done["id"]] or [
        record["id"] for record in after["last"]
    ] == [two["id"], one["id"], done["id"]]
    assert after["running"] == after["waiting"] == []


async def test_the_last_fifty_requests_are_remembered(server: Server) -> None:
    for _ in range(60):
        await server.ask("nothing")
    last = (await server.get("/v1/requests")).json["last"]
    ids = [record["id"] for record in last]
    assert len(ids) == 50
    assert ids == sorted(ids, reverse=True)
    assert {record["state"] for record in last} == {"errored"}


async def test_cancelling_a_running_stream_tells_its_client_and_frees_the_lane(
    server: Server,
) -> None:
    async with server.streaming("endless") as running:
        await running.piece()
        number = running.response.headers["X-Request-Id"]
        waiting = asyncio.ensure_future(server.ask("recall", "<gold>"))
        await until(lambda: server.service.chats.local.waiting == 1)
        answer = await server.request("DELETE", f"/v1/requests/{number}")
        events = await running.rest()

    assert (answer.status, answer.json) == (202, {"id": int(number), "cancelled": True})
    *_, failure, sentinel = events
    error = json.loads(failure)["error"]
    assert (error["type"], error["code"], sentinel) == ("request_cancelled", 409, DONE)
    assert (await waiting).said == REPLIES["<gold>"]
    states = {ticket.number: ticket.state for ticket in server.service.admission.history}
    assert states[int(number)] is State.CANCELLED
    assert server.service.admission.totals.cancelled == 1


async def test_cancelling_a_waiting_request_leaves_the_others_alone(server: Server) -> None:
    async with server.streaming("endless") as running:
        await running.piece()
        first = asyncio.ensure_future(server.ask("recall", "<gold>"))
        await until(lambda: server.service.chats.local.waiting == 1)
        number = max(server.service.chats.local.unfinished)
        second = asyncio.ensure_future(server.ask("recall", "<red>"))
        await until(lambda: server.service.chats.local.waiting == 2)
        await server.request("DELETE", f"/v1/requests/{number}")
        answer = await first
        await running.piece()

    assert (answer.status, answer.error["type"]) == (409, "request_cancelled")
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["X-Queue-Position"] == "2"
    assert (await second).said == REPLIES["<red>"]


async def test_only_unfinished_requests_can_be_cancelled(server: Server) -> None:
    number = (await server.ask("recall", "<gold>")).headers["X-Request-Id"]
    for wrong in (number, "99999", "0", "-1", "x", "1.5", "9" * 40):
        answer = await server.request("DELETE", f"/v1/requests/{wrong}")
        assert answer.status == 404, wrong
        assert answer.error["type"] == "invalid_request_error"
