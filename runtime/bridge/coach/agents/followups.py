"""Reads a question that goes on from the last one: and turn 4? why? how fast was I there?; pure."""

import re
from dataclasses import replace
from typing import Final, NamedTuple

from runtime.bridge.coach.agents import topic_words as words
from runtime.bridge.coach.agents.asked import Ask, Lap, Topic
from runtime.bridge.coach.agents.danger_words import IF_WET
from runtime.bridge.coach.agents.measures import MEASURES
from runtime.bridge.coach.agents.naming import Named
from runtime.bridge.coach.agents.values import Intent

_WHY_ONLY: Final = re.compile(
    r"(?:and |but |so |ok(?:ay)?,? )?(?:why|how come|what(?:'s| is| was) the reason|how so"
    r"|wh(?:y|at) (?:is|was|did) (?:that|it|this)(?: (?:so|happen|slow))?)[?!. ]*"
)
_STARTS: Final = re.compile(
    r"^(?:ok(?:ay)?,? |so )?(?:and|what about|how about|same|also|then|but)\b"
)
_LINK: Final = r"(?:(?:and|but|so|ok(?:ay)?|what about|how about|what's|what is|then),? )*"
_FIX: Final = re.compile(
    rf"{_LINK}(?:how (?:do|can|could|should|would|to) (?:i |we )?(?:fix|improve|change|correct|do"
    r"|avoid|solve|get|drive) (?:it|that|this)(?: better| right| faster| quicker)?"
    r"|(?:what|how) (?:can|should|do|could|must) i (?:change|do|improve|fix|try)(?: there"
    r"| about (?:it|that|this)"
    r"| differently| better)?"
    r"|what (?:can|should|do) i do(?: about (?:it|that|this))?)[?!. ]*"
)
_MUCH: Final = re.compile(
    rf"{_LINK}(?:how much|how many (?:tenths|seconds))(?: time)?(?: (?:is|was|would|does|did|do"
    rf"|could|can)"
    r" (?:it|that|this|i)(?: (?:worth|cost|costing|bring|give|save|lose|find|gain))?(?: me)?)?"
    r"(?: (?:there|in it|in that|of that))?[?!. ]*"
)
_GOOD: Final = re.compile(
    rf"{_LINK}(?:is|was) (?:that|it|this) (?:any |a |so )?(?:good|bad|ok(?:ay)?|fine|fast|slow"
    rf"|enough"
    r"|normal|alright|all right)(?: one| time| enough)?[?!. ]*"
)
_SURE: Final = re.compile(
    r"(?:are you sure|really|sure|is that true|say (?:that )?again|repeat that)[?!. ]*"
)
_FIRST: Final = re.compile(
    rf"{_LINK}(?:which (?:one|corner|turn|of them)|what|where)(?: (?:do|should) i)?"
    r"(?: (?:start|begin|work on|fix|take|do))?(?: (?:comes|is))?(?: first| next)?(?: with)?[?!. ]*"
)
_SPOT_ONLY: Final = re.compile(rf"{_LINK}(?:(?:at|on|in) )?(?:my |the )?\w+(?: speed)?[?!. ]*")
_DIFFERENCE: Final = re.compile(
    rf"{_LINK}(?:the )?(?:difference|gap|delta|by how much)"
    r"(?: between (?:them|the two|both))?[?!. ]*"
)
_WORD_ONLY: Final = re.compile(
    rf"{_LINK}(?:my |the )?(?:slowest|worst|fastest|best|quickest)(?: one| lap)?[?!. ]*"
)
_THAN: Final = re.compile(
    rf"{_LINK}(?:is|was|were) (?:that|it|this) (?:any )?"
    r"(?:better|faster|quicker|slower|worse|more|less) than (?:on |in )?LAP[?!. ]*"
)
_LEANS: Final = re.compile(r"^(?:on|in|at|for|with)\b")
_THERE: Final = re.compile(
    r"\b(?:(?<!is )(?<!are )(?<!was )(?<!were )there|that (?:corner|turn|lap|one|sector)"
    r"|this (?:corner|turn|lap|sector))\b"
    r"|\b(?:in|on|of|for|through|into) it[?.! ]*$"
)
_FILL: Final = re.compile(
    r"^(?:and|(?:what|how) about|ok(?:ay)?|so|same|also|then|but|for|on|in|at|with|the|my|of|to"
    r"|now|CORNER|LAP|SECTOR|STRAIGHT|[,.?! ])+$"
)
_MEASURED: Final = frozenset({"measure", "extreme", "channel"})


class Subject(NamedTuple):
    """What the last question of a conversation was about."""

    topic: Topic
    intent: Intent


def followed(told: Named, own: Topic | None, last: Subject | None) -> Topic | None:
    """The topic of a question behind *last*; *own* is what it says by itself.

    It is *own* where the question needs nothing of the last one.
    """
    if last is None:
        return own
    text, before = told.text, last.topic
    if _WHY_ONLY.fullmatch(text):
        return _reason(before)
    if (heir := _asked_on(text, told, before)) is not None:
        return heir
    goes_on = _STARTS.search(text) is not None
    names = bool(told.corners or told.laps or told.sectors or told.straights)
    leans = goes_on or _LEANS.match(text) is not None
    if names and _FILL.match(text) and (leans or _alike(told, before)):
        return _moved(before, told)
    if own is None or own.ask == "unknown":
        spot = words.first(words.SPOTS, text)
        if goes_on and spot and before.ask in ("measure", "corner") and before.corners:
            return replace(before, ask="measure", what="speed", spot=spot, how="")
        return own
    if goes_on or _THERE.search(text):
        return _filled(own, before)
    return own


def _asked_on(text: str, told: Named, before: Topic) -> Topic | None:
    """A question of a few words that means nothing without the last one."""
    if IF_WET.fullmatch(text):
        return _wet(before)
    if _FIX.fullmatch(text) and not told.corners:
        if before.corners:
            return Topic("corner", corners=before.corners[:1], should=True)
        return Topic("loss", laps=before.laps, should=True)
    if (short := _leaning(text, told, before)) is not None:
        return short
    spot = words.first(words.SPOTS, text) if _SPOT_ONLY.fullmatch(text) else ""
    if spot and before.corners and before.ask in ("measure", "corner", "versus"):
        return replace(before, ask="measure", what="speed", spot=spot, how="")
    if _THAN.fullmatch(text) and len(told.laps) == 1:
        return _than(told.laps[0], before)
    return _of_laps(text, before) if before.ask == "lap" else None


def _leaning(text: str, told: Named, before: Topic) -> Topic | None:
    """Whether that is sure, how much it is, whether it is good, what comes first."""
    if _SURE.fullmatch(text):
        return before
    if _FIRST.fullmatch(text) and "first" in text:
        return Topic("focus", should=True)
    if _MUCH.fullmatch(text):
        return _worth(before)
    if _GOOD.fullmatch(text) and not told.corners and not told.laps:
        return _judgement(before)
    return None


def _wet(before: Topic) -> Topic:
    """The same, if it were wet."""
    if before.corners and before.what == "brake_point":
        return replace(before, wet=True, value=None, laps=())
    if before.what == "flat":
        return replace(before, wet=True)
    return Topic("risk", "wet", corners=before.corners[:1], wet=True)


def _worth(before: Topic) -> Topic | None:
    """How much is in it: in the corner, else on the lap or in the session."""
    if before.corners:
        return replace(Topic("loss", corners=before.corners[:1]), should=False)
    if before.ask == "lap" and before.laps:
        return Topic("versus", laps=("best", _other(before.laps)))
    return Topic("loss", laps=before.laps)


def _judgement(before: Topic) -> Topic | None:
    """Whether it is good: by the grade of the corner, else beside the best lap."""
    if before.corners:
        return Topic("strength", "grade", corners=before.corners[:1])
    return Topic("lap", laps=before.laps[:1]) if before.laps else Topic("spread")


def _than(lap: Lap, before: Topic) -> Topic | None:
    """Another lap beside what was told."""
    if before.ask in ("measure", "corner") and before.corners:
        return replace(before, laps=(*(before.laps or ("best",))[:1], lap), how="")
    if before.ask == "lap" and before.laps:
        return Topic("versus", laps=(before.laps[0], lap))
    return None


def _of_laps(text: str, before: Topic) -> Topic | None:
    """Another lap than the one told of, or both."""
    if _DIFFERENCE.fullmatch(text):
        return Topic("versus", laps=("best", _other(before.laps)))
    if _WORD_ONLY.fullmatch(text):
        slow = "slow" in text or "worst" in text
        return replace(before, laps=("slowest" if slow else "best",))
    return None


def _other(laps: tuple[Lap, ...]) -> Lap:
    """A lap beside the best one: the one told of, else the slowest."""
    return next((one for one in laps if one != "best"), "slowest")


def _alike(told: Named, before: Topic) -> bool:
    """Whether a bare name replaces one of the same kind."""
    if told.corners:
        return bool(before.corners)
    if told.laps:
        return bool(before.laps)
    return bool(told.sectors and before.sectors)


def _reason(before: Topic) -> Topic:
    """Why something is as it is: the corner behind a number, the place behind a lap."""
    if before.ask in ("lap", "versus"):
        return Topic("loss", laps=before.laps, why=True)
    if before.corners and before.ask not in ("sector", "sector_rank"):
        return Topic("corner", corners=before.corners, laps=before.laps, why=True)
    if before.ask in ("sector", "sector_rank", "loss"):
        return replace(before, why=True)
    if before.ask in ("before", "ideal_lap", "usual_lap", "spread", "strength"):
        return Topic("loss", why=True)
    return before


def _moved(before: Topic, told: Named) -> Topic:
    """The same question about another place or lap."""
    if told.corners and before.ask in _MEASURED and before.what in _CORNER_MEASURES:
        ask: Ask = "channel" if before.ask == "channel" else "measure"
        moved = replace(before, ask=ask, corners=told.corners, sectors=(), straights=())
    elif told.corners and not before.corners:
        laps = before.laps if before.ask in ("lap", "sector", "loss") else ()
        moved = Topic("corner", corners=told.corners, laps=laps)
    elif told.sectors and not before.sectors:
        moved = Topic("sector", sectors=told.sectors, laps=before.laps)
    elif told.laps and before.ask in ("count", "before", "usual_lap", "ideal_lap", "circuit"):
        moved = Topic("lap", laps=told.laps)
    elif told.laps and before.ask == "versus":
        moved = replace(before, laps=(*told.laps, *before.laps)[:2])
    else:
        moved = replace(
            before,
            corners=told.corners or before.corners,
            sectors=told.sectors or before.sectors,
            straights=told.straights or before.straights,
        )
    return replace(moved, laps=told.laps) if told.laps and moved.ask != "versus" else moved


def _filled(own: Topic, before: Topic) -> Topic:
    """A question of its own, asked about the place of the last one."""
    corners = own.corners or before.corners
    filled = replace(own, corners=corners, laps=own.laps or before.laps)
    if own.ask == "extreme" and corners and not own.corners:
        return replace(filled, ask="measure") if own.what in _CORNER_MEASURES else own
    if own.ask in ("loss", "strength") and corners and not own.corners:
        return Topic("corner", corners=corners, laps=own.laps, should=own.should, why=own.why)
    return filled if own.ask in _PLACED else own


_PLACED: Final = frozenset({"measure", "channel", "extreme", "spread", "mishap", "shape"})
"""Facts that have a place."""
_CORNER_MEASURES: Final = frozenset(name.split()[0] for name in MEASURES) | {"gear_position"}
