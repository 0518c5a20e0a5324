"""Works out what a question is about by its words alone; pure."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

from runtime.bridge.agents.quantities import names_data
from runtime.bridge.agents.values import Intent, Question
from runtime.bridge.agents.words import plain
from runtime.bridge.tracks.model import Corner

INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
ALIASES: Final[dict[str, Intent]] = {"gold_lap": "reference_lap"}
DEFAULT: Final[Intent] = "telemetry"
MOST_LAPS: Final = 500

_CORNER: Final = re.compile(r"\b(?:t ?(\d{1,2})|(?:turn|corner) (?:number )?(\d{1,2}))\b")
_LAP: Final = re.compile(r"\blaps? (?:number )?(\d{1,3})\b")
_PAIR: Final = re.compile(
    r"\blaps? (\d{1,3}),? (?:vs\.?|versus|and|with|to|against) (?:lap )?(\d{1,3})\b"
)
_COUNT: Final = re.compile(r"\b(\d{1,3}) (?:\w+ )?laps\b")
_CLOCK: Final = re.compile(r"\b(\d{1,2}):([0-5]\d(?:\.\d{1,3})?)\b")
_SECONDS: Final = re.compile(r"\b(\d{2,3}(?:\.\d{1,3})?) ?(?:s|sec|secs|seconds)\b")
_SQL: Final = re.compile(r"select\b.*\bfrom\b.*|with\b.*\bas\s*\(.*", re.DOTALL | re.IGNORECASE)
_FENCE: Final = "```"


class Rule(NamedTuple):
    """Words that mean an intent."""

    intent: Intent
    words: re.Pattern[str]


def _rule(intent: Intent, *patterns: str) -> Rule:
    """Patterns are whole words, of a text in small letters with single blanks."""
    return Rule(intent, re.compile(r"\b(?:" + "|".join(patterns) + r")\b"))


RULES: Final = (
    _rule(
        "debrief",
        r"debrief(?:ing)?",
        r"how did (?:i|we) do",
        r"how was (?:my|the|that) (?:session|run|stint|day)",
        r"session summary",
        r"(?:summary|summari[sz]e|recap|review) (?:of )?(?:my|the|this|that) (?:session|run|day)",
    ),
    _rule(
        "brief",
        r"pre-?session",
        r"pre session",
        r"today's plan",
        r"before (?:i|we) (?:go|head) out",
        r"^brief(?: me)?",
        r"^give me (?:a|the|my) brief(?:ing)?",
    ),
    _rule(
        "voice_script",
        r"voice scripts?",
        r"tts",
        r"cue scripts?",
        r"pace notes?",
        r"audio cues?",
        r"(?:generate|write|record|make|save) (?:\w+ ){0,4}(?:cues?|voice|audio)(?: lines?)?",
    ),
    Rule("corner", _CORNER),
    _rule("reference_lap", r"reference laps?", r"gold laps?", r"the reference"),
    _rule(
        "weather",
        r"weather",
        r"fog(?:gy)?",
        r"greasy",
        r"damp",
        r"rain(?:ing|y)?",
        r"wet",
        r"track temp(?:erature)?s?",
        r"(?:track|surface) conditions?",
        r"conditions",
    ),
    _rule(
        "session_plan",
        r"practi[cs]e plan",
        r"session plan",
        r"how should (?:i|we) structure",
        r"laps available",
        r"plan (?:my|the|this|a) (?:session|practi[cs]e|day|run)",
        r"(?:i|we) have (?:\w+ )?\d{1,3} (?:\w+ )?laps",
        r"(?:i've|we've) got (?:\w+ )?\d{1,3} (?:\w+ )?laps",
    ),
    _rule(
        "incident",
        r"incidents?",
        r"close calls?",
        r"scary",
        r"scared me",
        r"saved it",
        r"(?:nearly|almost) (?:off|spun|crashed|lost it)",
        r"moments? at",
        r"spun",
        r"spin",
        r"off track",
    ),
    _rule(
        "race_pace",
        r"race pace",
        r"stints?",
        r"degradation",
        r"deg",
        r"(?:tyre|tire)s? (?:drop(?:-?off)?|fade|fall-?off)",
        r"drop-?off",
        r"long run",
    ),
    _rule(
        "goal",
        r"pb target",
        r"lap time goal",
        r"what (?:lap )?time should",
        r"target laps?",
        r"target (?:lap )?times?",
        r"set me a (?:goal|target)",
        r"(?:realistic|next) (?:goal|target)",
        r"ideal lap",
        r"theoretical best",
    ),
    _rule(
        "mental_map",
        r"varian(?:ce|t)",
        r"var(?:y|ies) (?:the )?most",
        r"consistent(?:ly)?",
        r"consistency",
        r"inconsisten(?:t|cy)",
        r"mental map",
        r"repeatable",
        r"repeatability",
        r"stable",
    ),
    _rule(
        "lap_comparison",
        r"laps? \d{1,3},? (?:vs\.?|versus|and|with|against)",
        r"compare (?:my |the |these |two )*(?:\w+ )?laps?",
        r"why was (?:my )?laps?",
        r"(?:fastest|best|quickest) (?:lap )?(?:vs\.?|versus|against|with|and)"
        r" (?:my |the )?(?:slowest|worst)",
        r"lap delta",
    ),
    _rule(
        "progress",
        r"progress(?:ing)?",
        r"improv(?:ed|ing|ements?)",
        r"getting (?:faster|quicker|better|slower)",
        r"over (?:\w+ )?sessions",
        r"(?:this|last) (?:month|week|season)",
        r"since last time",
    ),
    _rule(
        "setup",
        r"set-?up",
        r"understeer(?:s|ing|y)?",
        r"oversteer(?:s|ing|y)?",
        r"balance",
        r"nervous (?:mid|in the|on)",
        r"car feels?",
        r"pushes wide",
        r"loose on (?:entry|exit)",
    ),
    _rule(
        "mindset",
        r"frustrat(?:ed|ing|ion)",
        r"plateau(?:ed)?",
        r"not working",
        r"motivation",
        r"motivated",
        r"stuck",
        r"nervous",
        r"lost my nerve",
    ),
    Rule(
        "agent_meta",
        re.compile(r"^(?=.*\bagents?\b)(?=.*\b(?:slow(?:est)?|latency|traces?)\b)"),
    ),
)
"""In this order; the first that fits decides. Nicknames of corners stand with the corners."""


def route(question: str, corners: Sequence[Corner] = ()) -> Intent:
    """What a question is about."""
    text = plain(question)
    if not text or sql_in(question) is not None:
        return DEFAULT
    for rule in RULES:
        if rule.words.search(text):
            return rule.intent
        if rule.intent == "corner" and _nicknamed(text, corners) is not None:
            return rule.intent
    return DEFAULT


def chosen(wanted: str | None) -> Intent | None:
    """The intent that a caller asks for; None where there is none of that name."""
    word = (wanted or "").strip().casefold()
    for intent in INTENTS:
        if word == intent:
            return intent
    return ALIASES.get(word)


def understood(
    question: str,
    *,
    wanted: str | None = None,
    corners: Sequence[Corner] = (),
    session_id: str = "",
    driver_id: str = "",
) -> Question:
    """The question with everything that its words tell."""
    text = plain(question)
    sql = sql_in(question)
    intent = chosen(wanted) or route(question, corners)
    return Question(
        text=question.strip(),
        intent=intent,
        session_id=session_id,
        driver_id=driver_id,
        corner=None if sql else corner_in(text, corners),
        laps=() if sql else laps_in(text),
        count=None if sql else _count(text),
        target_s=None if sql else _target(text),
        open=intent == DEFAULT and sql is None and bool(text) and not names_data(text),
        sql=sql,
    )


def corner_in(text: str, corners: Sequence[Corner]) -> str | None:
    """The corner that a plain text names: by number, by name, by nickname."""
    if (found := _CORNER.search(text)) is not None:
        number = int(found.group(1) or found.group(2))
        return next((one.name for one in corners if one.number == number), str(number))
    return _nicknamed(text, corners)


def laps_in(text: str) -> tuple[int, ...]:
    """Numbers of laps in a plain text, each once."""
    numbers = [int(n) for pair in _PAIR.findall(text) for n in pair]
    numbers += [int(n) for n in _LAP.findall(text)]
    return tuple(dict.fromkeys(numbers))


def sql_in(question: str) -> str | None:
    """The statement, where a question is nothing but one."""
    _, fence, rest = question.partition(_FENCE)
    if fence and _FENCE in rest:
        return rest.partition(_FENCE)[0].strip().removeprefix("sql").strip()
    text = question.strip()
    return text if _SQL.fullmatch(text) else None


def _nicknamed(text: str, corners: Sequence[Corner]) -> str | None:
    names = sorted(
        ((plain(name), one.name) for one in corners for name in (one.name, *one.nicknames)),
        key=lambda pair: -len(pair[0]),
    )
    for name, corner in names:
        if name and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            return corner
    return None


def _count(text: str) -> int | None:
    found = _COUNT.search(text)
    count = int(found.group(1)) if found else 0
    return count if 0 < count <= MOST_LAPS else None


def _target(text: str) -> float | None:
    if (clock := _CLOCK.search(text)) is not None:
        return 60.0 * int(clock.group(1)) + float(clock.group(2))
    if (seconds := _SECONDS.search(text)) is not None:
        return float(seconds.group(1))
    return None
