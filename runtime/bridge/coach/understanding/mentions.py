"""Finds the names in a question: corners, laps, sectors, straights, drivers, times and amounts.

The words stand in ``words/<language>.yaml``, those shared by all languages in ``words/all.yaml``.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from runtime.bridge.coach.fact import Unit, Value
from runtime.bridge.coach.need import Language, Strange
from runtime.bridge.coach.understanding.phrases import (
    CONTRACTED,
    Pattern,
    compile_phrases,
    read_yaml,
    strip_accents,
)

FOLDER: Final = Path(__file__).parent / "words"
LONGEST: Final = 500
"""The most words and marks read of a text."""
ALIKE: Final = 0.82
"""How alike a misspelt nickname must be to the name, from 0 to 1."""
RATHER_ALIKE: Final = 0.6
"""The same for a straight, whose name stands next to the word straight."""
LAST_LAPS: Final = 3
"""How many "my last laps" are."""
OWN_WORD: Final = 5
"""The least letters for a word of a straight's name to stand for it."""
SEVERITY: Final[Mapping[str, int]] = {"hairpin": 1, "kink": 6}
FACTORS: Final[Mapping[str, tuple[float, Unit]]] = {
    "mph": (1.609344, "km/h"),
    "km/h": (1, "km/h"),
    "m": (1, "m"),
    "ft": (0.3048, "m"),
    "yd": (0.9144, "m"),
    "bar": (1, "bar"),
    "psi": (0.0689476, "bar"),
    "s": (1, "s"),
    "tenth": (0.1, "s"),
    "hundredth": (0.01, "s"),
    "min": (60, "s"),
    "h": (3600, "s"),
    "g": (1, "g"),
    "%": (1, "%"),
    "deg": (1, "deg"),
    "rpm": (1, "rpm"),
}
"""Factor from each unit to the coach's unit."""
_PIECE: Final = re.compile(
    r"\d+[:'\u2032]\d{2}(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?|[^\W\d_]+(?:['\u2019](?:t|s|m|re|ve|ll|d)\b)?"
    r"|[^\s\w'\u2019]"
)
_LAP_TIME: Final = re.compile(r"(\d+)[:'\u2032](\d{2}(?:[.,]\d+)?)")
_DOTTED_TIME: Final = re.compile(r"([12])[.,]([0-5]\d)")
"""A lap time without a unit, as many write it: under 1.54."""
_END: Final = frozenset(("", *",.?!;:"))
_ENDS: Final = ("most", "least", "worst")
_NUMBER: Final = frozenset(("number", "nummer", "numero"))
_DASH: Final = frozenset("-\u2013\u2014")

Kind: TypeAlias = Literal["corner", "lap", "sector", "straight", "driver", "amount", "time"]
Noun: TypeAlias = Literal["corner", "lap", "sector"]
MASKS: Final = frozenset(f"{kind}x" for kind in get_args(Kind))
"""Masks that replace names; a user who types one names nothing."""


class CornerNames(NamedTuple):
    """The names of a corner."""

    name: str
    """As on file: Turn 4, or C4 if the circuit is not on file."""
    number: int
    nicknames: tuple[str, ...] = ()
    severity: int = 0
    """From 1, a hairpin, to 6, barely a bend; 0: unknown."""


class Topic(NamedTuple):
    """What the words of a follow-up refer to if they name no kind themselves."""

    number: Noun = "corner"
    """What a number counts: "and 9"."""
    left_out: Noun = "corner"
    """What an excluded number counts."""
    end: Literal["corner", "sector", "lap", "straight"] | None = None
    """What an end is of: "and the slowest"."""
    measured: bool = False
    """Whether it is the end of a measure or a place, not of lap times."""
    amount: Value | None = None
    """The limit that another follows: "and under 53"."""


@dataclass(frozen=True)
class Names:
    """All that can be named: the circuit's places, the session's laps, the drivers."""

    corners: tuple[CornerNames, ...] = ()
    laps: tuple[int, ...] = ()
    """Numbers of the laps, as shown."""
    sectors: tuple[str, ...] = ()
    """Names of the sectors, in order."""
    straights: tuple[str, ...] = ()
    asker: str = ""
    """The driver who asks or is asked about."""
    drivers: tuple[str, ...] = ()
    """Other drivers with a session on this circuit."""
    topic: Topic | None = None
    """None: the question follows no other."""
    longest: str = ""
    """Name of the longest straight."""
    minutes: int = 0
    """Whole minutes of the best lap: of "under 54"."""
    circuit: str = ""
    """Name of the circuit."""


class Piece(NamedTuple):
    """A word, number or mark of the text."""

    word: str
    """In lower case, without accents and apostrophes."""
    start: int
    end: int
    written: str


class Mention(NamedTuple):
    """A name in the text, in the pieces from *first* to before *end*."""

    kind: Kind
    first: int
    end: int
    value: str | int | Value | Strange
    """Name of a corner, straight or driver; number of a lap or sector; an amount."""


class Numbered(NamedTuple):
    """A number that stands for a corner, lap or sector."""

    number: int
    first: int
    end: int


class Words:
    """The words of a language and those shared by all languages."""

    def __init__(self, language: Language) -> None:
        own = read_yaml(FOLDER / f"{language}.yaml")
        shared = read_yaml(FOLDER / "all.yaml")
        self.numbers: Mapping[str, float] = own["numbers"]
        self.sounds_like: Mapping[str, int] = own["sounds_like"]
        self.ordinals: Mapping[str, int] = own["ordinals"]
        self.lists = {
            key: frozenset(word.strip() for word in text.split(","))
            for key, text in (*shared.items(), *own.items())
            if isinstance(text, str)
        }
        self.units = {
            word.strip(): unit for unit, text in shared["units"].items() for word in text.split(",")
        }
        joins, asks = (own[name].replace(", ", "|") for name in ("joins", "asks"))
        asks = asks.replace("*", r"\w*")
        self.splits = re.compile(
            rf"(?<!\d)\.\s+|[?!;]\s+|,?\s+(?:{joins})\s+(?=(?:{asks})\b)", re.IGNORECASE
        )
        """Separators of two questions."""
        self.circuit: str = own["circuit"]
        """What stands for the name of the circuit."""
        self.joined = re.compile(rf",?\s+(?:{joins})\s+", re.IGNORECASE)
        """What stands between two things."""
        written = f"{(FOLDER / f'{language}.yaml').read_text('utf-8')} {' '.join(shared['units'])}"
        self.vocabulary = frozenset(re.findall(r"[a-z]+", written)).union(*self.lists.values())
        """Correctly spelt words."""
        self.nouns = self.lists["corner"] | self.lists["lap"] | self.lists["sector"]
        self.tables: Mapping[str, Mapping[str, Pattern]] = {
            name: {key: compile_phrases(phrases) for key, phrases in table.items()}
            for name, table in own["phrases"].items()
        }


@cache
def words_of(language: Language) -> Words:
    """Return the words of a language, read once."""
    return Words(language)


def split_pieces(text: str) -> list[Piece]:
    """Split a text into words, numbers and marks."""
    pieces = [
        Piece(strip_accents(CONTRACTED.sub("", match[0])), match.start(), match.end(), match[0])
        for match in islice(_PIECE.finditer(text), LONGEST)
    ]
    return [
        piece._replace(word=piece.word[:-1]) if piece.word in MASKS else piece for piece in pieces
    ]


class Reader:
    """Reads the names in a text, from left to right."""

    def __init__(self, text: str, language: Language, names: Names) -> None:
        self.text = text
        self.pieces = split_pieces(text)
        self.words = words_of(language)
        self.names = names
        self.by_number = {corner.number: corner.name for corner in names.corners}
        self.numbers = {corner.name: corner.number for corner in names.corners}
        self.nicknames = _list_nicknames(names.corners)

    def mentions(self) -> list[Mention]:
        """List the names in order."""
        readers = (
            self._time,
            self._straight,
            self._sector,
            self._lap,
            self._corner,
            self._driver,
            self._amount,
        )
        names: list[Mention] = []
        i = 0
        while i < len(self.pieces):
            is_mark = not self.pieces[i].word[:1].isalnum()
            some = [] if is_mark else next((named for read in readers if (named := read(i))), [])
            number = self._count(i)
            laps = bool(some) and some[0].kind == "lap"
            if number and not laps and names and names[-1].kind == "lap" and self._is_compared(i):
                behind = self._noun(number[1], "corner") == number[1]
                some = [Mention("lap", i, number[1], number[0])] if behind else some
            names += some
            i = some[-1].end if some else i + 1
        return names

    def find_before(self, corners: Sequence[str]) -> str | None:
        """Return the first of two corners that follow each other."""
        first, *rest = (self.numbers.get(corner, 0) for corner in corners) if corners else (0,)
        follows = rest == [first + 1] or (rest == [1] and first == len(self.numbers))
        return corners[0] if first and follows else None

    def _is_compared(self, i: int) -> bool:
        """Whether `than` stands before a piece, perhaps with an article."""
        lists = self.words.lists
        at = i - 1 - (self._word(i - 1) in lists["articles"])
        return self._word(at) in lists["against"]

    def leaves_out(self, first: int, end: int, since: int = 0, *, kind: Kind = "lap") -> bool:
        """Whether the names in the pieces from *first* to *end* are excluded: by words before them,
        for a corner with only articles between (not: without braking into turn 4), or by words
        after them."""
        without, articles = self.words.lists["without"], self.words.lists["articles"]
        ends = {i: self._match(i, without) for i in range(max(first - 4, since), first)}
        if any(
            behind > i
            and (kind == "lap" or articles.issuperset(map(self._word, range(behind, first))))
            for i, behind in ends.items()
        ):
            return True
        parts = (f"{self._word(i)} {self._word(end)}" for i in range(max(first - 3, 0), first))
        behind = any(self._match(i, self.words.lists["left_out"]) > i for i in range(end, end + 3))
        return behind or not without.isdisjoint(parts)  # leave lap 6 out

    # pieces

    def _word(self, i: int) -> str:
        return self.pieces[i].word if 0 <= i < len(self.pieces) else ""

    def _match(self, i: int, listed: Collection[str]) -> int:
        """Return the end of the longest listed entry that begins at piece *i*; *i* if none does."""
        for end in range(min(i + 4, len(self.pieces)), i, -1):
            if " ".join(piece.word for piece in self.pieces[i:end]) in listed:
                return end
        return i

    def _noun(self, i: int, noun: Noun) -> int:
        return self._match(i, self.words.lists[noun])

    def _leads_number(self, i: int) -> bool:
        """Whether the noun at a piece belongs to a number behind it: lap 2 of "turn 4 lap 2"."""
        end = self._match(i, self.words.nouns)
        return end > i and self._word(end).isdigit()

    def _touches(self, i: int) -> bool:
        """Whether no space follows a piece."""
        return i + 1 < len(self.pieces) and self.pieces[i + 1].start == self.pieces[i].end

    def _number(self, i: int) -> tuple[float, int] | None:
        """Read a number in figures or words, and the piece after it."""
        word, numbers = self._word(i), self.words.numbers
        if word[:1].isdigit() and not _LAP_TIME.fullmatch(word):
            return float(word.replace(",", ".")), i + 1
        end = self._match(i, numbers)
        if end == i:
            return None
        value = numbers[" ".join(piece.word for piece in self.pieces[i:end])]
        behind = end + (self._word(end) in _DASH)
        if value >= 20 and 0 < numbers.get(self._word(behind), 0) < 10:
            return value + numbers[self._word(behind)], behind + 1
        return value, end

    def _count(self, i: int) -> tuple[int, int] | None:
        """Read a whole number above zero that no unit follows."""
        number = self._number(i)
        if number is None or number[0] < 1 or number[0] % 1 or self._unit(number[1]):
            return None
        return int(number[0]), number[1]

    def _ordinal(self, i: int, noun: Noun) -> Numbered | None:
        """Read `third corner`, `3. Runde`; -1 is the last."""
        word, number, end = self._word(i), self.words.ordinals.get(self._word(i)), i + 1
        suffixed = self._touches(i) and self._word(end) in self.words.lists["suffixes"] | {"."}
        if number is None and word.isdigit() and suffixed:
            number, end = int(word), end + 1
        behind = self._noun(end, noun)
        ranks = self._match(behind, self.words.lists["superlative"]) > behind
        near = f" {' '.join(piece.word for piece in self.pieces[behind : behind + 3])} "
        orders = self.words.tables["orders"]
        topic = self.names.topic
        bare = noun == "sector" and topic is not None and topic.number == noun
        ends = behind == end and not any(orders[key].search(near) for key in _ENDS)
        if bare and number is not None and ends:  # and in the last?
            return Numbered(number, i, end)
        ranks &= any(orders[key].search(near) for key in _ENDS)
        counts = number is not None and behind > end and not ranks  # not: the second slowest one
        return Numbered(number or 0, i, behind) if counts else None

    def _unit(self, i: int) -> tuple[str, int] | None:
        """Read the unit at a piece and the piece after it; none in "turn 4's"."""
        if i < len(self.pieces) and self.text[self.pieces[i].start - 1] in "'\u2019":
            return None
        if self._word(i) == "s" and self._touches(i) and self._word(i + 1).isdigit():
            return None  # S2 is a sector
        at = [j for j in range(i, min(i + 6, len(self.pieces))) if self._word(j) not in "/°."]
        for size in (4, 3, 2, 1):
            unit = self.words.units.get(" ".join(self._word(j) for j in at[:size]))
            if unit and len(at) >= size and at[0] <= i + 1:
                return unit, at[size - 1] + 1
        return None

    def _list(self, i: int, noun: Noun) -> list[Numbered]:
        """Read numbers after the noun at a piece: `turn 4`, `laps 2 to 8`."""
        start = self._noun(i, noun)
        at = start + (self._word(start) in self.words.lists["number"])
        at += self._word(at) in ("°", ".")
        number = self._count(at) if start > i and self._word(at) not in ("a", "an") else None
        spelt = number is not None and not self._word(at).isdigit()
        if number and spelt and self._word(number[1]) in self.words.lists["after_one"]:
            number = None  # one after another
        return self._go_on(Numbered(number[0], i, number[1]), noun) if number else []

    def _go_on(self, last: Numbered, noun: Noun) -> list[Numbered]:
        """Read a number and the rest of its list or range: `4 and 5`, `2 to 8`."""
        lists, numbers = self.words.lists, [last]
        while True:
            at = last.end
            after = self._match(at, lists["range"])
            ranges = after > at or self._word(at) in _DASH
            if after == at:
                after = self._match(at, lists["list"] | lists["without"] | {*",/&+"} | _DASH)
            while self._word(after) in lists["list"] | lists["articles"] | lists["without"]:
                after += 1
            first = self._noun(after, noun)
            bare = noun == "lap" and self._word(at).isdigit()  # laps 1 2 and 3
            number = self._count(first) if after > at or bare else None
            if number and first == after and not self._word(first).isdigit():
                behind = self._word(number[1])  # lap 4, the three biggest losses
                goes_on = lists["list"] | lists["without"] | lists["before_end"]
                number = None if behind[:1].isalpha() and behind not in goes_on else number
            if number is None or self._match(number[1], self.words.nouns) > number[1]:
                return numbers
            if noun == "corner" and first == after and number[0] > max(self.by_number, default=99):
                return numbers  # the hairpin at 47
            between = range(last.number + 1, number[0]) if ranges else ()
            last = Numbered(number[0], after, number[1])
            numbers += (*(last._replace(number=n) for n in between), last)

    def _match_name(self, i: int, name: str, *, exact: bool = False) -> int:
        """Return the end of a name that begins at a piece, perhaps misspelt; *i* if it does not."""
        wanted = strip_accents(name)
        end = i + len(wanted.split())
        text = " ".join(piece.word for piece in self.pieces[i:end])
        if text in (wanted, f"{wanted}s"):
            return end
        exact = exact or end > len(self.pieces) or any(c.isdigit() for c in wanted)
        near = not exact and min(len(wanted), len(text)) >= 5 and text[0] == wanted[0]
        alike = near and SequenceMatcher(None, text, wanted).ratio() > ALIKE
        return end if alike and text not in self.words.nouns else i

    def _place(self, kind: Kind, places: Mapping[int, str | int], place: Numbered) -> Mention:
        """Look up a numbered place, or make it strange; without a list every number exists."""
        number = max(places, default=1) if place.number < 0 else place.number
        text = self.text[self.pieces[place.first].start : self.pieces[place.end - 1].end]
        strange = Strange(kind, text) if kind not in ("amount", "time") else number  # type: ignore[arg-type]
        return Mention(kind, place.first, place.end, places.get(number, strange))

    # what is named

    def _time(self, i: int) -> list[Mention]:
        """Read a lap time: 1:52.0, or one fifty-two."""
        match, minutes = _LAP_TIME.fullmatch(self._word(i)), self._number(i)
        dotted = _DOTTED_TIME.fullmatch(self._word(i))
        if match := match or (dotted if not self._unit(i + 1) else None):
            seconds = 60 * int(match[1]) + float(match[2].replace(",", "."))
            return [Mention("time", i, i + 1, Value(seconds, "lap_time"))]
        rest = self._number(i + 1)
        if not minutes or not rest or minutes[0] not in (1, 2) or not 10 <= rest[0] < 60:
            return []
        figures = self._word(i).isdigit(), self._word(i + 1).isdigit()
        noun = self._word(i - 1) in self.words.nouns | self.words.lists["list"]
        if figures[0] != figures[1] or (all(figures) and noun) or self._unit(rest[1]):
            return []
        return [Mention("time", i, rest[1], Value(60 * minutes[0] + rest[0], "lap_time"))]

    def _amount(self, i: int) -> list[Mention]:
        """Read a number with a unit; a count of laps has none."""
        number = self._number(i)
        inside = i > 0 and self._match(i - 1, self.words.units) > i  # of miles an hour
        if (
            number is None
            or inside
            or (self._touches(i) and self._word(i + 1) in self.words.lists["suffixes"])
        ):
            return []
        more = number[1] + (self._word(number[1]) in self.words.lists["more"] | _DASH)
        if (unit := self._unit(more)) is not None:
            factor, name = FACTORS[unit[0]]
            return [Mention("amount", i, unit[1], Value(round(number[0] * factor, 6), name))]
        # many languages say "one lap" for "a lap"
        behind = self._noun(more, "lap") if number[0] != 1 else more
        behind = more if self._leads_number(more) else behind
        return [Mention("amount", i, behind, Value(number[0], ""))] if behind > more else []

    def _lap(self, i: int) -> list[Mention]:
        """Read laps by number, or `the last 3 laps`; the first and last lap have their own
        words."""
        laps = self.names.laps
        ordinal = self._ordinal(i, "lap")
        if ordinal and (ordinal.number > 1 or self._word(i).isdigit()):
            hits = self._go_on(ordinal, "lap")
        elif (ordinal is None or ordinal.number < 0) and (several := self._end_laps(i)):
            end, count, at = several
            behind, lists = self._noun(at, "lap"), self.words.lists
            leads = lists["articles"] | lists["mine"] | lists["theirs"] | lists["against"]
            owned = self._word(i - 1) in leads
            if behind == at and not (owned and self._word(at) in _END | lists["list"]):
                return []
            return [Mention("lap", i, behind, lap) for lap in laps[::end][:count][::end]]
        else:
            hits = self._list(i, "lap") or self._alone(i, "lap", laps)
        places = {lap: lap for lap in laps} or {hit.number: hit.number for hit in hits}
        return [self._place("lap", places, hit) for hit in hits]

    def _end_laps(self, i: int) -> tuple[int, int, int] | None:
        """Return the end, 1 or -1, the count and the next piece of `first three`, `tres
        primeras`."""
        leads = self.words.ordinals.get(self._word(i))
        number = self._count(i) if leads is None else self._count(i + 1)
        if number is None and leads == -1 and self._word(i + 1) in self.words.lists["laps"]:
            return -1, LAST_LAPS, i + 1  # my last laps
        if number is None or (leads is None and number[0] == 1):  # one last lap
            return None
        end = self.words.ordinals.get(self._word(number[1])) if leads is None else leads
        return (end, number[0], number[1] + (leads is None)) if end in (1, -1) else None

    def _sector(self, i: int) -> list[Mention]:
        """Read sectors by number, ordinal or name, or all of them."""
        noun = self.words.lists["sector"]
        if (end := self._match(i, self.words.lists["every_sector"])) > i:
            return [Mention("sector", i, end, n) for n in range(1, len(self.names.sectors) + 1)]
        for number, name in enumerate(self.names.sectors, 1):
            end = self._match_name(i, name)
            beside = self._match(end, noun) > end or self._word(i - 1) in noun
            if end > i and (
                beside or all(self._match_name(i, nick) == i for nick, _ in self.nicknames)
            ):
                return [Mention("sector", i, self._match(end, noun), number)]
        ordinal = self._ordinal(i, "sector")
        count = len(self.names.sectors)
        places = {n: n for n in range(1, count + 1)}
        hits = [ordinal] if ordinal else self._list(i, "sector") or self._alone(i, "sector", places)
        if self._word(i) == "s" and self._touches(i) and self._word(i + 1).isdigit():
            hits = self._go_on(Numbered(int(self._word(i + 1)), i, i + 2), "sector")
        places = places or {hit.number: hit.number for hit in hits}
        return [self._place("sector", places, hit) for hit in hits]

    def _straight(self, i: int) -> list[Mention]:
        """Read a straight by its name, or by part of it next to the word straight."""
        if (end := self._match(i, self.words.lists["main_straight"])) > i and self.names.longest:
            return [Mention("straight", i, end, self.names.longest)]
        for name in sorted(self.names.straights, key=len, reverse=True):
            if (end := self._match_name(i, name)) > i:
                return [Mention("straight", i, end, name)]
        if name := self._own_word(i):
            return [Mention("straight", i, i + 1, name)]
        noun = self.words.lists["straight"]
        after = i + 1 + (self._word(i + 1) in _DASH)
        behind = self._match(i, noun)
        at = behind + (self._word(behind) in ("de", "du", "des"))
        if (end := self._match(after, noun)) > after and (name := self._guess_straight(i)):
            return [Mention("straight", i, end, name)]
        if behind > i and (name := self._guess_straight(at)):
            return [Mention("straight", i, at + 1, name)]
        return []

    def _own_word(self, i: int) -> str:
        """Return the straight that alone has the word at a piece in its name: Machair."""
        word = self._word(i)
        if len(word) < OWN_WORD or any(word in nick.split() for nick, _ in self.nicknames):
            return ""
        named = [name for name in self.names.straights if word in strip_accents(name).split()]
        common = self.words.lists["straight"] | self.words.lists["straight_words"]
        return named[0] if len(named) == 1 and word not in common else ""

    def _guess_straight(self, i: int) -> str:
        """Return the straight whose own word is most like the one at a piece; empty: none."""
        word = self._word(i)
        rates = {
            name: SequenceMatcher(None, word, own).ratio()
            for name in self.names.straights
            for own in strip_accents(name).split()
            if own not in self.words.lists["straight"] and own[:1] == word[:1]
        }
        best = max(rates, key=lambda name: rates[name], default="")
        common = word in self.words.lists["straight_words"]
        return best if best and rates[best] >= RATHER_ALIKE and not common else ""

    def _corner(self, i: int) -> list[Mention]:
        """Read corners by number, ordinal, nickname or shape."""
        lists = self.words.lists
        shapes = [
            (end, corner.name)
            for shape, severity in SEVERITY.items()
            if (end := self._match(i, lists[shape])) > i
            for corner in self.names.corners
            if corner.severity == severity
        ]
        nicks = [
            (end, name) for nick, name in self.nicknames if (end := self._match_name(i, nick)) > i
        ]
        ordinal = self._ordinal(i, "corner")
        number = self._homophone(i)
        if nicks or len(shapes) == 1:
            end, name = (nicks or shapes)[0]
            hits = self._go_on(Numbered(self.numbers[name], i, end), "corner")
        elif self.names.corners and (end := self._match(i, lists["strange_corner"])) > i:
            hits = [Numbered(0, i, end)]
        elif ordinal:
            hits = [ordinal]
        elif number:
            hits = self._go_on(number, "corner")
        else:
            hits = self._alone(i, "corner", self.by_number) or self._list(i, "corner")
        places = self.by_number or {hit.number: f"C{hit.number}" for hit in hits}
        return [self._place("corner", places, hit) for hit in hits]

    def _counts_laps(self, i: int) -> bool:
        """Whether a bare number must be a lap's, because a lap and no corner came before: my best
        lap was the four."""
        before = [self._word(at) for at in range(max(i - 7, 0), i)]
        lists = self.words.lists
        near = self._word(i - 2) in lists["copulas"]
        if any(self._word(at) == self._word(i) for at in range(i)):  # lap 1 and lap 9: is the 9 …
            near, before = True, [piece.word for piece in self.pieces[:i]]
        ends, spoken = self.words.tables["bare_laps"], f" {' '.join(before)} "
        of_laps = not lists["lap"].isdisjoint(before)  # or my best was the 6
        of_laps |= any(ends[end].search(spoken) is not None for end in ("best", "slowest"))
        places = lists["corner"] | lists["sector"] | lists["straight"]
        return near and of_laps and places.isdisjoint(before)

    def _is_weighed(self, i: int) -> bool:
        """Whether a bare number is compared with another, as only laps are: was 9 better than 8."""
        lists, behind = self.words.lists, self._count(i)
        if behind is None or self._word(i - 1) in lists["bare"] | lists["bare_words"] | {"."}:
            return False
        ends = range(behind[1], min(behind[1] + 4, len(self.pieces)))
        at = next((at for at in ends if self._word(at) in lists["against"]), -1)
        return at >= 0 and (other := self._count(at + 1)) is not None and other[0] != behind[0]

    def _homophone(self, i: int) -> Numbered | None:
        """Read `turn for` if no other word makes sense there, or `C4`."""
        word, after = self._word(i + 1), self._word(i + 2)
        if self._word(i) in ("t", "c") and word.isdigit():
            near = self._touches(i) or self._word(i) == "t"
            return Numbered(int(word), i, i + 2) if near else None
        number = self.words.sounds_like.get(word)
        noun = self._word(i) in ("turn", "corner") and self._word(i - 1) not in ("i", "to", "you")
        ends = after in _END | {"on", "in", "at", "and", "or", "by"}
        return Numbered(number, i, i + 2) if number and noun and ends else None

    def _alone(self, i: int, noun: Noun, places: Collection[int]) -> list[Numbered]:
        """Read places by number alone, with their list or range: a corner after `into`, `la`, `in
        der`, `dans le`; in a follow-up, what it is about."""
        before, lists, topic = self._word(i - 1), self.words.lists, self.names.topic
        out = topic is not None and any(
            self._match(at, lists["without"]) > at for at in range(max(i - 3, 0), i)
        )
        of_laps = before in lists["articles"] and self._counts_laps(i)
        of_laps |= topic is None and self._is_weighed(i)
        wanted = "corner" if topic is None else topic.left_out if out else topic.number
        wanted = "corner" if before in lists["bare"] - lists["articles"] else wanted
        if noun != ("lap" if of_laps else wanted):
            return []
        at = i + (self._word(i) in _NUMBER)
        spelt = at == i and not self._word(i).isdigit()
        ends = _END | lists["list"] | lists["bare_at_end"]
        begins = _END | lists["list"] | lists["without"] | lists["articles"]
        left = any(self._match(at, lists["without"]) == i for at in range(max(i - 3, 0), i))
        leads = of_laps or (topic is not None and (before in begins or left))
        number = self._count(at) if not spelt or leads or before in lists["bare_words"] else None
        if number is None or number[0] not in places or self._word(i) in lists["one"]:
            return []
        after = self._word(number[1])
        apart = self._leads_number(number[1])  # of 4 lap 2
        noun_behind = not apart and self._match(number[1], self.words.nouns) > number[1]
        if noun_behind or after in lists["no_corner"]:
            return []
        fits = before in lists["bare"] | lists["bare_at_end"] | lists["bare_words"]
        fits &= (
            apart or after in ends | lists["before_end"] or (before in lists["bare"] and not spelt)
        )
        fits |= at > i or of_laps or (leads and noun == "sector")
        fits |= leads and after in _END | lists["adding"]
        fits |= left and after in lists["list"]  # throw out 4 and 6
        return self._go_on(Numbered(number[0], i, number[1]), noun) if fits else []

    def _driver(self, i: int) -> list[Mention]:
        """Read a driver by name, or a person unknown here."""
        for driver in (*self.names.drivers, self.names.asker):
            if driver and (end := self._match_name(i, driver, exact=True)) > i:
                return [Mention("driver", i, end, driver)]
        piece, lists = self.pieces[i], self.words.lists
        if len(self.names.drivers) == 1 and self._word(i - 1) in lists["against"]:
            at = i  # against the other driver
            while self._word(at) in lists["person_words"]:
                at += 1
            if (end := self._match(at, lists["person"])) > at > i:
                return [Mention("driver", i, end, self.names.drivers[0])]
        ordinary = piece.word in lists["not_names"] | self.words.nouns or piece.word in (
            self.words.ordinals
        )
        compared = self._word(i - 1) in lists["against"] and (
            self._word(i - 1) not in lists["as"] or self._word(i - 2).endswith(("er", "hr"))
        )
        if ordinary or not piece.written.istitle() or not compared:
            return []
        end = i + 1
        while end < len(self.pieces) and self.pieces[end].written.istitle():
            end += 1
        return [self._place("driver", {}, Numbered(0, i, end))]


def _list_nicknames(corners: Iterable[CornerNames]) -> list[tuple[str, str]]:
    """List the corners' nicknames without articles, with their names, the longest first."""
    pairs: Iterator[tuple[str, str]] = (
        (strip_accents(nickname).removeprefix("the "), corner.name)
        for corner in corners
        for nickname in (corner.name, *corner.nicknames)
        if not re.fullmatch(r"(?:Turn |T|C)\d+\w?", nickname)
    )
    return sorted(pairs, key=lambda pair: -len(pair[0]))
