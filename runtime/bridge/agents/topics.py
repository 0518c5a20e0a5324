"""Works out which fact a question asks for; pure.

A question with a topic is answered by that fact first, in a sentence. One without is left to the
tools of its intent, which look at something broader.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runtime.bridge.agents import topic_words as words
from runtime.bridge.agents.asked import Ask, Topic
from runtime.bridge.agents.channels import channel_of
from runtime.bridge.agents.naming import Named
from runtime.bridge.agents.topic_words import first

FACTLESS: Final = frozenset(
    {"weather", "voice_script", "brief", "session_plan", "agent_meta", "mindset", "reference_lap"}
)
"""Intents that ask for no single fact of a session."""
BROAD: Final = frozenset({"debrief", "setup", "race_pace"})
"""Intents that ask for more than one fact, unless a corner, a lap or a sector is named."""
OF_CORNER_ONLY: Final = frozenset(
    {"brake_release", "throttle_exit", "throttle_on", "corrections", "trail_brake"}
)
SHORT: Final = 4
"""Words of a question that is hardly one."""
TIMED: Final = frozenset({"", "time"})


def topic_of(told: Named, intent: str) -> Topic | None:
    """The fact that a question of this intent asks for, if it asks for one."""
    if intent in FACTLESS or not told.text:
        return None
    if intent in BROAD and not (told.corners or told.laps or told.sectors):
        return None
    for reader in _READERS:
        if (found := reader(told)) is not None:
            return found
    return None


def _topic(told: Named, ask: Ask, what: str = "", *, spot: str = "", how: str = "") -> Topic:
    text = told.text
    return Topic(
        ask,
        what,
        spot,
        how,
        told.corners,
        told.laps,
        told.sectors,
        told.straights,
        why=words.WHY.search(text) is not None,
        should=words.SHOULD.search(text) is not None,
        where=words.WHERE.search(text) is not None,
    )


def _named(told: Named) -> bool:
    return bool(told.corners or told.laps or told.sectors or told.straights)


def _concept(told: Named) -> Topic | None:
    """What a word means, where nothing of one's own is asked for."""
    own = _named(told) or words.OWN.search(told.text)
    if own or not words.EXPLAIN.search(told.text):
        return None
    found = first(words.CONCEPTS, told.text)
    return Topic("concept", found) if found else None


def _mishap(told: Named) -> Topic | None:
    found = first(words.MISHAPS, told.text)
    return _topic(told, "mishap", found) if found else None


def _count(told: Named) -> Topic | None:
    found = words.COUNT.search(told.text)
    if found is None or words.PLANNED.search(told.text):
        return None
    if (limit := words.LIMIT.search(told.text)) is not None:
        under = limit.group(1) not in words.ABOVE
        found_s = 60.0 * int(limit.group(2) or 0) + float(limit.group(3))
        return replace(
            _topic(told, "count", "lap", how="least" if under else "most"), value=found_s
        )
    return _topic(told, "count", found.group(1).rstrip("s").replace("turn", "corner"))


def _before(told: Named) -> Topic | None:
    if words.EVER.search(told.text) and not told.corners:
        return _topic(told, "before", "ever")
    return _topic(told, "before") if words.BEFORE.search(told.text) else None


def _spread(told: Named) -> Topic | None:
    return _topic(told, "spread") if words.SPREAD.search(told.text) else None


def _shape(told: Named) -> Topic | None:
    if not told.corners or told.laps:
        return None
    found = first(words.SHAPES, told.text)
    if found in ("tip", "name") and first(words.MEASURES, told.text) not in TIMED:
        return None
    return _topic(told, "shape", found) if found else None


def _circuit(told: Named) -> Topic | None:
    if told.corners:
        return None
    if found := first(words.CIRCUIT, told.text):
        return _topic(told, "circuit", found)
    if told.laps or told.sectors:
        return None
    found = first(words.SESSION, told.text)
    return _topic(told, "session", found) if found else None


def _channel(told: Named) -> Topic | None:
    found = channel_of(told.text)
    return _topic(told, "channel", found, how=first(words.HOW, told.text)) if found else None


def _sector(told: Named) -> Topic | None:
    text = told.text
    if not told.sectors and "sector" not in text:
        return None
    if first(words.MEASURES, text) not in TIMED and not words.WEAK.search(text):
        return None
    if told.sectors:
        lap = words.WHICH_LAP.search(text) and words.STRONG.search(text)
        return _topic(told, "sector", "lap" if lap else "")
    if words.IDEAL.search(text):
        return None
    weak, strong = words.WEAK.search(text), words.STRONG.search(text)
    how = "least" if weak else "most" if strong else ""
    return _topic(told, "sector_rank", how=how)


def _ideal(told: Named) -> Topic | None:
    return _topic(told, "ideal_lap") if words.IDEAL.search(told.text) else None


def _quick_lap(told: Named) -> Topic | None:
    if told.corners or not told.laps:
        return None
    return _topic(told, "lap") if words.HOW_QUICK.search(told.text) else None


def _measure(told: Named) -> Topic | None:
    text = told.text
    what = first(words.MEASURES, text)
    if not what and words.BRAKE.search(text) and len(text.split()) <= SHORT:
        what = "brake_point" if told.corners else "brake_pressure"
    if not told.corners and what == "speed" and words.CORNER_RANK.search(text):
        return _topic(told, "measure", what, spot="rank", how=first(words.HOW, text))
    if not what or (what == "time" and not told.corners):
        return None
    spot = first(words.SPOTS, text) if what in ("speed", "rpm") else ""
    how = first(words.HOW, text)
    if told.corners and words.JUDGED.search(text):
        spot = first(words.LATE, text) if what == "brake_point" else spot
        how = "judged"
    if told.corners:
        general = what == "speed" and (
            words.LOSS.search(text) is not None
            or (words.SHOULD.search(text) is not None and not words.AMOUNT.search(text))
        )
        if general or (what == "time" and words.LOSS.search(text)):
            return None
        return _topic(told, "measure", what, spot=spot, how=how)
    if what == "speed" and words.SHOULD.search(text) and words.LOSS.search(text):
        return None
    if what in OF_CORNER_ONLY or what == "brake_point" or spot in ("entry", "exit", "apex"):
        return _topic(told, "measure", what, spot=spot, how=how)
    return _topic(told, "extreme", what, how=how)


def _loss(told: Named) -> Topic | None:
    if told.corners or not words.LOSS.search(told.text):
        return None
    return _topic(told, "loss")


def _grade(told: Named) -> Topic | None:
    return _topic(told, "strength", "grade") if words.GRADE.search(told.text) else None


def _strength(told: Named) -> Topic | None:
    if told.corners or not words.STRENGTH.search(told.text):
        return None
    return _topic(told, "strength")


def _lap(told: Named) -> Topic | None:
    text = told.text
    if told.corners:
        return None
    if words.USUAL.search(text) and not told.laps:
        return _topic(told, "usual_lap")
    if words.LIST.search(text) and not told.laps:
        return _topic(told, "count", "lap", how="each")
    if len(told.laps) > 1:
        return _topic(told, "versus")
    if told.laps:
        return _topic(told, "lap")
    if words.BEST_TIME.search(text):
        return Topic("lap", laps=("best",))
    return None


def _corner(told: Named) -> Topic | None:
    return _topic(told, "corner") if told.corners else None


_READERS: Final[tuple[Callable[[Named], Topic | None], ...]] = (
    _concept,
    _mishap,
    _count,
    _before,
    _spread,
    _shape,
    _circuit,
    _channel,
    _grade,
    _sector,
    _ideal,
    _quick_lap,
    _loss,
    _measure,
    _strength,
    _lap,
    _corner,
)
"""In this order; the first that finds something decides."""
