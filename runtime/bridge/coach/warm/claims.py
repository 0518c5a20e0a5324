"""Reads a sentence into tokens: measures with their units, corners, laps, sectors, words; pure.

Only English. Numbers may be spelt. What is not understood is told as such, never guessed.
"""

import re
import unicodedata
from collections.abc import Container, Mapping
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.coach.warm.lexicon import PHRASES

UNKNOWN: Final = "?"
"""The unit of a number whose unit is missing."""
Kind: TypeAlias = Literal[
    "measure", "corner", "lap", "versus", "sector", "name", "word", "break", "letter", "unreadable"
]
_UNITS: Final = {
    "s": r"s|secs?|seconds?",
    "ms": r"ms|milliseconds?",
    "km/h": r"km/h|kmh|kph|km per hour|kilomet(?:er|re)s (?:per|an) hour",
    "%": r"%|percent(?:age points)?|per cent|points?",
    "bar": r"bars?",
    "g": r"gs?",
    "m": r"m|met(?:er|re)s?",
    "deg": r"degrees?|deg",
    "laps": r"(?:(?:complete|whole) )?laps?",
    "corners": r"corners?|turns?",
    "times": r"times|corrections|incidents|sessions",
    "passes": r"passes",
}
_UNIT: Final = "|".join(f"(?P<u{at}>{words})" for at, words in enumerate(_UNITS.values()))
_AFTER: Final = re.compile(rf"[ \-]?(?:{_UNIT})(?![\w/%'])")
_PART: Final = re.compile(r"[ \-](tenth|hundredth|thousandth)s?\b(?: of a seconds?)?")
_PARTS: Final = {"tenth": 1, "hundredth": 2, "thousandth": 3}
_SMALL: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SPELT: Final = {
    **{word: at for at, word in enumerate(_SMALL)},
    **{word: 10 * at for at, word in enumerate(_TENS, start=2)},
}
_VAGUE: Final = {
    "a couple of": "2",
    "a couple": "2",
    "a pair of": "2",
    "a dozen": "12",
    "twice": "2 times",
    "thrice": "3 times",
    "both": "2 ",
    "half a": "0.5",
    "half an": "0.5",
    "half": "0.5",
    "a tenth": "1 tenths",
    "a hundredth": "1 hundredths",
    "a thousandth": "1 thousandths",
}
_NUMBER_WORDS: Final = re.compile(
    rf"\b(?:(?P<vague>{'|'.join(sorted(_VAGUE, key=len, reverse=True))})"
    rf"|(?P<tens>{'|'.join(_TENS)})[- ](?P<ones>{'|'.join(_SMALL[1:10])})"
    rf"|(?P<one>{'|'.join(sorted(_SPELT, key=len, reverse=True))}))\b(?!')"
)
_ORDINALS: Final = dict(
    zip(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(),
        range(1, 11),
        strict=False,
    )
)
_NTH_LAP: Final = re.compile(rf"\b(?:(\d+)(?:st|nd|rd|th)|({'|'.join(_ORDINALS)})) lap\b")
IDIOMS: Final = (
    (r"\bone (?:small |simple |single |more )?thing\b", "onething"),
    (r"\bone (?:small )?step(?: at a time)?\b|\bstep by step\b", "stepwise"),
    (r"\bone (?:corner|thing|lap|change) at a time\b", "stepwise"),
    (r"\bat a time\b", "stepwise"),
    (r"\b(?:both|two|your two) hands\b", "hands"),
    (r"\bone (?:clear |main |single )?(?:focus|goal|idea|job|point|task)\b", "onething"),
    (r"\bone (?:smooth |calm |clean |single )?(?:movement|motion|input)\b", "onemovement"),
    (r"\bone pedal or the other\b", "onepedal"),
    (
        (
            r"\b(?:your )?(?:next )?focus (?:for the next (?:run|session) )?"
            r"(?:should be|is|will be)\b"
        ),
        "focus on",
    ),
    (r"\bmore (?=gradual|smooth|gent|slow|patient|progress|calm|careful)", ""),
    (r"\bat once\b|\bin one go\b", "atonce"),
    (r"\bonce (?=the|you|your|it)", "when "),
    (r"\b(?:only |just )?once\b", "onetime"),
    (r"\bone (?=marker|reference|point|line|breath|cue|word|place|spot)", "a "),
    (r"\bfirst of all\b", "first"),
    (r"\bsecond by second\b", "smoothly"),
)
"""Numbers that count nothing, in what stands for them."""
_CONTRACTED: Final = (
    ("won't", "will not"),
    ("can't", "can not"),
    ("n't", " not"),
    ("'re", " are"),
    ("'ve", " have"),
    ("'ll", " will"),
    ("'d", " would"),
    ("'m", " am"),
)
_IS: Final = re.compile(r"\b(it|that|there|here|what|this)'s\b")
_JOIN: Final = r"(?:\s*(?:,|&|/|-|and|to|or)\s*(?:and\s+)?)"
_NO_MEASURE: Final = (
    r"\b(?![.,]\d|\s*(?:%|km|met|sec|tenth|hundred|thousand|point|perc|deg|lap|bars?\b|times|pass"
    r"|corr|inci|sess|corners|turns|m?s\b|m\b|gs?\b))"
)
"""Behind a further number of a list, which is none of the list if it has a unit."""
_RANGE: Final = re.compile(r"\d[a-z]?\s*(?:[-/]|\b(?:to|or)\b)")
"""In a list of corners or laps: it means further ones, or nobody knows which."""
_TOKEN: Final = re.compile(
    rf"""
      (?P<laptime>(?<![\d:.])\d{{1,2}}:[0-5]\d(?:[.,]\d{{1,3}})?(?![\d:]))
    | (?P<corner>\b(?:turns?|corners?|bends?|[tc])\ ?(?:number\ )?\d+[a-z]?\b
        (?:{_JOIN}(?:turn\ |t)?\d+[a-z]?{_NO_MEASURE})*)
    | (?P<versus>\b(?:than|against|to|behind|vs\.?|versus|ahead\ of)\ (?:on\ |in\ )?lap\ \d+\b)
    | (?P<lap>\blaps?\ (?:number\ )?\d+\b(?![.,]\d)(?:{_JOIN}(?:lap\ )?\d+{_NO_MEASURE})*)
    | (?P<sector>\b(?:sectors?\ |s)\d\b)
    | (?P<number>(?<![\w.,])[-+]?\d+(?:[.,]\d+)?)
    | (?P<glued>\w*\d[\w.,]*)
    | (?P<place>\ue000\d+\ue001)
    | (?P<name>\ue002\d+\ue001)
    | (?P<letter>\ue003[a-f]\ue003)
    | (?P<word>[a-z][a-z]*(?:[-'/][a-z]+)*)
    | (?P<break>[,;:()\u2026]|\ -\ |\.|[!?])
    | (?P<other>[^\s"\u201c\u201d'*_])
    """,
    re.VERBOSE,
)
_USUAL: Final = (
    ("\u2212", "-"),
    ("\u2013", "-"),
    ("\u2014", " - "),
    ("\u2019", "'"),
    ("\u2018", "'"),
    ("**", ""),
    ("__", ""),
    ("`", ""),
)
_LETTER: Final = re.compile(
    r"(?:\b(?:an?|grade|graded|of|is|was|at)(?: an?)? |: )\b([A-F])(?=[\s,.;:!?)]|$)"
)


_KINDS: Final[dict[str, Kind]] = {
    "corner": "corner",
    "lap": "lap",
    "versus": "versus",
    "sector": "sector",
    "name": "name",
    "word": "word",
    "break": "break",
}


class Measure(NamedTuple):
    """A number of a sentence."""

    value: float
    """Without its sign."""
    digits: int
    """Places behind the point."""
    unit: str
    sign: int = 0
    """1 or -1 where the sign is written, else 0."""


class Token(NamedTuple):
    """A piece of a sentence."""

    kind: Kind
    text: str
    measure: Measure | None = None
    inside: tuple[str, ...] = ()
    """Numbers of corners, laps or sectors, or the name of a corner."""


@lru_cache(maxsize=1)
def _phrases() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(rf"\b(?:{words})"), usual) for words, usual in PHRASES)


@lru_cache(maxsize=1)
def _idioms() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(words), usual) for words, usual in IDIOMS)


def plain(text: str) -> str:
    """With one kind of minus, of space and of apostrophe, and without marks of emphasis."""
    if not text.isascii():
        text = "".join(" " if unicodedata.category(c) == "Zs" else c for c in text)
    for mark, usual in _USUAL:
        text = text.replace(mark, usual)
    return " ".join(text.split())


def folded(text: str) -> str:
    """As sentences are compared: small letters, single blanks, without marks around it."""
    return plain(text).casefold().strip(" \t*_\"'\u201c\u201d()[]-\u2022.!:;,#>")


def tokens(
    sentence: str,
    corners: re.Pattern[str] | None = None,
    spoken: Mapping[str, str] = {},
    areas: Container[str] = (),
) -> list[Token]:
    """Take a sentence apart; *corners* finds names of corners and other names in small letters.

    A name that *spoken* holds is a corner's, any other a proper name; one of *areas* is a sector's.
    """
    text = _LETTER.sub(lambda found: f" \ue003{found.group(1).lower()}\ue003", plain(sentence))
    text = text.casefold()
    found: list[str] = []
    if corners is not None:

        def marked(match: re.Match[str]) -> str:
            corner = spoken.get(match.group())
            found.append(corner or match.group())
            mark = "\ue002" if corner is None else "\ue000"
            return f"{mark}{len(found) - 1}\ue001"

        text = corners.sub(marked, text)
    text = _numbered(_IS.sub(r"\1 is", text))
    for pattern, usual in _phrases():
        if "{lead}" in usual:
            text = pattern.sub(partial(_led, usual[7:]), text)
        else:
            text = pattern.sub(usual, text)
    made = [_token(one, text, found) for one in _scan(text)]
    return [
        Token("sector", one.text, None, ("0",)) if one.kind == "name" and one.text in areas else one
        for one in made
    ]


def _led(usual: str, found: re.Match[str]) -> str:
    """Something compared, with what stands before it as far as that says which is ahead."""
    word = found.group("lead") or ""
    if word in ("", "in", "of", "with"):
        return f" refpass {usual}"  # it is spoken of, and nothing compared with it
    if word in ("behind", "off", "adrift of", "short of"):
        return f"behind {usual}"
    return f"ahead {usual}" if word == "ahead of" else usual


def _numbered(text: str) -> str:
    """With spelt numbers in digits, contractions resolved and idioms replaced."""
    if "'" in text:
        for short, long in _CONTRACTED:
            text = text.replace(short, long)
    for pattern, usual in _idioms():
        text = pattern.sub(usual, text)
    text = _NTH_LAP.sub(lambda one: f"lap {one.group(1) or _ORDINALS[one.group(2)]}", text)
    return _NUMBER_WORDS.sub(_digits, text)


def _digits(found: re.Match[str]) -> str:
    if vague := found.group("vague"):
        return _VAGUE[vague]
    if tens := found.group("tens"):
        return str(_SPELT[tens] + _SPELT[found.group("ones")])
    return str(_SPELT[found.group("one")])


def _scan(text: str) -> list[re.Match[str]]:
    """The matches in their order, each behind the unit of the one before."""
    found, at = [], 0
    while match := _TOKEN.search(text, at):
        found.append(match)
        at = match.end()
        if match.lastgroup == "number":
            behind = _PART.match(text, at) or _AFTER.match(text, at)
            at = behind.end() if behind else at
    return found


def _token(match: re.Match[str], text: str, names: list[str]) -> Token:
    """A token of a match in *text*, where *names* are the corners that were named."""
    kind, words = match.lastgroup, match.group()
    if kind == "laptime":
        minutes, rest = words.replace(",", ".").split(":")
        digits = len(rest.partition(".")[2])
        return Token("measure", words, Measure(60.0 * int(minutes) + float(rest), digits, "s"))
    if kind == "number":
        return _measured(words, match.end(), text)
    if kind == "place":
        return Token("corner", words, None, (f"={names[int(words[1:-1])]}",))
    if kind == "name":
        return Token("name", names[int(words[1:-1])])
    if kind == "letter":
        return Token("letter", words[1])
    if kind in ("corner", "lap") and _RANGE.search(words):
        return Token("unreadable", words)
    inside = tuple(re.findall(r"\d+[a-z]?" if kind == "corner" else r"\d+", words))
    return Token(_KINDS.get(kind or "", "unreadable"), words.strip(), None, inside)


def _measured(words: str, end: int, text: str) -> Token:
    number = words.replace(",", ".")
    value, digits = abs(float(number)), len(number.partition(".")[2])
    sign = -1 if words[0] == "-" else 1 if words[0] == "+" else 0
    if "," in words and digits == 3:  # a thousand, or a thousandth
        return Token("unreadable", words)
    if part := _PART.match(text, end):
        places = _PARTS[part.group(1)]
        return Token("measure", words, Measure(value / 10**places, digits + places, "s", sign))
    unit = UNKNOWN
    if behind := _AFTER.match(text, end):
        unit = list(_UNITS)[int((behind.lastgroup or "u0")[1:])]
    if unit == "ms":
        return Token("measure", words, Measure(value / 1000, digits + 3, "s", sign))
    return Token("measure", words, Measure(value, digits, unit, sign))
