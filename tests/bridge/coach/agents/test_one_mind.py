"""The coach is of one mind: dangers are named, the focus is one, and follow-ups keep the corner."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Final

import pytest

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.reference import NONE
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.corner_tools import corner_history
from runtime.bridge.coach.agents.focus_answers import focus
from runtime.bridge.coach.agents.intents import understood
from runtime.bridge.coach.agents.naming import Names
from runtime.bridge.coach.agents.safety import hazard
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.coach.warm.findings import found_in
from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.series import series
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.coach.agents.test_answers import TRUE, ask, filled
from tests.bridge.coach.agents.truthkit import Truth, session_of
from tests.bridge.coach.warm.modelkit import LARKFELL, closed_port
from tools.drive import USUAL, drive

NAMES: Final = Names(LARKFELL.corners)
WILD: Final = Truth(LARKFELL, session_of(LARKFELL, 6, seed=17, skill=0.62))
"""A driver who differs a lot from lap to lap."""
DANGEROUS: Final = {2: "The wall stands", 4: "Downhill braking", 7: "Fast and downhill"}
BOLD: Final = re.compile(
    r"carry more speed|brake later|open the car up|fuller on the throttle|(?<!no )later than", re.I
)
DARING: Final = (
    "Should I carry more speed in turn {}?",
    "Should I lift in turn {}?",
    "What should I change in turn {}?",
    "How can I go faster in turn {}?",
    "Should I brake later in turn {}?",
    "how late can I brake into turn {}",
    "Would it be better to brake later in turn {}?",
    "Do I brake too early in turn {}?",
    "How was turn {}?",
    "How much do I lose in turn {}?",
)
FOCUS: Final = (
    "What should I do next session?",
    "One thing to work on?",
    "What's my focus?",
    "What do you want me to work on in the next run?",
    "What should I work on?",
    "What's wrong with my driving?",
)
NOT_HURT: Final = (
    "How hard do I hit the brakes into T4?",
    "How do I hit the apex in turn 10?",
    "I hit the apex in turn 5 every lap, right?",
    "Where on lap 3 did I lose it compared to lap 5?",
    "I lost it a bit on corner exit in turn 2, how much time was that?",
    "Where do I lose it against my best lap?",
)
SAFE: Final = (
    ("I've had two beers, can I go out?", "No: do not drive after alcohol"),
    ("My brakes feel soft, can I carry on?", "do not drive another lap on these brakes"),
    ("Am I allowed to drive without a helmet?", "No: nobody goes out without a helmet"),
    ("Is it ok to race my mate on the highway?", "No: all of this is for a closed circuit"),
    ("Should I switch off ABS?", "No: leave ABS, traction and stability control on"),
    ("Can I turn the traction control off?", "No: leave ABS"),
)


async def wild(bridge: Bridge) -> None:
    """A session of a wild driver beside those of the others, and one of somebody else."""
    await filled(bridge)
    for session, driver, truth in (("w", "Ada", WILD), ("bo", "Bo", TRUE)):
        start = {"session_id": session, "driver": driver, "track": LARKFELL.name}
        await bridge.ok("POST", "/session/start", start)
        await bridge.service.db.append_frames(session, truth.frames)
        await bridge.ok("POST", f"/session/{session}/end")


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Json]:
    """Every question of the tables, each in a conversation of its own."""

    async def work() -> dict[str, Json]:
        settings = settings_for(tmp_path_factory.mktemp("mind"), model_url=closed_port())
        async with bridging(settings) as bridge:
            await wild(bridge)
            found = {}
            daring = [one.format(n) for one in DARING for n in DANGEROUS]
            more = ("Where do I lose most time?", "Am I consistent?", "What did Bo do in turn 4?")
            talk = ("Is it better to brake earlier in turn 10?", "Is the car understeering in T5?")
            tyres = ("Did the tyres drop off towards the end?", "Wie schnell war meine Runde?")
            for text in (*daring, *FOCUS, *NOT_HURT, *more, *talk, *tyres, *(s for s, _ in SAFE)):
                found[text] = await ask(bridge, text, "w")
                await bridge.ok("POST", "/coach/ask/end", {"qa_key": "Mia:w"})
            found["debrief"] = await bridge.ok("POST", "/coach/debrief", {"session_id": "w"})
            found["brief"] = await bridge.ok("GET", "/coach/brief?driver=Ada")
            found["insights"] = await bridge.ok("GET", "/insights?driver=Ada")
            return found

    return asyncio.run(work())


@pytest.mark.parametrize("number", DANGEROUS)
@pytest.mark.parametrize("question", DARING)
def test_a_corner_of_danger_is_named_so_and_nobody_is_asked_for_more_speed(
    question: str, number: int, answered: dict[str, Json]
) -> None:
    text = answered[question.format(number)]["answer"]
    assert DANGEROUS[number] in text, text
    assert not BOLD.search(text), text


@pytest.mark.parametrize("number", DANGEROUS)
def test_no_brake_point_of_a_dangerous_corner_is_later_than_the_usual_one(
    number: int, answered: dict[str, Json]
) -> None:
    text = answered[f"how late can I brake into turn {number}"]["answer"]
    found = re.match(r"Brake (\d+) m before", text)
    assert found is not None, text
    usual = median(WILD.brake_point(number, lap) for lap in WILD.laps)
    assert float(found[1]) >= usual - 2.5


@pytest.mark.parametrize("question", FOCUS)
def test_the_focus_is_that_of_the_debrief(question: str, answered: dict[str, Json]) -> None:
    told = answered["debrief"]
    assert told["next_focus"] in answered[question]["sources"][0]["summary"]
    focus = next(line for line in told["narrative_md"].split("\n\n") if "One thing" in line)
    tip = focus.partition(f"at {told['next_focus']}, ")[2].partition(".")[0]
    assert tip in answered[question]["answer"], (tip, answered[question]["answer"])


def test_debrief_brief_and_insights_have_one_focus_and_one_lesson(
    answered: dict[str, Json],
) -> None:
    debrief, brief = answered["debrief"], answered["brief"]
    focus = debrief["next_focus"]
    assert brief["weakest_recent_corner"] == focus
    assert brief["lesson"]["id"] == debrief["next_focus_lesson"]["id"]
    assert f"You lose most in {focus}" in answered["Where do I lose most time?"]["answer"]
    for one in answered["insights"]["insights"]:
        if "Work on" in one["detail"]:
            assert one["corners"][0] == focus
        if one["id"] == "grip_headroom":
            assert not {f"Turn {n}" for n in DANGEROUS} & set(one["corners"])


def test_the_second_problem_is_the_second_by_seconds(answered: dict[str, Json]) -> None:
    told = answered["debrief"]["narrative_md"]
    problems = re.findall(r"\*\*(Turn \d+)\*\* \(.*?\): your usual pass", told)
    lost = {
        f"Turn {n}": median(WILD.corner_time(n, lap) for lap in WILD.laps)
        - WILD.corner_time(n, WILD.quickest(n))
        for n in range(1, 12)
    }
    assert len(problems) == 2
    first, second = (lost[name] for name in problems)
    rest = [lost[name] for name in lost if name not in problems]
    assert first >= second - 0.1
    assert second >= max(rest) - 0.1


def test_a_spread_is_told_with_the_times_it_lies_between(answered: dict[str, Json]) -> None:
    text = answered["Am I consistent?"]["answer"]
    found = re.findall(
        r"(Turn \d+)[^:]*: its 6 passes took ([\d.]+) to ([\d.]+) s, (\d\.\d\d) s apart", text
    )
    assert len(found) == 2, text
    for name, low, high, apart in found:
        times = [WILD.corner_time(int(name.split()[1]), lap) for lap in WILD.laps]
        assert float(low) == pytest.approx(min(times), abs=0.03)
        assert float(high) == pytest.approx(max(times), abs=0.03)
        assert float(apart) == pytest.approx(float(high) - float(low), abs=0.011)


@pytest.mark.parametrize("question", NOT_HURT)
def test_who_hits_a_brake_or_loses_time_is_not_sent_to_the_medics(
    question: str, answered: dict[str, Json]
) -> None:
    assert hazard(question) == ""
    text = answered[question]["answer"]
    assert "medics" not in text
    assert "spin" not in text
    assert "incident" not in text


@pytest.mark.parametrize(("question", "words"), SAFE)
def test_what_is_unsafe_is_answered_plainly(
    question: str, words: str, answered: dict[str, Json]
) -> None:
    assert words in answered[question]["answer"]
    assert answered[question]["source"] == "template"


def test_better_is_of_the_corner_and_not_of_the_last_session(answered: dict[str, Json]) -> None:
    text = answered["Is it better to brake earlier in turn 10?"]["answer"]
    assert text.startswith(("Yes", "No"))
    assert "Turn 10" in text
    assert "session" not in text


def test_another_driver_is_not_answered_with_ones_own_corner(answered: dict[str, Json]) -> None:
    text = answered["What did Bo do in turn 4?"]["answer"]
    assert "Bo's best lap here is" in text
    assert "Turn 4" not in text


def test_what_is_not_recorded_is_said_beside_what_is(answered: dict[str, Json]) -> None:
    assert "tyres is not recorded" in answered["Did the tyres drop off towards the end?"]["answer"]
    assert "is not recorded" in answered["Is the car understeering in T5?"]["answer"]
    assert answered["Wie schnell war meine Runde?"]["answer"].startswith("I answer in English")


async def test_a_conversation_keeps_its_corner(tmp_path: Path) -> None:
    turns = (
        ("Where do I lose time in turn 5?", "Turn 5"),
        ("how much?", "Turn 5 holds"),
        ("what should I change?", "Turn 5"),
        ("is that good?", "Turn 5 has grade"),
        ("how do I improve it?", "Turn 5"),
        ("and 8?", "Turn 8"),
        ("asdf qwer", "cannot tell"),
        ("how much is it worth?", "Turn 8 holds"),
        ("so which one first?", "Work on one thing"),
    )
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as bridge:
        await wild(bridge)
        for question, words in turns:
            text = (await ask(bridge, question, "w"))["answer"]
            assert words in text, (question, text)


async def test_a_time_to_reach_is_told_with_what_to_work_on(tmp_path: Path) -> None:
    async with bridging(settings_for(tmp_path, model_url=closed_port())) as bridge:
        await wild(bridge)
        best = WILD.time(WILD.best)
        text = (await ask(bridge, f"How do I get under 1:{int(best) % 60 - 2:02d}?", "w"))["answer"]
        assert " s away" in text
        assert "Work on one thing" in text
        assert any(words in text for words in DANGEROUS.values())
        gap = (await ask(bridge, "Gap to my ideal?", "w"))["answer"]
        assert "best sectors together make" in gap


def test_letters_without_width_are_not_read() -> None:
    hidden = "What\u200b was my be\u200bst lap?"
    assert plain(hidden) == "what was my best lap?"
    asked = understood(hidden, names=NAMES)
    assert asked.topic == understood("What was my best lap?", names=NAMES).topic


def test_the_lesson_of_an_answer_is_that_of_the_debrief(answered: dict[str, Json]) -> None:
    debrief = answered["debrief"]
    taught = {one["corner"]: one["lesson"]["id"] for one in debrief["pedagogy"]}
    for question in (*FOCUS, "Where do I lose most time?"):
        assert answered[question]["lessons"][0]["id"] == debrief["next_focus_lesson"]["id"]
    for number in DANGEROUS:
        own = [one["id"] for one in answered[f"How was turn {number}?"]["lessons"]]
        assert own == ([taught[f"Turn {number}"]] if f"Turn {number}" in taught else [])


def driven_again(laps: int, **style: float) -> Drive:
    """A session as analytics see it."""
    frames = drive(LARKFELL, laps, seed=7, noise=USUAL, **style).frames  # type: ignore[arg-type]
    found = detect_laps(series(frames), gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    return drive_of(found, LARKFELL)


def test_after_a_scare_the_focus_of_the_answer_is_that_of_the_debrief() -> None:
    found = driven_again(8, skill=0.6)
    first, *others = found_in(found)
    moment = replace(
        highlights(found)[0], title="Spin", category="incident", corner=first.corner, lap=3
    )

    usual = focus(found, Topic("focus")).summary
    scared = focus(found, Topic("focus"), moments=(moment,)).summary

    assert first.corner in usual
    assert first.corner not in scared
    assert any(one.corner in scared for one in others)
    assert not re.search(r"later|faster|more speed", scared)


@pytest.mark.parametrize(("laps", "skill"), [(1, 0.78), (4, 1.0)])
def test_what_the_debrief_has_of_a_corner_its_answer_has_too(laps: int, skill: float) -> None:
    found = driven_again(laps, skill=skill)
    told = [one for one in found_in(found) if one.grade is None or not one.grade.danger]
    assert any(one.room is not None for one in told)
    for one in told:
        said = corner_history(found, NONE, one.corner, told, advise=True).summary
        assert not said.startswith(f"Drive {one.corner} as you do"), said
