"""The program from start to end: exit codes, signals, and no process that outlives it."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from openai import OpenAI

from tests.llm.faults.program import Program, alive, command, run, running
from tests.llm.serverkit import DONE, REPLIES
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]


@pytest.fixture
async def program(tmp_path: Path, models: Path) -> AsyncIterator[Program]:
    async with running(tmp_path, models) as started:
        yield started


def last_events(body: bytes) -> tuple[str, str]:
    """The last two events of a stream, after a look at its clean end."""
    assert body.endswith(b"\n\n")
    *_, one, two = (part.removeprefix("data: ") for part in body.decode()[:-2].split("\n\n"))
    return one, two


async def test_one_server_serves_the_data_until_ctrl_c_ends_it_with_its_engines(
    program: Program, tmp_path: Path, models: Path
) -> None:
    assert program.ready["event"] == "ready"
    assert program.ready["pid"] == program.process.pid
    code, out, err = await run(*command(tmp_path, models))
    assert (code, out) == (2, "")
    assert "data_dir" in err
    assert err.count("\n") == 1
    assert await asyncio.to_thread(talk, program) == REPLIES["<gold>"]
    children = program.children()
    assert children
    program.signal(signal.SIGINT)
    assert await program.ended() == 0
    await until(lambda: not any(alive(pid) for pid in children))


async def test_a_stream_that_can_end_in_time_ends_as_if_nothing_had_happened(
    program: Program,
) -> None:
    asked = program.ask("endless", "<gold>", stream=True, max_completion_tokens=1500)
    await program.until_running(1, unless=asked)
    program.signal(signal.SIGTERM)
    status, body = await asked
    finish, sentinel = last_events(body)
    assert (status, sentinel) == (200, DONE)
    assert json.loads(finish)["choices"][0]["finish_reason"] == "stop"
    assert await program.ended() == 0


def talk(program: Program) -> str:
    """A chat of the stock client without async."""
    with OpenAI(base_url=f"{program.url}/v1", api_key="none") as client:
        assert "recall" in [model.id for model in client.models.list()]
        stream = client.chat.completions.create(
            model="recall",
            messages=[{"role": "user", "content": "<gold>"}],
            temperature=0,
            stream=True,
        )
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


async def test_what_waits_is_turned_away_at_once_and_what_runs_too_long_at_the_end(
    program: Program, tmp_path: Path
) -> None:
    await program.ask("recall")  # so that the stream behind it need not wait for its model
    stream = program.ask("endless", stream=True)
    await program.until_running(1)
    waiting = program.ask("recall")
    waiting_stream = program.ask("recall", stream=True)
    await program.until_running(1, 2)
    children = program.children()
    program.signal(signal.SIGTERM)

    status, body = await waiting
    assert status == 503
    assert json.loads(body)["error"]["type"] == "server_error"
    for asked in (waiting_stream, stream):
        status, body = await asked
        # Turned away in its stream, or with its status where the stream had not begun yet.
        failure, sentinel = last_events(body) if status == 200 else (body, DONE)
        error = json.loads(failure)["error"]
        assert (error["code"], error["type"]) == (503, "server_error")
        assert sentinel == DONE
        assert status == 200 or asked is waiting_stream
    assert await program.ended() == 0
    await until(lambda: not any(alive(pid) for pid in children))
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log


async def test_a_signal_while_a_model_loads_leaves_nothing_behind(program: Program) -> None:
    asked = program.ask("recall")
    await program.until_running(0, 1)
    program.signal(signal.SIGTERM)
    status, _ = await asked
    assert status in (200, 503)  # the load may just have been over
    assert await program.ended() == 0


async def test_the_second_signal_ends_it_at_once(program: Program) -> None:
    asked = program.ask("endless", stream=True)
    await program.until_running(1)
    children = program.children()
    program.signal(signal.SIGTERM)
    await until(lambda: not listens(program.ready["port"]))
    program.signal(signal.SIGTERM)
    assert await program.ended() == 128 + signal.SIGTERM
    await asyncio.gather(asked, return_exceptions=True)
    await until(lambda: not any(alive(pid) for pid in children))


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_a_server_that_is_killed_leaves_no_engine_behind_and_its_data_serves_again(
    program: Program, tmp_path: Path, models: Path
) -> None:
    streams = [program.ask("endless", stream=True), program.ask("noise")]
    await program.until_running(1, 1)
    children = program.children()
    assert len(children) >= 2
    program.signal(signal.SIGKILL)
    await program.ended()
    await asyncio.gather(*streams, return_exceptions=True)
    await until(lambda: not any(alive(pid) for pid in children))
    async with running(tmp_path, models) as again:
        status, body = await again.ask("recall", "<gold>")
        assert status == 200
        assert json.loads(body)["choices"][0]["message"]["content"] == REPLIES["<gold>"]
