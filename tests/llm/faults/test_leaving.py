"""Clients that leave, at any moment: their work ends at once and nobody else suffers."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil

from runtime.llm.engine.process import Worker
from runtime.web.serve import GUARD
from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, REPLIES, Server, chat
from tests.waiting import until

PROMPT = "x" * 12_000
"""Takes a second to prefill, or some."""


@asynccontextmanager
async def asked(server: Server, model: str, text: str, *, stream: bool) -> AsyncIterator[int]:
    """A request under way, by its number; its client leaves at the end of the block."""
    before = set(server.service.admission._unfinished)
    body = chat(model, text, stream=stream)
    task = asyncio.ensure_future(server.request("POST", CHAT, json=body))
    await until(lambda: len(server.service.admission._unfinished) > len(before))
    (number,) = set(server.service.admission._unfinished) - before
    try:
        yield number
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def left(server: Server, number: int) -> None:
    """Wait for the end of a request whose client has left, which counts as cancelled."""
    await until(lambda: number not in server.service.admission._unfinished)
    states = {ticket.number: str(ticket.state) for ticket in server.service.admission.history}
    assert states[number] == "cancelled"


async def test_leaving_while_the_prompt_is_prefilled_frees_the_lane(server: Server) -> None:
    await server.ask("endless", max_completion_tokens=1)
    engine = server.service.pool.list_engines()[0]
    process = psutil.Process(engine.worker.pid)
    began = process.cpu_times().user
    await server.ask("endless", PROMPT, max_completion_tokens=1)
    whole = process.cpu_times().user - began
    async with asked(server, "endless", "y" + PROMPT, stream=True) as number:
        await until(lambda: engine.worker.busy)
    began = process.cpu_times().user
    await left(server, number)
    again = await server.ask("endless", "<gold>", max_completion_tokens=3)

    assert process.cpu_times().user - began < whole / 2
    assert again.said == REPLIES["<gold>"]
    assert server.service.pool.list_engines()[0].worker is engine.worker


async def test_leaving_while_the_model_loads_leaves_the_load_to_the_others(server: Server) -> None:
    go_on = asyncio.Event()

    async def later() -> Worker:
        await go_on.wait()
        return await Worker.start()

    server.service.pool._start_worker = later
    async with asked(server, "recall", "<gold>", stream=False) as number:
        await until(lambda: bool(server.service.pool._loads))
        waiting = asyncio.ensure_future(server.ask("recall", "<red>"))
        await until(lambda: len(server.service.admission.unfinished) == 2)
    await left(server, number)
    go_on.set()

    assert (await waiting).said == REPLIES["<red>"]
    (engine,) = server.service.pool.list_engines()
    assert engine.users == 0


async def test_leaving_takes_the_conversation_back_or_along_and_harms_no_other(
    server: Server,
) -> None:
    turns = [("user", "<gold>"), ("assistant", REPLIES["<gold>"]), ("user", "again")]
    await server.ask("recall", "<gold>", session_id="kept")
    await server.ask("endless", "<red>", session_id="left", max_completion_tokens=3)
    async with server.streaming("endless", "<red> on", session_id="left") as running:
        await running.piece()
    await server.idle()

    kept = await server.ask("recall", turns, session_id="kept")
    fresh = await server.ask("endless", "<blue>", session_id="left", max_completion_tokens=3)
    assert kept.cached > 0
    assert fresh.said == REPLIES["<blue>"]


async def test_a_client_that_never_reads_is_cut_off_and_the_next_one_is_served(
    start: Start,
) -> None:
    async with start(stall_ms=1000, heartbeat_ms=100) as server:
        body = json.dumps(chat("endless", stream=True)).encode()
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
            deaf.sendall(head.encode() + body)
            await until(lambda: server.service.chats.local.running == 1)
            for connection in server.app[GUARD]._open:  # the system alone would take megabytes
                assert connection.transport is not None
                taken = connection.transport.get_extra_info("socket")
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            answer = await server.ask("recall", "<gold>")

        assert answer.said == REPLIES["<gold>"]
        assert server.service.admission.totals.cancelled == 1
        assert server.totals_add_up()


async def test_leaving_at_every_moment_leaves_nothing_held(server: Server) -> None:
    await server.ask("recall", "<gold>")
    for step in range(40):
        body = chat("recall", "<gold>", stream=bool(step % 2))
        task = asyncio.ensure_future(server.request("POST", CHAT, json=body))
        await asyncio.sleep(step * 0.0004)  # from before the first byte to after the last
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await server.idle()

    assert server.totals_add_up()
    assert server.service.pool.list_engines()[0].users == 0
    assert (await server.ask("recall", "<gold>")).said == REPLIES["<gold>"]
