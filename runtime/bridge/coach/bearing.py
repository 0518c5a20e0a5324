"""Holds a sentence of a model against the facts: no part may say more than one claim of theirs.

``bearing.yaml`` lists, for each kind of fact, the claims that its values bear out, as sets of
marks (own, brake, early, a number, a corner …), and for each language the words that are those
marks. A part of a sentence is borne out by a claim that has all of its marks, and whose needed
marks it has. A word, corner or number that is not known refutes the sentence: what is true but
said in other words is dropped with what is false.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import yaml

from runtime.bridge.coach.fact import Corner, Fact, Term, Value
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

Known: TypeAlias = tuple[str, float, str]
"""A number of a fact: from, to or empty; the number; its unit."""
_UNITS: Final = (
    (r"km/?h|kph", "km/h", 1.0),
    (r"mph", "km/h", 1.609344),
    (r"bar/s", "bar/s", 1.0),
    (r"bars?", "bar", 1.0),
    (r"psi", "bar", 1 / 14.503774),
    (r"s|sec(?:ond)?s?|sekunden?|secondes?|segundos?", "s", 1.0),
    (r"m|met(?:re|er)s?|metern?|mètres?|metros?", "m", 1.0),
    (r"ft|feet|foot", "m", 0.3048),
    (r"%|percent|prozent|pour cent|por ciento", "%", 1.0),
    (r"g", "g", 1.0),
)
"""How units are written, the unit of a fact that each is, and how many of it."""
_NUMBER: Final = r"(?P<number>[+±-]?(?:\d+:)?\d+(?:[.,]\d+)?)(?![\d:]|[.,]\d)"
_PARTIES: Final = frozenset({"own", "other", "usual", "best"})
_TINY: Final = 2e-3


class Number(NamedTuple):
    """A number of a sentence."""

    role: str
    value: float
    unit: str
    half: float
    """Half of its last digit."""

    def is_one_of(self, known: Sequence[Known]) -> bool:
        """Whether one of the known numbers is this one when rounded."""
        return any(
            (self.role, self.unit) == (role, unit)
            and abs(abs(number) - self.value) <= self.half + _TINY
            for role, number, unit in known
        )


class Claim(NamedTuple):
    """What one fact bears out at once."""

    marks: frozenset[str]
    needs: tuple[frozenset[str], ...]
    """Of each at least one has to be said."""
    numbers: tuple[Known, ...]


class Part(NamedTuple):
    """A part of a sentence."""

    marks: frozenset[str]
    numbers: tuple[Number, ...]

    def is_borne_by(self, claim: Claim) -> bool:
        """Whether it says no more than the claim."""
        return (
            self.marks <= claim.marks
            and all(self.marks & need for need in claim.needs)
            and all(number.is_one_of(claim.numbers) for number in self.numbers)
        )


class Evidence:
    """The facts of one answer, in the language of its reader."""

    def __init__(self, facts: Sequence[Fact], words: Words, names: Names) -> None:
        table = _tables()
        self.claims = [
            claim for fact in facts for claim in _claims(fact, names.asker, table["claims"])
        ]
        self.corners = {
            call.lower(): corner.name
            for corner in names.corners
            for call in (corner.name, *corner.nicknames, words.corner(corner.name))
        }
        self.known = {
            _place(cell) for fact in facts for cell in (*fact.values.values(), fact.place)
        }
        people = {fact.other for fact in facts} - {""}
        lexicon = table["words"][words.language]
        self.numbers: Mapping[str, int] = lexicon["numbers"]
        self.tenth = re.compile(rf"\b(\d+) (?:{lexicon['tenth']})\b")
        calls = sorted(self.corners, key=len, reverse=True)
        listed = rf"\d+(?:(?:, | (?:{lexicon['and']}) )\d+(?![.,:\d]| \w*/?[hms]\b))*"
        groups = [
            ("place", "|".join(map(re.escape, calls)) or "(?!)"),
            ("name", "|".join(f"{re.escape(name.lower())}(?:'?s)?" for name in people) or "(?!)"),
            ("neutral", lexicon["idle"]),
            *lexicon["marks"].items(),
            ("lap", rf"(?:{lexicon['lap']}) {listed}"),
            ("sector", rf"(?:{lexicon['sector']}) \d+"),
            ("split", lexicon["split"]),
            ("neutral", lexicon["neutral"]),
        ]
        self.groups = [name for name, _ in groups]
        spelt = "|".join(
            rf"(?P<_{at}>(?<!\w)(?:{pattern})(?!\w))" for at, (_, pattern) in enumerate(groups)
        )
        units = "|".join(pattern for pattern, _, _ in _UNITS)
        self.scanner = re.compile(
            rf"{spelt}|{_NUMBER}(?:[ \u00a0\u202f]?(?P<unit>{units})(?![\w/]))?"
            r"|(?P<stop>[,;:.\u2013\u2014])|(?P<strange>\w+)"
        )

    def refute(self, sentence: str) -> str | None:
        """Why the facts do not bear a sentence out; None: they do."""
        parts = list(self._read(sentence))
        for mark in (mark for part in parts for mark in part.marks if mark.startswith("?")):
            return mark
        marks = frozenset[str]().union(*(part.marks for part in parts))
        whole = Part(marks, tuple(number for part in parts for number in part.numbers))
        if any(whole.is_borne_by(claim) for claim in self.claims):
            return None
        before = Part(frozenset(), ())
        for part in parts:
            places = _places(part)
            inherited = frozenset() if places else _places(before)
            there = part._replace(marks=part.marks | inherited)
            if not there.numbers and there.marks <= places:
                there = before._replace(marks=before.marks - _places(before) | places)
            wholes = (there, there._replace(marks=there.marks | before.marks))
            says = there.numbers or there.marks - _places(there)
            if says and not any(one.is_borne_by(claim) for one in wholes for claim in self.claims):
                return " ".join(sorted(there.marks)) or "number"
            before = there
        return None

    def _read(self, sentence: str) -> Iterator[Part]:
        """The parts of a sentence; a mark that begins with ? is none."""
        low = sentence.lower().replace("\u2019", "'")
        for word, number in self.numbers.items():
            low = re.sub(rf"(?<![\w-]){word}(?![\w-])", str(number), low)
        low = self.tenth.sub(lambda match: f"{int(match[1]) / 10:g} s", low)
        marks: set[str] = set()
        numbers: list[Number] = []
        role, against = "", False
        for match in self.scanner.finditer(low):
            group, text = match.lastgroup or "", match[0]
            kind = self.groups[int(group[1:])] if group[0] == "_" else group
            if kind in ("split", "stop"):
                yield Part(frozenset(marks), tuple(numbers))
                marks, numbers, role, against = set(), [], "", False
            elif kind in ("number", "unit"):
                numbers.append(_number(match["number"], match["unit"] or "", role))
                role = ""
            elif kind == "place":
                name = self.corners[text]
                marks.add(f"at {name}" if name in self.known else f"?{name}")
            elif kind in ("lap", "sector"):
                beside = "than-" if against else ""
                marks.update(f"{beside}{kind} {number}" for number in re.findall(r"\d+", text))
            elif kind == "strange":
                marks.add(f"?{text}")
            elif kind != "neutral":
                role = ""
                for mark in ("other",) if kind == "name" else kind.split():
                    if mark in ("than", "to", "from"):
                        against, role = mark != "from", mark.replace("than", "")
                    else:
                        marks.add(f"than-{mark}" if against and mark in _PARTIES else mark)
        yield Part(frozenset(marks), tuple(numbers))


def _places(part: Part) -> frozenset[str]:
    """The corners and sectors of a part."""
    return frozenset(mark for mark in part.marks if mark.startswith(("at ", "sector ")))


def _number(digits: str, unit: str, role: str) -> Number:
    minutes, _, rest = digits.lstrip("+±-").replace(",", ".").rpartition(":")
    half = 0.5 * 10.0 ** -len(rest.partition(".")[2])
    name, factor = ("s", 1.0) if minutes else ("", 1.0)
    for pattern, told, scale in _UNITS:
        if unit and re.fullmatch(pattern, unit):
            name, factor = told, scale
            break
    return Number(role, (float(rest) + 60 * int(minutes or 0)) * factor, name, half * factor)


def _claims(fact: Fact, asker: str, table: Mapping[str, Any]) -> Iterator[Claim]:
    """The claims of a fact; none of a kind that the table does not have, or of another driver."""
    if asker and fact.driver not in ("", asker):
        return
    place = [f"at {fact.place.corner}"] if fact.place and fact.place.corner else []
    for line in table["kinds"].get(fact.kind, ()):
        marks, needs, numbers = set(place), [], []
        for word in line.split():
            group: set[str] = set()
            for choice in word.lstrip("!").split("/"):
                head, _, key = choice.rpartition("$")
                cell = fact.values.get(key)
                if not key or "$" not in choice:
                    group.add(choice)
                elif isinstance(cell, Value) and head == "sign:":
                    group.add("lose" if cell.number > 0 else "quick")
                elif isinstance(cell, Value | int) and head in ("", "from:", "to:"):
                    number, unit = (cell, "") if isinstance(cell, int) else (cell.number, cell.unit)
                    unit = "s" if unit == "lap_time" else unit
                    numbers.append((head.rstrip(":"), float(number), unit))
                else:
                    group.update(_marks(head.replace(":", " "), cell, table["terms"]))
            marks |= group
            if word.startswith("!"):
                needs.append(frozenset(group))
        if "never" not in marks:
            yield Claim(frozenset(marks), tuple(needs), tuple(numbers))


def _marks(head: str, cell: object, terms: Mapping[str, str]) -> list[str]:
    """The marks of a value that is no number."""
    match cell:
        case Corner():
            return [f"at {cell.name}"]
        case Term() | str():
            key = cell.key if isinstance(cell, Term) else cell
            return terms.get(f"{head}{key}", "never" if head else "").split()
        case tuple():
            return [mark for one in cell for mark in _marks(head, one, terms)]
        case int():
            return [f"{head}{cell}"]
    return []


def _place(cell: Any) -> str | None:
    """The corner that a value or place names."""
    return cell.name if isinstance(cell, Corner) else getattr(cell, "corner", None)


@cache
def _tables() -> Mapping[str, Any]:
    path = Path(__file__).with_suffix(".yaml")
    tables: Mapping[str, Any] = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return tables
