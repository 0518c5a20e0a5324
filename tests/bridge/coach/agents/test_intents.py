"""What questions are about: five wordings and more of each intent, and what only looks like one."""

from typing import Final

import pytest

from runtime.bridge.coach.agents.intents import INTENTS, chosen, route, sql_in, understood
from runtime.bridge.coach.agents.roster import AGENTS, BY_INTENT, plan
from runtime.bridge.coach.agents.tools import TOOLS
from runtime.bridge.coach.agents.values import Intent
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
TYPED: Final[dict[Intent, tuple[str, ...]]] = {
    "debrief": (
        "how did it go",
        "summarize my session",
        "give me a rundown of the session",
        "what did you think of my driving",
        "overall how was i",
        "tell me about my session",
        "session report",
        "how did i drive today",
        "review of my laps",
        "any feedback on my run",
    ),
    "brief": (
        "prepare me for the session",
        "im about to go out, anything to know?",
        "morning briefing",
        "before i start, what matters",
        "what should i watch out for today",
        "where are the dangerous spots",
        "danger zones",
        "brief me please",
        "plan for today",
    ),
    "voice_script": (
        "make pace notes",
        "read me the track",
        "audio notes for the lap",
        "generate cue lines",
        "create a voice script for turn 4",
        "can you write co-driver notes",
        "save audio cues",
        "what would a codriver say",
        "tts lines please",
        "write pacenotes",
    ),
    "corner": (
        "T4",
        "turn 4 help",
        "how do i get better at the hairpin",
        "corner seven",
        "whats up with t11",
        "my turn 9 sucks",
        "tips for turn 3",
        "chapel",
        "trun 5",
        "how should i drive slate",
    ),
    "reference_lap": (
        "am i far off the reference",
        "compare to the gold lap",
        "gap to reference",
        "how do i compare to the reference lap",
        "reference vs me",
        "how far from gold lap",
        "where is the reference faster",
        "reference lap time",
        "vs reference",
        "what does the reference do better",
    ),
    "weather": (
        "is it gonna rain",
        "hows the track surface",
        "is the track wet",
        "slippery today?",
        "is it cold out there",
        "how is grip right now",
        "whats the wheather",
        "track conditions",
        "fog?",
        "surface temperature",
    ),
    "session_plan": (
        "ive 20 laps, plan them",
        "how do i use my 30 minutes",
        "plan a practice session",
        "what should i do with 12 laps",
        "make a run plan",
        "i have 8 laps left",
        "structure my practice",
        "how should i split my laps",
        "practice plan pls",
        "got 10 laps what now",
    ),
    "incident": (
        "did i crash",
        "where did i nearly lose it",
        "any scary moments",
        "was i off track",
        "did anything go wrong",
        "show incidents",
        "mistakes?",
        "did i run wide",
    ),
    "race_pace": (
        "race pace",
        "how is my pace over the stint",
        "do my times drop off",
        "are my tyres going off",
        "long run pace",
        "tyre deg",
        "do i get slower over the run",
        "pace falling away?",
        "stint analysis",
        "how do lap times develop over the session",
    ),
    "goal": (
        "what lap time can i reach",
        "set a target",
        "what should i aim for",
        "is 1:57 possible",
        "next goal",
        "how fast could i go",
        "target time",
        "goal for next session",
        "whats a realistic lap time",
        "can i do a 1:57.5",
    ),
    "mental_map": (
        "am i consistent",
        "which corner is most inconsistent",
        "do i repeat my braking",
        "how repeatable are my laps",
        "spread of laps",
        "whats my variance",
        "where am i inconsistent",
        "how stable are my laps",
        "consistency",
        "consistant?",
    ),
    "lap_comparison": (
        "lap 2 vs 3",
        "compare best and worst",
        "difference between lap 1 and lap 4",
        "why was lap 5 slower",
        "lap 3 compared to lap 6",
        "what did i do better on lap 3 than lap 5",
        "fastest vs slowest",
        "compare my laps",
        "delta lap 2 lap 4",
    ),
    "progress": (
        "am i getting better",
        "did i improve since last time",
        "show my progress",
        "my development",
        "am i faster than last month",
        "trend over sessions",
        "how much have i improved",
        "progress report",
        "am i learning",
        "compared to last session",
    ),
    "setup": (
        "car understeers",
        "is my setup ok",
        "too much oversteer at exit",
        "car is nervous",
        "balance of the car",
        "should i change tyre pressure",
        "front pushes in slow corners",
        "rear is loose",
        "how does the car feel",
        "softer springs?",
    ),
    "mindset": (
        "im so frustrated",
        "i dont get faster",
        "im scared",
        "how to stay calm",
        "i keep making mistakes",
        "no motivation",
        "feeling stuck",
        "im nervous before the race",
        "lost confidence",
        "i am tired",
    ),
    "agent_meta": (
        "which agent is slow",
        "agent latency",
        "how long do agents take",
        "agent traces",
        "slowest agent",
        "how fast are your agents",
        "which agents are there",
        "agent stats",
        "latency of agents",
        "trace the agents",
    ),
    "telemetry": (
        "top speed",
        "how hard do i brake",
        "max g",
        "average speed",
        "how many laps",
        "best lap",
        "sector times",
        "rpm",
        "did i use full throttle",
    ),
}
"""As somebody types who has just got out of the car."""
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
    ("when i start to brake in T4", "corner"),
    ("what went wrong in turn 4", "corner"),
    ("a brief word on my top speed", "telemetry"),
    ("how fast was I", "telemetry"),
)


@pytest.mark.parametrize(
    ("question", "intent"),
    [(question, intent) for intent, all_of_it in WORDINGS.items() for question in all_of_it],
)
def test_every_intent_is_known_by_many_wordings(question: str, intent: Intent) -> None:
    assert route(question, CORNERS) == intent


@pytest.mark.parametrize(
    ("question", "intent"),
    [(question, intent) for intent, all_of_it in TYPED.items() for question in all_of_it],
)
def test_what_is_typed_in_haste_finds_who_answers_it(question: str, intent: Intent) -> None:
    asked = understood(question, corners=CORNERS, session_id="s")
    assert asked.intent == intent
    assert plan(asked)[0].tool != "no_answer"


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
