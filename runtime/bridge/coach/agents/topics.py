"""Works out which fact a question asks for; pure.

A question with a topic is answered by that fact first, in a sentence. One without is left to the
tools of its intent, which look at something broader.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runtime.bridge.coach.agents import danger_words as danger
from runtime.bridge.coach.agents import rank_words as rank
from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.amount_words import amount_of
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.channels import channel_of
from runtime.bridge.coach.agents.claim_words import claimed
from runtime.bridge.coach.agents.concept_words import meaning_of, unknown_word
from runtime.bridge.coach.agents.crash_words import LOST, TIME_LOST
from runtime.bridge.coach.agents.focus_words import focus_of
from runtime.bridge.coach.agents.measured import measured, topic_for
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.safety import hazard
from runtime.bridge.coach.agents.topic_words import first

FACTLESS: Final = frozenset(
    {"weather", "voice_script", "brief", "session_plan", "agent_meta", "mindset", "reference_lap"}
)
"""Intents that ask for no single fact of a session."""
BROAD: Final = frozenset({"debrief", "setup", "race_pace"})
"""Intents that ask for more than one fact, unless a corner, a lap or a sector is named."""
TIMED: Final = frozenset({"", "time"})


def topic_of(told: Named, intent: str, *, session: bool = True) -> Topic | None:
    """The fact that a question of this intent asks for, if it asks for one.

    *session*: whether one is chosen that could have it.
    """
    if not told.text:
        return None
    if (meant := meaning_of(told, session=session)) is not None:
        return meant
    if (grave := _risk(told, intent)) is not None:
        return grave
    if intent in FACTLESS:
        return None
    if intent in BROAD and not (told.corners or told.laps or told.sectors):
        return None
    for reader in _READERS:
        if (found := reader(told)) is not None:
            return found
    return None


def _risk(told: Named, intent: str) -> Topic | None:
    """What is asked about a danger, about flat out, and about braking where it is wet."""
    text = told.text
    wet, braking = danger.WET.search(text), words.BRAKE.search(text)
    if told.corners and danger.FLAT.search(text):
        return topic_for(told, "risk", "flat")
    if wet and told.corners and braking:
        return topic_for(told, "measure", "brake_point")
    if wet and (braking or told.corners) and (intent == "weather" or words.SHOULD.search(text)):
        return topic_for(told, "risk", "wet", how="may" if danger.MAY.search(text) else "")
    what = first(danger.RISKS, text)
    if (told.corners and what and not _happened(text)) or danger.WHICH_DANGER.search(text):
        return topic_for(told, "risk", what or "safe")
    return None


def _happened(text: str) -> bool:
    return bool(first(words.MISHAPS, text))


def _named(told: Named) -> bool:
    return bool(told.corners or told.laps or told.sectors or told.straights)


def _mishap(told: Named) -> Topic | None:
    found = first(words.MISHAPS, told.text)
    if found == "spin" and re.search(LOST, told.text) and TIME_LOST.search(told.text):
        return None  # time was lost, and not the car
    said = hazard(told.text) != ""
    if found == "lock" and told.corners and words.SHOULD.search(told.text):
        return None
    return replace(topic_for(told, "mishap", found), said=said) if found else None


def _rank(told: Named) -> Topic | None:
    """The laps in the order of their times, or a place in it."""
    text = told.text
    if told.corners or told.sectors or told.straights or words.PLANNED.search(text):
        return None
    how = "least" if rank.WORST.search(text) or "slowest" in told.laps else ""
    if place := rank.place_of(text):
        return Topic("rank", "place", how=how, value=float(place))
    if (size := rank.size_of(text)) is not None:
        return Topic("rank", "within", value=size)
    if (minutes := rank.minutes_of(text)) is not None:
        return Topic("count", "lap", how="least" if minutes[0] else "most", value=minutes[1])
    if (count := rank.count_of(text)) is not None:
        return Topic("rank", "order", how=how, value=float(count))
    return _beside(told)


def _beside(told: Named) -> Topic | None:
    """The laps beside one of them."""
    text = told.text
    if rank.GAP.search(text) and not words.BEFORE.search(text):
        return Topic("rank", "gap")
    than = rank.THAN_LAP.search(text)
    if than and rank.WHICH_LAPS.search(text) and len(told.laps) == 1:
        return Topic("rank", "than", how="most" if than[1] == "slower" else "least", laps=told.laps)
    if told.laps and (claim := rank.CLAIM.search(text)) is not None:
        named = told.laps[1] if len(told.laps) > 1 and "LAP" in claim.groups() else None
        word = str(named) if named is not None else str(claim[1] or claim[2])
        if isinstance(told.laps[0], int) and not word.isdecimal() and word != "last":
            slow = word in ("slowest", "worst")
            return Topic("rank", "claim", how="least" if slow else "most", laps=told.laps[:1])
    if told.laps == ("last",) and rank.FIRST_LAP.search(text):
        return Topic("versus", laps=("last", "first"))
    return None


def _count(told: Named) -> Topic | None:
    found = words.COUNT.search(told.text)
    if found is None or words.PLANNED.search(told.text):
        return None
    if first(words.CIRCUIT[:1], told.text):
        return topic_for(told, "circuit", "length")
    if found.group(1).startswith(("corner", "turn")) and (
        gain := rank.IN_CORNERS.search(told.text)
    ):
        how = "most" if rank.GAINS.search(gain[0]) else "least"
        return topic_for(told, "loss", "count", how=how)
    if (limit := words.LIMIT.search(told.text)) is not None:
        under = limit.group(1) not in words.ABOVE
        found_s = 60.0 * int(limit.group(2) or 0) + float(limit.group(3))
        return replace(
            topic_for(told, "count", "lap", how="least" if under else "most"), value=found_s
        )
    return topic_for(told, "count", found.group(1).rstrip("s").replace("turn", "corner"))


def _before(told: Named) -> Topic | None:
    if told.laps == ("last",) and rank.SESSIONS.search(told.text):
        return Topic("before")
    if words.EVER.search(told.text) and not told.corners:
        return topic_for(told, "before", "ever")
    return topic_for(told, "before") if words.BEFORE.search(told.text) else None


def _spread(told: Named) -> Topic | None:
    return topic_for(told, "spread") if words.SPREAD.search(told.text) else None


def _shape(told: Named) -> Topic | None:
    if not told.corners or told.laps:
        return None
    found = first(words.SHAPES, told.text)
    if found in ("tip", "name") and first(words.MEASURES, told.text) not in TIMED:
        return None
    return topic_for(told, "shape", found) if found else None


def _circuit(told: Named) -> Topic | None:
    if told.corners:
        return None
    if rank.STRAIGHT.search(told.text):
        return topic_for(told, "circuit", "straight")
    if found := first(words.CIRCUIT, told.text):
        return topic_for(told, "circuit", found)
    if told.laps or told.sectors:
        return None
    found = first(words.SESSION, told.text)
    return topic_for(told, "session", found) if found else None


def _channel(told: Named) -> Topic | None:
    found = channel_of(told.text)
    return topic_for(told, "channel", found, how=first(words.HOW, told.text)) if found else None


def _sector(told: Named) -> Topic | None:
    text = told.text
    if not told.sectors and "sector" not in text:
        return None
    if first(words.MEASURES, text) not in TIMED and not words.WEAK.search(text):
        return None
    if told.sectors:
        what = ""
        if not told.laps and words.STRONG.search(text):
            what = "lap" if words.WHICH_LAP.search(text) else "best"
        elif not told.laps and rank.WORST.search(text):
            what = "worst"
        return topic_for(told, "sector", what)
    if words.IDEAL.search(text):
        return None
    weak, strong = words.WEAK.search(text), words.STRONG.search(text)
    how = "least" if weak else "most" if strong else ""
    return topic_for(told, "sector_rank", how=how)


def _place(told: Named) -> Topic | None:
    """A channel at a place of the lap that is told in metres, or at the line."""
    text, what = told.text, first(words.MEASURES, told.text)
    if what not in rank.PLACED or words.SHOULD.search(text):
        return None
    if rank.LINE.search(text) and not told.corners:
        return replace(topic_for(told, "place", what), value=0.0)
    if told.corners and (away := rank.BEFORE_CORNER.search(text)) is not None:
        return replace(topic_for(told, "place", what), value=float(away[1] or away[2]))
    if not told.corners and (there := rank.METRES.search(text)) is not None:
        return replace(topic_for(told, "place", what), value=float(there[1].replace(",", "")))
    return None


def _ideal(told: Named) -> Topic | None:
    if told.corners:
        return None
    return topic_for(told, "ideal_lap") if words.IDEAL.search(told.text) else None


def _quick_lap(told: Named) -> Topic | None:
    if told.corners or not told.laps:
        return None
    return topic_for(told, "lap") if words.HOW_QUICK.search(told.text) else None


def _loss(told: Named) -> Topic | None:
    text = told.text
    if len(told.corners) == 1 and not told.laps and rank.HOW_MUCH.search(text):
        return topic_for(told, "loss")
    if told.corners:
        return None
    if rank.IMPROVED.search(text):
        return topic_for(told, "improved")
    where = words.WHERE.search(text) is not None
    if told.laps and where and rank.GAINS.search(text) and not rank.LOSES.search(text):
        return topic_for(told, "loss", how="most")
    if not words.LOSS.search(text):
        return None
    return topic_for(told, "loss", how="least" if rank.ORDERED.search(text) else "")


def _grade(told: Named) -> Topic | None:
    return topic_for(told, "strength", "grade") if words.GRADE.search(told.text) else None


def _strength(told: Named) -> Topic | None:
    if told.corners or not words.STRENGTH.search(told.text):
        return None
    return topic_for(told, "strength")


def _lap(told: Named) -> Topic | None:
    text = told.text
    if told.corners:
        return None
    if words.USUAL.search(text) and not told.laps:
        return topic_for(told, "usual_lap")
    if words.LIST.search(text) and not told.laps:
        return topic_for(told, "count", "lap", how="each")
    if len(told.laps) > 1:
        if len(told.laps) > 2 and len(set(told.laps)) == 1:  # one lap, said again and again
            return replace(topic_for(told, "lap"), laps=told.laps[:1])
        return topic_for(told, "versus")
    if told.laps:
        return topic_for(told, "lap")
    if words.BEST_TIME.search(text):
        return Topic("lap", laps=("best",))
    return None


def _corner(told: Named) -> Topic | None:
    return topic_for(told, "corner") if told.corners else None


_READERS: Final[tuple[Callable[[Named], Topic | None], ...]] = (
    _mishap,
    claimed,
    amount_of,
    focus_of,
    _rank,
    _count,
    _before,
    _spread,
    _shape,
    _circuit,
    _channel,
    _grade,
    _sector,
    _ideal,
    _place,
    _quick_lap,
    _loss,
    measured,
    _strength,
    _lap,
    _corner,
    unknown_word,
)
"""In this order; the first that finds something decides."""
