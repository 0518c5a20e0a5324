"""Checks a model's sentences against the facts of an answer: no number, place or direction but
theirs.

``statements.yaml`` says what each kind of fact states; ``words.yaml`` has the words that are claims
(early, most, the brake …) and those that no fact supports (tyres, wind, a spin). All other words
are free. A part of a sentence stands if one statement has all of its claims, places and numbers.

Both are sets of marks: whose it is (own, other, usual, best, lap 4; than-best: compared with it),
where (at Turn 1, sector 2), what about (brake, apex, coast …), which way (early, lose, more …),
which rank (most, next …), and bid, advice.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from runtime.bridge.coach.fact import Corner, Fact, Term, Value
from runtime.bridge.coach.understanding.mentions import Names
from runtime.bridge.coach.understanding.phrases import read_yaml
from runtime.bridge.coach.wording.words import Words

OPPOSITE: Final = {
    "early": "late",
    "late": "early",
    "more": "less",
    "less": "more",
    "lose": "quick",
    "quick": "lose",
    "same": "same",
}
"""How one side differs from another, and how the other then differs from it."""
RANKS: Final = frozenset({"most", "least", "next", "lead"})
"""lead: what to begin with."""
SPOTS: Final = frozenset({"apex", "entry", "exit"})
SUBJECTS: Final = frozenset({"own", "other", "than-own", "than-other"})
PARTIES: Final = frozenset({"own", "other", "usual", "best", "file"})
"""file: the plan in the circuit's file."""
ROLES: Final = {
    "": ("", "from", "to", "by"),
    "at": ("", "from", "to"),
    "from": ("", "from", "than"),
    "to": ("", "to"),
    "by": ("", "by"),
    "than": ("than",),
}
"""The roles of a fact's figure (empty: a difference; at: a level; than: the other's level), and the
roles it may have in a sentence; by: … earlier."""


class Number(NamedTuple):
    """A number of a sentence."""

    role: str
    """Its context: from, to, than, by or nothing."""
    low: float
    high: float
    unit: str | None
    """As in a fact; None: not stated."""


class Figure(NamedTuple):
    """A number of a fact."""

    role: str
    number: float
    unit: str

    def is_meant_by(self, mention: Number) -> bool:
        """Whether *mention* is this figure when rounded."""
        return (
            mention.unit in (None, self.unit)
            and mention.role in ROLES[self.role]
            and mention.low <= abs(self.number) <= mention.high
        )


class Statement(NamedTuple):
    """What one fact supports at once."""

    marks: frozenset[str]
    needs: frozenset[str]
    """One of these must be stated; empty: none."""
    figures: tuple[Figure, ...]
    bid: bool = False
    """Whether it is advice, not a result."""

    @property
    def has_corner(self) -> bool:
        """Whether it speaks of a corner."""
        return any(mark.startswith("at ") for mark in self.marks)


class Part(NamedTuple):
    """A part of a sentence."""

    marks: frozenset[str] = frozenset()
    numbers: tuple[Number, ...] = ()

    @property
    def places(self) -> frozenset[str]:
        """The corners and sectors."""
        return frozenset(mark for mark in self.marks if mark.startswith(("at ", "sector ")))

    @property
    def whose(self) -> frozenset[str]:
        """Who or which lap does it, and compared with whom or which."""
        return frozenset(
            mark for mark in self.marks if mark.removeprefix("than-") in PARTIES or "lap " in mark
        )

    @property
    def ways(self) -> frozenset[str]:
        """Ways in which something differs."""
        return self.marks & OPPOSITE.keys()

    @property
    def is_opener(self) -> bool:
        """Whether it only introduces the next part: on a usual lap, …"""
        return not self.numbers and self.marks <= self.whose | self.places | SPOTS

    def __str__(self) -> str:
        return " ".join(sorted(self.marks)) or "number"

    def follow(self, before: "Part") -> "Part":
        """Take over the driver and lap of the part *before*, unless it states its own."""
        stated = self.whose & {"best", "usual"} or {mark for mark in self.marks if "lap " in mark}
        return self.join(before.whose & SUBJECTS if stated else before.whose)

    def join(self, marks: frozenset[str]) -> "Part":
        """Add marks."""
        return self._replace(marks=self.marks | marks)

    def split(self) -> Iterator["Part"]:
        """Split its claims: each number, else each corner, or each named topic."""
        claims = self.marks - self.places
        if self.numbers:
            yield from (self._replace(numbers=(number,)) for number in self.numbers)
        elif self.ways or claims & RANKS:
            yield self
        else:
            whose = self.whose - {"usual"}
            yield Part(whose)
            yield from (Part(frozenset({place})) for place in self.places)
            topics = frozenset[str]() if "bid" in claims else claims - whose
            yield from (Part(self.places | {topic}) for topic in topics)

    def is_supported_by(self, statement: Statement) -> bool:
        """Whether it says no more than the statement."""
        bid = "bid" in self.marks
        stated = self.marks | {number.role for number in self.numbers}
        unturned = "other" in statement.needs and not self.ways  # who is ahead must be stated
        figures = [figure for figure in statement.figures if figure.role or not unturned]
        return (
            self.marks - {"bid"} <= statement.marks
            and not (self._compares_laps and statement.has_corner)
            and (not statement.needs or bool(stated & statement.needs))
            and (bid == statement.bid or not (self.ways - {"same"} or (bid and self.numbers)))
            and all(
                any(figure.is_meant_by(number) for figure in figures) for number in self.numbers
            )
        )

    @property
    def _compares_laps(self) -> bool:
        """Whether it says that a lap is quicker as a whole."""
        bare = not self.numbers and not self.places and bool(self.ways & {"lose", "quick"})
        return bare and any("lap " in mark for mark in self.marks)


# Reading a sentence

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
"""How units are written, the fact's unit of each, and its factor."""
HEDGES: Final = {
    "exact": (0.0, 0.0),
    "near": (0.1, 0.1),
    "over": (0.0, 0.36),
    "under": (0.12, 0.0),
}
"""Tolerance below and above a number after about, over and almost: at most this share of it."""
NAME: Final = (
    r"(?<=[\w,;] )[A-ZÀ-Þ][a-zß-ÿ]{{2,}}"
    r"|^(?!(?:{subjects})\b)[A-ZÀ-Þ][a-zß-ÿ]{{2,}}(?= (?:{verbs})\b)"
)
"""Words written as a name; the first word only if a verb follows."""
TINY: Final = 2e-3
LEXICONS: Final = 32
"""Lexicons kept at a time: a language with the names of a circuit and its drivers."""


class Reader:
    """Reads sentences of one language."""

    def __init__(
        self, language: str, corners: Mapping[str, str], people: Sequence[str], wording: str
    ) -> None:
        self.corners = corners
        """Corner names on file by what they are called, in lower case."""
        self.vocabulary = frozenset(
            re.findall(r"\w+", " ".join([*corners, *people, wording]).lower())
        )
        """Words of the facts and of names."""
        self.lexicon = _lexicon(language, tuple(sorted(corners)), tuple(sorted(people)))

    def find_stranger(self, sentence: str) -> str | None:
        """Return a name that neither facts nor circuit have."""
        names = self.lexicon.names.findall(sentence)
        return next((name for name in names if name.lower() not in self.vocabulary), None)

    def parts(self, sentence: str) -> Iterator[Part]:
        """Yield the parts of a sentence; a mark that begins with ? is supported by no fact."""
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
                own_role = role if match["by"] is None else "by"
                numbers.append(_number(match["number"], match["unit"], own_role, hedge))
                role, hedge = "", ""
            elif kind in HEDGES:
                hedge = kind
            elif kind == "to" and numbers:
                yield _part(marks, numbers, contrast)
                marks, numbers, role, hedge, against, contrast = set(), [], kind, "", False, False
            elif kind == "strange":
                marks.update(() if text in self.vocabulary else (f"?{text}",))
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
    """Words written as a name."""
    scanner: re.Pattern[str]
    numbers: Sequence[tuple[re.Pattern[str], str]]
    """Spelt-out numbers and their digits."""


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
        below, above = (max(margin, HEDGES["near"][0] * number) for margin in (below, above))
    elif hedge:
        reach = digit / 2 if hedge == "near" else digit
        below, above = min(below, reach), min(above, reach)
    half = 0.5 * 10.0 ** -len(rest.partition(".")[2]) if hedge in ("", "near") else 0.0
    name, factor = ("s", 1.0) if minutes else (None, 1.0)
    for pattern, fact_unit, scale in UNITS:
        if unit and re.fullmatch(pattern, unit):
            name, factor = fact_unit, scale
            break
    if name == "s" and factor == 1.0 and "." not in rest:  # nobody says 1 s for half a second
        half = min(half, 0.25)
    low, high = number - max(below, half), number + max(above, half)
    return Number(role, low * factor - TINY, high * factor + TINY, name)


def _part(marks: set[str], numbers: Sequence[Number], contrast: bool) -> Part:
    """Make a part of what was read so far; a *contrast* to an earlier one: … instead of 106 m."""
    if "not" in marks:
        marks = {OPPOSITE.get(mark, mark) for mark in marks - {"not"}}
    bare = not marks & PARTIES and not any(mark.startswith("lap") for mark in marks)
    if contrast and numbers and (bare or len(numbers) > 1):
        numbers = [numbers[0]._replace(role="than"), *numbers[1:]]
    unit, with_units = None, []
    for number in reversed(numbers):  # from 127 to 106 m
        unit = unit if number.unit is None else number.unit
        with_units.append(number._replace(unit=unit))
    return Part(frozenset(marks), tuple(reversed(with_units)))


@cache
def _words() -> Mapping[str, Any]:
    return read_yaml(Path(__file__).with_name("words.yaml"))


# Statements of the facts

PAIRS: Final = (
    *(("own", "best"), ("own", "theirs"), ("usual", "best"), ("low", "best_low")),
    *(("leave", "best_leave"), ("now", "aim"), ("time", "other_time"), ("time", "usual")),
    *(("spread", "other_spread"), ("own", "target"), ("own", "file"), ("usual", "other_usual")),
)
"""Pairs of values whose difference may be stated: the first side's and the second's."""
ALIKE: Final = 0.02
"""Values that differ by less than this share may be called the same."""
LEVEL: Final = 0.002
"""Below this share they do not differ."""
SMALL_S: Final = 0.05
"""The largest loss that needs no cure."""
EPSILON: Final = 1e-9


def state(fact: Fact) -> Iterator[Statement]:
    """Yield what a fact supports; a kind missing in the table supports its numbers alone."""
    table = _table()
    lines = table["kinds"].get(fact.kind)
    if lines is None:
        yield _numbers_alone(fact, table["topics"].split())
        return
    levels: dict[str, Row] = {}
    for row in (
        _row(line, single, table["terms"]) for line in lines for single in _split_list(fact, line)
    ):
        if row is None:
            continue
        if row.than:
            yield from _compare(row)
            continue
        bare = "own" in row.own and not row.bid and not row.about & OPPOSITE.keys() - {"same"}
        needs = frozenset() if bare else row.own - {"own", "usual"}
        needs |= {"bid", "to"} if row.bid else {"to"} if "best" in needs else set()
        needs = frozenset() if "any" in row.about else needs
        dative = {"than-own"} & {f"than-{mark}" for mark in row.own}
        yield Statement(row.place | row.own | dative | row.about, needs, row.figures, row.bid)
        levels |= {row.key: row} if len(row.figures) == 1 else {}
    for first, second in PAIRS:
        if first in levels and second in levels:
            yield from _compare(*_difference(levels[first], levels[second]))


class Row(NamedTuple):
    """A line of the table with the values of a fact: what one side did, perhaps compared with
    another."""

    place: frozenset[str]
    own: frozenset[str]
    than: frozenset[str]
    about: frozenset[str]
    figures: tuple[Figure, ...]
    key: str
    """Key of the last value."""
    bid: bool = False


def _split_list(fact: Fact, line: str) -> Iterator[Fact]:
    """Yield the fact once for each item of the list that the line is about."""
    key = line.split("|")[1].strip().split(" ")[0].removeprefix("$")
    cell = fact.values.get(key)
    if isinstance(cell, tuple) and not isinstance(cell, Value | Term | Corner):
        yield from (replace(fact, values={**fact.values, key: item}) for item in cell)
    else:
        yield fact


def _row(line: str, fact: Fact, terms: Mapping[str, str]) -> Row | None:
    """Fill a line with the values of a fact; None if a value is missing."""
    who, about, keys = (column.split() for column in line.split("|"))
    place = [f"at {fact.place.corner}"] if fact.place and fact.place.corner else []
    if who[0].startswith("@"):
        place = _marks("", fact.values.get(who.pop(0)[1:]), terms)
    split = who.index("than") if "than" in who else len(who)
    columns = [_resolve(words, fact, terms) for words in (who[:split], who[split + 1 :], about)]
    figures = tuple(figure for word in keys for figure in _figures(word, fact))
    if split == len(who):
        figures = tuple(figure._replace(role=figure.role or "at") for figure in figures)
    own, than, marks = columns
    if "never" in own | than | marks or (keys and not figures):
        return None
    key = keys[-1].rpartition("$")[2] if keys else ""
    return Row(frozenset(place), own - {"bid"}, than, marks, figures, key, "bid" in own)


def _compare(row: Row, levels: tuple[Figure, ...] = ()) -> Iterator[Statement]:
    """Yield one side against the other, the reverse, and the advice; *levels* of both if known."""
    ways = row.about & OPPOSITE.keys()
    turned = row.about - ways - RANKS | {OPPOSITE[way] for way in ways}
    worth = {"worth"} if "lose" in ways else set()
    sides = ((row.own, row.than, row.about | worth), (row.than, row.own, turned))
    for (own, than, about), both in zip(sides, (levels, levels[::-1]), strict=True):
        compared = {f"than-{mark}" for mark in than | ({"own"} - own)}
        compared |= {"own", "than-own"} if "other" not in own | than else set()
        needs = frozenset() if "own" in own else own - {"usual"} or own
        shown = tuple(
            figure._replace(role=role) for figure, role in zip(both, ("at", "than"), strict=False)
        )
        yield Statement(row.place | own | compared | about, needs, row.figures + shown)
    both_sides = row.own | row.than
    if "same" in ways:
        marks = row.place | both_sides | row.about - ways | {"same"}
        yield Statement(marks, frozenset({"same"}), ())
    if "own" in both_sides and ways - {"same"}:
        marks = row.place | both_sides | {f"than-{mark}" for mark in both_sides - {"best"}} | worth
        marks |= (
            (turned if "own" in row.own else row.about) | row.about & RANKS | {"quick", "worth"}
        )
        shown = tuple(
            figure._replace(role=role) for figure, role in zip(levels, ("from", "to"), strict=False)
        )
        yield Statement(marks, frozenset({"bid"}), row.figures + shown, bid=True)


def _difference(first: Row, second: Row) -> tuple[Row, tuple[Figure, ...]]:
    """Return by how much and which way one level differs from another; both levels."""
    figure, other = first.figures[0], second.figures[0]
    apart = figure.number - other.number
    share = abs(apart) / max(abs(figure.number), abs(other.number), EPSILON)
    about = (first.about | second.about) - OPPOSITE.keys()
    ways: set[str] = {"same"} if share <= ALIKE else set()
    if "throttle" in about and figure.unit == "m":  # before or after the apex
        return Row(first.place, first.own, second.own, frozenset(about), (), ""), ()
    if "brake" in about and figure.unit == "m":
        way, cost = "early" if apart > 0 else "late", ""
    elif figure.unit == "km/h":
        way, cost = ("more", "quick") if apart > 0 else ("less", "lose")
    else:
        way, cost = ("more", "lose") if apart > 0 else ("less", "quick")
    if share >= LEVEL:
        ways |= {way} if "coast" in about or not cost else {way, cost}
    row = Row(
        first.place, first.own, second.own, about | ways, (Figure("", apart, figure.unit),), ""
    )
    return row, (figure, other)


def _numbers_alone(fact: Fact, topics: Sequence[str]) -> Statement:
    """State the numbers of a fact, of anyone and about anything."""
    marks = {f"at {fact.place.corner}"} if fact.place and fact.place.corner else set()
    marks |= {f"lap {lap}" for lap in fact.laps}
    marks |= {mark for cell in fact.values.values() for mark in _marks("", cell, {})}
    figures = tuple(figure for key in fact.values for figure in _figures(f"${key}", fact))
    return Statement(frozenset(marks | {*topics, "own", "usual", "best"}), frozenset(), figures)


def _figures(word: str, fact: Fact) -> Iterator[Figure]:
    """Yield the numbers of a value; *word* is $key, from:$key or to:$key."""
    role, _, key = word.rpartition("$")
    cell = fact.values.get(key)
    for item in (cell,) if isinstance(cell, Value) or not isinstance(cell, tuple) else cell:
        if isinstance(item, Value):
            unit = "s" if item.unit == "lap_time" else item.unit
            yield Figure(role.rstrip(":"), item.number, unit)
        elif isinstance(item, int):
            yield Figure(role.rstrip(":"), float(item), "")


def _resolve(column: Sequence[str], fact: Fact, terms: Mapping[str, str]) -> frozenset[str]:
    """Return the marks of a column; $key stands for those of a value."""
    marks: set[str] = set()
    for word in column:
        head, dollar, key = word.rpartition("$")
        cell = fact.values.get(key)
        if word == "lap:first":
            marks.update(f"lap {lap}" for lap in fact.laps[:1])
        elif not dollar:
            marks.add(word)
        elif head == "sign:" and isinstance(cell, Value):
            marks.add("lose" if cell.number > 0 else "quick")
        elif head == "kept:" and isinstance(cell, Value):
            marks.add("never" if cell.number > SMALL_S else "same")
        else:
            marks.update(_marks(head.replace(":", " "), cell, terms))
    return frozenset(marks)


def _marks(head: str, cell: object, terms: Mapping[str, str]) -> list[str]:
    """Return the marks of a value that is not a number."""
    match cell:
        case Value():
            return []
        case Corner():
            return [f"at {cell.name}"]
        case Term() | str():
            key = cell.key if isinstance(cell, Term) else cell
            return terms.get(f"{head}{key}", "never" if head else "").split()
        case tuple():
            return [mark for item in cell for mark in _marks(head, item, terms)]
        case int():
            return [f"{head}{cell}"] if head else []
    return []


@cache
def _table() -> Mapping[str, Any]:
    return read_yaml(Path(__file__).with_name("statements.yaml"))


# Whether the facts support a sentence

MOODY: Final = frozenset({"early", "late", "more", "less"})
"""Ways that a part takes over from the part before: try it again, and brake later."""


class Evidence:
    """The facts of one answer, in the language of its reader."""

    def __init__(self, facts: Sequence[Fact], words: Words, names: Names) -> None:
        own_facts = [fact for fact in facts if not names.asker or fact.driver in ("", names.asker)]
        self.statements = [statement for fact in own_facts for statement in state(fact)]
        corners = {
            call.lower(): corner.name
            for corner in names.corners
            for call in (corner.name, *corner.nicknames, words.corner(corner.name))
        }
        people = {*names.drivers, *(fact.other for fact in facts)} - {"", names.asker}
        wording = " ".join(map(words.sentence, facts))
        self.reader = Reader(words.language, corners, sorted(people), wording)

    def refute(self, sentence: str) -> str | None:
        """Explain why the facts do not support a sentence; None: they do.

        A part without a place refers to the place of the part before. It may also refer to the same
        driver or lap, or continue what that part says.
        """
        if stranger := self.reader.find_stranger(sentence):
            return f"?{stranger}"
        before, opener, mood = Part(), Part(), frozenset[str]()
        parts = [part for part in self.reader.parts(sentence) if any(part)]
        for at, part in enumerate(parts):
            strange = [mark for mark in part.marks if mark.startswith("?")]
            if strange:
                return strange[0]
            if part.marks & {"bid", "own", "other"}:
                mood = part.marks & {"bid"}
            if not (part.places and opener.places):
                part = part.join(opener.marks)
            elif not self._supports(opener):
                return str(opener)
            else:  # Turn 1 and Turn 11 are the worst
                part = part._replace(marks=part.marks - RANKS)
            opener = Part()
            if part.is_opener and at + 1 < len(parts):
                opener = part
                continue
            alone = part if part.places else part.join(before.places)
            if part.ways and part.ways <= MOODY:
                alone = alone.join(mood)
            joined = alone.join(before.marks)
            choices = [alone, alone.follow(before), joined]
            if not part.marks:
                choices = [joined]
            elif "other" in before.marks and not part.places and not part.whose & SUBJECTS:
                del choices[0]  # Ben brakes later and coasts less
            if not any(map(self._supports, choices)):
                return str(alone)
            before = alone if part.marks else joined
        return None

    def _supports(self, part: Part) -> bool:
        return all(any(map(claim.is_supported_by, self.statements)) for claim in part.split())
