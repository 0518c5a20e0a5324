"""Who answers what: an agent for each intent, its tools, and what it says besides; pure.

Which tools are called, and with what, follows from the intent and the words of the question alone.
A model of the size that runs beside a telemetry recorder cannot be trusted to choose them.
"""

import re
from typing import Final, NamedTuple

from runtime.bridge.coach.agents.quantities import numbers
from runtime.bridge.coach.agents.safety import TOOL as SAFETY
from runtime.bridge.coach.agents.safety import hazard
from runtime.bridge.coach.agents.topic_tools import calls_of
from runtime.bridge.coach.agents.values import Call, Intent, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.cues.model import Emotion


class Agent(NamedTuple):
    """One role of the coach."""

    name: str
    intent: Intent
    role: str
    example_questions: tuple[str, ...]
    tools: tuple[str, ...]
    advice: str = ""
    """A sentence without numbers that an answer may end with."""
    emotion: Emotion = "encouraging"
    details: tuple[int, ...] = (3, 2, 2)
    """How many details of each tool are told."""


AGENTS: Final = (
    Agent(
        "DebriefAgent",
        "debrief",
        "Looks back on a session: what was good, what cost time, what comes next",
        ("How did I do?", "Give me a session summary.", "Debrief my run."),
        ("session_overview", "corner_strength", "time_loss"),
        "The debrief of the session holds every corner with its evidence.",
        emotion="proud",
        details=(0, 0, 2),
    ),
    Agent(
        "BriefAgent",
        "brief",
        "Prepares a session: surface, danger zones, the corner to work on",
        ("What should I know before I go out?", "What is today's plan?", "Brief me."),
        ("day_brief", "weather_context"),
        "One thing at a time, and the first laps belong to the tyres.",
        emotion="intense",
    ),
    Agent(
        "VoiceScriptAgent",
        "voice_script",
        "Writes short phrases for the ear, corner by corner",
        ("Write me a voice script.", "Generate pace notes for turn 4.", "Save the audio cues."),
        ("audio_script_context",),
        emotion="neutral",
    ),
    Agent(
        "CornerAgent",
        "corner",
        "Coaches one corner: how it was taken, and what the time went into",
        ("How can I improve in turn 4?", "What happened in T7?", "Was turn 11 good?"),
        ("corner_history",),
        "Change one thing there, then look at the exit speed.",
    ),
    Agent(
        "ReferenceLapAgent",
        "reference_lap",
        "Compares with the reference lap, corner by corner",
        ("How far am I from the reference lap?", "Where do I lose to the gold lap?"),
        ("reference_comparison",),
        "Take the corner before the longest straight first: its exit counts twice.",
        emotion="analyzing",
    ),
    Agent(
        "WeatherAgent",
        "weather",
        "Adapts the driving to the surface",
        ("How are the conditions?", "The track feels greasy, what now?", "Is there fog?"),
        ("weather_context",),
        "Where it feels slippery, brake earlier and straighter and pick up the throttle late.",
        emotion="serious",
    ),
    Agent(
        "SessionPlanAgent",
        "session_plan",
        "Divides the laps of a session",
        ("I have 15 laps, what do I do?", "How should I structure my practice?"),
        ("session_plan_context",),
        emotion="neutral",
    ),
    Agent(
        "IncidentAgent",
        "incident",
        "Reviews what went wrong or nearly did",
        ("Were there any incidents?", "That was a close call, what happened?"),
        ("incident_moments",),
        "Look at the second before the moment: that is where it was decided.",
        emotion="concerned",
    ),
    Agent(
        "RacePaceAgent",
        "race_pace",
        "Models a stint: pace and its drop",
        ("What is my race pace?", "How much do my tyres drop over a stint?"),
        ("race_pace", "corner_variance"),
        emotion="analyzing",
    ),
    Agent(
        "GoalAgent",
        "goal",
        "Sets the next lap time to aim for",
        ("Set me a goal.", "What lap time should I aim for?", "Is 1:30 a realistic target lap?"),
        ("goal_targets", "time_loss"),
        "A goal is reached by one corner, not by trying harder everywhere.",
        details=(2, 1),
    ),
    Agent(
        "MentalMapAgent",
        "mental_map",
        "Looks at how repeatable laps and corners are",
        ("Am I consistent?", "Where does my mental map have holes?", "Which corner varies most?"),
        ("corner_variance",),
        "Choose a marker you can see for braking, turning in and the throttle there.",
        emotion="thinking",
    ),
    Agent(
        "LapComparisonAgent",
        "lap_comparison",
        "Puts two laps side by side",
        ("Compare lap 1 and lap 2.", "Why was lap 3 slow?", "Fastest vs slowest lap?"),
        ("lap_delta",),
        "Drive the corner that cost most as you did on the faster lap, and leave the rest.",
        emotion="analyzing",
    ),
    Agent(
        "ProgressAgent",
        "progress",
        "Follows a driver over sessions",
        ("Am I getting faster?", "Show my progress this month."),
        ("progress_report",),
    ),
    Agent(
        "SetupAgent",
        "setup",
        "Looks for signs of the car's balance in the driver's hands",
        ("Do I have understeer?", "Should I change the setup?", "How is the balance?"),
        ("setup_indicators",),
        "The data show the hands, not the springs: change one thing and compare the same corner.",
        emotion="thinking",
    ),
    Agent(
        "MindsetAgent",
        "mindset",
        "Helps when it does not go forward",
        ("I am frustrated, nothing works.", "I have hit a plateau."),
        ("corner_strength", "progress_report"),
        "Leave the clock alone for a few laps and drive one corner well, again and again.",
        details=(0, 1),
    ),
    Agent(
        "AgentMetaAgent",
        "agent_meta",
        "Tells how long the answers took",
        ("Which agent is slowest?", "Show me the agent latency."),
        ("agent_telemetry",),
        emotion="neutral",
    ),
    Agent(
        "TelemetryAgent",
        "telemetry",
        "Answers with the numbers of the session",
        ("What was my top speed?", "How hard did I brake on each lap?", "Where do I lose time?"),
        ("sql_query", "session_overview", "time_loss"),
        emotion="analyzing",
    ),
)
BY_INTENT: Final = {one.intent: one for one in AGENTS}

_SAVE: Final = re.compile(r"\b(?:save|keep|store)\b")


def plan(question: Question) -> tuple[Call, ...]:
    """The tools that answer a question, in their order."""
    meant = question.topic is not None and question.topic.ask == "concept" and question.topic.what
    if question.sql is None and not meant and (danger := hazard(question.text)):
        told = danger == "crash" and question.topic is not None and question.topic.ask == "mishap"
        return (Call(SAFETY), *([Call("incident_facts")] if told else []))
    if question.topic is not None:
        if question.topic.ask == "focus" and not question.session_id:
            return (Call("day_brief"),)
        return calls_of(question.topic)
    agent = BY_INTENT[question.intent]
    if question.intent == "telemetry":
        queries = tuple(call for call in numbers(question) if call.tool == "sql_query")
        return queries or (Call("no_answer"), Call("session_overview"))
    calls = [Call(name) for name in agent.tools]
    if question.intent == "voice_script" and _SAVE.search(plain(question.text)):
        calls.append(Call("save_voice_scripts"))
    return tuple(calls)
