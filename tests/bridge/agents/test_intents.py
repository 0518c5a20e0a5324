"""What questions are about: five wordings and more of each intent, and what only looks like one."""

from typing import Final

import pytest

from runtime.bridge.agents.intents import INTENTS, chosen, route, sql_in, understood
from runtime.bridge.agents.roster import AGENTS, BY_INTENT, plan
from runtime.bridge.agents.tools import TOOLS
from runtime.bridge.agents.values import Intent
from tests.bridge.analysis.lapkit import TRACKS

CORNERS: Final = TRACKS["larkfell"].corners
WORDINGS: Final[dict[Intent, tuple[str, ...]]] = {
    "debrief": (
        "Debrief my run",
        "how did I do?",
        "HOW DID WE DO TODAY",
        "Give me a session summary please",
        "review my session",
        "How was that session?",
    ),
    "brief": (
        "brief me",
        "Brief: what matters?",
        "What is today's plan?",
        "What should I think of before I go out?",
        "pre-session notes please",
        "a pre session checklist",
    ),
    "voice_script": (
        "Write me a voice script",
        "generate some audio for me",
        "make TTS lines",
        "I want pace notes",
        "write a cue for turn 4",
        "save the audio cues",
    ),
    "corner": (
        "How is T6?",
        "what about t 11",
        "Turn 5 feels wrong",
        "corner 3, please",
        "What happened at the hairpin?",
        "am I late into Gannet Corner",
        "the kink scares nobody",
    ),
    "reference_lap": (
        "compare me with the reference lap",
        "How far off the gold lap am I?",
        "reference laps?",
        "Where is the reference quicker?",
        "show the gold lap",
    ),
    "weather": (
        "What is the weather like?",
        "there is fog on the cliffs",
        "it feels greasy",
        "track temp is low, what do I change",
        "how are the conditions",
        "It is raining",
    ),
    "session_plan": (
        "Make a practice plan",
        "How should I structure the afternoon?",
        "12 laps available, go",
        "I have 10 laps left",
        "I have only 8 laps",
        "plan my session",
    ),
    "incident": (
        "any incident today?",
        "that was a close call",
        "that was scary",
        "I saved it, barely",
        "nearly off twice",
        "tell me about the moment at the bridge",
    ),
    "race_pace": (
        "what is my race pace",
        "how was my second stint",
        "is there degradation",
        "when do the tyres drop",
        "tyre drop-off?",
        "how about a long run",
    ),
    "goal": (
        "what is a good PB target",
        "set me a lap time goal",
        "What time should I aim for?",
        "what lap time should I drive",
        "give me a target lap",
        "Set me a goal",
    ),
    "mental_map": (
        "where is my variance",
        "am I consistent",
        "my consistency is poor",
        "why am I inconsistent",
        "is my braking repeatable",
        "build my mental map",
        "am I stable on the brakes",
    ),
    "lap_comparison": (
        "lap 3 vs lap 5",
        "compare laps for me",
        "Why was lap 2 slow",
        "fastest vs slowest",
        "compare my best lap to the last",
        "lap 4 against 6",
    ),
    "progress": (
        "show my progress",
        "am I improving",
        "am I getting faster?",
        "how do I develop over sessions",
        "what changed this month",
        "have I improved since spring",
    ),
    "setup": (
        "is the setup right",
        "too much understeer",
        "it has oversteer on power",
        "how is the balance",
        "nervous mid corner",
        "the car feel is odd",
    ),
    "mindset": (
        "I am frustrated",
        "I have hit a plateau",
        "it is just not working",
        "where is my motivation",
        "I am stuck",
    ),
    "agent_meta": (
        "which agent is slowest",
        "agent latency",
        "show the agent traces",
        "is any agent slow",
        "trace of the corner agent",
    ),
    "telemetry": (
        "what was my top speed",
        "how hard did I brake",
        "where do I lose time",
        "what is trail braking",
        "",
        "   ",
        "SELECT lap FROM laps",
    ),
}
NEAR_MISSES: Final = (
    ("briefly: what was my top speed", "telemetry"),
    ("how do I set up the laptop", "telemetry"),
    ("what is a T-shirt worth", "telemetry"),
    ("turning in early", "telemetry"),
    ("foggy glasses", "weather"),
    ("unstable network", "telemetry"),
    ("my agent is nice", "telemetry"),
    ("how can I improve my braking", "telemetry"),
    ("steer smoothly", "telemetry"),
    ("overlap of the pedals", "telemetry"),
    ("how many laps did I drive", "telemetry"),
    ("slow corner technique", "telemetry"),
    ("debriefs of the T6", "corner"),
    ("the weather at T6", "corner"),
    ("how did I do at T6", "debrief"),
    ("compare the reference lap with lap 3", "reference_lap"),
    ("am I consistent over sessions", "mental_map"),
    ("winkle", "telemetry"),
)


@pytest.mark.parametrize(
    ("question", "intent"),
    [(question, intent) for intent, all_of_it in WORDINGS.items() for question in all_of_it],
)
def test_every_intent_is_known_by_many_wordings(question: str, intent: Intent) -> None:
    assert route(question, CORNERS) == intent


@pytest.mark.parametrize(("question", "intent"), NEAR_MISSES)
def test_what_only_looks_like_an_intent_is_none(question: str, intent: Intent) -> None:
    assert route(question, CORNERS) == intent


def test_the_table_has_all_seventeen_and_five_wordings_of_each() -> None:
    assert set(WORDINGS) == set(INTENTS)
    assert len(INTENTS) == 17
    assert all(len(wordings) >= 5 for wordings in WORDINGS.values())


def test_nicknames_are_those_of_the_circuit_at_hand() -> None:
    assert route("how is Kittiwake") == "telemetry"
    assert understood("how is kittiwake?", corners=CORNERS).corner == "Turn 9"
    assert understood("Gannet Corner", corners=CORNERS).corner == "Turn 1"
    assert understood("T 11", corners=CORNERS).corner == "Turn 11"
    assert understood("T14", corners=CORNERS).corner == "14"


def test_a_valid_override_decides_and_another_does_not() -> None:
    assert understood("how did I do", wanted="WEATHER").intent == "weather"
    assert understood("how did I do", wanted="gold_lap").intent == "reference_lap"
    assert understood("how did I do", wanted="drop tables").intent == "debrief"
    assert chosen("") is None


def test_numbers_in_a_question_are_understood() -> None:
    assert understood("why was lap 3 slower than lap 12").laps == (3, 12)
    assert understood("lap 3 vs 5").laps == (3, 5)
    assert understood("I have 15 laps").count == 15
    assert understood("can I do 1:35.2 here").target_s == pytest.approx(95.2)
    assert understood("target time 92.4 s").target_s == pytest.approx(92.4)
    assert understood("I have 9999 laps").count is None


def test_only_a_whole_statement_is_a_query() -> None:
    assert sql_in("select max(speed_kmh) from frames") is not None
    assert sql_in("look:\n```sql\nDROP TABLE laps\n```") == "DROP TABLE laps"
    assert sql_in("with a as (select 1) select * from a") is not None
    assert sql_in("With more speed, where do I brake?") is None
    assert sql_in("How do I select a gear from second?") is None


def test_a_question_about_driving_as_such_is_an_open_one() -> None:
    for question in ("What is trail braking?", "how do I heel and toe", "hello"):
        assert understood(question).open, question
    for question in ("What was my top speed?", "where do I lose time", "how are the conditions"):
        assert not understood(question).open, question


def test_every_agent_uses_tools_that_there_are_and_answers_its_own_examples() -> None:
    assert [one.intent for one in AGENTS] == list(INTENTS)
    for one in AGENTS:
        assert one.name.endswith("Agent")
        assert set(one.tools) <= set(TOOLS)
        assert len(one.example_questions) >= 2
        for example in one.example_questions:
            asked = understood(example, corners=CORNERS, session_id="s")
            assert asked.intent == one.intent, example
            assert {call.tool for call in plan(asked)} <= set(TOOLS)
    assert BY_INTENT["telemetry"].name == "TelemetryAgent"
