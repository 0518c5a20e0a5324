"""Questions to the coach over HTTP, on both databases: without a model, and with all kinds."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pytest
import pytest_asyncio
from aiohttp import web

from runtime.bridge.coach import asking
from runtime.bridge.coach.conversation import MOST_AT_ONCE, Conversations
from runtime.bridge.coach.memory import MOST, Memory, Talk, Turn, key_of
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import (
    read_weights,
    weights_file,
    write_weights,
)
from runtime.bridge.session.recording import Frames, Samples
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.coach.coursekit import QUOTED, write_course
from tests.bridge.coach.modelkit import (
    LARKFELL,
    Behaviour,
    closed_port,
    drips,
    hangs,
    laps,
    raw,
    says,
    serving,
)
from tests.bridge.conftest import Start
from tests.bridge.storage.storekit import KINDS

pytestmark = pytest.mark.asyncio(loop_scope="module")
DRIVEN: Final = laps(3)
REMARK: Final = json.dumps({"order": [], "links": [], "remark": "Keep your eyes on the exit."})


async def fill(bridge: Bridge, session_id: str = "s", driver: str = "Mia", seed: int = 1) -> None:
    """Three laps of a driver."""
    start = {"session_id": session_id, "driver": driver, "track": LARKFELL.name}
    await bridge.ok("POST", "/session/start", start)
    frames = DRIVEN if seed == 1 else laps(3, seed=seed)
    await bridge.service.db.append_frames(session_id, frames)


def coach_of(bridge: Bridge) -> Conversations:
    coach = bridge.service.questions
    assert isinstance(coach, Conversations)
    return coach


async def ask(bridge: Bridge, question: str, **more: Json) -> Json:
    body = {"question": question, "driver_id": "Mia", "session_id": "s", **more}
    return await bridge.ok("POST", "/coach/ask", body)


async def stream(bridge: Bridge, question: str) -> list[Json]:
    """The data of each event."""
    body = {"question": question, "driver_id": "Mia", "session_id": "s"}
    answer = await bridge.post("/coach/ask/stream", body)
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    lines = answer.body.decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


@pytest.fixture
async def alone(start: Start, backend: str) -> AsyncIterator[Bridge]:
    """A bridge without a model."""
    async with start(db_backend=backend, model_url=closed_port()) as running:
        await fill(running)
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Bridge]:
    """Such a bridge for all tests of the module."""
    folder = tmp_path_factory.mktemp("shared")
    settings = settings_for(folder, db_backend=request.param, model_url=closed_port())
    async with bridging(settings) as running:
        await fill(running)
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def shared(filled: Bridge) -> AsyncIterator[Bridge]:
    """The same, with nobody in a conversation."""
    yield filled
    await filled.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})


@pytest.mark.asyncio(loop_scope="function")
async def test_what_the_car_recorded_beside_the_frames_is_told(alone: Bridge) -> None:
    times = DRIVEN.columns["timestamp"][::10]
    speeds = DRIVEN.columns["speed_ms"][::10]
    signals = {
        "oil_temp_c": np.linspace(70.0, 104.0, len(times)),
        "gear_position": np.where(speeds < 25.0, 2.0, 4.0),
        **{f"tire_temp_{wheel}_c": np.full(len(times), 80.0) for wheel in ("fl", "fr", "rl", "rr")},
    }
    samples = {name: Samples(times, values) for name, values in signals.items()}
    await alone.service.db.append_signals("s", samples)

    async def said(question: str) -> str:
        return str((await ask(alone, question))["answer"]).replace("\u00a0", " ")

    assert (await said("how hot was the oil")).startswith("Oil temperature: 104 °C")
    assert "70 °C to 104 °C" in await said("how hot was the oil")
    assert "front left 80 °C" in await said("what were the tyre temperatures")
    slowest = LARKFELL.corners[3].name  # a hairpin: 50 km/h
    assert await said(f"which gear in {slowest}") == (
        f"Gear at the slowest point of {slowest}: 2 in most of 3 passes."
    )
    assert "not recorded" in await said("what were the tyre pressures")
    assert "219" in await said("how hot was the oil, in mph and feet please")


async def test_every_example_is_answered_by_its_role_without_a_model(shared: Bridge) -> None:
    listed = await shared.ok("GET", "/coach/agents")
    assert (listed["available"], listed["count"]) == (True, 17)
    for role in listed["agents"]:
        for question in role["example_questions"]:
            answer = await ask(shared, question)
            assert (answer["intent"], answer["agent"]) == (role["intent"], role["name"]), question
            assert answer["source"] == "template"
            assert len(answer["answer"]) > 15
            assert answer["answer"].startswith(answer["sources"][0]["summary"])
            assert answer["facts"][0]["text"] == answer["sources"][0]["summary"]
            assert answer["qa_key"] == "Mia:s"
            assert answer["unused"][0] == "embeddings"


async def test_an_answer_carries_its_facts_for_a_page_and_for_a_voice(shared: Bridge) -> None:
    answer = await ask(shared, "What was my best lap?")
    lead = answer["facts"][0]
    assert lead["values"]["time"]["unit"] == "lap_time"
    assert lead["values"]["time"]["text"] in answer["answer"]
    assert lead["laps"]
    assert "minute" in answer["say"]
    german = await ask(shared, "Was war die beste Runde?")
    assert german["language"] == "de"
    assert "," in german["facts"][0]["values"]["time"]["text"]
    forced = await ask(shared, "What was my best lap?", language="fr", units="imperial")
    assert forced["language"] == "fr"
    assert "tour" in forced["answer"]


async def test_a_conversation_keeps_its_units_and_goes_on_from_the_last_question(
    shared: Bridge,
) -> None:
    first = await ask(shared, "What was the speed at the apex of turn 4 in mph?")
    assert "mph" in first["answer"]
    second = await ask(shared, "and turn 1?")
    assert "Turn 1" in second["answer"]
    assert "mph" in second["answer"]
    assert "km/h" not in second["answer"]
    third = await ask(shared, "Where do I brake for turn 4?")
    assert "m before the corner" in third["answer"].replace("\u00a0", " ")


async def test_what_there_is_not_is_put_right_and_what_is_not_understood_is_asked_back(
    shared: Bridge,
) -> None:
    assert "11 corners" in (await ask(shared, "How was turn 14?"))["answer"]
    lost = await ask(shared, "qwrt plmk zzvb")
    assert lost["suggestions"]
    for question in lost["suggestions"]:
        assert question in lost["answer"]
        assert not (await ask(shared, question))["suggestions"], question


async def test_an_answer_quotes_the_lesson_that_it_names_where_a_course_is_known(
    start: Start, tmp_path: Path
) -> None:
    async with start(course=str(write_course(tmp_path / "course"))) as bridge:
        answer = await ask(bridge, "What does exit speed mean?", session_id="")
        assert answer["lessons"][0]["title"] in answer["answer"]
        assert answer["passage"] == {
            "heading": "Idea: the straight",
            "text": QUOTED,
            "url": "lessons/exits/#idea",
        }
        assert "passage" not in await ask(bridge, "What is a late apex?", session_id="")
    async with start(course=str(tmp_path)) as bridge:
        answer = await ask(bridge, "What does exit speed mean?", session_id="")
        assert answer["lessons"]
        assert "passage" not in answer


async def test_danger_is_answered_first_and_alone(shared: Bridge) -> None:
    answer = await ask(shared, "There is smoke and fire in the engine bay, carry on?")
    assert answer["facts"][0]["kind"].startswith("hazard-")
    assert answer["emotion"] == "concerned"


@pytest.mark.parametrize(
    ("danger", "wish", "stays"),
    [
        ("I bumped my head on the roll bar and feel dizzy", "ten minutes left, shall I go", True),
        ("the brake pedal went soft", "I have 20 minutes left, what do I do with them", True),
        ("the brake pedal went soft", "it's only five laps and I'll take it steady", True),
        ("the steering shakes badly", "pero ¿se nota algo raro en los datos?", True),
        ("the brake pedal went soft", "thanks", False),
        ("the brake pedal went soft", "they're fine after cooling, back out?", True),
        ("I had a beer", "only one beer, that's ok, no?", True),
        ("I had a beer", "what was my best lap", False),
        ("can I take turn 1 flat", "I have 20 minutes left, what do I do with them", False),
    ],
)
@pytest.mark.asyncio(loop_scope="function")
async def test_who_wants_to_go_on_in_spite_of_a_danger_is_told_of_it_again(
    alone: Bridge, danger: str, wish: str, stays: bool
) -> None:
    first = (await ask(alone, danger))["facts"][0]["kind"]
    assert first.startswith("hazard-")
    assert ((await ask(alone, wish))["facts"][0]["kind"] == first) is stays


@pytest.mark.asyncio(loop_scope="function")
async def test_both_databases_give_one_answer_to_a_query(alone: Bridge) -> None:
    answer = await ask(alone, "SELECT lap, count(*) AS n FROM frames GROUP BY lap ORDER BY lap")
    assert answer["answer"].startswith("The query found 4 rows: lap 1, n ")
    assert [row["lap"] for row in answer["rows"]] == [1, 2, 3, None]
    text = "SELECT session_id, driver, laps FROM sessions"
    expected = "The query found one row: session id s, driver Mia, laps 3."
    assert (await ask(alone, text))["answer"] == expected
    assert (await ask(alone, text, session_id=""))["answer"] == expected
    for hostile in ("SELECT * FROM read_text('/etc/passwd')", "```sql\nDROP TABLE sessions\n```"):
        refused = await ask(alone, hostile)
        assert refused["answer"].startswith("The query was not run: ")
        assert "passwd" not in refused["answer"]
        assert "rows" not in refused


async def test_bad_questions_are_refused(shared: Bridge) -> None:
    for path in ("/coach/ask", "/coach/ask/stream"):
        for body in ({}, {"question": " "}, {"question": 7}, {"question": "x" * 4001}):
            assert await shared.refused("POST", path, body) == (400, "bad_field"), body
    assert (await ask(shared, "x" * 4000))["turn"] == 1


async def test_a_session_without_a_lap_or_of_nobody_says_so(shared: Bridge) -> None:
    await shared.ok("POST", "/session/start", {"session_id": "short", "driver": "Mia"})
    short = Frames({name: values[:200] for name, values in DRIVEN.columns.items()})
    await shared.service.db.append_frames("short", short)
    for session_id in ("short", "", "SIM"):
        answer = await ask(shared, "What was my best lap?", session_id=session_id)
        assert answer["facts"][0]["kind"] == "no-complete-lap"
    for question in ("What was my best lap?", "SELECT lap FROM laps"):
        answer = await ask(shared, question, session_id="nobody")
        assert "no session “nobody”" in answer["answer"]
    assert "3.61" in (await ask(shared, "How long is the circuit?"))["answer"]


@pytest.mark.asyncio(loop_scope="function")
async def test_without_a_session_the_active_one_is_meant_but_for_another_driver(
    alone: Bridge,
) -> None:
    async def answer(session_id: str, driver: str) -> str:
        text = "What was my best lap?"
        found = await ask(alone, text, session_id=session_id, driver_id=driver)
        assert found["qa_key"] == f"{driver}:{session_id}"
        return str(found["answer"])

    expected = await answer("s", "Mia")
    for session_id, driver in (("", "mia "), ("", ""), ("SIM", "Ben")):
        assert await answer(session_id, driver) == expected
    assert "No session is open" in await answer("", "Ben")
    await alone.ok("POST", "/session/s/end")
    assert "No session is open" in await answer("SIM", "Mia")


@pytest.mark.asyncio(loop_scope="function")
async def test_other_drivers_and_earlier_sessions_of_the_circuit_are_known(alone: Bridge) -> None:
    await fill(alone, "ben", "Ben", seed=4)
    answer = await ask(alone, "Who is quicker, Ben or me?")
    assert "Ben" in answer["answer"]
    assert any(value["text"] == "Ben" for value in answer["facts"][0]["values"].values())
    assert "no session" in (await ask(alone, "Am I quicker than Tom?"))["answer"]


@pytest.mark.asyncio(loop_scope="function")
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


@pytest.mark.asyncio(loop_scope="function")
async def test_a_conversation_is_written_when_its_session_ends_or_nobody_goes_on(
    alone: Bridge,
) -> None:
    coach = coach_of(alone)
    await ask(alone, "weather?")
    assert await coach.sweep() == 0
    await alone.ok("POST", "/session/s/end", {})
    assert await coach.sweep() == 2
    await ask(alone, "weather?")
    assert await coach.sweep() == 0  # it began behind the end
    assert await coach.sweep(now=1e12) == 2


@pytest.mark.asyncio(loop_scope="function")
async def test_traces_can_be_polled_without_gap_or_repetition(alone: Bridge) -> None:
    for _ in range(3):
        await ask(alone, "How was turn 4?")
    await ask(alone, "How is the weather?", session_id="")
    await coach_of(alone).settle()
    whole = await alone.ok("GET", "/coach/traces?session_id=s")
    kinds = [one["event_type"] for one in whole["traces"]]
    assert kinds == ["intent", "tool_start", "tool", "agent"] * 3
    assert whole["traces"][2]["detail"] == "corner_review"
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
        monkeypatch.setattr(asking, "PACKAGE", "no_such_package_here")
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


async def test_without_a_database_roles_are_listed_and_questions_refused(shared: Bridge) -> None:
    service = shared.service
    kept = service.store, service.questions
    service.store = service.questions = None
    try:
        refused = await shared.refused("POST", "/coach/ask", {"question": "x"})
        assert refused == (503, "no_database")
        assert (await shared.ok("GET", "/coach/agents"))["count"] == 17
        assert (await shared.ok("GET", "/coach/traces"))["available"] is False
    finally:
        service.store, service.questions = kept


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (raw(b"\xff\xfe nonsense"), "bad_reply"),
        (raw(b"{}", 500), "bad_reply"),
        (raw(b"<html>", 404), "bad_reply"),
        (says(""), "empty"),
        (says("You did 999 km/h in Turn 4. [EMOTION: proud]"), "ungrounded"),
    ],
)
async def test_whatever_a_model_answers_there_is_an_answer(
    start: Start, behaviour: Behaviour, reason: str
) -> None:
    async with serving(behaviour) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        answer = await ask(bridge, "How was turn 4?")
        assert (answer["source"], answer["reason"]) == ("template", reason)
        assert answer["unused"][-1] == "model"
        assert "999" not in answer["answer"]
        assert "EMOTION" not in answer["answer"]


async def test_a_good_remark_is_shown_as_the_model_s_and_streams_add_up(
    start: Start, tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    async with (
        serving(says(REMARK), params=3_000_000_000) as model,
        start(model_url=model.url, model_key="secret", prompt_log=prompts) as bridge,
    ):
        await fill(bridge)
        events = await stream(bridge, "How was turn 4?")
        last = events[-1]
        assert last["done"] is True
        assert "".join(event["delta"] for event in events[:-1]) == last["answer"]
        assert last["model_said"] == "Keep your eyes on the exit."
        assert "Coach model: Keep your eyes on the exit." in last["answer"]
        assert last["source"] == "local_model"
        assert events[0]["delta"] == last["facts"][0]["text"]
        form = model.seen[0]["response_format"]
        assert form["type"] == "json_schema"
        line = json.loads(prompts.read_text("utf-8"))
        assert line["messages"] == model.seen[0]["messages"]
        assert "secret" not in prompts.read_text("utf-8")
        rows = await bridge.service.db.read(
            lambda inner: inner.rows("SELECT role, fell_back FROM llm_friction")
        )
        assert [tuple(row) for row in rows] == [("ask", 0)]


async def test_a_small_model_is_not_asked_but_its_server_s_vectors_are_used(start: Start) -> None:
    async with (
        serving(says(REMARK), params=135_000_000) as model,
        start(model_url=model.url) as bridge,
    ):
        await fill(bridge)
        async with asyncio.timeout(180):
            learning = coach_of(bridge).learning
            assert learning is not None
            await learning
        examples = len(model.embedded)
        answer = await ask(bridge, "How was turn 4?")
        assert (answer["reason"], answer["unused"]) == ("too_small", ["model"])
        await bridge.ok("GET", "/coach/brief?driver=Mia")
        friction = await bridge.ok("GET", "/diagnostics/llm_friction")
        assert friction["reasons"] == [{"reason": "too_small", "count": 2}]
        assert [row["role"] for row in friction["rows"]] == ["brief", "ask"]
        assert (friction["error_rate"], friction["fallback_rate"]) == (0, 1)
        await ask(bridge, "How was turn 4?")
        assert len(model.embedded) <= examples + 1
        assert model.seen == []


@pytest.mark.parametrize("behaviour", [hangs, drips])
async def test_a_model_that_hangs_is_a_timeout(start: Start, behaviour: Behaviour) -> None:
    async with serving(behaviour) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        await ask(bridge, "hello")
        await coach_of(bridge).gathering.look("s", "Mia")  # laps are found once
        coach_of(bridge).timeout_s = 2.0
        answer = await ask(bridge, "How long is the circuit?")
        assert (answer["source"], answer["reason"]) == ("template", "timeout")
        await coach_of(bridge).settle()
        traces = (await bridge.ok("GET", "/coach/traces"))["traces"]
        assert "error" in [one["event_type"] for one in traces]


async def test_a_reader_who_leaves_ends_the_model_s_work(start: Start) -> None:
    async with serving(hangs) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        body = {"question": "How was turn 4?", "session_id": "s"}
        for path in ("/coach/ask/stream", "/coach/ask"):
            model.busy.clear()
            model.gone.clear()
            task = asyncio.create_task(bridge.post(path, body))
            await model.busy.wait()
            task.cancel()
            async with asyncio.timeout(30):
                await model.gone.wait()
        assert coach_of(bridge).memory.list_keys() == []


async def test_one_queue_takes_all_questions_and_too_many_are_refused(start: Start) -> None:
    gate = asyncio.Event()

    async def behave(request: web.Request) -> web.StreamResponse:
        await gate.wait()
        return await says(REMARK)(request)

    async with serving(behave) as model, start(model_url=model.url) as bridge:
        await fill(bridge)
        question = "How was turn 4?"
        tasks = [asyncio.create_task(ask(bridge, question)) for _ in range(MOST_AT_ONCE)]
        done: set[asyncio.Task[Any]] = set()
        while len(done) < MOST_AT_ONCE - 5:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=0.05)
        assert {task.result()["reason"] for task in done} == {"busy"}
        gate.set()
        answers = await asyncio.gather(*tasks)
        assert [one["source"] for one in answers].count("local_model") == 5
        assert model.most == 1
        coach_of(bridge)._under_way = MOST_AT_ONCE
        for path in ("/coach/ask", "/coach/ask/stream"):
            refused = await bridge.post(path, {"question": "T4?"})
            assert (refused.status, refused.json["code"]) == (503, "too_many_questions")
            assert refused.headers["Retry-After"] == "2"
        coach_of(bridge)._under_way = 0


async def test_memory_has_a_budget_and_what_leaves_it_is_handed_out() -> None:
    memory, talk, left = Memory(budget=100), Talk("Mia", "s"), []
    counts = []
    for number in range(8):
        turn = Turn(f"q{number}".ljust(10, "?"), "a".ljust(10, "."), "neutral", 1, 2)
        talk, rows = memory.add(memory.talk("Mia", "s"), turn, float(number))
        counts.append(len(talk.turns))
        left += rows
    assert counts == [1, 2, 3, 4, 5, 5, 5, 5]
    assert [row.role for row in left] == ["user", "assistant"] * 3
    assert len(memory.recent(talk)) == 5
    assert memory.list_idle(3606.0) == []
    assert memory.list_idle(3607.0) == ["Mia:s"]
    assert len(memory.end(key_of("Mia", "s"))) == 10
    for number in range(MOST + 1):
        memory.add(Talk(str(number), ""), Turn("q", "a", "neutral", 1, 2), 0.0)
    assert len(memory.list_keys()) == MOST


async def test_what_is_learnt_of_vectors_is_kept_for_the_same_model_only(tmp_path: Path) -> None:
    path = weights_file(tmp_path / "b.db")
    made = {language: np.full((3, 2), 0.5, np.float32) for language in get_args(Language)}
    write_weights(path, "bert", made)

    kept = read_weights(path, "bert")

    assert kept is not None
    assert kept["de"].tolist() == made["de"].tolist()
    assert path.stat().st_mode & 0o077 == 0
    assert read_weights(path, "other") is None
    path.write_bytes(b"damaged")
    assert read_weights(path, "bert") is None
    assert read_weights(tmp_path / "nowhere", "bert") is None
