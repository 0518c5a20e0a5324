"""What a sentence about driving claims: its numbers with their units, and what they are said to be.

Only English. What is not understood is told as such, never guessed.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

Claim: TypeAlias = Literal[
    "slower", "faster", "more", "less", "early", "late", "best", "worst", "most", "least", "to gain"
]

UNKNOWN: Final = "?"
"""The unit of a number whose unit is missing or is none that evidence has."""
_UNITS: Final = {
    "s": r"s|secs?|seconds?",
    "ms": r"ms|milliseconds?",
    "km/h": r"km/h|kmh|kph|km per hour|kilomet(?:er|re)s (?:per|an) hour",
    "%": r"%|percent(?:age points)?|per cent|points?",
    "bar": r"bars?",
    "g": r"g|gs",
    "m": r"m|met(?:er|re)s?",
    "deg": r"°|deg|degrees?",
    "laps": r"laps?",
    "corners": r"corners?|turns?",
    "times": r"times|passes|corrections|incidents|sessions",
}
_UNIT: Final = "|".join(f"(?P<u{at}>{words})" for at, words in enumerate(_UNITS.values()))
_AFTER: Final = re.compile(rf"[ \-]?(?:{_UNIT})(?![\w/°²%])(?! ?C\b)", re.IGNORECASE)
_HALF_OF: Final = re.compile(r" of an?(?= )| an?(?= )| of(?= )", re.IGNORECASE)
_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_WORDS: Final = {
    **{word: float(at) for at, word in enumerate(_SMALL)},
    **{word: 10.0 * at for at, word in enumerate(_TENS, start=2)},
    "hundred": 100.0,
    "dozen": 12.0,
    "half": 0.5,
    "quarter": 0.25,
    "couple": 2.0,
    "few": 3.0,
    "several": 3.0,
}
_VAGUE: Final = frozenset({"couple", "few", "several", "dozen", "quarter", "hundred"})
_WORD: Final = "|".join(sorted(_WORDS, key=len, reverse=True))
_PART: Final = re.compile(r"[ \-](tenths?|hundredths?|thousandths?)\b(?: of a seconds?)?", re.I)
_PARTS: Final = {"tenth": 1, "hundredth": 2, "thousandth": 3}
_JOIN: Final = r"(?:\s*(?:,|&|/|-|and|to|or|then)\s*(?:and\s+)?)"
_NO_MEASURE: Final = r"\b(?![.,]\d|\s*(?:%|(?:km|m|s|g|bar|sec)\b))"
"""Behind a further number of a list, which is none of the list if it has a unit."""
_TOKEN: Final = re.compile(
    rf"""
      (?P<laptime>(?<![\d:.])\d{{1,2}}:[0-5]\d(?:[.,]\d{{1,3}})?(?![\d:]))
    | (?P<corner>\b(?:turns?|corners?|bends?|[tc])\s*\d+[a-z]?\b
        (?:{_JOIN}\d+[a-z]?{_NO_MEASURE})*)
    | (?P<lap>\blaps?\s+(?:number\s+)?\d+\b(?![.,]\d)(?:{_JOIN}\d+{_NO_MEASURE})*)
    | (?P<sector>\b(?:sectors?\s*|s)\d\b)
    | (?P<ordinal>\b\d+(?:st|nd|rd|th)\b(?:\s+lap\b)?)
    | (?P<number>(?<![\w.,])[-+]?\d+(?:[.,]\d+)?)
    | (?P<glued>\w*\d[\w.,]*)
    | (?P<article>\b(?:an?|one)[ ](?=(?:tenth|hundredth|thousandth)\b))
    | (?P<word>\b(?:{_WORD})(?:[- ](?:{_WORD}))?\b)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHARED: Final = re.compile(r"^\s*(?:to|and|or|-|versus|vs\.?|against|,)\s*(?=[-+]?\d)")
_BREAK: Final = re.compile(
    r"[,;:()]|\s-\s|\b(?:but|while|whereas|although|though|however|yet)\b", re.IGNORECASE
)
_BESIDE: Final = re.compile(
    r"\b(?:than|to|against|of|from|off|behind|beside|versus|vs\.?|with|on|beat|match|repeat)\s+"
    r"(?:(?:your|the|my|our|its|own|session's)\s+)*(?:best|fastest|quickest|reference)\b",
    re.IGNORECASE,
)
_TO_GAIN: Final = re.compile(
    r"\b(?:to (?:be )?(?:gain(?:ed)?|found|find|win|won|come)|potential|available|on the table"
    r"|worth|(?:can|could|would|may|might) (?:still )?(?:be )?(?:gain|save|find|win|bring)\w*)\b",
    re.IGNORECASE,
)
_SOME: Final = re.compile(
    r"(?<!half )(?<!of )\ban?(?:other)?\s+(?:(?:whole|full|entire|good)\s+)?second"
    r"(?=\s*(?:$|[.,;:!?)]|(?:at|in|to|of|per|there|here|through|behind|off|slower|faster|on|from"
    r"|and|or|every|each|a|with|by)\b))"
    r"|\ban?\s+(?:whole |full )?(?:met(?:re|er)|kilomet(?:re|er)|bar)\b"
    r"|\b(?:twice as|double the|triple the|dozens|hundreds|thousands)\b",
    re.IGNORECASE,
)
"""Measures without a number."""
_BOUND: Final = re.compile(
    r"\b(?:more than|less than|fewer than|over|under|above|below|at least|at most|up to|beyond"
    r"|within|less|exceed\w*)\s+(?=[-+]?\d)(?!\d+ laps\b)",
    re.IGNORECASE,
)
_SPOKEN: Final[tuple[tuple[Claim, str], ...]] = (
    ("slower", r"slow(?:er)?|los(?:t|e|es|ing|s|ses)|behind|missing|short|costs?|costing"),
    ("slower", r"drop(?:s|ped)?|deficit|adrift|worse|weaker|gave away|give away|down on"),
    ("faster", r"fast(?:er)?|quick(?:er)?|gain(?:s|ed|ing)?|won|win|sav(?:e|ed|es)|ahead"),
    ("faster", r"improv(?:e|ed|es|ing|ement)|better|stronger|up on"),
    ("more", "more|higher|extra|additional"),
    ("less", "less|lower|fewer"),
    ("early", "early|earlier|sooner"),
    ("late", "late|later"),
    ("best", "best|fastest|quickest"),
    ("worst", "worst|slowest"),
    ("most", "highest|top|peak|maximum|max"),
    ("least", "lowest|minimum|min"),
)
_SAYING: Final = tuple(
    (claim, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for claim, words in _SPOKEN
)
_NEGATED: Final = re.compile(
    r"\b(?:not|no|never|without|neither|nor|nothing|hardly|\w+n't)\b", re.IGNORECASE
)
_STATED: Final = re.compile(
    r"\b(?:was|were|is|are|been|went|got|lost|gained|you're|you've|came|cost|costs)\b"
    r"|\byou (?:also )?(?:brake|start|begin|turn|enter|leave|lose|gain|roll)\w*\b",
    re.IGNORECASE,
)


_USUAL: Final = (
    ("\u2212", "-"),
    ("\u2013", "-"),
    ("\u2014", " - "),
    ("\u2019", "'"),
    ("**", ""),
    ("__", ""),
    ("`", ""),
)


class Number(NamedTuple):
    """A number of a sentence."""

    value: float
    """Without its sign."""
    digits: int
    """Places behind the point."""
    unit: str
    sign: int
    """1 or -1 where the sign is written, else 0."""
    claims: frozenset[Claim]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What a sentence says."""

    numbers: tuple[Number, ...]
    corners: frozenset[str]
    """Of corners that are told by number."""
    laps: frozenset[int]
    sectors: frozenset[str]
    stated: frozenset[Claim]
    """Said of what was, anywhere in it."""
    negated: bool
    unreadable: bool
    """It holds digits that are no number of ours."""


class _Found(NamedTuple):
    number: Number
    at: int


def read(sentence: str) -> Sentence:
    """Take a sentence apart."""
    text = plain(sentence)
    corners: set[str] = set()
    laps: set[int] = set()
    sectors: set[str] = set()
    found: list[_Found] = []
    unreadable = any(c.isnumeric() and not c.isascii() for c in text)
    unreadable = unreadable or bool(_BOUND.search(text) or _SOME.search(text))
    for token in _TOKEN.finditer(text):
        kind, words = token.lastgroup, token.group()
        inside = re.findall(r"\d+[a-z]?", words, re.IGNORECASE)
        if kind == "corner":
            corners.update(name.lower() for name in inside)
        elif kind == "lap":
            laps.update(int(digits) for digits in re.findall(r"\d+", words))
        elif kind == "sector":
            sectors.add(words[-1])
        elif kind == "ordinal" and words.lower().endswith("lap"):
            laps.add(int(re.findall(r"\d+", words)[0]))
        elif kind in ("glued", "ordinal"):
            unreadable = True
        else:
            found.extend(_numbers(text, token))
    clauses = _clauses(text)
    return Sentence(
        numbers=tuple(
            one.number._replace(claims=_claims_at(clauses, one.at)) for one in _shared(text, found)
        ),
        corners=frozenset(corners),
        laps=frozenset(laps),
        sectors=frozenset(sectors),
        stated=_said(text) if _STATED.search(text) else frozenset(),
        negated=bool(_NEGATED.search(text)),
        unreadable=unreadable,
    )


def plain(text: str) -> str:
    """With one kind of minus, of space and of apostrophe, and without marks of emphasis."""
    spaced = "".join(" " if unicodedata.category(c) == "Zs" else c for c in text)
    for mark, usual in _USUAL:
        spaced = spaced.replace(mark, usual)
    return spaced


def _numbers(text: str, token: re.Match[str]) -> Iterator[_Found]:
    words, at = token.group(), token.start()
    if token.lastgroup == "laptime":
        minutes, rest = words.replace(",", ".").split(":")
        digits = len(rest.partition(".")[2])
        value = 60.0 * int(minutes) + float(rest)
        yield _Found(Number(value, digits, "s", 0, frozenset()), at)
        return
    if token.lastgroup == "number":
        number = words.replace(",", ".")
        value, digits = abs(float(number)), len(number.partition(".")[2])
        if "," in words and digits == 3:  # a thousand, or a thousandth
            yield _Found(Number(value, digits, UNKNOWN, 0, frozenset()), at)
            return
        sign = -1 if words[0] == "-" else 1 if words[0] == "+" else 0
    else:
        value, digits, sign = _spelt(words), 1 if words.lower().startswith("half") else 0, 0
    behind = text[token.end() :]
    if part := _PART.match(behind):
        places = _PARTS[part.group(1).lower().rstrip("s")]
        yield _Found(Number(value / 10**places, digits + places, "s", sign, frozenset()), at)
        return
    if token.lastgroup != "number" and (of := _HALF_OF.match(behind)):
        behind = behind[of.end() :]
    unit, scale = _unit(behind)
    if token.lastgroup != "number":
        if unit == UNKNOWN:  # "one thing", "two hands": no measure
            return
        if any(word in _VAGUE for word in re.split(r"[- ]", words.lower())):
            unit = UNKNOWN
    yield _Found(
        Number(value / scale, digits + (3 if scale > 1 else 0), unit, sign, frozenset()), at
    )


def _unit(behind: str) -> tuple[str, float]:
    found = _AFTER.match(behind)
    if found is None:
        return UNKNOWN, 1.0
    name = list(_UNITS)[int((found.lastgroup or "u0")[1:])]
    return ("s", 1000.0) if name == "ms" else (name, 1.0)


def _spelt(words: str) -> float:
    parts = [part for part in re.split(r"[- ]", words.lower().strip()) if part]
    values = [_WORDS.get(part, 1.0) for part in parts]
    if len(values) == 2 and values[0] >= 20 and values[1] < 10:
        return values[0] + values[1]
    return values[0] if len(values) == 1 else values[0] * values[1]


def _shared(text: str, found: list[_Found]) -> list[_Found]:
    """A number without a unit takes that of the next one: *from 88 to 92 km/h*."""
    given = list(found)
    for at in range(len(given) - 2, -1, -1):
        number = given[at].number
        if number.unit != UNKNOWN:
            continue
        begin = given[at].at
        written = re.match(r"[-+]?\d+(?:[.,]\d+)?", text[begin:])
        if written and _SHARED.match(text[begin + written.end() : given[at + 1].at + 1]):
            given[at] = given[at]._replace(number=number._replace(unit=given[at + 1].number.unit))
    return given


def _clauses(text: str) -> list[tuple[int, frozenset[Claim]]]:
    """Where each clause begins, and what it says; one that says nothing goes on with the last."""
    starts = [0, *(found.end() for found in _BREAK.finditer(text) if not _inside(text, found))]
    said: list[tuple[int, frozenset[Claim]]] = []
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        own = _said(text[begin:end])
        said.append((begin, own or (said[-1][1] if said else frozenset())))
    return said


def _inside(text: str, found: re.Match[str]) -> bool:
    """Whether a comma or colon stands inside a number."""
    before, behind = text[: found.start()][-1:], text[found.end() :][:1]
    return before.isdigit() and behind.isdigit()


def _claims_at(clauses: list[tuple[int, frozenset[Claim]]], at: int) -> frozenset[Claim]:
    return [said for begin, said in clauses if begin <= at][-1]


def _said(text: str) -> frozenset[Claim]:
    claims: set[Claim] = set()
    rest = _BESIDE.sub(" ", text)
    if _TO_GAIN.search(rest):
        claims.add("to gain")
        rest = _TO_GAIN.sub(" ", rest)
    claims.update(claim for claim, words in _SAYING if words.search(rest))
    return frozenset(claims)
