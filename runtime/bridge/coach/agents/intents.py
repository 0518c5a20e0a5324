"""Works out what a question is about by its words alone; pure."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, get_args

from runtime.bridge.coach.agents.asked import Ask
from runtime.bridge.coach.agents.followups import Subject, followed
from runtime.bridge.coach.agents.intent_words import RULES
from runtime.bridge.coach.agents.naming import Named, Names, named
from runtime.bridge.coach.agents.quantities import names_data
from runtime.bridge.coach.agents.reading import read
from runtime.bridge.coach.agents.topics import topic_of
from runtime.bridge.coach.agents.values import Intent, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.track.model import Corner

INTENTS: Final[tuple[Intent, ...]] = get_args(Intent)
ALIASES: Final[dict[str, Intent]] = {"gold_lap": "reference_lap"}
DEFAULT: Final[Intent] = "telemetry"
OF_TOPIC: Final[dict[Ask, Intent]] = {
    "mishap": "incident",
    "versus": "lap_comparison",
    "spread": "mental_map",
    "before": "progress",
    "ideal_lap": "goal",
    "corner": "corner",
    "measure": "corner",
    "balance": "corner",
}
"""Who answers a fact that no word of the router asks for."""
MOST_LAPS: Final = 500

_COUNT: Final = re.compile(r"\b(\d{1,3}) (?:\w+ )?laps\b")
_CLOCK: Final = re.compile(r"\b(\d{1,2}):([0-5]\d(?:\.\d{1,3})?)\b")
_SECONDS: Final = re.compile(r"\b(\d{2,3}(?:\.\d{1,3})?) ?(?:s|sec|secs|seconds)\b")
_SQL: Final = re.compile(
    r"select\b.*\bfrom\b.*|with\b.*\bas\s*\(.*|select\s+(?:\*|\d|count\s*\(|max\s*\(|min\s*\(|avg\s*\().*"
    r"|insert\s+into\b.*|delete\s+from\b.*|update\s+\w+\s+set\b.*|explain\s+select\b.*"
    r"|(?:drop|create|alter|truncate)\s+(?:(?:or\s+replace|temp|temporary|unique)\s+)*"
    r"(?:table|view|index|schema|database|macro|function|sequence|type)\b.*"
    r"|pragma\s+\w+.*|(?:attach|detach|install|load|import|export)\s+(?:database\b.*|['\"].*)"
    r"|copy\s+.*\b(?:to|from)\s*['\"].*|show\s+(?:all\s+)?tables\W*"
    r"|(?:describe|truncate|summarize)\s+(?:frames|laps|corners|sessions)\W*|vacuum\W*|from\s+\w+\s+select\b.*",
    re.DOTALL | re.IGNORECASE,
)
_BARE: Final = re.compile(
    r"(?:(?:and|what about|how about|then|or) )?(?:in |the )?(\d{1,2})[?!. ]*"
)
_FENCE: Final = "```"


def route(question: str, corners: Sequence[Corner] = ()) -> Intent:
    """What a question is about."""
    text = read(question, (name for one in corners for name in (one.name, *one.nicknames)))
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
    names: Names | None = None,
    corners: Sequence[Corner] = (),
    session_id: str = "",
    driver_id: str = "",
    last: Subject | None = None,
) -> Question:
    """The question with everything that its words tell, and what the *last* one was about.

    *names* are those of the circuit; without them, those of its *corners*.
    """
    known = names or Names(corners)
    sql = sql_in(question)
    told = Named("") if sql else named(expanded(question, last), known)
    routed = route(question, known.corners)
    intent = chosen(wanted) or routed
    made = Question(
        text=question.strip(),
        intent=intent,
        session_id=session_id,
        driver_id=driver_id,
        corner=told.corners[0] if told.corners else None,
        laps=tuple(lap for lap in told.laps if isinstance(lap, int)),
        count=None if sql else _count(plain(question)),
        target_s=None if sql else _target(plain(question)),
        sql=sql,
    )
    if sql is None and intent == routed:
        made = _with_topic(made, told, last)
    text = plain(question)
    data = made.topic is not None and made.topic.ask != "concept"
    plain_talk = intent == DEFAULT and sql is None and bool(text)
    return replace(made, open=plain_talk and not data and not names_data(text))


def expanded(question: str, last: Subject | None) -> str:
    """A bare number behind a corner or a lap as what it is the number of."""
    found = _BARE.fullmatch(plain(question)) if last is not None else None
    if found is None or last is None:
        return question
    if last.topic.corners:
        return f"and turn {found[1]}?"
    return f"and lap {found[1]}?" if last.topic.laps else question


def _with_topic(question: Question, told: Named, last: Subject | None) -> Question:
    own = topic_of(told, question.intent, session=bool(question.session_id))
    topic = followed(told, own, last)
    if topic is None:
        return question
    goes_on = last is not None and topic != own
    intent = last.intent if goes_on and last is not None else question.intent
    if intent == DEFAULT:
        intent = OF_TOPIC.get(topic.ask, DEFAULT)
    if goes_on and topic.corners:
        intent = "corner"
    corner = topic.corners[0] if topic.corners else question.corner
    return replace(question, topic=topic, intent=intent, corner=corner)


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
