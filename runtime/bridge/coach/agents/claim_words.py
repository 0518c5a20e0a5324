"""Reads what a driver holds to be so: a question by yes or no, or a statement with a tag; pure."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.claim_more import (
    NOTHING_S,
    broke,
    by_speed,
    each_lap,
    felt,
    peak,
    spelled,
)
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.topic_words import first

MILE: Final = 1.609344
_FINER: Final = {0.1: 1, 0.01: 2, 0.001: 3}
"""Digits behind the point that a number has by its unit alone."""
LEAST_IN_CORNER: Final = 30.0
LEAST_SPEED: Final = 60.0
"""A number below it is no speed that anybody would speak of on a whole lap."""
_BEGUN: Final = re.compile(
    r"^(?:(?:and|but|so|ok(?:ay)?|hey|well|is it true that|is it right that|am i right that),? )*"
    r"(?:is|isn't|was|wasn't|were|are|am|do|does|did|didn't|don't|doesn't|aren't|weren't|haven't"
    r"|have|has|had) (?!it (?:better|ok"
    r"|normal))"
)
_TAGGED: Final = re.compile(
    r"(?:,? (?:right|correct|true|no|yes|yeah|huh|is that (?:right|true|so)|am i right|or not)"
    r"|,? (?:was|is|did|do|does|have|are|am|were|has)(?:n't|nt)? (?:it|i|they|that|we))\W*$"
)
_DENIED: Final = re.compile(r"(?<!^)\b(?:not|(?:do|did|does|was|were|is|are|am|ha[sv]e?)n'?t)\b")
"""Says that it is not so; at the beginning of a question it only asks."""
_FLAT: Final = re.compile(
    r"\b(?:am|i'm|was|go|going|drive|take|always|never) (?:\w+ )?flat\b(?! or)"
    r"|\bflat\b.{0,8} for me\b"
)
_WHICH_OF: Final = re.compile(r"^(?:so |and )?(?:which|where)\b.{0,40}\bCORNER\b")
_CLAIMED: Final = re.compile(r"^(?:so |and |but )?(?:is it true|is it right|am i right)\b")
_NOT_SO: Final = re.compile(
    r"\b(?:can|could|should|would|will|may|realistic|possible|doable|reachable)\b"
)
_ASKED: Final = re.compile(r"\b(?:how|why|what|which|when|where am)\b")
_CLOCK: Final = re.compile(r"\b(\d{1,2}):([0-5]\d)(?:\.(\d{1,3}))?\b")
_UNDER: Final = re.compile(
    r"\b(?:under|below|less than|faster than (?:a )?\d|quicker than (?:a )?\d|beat|break|broke"
    r"|better than (?:a )?\d)"
)
_OVER: Final = re.compile(
    r"\b(?:over|above|more than|longer than|exceed\w*|slower than (?:a )?\d|at least)"
)
_REACHED: Final = re.compile(r"\b(?:hit|reach\w*|meet|met|target|goal)\b")
_WAS_SPEED: Final = re.compile(r"\bspeed\b.{0,20}\b(?:was|is)\b|\b(?:was|is)\b.{0,20}\bspeed\b")
"""Where a driver tells what his speed was, and not what he reached."""
_LESS: Final = re.compile(r"\b(?:less|softer|lighter|lower|shorter|later)\b")
_FASTER: Final = re.compile(r"\b(?:faster|quicker|better|ahead of)\b")
_SLOWER: Final = re.compile(r"\b(?:slower|worse)\b")
_EVERY: Final = re.compile(r"\b(?:every|each|all|always)\b")
_NEVER: Final = re.compile(r"\bnever\b")
_LAPS: Final = re.compile(
    r"\b(?:did|drove|driven|done|complet\w+|do|drive|had) (?:i )?(?:only )?"
    r"(?:(more than|over|at least|less than|fewer than|under) )?(\d{1,3}) (?:\w+ )?laps\b"
)
_KMH: Final = re.compile(
    r"(?<![\d.:])(\d{2,3}(?:\.\d+)?)(?![\d:]) ?(km/?h|kph|mph)?(?! ?(?:m\b|met|s\b|sec|bar|g\b|%"
    r"|laps))"
)
_NUMBER: Final = re.compile(
    r"(?<![\d.:])(\d+(?:\.\d+)?)(?![\d:]) ?(ms\b|m\b|met(?:er|re)s?|s\b|sec\w*|tenths?"
    r"|hundredths?|bar|g\b"
    r"|km/?h|kph|mph|%|degrees?|times)?"
)
_SAID: Final = (
    (r"\bhalf a (?:sec\w*)", "0.5 s"),
    (r"\ba (?:whole |full )?sec(?:ond)?\b", "1 s"),
    (r"\ba tenth\b", "0.1 s"),
)
_LOSES_TIME: Final = re.compile(r"\blos\w+ (?:any |much |some )?time\b")
_LOSES: Final = re.compile(r"\blos\w+|\bcost\w*|\bleav\w+\b.{0,20}\btime\b")
_LATE: Final = re.compile(r"\b(?:too )?(late|early|later|earlier)\b")
SUPERLATIVES: Final = (
    ("best", re.compile(r"\b(?:best|strongest) (?:corner|turn|bend)\b")),
    (
        "worst",
        re.compile(
            r"\b(?:worst|weakest) (?:corner|turn|bend)\b|\blos\w+ (?:the )?most"
            r"|\bcosts? (?:me )?(?:the )?most"
        ),
    ),
    ("slow", re.compile(r"\bslowest (?:corner|turn|bend)\b")),
    ("fast", re.compile(r"\b(?:fastest|quickest) (?:corner|turn|bend)\b")),
    (
        "steady",
        re.compile(r"\b(?:most consistent|steadiest|most repeatable) (?:corner|turn|bend)?"),
    ),
    ("unsteady", re.compile(r"\b(?:least consistent|most inconsistent) (?:corner|turn|bend)?")),
)
"""What a corner may be said to be among all of them."""
_HABITS: Final = (
    (
        "same_point",
        re.compile(
            r"\bbrak\w*\b.{0,20}\bsame (?:point|place|spot|marker)|\bbraking (?:point )?consistent"
            r"|\bsame brak\w* (?:point|place|spot|marker)"
        ),
    ),
    ("lifted", re.compile(r"\blift(?:ing|ed|s)?\b(?! before)")),
    ("flat", re.compile(r"\bflat(?: out)?\b(?!.{0,12}\bexit)")),
    ("full", re.compile(r"\bfull throttle\b(?!.{0,12}\bexit)")),
    ("trailed", re.compile(r"\btrail ?-?brak\w*(?!.{0,30}\b(?:enough|too))")),
    (
        "braked",
        re.compile(
            r"^(?:(?:do|did|have|am) i|i(?:'m| am)?)(?: (?:ever|never|always|don't|do not|not"
            r"|didn't))*"
            r" brak\w*(?: at all)?(?: (?:before|for|in|into|at"
            r"|on))? CORNER(?: at all)?\W*$"
        ),
    ),
)
"""What is done in a corner, or not."""


def claimed(told: Named) -> Topic | None:
    """What is held to be so, if that is what is asked."""
    text = told.text
    if _WHICH_OF.match(text) and (which := _two_corners(told, text)) is not None:
        return which
    tagged = _TAGGED.search(text) is not None
    if not (tagged or _BEGUN.match(text) or _CLAIMED.match(text) or _NEVER.match(text)):
        return None
    if _ASKED.search(text) or (_NOT_SO.search(text) and not tagged):
        return None
    shape = first(words.SHAPES, text)
    if shape in ("direction", "severity") or (shape == "slope" and not _FLAT.search(text)):
        return None
    bare = spelled(_TAGGED.sub("", text))
    denied = _DENIED.search(bare) is not None
    for reader in _READERS:
        if (found := reader(told, bare)) is not None:
            return replace(found, every="not") if denied else found
    if tagged and told.corners and not told.laps:
        return Topic("claim", "unknown", corners=told.corners)
    return None


def _of(told: Named, what: str, how: str = "") -> Topic:
    every = "all" if _EVERY.search(told.text) else "never" if _NEVER.search(told.text) else ""
    return Topic(
        "claim", what, "", how, told.corners, told.laps, told.sectors, told.straights, every=every
    )


def _valued(topic: Topic, number: str, scale: float = 1.0) -> Topic:
    _, _, behind = number.partition(".")
    digits = len(behind) + _FINER.get(scale, 0)
    return replace(topic, value=float(number) * scale, digits=digits)


def _two_corners(told: Named, text: str) -> Topic | None:
    """Which of two corners is better, or whether one of them is."""
    if len(told.corners) != 2 or told.laps:
        return None
    which = re.search(r"\bor\b", told.text) is not None or text.count("CORNER") == 1
    if (fast := by_speed(told, text, which=which)) is not None:
        return fast
    how = (
        "lose"
        if which and _LOSES.search(text)
        else "which"
        if which
        else "worse"
        if _SLOWER.search(text)
        else "better"
    )
    what = first(words.MEASURES, text)
    if what in ("speed", "time", ""):
        return _of(told, "corners", how)
    if not which:
        how = "less" if _LESS.search(text) else "more"
    return replace(_of(told, "corners", how), spot=what)


def _two_laps(told: Named, text: str) -> Topic | None:
    """Whether one lap is faster than another, in all or in a part of it."""
    if len(told.laps) != 2 or told.laps[0] == told.laps[1]:
        return None
    if re.search(r"\bimprov\w*|\bfrom LAP", text) and not _SLOWER.search(text):
        return replace(_of(told, "laps", "faster"), laps=told.laps[::-1])
    slower, faster = _SLOWER.search(text), _FASTER.search(text)
    if not (slower or faster) or re.search(r"\bor LAP|\bhow much", told.text):
        return None
    return _of(told, "laps", "slower" if slower else "faster")


def _lap_time(told: Named, text: str) -> Topic | None:
    """A lap time that was driven, beaten or missed."""
    found = _CLOCK.search(text)
    if found is None or told.corners or told.sectors:
        return None
    under = _UNDER.search(text) or _REACHED.search(text)
    how = "under" if under else "over" if _OVER.search(text) else "equal"
    topic = _of(told, "time", how)
    seconds = 60.0 * int(found[1]) + float(f"{found[2]}.{found[3] or 0}")
    return replace(topic, value=seconds, digits=len(found[3] or ""))


def _lap_count(told: Named, text: str) -> Topic | None:
    found = None if told.corners or _CLOCK.search(text) else _LAPS.search(text)
    if found is None:
        return None
    more, less = ("more than", "over"), ("less than", "fewer than", "under")
    how = "over" if found[1] in more else "under" if found[1] in less else ""
    least = 1.0 if found[1] == "at least" else 0.0
    topic = _valued(_of(told, "count", "over" if least else how), found[2])
    return replace(topic, value=(topic.value or 0.0) - least)


def _top_speed(told: Named, text: str) -> Topic | None:
    """A speed that was reached anywhere."""
    if told.corners or told.sectors or _CLOCK.search(text) or _LOSES.search(text):
        return None
    found = next((one for one in _KMH.finditer(text) if float(one[1]) >= LEAST_SPEED), None)
    fast = re.search(
        r"\b(?:speed|fast\w*|quick\w*|hit|reach\w*|top\w*|touch\w*|go|went|over|above|do|did)\b",
        text,
    )
    if found is None or (not found[2] and not fast):
        return None
    how = "under" if _UNDER.search(text) and "faster" not in text else "over"
    if how == "over" and not (_OVER.search(text) or "faster" in text or "quicker" in text):
        how = "equal" if _WAS_SPEED.search(text) and not _REACHED.search(text) else "reach"
    topic = replace(_of(told, "speed", how), spot="lap" if each_lap(told.text) else "")
    return _valued(topic, found[1], MILE if found[2] == "mph" else 1.0)


def _superlative(told: Named, text: str) -> Topic | None:
    found = first(SUPERLATIVES, text) if len(told.corners) == 1 and not told.laps else ""
    return _of(told, "among", found) if found else None


def _than_lap(told: Named, text: str) -> Topic | None:
    """A measure of a corner beside that of one lap."""
    if len(told.corners) != 1 or len(told.laps) != 1 or "than" not in text:
        return None
    what, how = first(words.MEASURES, text), _LATE.search(text)
    if what == "brake_point" and how is not None:
        return replace(
            _of(told, "than", "more" if how[1].startswith("earl") else "less"), spot=what
        )
    return None


def _lost(told: Named, text: str) -> Topic | None:
    """Whether a corner costs any time."""
    number = _NUMBER.search(text) or any(re.search(said, text) for said, _ in _SAID)
    if len(told.corners) != 1 or number or not _LOSES_TIME.search(text):
        return None
    return replace(_of(told, "lost", "over"), value=NOTHING_S)


def _side(text: str) -> str:
    """On which side of a number something is held to be."""
    never, over = _NEVER.search(text), _OVER.search(text)
    if never and re.search(r"\b(?:over|above|more)\b", text):
        return "over"
    if never or _UNDER.search(text):
        return "under"
    reach = re.search(r"\b(?:hit|reach\w*|touch\w*)\b(?! (?:the )?brak)", text)
    return "over" if over else "reach" if reach else "equal"


def _spot(what: str, how: str, text: str) -> str:
    """Where in a corner a speed is meant."""
    if what != "speed":
        return ""
    ends = {"under": "slowest", "over": "top", "reach": "top"}
    return first(words.SPOTS, text) or ends.get(how, "")


def _measured(told: Named, text: str) -> Topic | None:
    """A number of a corner."""
    if len(told.corners) != 1 or _CLOCK.search(text):
        return None
    for words_, number in _SAID:
        text = re.sub(words_, number, text)
    found = _NUMBER.search(text)
    if found is None:
        return None
    unit, how = found[2] or "", _side(text)
    scale = {"ten": 0.1, "hun": 0.01, "ms": 0.001}.get(unit[:3], 1.0)
    late, what = _LATE.search(text), first(words.MEASURES, text)
    if words.BRAKE.search(text) and late is not None and unit[:1] == "m":
        side = "late" if late[1].startswith("late") else "early"
        return _valued(_of(told, "beside", side), found[1])
    if _LOSES.search(text) and (unit[:1] in ("s", "t", "h") or not unit):
        return _valued(_of(told, "lost", how), found[1], scale)
    if words.BRAKE.search(text) and unit[:3] in ("m", "met"):
        what = "brake_point"
    elif (not what and (unit[:2] in ("km", "kp") or how == "reach" or _NEVER.search(text))) or (
        not what and not unit and how != "equal" and float(found[1]) >= LEAST_IN_CORNER
    ):
        what = "speed"
    if not what or (what == "time" and unit[:1] != "s"):
        return None
    if how == "reach" and what != "speed":
        how = "equal"
    spot = _spot(what, how, text)
    return replace(
        _valued(_of(told, "measure", how), found[1], scale), spot=f"{what} {spot}".strip()
    )


def _habit(told: Named, text: str) -> Topic | None:
    found = first(_HABITS, text) if len(told.corners) == 1 and len(told.laps) < 2 else ""
    return _of(told, found) if found else None


_READERS: Final[tuple[Callable[[Named, str], Topic | None], ...]] = (
    _two_laps,
    _two_corners,
    _lap_time,
    broke,
    _lap_count,
    _superlative,
    peak,
    _than_lap,
    _lost,
    _measured,
    _habit,
    felt,
    _top_speed,
)
"""In this order; the first that finds something decides."""
