"""Reads a sentence into parts, by the words of a language in ``words.yaml``."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from runtime.bridge.coach.grounding.part import OPPOSITE, PARTIES, ROLES, Number, Part
from runtime.bridge.coach.understanding.phrases import read_yaml

UNITS: Final = (
    (r"km/?h|kph", "km/h", 1.0),
    (r"mph", "km/h", 1.609344),
    (r"bar/s", "bar/s", 1.0),
    (r"bars?", "bar", 1.0),
    (r"psi", "bar", 1 / 14.503774),
    (r"laps?|runden?|tours?|vueltas?|passes|passe?s?", "", 1.0),
    (r"s|sec(?:ond)?s?|sekunden?|secondes?|segundos?", "s", 1.0),
    (r"tenths?|zehnteln?|dixièmes?|décimas?", "s", 0.1),
    (r"hundredths?|hundertsteln?|centièmes?|centésimas?", "s", 0.01),
    (r"m|met(?:re|er)s?|metern?|mètres?|metros?", "m", 1.0),
    (r"ft|feet|foot", "m", 0.3048),
    (r"%|percent|prozent|pour cent|por ciento", "%", 1.0),
    (r"g", "g", 1.0),
)
"""How units are written, the unit of a fact that each is, and how many of it."""
HEDGES: Final = {
    "exact": (0.0, 0.0),
    "near": (0.1, 0.1),
    "over": (0.0, 0.36),
    "under": (0.12, 0.0),
}
"""What about, over and almost leave open below and above a number: at most this share of it."""
NAME: Final = (
    r"(?<=[\w,;] )[A-ZÀ-Þ][a-zß-ÿ]{{2,}}"
    r"|^(?!(?:{subjects})\b)[A-ZÀ-Þ][a-zß-ÿ]{{2,}}(?= (?:{verbs})\b)"
)
"""What is written as a name; the first word where a verb follows."""
TINY: Final = 2e-3
LEXICONS: Final = 32
"""Kept at a time: of a language with the names of a circuit and its drivers."""


class Reader:
    """Reads sentences of one language."""

    def __init__(
        self, language: str, corners: Mapping[str, str], people: Sequence[str], known: str
    ) -> None:
        self.corners = corners
        """Their names on file by what they are called, in lower case."""
        self.known = frozenset(re.findall(r"\w+", " ".join([*corners, *people, known]).lower()))
        """Words of the facts and of names."""
        self.lexicon = _lexicon(language, tuple(sorted(corners)), tuple(sorted(people)))

    def find_stranger(self, sentence: str) -> str | None:
        """A name that neither facts nor circuit have."""
        names = self.lexicon.names.findall(sentence)
        return next((name for name in names if name.lower() not in self.known), None)

    def parts(self, sentence: str) -> list[Part]:
        """The parts of a sentence; places that are listed before as many numbers belong to them
        one by one."""
        parts = list(self._read(sentence))
        places = [at for at, part in enumerate(parts) if part.places]
        numbers = [at for at, part in enumerate(parts) if part.numbers]
        single = all(len(part.places) < 2 and len(part.numbers) < 2 for part in parts)
        if (
            single
            and len(places) == len(numbers) > 1
            and max(places[0], places[-1] - 1) < numbers[0]
        ):
            own = [parts[at].places for at in places]
            for place, number in zip(own, numbers, strict=True):
                marks = parts[number].marks - parts[number].places | place
                parts[number] = parts[number]._replace(marks=marks)
        return parts

    def _read(self, sentence: str) -> Iterator[Part]:
        """The parts of a sentence; a mark that begins with ? is one that no fact may bear."""
        lexicon = self.lexicon
        low = sentence.lower().replace("\u2019", "'")
        for pattern, number in lexicon.numbers:
            low = pattern.sub(number, low)
        marks: set[str] = set()
        numbers: list[Number] = []
        role, hedge, against, contrast = "", "", False, False
        for match in lexicon.scanner.finditer(low):
            group, text = match.lastgroup or "", match[0]
            kind = lexicon.groups[int(group[1:])] if group[0] == "_" else group
            if kind in ("split", "contrast", "stop"):
                yield _part(marks, numbers, contrast)
                marks, numbers, role, hedge, against = set(), [], "", "", False
                contrast = kind == "contrast"
            elif kind in ("number", "unit", "by"):
                said = role if match["by"] is None else "by"
                numbers.append(_number(match["number"], match["unit"], said, hedge))
                role, hedge = "", ""
            elif kind in HEDGES:
                hedge = kind
            elif kind == "to" and numbers:
                yield _part(marks, numbers, contrast)
                marks, numbers, role, hedge, against, contrast = set(), [], kind, "", False, False
            elif kind == "strange":
                marks.update(() if text in self.known else (f"?{text}",))
            elif kind != "neutral":
                for mark in self._marks(kind, text):
                    if mark in ROLES:
                        against, role = against or mark == "than", mark if kind == mark else ""
                    elif mark in PARTIES or mark.startswith("lap "):
                        marks.add(f"than-{mark}" if against else mark)
                        theirs = kind == "your" or text.endswith("'s")
                        role = "than" if against and theirs else ""
                        against = against and kind == "your"
                    else:
                        marks.add(mark)
                        role = ""
        yield _part(marks, numbers, contrast)

    def _marks(self, kind: str, text: str) -> Sequence[str]:
        match kind:
            case "place":
                return (f"at {self.corners[text]}",)
            case "lap" | "sector":
                return [f"{kind} {number}" for number in re.findall(r"\d+", text)]
            case "name":
                return ("other",)
            case "your":
                return ("own",)
            case "order":
                return ("bid",)
        return [kind.replace("-", " ")] if kind.startswith("sector-") else kind.split()


class Lexicon(NamedTuple):
    """How a language writes marks."""

    groups: Sequence[str]
    names: re.Pattern[str]
    """What is written as a name."""
    scanner: re.Pattern[str]
    numbers: Sequence[tuple[re.Pattern[str], str]]
    """What is written out, and the number that it is."""


@lru_cache(maxsize=LEXICONS)
def _lexicon(language: str, corners: tuple[str, ...], people: tuple[str, ...]) -> Lexicon:
    lexicon = _words()[language]
    calls = "|".join(map(re.escape, sorted(corners, key=len, reverse=True))) or "(?!)"
    names = "|".join(f"{re.escape(name.lower())}(?:'?s)?" for name in people) or "(?!)"
    units = "|".join(pattern for pattern, _, _ in UNITS)
    lone = rf"(?![.,:]?\d| (?:{units})\b)"
    listed = rf"\d+{lone}(?:(?:, | (?:{lexicon['and']}) )\d+{lone})*"
    joints = "".join(f"|(?<= {word} )" for word in lexicon["joint"].split("|"))
    begin = rf"(?:^(?:(?:{lexicon['softly']}),? )?|(?<=[,;:] ){joints})"
    order = rf"{begin}(?=(?:{lexicon['orders']})(?!\w))"
    groups = [
        ("place", calls),
        ("?corner", lexicon["corner"]),
        ("neutral", rf"(?:{lexicon['gaps']}) (?:{lexicon['toward']}) (?:{names})"),
        ("neutral", rf"(?:{lexicon['chase']}) (?:{names})"),
        ("than other", rf"(?:{lexicon['toward']}) (?:{names})"),
        ("name", names),
        *((kind, rf"(?:{words})(?= ~?[\d+±])") for kind, words in lexicon["hedges"].items()),
        ("order", order),
        ("neutral", lexicon["neutral"]),
        ("strange", lexicon["strange"]),
        ("next", rf"(?:{lexicon['after']}) (?:{calls})"),
        *sorted(lexicon["marks"].items(), key=lambda item: -item[0].count(" ")),
        ("lap", rf"(?:{lexicon['lap']}) {listed}"),
        ("sector", rf"(?:{lexicon['sector']}) \d+"),
        ("contrast", lexicon["contrast"]),
        ("split", lexicon["split"]),
    ]
    spelt = "|".join(
        rf"(?P<_{at}>(?<!\w)(?:{pattern})(?!\w))" if name != "order" else rf"(?P<_{at}>{pattern})"
        for at, (name, pattern) in enumerate(groups)
    )
    scanner = re.compile(
        rf"{spelt}|(?P<number>[+±~-]?(?:\d+:)?\d+(?:[.,]\d+)?)(?![\d:]|[.,]\d)"
        rf"(?:[ \u00a0\u202f-]?(?P<unit>{units})(?![\w/]))?(?P<by>(?= (?:{lexicon['by']})(?!\w)))?"
        r"|(?P<stop>[,;:.\u2013\u2014])|(?P<neutral>\w+)"
    )
    numbers = [
        (re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])"), str(number))
        for pattern, number in lexicon["numbers"].items()
    ]
    counted = rf"(?=[ -](?:{units})(?!\w)| (?:{lexicon['aims']}) )"
    counts = [*enumerate(lexicon["counts"].split(), 2)]
    for at, word in reversed([*counts, *zip((30, 40, 50), lexicon["tens"].split(), strict=True)]):
        numbers.append((re.compile(rf"(?<![\w-]){word}{counted}"), str(at)))
    names = r"(?!)" if language == "de" else NAME.format(**lexicon)
    return Lexicon([name for name, _ in groups], re.compile(names), scanner, numbers)


def _number(digits: str, unit: str | None, role: str, hedge: str) -> Number:
    minutes, _, rest = digits.lstrip("+±~-").replace(",", ".").rpartition(":")
    number = float(rest) + 60 * int(minutes or 0)
    digit = 10.0 ** -len(rest.partition(".")[2])
    if "." not in rest:  # about 110 is 105 to 115
        digit *= 10.0 ** (len(rest) - len(rest.rstrip("0")))
    below, above = (share * number for share in HEDGES[hedge or "exact"])
    if digits[0] == "~":
        below, above = (max(each, HEDGES["near"][0] * number) for each in (below, above))
    elif hedge:
        reach = digit / 2 if hedge == "near" else digit
        below, above = min(below, reach), min(above, reach)
    half = 0.5 * 10.0 ** -len(rest.partition(".")[2]) if hedge in ("", "near") else 0.0
    name, factor = ("s", 1.0) if minutes else (None, 1.0)
    for pattern, told, scale in UNITS:
        if unit and re.fullmatch(pattern, unit):
            name, factor = told, scale
            break
    if name == "s" and factor == 1.0 and "." not in rest:  # nobody says 1 s for half a second
        half = min(half, 0.25)
    low, high = number - max(below, half), number + max(above, half)
    return Number(role, low * factor - TINY, high * factor + TINY, name)


def _part(marks: set[str], numbers: Sequence[Number], contrast: bool) -> Part:
    """What was read up to here; a *contrast* to what was said before: … instead of 106 m."""
    if "not" in marks:
        marks = {OPPOSITE.get(mark, mark) for mark in marks - {"not"}}
    bare = not marks & PARTIES and not any(mark.startswith("lap") for mark in marks)
    if contrast and numbers and (bare or len(numbers) > 1):
        numbers = [numbers[0]._replace(role="than"), *numbers[1:]]
    unit, found = None, []
    for number in reversed(numbers):  # from 127 to 106 m
        unit = unit if number.unit is None else number.unit
        found.append(number._replace(unit=unit))
    return Part(frozenset(marks), tuple(reversed(found)))


@cache
def _words() -> Mapping[str, Any]:
    return read_yaml(Path(__file__).with_name("words.yaml"))
