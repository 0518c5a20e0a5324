"""The words that rank laps, corners and places; patterns, and nothing else."""

import re
from typing import Final

from runtime.bridge.coach.agents.topic_words import Pattern


def _any(*patterns: str) -> Pattern:
    """Any of the patterns, as whole words."""
    return re.compile(r"(?<![A-Za-z])(?:" + "|".join(patterns) + r")(?![A-Za-z])")


IN_CORNERS: Final = _any(
    r"(?:do|did|am|was|have) i (?:\w+ )?(?:los\w+|slow\w*|gain\w*|win|won|faster|quicker|beat\w*)"
)
GAINS: Final = _any(r"faster|quicker|gain\w*|win|won|beat\w*|better")
LOSES: Final = _any(r"los\w+|slower|worse|to gain|can i gain|could i gain")
ORDERED: Final = _any("LAP than")
IMPROVED: Final = _any(
    r"(?:which|what) (?:corner|turn|bend)s?\b.{0,20}\b(?:did|have) i improved? (?:the )?most",
    r"(?:which|what) (?:corner|turn|bend)s?\b.{0,20}\bimproved (?:the )?most",
    r"where (?:did|have) i improved? (?:the )?most",
    r"most improved (?:corner|turn)",
)
BEST: Final = _any("best|fastest|quickest|shortest")
WORST: Final = _any("worst|slowest|longest|poorest|weakest")
LATEST: Final = _any("latest|earliest")
SESSIONS: Final = re.compile(
    r"\b(?:session|run|day|outing)\b.{0,30}\b(?:compare\w*|to|with|than) LAP"
)
_PLACES: Final = {"second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5}
_SIZES: Final = {"half a": 0.5, "half": 0.5, "a tenth of a": 0.1, "a": 1.0, "one": 1.0, "two": 2.0}
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "five": 5}
PLACE: Final = re.compile(rf"\b({'|'.join(_PLACES)})[- ](?:fastest|quickest|best|slowest|worst)\b")
PLACE_LAP: Final = re.compile(rf"\b({'|'.join(_PLACES)})[- ]LAP\b")
WITHIN: Final = re.compile(
    r"\bwithin (half a|half|a tenth of a|a|one|two|\d+(?:\.\d+)?) ?(?:s|sec\w*)\b(?! of each)"
)
THAN_LAP: Final = re.compile(r"\b(faster|quicker|slower) than LAP")
ORDER: Final = re.compile(
    r"\b(?:rank|order|sort) (?:all )?(?:my |the )?laps\b|\blaps by (?:lap )?time\b"
    r"|\b(?:fastest|quickest|best|slowest|worst) (two|three|four|five|\d) laps\b"
    r"|\b(two|three|four|five|\d) (?:fastest|quickest|best|slowest|worst) laps\b"
)
GAP: Final = re.compile(
    r"\b(?:gap|difference|how (?:far|much))\b.{0,40}(?:LAP|best)\b.{0,30}\b(?:average|mean)"
    r"|\b(?:average|mean)\b.{0,30}\b(?:gap|difference|slower than LAP|from LAP)"
)
MINUTES: Final = re.compile(r"\b(under|below|over|above) (?:the )?(one|two|three|\d)[- ]minutes?\b")
FIRST_LAP: Final = re.compile(r"\b(?:than|to|with|and|from) (?:my |the )?first\b")


def place_of(text: str) -> int:
    """The place by time that is asked for; 0: none."""
    found = PLACE.search(text) or PLACE_LAP.search(text)
    return _PLACES[found[1]] if found else 0


def size_of(text: str) -> float | None:
    """So many seconds of the best lap."""
    found = WITHIN.search(text)
    return None if found is None else _SIZES[found[1]] if found[1] in _SIZES else float(found[1])


def count_of(text: str) -> int | None:
    """How many laps in their order; 0: all of them; None where no order is asked for."""
    found = ORDER.search(text)
    if found is None:
        return None
    word = found[1] or found[2] or "0"
    return _COUNTS[word] if word in _COUNTS else int(word)


def minutes_of(text: str) -> tuple[bool, float] | None:
    """Whether under or over, and how many seconds."""
    found = MINUTES.search(text)
    if found is None:
        return None
    words = {"one": 1, "two": 2, "three": 3}
    minutes = words[found[2]] if found[2] in words else int(found[2])
    return found[1] in ("under", "below"), 60.0 * minutes


IS_BETTER: Final = re.compile(
    r"\bbetter to (?:\w+ ){0,2}brak\w* (?:a bit |a little |much )?(earlier|later)\b"
)
MORE_SPEED: Final = re.compile(r"\bbetter to (?:carry|have|take|bring|keep) (?:\w+ ){0,2}speed")
WHICH_LAPS: Final = re.compile(r"\b(?:how many|number of|which|what) (?:\w+ )?laps\b")
WRONG: Final = {"earlier": "late", "later": "early"}
"""Who had better brake earlier brakes too late."""
LATER: Final = re.compile(r"\b(?:later|earlier)\b|(?<=how )late\b")
HOW_MUCH: Final = re.compile(
    r"\bhow (?:much|many (?:tenths|seconds))\b.{0,25}\b(?:los\w+|find|gain|leav\w+|left|save"
    r"|cost\w*|win|worth)\b"
    r"|\b(?:los\w+|cost\w*)\b.{0,40}\bhow much\b"
)
RANKED: Final = frozenset(
    {
        "coast",
        "corrections",
        "brake_pressure",
        "brake_point",
        "g_lat",
        "g_brake",
        "g_total",
        "steering",
    }
)
WHICH_CORNER: Final = _any(
    r"(?:which|what) (?:corner|turn|bend)s?\b.{0,40}"
    r"\b(?:most|least|hardest|highest|longest|lowest|latest|earliest)",
    r"where\b.{0,30}\b(?:coast\w*|no pedal)\b.{0,15}\b(?:most|longest)",
)
CLAIM: Final = re.compile(
    r"\b(?:since|as|because|given that|when|why was|why is|is|was|but|if|so)\b.{0,12}\bLAP "
    r"(?:was |is )?(?:my |the )?(LAP|fastest|quickest|best|slowest|worst)\b(?! than)"
    r"|^LAP (?:was|is) (?:my |the )?(LAP|fastest|quickest|best|slowest|worst)\b(?! than)"
)
STRAIGHT: Final = _any(
    "how long (?:is|are) (?:the |my )?STRAIGHT",
    "length of (?:the )?STRAIGHT",
    "(?:which|what)(?: is|'s)? (?:the |my )?(?:longest straight|straight is (?:the )?longest)",
)
PLACED: Final = frozenset({"speed", "throttle", "brake_pressure", "rpm", "g_lat", "steering"})
METRES: Final = re.compile(
    r"\b(?:at|@|after) (?:the )?(\d{1,2},?\d{3}|\d{2,4}) ?(?:m|met(?:er|re)s?)\b"
)
LINE: Final = re.compile(
    r"\b(?:at|over|across|on) (?:the )?(?:(?:start|finish)(?:[-/ ](?:and[- ])?finish)?(?: line)?"
    r"|(?:timing |s/f )?line)\b(?! straight)"
)
BEFORE_CORNER: Final = re.compile(
    r"\b(\d{2,3}) ?(?:m|met(?:er|re)s?) (?:before|in front of|ahead of|from)\b"
    r"|\b(\d{2,3}) ?(?:m|met(?:er|re)s?) (?:board|marker|sign)\b"
)
