"""Questions that go on from the last one, sessions that lack something, and models that fail."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from aiohttp import web

from runtime.bridge.coach.agents import topic_words
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.followups import Subject, followed
from runtime.bridge.coach.agents.measured import OF_CORNER_ONLY
from runtime.bridge.coach.agents.measures import MEASURES
from runtime.bridge.coach.agents.naming import Names, named
from runtime.bridge.coach.agents.questions import Questions
from runtime.bridge.coach.agents.series_answers import QUANTITIES
from runtime.bridge.session.recording import TIMESTAMP, Frames
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import QUESTIONS, TRUE, ask, filled, gears
from tests.bridge.coach.warm.modelkit import (
    LARKFELL,
    Behaviour,
    closed_port,
    drips,
    hangs,
    raw,
    serving,
)

NAMES: Final = Names(LARKFELL.corners, [one.name for one in LARKFELL.sectors])
MEGABYTE: Final = 1 << 20


@pytest.fixture
async def bridge(tmp_path: Path) -> AsyncIterator[Bridge]:
    """A bridge with sessions and without a model."""
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as running:
        await filled(running)
        yield running


async def test_a_conversation_goes_on_about_what_it_was_about(bridge: Bridge) -> None:
    turns = (
        ("What was my speed at the apex of turn 3 on lap 4?", ("lap 4", "apex of Turn 3")),
        ("and turn 4?", ("lap 4", "apex of Turn 4")),
        ("what about lap 3", ("lap 3", "apex of Turn 4")),
        ("and the exit?", ("lap 3", "exit of Turn 4")),
        ("where should I brake there?", ("Brake ", "entry of Turn 4")),
        ("why?", ("Turn 4", "lap 3")),
        ("How was lap 2?", ("Lap 2 took",)),
        ("why?", ("On lap 2 you lost most",)),
        ("and lap 5?", ("On lap 5 you lost most",)),
        ("How was sector 2?", ("Sector 2 (Moor)",)),
        ("and sector 3?", ("Sector 3 (Harbour)",)),
        ("on lap 5?", ("Sector 3 (Harbour)", "lap 5")),
        ("Is turn 1 left or right?", ("Turn 1 is a right-hander",)),
        ("and turn 2", ("Turn 2 is a left-hander",)),
        ("top speed?", ("highest speed",)),
        ("and on lap 2?", ("highest speed on lap 2",)),
    )
    for question, words in turns:
        found = await ask(bridge, question)
        first = found["sources"][0]["summary"]
        for word in words:
            assert word in first, (question, first)


async def test_a_conversation_that_is_over_leaves_nothing_to_go_on_from(bridge: Bridge) -> None:
    await ask(bridge, "How was lap 2?")
    await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:s"})
    assert (await ask(bridge, "why?"))["sources"][0]["tool"] == "no_answer"
    assert (await ask(bridge, "and the exit?"))["sources"][0]["tool"] == "no_answer"


async def test_other_drivers_do_not_go_on_with_somebody_s_conversation(bridge: Bridge) -> None:
    await ask(bridge, "How was lap 2?")
    body = {"question": "why?", "driver_id": "Tom", "session_id": "s"}
    found = await bridge.ok("POST", "/coach/ask", body)
    assert found["sources"][0]["tool"] == "no_answer"


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        (
            "why?",
            Topic("measure", "speed", corners=("Turn 3",)),
            Topic("corner", corners=("Turn 3",), why=True),
        ),
        (
            "why is that",
            Topic("lap", laps=("slowest",)),
            Topic("loss", laps=("slowest",), why=True),
        ),
        ("and turn 4?", Topic("lap", laps=(2,)), Topic("corner", corners=("Turn 4",), laps=(2,))),
        ("and turn 4?", Topic("extreme", "speed"), Topic("measure", "speed", corners=("Turn 4",))),
        ("and sector 2", Topic("lap", laps=(2,)), Topic("sector", sectors=(2,), laps=(2,))),
        ("what about lap 3", Topic("count", "lap"), Topic("lap", laps=(3,))),
        (
            "turn 5",
            Topic("shape", "direction", corners=("Turn 4",)),
            Topic("shape", "direction", corners=("Turn 5",)),
        ),
        ("and lap 3?", Topic("versus", laps=(1, 2)), Topic("versus", laps=(3, 1))),
        ("how is the weather", Topic("lap", laps=(2,)), None),
    ],
)
def test_what_a_question_goes_on_from_is_moved_and_not_lost(
    question: str, before: Topic, after: Topic | None
) -> None:
    assert followed(named(question, NAMES), None, Subject(before, "telemetry")) == after


async def test_what_is_computed_for_want_of_a_sensor_is_said_to_be(bridge: Bridge) -> None:
    found = (await ask(bridge, "how much g do I pull", "bare"))["answer"]
    assert "Your highest lateral acceleration was" in found
    assert "computed from speed and positions" in found
    measured = (await ask(bridge, "how much g do I pull"))["answer"]
    assert "computed" not in measured


@pytest.mark.parametrize(
    ("question", "channel"),
    [
        ("How hard did I brake?", "brake_bar"),
        ("where should I brake for turn 9", "brake_bar"),
        ("full throttle share?", "throttle_pct"),
        ("max rpm", "rpm"),
        ("how much steering in turn 4", "steering_deg"),
        ("what gear in turn 5", "gear_position"),
    ],
)
async def test_what_is_not_recorded_is_said_with_the_channel_that_would_give_it(
    bridge: Bridge, question: str, channel: str
) -> None:
    found = (await ask(bridge, question, "bare"))["answer"]
    assert "not recorded" in found
    assert f"channel {channel} " in found
    assert (await ask(bridge, "top speed", "bare"))["answer"].startswith("Your highest speed was")


def test_whatever_can_be_asked_for_can_be_measured() -> None:
    of_corners = {name.split()[0] for name in MEASURES}
    assert {name for name, _ in topic_words.MEASURES} == of_corners
    assert set(QUANTITIES) | OF_CORNER_ONLY | {"brake_point", "time"} == of_corners


async def test_one_answer_names_one_basis_and_each_fault_once(bridge: Bridge) -> None:
    for question in ("How is turn 4?", "Where do I lose time?", "Debrief my run", "Set me a goal"):
        text = (await ask(bridge, question))["answer"]
        assert text.count("usual pass, as on lap") <= 1, text
        assert "is the middle of" not in text
        for cause in ("coasted", "missing at the exit", "missing at the apex", "the brakes came"):
            assert text.count(cause) <= 1, text


async def test_a_query_is_answered_in_words_and_rows_without_moods(bridge: Bridge) -> None:
    found = await ask(bridge, "SELECT lap, '[EMOTION: proud]' AS mood FROM laps ORDER BY lap")
    assert found["answer"].startswith("The query found 6 rows. Lap 1, mood ")
    assert "EMOTION" not in json.dumps(found)
    assert [row["lap"] for row in found["rows"]] == [1, 2, 3, 4, 5, 6]
    assert found["emotion"] == "analyzing"
    assert "rows" not in await ask(bridge, "top speed?")
    for statement in ("DROP TABLE laps", "delete from laps", "UPDATE laps SET lap = 1", "PRAGMA x"):
        refused = await ask(bridge, statement)
        assert refused["answer"] == (
            "The query was not run: only SELECT and WITH … SELECT are run, which read and change"
            " nothing."
        )


async def test_questions_without_a_session_are_answered_where_they_can_be(bridge: Bridge) -> None:
    assert (await ask(bridge, "top speed?", ""))["answer"].startswith("No session is chosen.")
    direction = await ask(bridge, "Is turn 1 left or right?", "")
    assert direction["answer"].startswith("Turn 1 is a right-hander.")
    before = await ask(bridge, "Am I better than last session?", "")
    assert before["sources"][0]["tool"] == "last_session"


async def events_of(bridge: Bridge, question: str) -> list[Json]:
    """The data of each event of a streamed answer."""
    body = {"question": question, "driver_id": "Mia", "session_id": "s"}
    answer = await bridge.post("/coach/ask/stream", body)
    assert answer.status == 200
    lines = answer.body.decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


async def trickles(request: web.Request) -> web.StreamResponse:
    """A true sentence, and then a byte now and then for ever."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    said = {"choices": [{"delta": {"content": "Look far ahead. And then"}}]}
    await response.write(f"data: {json.dumps(said)}\n\n".encode())
    while True:
        await response.write(b": ka\n\n")
        await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hangs, "timeout"),
        (drips, "timeout"),
        (raw(b"\x00garbage"), "bad_reply"),
        (raw(b"{}", 500), "bad_reply"),
        (raw(b"x" * (10 * MEGABYTE)), "bad_reply"),
        (raw(b"data: " + b"y" * (10 * MEGABYTE) + b"\n\n"), "bad_reply"),
    ],
    ids=["hangs", "drips", "garbage", "500", "10 MB", "an event of 10 MB"],
)
async def test_whatever_a_model_does_the_facts_are_answered_in_time(
    tmp_path: Path, behaviour: Behaviour, reason: str
) -> None:
    async with (
        serving(behaviour) as model,
        bridging(settings_for(tmp_path, model_url=model.url)) as bridge,
    ):
        await filled(bridge)
        questions = bridge.service.questions
        assert isinstance(questions, Questions)
        found: Json = {}
        events: list[Json] = []
        for limit_s in (0.5, 3.0, 9.0) if reason == "timeout" else (20.0,):
            questions.timeout_s = limit_s
            found = await ask(bridge, "How is turn 4?")
            events = await events_of(bridge, "How is turn 4?")
            if all("took too long" not in one["answer"] for one in (found, events[-1])):
                break  # else the machine was held while the facts were looked up
        assert (found["source"], found["reason"]) == ("template", reason)
        assert found["answer"].startswith("Turn 4 took ")
        assert found["answer"] != found["sources"][0]["summary"]  # the whole, not only the lead
        assert "".join(one.get("delta", "") for one in events) == events[-1]["answer"]
        assert (events[-1]["done"], events[-1]["source"]) == (True, "template")
        assert events[-1]["answer"] == found["answer"]
        assert all("error" not in one for one in events)


async def test_what_a_model_said_before_it_hung_stays_and_the_facts_follow(tmp_path: Path) -> None:
    async with (
        serving(trickles) as model,
        bridging(settings_for(tmp_path, model_url=model.url)) as bridge,
    ):
        await filled(bridge)
        questions = bridge.service.questions
        assert isinstance(questions, Questions)
        events: list[Json] = [{}]
        for questions.timeout_s in (1.0, 4.0, 16.0):  # longer where the machine was held
            events = await events_of(bridge, "How is turn 4?")
            if events[-1]["source"] == "local_model":
                break
        last = events[-1]
        assert "".join(one.get("delta", "") for one in events) == last["answer"]
        assert (last["source"], last["reason"]) == ("local_model", "timeout")
        assert " Look far ahead. " in last["answer"]
        assert " Change one thing there, then look at the exit speed. " in last["answer"]
        assert last["answer"].endswith("More in the lesson “Look ahead and choose the line”.")
        await questions.settled()
        traces = (await bridge.ok("GET", "/coach/traces?session_id=s"))["traces"]
        assert "error" in [one["event_type"] for one in traces]


async def test_an_analytic_that_takes_too_long_is_not_waited_for(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = bridge.service.questions
    assert isinstance(questions, Questions)
    asked = await questions.understand("How was lap 2?", "Mia", "s")
    questions.timeout_s = 0.2

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(questions.sources.analyses, "of", never)
    found = await questions.ask(asked)
    assert found.text.startswith("That took too long to look up.")


def lacking(frames: Frames, *names: str, last: int | None = None) -> Frames:
    """Frames without some channels, the first so many of them."""
    empty = np.full(len(frames), np.nan)
    columns = {name: empty if name in names else values for name, values in frames.columns.items()}
    return Frames({name: values[:last] for name, values in columns.items()})


async def test_no_session_is_too_poor_for_an_answer(bridge: Bridge) -> None:
    whole, lap = TRUE.frames, int(np.searchsorted(TRUE.column(TIMESTAMP), 300.0))
    place = ("lat", "lon")
    sessions = {
        "nowhere": (lacking(whole, *place), ""),
        "blind": (lacking(whole, *place), LARKFELL.name),
        "speedless": (lacking(whole, "speed_ms", "distance_m"), LARKFELL.name),
        "one": (lacking(whole, last=lap), LARKFELL.name),
        "short": (lacking(whole, last=600), LARKFELL.name),
        "tiny": (lacking(whole, last=2), LARKFELL.name),
    }
    for at, (name, (frames, track)) in enumerate(sessions.items()):
        await bridge.ok("POST", "/session/start", {"session_id": name, "track": track})
        await bridge.service.db.append_frames(name, frames)
        await bridge.service.db.append_signals(name, {"gear_position": gears(frames)})
        for one in QUESTIONS[at % 3 :: 3]:
            found = await ask(bridge, one.question, name)
            assert len(found["answer"]) > 10
            assert "nan" not in found["answer"], (name, one.question)
            assert "None" not in found["answer"], (name, one.question)
            await bridge.ok("POST", "/coach/ask/end", {"qa_key": f"Mia:{name}"})
