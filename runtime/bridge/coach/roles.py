"""The seventeen roles of the coach, as clients list them, and the mood of an answer."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.fact import Fact
from runtime.bridge.cues.model import Emotion


class Role(NamedTuple):
    """One role, of one intent."""

    intent: str
    name: str
    role: str
    example_questions: tuple[str, ...]
    emotion: Emotion = "analyzing"


ROLES: Final = (
    Role(
        "debrief",
        "DebriefAgent",
        "Looks back on a session: what was good, what cost time, what comes next",
        ("How did I do?", "Give me a session summary.", "Debrief my run."),
        "encouraging",
    ),
    Role(
        "brief",
        "BriefAgent",
        "Prepares a session: surface, danger zones, the corner to work on",
        ("What should I know before I go out?", "Brief me."),
        "intense",
    ),
    Role(
        "voice_script",
        "VoiceScriptAgent",
        "Writes short phrases for the ear, corner by corner",
        ("Write me a voice script.", "Write short lines to be read out in the car."),
        "neutral",
    ),
    Role(
        "corner",
        "CornerAgent",
        "Coaches one corner: how it was taken, and what the time went into",
        ("How can I improve in turn 4?", "Where does the time go in T7?", "How was turn 11?"),
        "encouraging",
    ),
    Role(
        "reference_lap",
        "ReferenceLapAgent",
        "Compares with the reference lap, and with what the circuit's file says is possible",
        ("How far am I from the theoretical lap?", "What lap time is possible here in theory?"),
    ),
    Role(
        "weather",
        "WeatherAgent",
        "Adapts the driving to the surface",
        ("How are the conditions?", "What is the weather like?"),
        "serious",
    ),
    Role(
        "session_plan",
        "SessionPlanAgent",
        "Divides the laps of a session",
        ("I have 15 laps left, how do I use them?", "I have 20 minutes left, what is the plan?"),
        "neutral",
    ),
    Role(
        "incident",
        "IncidentAgent",
        "Reviews what went wrong or nearly did",
        ("Were there any incidents?", "Did I spin?"),
        "concerned",
    ),
    Role(
        "race_pace",
        "RacePaceAgent",
        "Looks at a stint: pace and its drop",
        ("Did I get quicker or slower through the session?", "How did my lap times develop?"),
    ),
    Role(
        "goal",
        "GoalAgent",
        "Sets the next lap time to aim for",
        ("What lap time should I aim for?", "Set me a lap time goal."),
        "encouraging",
    ),
    Role(
        "mental_map",
        "MentalMapAgent",
        "Looks at how repeatable laps and corners are",
        ("Am I consistent?", "Which corner am I least consistent at?"),
        "thinking",
    ),
    Role(
        "lap_comparison",
        "LapComparisonAgent",
        "Puts two laps side by side",
        ("Compare lap 1 and lap 2.", "Why was lap 3 slow?"),
    ),
    Role(
        "progress",
        "ProgressAgent",
        "Follows a driver over sessions",
        ("Have I improved since last time?", "What has got better?"),
        "encouraging",
    ),
    Role(
        "setup",
        "SetupAgent",
        "Looks for signs of the car's balance in the driver's hands",
        ("Is the car understeering?", "How is the balance of the car?"),
        "thinking",
    ),
    Role(
        "mindset",
        "MindsetAgent",
        "Helps when it does not go forward",
        ("I am frustrated, nothing works.", "I feel down about my driving today."),
        "encouraging",
    ),
    Role(
        "agent_meta",
        "AgentMetaAgent",
        "Tells how long the answers took",
        ("How long do your answers take?", "Which agent is slowest?"),
        "neutral",
    ),
    Role(
        "telemetry",
        "TelemetryAgent",
        "Answers with the numbers of the session",
        ("What was my top speed?", "How hard did I brake on each lap?", "Where do I lose time?"),
    ),
)
OF_INTENT: Final = {role.intent: role for role in ROLES}
_MOODS: Final[tuple[tuple[str, Emotion], ...]] = (
    ("hazard", "concerned"),
    ("incident", "concerned"),
    ("danger", "serious"),
    ("wet", "serious"),
    ("not-", "neutral"),
    ("no-", "neutral"),
    ("mood", "encouraging"),
    ("greeting", "relaxed"),
    ("thanks", "relaxed"),
    ("strength", "proud"),
    ("improved", "proud"),
)
"""The mood that facts bring, by how their kind begins; else it is that of the role."""


def emotion_of(facts: Sequence[Fact], intent: str) -> Emotion:
    """The mood of an answer, by the kind of its leading fact."""
    lead = facts[0].kind if facts else "not-"
    usual = OF_INTENT[intent].emotion
    return next((mood for start, mood in _MOODS if lead.startswith(start)), usual)
