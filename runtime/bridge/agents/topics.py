"""Works out which fact a question asks for; pure.

A question with a topic is answered by that fact first, in a sentence. One without is left to the
tools of its intent, which look at something broader.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runtime.bridge.agents import danger_words as danger
from runtime.bridge.agents import rank_words as rank
from runtime.bridge.agents import topic_words as words
from runtime.bridge.agents.asked import Ask, Topic
from runtime.bridge.agents.channels import channel_of
from runtime.bridge.agents.naming import Named
from runtime.bridge.agents.safety import hazard
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
    if not told.text:
        return None
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
        wet=danger.WET.search(text) is not None,
    )


def _risk(told: Named, intent: str) -> Topic | None:
    """What is asked about a danger, about flat out, and about braking where it is wet."""
    text = told.text
    wet, braking = danger.WET.search(text), words.BRAKE.search(text)
    if told.corners and danger.FLAT.search(text):
        return _topic(told, "risk", "flat")
    if wet and told.corners and braking:
        return _topic(told, "measure", "brake_point")
    if wet and (braking or told.corners) and (intent == "weather" or words.SHOULD.search(text)):
        return _topic(told, "risk", "wet", how="may" if danger.MAY.search(text) else "")
    what = first(danger.RISKS, text)
    if (told.corners and what and not _happened(text)) or danger.WHICH_DANGER.search(text):
        return _topic(told, "risk", what or "safe")
    return None


def _happened(text: str) -> bool:
    return bool(first(words.MISHAPS, text))


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
    said = hazard(told.text) != ""
    return replace(_topic(told, "mishap", found), said=said) if found else None


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
    if than and words.COUNT.search(text) and len(told.laps) == 1:
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
        return _topic(told, "circuit", "length")
    if found.group(1).startswith(("corner", "turn")) and (
        gain := rank.IN_CORNERS.search(told.text)
    ):
        how = "most" if rank.GAINS.search(gain[0]) else "least"
        return _topic(told, "loss", "count", how=how)
    if (limit := words.LIMIT.search(told.text)) is not None:
        under = limit.group(1) not in words.ABOVE
        found_s = 60.0 * int(limit.group(2) or 0) + float(limit.group(3))
        return replace(
            _topic(told, "count", "lap", how="least" if under else "most"), value=found_s
        )
    return _topic(told, "count", found.group(1).rstrip("s").replace("turn", "corner"))


def _before(told: Named) -> Topic | None:
    if told.laps == ("last",) and rank.SESSIONS.search(told.text):
        return Topic("before")
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
    if rank.STRAIGHT.search(told.text):
        return _topic(told, "circuit", "straight")
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
        what = ""
        if not told.laps and words.STRONG.search(text):
            what = "lap" if words.WHICH_LAP.search(text) else "best"
        elif not told.laps and rank.WORST.search(text):
            what = "worst"
        return _topic(told, "sector", what)
    if words.IDEAL.search(text):
        return None
    weak, strong = words.WEAK.search(text), words.STRONG.search(text)
    how = "least" if weak else "most" if strong else ""
    return _topic(told, "sector_rank", how=how)


def _place(told: Named) -> Topic | None:
    """A channel at a place of the lap that is told in metres, or at the line."""
    text, what = told.text, first(words.MEASURES, told.text)
    if what not in rank.PLACED or words.SHOULD.search(text):
        return None
    if rank.LINE.search(text) and not told.corners:
        return replace(_topic(told, "place", what), value=0.0)
    if told.corners and (away := rank.BEFORE_CORNER.search(text)) is not None:
        return replace(_topic(told, "place", what), value=float(away[1] or away[2]))
    if not told.corners and (there := rank.METRES.search(text)) is not None:
        return replace(_topic(told, "place", what), value=float(there[1].replace(",", "")))
    return None


def _ideal(told: Named) -> Topic | None:
    return _topic(told, "ideal_lap") if words.IDEAL.search(told.text) else None


def _quick_lap(told: Named) -> Topic | None:
    if told.corners or not told.laps:
        return None
    return _topic(told, "lap") if words.HOW_QUICK.search(told.text) else None


def _measure(told: Named) -> Topic | None:
    text = told.text
    what = first(words.MEASURES, text)
    board = danger.BOARD.search(text) if told.corners and words.SHOULD.search(text) else None
    if board is not None and words.BRAKE.search(text):
        return replace(_topic(told, "measure", "brake_point"), value=float(board[1]))
    if not what and words.BRAKE.search(text) and len(text.split()) <= SHORT:
        what = "brake_point" if told.corners else "brake_pressure"
    ranked = words.CORNER_RANK if what == "speed" else rank.WHICH_CORNER
    if not told.corners and what in (*rank.RANKED, "speed") and ranked.search(text):
        how = first(words.HOW, text) or ("most" if what != "speed" else "")
        return _topic(told, "measure", what, spot="rank", how=how)
    if not what or (what == "time" and not told.corners):
        return None
    spot = first(words.SPOTS, text) if what in ("speed", "rpm") else ""
    how = first(words.HOW, text)
    how = _better(what, how, text)
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


def _better(what: str, how: str, text: str) -> str:
    """Which end of a measure is meant: the fastest time is the least, the worst speed as well."""
    best, worst = rank.BEST.search(text), rank.WORST.search(text)
    if what == "time" and how != "each" and (best or worst):
        return "least" if best else "most"
    if what == "brake_point" and rank.LATEST.search(text):
        return "most" if "earliest" in text else "least"
    if how or not (best or worst) or what == "brake_point":
        return how
    low = what in ("coast", "corrections")
    return "least" if (best is not None) == low else "most"


def _loss(told: Named) -> Topic | None:
    text = told.text
    if told.corners:
        return None
    if rank.IMPROVED.search(text):
        return _topic(told, "improved")
    where = words.WHERE.search(text) is not None
    if told.laps and where and rank.GAINS.search(text) and not rank.LOSES.search(text):
        return _topic(told, "loss", how="most")
    if not words.LOSS.search(text):
        return None
    return _topic(told, "loss", how="least" if rank.ORDERED.search(text) else "")


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
        if len(told.laps) > 2 and len(set(told.laps)) == 1:  # one lap, said again and again
            return replace(_topic(told, "lap"), laps=told.laps[:1])
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
    _measure,
    _strength,
    _lap,
    _corner,
)
"""In this order; the first that finds something decides."""
