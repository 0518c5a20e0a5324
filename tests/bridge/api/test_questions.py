"""Questions to the coach over HTTP, on both databases: without a model, and with all kinds."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from aiohttp import web

from runtime.bridge.coach.agents import coach
from runtime.bridge.coach.agents.intents import INTENTS
from runtime.bridge.coach.agents.questions import MOST_AT_ONCE, Questions
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.coach.warm.modelkit import (
    LARKFELL,
    Behaviour,
    breaks_off,
    closed_port,
    drips,
    hangs,
    laps,
    raw,
    says,
    serving,
)
from tests.bridge.conftest import Start

DRIVEN: Final = laps(3)
NUMBER: Final = re.compile(r"\d+(?::\d\d)?(?:\.\d+)?")


async def fill(bridge: Bridge) -> None:
    """Three laps of a driver, under the id *s*."""
    await bridge.ok(
        "POST", "/session/start", {"session_id": "s", "driver": "Mia", "track": LARKFELL.name}
    )
    await bridge.service.db.append_frames("s", DRIVEN)


def questions_of(bridge: Bridge) -> Questions:
    found = bridge.service.questions
    assert isinstance(found, Questions)
    return found


async def ask(bridge: Bridge, question: str, **more: Json) -> Json:
    body = {"question": question, "driver_id": "Mia", "session_id": "s", **more}
    return await bridge.ok("POST", "/coach/ask", body)


async def streamed(bridge: Bridge, question: str, **more: Json) -> list[tuple[str, Json]]:
    """Kind and data of each event."""
    body = {"question": question, "driver_id": "Mia", "session_id": "s", **more}
    answer = await bridge.post("/coach/ask/stream", body)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    events = []
    for block in answer.body.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            kind = lines[0].removeprefix("event: ") if lines[0].startswith("event: ") else ""
            assert lines[-1].startswith("data: ")
            events.append((kind, json.loads(lines[-1].removeprefix("data: "))))
    return events


@pytest.fixture
async def alone(start: Start, backend: str) -> AsyncIterator[Bridge]:
    """A bridge without a model."""
    async with start(db_backend=backend, model_url=closed_port()) as running:
        await fill(running)
        yield running


async def test_every_example_is_answered_from_the_facts_without_a_model(alone: Bridge) -> None:
    listed = await alone.ok("GET", "/coach/agents")
    assert listed["available"] is True
    assert listed["count"] == len(INTENTS) == 17
    for one in listed["agents"]:
        for question in one["example_questions"]:
            found = await ask(alone, question)
            assert (found["intent"], found["agent"]) == (one["intent"], one["name"])
            assert found["source"] == "template"
            assert len(found["answer"]) > 20
            assert "None" not in found["answer"]
            assert "nan" not in found["answer"]
            assert found["sources"]
            assert found["qa_key"] == "Mia:s"
            assert found["answer"].startswith(found["sources"][0]["summary"])


async def test_both_databases_give_one_answer_to_a_query(alone: Bridge) -> None:
    found = await ask(alone, "SELECT lap, count(*) AS n FROM frames GROUP BY lap ORDER BY lap")
    assert found["answer"].startswith("The query found 4 rows. Lap 1, n ")
    text = "SELECT session_id, driver, laps FROM sessions"
    assert (await ask(alone, text))["answer"] == (
        "The query says: session id s, driver Mia, laps 3."
    )
    for hostile in ("SELECT * FROM read_text('/etc/passwd')", "```sql\nDROP TABLE sessions\n```"):
        refused = await ask(alone, hostile)
        assert refused["answer"].startswith("The query was not run: ")
        assert "passwd" not in refused["answer"]
    assert (await ask(alone, text, session_id=""))["answer"].startswith("The query says")


async def test_bad_questions_are_refused(alone: Bridge) -> None:
    for path in ("/coach/ask", "/coach/ask/stream"):
        for body in ({}, {"question": " "}, {"question": 7}, {"question": "x" * 4001}):
            assert await alone.refused("POST", path, body) == (400, "bad_field"), body
    assert (await ask(alone, "x" * 4000))["turn"] == 1


async def test_turns_are_counted_and_written_once(alone: Bridge) -> None:
    assert (await ask(alone, "weather?"))["turn"] == 1
    assert (await ask(alone, "top speed?"))["turn"] == 2
    ended = await alone.ok("POST", "/coach/ask/end", {"driver_id": "Mia", "session_id": "s"})
    assert ended == {"flushed": 4, "qa_key": "Mia:s"}
    again = await alone.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
    assert again == {"flushed": 0, "qa_key": "Mia:s"}
    rows = await alone.service.db.read(
        lambda inner: inner.rows("SELECT role, text, driver_id FROM conversations ORDER BY id")
    )
    assert [row[0] for row in rows] == ["user", "assistant"] * 2
    assert rows[0][1] == "weather?"
    assert (await ask(alone, "weather?"))["turn"] == 1


async def test_a_conversation_is_written_when_its_session_ends_or_nobody_goes_on(
    alone: Bridge,
) -> None:
    questions = questions_of(alone)
    await ask(alone, "weather?")
    assert await questions.sweep() == 0
    await alone.ok("POST", "/session/s/end", {})
    assert await questions.sweep() == 2
    await ask(alone, "weather?")
    assert await questions.sweep() == 0  # it began behind the end
    assert await questions.sweep(now=1e12) == 2


async def test_traces_can_be_polled_without_gap_or_repetition(alone: Bridge) -> None:
    for _ in range(3):
        await ask(alone, "T4?")
    await ask(alone, "weather?", session_id="")
    await questions_of(alone).settled()
    whole = await alone.ok("GET", "/coach/traces?session_id=s")
    kinds = [one["event_type"] for one in whole["traces"]]
    assert kinds == ["intent", "tool_start", "tool", "agent"] * 3
    assert whole["traces"][2]["detail"] == "corner_history"
    seen: list[int] = []
    since = "0"
    while page := (await alone.ok("GET", f"/coach/traces?limit=5&since_ts={since}"))["traces"]:
        seen += [one["id"] for one in page]
        since = page[-1]["ts"]
    assert len(seen) == len(set(seen)) == 16
    newest = await alone.ok("GET", "/coach/traces?limit=2")
    assert [one["id"] for one in newest["traces"]] == sorted(seen)[-2:]
    for bad in ("limit=x", "limit=-1", "since_ts=yesterday", "since_ts=nan", "limit=99999"):
        assert (await alone.ok("GET", f"/coach/traces?{bad}"))["count"] == 16


@pytest.mark.parametrize("missing", [False, True])
async def test_without_what_answers_routes_say_so(
    start: Start, monkeypatch: pytest.MonkeyPatch, *, missing: bool
) -> None:
    if missing:
        monkeypatch.setattr(coach, "PACKAGE", "no_such_package_here")
    async with start(agent_backend="openai" if missing else "off", model_url="") as bridge:
        for path in ("/coach/ask", "/coach/ask/stream"):
            refused = await bridge.refused("POST", path, {"question": "x"})
            assert refused == (503, "questions_off")
        assert (await bridge.refused("POST", "/coach/ask/end"))[0] == 503
        agents = await bridge.ok("GET", "/coach/agents")
        assert (agents["available"], agents["agents"]) == (False, [])
        traces = await bridge.ok("GET", "/coach/traces?since_ts=5")
        assert (traces["available"], traces["traces"]) == (False, [])
        assert traces["next_since_ts"] == "5"


LIES: Final = (
    "You were 9.99 s faster in Turn 4. Brake at 777 m. [EMOTION: proud] Turn 99 was perfect."
    " Your best lap was 0:12.345. Release the brake as you turn in. Lap 44 was bliss, at 411 km/h."
    " You lost seven tenths in Turn 10. Look far ahead."
)


async def test_no_false_number_of_a_lying_model_survives(start: Start, backend: str) -> None:
    async with (
        serving(says(LIES)) as model,
        start(db_backend=backend, model_url=model.url) as bridge,
    ):
        await fill(bridge)
        for question in ("How is turn 4?", "Am I consistent?", "Set me a goal", "what is grip"):
            found = await ask(bridge, question)
            assert found["source"] == "local_model"
            assert found["emotion"] != "proud"
            said, _, lesson = found["answer"].partition(" More in the lesson “")
            assert said.endswith("Look far ahead.")
            assert lesson.removesuffix("”.") in {one["title"] for one in found["lessons"]} | {""}
            assert "EMOTION" not in found["answer"]
            assert found["ungrounded_dropped"] in (6, 7)  # the brake goes where a corner is meant
            questions = questions_of(bridge)
            truth = await questions.ask(await questions.understand(question, "x", "s"))
            known = " ".join(one.evidence for one in truth.found)
            for number in NUMBER.findall(found["answer"]):
                assert number in known, number
        assert "Turn 4 took" in model.seen[0]["messages"][-1]["content"]


async def test_a_model_without_room_for_the_history_is_asked_again_without(start: Start) -> None:
    async def behave(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if len(body["messages"]) > 2:
            return web.Response(status=400, body=b"{}")
        return await says("Look far ahead.")(request)

    async with serving(behave) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        assert (await ask(bridge, "Am I consistent?"))["source"] == "local_model"
        assert (await ask(bridge, "Am I consistent?"))["source"] == "local_model"
        assert [len(one["messages"]) for one in model.seen] == [2, 4, 2]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (raw(b"\xff\xfe nonsense"), "bad_reply"),
        (raw(b"{}", 500), "bad_reply"),
        (raw(b"<html>", 404), "bad_reply"),
        (says(""), "empty"),
        (says("   [EMOTION: sad] "), "ungrounded"),
        (says("You did 999 km/h in Turn 4."), "ungrounded"),
        (breaks_off, "bad_reply"),
    ],
)
async def test_whatever_a_model_answers_there_is_an_answer(
    start: Start, behaviour: Behaviour, reason: str
) -> None:
    async with serving(behaviour) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        found = await ask(bridge, "How is turn 4?")
        assert (found["source"], found["reason"]) == ("template", reason)
        assert found["answer"].startswith("Turn 4 took ")
        events = await streamed(bridge, "How is turn 4?")
        assert "".join(data.get("delta", "") for _, data in events) == events[-1][1]["answer"]


GROWING_S: Final = (0.3, 3.0, 9.0)
"""A longer limit where the machine was held while the facts were looked up."""


@pytest.mark.parametrize("behaviour", [hangs, drips])
async def test_a_model_that_hangs_is_a_timeout(start: Start, behaviour: Behaviour) -> None:
    async with serving(behaviour) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        found: Json = {}
        events: list[tuple[str, Json]] = []
        for limit_s in GROWING_S:
            questions_of(bridge).timeout_s = limit_s
            found = await ask(bridge, "How is turn 4?")
            events = await streamed(bridge, "How is turn 4?")
            if all("took too long" not in one["answer"] for one in (found, events[-1][1])):
                break
        assert (found["source"], found["reason"]) == ("template", "timeout")
        assert events[0][1]["delta"].startswith("Turn 4 took ")
        assert "".join(data.get("delta", "") for _, data in events) == events[-1][1]["answer"]
        assert {kind for kind, _ in events} == {""}
        assert events[-1][1]["done"] is True
        assert events[-1][1]["reason"] == "timeout"
        assert (await ask(bridge, "write a voice script"))["source"] == "template"
        await questions_of(bridge).settled()
        traces = (await bridge.ok("GET", "/coach/traces"))["traces"]
        assert "error" in [one["event_type"] for one in traces]


async def test_a_stream_adds_up_to_the_answer_and_never_shows_a_tag(start: Start) -> None:
    text = "Ease off the brake [EMO\nTION: x] as you turn. [emotion: Thinking]Look ahead."
    async with serving(says(text)) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        events = await streamed(bridge, "How is turn 4?")
        assert {kind for kind, _ in events} == {""}
        deltas = [data["delta"] for _, data in events[:-1]]
        last = events[-1][1]
        assert "".join(deltas) == last["answer"]
        assert last["done"] is True
        assert (last["emotion"], last["qa_key"], last["turn"]) == ("thinking", "Mia:s", 1)
        assert all("emotion" not in delta.lower() for delta in deltas)
        assert deltas[0].startswith("Turn 4 took ")


async def test_a_reader_who_leaves_ends_the_model_s_work(start: Start) -> None:
    async with serving(hangs) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        body = {"question": "How is turn 4?", "session_id": "s"}
        for path in ("/coach/ask/stream", "/coach/ask"):
            model.busy.clear()
            model.gone.clear()
            task = asyncio.create_task(bridge.post(path, body))
            await model.busy.wait()
            task.cancel()
            async with asyncio.timeout(30):
                await model.gone.wait()
        assert questions_of(bridge).histories.known() == []


async def test_one_queue_takes_all_questions(start: Start) -> None:
    gate = asyncio.Event()

    async def behave(request: web.Request) -> web.StreamResponse:
        await gate.wait()
        return await says("Look far ahead.")(request)

    async with serving(behave) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        tasks = [asyncio.create_task(ask(bridge, "How is turn 4?")) for _ in range(MOST_AT_ONCE)]
        done: set[asyncio.Task[Any]] = set()
        while len(done) < MOST_AT_ONCE - 5:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
        assert {task.result()["reason"] for task in done} == {"busy"}
        gate.set()
        answers = await asyncio.gather(*tasks)
        assert [one["source"] for one in answers].count("local_model") == 5
        assert model.most == 1


async def test_more_questions_than_are_taken_are_refused(start: Start) -> None:
    async with serving(hangs) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        questions = questions_of(bridge)
        questions._under_way = MOST_AT_ONCE
        for path in ("/coach/ask", "/coach/ask/stream"):
            answer = await bridge.post(path, {"question": "T4?"})
            assert (answer.status, answer.json["code"]) == (503, "too_many_questions")
            assert answer.headers["Retry-After"] == "2"
        questions._under_way = 0
        assert model.seen == []


async def test_lessons_of_an_ingested_course_are_cited(start: Start) -> None:
    hit = {
        "text": "Hold a little brake into the corner.",
        "metadata": {
            "lessonId": "trail-braking",
            "title": "Trail the brake into the corner",
            "url": "https://course.example/trail-braking/",
        },
    }
    asked: list[tuple[str | None, Any]] = []

    async def search(request: web.Request) -> web.Response:
        asked.append((request.headers.get("X-Client-Id"), await request.json()))
        return web.json_response({"data": [hit, hit, {"metadata": 7}], "model": "bert"})

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "bert", "meta": {"kind": "embedding"}}]})

    app = web.Application()
    app.router.add_post("/v1/search", search)
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        async with start(model_url=url) as bridge:
            await fill(bridge)
            near = {
                "id": "trail-braking",
                "title": "Trail the brake into the corner",
                "url": "https://course.example/trail-braking/",
            }
            found = await ask(bridge, "What was my top speed?")
            assert found["lessons"] == [near]
            assert found["answer"].endswith("lesson “Trail the brake into the corner”.")
            debrief = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
            own = next(one["lesson"] for one in debrief["pedagogy"] if one["corner"] == "Turn 4")
            found = await ask(bridge, "How is turn 4?")
            assert [one["id"] for one in found["lessons"]] == [own["id"], near["id"]]
            assert found["answer"].endswith(f"lesson “{own['title']}”.")
            assert asked[0][0] == "course"
            assert asked[0][1]["model"] == "bert"
            assert (await ask(bridge, "SELECT lap FROM laps"))["lessons"] == []
    finally:
        await runner.cleanup()


async def test_voice_scripts_are_kept_as_notes_only_when_asked_for(alone: Bridge) -> None:
    await ask(alone, "Write me a voice script")
    assert (await alone.ok("GET", "/session/s"))["notes"] == []
    found = await ask(alone, "Save a voice script for T4")
    assert "1 phrase is kept" in found["answer"]
    notes = (await alone.ok("GET", "/session/s"))["notes"]
    assert [note["text"] for note in notes] == [
        "Storm Hook: right 1. The hardest stop of the lap, downhill."
    ]


async def test_without_a_database_roles_are_listed_and_questions_refused(alone: Bridge) -> None:
    service = alone.service
    kept = service.store, service.questions
    service.store = service.questions = None
    try:
        refused = await alone.refused("POST", "/coach/ask", {"question": "x"})
        assert refused == (503, "no_database")
        assert (await alone.ok("GET", "/coach/agents"))["count"] == 17
        assert (await alone.ok("GET", "/coach/traces"))["available"] is False
    finally:
        service.store, service.questions = kept
