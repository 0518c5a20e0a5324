"""Questions of what a word means: who answers them, from what, and with which lesson."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.glossary import TERMS
from runtime.bridge.coach.agents.intents import understood
from runtime.bridge.coach.agents.meanings import INSTEAD, NO_LESSON, meaning
from runtime.bridge.coach.agents.naming import Names
from runtime.bridge.coach.agents.roster import plan
from runtime.bridge.coach.warm.lessons import CATALOG, Lessons, parse_catalog
from runtime.bridge.coach.warm.pedagogy import ADVICE
from runtime.bridge.cues.concepts import CONCEPTS
from tests.bridge.bridgekit import Bridge
from tests.bridge.coach.agents.test_answers import ask, filled
from tests.bridge.coach.warm.modelkit import LARKFELL, closed_port, says, serving
from tests.bridge.coach.warm.reviewkit import review
from tests.bridge.conftest import Start

NAMES: Final = Names(
    LARKFELL.corners,
    [one.name for one in LARKFELL.sectors],
    [one.name for one in LARKFELL.straights],
)
COURSE: Final = {
    "concepts": [
        {
            "id": "trail_brake",
            "description": "Let the pedal up as the wheel goes on. It is chosen above 10 bar.",
            "lessonIds": ["trail"],
        }
    ],
    "phases": [
        {
            "id": "p",
            "title": "A phase",
            "url": "p/",
            "lessons": [
                {
                    "id": "trail",
                    "title": "Trail it",
                    "url": "lessons/trail/",
                    "status": "authored",
                    "summary": "Read the release.",
                    "tags": ["braking"],
                },
                {
                    "id": "late-apex",
                    "title": "Wait for the apex",
                    "url": "lessons/late-apex/",
                    "status": "authored",
                    "summary": "Compute it.",
                    "tags": ["line"],
                },
                {
                    "id": "balance-and-yaw",
                    "title": "Balance",
                    "url": "lessons/balance/",
                    "status": "planned",
                    "summary": "Name it.",
                    "tags": ["understeer"],
                },
                {
                    "id": "small-models",
                    "title": "What a model costs",
                    "url": "lessons/small-models/",
                    "status": "authored",
                    "summary": "Predict its memory.",
                    "tags": ["quantisation"],
                },
            ],
        }
    ],
}


def lessons() -> Lessons:
    return parse_catalog(json.dumps(COURSE))


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("What is understeer?", "understeer"),
        ("what's oversteer", "oversteer"),
        ("what does trail braking mean?", "trail_brake"),
        ("How does trail braking work?", "trail_brake"),
        ("how do I trail brake?", "trail_brake"),
        ("how do I find the apex?", "apex"),
        ("What is the slip angle?", "slip_angle"),
        ("Can you explain the friction circle to me?", "friction_circle"),
        ("tell me about weight transfer", "load_transfer"),
        ("Why is exit speed important?", "exit_speed"),
        ("what is a late apex", "late_apex"),
        ("what is an ideal lap?", "ideal_lap"),
        ("what does a reference lap mean", "reference_lap"),
        ("define delta time", "delta"),
        ("how do I heel and toe", "heel_and_toe"),
        ("what is a double apex", "double_apex"),
        ("what is grip", "grip"),
        ("why should I trail brake", "trail_brake"),
        ("why do drivers look ahead", "look_ahead"),
        ("what is brake fade?", "brake_fade"),
        ("what is ABS?", "abs"),
        ("what is a track limit?", "track_limit"),
        ("what is a stint?", "stint"),
        ("what is an incident?", "incident"),
        ("what is yaw rate?", "yaw_rate"),
        ("what is lateral g?", "g_force"),
        ("what is a g?", "g_force"),
        ("what does apex speed mean?", "apex_speed"),
        ("what is minimum speed?", "minimum_speed"),
        ("what is nothing time?", "nothing_time"),
        ("what is an out-lap?", "out_lap"),
        ("what is an in-lap?", "in_lap"),
        ("what do you mean by unused grip?", "unused_grip"),
        ("what is coasting?", "coasting"),
        ("define the coasting", "coasting"),
        ("what does the delta mean?", "delta"),
        ("tell me about trail braking", "trail_brake"),
        ("what does understeer feel like?", "understeer"),
        ("ok coach, could you tell me what an apex is?", "apex"),
        ("explain the idea of trail braking to me", "trail_brake"),
        ("how to heel and toe in a corner", "heel_and_toe"),
        ("what is trail braking good for?", "trail_brake"),
        ("apex?", "apex"),
    ],
)
def test_a_question_of_meaning_is_one_whatever_its_words_are_else(question: str, what: str) -> None:
    asked = understood(question, names=NAMES, session_id="s")

    assert asked.topic == Topic("concept", what)
    assert [call.tool for call in plan(asked)] == ["concept_facts"]


@pytest.mark.parametrize(
    "question",
    [
        "Do I have understeer?",
        "Is the car understeering in T5?",
        "What is my exit speed in turn 4?",
        "what was my apex speed in T4",
        "How do I trail brake into turn 4?",
        "what is the ideal lap?",
        "how do I stop understeer",
        "what is the apex speed?",
        "what's the delta to my best lap",
        "what is the reference lap",
        "what is sector 1",
        "explain lap 3",
        "what does coasting cost me",
        "what is the weather",
        "what is wrong with my driving",
        "what is the oil temperature",
        "what is full throttle",
        "what is a good lap time here?",
        "What is the Storm Hook?",
        "What is the grip like?",
        "why do I trail brake so little",
        "why should I brake later in T4",
        "hello",
        *(
            "what is the coasting percentage?",
            "what's the coasting share",
            "what is the amount of coasting",
            "what is the coasting like today?",
            "the coasting",
            "what is the coasting?",
            "tell me about the coasting",
            "why is the understeer so bad?",
            "what is the understeer of the car at high speed?",
            "what is the oversteer in the session",
            "what is the lock-up count",
            "what are the lock-ups of this session?",
            "explain the sector times",
            "explain the brake points",
            "explain the lateral g",
            "explain the delta",
            "tell me about trail braking today",
            "what is the slowest apex?",
            "what is the best apex?",
            "why is the apex so slow?",
            "what is up with the apex today",
            "what is the car doing at the apex",
            "what is the average grip used",
            "what is the grip usage",
            "what is the unused grip?",
            "what is the friction circle usage",
            "what is the racing line deviation",
            "what is the downforce at 200",
            "what is the brake bias of the car",
            "what is the trail braking percentage",
            "what is the trail braking score",
            "what is the look ahead score",
            "what is the best exit speed?",
            "what is the exit speed",
            "why is the exit speed so low?",
            "what are the commitment numbers",
            "what is the yaw rate",
            "what is the stint",
            "explain the incident",
            "understeer?",
        ),
    ],
)
def test_a_question_about_the_session_is_no_question_of_meaning(question: str) -> None:
    topic = understood(question, names=NAMES, session_id="s").topic

    assert topic is None or topic.ask != "concept"


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("what is graining?", "graining"),
        ("what does BOP mean?", "bop"),
        ("What is a Scandinavian flick?", "scandinavian flick"),
        ("explain quantisation", "quantisation"),
    ],
)
def test_a_word_that_nobody_knows_is_looked_up(question: str, word: str) -> None:
    asked = understood(question, names=NAMES, session_id="s")

    assert asked.topic == Topic("concept", spot=word)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("what is the coasting percentage?", Topic("amount", "coast")),
        ("what is the coasting like today?", Topic("amount", "coast")),
        ("tell me about the coasting", Topic("amount", "coast")),
        ("what is the trail braking percentage", Topic("measure", "trail_brake")),
        ("what is the best exit speed?", Topic("measure", "speed", "exit", "most")),
        ("explain the brake points", Topic("measure", "brake_point")),
        ("explain the lateral g", Topic("extreme", "g_lat")),
    ],
)
def test_a_number_of_the_session_is_told_where_one_is_asked_for(
    question: str, topic: Topic
) -> None:
    assert understood(question, names=NAMES, session_id="s").topic == topic


@pytest.mark.parametrize("question", ["what is the coasting?", "the coasting", "coasting?"])
def test_a_number_without_a_session_to_have_it_is_a_word(question: str) -> None:
    assert understood(question, names=NAMES).topic == Topic("concept", "coasting")
    assert plan(understood("what is the brake fade", names=NAMES))[0].tool == "safety"


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("what does T5 mean?", "Turn 5 is a corner of the circuit: corners are numbered from"),
        ("what does S1 mean?", "Sector 1 is a part of the lap: sectors are numbered from"),
        ("what does T44 mean?", "Turn 44 is a corner"),
    ],
)
def test_a_number_is_explained_where_its_meaning_is_asked_for(question: str, says: str) -> None:
    asked = understood(question, names=NAMES, session_id="s")

    assert asked.topic is not None
    assert [call.tool for call in plan(asked)] == ["concept_facts"]
    assert meaning(asked.topic, lessons()).summary.startswith(says)


@pytest.mark.parametrize(
    "question",
    [
        "what is the difference between understeer and oversteer?",
        "how does understeer differ from oversteer?",
        "What is understeer and oversteer?",
    ],
)
def test_two_words_are_both_told(question: str) -> None:
    asked = understood(question, names=NAMES, session_id="s")

    assert asked.topic is not None
    text = meaning(asked.topic, lessons()).summary
    assert "Understeer: the front" in text
    assert "Oversteer: the rear" in text


@pytest.mark.parametrize(
    "question",
    [
        "I have brake fade",
        "brake fade!",
        "brake fade",
        "what is this brake fade?",
        "the pedal is long",
        "what is brake fade, I think I have it",
        "what does the smoke mean?",
        "what does the warning light mean?",
    ],
)
def test_a_danger_stays_one_whatever_else_is_asked(question: str) -> None:
    asked = understood(question, names=NAMES, session_id="s")

    assert plan(asked)[0].tool == "safety"


def test_the_words_are_those_of_the_course_without_when_the_coach_speaks() -> None:
    found = meaning(Topic("concept", "trail_brake"), lessons())

    assert found.summary == "Trail the brake: Let the pedal up as the wheel goes on."
    assert found.details == ("The lesson “Trail it” teaches it.",)
    assert found.lesson is not None
    assert found.lesson.url == "lessons/trail/"


def test_without_a_course_they_are_those_of_the_coach() -> None:
    for concept in CONCEPTS:
        found = meaning(Topic("concept", concept.id), Lessons())
        assert found.summary == f"{concept.title}: {concept.description}"
        assert found.lesson is not None
        assert (found.lesson.title, found.lesson.url) == (concept.lesson.title, None)


def test_a_term_has_the_lesson_that_a_concept_has_without_a_course_too() -> None:
    concept = meaning(Topic("concept", "late_apex"), Lessons())
    term = meaning(Topic("concept", "apex"), Lessons())

    assert concept.lesson is not None
    assert term.lesson == concept.lesson
    assert term.details == concept.details
    assert meaning(Topic("concept", "understeer"), Lessons()).details == (NO_LESSON,)


@pytest.mark.parametrize(
    ("topic", "summary", "details", "lesson"),
    [
        (
            Topic("concept", "apex"),
            "Apex:",
            "The lesson “Wait for the apex” teaches it.",
            "late-apex",
        ),
        (
            Topic("concept", "understeer"),
            "Understeer:",
            "The lesson “Balance” is to teach it; it is not written yet.",
            None,
        ),
        (Topic("concept", "slip_angle"), "Slip angle:", NO_LESSON, None),
        (
            Topic("concept", spot="quantisation"),
            "The lesson “What a model costs” is about that: Predict its memory.",
            "",
            "small-models",
        ),
        (Topic("concept", spot="graining"), NO_LESSON, INSTEAD, None),
    ],
)
def test_a_lesson_is_named_where_there_is_one_and_its_lack_is_told(
    topic: Topic, summary: str, details: str, lesson: str | None
) -> None:
    found = meaning(topic, lessons())

    assert found.summary.startswith(summary)
    assert "".join(found.details) == details
    assert (found.lesson.id if found.lesson else None) == lesson


def test_the_session_is_told_only_where_it_shows_it() -> None:
    told = review(seed=7, laps=6, skill=0.78).found
    causes = {one.cause for one in told}

    for concept in {ADVICE[cause].concept for cause in causes}:
        found = meaning(Topic("concept", concept), Lessons(), told)
        assert found.details[-1].startswith("In this session it shows "), concept
    others = {one.id for one in CONCEPTS} - {ADVICE[cause].concept for cause in causes}
    for concept in others:
        assert len(meaning(Topic("concept", concept), Lessons(), told).details) == 1, concept


def test_every_term_has_its_words_and_none_a_cause_that_there_is_not() -> None:
    assert len({one.id for one in TERMS}) == len(TERMS)
    assert not {one.id for one in TERMS} & {one.id for one in CONCEPTS}
    for one in TERMS:
        assert one.causes <= set(ADVICE), one.id
        assert one.text.endswith("."), one.id


def test_the_lessons_of_the_terms_are_there(root: Path) -> None:
    lines = (root / "content" / "ids.lock").read_text(encoding="utf-8").splitlines()
    known = {line.split()[1] for line in lines if line.startswith("lesson ")}
    assert {one.lesson for one in TERMS} - {""} <= known


@pytest.fixture
def course(tmp_path: Path) -> str:
    """A built course, as far as the bridge reads it."""
    file = tmp_path / "course" / CATALOG
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(COURSE))
    return str(tmp_path / "course")


async def test_a_meaning_is_answered_over_http_with_its_lesson(
    start: Start, backend: str, course: str
) -> None:
    async with start(db_backend=backend, model_url=closed_port(), course=course) as bridge:
        await filled(bridge)

        found = await ask(bridge, "What does trail braking mean?")
        assert found["answer"].startswith("Trail the brake: Let the pedal up as the wheel goes on.")
        assert found["answer"].count("“Trail it”") == 1
        assert found["lessons"] == [{"id": "trail", "title": "Trail it", "url": "lessons/trail/"}]

        unknown = await ask(bridge, "What is graining?")
        assert unknown["answer"] == f"{NO_LESSON} {INSTEAD}"
        assert (unknown["lessons"], unknown["emotion"]) == ([], "neutral")


async def test_a_model_speaks_behind_the_meaning_and_not_instead_of_it(
    start: Start, course: str
) -> None:
    async with (
        serving(says("Trail braking costs 7.31 s a lap.")) as model,
        start(model_url=model.url, course=course) as bridge,
    ):
        await filled(bridge)

        found = await ask(bridge, "What is trail braking?")
        assert found["answer"].startswith("Trail the brake: Let the pedal up as the wheel goes on.")
        assert "7.31" not in found["answer"]
        assert "Let the pedal up" in json.dumps(model.seen[-1]["messages"])
        asked = len(model.seen)

        await ask(bridge, "What is graining?")
        assert len(model.seen) == asked


@pytest.mark.parametrize(
    "question", ["What should I work on?", "How did I do?", "Where do I lose time?", "How is {}?"]
)
async def test_an_answer_names_the_lesson_that_the_debrief_names(
    question: str, told: tuple[Bridge, dict[str, str]]
) -> None:
    bridge, focus = told

    found = await ask(bridge, question.format(focus["corner"]), "s")

    assert found["lessons"][0]["id"] == focus["lesson"]
    assert f"“{focus['title']}”" in found["answer"]


@pytest.fixture
async def told(start: Start) -> AsyncIterator[tuple[Bridge, dict[str, str]]]:
    """A session, and what its debrief names."""
    async with start(model_url=closed_port()) as bridge:
        await filled(bridge)
        debrief = await bridge.ok("POST", "/coach/debrief", {"session_id": "s"})
        lesson = debrief["next_focus_lesson"]
        names = {"corner": debrief["next_focus"], "lesson": lesson["id"], "title": lesson["title"]}
        yield bridge, names


@pytest.mark.parametrize(
    "question", ["What's the plan of the day?", "plan for today", "What is the plan?"]
)
async def test_the_plan_of_the_day_is_the_focus_of_the_debrief(
    question: str, told: tuple[Bridge, dict[str, str]]
) -> None:
    bridge, focus = told

    found = await ask(bridge, question, "s")

    assert found["intent"] == "brief"
    assert found["answer"].startswith(f"Work on {focus['corner']} today")
    assert found["lessons"][0]["id"] == focus["lesson"]


async def test_a_greeting_names_no_lesson(told: tuple[Bridge, dict[str, str]]) -> None:
    bridge, _ = told

    assert "lesson" not in (await ask(bridge, "hello"))["answer"]


async def test_what_to_work_on_needs_no_session(told: tuple[Bridge, dict[str, str]]) -> None:
    bridge, _ = told
    body = {"question": "What should I work on next?", "driver_id": "Mia"}

    found = await bridge.ok("POST", "/coach/ask", body)

    assert [one["tool"] for one in found["sources"]] == ["day_brief"]
    assert found["answer"].startswith("Work on ")
    assert found["lessons"]
