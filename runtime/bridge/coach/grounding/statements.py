"""What the facts of an answer state, by the table ``statements.yaml``."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from runtime.bridge.coach.fact import Corner, Fact, Term, Value
from runtime.bridge.coach.grounding.part import OPPOSITE, RANKS, Figure, Statement
from runtime.bridge.coach.understanding.phrases import read_yaml

PAIRS: Final = (
    *(("own", "best"), ("own", "theirs"), ("usual", "best"), ("low", "best_low")),
    *(("leave", "best_leave"), ("now", "aim"), ("time", "other_time"), ("time", "usual")),
    *(("spread", "other_spread"), ("own", "target"), ("own", "file"), ("usual", "other_usual")),
)
"""Values of a fact whose difference may be told: of the first side, of the second."""
ALIKE: Final = 0.02
"""Values that differ by less than this share may be called the same."""
LEVEL: Final = 0.002
"""Below this share they do not differ."""
SMALL_S: Final = 0.05
"""So little lost is nothing to mend."""
TINY: Final = 1e-9


def state(fact: Fact) -> Iterator[Statement]:
    """What a fact bears out; of a kind that the table does not have its numbers alone."""
    table = _table()
    lines = table["kinds"].get(fact.kind)
    if lines is None:
        yield _numbers_alone(fact, table["topics"].split())
        return
    levels: dict[str, Row] = {}
    for row in (_row(line, each, table["terms"]) for line in lines for each in _apart(fact, line)):
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
    """A line of the table with the values of a fact: what one side did, perhaps against another."""

    place: frozenset[str]
    own: frozenset[str]
    than: frozenset[str]
    about: frozenset[str]
    figures: tuple[Figure, ...]
    key: str
    """Of the last value."""
    bid: bool = False


def _apart(fact: Fact, line: str) -> Iterator[Fact]:
    """The fact for each thing of a list that the line is about, by itself."""
    key = line.split("|")[1].strip().split(" ")[0].removeprefix("$")
    cell = fact.values.get(key)
    if isinstance(cell, tuple) and not isinstance(cell, Value | Term | Corner):
        yield from (replace(fact, values={**fact.values, key: one}) for one in cell)
    else:
        yield fact


def _row(line: str, fact: Fact, terms: Mapping[str, str]) -> Row | None:
    """None: the fact has no such value."""
    who, about, told = (column.split() for column in line.split("|"))
    place = [f"at {fact.place.corner}"] if fact.place and fact.place.corner else []
    if who[0].startswith("@"):
        place = _marks("", fact.values.get(who.pop(0)[1:]), terms)
    split = who.index("than") if "than" in who else len(who)
    columns = [_resolve(words, fact, terms) for words in (who[:split], who[split + 1 :], about)]
    figures = tuple(one for word in told for one in _figures(word, fact))
    if split == len(who):
        figures = tuple(one._replace(role=one.role or "at") for one in figures)
    own, than, marks = columns
    if fact.basis == "best_lap":
        laps = {f"lap {lap}" for lap in fact.laps}
        own, than = (side | laps if "best" in side else side for side in (own, than))
    if "never" in own | than | marks or (told and not figures):
        return None
    key = told[-1].rpartition("$")[2] if told else ""
    return Row(frozenset(place), own - {"bid"}, than, marks, figures, key, "bid" in own)


def _compare(row: Row, levels: tuple[Figure, ...] = ()) -> Iterator[Statement]:
    """One side against the other, the other against the one, and what the driver can do; *levels*
    of both where they are known."""
    ways = row.about & OPPOSITE.keys()
    turned = row.about - ways - RANKS | {OPPOSITE[way] for way in ways}
    worth = {"worth"} if "lose" in ways else set()
    sides = ((row.own, row.than, row.about | worth), (row.than, row.own, turned))
    for (own, than, about), both in zip(sides, (levels, levels[::-1]), strict=True):
        beside = {f"than-{mark}" for mark in than | ({"own"} - own)}
        beside |= {"own", "than-own"} if "other" not in own | than else set()
        needs = frozenset() if "own" in own else own - {"usual"} or own
        told = tuple(
            one._replace(role=role) for one, role in zip(both, ("at", "than"), strict=False)
        )
        yield Statement(row.place | own | beside | about, needs, row.figures + told)
    both_sides = row.own | row.than
    if "same" in ways:
        marks = row.place | both_sides | row.about - ways | {"same"}
        yield Statement(marks, frozenset({"same"}), ())
    if "own" in both_sides and ways - {"same"}:
        marks = row.place | both_sides | {f"than-{mark}" for mark in both_sides - {"best"}} | worth
        marks |= (
            (turned if "own" in row.own else row.about) | row.about & RANKS | {"quick", "worth"}
        )
        told = tuple(
            one._replace(role=role) for one, role in zip(levels, ("from", "to"), strict=False)
        )
        yield Statement(marks, frozenset({"bid"}), row.figures + told, bid=True)


def _difference(first: Row, second: Row) -> tuple[Row, tuple[Figure, ...]]:
    """By how much and which way one level differs from another; both levels."""
    figure, other = first.figures[0], second.figures[0]
    apart = figure.number - other.number
    share = abs(apart) / max(abs(figure.number), abs(other.number), TINY)
    about = (first.about | second.about) - OPPOSITE.keys()
    ways: set[str] = {"same"} if share <= ALIKE else set()
    if "throttle" in about and figure.unit == "m":  # before the apex or behind it
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
    """The numbers of a fact, of whom and about what soever."""
    marks = {f"at {fact.place.corner}"} if fact.place and fact.place.corner else set()
    marks |= {f"lap {lap}" for lap in fact.laps}
    marks |= {mark for cell in fact.values.values() for mark in _marks("", cell, {})}
    figures = tuple(one for key in fact.values for one in _figures(f"${key}", fact))
    return Statement(frozenset(marks | {*topics, "own", "usual", "best"}), frozenset(), figures)


def _figures(word: str, fact: Fact) -> Iterator[Figure]:
    """The number or numbers of a value; *word* is $key, from:$key or to:$key."""
    role, _, key = word.rpartition("$")
    cell = fact.values.get(key)
    for one in (cell,) if isinstance(cell, Value) or not isinstance(cell, tuple) else cell:
        if isinstance(one, Value):
            unit = "s" if one.unit == "lap_time" else one.unit
            yield Figure(role.rstrip(":"), one.number, unit)
        elif isinstance(one, int):
            yield Figure(role.rstrip(":"), float(one), "")


def _resolve(column: Sequence[str], fact: Fact, terms: Mapping[str, str]) -> frozenset[str]:
    """The marks of a column; $key stands for those of a value."""
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
    """The marks of a value that is not a number."""
    match cell:
        case Value():
            return []
        case Corner():
            return [f"at {cell.name}"]
        case Term() | str():
            key = cell.key if isinstance(cell, Term) else cell
            return terms.get(f"{head}{key}", "never" if head else "").split()
        case tuple():
            return [mark for one in cell for mark in _marks(head, one, terms)]
        case int():
            return [f"{head}{cell}"] if head else []
    return []


@cache
def _table() -> Mapping[str, Any]:
    return read_yaml(Path(__file__).with_name("statements.yaml"))
