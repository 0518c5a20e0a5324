"""Holds a sentence of a model against the facts: whether they bear it out; pure.

A sentence passes where, part by part: each corner, lap, sector and name in it stands in the
facts; each number stands, with its unit, in a fact about the corner that the part names, and in
one that speaks of the same thing (entry, exit, coasting, ideal lap …); no word turns a fact round
(early and late, slower and quicker, more and less, best and worst, not, at most …) unless a fact
has that word; and nothing happened (a spin, rain, traffic …) that no fact tells of. Advice may
name the opposite of what a fact states: what was early may be done later. The words are in
``bearing.yaml``.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from runtime.bridge.coach.fact import Cell, Fact, Value
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

_UNITS: Final[tuple[tuple[str, str, float], ...]] = (
    (r"km/?h|kph|kilomet\w+ (?:per|an) hour|km por hora", "km/h", 1.0),
    (r"mph|miles (?:per|an) hour", "km/h", 1.609344),
    (r"bar/s", "bar/s", 1.0),
    (r"bar", "bar", 1.0),
    (r"psi", "bar", 1 / 14.503774),
    (r"km|kilom\w+", "km", 1.0),
    (r"min\b|minut\w*", "min", 60.0),
    (r"ms|millisec\w+", "s", 0.001),
    (r"s\b|sec(?:ond)?s?\b|sekunden?|secondes?|segundos?", "s", 1.0),
    (r"m\b|met(?:re|er)s?\b|metern?|mètres?|metros?", "m", 1.0),
    (r"ft\b|feet|foot", "m", 0.3048),
    (r"%|percent|per cent|prozent|pour ?cent|por ciento", "%", 1.0),
    (r"g\b", "g", 1.0),
    (r"°|deg\w*|grad", "deg", 1.0),
    (r"rpm|u/min|tr/min", "rpm", 1.0),
)
_NUMBER: Final = re.compile(r"(?<![\w.,:])[+-]?(?:(\d+):)?(\d+(?:[.,]\d+)?)(?![\d:])")
_PART: Final = re.compile(
    r"[,;:()\u2013\u2014](?!\d)|\.(?=\s|$)|\b(?:and|but|while|whereas|und|aber|während|et|mais|y|pero|mientras)\b"
)
ADVICE: Final = (
    "advice",
    "technique",
    "tips",
    "target",
    "drill",
    "plan",
    "traffic",
    "wet-do",
    "danger-do",
)
"""How the kinds of facts begin that say what to do, and not what was."""
_JOINT: Final = r"(?:, (?:and |und |et |y )?| (?:and|und|et|y|to|bis|à|a) )"
_NO_UNIT: Final = r"(?![.,:]?\d|[ \u00a0]?(?:km/h|km|m|s|bar|psi|ft|mph|g|%|°)(?!\w))"
_TINY: Final = 1e-6
_OPEN: Final = frozenset({"pace", "early"})
"""Opposites that a fact may leave to the fact before it."""


class Number(NamedTuple):
    """A number of a sentence."""

    value: float
    unit: str
    """Empty: none."""
    half: float = 0.0
    """Half of what its last digit is worth: so far it may be from the exact value."""
    others: bool = False
    """Whether it is another driver's."""


class Part(NamedTuple):
    """A part of a sentence, as far as it is held against others."""

    text: str
    corners: frozenset[str]
    laps: tuple[int, ...]
    sectors: tuple[int, ...]
    numbers: tuple[Number, ...]
    advises: bool
    negated: bool
    about_other: bool
    """Whether its subject is another driver: what he does early the own driver does late."""


class Evidence:
    """The facts of one answer, in the language of its reader."""

    def __init__(self, facts: Sequence[Fact], words: Words, names: Names) -> None:
        self.table = _tables()[words.language]
        self.language = words.language
        self.names = names
        self.called = {
            call.casefold(): corner.name
            for corner in names.corners
            for call in (corner.name, *corner.nicknames, words.corner(corner.name))
        }
        others = [name.casefold() for name in names.drivers if name]
        self._others = "|".join([*map(re.escape, others), self.table["other"]])
        sentences = [words.sentence(fact) for fact in facts]
        self.text = " ".join(sentences).casefold()
        self.parts = [
            part
            for fact, sentence in zip(facts, sentences, strict=True)
            for part in self._bear(fact, sentence)
        ]
        named = {name for part in self.parts for name in part.corners}
        calls = [call for call, name in self.called.items() if name in named]
        people = (names.asker, *(fact.driver for fact in facts), *calls)
        self.known = frozenset(re.findall(r"[^\W\d_]+", " ".join((self.text, *people)).casefold()))

    def refute(self, sentence: str) -> str | None:
        """Why the facts do not bear a sentence out; None: they do."""
        if (name := self._stranger(sentence)) is not None:
            return f"name: {name}"
        low = self._spread(sentence.casefold())
        if None in self._corners(low):
            return "corner"
        supposes = _has(self.table["if"], low)
        parts = [self._read(text) for text in _PART.split(low) if text.strip()]
        last = next((part.corners for part in parts if part.corners), frozenset[str]())
        named, said, other = frozenset[str](), False, False
        for part in parts:
            if part.corners:  # Turns 4 and 5 are named together
                last = part.corners if said else part.corners | named
                named, said = last, False
            said = said or bool(part.numbers)
            other = part.about_other or (other and not _has(self.table["own"], part.text))
            read = part._replace(corners=last, advises=part.advises or supposes, about_other=other)
            if (why := self._refute_part(read)) is not None:
                return why
        return None

    def _refute_part(self, part: Part) -> str | None:
        about = [
            one
            for one in self.parts
            if not (part.corners and one.corners) or one.corners & part.corners
        ]
        if part.corners - frozenset(name for one in self.parts for name in one.corners):
            return "corner"
        if set(part.sectors) - {sector for one in about for sector in one.sectors}:
            return "sector"
        for key in ("events", "ever"):
            for pattern in self.table[key]:
                for match in _compiled(pattern).finditer(part.text):
                    if not _has(re.escape(match[0]), self.text):
                        return f"{key}: {match[0]}"
        if re.search(rf"\b(?:{self.table['limits']}) (?:\w+ )?\d", part.text):
            limits = re.findall(rf"\b(?:{self.table['limits']})\b", part.text)
            if any(limit not in self.text for limit in limits):
                return "limit"
        bearing = about
        for number in (*part.numbers, *(Number(float(lap), "lap") for lap in part.laps)):
            near = [one for one in about if one.corners or not part.corners]
            bearing = [one for one in near if any(_same(number, each) for each in one.numbers)]
            if not bearing and number.unit == "lap":
                bearing = [one for one in about if any(_same(number, o) for o in one.numbers)]
            if not bearing:
                return f"number: {number.value:g} {number.unit}"
            if part.laps and all(one.laps and not {*one.laps} & {*part.laps} for one in bearing):
                return "lap"
            if (why := self._refute_topic(part.text, number, bearing)) is not None:
                return why
            if self._mixes_up(part, number, bearing):
                return "driver"
        if part.negated and (part.numbers or not part.advises):
            bearing = [one for one in bearing if one.negated]
            return None if bearing else "not"
        if len(part.laps) > 1 and _has("|".join(self.table["poles"]["pace"]), part.text):
            bearing = [one for one in bearing if one.laps == part.laps]
            if not bearing:
                return "laps"
        return self._refute_pole(part, bearing, about)

    def _refute_topic(self, text: str, number: Number, bearing: Sequence[Part]) -> str | None:
        """Whether a number of the part is of something else than the facts have it of."""
        for name, patterns in self.table["topics"].items():
            if number.unit == "lap" and name in ("where", "what"):
                continue
            said = [pattern for pattern in patterns if _has(pattern, text)]
            if name == "what" and number.unit in ("km/h", "lap"):
                said = [pattern for pattern in said if not _has(pattern, self.table["speed"])]
            if not said or any(_has(one, part.text) for one in said for part in bearing):
                continue
            silent = not any(_has(one, part.text) for one in patterns for part in bearing)
            told = any(_has(one, self.text) for one in said) and number.unit != "lap"
            elsewhere = name in ("which", "of") and any(
                _has(one, part.text) and any(each.unit == number.unit for each in part.numbers)
                for one in said
                for part in self.parts
            )
            if not silent or not told or elsewhere:
                return f"topic: {name}"
        return None

    def _mixes_up(self, part: Part, number: Number, bearing: Sequence[Part]) -> bool:
        """Whether a number that is no difference is said of the wrong driver."""
        poles = self.table["poles"]
        apart = "|".join(one for name in ("early", "pace", "amount") for one in poles[name])
        if number.unit == "lap" or not _has(self._others, self.text) or _has(apart, part.text):
            return False
        known = [each for one in bearing for each in one.numbers if _same(number, each)]
        return all(each.others != number.others for each in known)

    def _refute_pole(
        self, part: Part, bearing: Sequence[Part], about: Sequence[Part]
    ) -> str | None:
        """Whether a word of the part turns a fact round."""
        topics = self._topics(part)
        other = all(self._topics(one) - topics for one in bearing)
        alike = [one for one in about if self._topics(one) & topics] or about
        for name, poles in self.table["poles"].items():
            for side, pattern in enumerate(poles):
                if not _has(pattern, part.text):
                    continue
                said = side ^ part.about_other
                held = bearing if part.numbers else alike
                states = self._poles(poles, held, advises=False)
                if name == "pace" and any(each.unit == "km/h" for each in part.numbers):
                    amounts = self._poles(self.table["poles"]["amount"], held, advises=False)
                    states |= {1 - amount for amount in amounts}
                if not states and not part.numbers:
                    states = self._poles(poles, about, advises=False)
                if not states and name in _OPEN and not (part.numbers and other):
                    # a fact may leave it to the one before
                    states = self._poles(poles, about, advises=False)
                    states = states or self._poles(poles, self.parts, advises=False)
                if part.advises:
                    states = self._poles(poles, alike, advises=False)
                    bids = self._poles(poles, about, advises=True)
                    fits = said in bids or (1 - said in states and said not in states)
                    fits = fits or not (states | bids)
                else:
                    fits = said in states
                if not fits:
                    return f"pole: {name}"
        return None

    def _topics(self, part: Part) -> frozenset[str]:
        """Of what a part speaks: patterns of the table."""
        patterns = (one for name in ("what", "of") for one in self.table["topics"][name])
        return frozenset(one for one in patterns if _has(one, part.text))

    def _poles(
        self, poles: Sequence[str], parts: Sequence[Part], *, advises: bool
    ) -> frozenset[int]:
        """Which of two opposites the parts name, as the own driver has them."""
        return frozenset(
            side ^ part.about_other
            for part in parts
            for side, pattern in enumerate(poles)
            if part.advises == advises and not part.negated and _has(pattern, part.text)
        )

    def _bear(self, fact: Fact, sentence: str) -> Iterator[Part]:
        """The parts of a fact; one that names no topic belongs to the one before."""
        low = self._spread(sentence.casefold())
        topics = [one for patterns in self.table["topics"].values() for one in patterns]
        texts: list[str] = []
        for text in filter(str.strip, _PART.split(low)):
            begins = self._corners(text) or _has(self.table["not"], text.strip().split(" ")[0])
            begins = begins or (texts and self._measures(texts[-1]) and self._measures(text))
            if texts and not begins and not any(_has(topic, text) for topic in topics):
                texts[-1] += f", {text}"
            else:
                texts.append(text)
        corners = {name for name in self._corners(low) if name}
        if fact.place is not None and fact.place.corner:
            corners.add(fact.place.corner)
        exact = list(_values(fact.values.values()))
        other = False
        for text in texts:
            part = self._read(text)
            if other and not part.negated and not _has(self.table["own"], part.text):
                numbers = tuple(each._replace(others=True) for each in part.numbers)
                part = part._replace(about_other=True, numbers=numbers)
            other = part.about_other
            near = [
                one._replace(others=each.others)
                for one in exact
                for each in part.numbers
                if _same(each, one)
            ]
            laps = part.laps or (fact.laps if len(texts) == 1 else ())
            yield part._replace(
                corners=part.corners or frozenset(corners),
                numbers=(*part.numbers, *near, *(Number(float(lap), "lap") for lap in laps)),
                advises=fact.kind.startswith(ADVICE),
            )

    def _measures(self, text: str) -> bool:
        """Whether a text has a number with a unit."""
        return any(number.unit for number in self._numbers(self._labels(text)[0]))

    def _read(self, text: str) -> Part:
        bare, laps, sectors = self._labels(text)
        words = bare.split()
        own = _has(self.table["own"], bare)
        bids = not own and _has(self.table["bid"], " ".join(words[:4]))
        other = self._is_about_other(bare)
        head, versus, tail = bare, "", ""
        if (match := re.search(rf"(?<!\w)(?:{self.table['versus']})(?!\w)", bare)) is not None:
            head, versus, tail = bare[: match.start()], match[0], bare[match.end() :]
        numbers = (
            *(each._replace(others=other) for each in self._numbers(head)),
            *(each._replace(others=other != bool(versus)) for each in self._numbers(tail)),
        )
        return Part(
            bare,
            frozenset(name for name in self._corners(text) if name),
            laps,
            sectors,
            numbers,
            bids or _has(self.table["advise"], bare),
            _has(self.table["not"], bare),
            other,
        )

    def _is_about_other(self, text: str) -> bool:
        """Whether the first person named, and not compared with, is another driver."""
        than = rf"(?<!\w)(?:{self.table['than']}) (?:\w+ )?(?:{self._others})(?!\w)"
        bare = re.sub(than, " ", text)
        other = re.search(rf"(?<!\w)(?:{self._others})(?!\w)", bare)
        own = re.search(rf"(?<!\w)(?:{self.table['own']})(?!\w)", bare)
        return other is not None and (own is None or other.start() < own.start())

    def _corners(self, text: str) -> set[str | None]:
        """Names of the corners that a text names; None among them: one that there is not."""
        found: set[str | None] = set()
        for call, name in self.called.items():
            if re.search(rf"(?<!\w){re.escape(call)}(?!\w)", text):
                found.add(name)
        numbers = {str(corner.number): corner.name for corner in self.names.corners}
        numbers |= {w: numbers.get(str(n)) or "" for w, n in self.table["numbers"].items()}
        pattern = rf"\b{self.table['corner']}[ -]?(\d+[a-z]?|{'|'.join(self.table['numbers'])})\b"
        for match in re.finditer(pattern, text):
            found.add(numbers.get(match[1]) or None)
        return found

    def _spread(self, text: str) -> str:
        """The text with *turns 4 and 5* as *turn 4 turn 5*, and so laps and sectors."""
        for key in ("corner", "lap", "sector"):
            pattern = rf"\b({self.table[key]}) (\d+(?:{_JOINT}\d+)+){_NO_UNIT}"
            text = re.sub(
                pattern,
                lambda m: " ".join(f"{m[1]} {n}" for n in re.findall(r"\d+", m[2])),
                text,
            )
        return text

    def _labels(self, text: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        """The text without the numbers of places and laps, and those of laps and of sectors."""
        bare = re.sub(rf"\b{self.table['corner']}[ -]?\d+[a-z]?\b", " ", text)
        for call in sorted(self.called, key=len, reverse=True):
            bare = re.sub(rf"(?<!\w){re.escape(call)}(?!\w)", " ", bare)
        found = {}
        for key in ("lap", "sector"):
            pattern = rf"\b{self.table[key]} (\d+){_NO_UNIT}"
            found[key] = tuple(map(int, re.findall(pattern, bare)))
            bare = re.sub(pattern, f" {key} ", bare)
        return bare, found["lap"], found["sector"]

    def _numbers(self, text: str) -> Iterator[Number]:
        for match in _NUMBER.finditer(text):
            digits = match[2].replace(",", ".")
            half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
            if match[1] is not None:
                yield Number(float(digits) + 60.0 * int(match[1]), "lap_time", half)
            else:
                yield self._with_unit(float(digits), half, text[match.end() :])
        for word, value in self.table["numbers"].items():
            for match in re.finditer(rf"\b{word}\b", text):
                yield self._with_unit(float(value), 0.5, text[match.end() :])
        units = "|".join(pattern for pattern, *_ in _UNITS if len(pattern) > 3)
        single = rf"\b(?:{self.table['one']}) ((?:{units}|{self.table['tenths']})\b.*)"
        for match in re.finditer(single, text):
            yield self._with_unit(1.0, 0.5, match[1])

    def _with_unit(self, value: float, half: float, rest: str) -> Number:
        rest = rest.lstrip(" \u00a0\u202f-")
        if re.match(self.table["tenths"], rest):
            return Number(value / 10, "s", half / 10)
        for pattern, unit, factor in _UNITS:
            if re.match(rf"(?:{pattern})(?!\w)", rest):
                return Number(value * factor, unit, half * factor)
        return Number(value, "", min(half, 0.05) if half < 0.5 else 0.0)

    def _is_word(self, word: str) -> bool:
        """Whether a word is one of the tables, so that it is no name."""
        table = self.table
        plain = [table[key] for key in ("bid", "advise", "if", "not", "limits", "other", "own")]
        lists = [one for key in ("poles", "topics") for some in table[key].values() for one in some]
        patterns = [*plain, *lists, *table["events"], *table["ever"], "|".join(table["numbers"])]
        return any(re.fullmatch(pattern, word) for pattern in patterns)

    def _stranger(self, sentence: str) -> str | None:
        """A name in the sentence that no fact has."""
        if self.language == "de":
            return None  # every noun has a capital there
        for match in re.finditer(r"(?<![\w'\u2019])([A-ZÀ-Þ][^\W\d_]+)", sentence):
            word = match[1]
            if word.casefold() in self.known or re.fullmatch(self.table["common"], word):
                continue
            begins = not sentence[: match.start()].strip(' "\u201c\u00ab(\u00bf\u00a1')
            verb = re.match(r" (?:\w+(?:s|ed|t)|had|did)\b", sentence[match.end() :])
            if self._is_word(word.casefold()) or (begins and not verb):
                continue
            return word
        return None


def _same(said: Number, known: Number) -> bool:
    """Whether a number says a known one, rounded to the digits that it has."""
    apart = abs(abs(said.value) - abs(known.value))
    half = min(said.half, 0.1 * abs(said.value))
    if said.unit == "s":
        half = min(half, 0.05)
    return said.unit == known.unit and apart <= half + _TINY


def _values(cells: Iterable[Cell]) -> Iterator[Number]:
    for cell in cells:
        match cell:
            case Value(number, unit):
                yield Number(number, unit)
            case int():
                yield Number(float(cell), "")
            case tuple():
                yield from _values(part for part in cell if isinstance(part, Value | int))


def _has(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?<!\w)(?:{pattern})(?!\w)|(?<=\w)n't\b"
        if "n't" in pattern
        else rf"(?<!\w)(?:{pattern})(?!\w)"
    )


@cache
def _tables() -> Mapping[Language, Any]:
    path = Path(__file__).with_suffix(".yaml")
    tables: Mapping[Language, Any] = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
    return tables
