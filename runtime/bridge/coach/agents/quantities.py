"""Turns a question about a number into a query; pure."""

import re
from typing import Final, NamedTuple

from runtime.bridge.coach.agents.values import Call, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.session.definitions import CLOSED_PCT, COASTING_MS, FULL_PCT, RELEASED_BAR
from runtime.bridge.session.units import KMH

BY_LAP: Final = (
    "SELECT lap, {what} AS value FROM frames WHERE lap IS NOT NULL GROUP BY lap ORDER BY lap"
)
SOME: Final = (
    "SELECT lap, {what} AS value FROM frames WHERE lap IN ({laps}) GROUP BY lap ORDER BY lap"
)
WHOLE: Final = "SELECT {what} AS value FROM frames"
LAP_TIMES: Final = "SELECT lap, time_s AS value FROM laps ORDER BY lap"
FULL: Final = (
    f"100 * avg(CASE WHEN throttle_pct >= {FULL_PCT:g} THEN 1"
    " WHEN throttle_pct IS NOT NULL THEN 0 END)"
)
IDLE: Final = (
    f"100 * avg(CASE WHEN throttle_pct < {CLOSED_PCT:g} AND brake_bar < {RELEASED_BAR:g}"
    f" AND speed_kmh > {COASTING_MS * KMH:g} THEN 1"
    " WHEN throttle_pct + brake_bar + speed_kmh IS NOT NULL THEN 0 END)"
)


class Quantity(NamedTuple):
    """Something that a question may ask for, and how the frames tell it."""

    words: str
    """Whole words, as a pattern."""
    what: str
    label: str
    unit: str


QUANTITIES: Final = (
    Quantity(
        "top speed|max(?:imum)? speed|highest speed|how fast (?:was|did|do) i|fastest speed",
        "round(max(speed_kmh), 1)",
        "Your highest speed",
        "km/h",
    ),
    Quantity(
        "how hard (?:did|do) i brake|brak(?:e|ing) (?:pressure|force)|hardest brak\\w+",
        "round(max(brake_bar), 1)",
        "Your highest brake pressure",
        "bar",
    ),
    Quantity(
        "full throttle|flat out|throttle", f"round({FULL}, 1)", "Your share of full throttle", "%"
    ),
    Quantity(
        "lateral g|cornering g|(?:how (?:many|much)|max(?:imum)?|peak) g(?:s|-forces?)?",
        "round(max(abs(g_lat)), 2)",
        "Your highest lateral acceleration",
        "g",
    ),
    Quantity(
        "coast\\w*|neither pedal|no pedal", f"round({IDLE}, 1)", "Your share of coasting", "%"
    ),
    Quantity("revs|rpm|engine speed", "round(max(rpm), 0)", "Your highest engine speed", "1/min"),
)
"""The first whose words a question has."""
_EACH: Final = re.compile(r"\b(?:each|every|per|by) lap\b|\blap by lap\b")
_AVERAGE: Final = re.compile(r"\b(?:average|mean) speed\b")
_AVERAGES: Final = Call(
    "sql_query",
    {
        "sql": "SELECT lap, round(avg_speed_kmh, 1) AS value FROM laps ORDER BY lap",
        "label": "Your average speed",
        "unit": "km/h",
    },
)
_OWN: Final = re.compile(
    r"\b(?:my|mine|did i|was i|am i|have i|laps?|sectors?|session|data|best|fast(?:est)?)\b"
)
"""Words of somebody who asks about what was driven."""
_LOST: Final = re.compile(
    r"\b(?:los(?:e|ing|t)|slow(?:er|est)?|faster|quicker|improve|find|gain|better|weak(?:est)?)\b"
)
_TIMES: Final = re.compile(r"\b(?:lap times|all (?:my |the )?laps|list (?:of )?(?:my )?laps)\b")


def numbers(question: Question) -> tuple[Call, ...]:
    """What answers a question about numbers: its own query, a quantity, or where time goes."""
    if question.sql is not None:
        return (Call("sql_query", {"sql": question.sql}),)
    text = plain(question.text)
    for one in QUANTITIES:
        if re.search(rf"\b(?:{one.words})\b", text):
            told = {"sql": _sql(one, text, question), "label": one.label, "unit": one.unit}
            return (Call("sql_query", told),)
    if _AVERAGE.search(text):
        return (Call("session_overview"), *([_AVERAGES] if _EACH.search(text) else []))
    if _TIMES.search(text):
        told = {"sql": LAP_TIMES, "label": "Your lap times", "unit": "lap"}
        return (Call("session_overview"), Call("sql_query", told))
    if _LOST.search(text):
        return (Call("reference_comparison"), Call("corner_history"))
    return (Call("session_overview"), Call("corner_history"))


def names_data(text: str) -> bool:
    """Whether a plain text asks for something that the data hold."""
    return any(
        (
            *(re.search(rf"\b(?:{one.words})\b", text) for one in QUANTITIES),
            *(words.search(text) for words in (_AVERAGE, _TIMES, _LOST, _OWN)),
        )
    )


def _sql(one: Quantity, text: str, question: Question) -> str:
    if _EACH.search(text):
        return BY_LAP.format(what=one.what)
    if question.laps:
        return SOME.format(what=one.what, laps=", ".join(str(int(lap)) for lap in question.laps))
    return WHOLE.format(what=one.what)
