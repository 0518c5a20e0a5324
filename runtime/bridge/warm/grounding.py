"""Lets a model's text pass sentence by sentence, as far as every word of it is understood; pure.

A sentence is shown only where each of its parts is a statement that the evidence carries, advice
made of known words that does not go against it, or encouragement that claims nothing. A sentence
that is not understood goes, and so does one that leans on it.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.warm.advising import contrary, is_advice, is_clause, is_opening, unwise, verb_of
from runtime.bridge.warm.claims import folded, plain
from runtime.bridge.warm.evidence import END, Evidence
from runtime.bridge.warm.lexicon import ASKING, CHEER
from runtime.bridge.warm.segments import Segment
from runtime.bridge.warm.statements import untrue
from runtime.bridge.warm.teachings import taught

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
_ASKS: Final = frozenset("how what where which do did does can could would are is was were".split())
LONGEST: Final = 400
"""Characters; a longer sentence is not looked at."""
Tone: TypeAlias = Literal["praise", "loss", "advice", "plain"]
_HEARTY: Final = frozenset(
    """good great nice well done keep going enjoy fun smile proud trust calm confident happy thanks
    thank welcome hello hi hey morning afternoon evening bravo super fine ok okay right ready solid
    patience patient relax relaxed breathe breath positive lovely wonderful""".split()
)
_VAGUE: Final = frozenset("it that this there was is are".split())
_WHOLE: Final = frozenset("session day today work job drive run stint effort start up".split())
"""Of which a good word may be said."""
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
        self._corner = corner
        self._unsure = False
        self._gone = False

    def __call__(self, sentence: str) -> bool:
        """Whether a sentence may be shown."""
        return self.false_part(sentence) is None

    def false_part(self, sentence: str) -> str | None:
        """As the function, of a sentence that follows the ones before."""
        if self._gone and leans(sentence):
            return "leans on what was left out"
        parts = self._evidence.segments(sentence[:LONGEST])
        corners = {corner for part in parts for corner in part.corners}
        context = None if self._unsure else self._corner
        why = _judged(sentence, parts, self._evidence, context, alone=False)
        self._gone = why is not None
        if why is not None:
            self._unsure = self._unsure or bool(corners - {self._corner})
        elif corners:
            self._unsure = len(corners) > 1
            self._corner = next(iter(corners))
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
    return _judged(sentence, parts, evidence, None, alone=True)


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
    sentence: str, parts: list[Segment], evidence: Evidence, context: str | None, *, alone: bool
) -> str | None:
    if len(sentence) > LONGEST:
        return "too long"
    key = folded(sentence)
    if not key:
        return "empty"
    if (about := evidence.told.get(key)) is not None:
        near = context or evidence.only
        if alone or None in about or near in about or any(part.corners for part in parts):
            return None
    if _REFUSES.fullmatch(key):
        return None
    corners = list(dict.fromkeys(corner for part in parts for corner in part.corners))
    bad = next((part.bad for part in parts if part.bad), None)
    if bad is not None:
        return bad
    bare = _bare(parts)
    if taught(sentence, evidence.corner_names):
        here = corners or ([context] if context else [])
        return "contrary" if contrary(bare, here, evidence) else None
    if plain(sentence).rstrip("\"'*_) ").endswith("?"):
        return _asked(parts)
    return _said(parts, bare, corners, evidence, context)


def _bare(parts: list[Segment]) -> str:
    return ", ".join(" ".join([part.lead, *part.words]).strip() for part in parts)


def _asked(parts: list[Segment]) -> str | None:
    """A question may suppose nothing."""
    words = [word for part in parts for word in (part.lead, *part.words) if word]
    if any(part.measures or part.laps or part.letters or part.sectors for part in parts):
        return "question with a claim"
    if not words or words[0] not in _ASKS or not all(word in ASKING for word in words):
        return "question"
    return None


def _said(
    parts: list[Segment],
    bare: str,
    corners: list[str],
    evidence: Evidence,
    context: str | None,
) -> str | None:
    """Every part must be advice, encouragement, a place, or a statement that is true."""
    verb: str | None = None
    waiting = advised = said = False
    for part in parts:
        if _cheers(part):
            said = True
            continue
        found = is_advice(part, verb)
        if found is not None:
            verb, advised, waiting = found, True, False
            continue
        if part.place_only and not part.lead:
            continue
        if (is_clause(part) or is_opening(part)) and not advised:
            waiting = True
            continue
        if (why := untrue(part, evidence, context)) is not None:
            return why
        said, verb = True, None
    if waiting:
        return "clause without advice"
    if not (said or advised):
        return "says nothing"
    if advised:
        here = corners or ([context] if context else [])
        return unwise(bare, here, evidence)
    return None


def _cheers(part: Segment) -> bool:
    """Whether a part only encourages."""
    claims = part.measures or part.corners or part.laps or part.letters or part.sectors or part.bad
    words = [part.lead, *part.words] if part.lead else part.words
    if claims or not (words or part.named) or not all(word in CHEER for word in words):
        return False
    if not (part.named or _HEARTY.intersection(words)):
        return False
    return not _VAGUE.intersection(words) or bool(_WHOLE.intersection(words))
