"""Lets a model's text pass sentence by sentence, as far as evidence carries it; pure.

A sentence goes when a number in it cannot be matched, when it says the opposite of a difference,
or when it names a corner that is not there. What cannot be judged goes too, if it has a number.
"""

import re
from typing import Final, NamedTuple

from runtime.bridge.warm.claims import UNKNOWN, Claim, Number, Sentence, plain, read
from runtime.bridge.warm.evidence import Evidence, Fact

_END: Final = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)]|#{1,6})\s+")
_MARKS: Final = " \t\"'([*_-\u2013\u2014\u2022:\u201c\u201d"
_OPPOSED: Final[tuple[frozenset[Claim], ...]] = (
    frozenset({"slower", "faster"}),
    frozenset({"early", "late"}),
)
_HEARD: Final = frozenset(
    "i i'm i'd i'll i've ok gps abs tc rpm t c lap laps turn turns corner corners sector sectors"
    " km/h kmh kph".split()
)
_SUBJECT: Final = re.compile(
    r"^[^\w]*([A-Z][a-z']+) (?:gave|gives|costs?|was|is|needs|wants|took|takes|went|has|had|brought"
    r"|pays|paid|asks|lost|won|remains|stays)\b"
)
_SUBJECTS: Final = frozenset(
    (
        "you that this it there here what which time braking speed grip everything nothing pace "
        "consistency throttle most one all exit entry he she we who everyone something driving "
        "patience progress coasting steering vision rhythm confidence traffic brake apex momentum "
        "focus today yesterday"
    ).split()
)
"""Words that a sentence may be about, other than names."""
_CLOSE: Final = 0.1
"""A number is never farther from the truth than this share of it, or half its last digit."""


class Grounded(NamedTuple):
    """What of a text may be shown."""

    text: str
    kept: int
    """Sentences."""
    dropped: int


def grounded(text: str, evidence: Evidence) -> Grounded:
    """The sentences of *text* that *evidence* carries, in their order and lines."""
    lines: list[str] = []
    kept = dropped = 0
    for line in text.splitlines():
        bullet = _BULLET.match(line)
        begin = bullet.group() if bullet else ""
        all_of_it = sentences(line[len(begin) :])
        good = [one for one in all_of_it if false_part(one, evidence) is None]
        kept += len(good)
        dropped += len(all_of_it) - len(good)
        if good:
            lines.append(begin + " ".join(good))
        elif not line.strip() and lines and lines[-1]:
            lines.append("")
    return Grounded("\n".join(lines).strip(), kept, dropped)


def sentences(text: str) -> list[str]:
    """The sentences of one line; points inside numbers end none."""
    return [one.strip() for one in _END.split(text.strip()) if one.strip()]


def false_part(sentence: str, evidence: Evidence) -> str | None:
    """What of a sentence is not carried by *evidence*, in a word or two; None: it may be said."""
    said = read(sentence)
    if said.unreadable:
        return "unreadable number"
    if any(number not in evidence.numbered for number in said.corners):
        return "unknown corner"
    if said.laps - evidence.laps:
        return "unknown lap"
    if said.sectors - evidence.sectors:
        return "unknown sector"
    if (name := unknown_name(sentence, evidence)) is not None:
        return f"unknown name {name}"
    about = evidence.corners_in(sentence) | {evidence.numbered[one] for one in said.corners}
    for number in said.numbers:
        if not _carried(number, about, said, evidence):
            return "number"
    if said.numbers and said.negated and any(number.claims for number in said.numbers):
        return "negated"
    return None if _directed(about, said, evidence) else "direction"


def unknown_name(sentence: str, evidence: Evidence) -> str | None:
    """The first word written like a name that is none.

    The first word of a sentence is judged only where something is said of it.
    """
    text = plain(sentence)
    subject = _SUBJECT.match(text)
    if subject is not None:
        word = subject.group(1).casefold()
        if word not in _SUBJECTS | _HEARD | evidence.words:
            return subject.group(1)
    for found in re.finditer(r"\b[^\W\d_][^\W\d_']*(?!\w)", text):
        word, before = found.group(), text[: found.start()].rstrip()
        folded = word.casefold()
        first = not before.strip(_MARKS) or before.endswith((":", ".", "!", "?"))
        if not word[0].isupper() or folded in _HEARD or folded in evidence.words:
            continue
        if folded.removesuffix("'s") in evidence.words:
            continue
        behind = text[found.end() :].lstrip()
        if not first or re.match(r"(?:Corner|Hairpin|Chicane|Bend|Esses|Curve|Kink)\b", behind):
            return word
    return None


def _carried(number: Number, about: frozenset[str], said: Sentence, evidence: Evidence) -> bool:
    """Whether some fact is that number and what is said of it."""
    if number.unit == UNKNOWN:
        return False
    return any(
        _equal(number, fact)
        and (not about or fact.corner is None or fact.corner in about)
        and (not said.laps or fact.lap is None or fact.lap in said.laps)
        and number.claims <= fact.claims | _free(number, fact)
        for fact in evidence.facts
        if fact.unit == number.unit
    )


def _free(number: Number, fact: Fact) -> frozenset[Claim]:
    """What may be said of any number of the kind: counts are more, less, best of nothing."""
    if fact.unit in ("laps", "corners", "times"):
        return number.claims
    return frozenset()


def _equal(number: Number, fact: Fact) -> bool:
    step: float = 10.0**-number.digits
    within = min(step, max(0.5 * step, _CLOSE * number.value)) + 1e-9
    if number.sign and fact.value * number.sign < 0:
        return False
    return abs(abs(fact.value) - number.value) <= within


def _directed(about: frozenset[str], said: Sentence, evidence: Evidence) -> bool:
    """Whether a sentence does not tell the opposite of the differences that are known.

    Of a corner its time decides whether it was faster, where that is known.
    """
    for pair in _OPPOSED:
        for claim in pair & said.stated:
            if said.negated:
                return False
            of_these = [
                fact
                for fact in evidence.facts
                if (fact.corner in about if about else True) and pair & fact.claims
            ]
            timed = [fact for fact in of_these if about and fact.unit == "s"]
            if not any(claim in fact.claims for fact in timed or of_these):
                return False
    return True
