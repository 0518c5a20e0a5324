"""Lets a model's text pass sentence by sentence, as far as every word of it is understood; pure.

A sentence is shown only where each of its parts is a statement that the evidence carries, advice
made of known words that does not go against it, or encouragement that claims nothing. A sentence
that is not understood goes, and so does one that leans on it.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.coach.warm.advice_needs import loses
from runtime.bridge.coach.warm.advising import is_advice, is_clause, is_opening, unwise, verb_of
from runtime.bridge.coach.warm.asking import harmless
from runtime.bridge.coach.warm.claims import folded
from runtime.bridge.coach.warm.evidence import END, Evidence
from runtime.bridge.coach.warm.joining import blamed, joined
from runtime.bridge.coach.warm.order import bids
from runtime.bridge.coach.warm.segments import Segment
from runtime.bridge.coach.warm.statements import untrue
from runtime.bridge.coach.warm.teachings import taught, unfit

_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+")
_LEANS: Final = re.compile(
    r"(?:and |but |so |because |also,? |still,? |yet |then |or )?(?:it|its|it's|this|that|that's|"
    r"these|those|they|them|there(?! (?:is|are|was|were))|here|he|she|which|instead|same|the same|"
    r"such|and|but|so|because|otherwise|likewise|also|neither|nor|both|again|there's|for that|"
    r"as a result|therefore|hence)"
    r"\b"
)
_REFUSES: Final = re.compile(
    r"(?:sorry,? )?i (?:do not|don't|can not|cannot|can't) (?:know|say|tell|help with that)"
    r"(?: (?:that|this|about that|about this))?"
)
LONGEST: Final = 400
"""Characters; a longer sentence is not looked at."""
Tone: TypeAlias = Literal["praise", "loss", "advice", "plain"]
_WARM: Final = r"(?:good|great|nice|fine|solid|super|lovely|wonderful)"
_TODAY: Final = r"(?: out there)?(?: today)?"
_GREETS: Final = re.compile(
    r"(?:hello|hi|hey|welcome(?: back)?|good (?:morning|afternoon|evening)|thanks|thank you"
    r"|(?:i am )?happy to help|okay|ok|let's go|keep going|enjoy(?: (?:it|yourself|the (?:day|drive"
    r"|next (?:run|session|lap))))?|have (?:fun|a (?:good|great|nice) (?:day|drive|run|session))"
    rf"|smile|relax|breathe|step by step|stepwise|be patient|see you next time|ready){_TODAY}"
)
"""Encouragement that praises nothing."""
_PRAISES: Final = re.compile(
    rf"(?:(?:(?:that|it|this) was )?(?:an? )?(?:very |really )?{_WARM} (?:work|job|drive|driving"
    rf"|session|effort|run|day)|well done|bravo|keep it up|keep up the {_WARM} (?:work|effort)"
    rf"|you can be proud(?: of (?:it|yourself))?){_TODAY}"
)
"""Praise of a whole session."""
_PRAISES_CORNER: Final = re.compile(rf"(?:{_WARM} (?:work|job)|well done|bravo) (?:at|in|through)")
_OPEN: Final = frozenset("because which though although where while whereas".split())
"""Words that begin no whole sentence."""
_CALM: Final = frozenset(
    """calm smooth smoother gentle soft softer quiet patient patience relaxed relax light up ahead
    loose breathe breathing steady still""".split()
)
_ANYWHERE: Final = frozenset(
    """look keep your eyes up far ahead breathe deeply out and relax stay relaxed calm smooth the
    hands in a deep breath take drink water""".split()
)
"""Words of advice that is good at any corner."""
_FAULTS: Final = frozenset(
    """early earlier sooner late later fast faster slow slower hard harder brake brakes braking
    entry apex exit speed power gas""".split()
)
"""Words that make a fault of a reminder."""
_GOOD: Final = frozenset("AB")
"""Grades that praise needs."""
_LOSS: Final = frozenset({"lose", "slower", "slow", "worst", "slowest", "bad", "less"})
_PRAISE: Final = frozenset({"good", "gain", "faster", "best", "bestlap", "improve", "fastest"})
_PRAISING: Final = re.compile(
    r"\b(?:good|great|well|nice|strong|solid|best|clean|smooth|improv\w+|excellent|fine"
    r"|consistent|proud|confident)\b",
    re.IGNORECASE,
)


class Grounded(NamedTuple):
    """What of a text may be shown."""

    text: str
    kept: int
    """Sentences."""
    dropped: int


class Reader:
    """Reads the sentences of a text in their order, and knows what *it* means in them."""

    def __init__(self, evidence: Evidence, corner: str | None = None) -> None:
        self._evidence = evidence
        self._corners = [corner] if corner is not None else []
        self._last: list[Segment] = []
        self._lost = False
        self._gone = False

    def __call__(self, sentence: str) -> bool:
        """Whether a sentence may be shown."""
        return self.false_part(sentence) is None

    def false_part(self, sentence: str) -> str | None:
        """As the function, of a sentence that follows the ones before."""
        if self._gone and leans(sentence):
            return "leans on what was left out"
        parts = self._evidence.segments(sentence[:LONGEST])
        corners = list(dict.fromkeys(corner for part in parts for corner in part.corners))
        context = None if self._lost else self._corners
        why = _judged(sentence, parts, self._evidence, context, alone=False)
        if parts and blamed(self._last, parts[0], self._corners, self._evidence):
            why = "cause"
        if why is None and any(map(_praises, parts)) and any(map(_loses, self._last)):
            why = "praise of a loss"
        self._gone = why is not None
        if why is not None:
            unknown = any(part.bad for part in parts)
            self._lost = self._lost or unknown or not set(corners) <= set(self._corners)
        else:
            self._last = parts
            if corners:
                self._lost, self._corners = False, corners
        return why


def grounded(text: str, evidence: Evidence) -> Grounded:
    """The sentences of *text* that *evidence* carries, in their order and lines."""
    lines: list[str] = []
    kept = dropped = 0
    reader = Reader(evidence)
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        begin = bullet.group() if bullet else ""
        all_of_it = sentences(line[len(begin) :])
        good = [one for one in all_of_it if reader(one)]
        kept += len(good)
        dropped += len(all_of_it) - len(good)
        if good:
            lines.append(begin + " ".join(good))
        elif not line.strip() and lines and lines[-1]:
            lines.append("")
    return Grounded("\n".join(lines).strip(), kept, dropped)


def sentences(text: str) -> list[str]:
    """The sentences of one line; points inside numbers end none."""
    return [one.strip() for one in END.split(text.strip()) if one.strip()]


def leans(sentence: str) -> bool:
    """Whether a sentence begins with a word that means something of the one before."""
    return _LEANS.match(folded(sentence)) is not None


def false_part(sentence: str, evidence: Evidence) -> str | None:
    """What of a sentence is not carried by *evidence*, in a word or two; None: it may be said.

    A true sentence of the evidence may be repeated, whatever stands before it.
    """
    parts = evidence.segments(sentence[:LONGEST])
    return _judged(sentence, parts, evidence, [], alone=True)


def tone(sentence: str) -> Tone:
    """What a sentence is to the driver: praise, a loss of time, advice, or none of these."""
    parts = _NOTHING.segments(sentence[:LONGEST])
    concepts = {concept for part in parts for concept in part.concepts}
    begun = [part.words for part in parts if part.words and part.words[0] not in _SUBJECTS]
    bids = any(verb_of(words) for words in begun)
    if any(is_advice(part, None) for part in parts) or (bids and not _LOSS & concepts):
        return "advice"
    if _LOSS & concepts and not _PRAISE & (concepts - _LOSS):
        return "loss"
    if "not" in concepts:
        return "plain"
    if _PRAISE & concepts or _PRAISING.search(sentence):
        return "praise" if not _LOSS & concepts else "loss"
    return "plain"


_NOTHING: Final = Evidence(numbered={str(at): f"Turn {at}" for at in range(1, 100)})
_SUBJECTS: Final = frozenset("you your we our i my the a it that this there".split())


def _judged(
    sentence: str,
    parts: list[Segment],
    evidence: Evidence,
    context: Sequence[str] | None,
    *,
    alone: bool,
) -> str | None:
    """*context* are the corners that were named last; None: a sentence with others went since."""
    if len(sentence) > LONGEST:
        return "too long"
    key = folded(sentence)
    if not key:
        return "empty"
    if (about := evidence.told.get(key)) is not None:
        near = set(context or ())
        if context == [] and evidence.only is not None:
            near = {evidence.only}
        if alone or None in about or near & about or any(part.corners for part in parts):
            return None
    if _REFUSES.fullmatch(key):
        return None
    corners = list(dict.fromkeys(corner for part in parts for corner in part.corners))
    bad = next((part.bad for part in parts if part.bad), None)
    if bad is None and len(parts) == 1 and key.split()[0] in _OPEN:
        bad = "half a sentence"
    if bad is not None:
        return bad
    bare = _bare(parts)
    if taught(sentence, evidence.corner_names):
        return "teaching" if unfit(sentence, corners, context, evidence) else None
    if "?" in sentence:
        return None if harmless(key, evidence.corner_names) else "question"
    return _said(parts, bare, corners, evidence, context)


def _bare(parts: list[Segment]) -> str:
    return " ".join(word for part in parts for word in (part.lead, *part.words) if word)


def _said(
    parts: list[Segment],
    bare: str,
    corners: list[str],
    evidence: Evidence,
    context: Sequence[str] | None,
) -> str | None:
    """Every part must be advice, encouragement, or a statement that is true."""
    verb: str | None = None
    before: Segment | None = None
    waiting = advised = said = False
    for part in parts:
        if _cheers(part, evidence):
            said, before = True, None
            continue
        found = is_advice(part, verb)
        if found is not None:
            if found == "hint" and not _calm(part):
                return "hint"
            verb, advised, waiting, before = found, True, False, None
            continue
        if (is_clause(part) or is_opening(part)) and not advised:
            waiting = True
            continue
        if (why := _stated(part, before, evidence, context)) is not None:
            return why
        said, verb, before = True, None, part
    if waiting or not (said or advised):
        return "clause without advice" if waiting else "says nothing"
    return _advised(parts, bare, corners, evidence, context) if advised else None


def _stated(
    part: Segment, before: Segment | None, evidence: Evidence, context: Sequence[str] | None
) -> str | None:
    """Why a part that states something may not stand behind another; None: it may."""
    if part.order:
        return "order"
    if before is None and bids(part.words, bool(part.measures)):
        return "fact or order"
    if (why := untrue(part, evidence, context)) is not None:
        return why
    return None if before is None or joined(before, part, evidence) else "joined"


def _advised(
    parts: list[Segment],
    bare: str,
    corners: list[str],
    evidence: Evidence,
    context: Sequence[str] | None,
) -> str | None:
    """Why a sentence with advice may not be said; None: it may."""
    if any(part.measures or part.laps for part in parts):
        return "number beside advice"
    if context is None and not corners and not _ANYWHERE.issuperset(bare.split()):
        return "unclear subject"
    return unwise(bare, corners or (context or []), evidence)


def _calm(part: Segment) -> bool:
    """Whether a reminder names nothing that could be a fault."""
    return bool(_CALM.intersection(part.words)) and not _FAULTS.intersection(part.words)


def _praises(part: Segment) -> bool:
    return _PRAISES.fullmatch(" ".join(part.words)) is not None


def _loses(part: Segment) -> bool:
    return bool(_LOSS & part.concepts)


def _cheers(part: Segment, evidence: Evidence) -> bool:
    """Whether a part only encourages, and praises only what was good."""
    words = " ".join([part.lead, *part.words] if part.lead else part.words)
    claims = part.measures or part.laps or part.letters or part.sectors or part.versus or part.bad
    if claims or not (words or part.named):
        return False
    if part.corners:
        good = all(
            evidence.grades.get(corner) in _GOOD and not loses(corner, evidence)
            for corner in part.corners
        )
        return good and _PRAISES_CORNER.fullmatch(words) is not None
    if not words or _GREETS.fullmatch(words):
        return True
    return evidence.grades.get("") in _GOOD and _PRAISES.fullmatch(words) is not None
