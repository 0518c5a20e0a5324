"""Holds a sentence of a model against the facts: whether they bear it out; pure.

The values of the facts become what is `Known`: a number, where it was, of what, on whose lap, and
for a difference, also for each two values of a fact that can be compared, which way it goes. A
sentence is read part by part for the same marks, by the words in ``bearing.yaml``. Each number
needs something known that has it and contradicts no mark of its part; each word of direction
needs a difference that goes that way for whom it is said; advice goes against the difference.
Corners, laps and names stand in the facts; nothing happened that no fact tells of.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from runtime.bridge.coach.fact import Corner, Fact, Term, Value
from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words

Turn = tuple[str, int]
"""An axis of `turn` in the table and its side, 0 (slower, earlier, less) or 1."""

_UNITS: Final = (
    (r"km/?h|kph|kilomet\w+ (?:per|an) hour|km por hora", "km/h", 1.0),
    (r"mph|miles (?:per|an) hour", "km/h", 1.609344),
    (r"bar/s", "bar/s", 1.0),
    (r"bars?", "bar", 1.0),
    (r"psi", "bar", 1 / 14.503774),
    (r"km|kilom\w+", "km", 1.0),
    (r"min|minut\w*", "min", 60.0),
    (r"ms|millisec\w+", "s", 0.001),
    (r"s|sec(?:ond)?s?|sekunden?|secondes?|segundos?", "s", 1.0),
    (r"m|met(?:re|er)s?|metern?|mètres?|metros?", "m", 1.0),
    (r"ft|feet|foot", "m", 0.3048),
    (r"%|percent|per cent|prozent|pour ?cent|por ciento", "%", 1.0),
    (r"g", "g", 1.0),
    (r"°|deg\w*|grad", "deg", 1.0),
    (r"rpm|u/min|tr/min", "rpm", 1.0),
)
_NUMBER: Final = re.compile(r"(?<![\w.,:])[+±-]?(?:(\d+):)?(\d+(?:[.,]\d+)?)(?![\d:])")
_CAUSES: Final[dict[str, tuple[str, Turn]]] = {
    "early_brake": ("brake", ("place", 0)),
    "late_brake": ("brake", ("place", 1)),
    "long_brake": ("brake", ("amount", 1)),
    "coasting": ("coast", ("amount", 1)),
    "slow_apex": ("speed", ("amount", 0)),
    "late_throttle": ("throttle", ("place", 1)),
    "slow_entry": ("speed", ("amount", 0)),
    "early_slowing": ("brake", ("place", 0)),
    "slow_exit": ("speed", ("amount", 0)),
}
"""Of what a cause speaks, and which way it goes."""
_GAPS: Final = re.compile(
    r"(?:next_|usual_)?gap\d?|loss|lost|seconds|apart|difference|gain(?:ed)?|over|behind|slope|amount"
)
_ADVICE: Final = re.compile("advice|target|drill|plan|voice|goal|traffic")
_BEST_FIRST: Final = re.compile(
    "lap-best|lap-lead|lap-luck|ideal|theory|goal|rival-gap|measure-best|sector-|progress|coasting"
)
_RANKS: Final[dict[str, tuple[str, str]]] = {
    "loss-most": ("corner", ""),
    "sector-most": ("sector", ""),
    "sector-least": ("", "sector"),
    "sector-loss": ("worst", ""),
    "sector-corner": ("corner", ""),
    "lap-loses": ("corner", ""),
    "lap-lost": ("corner", ""),
    "lap-luck-corner": ("corner", ""),
    "goal-corner": ("corner", ""),
    "theory-corner": ("corner", ""),
    "rank-corners": ("where", "last"),
    "claim-corner": ("first", "first"),
    "grip-corners": ("where", "top_where"),
    "spread-corners": ("corner", "steady"),
    "strong-steady": ("", "corner"),
    "coasting-lap": ("first", ""),
    "incident-odd": ("where", ""),
    "choice": ("corner", ""),
}
"""Kinds of facts that name the ends of a row: which of their values are the most and the least."""
_GAINS: Final = frozenset(
    {"lap-lead", "lap-luck", "lap-luck-corner", "lap-compare", "lap-gained", "what-if"}
)
"""Kinds of facts whose difference is time won."""
_VERB: Final = (
    r" (?:is|was|has|had|brakes|carries|gains|loses|lost|coasts|takes|costs?|goes|drove)\b"
)
_FEW_LAPS: Final = 3
"""So many laps a fact is about; more are those that it was counted from."""
_TINY: Final = 1e-6


class Number(NamedTuple):
    """A number of a sentence."""

    value: float
    unit: str
    low: float
    high: float
    """Between which a known number may lie."""
    at: int


class Known(NamedTuple):
    """A number of the facts, or a difference without one that is told."""

    number: float
    unit: str
    corners: frozenset[str]
    sectors: frozenset[str]
    first: frozenset[str]
    """On whose lap it was: own, other, usual, best, lap 3, …"""
    second: frozenset[str] = frozenset()
    """Of a difference: against whose."""
    needs: frozenset[str] = frozenset()
    """One of which has to be named: the fact has another number without them."""
    what: frozenset[str] = frozenset()
    spot: str = ""
    turns: frozenset[Turn] = frozenset()
    """Which way *first* differs from *second*."""
    role: str = ""
    advises: bool = False


class Part(NamedTuple):
    """A part of a sentence with its marks."""

    text: str
    full: str
    """With its labels."""
    corners: frozenset[str]
    sectors: frozenset[str]
    parties: tuple[str, ...]
    """Whom it names in their order, without those that it compares with."""
    beside: tuple[str, ...]
    """Whom it compares with."""
    what: frozenset[str]
    spots: frozenset[str]
    turns: frozenset[Turn]
    numbers: tuple[Number, ...]
    bids: bool
    """Whether it says what to do."""
    maybe: bool
    """Whether it says what may come."""

    @property
    def axes(self) -> frozenset[str]:
        """Of the words of direction."""
        return frozenset(axis for axis, _ in self.turns)


class Evidence:
    """The facts of one answer, in the language of its reader."""

    def __init__(self, facts: Sequence[Fact], words: Words, names: Names) -> None:
        self.table = _tables()[words.language]
        self.language = words.language
        self.called = {
            call.lower(): corner.name
            for corner in names.corners
            for call in (corner.name, *corner.nicknames, words.corner(corner.name))
        }
        self.others = "|".join(re.escape(one.lower()) for one in names.drivers if one)
        self.text = " ".join(words.sentence(fact) for fact in facts).lower()
        self.best = frozenset(lap for fact in facts for lap in _best_laps(fact))
        self.known = _join_causes([one for fact in facts for one in self._know(fact)])
        self.corners = frozenset(
            name for fact in facts for name in _names_of((*fact.values.values(), fact.place))
        )
        self.counts = {float(n) for fact in facts for n in _ints(fact.values.values())}
        self.counts |= {float(n) for n in re.findall(r"(?<![\d.,:])\d+(?![\d.,:]*\d)", self.text)}
        self.theirs = {
            float(cell)
            for fact in facts
            for key, cell in fact.values.items()
            if key.startswith("other_") and isinstance(cell, int)
        }
        self.laps = {
            lap
            for fact in facts
            for lap in fact.laps
            if len(fact.laps) <= _FEW_LAPS or fact.kind == "lap-list"
        }
        self.laps |= {int(n) for n in re.findall(rf"(?:{self.table['lap']}) (\d+)", self.text)}
        self.sectors = frozenset(re.findall(rf"(?:{self.table['sector']}) (\d+)", self.text))
        self.ranks: tuple[set[str], set[str]] = (set(), set())
        for fact in facts:
            for side, key in enumerate(_RANKS.get(fact.kind, ())):
                self.ranks[side].update(_names_of((fact.values.get(key),)))
                if key in ("sector", "worst"):
                    self.ranks[side].add(str(fact.values.get(key)))
        causes = [getattr(f.values.get("cause"), "key", f.values.get("cause")) for f in facts]
        causes += [getattr(t, "key", t) for f in facts for t in _list(f.values.get("also"))]
        self.causes = {_CAUSES[one][0] for one in causes if one in _CAUSES}
        self.plan = {k: c for f in facts if f.kind == "plan-laps" for k, c in f.values.items()}
        if facts and facts[0].kind == "rival-corner":
            self.ranks[0].update(_names_of((facts[0].values.get("corner"),)))
        people = " ".join((self.text, names.asker, *names.drivers, *self.called))
        self.words = frozenset(re.findall(r"[^\W\d_]+", people.lower()))

    def refute(self, sentence: str) -> str | None:
        """Why the facts do not bear a sentence out; None: they do."""
        if (name := self._stranger(sentence)) is not None:
            return f"name: {name}"
        low = self._spell_out(
            re.sub(rf"(?<!\w)(?:{self.table['idle']})(?!\w)", " ", sentence.lower())
        )
        for key in ("events", "ever", "risk"):
            for match in _find(self.table[key], low):
                told = _has(re.escape(match[0]), self.text)
                if not told and not (key == "ever" and self._read(low).bids):
                    return f"{key}: {match[0]}"
        named = self._corners(low)
        if None in named or not named <= self.corners:
            return "corner"
        because = _first(self.table["because"], low)
        if because and not self._marks("what", low[because.end() :]) & self.causes:
            return "because"
        parts = [self._read(text) for text in self._split(low)]
        what = frozenset(name for part in parts for name in part.what)
        if what - {"time"} and named:
            near = [one for one in self.known if one.corners & named]
            what -= {"time"}
            if any(one.what for one in near) and not any(one.what & what for one in near):
                return "what"
        roles: list[str] = []
        before: Part | None = None
        for part in parts:
            if before is not None:
                open_ = not before.numbers
                part = part._replace(
                    corners=part.corners | before.corners
                    if open_ and part.corners
                    else part.corners or before.corners,
                    sectors=part.sectors or (frozenset() if part.corners else before.sectors),
                    parties=part.parties or (before.parties if open_ and not part.bids else ()),
                    beside=part.beside or (before.beside if open_ else ()),
                    what=part.what or before.what,
                    spots=part.spots or (before.spots if open_ else frozenset()),
                    bids=part.bids
                    or (
                        before.bids and not ({"own"} & {*part.parties} or ("time", 0) in part.turns)
                    ),
                    maybe=part.maybe or before.maybe,
                    turns=part.turns or (before.turns if open_ and part.numbers else frozenset()),
                )
            if (why := self._refute_part(part, roles)) is not None:
                return why
            laps = [one for one in part.parties if one.startswith("lap ")]
            bare = laps == list(part.parties) and not any(one.unit for one in part.numbers)
            if before is not None and laps and bare and "best" in before.parties:
                return "best"
            before = part
        if "aim" in roles and "now" in roles[roles.index("aim") :]:
            return None if _has(self.table["versus"], low) else "order"
        return None

    def _refute_part(self, part: Part, order: list[str]) -> str | None:
        laps = [party for party in part.parties + part.beside if party.startswith("lap ")]
        if any(int(lap[4:]) not in self.laps for lap in laps):
            return "lap"
        if part.sectors - self.sectors:
            return "sector"
        measured = any(one.unit for one in part.numbers)
        named = "best" in part.parties or _has(self.table["repeat"], part.text)
        if named and len(laps) == 1 and not part.beside and not measured:
            return "best"
        if _has(self.table["not"], part.text):
            if self._near(part, "even") and not part.numbers and part.axes <= {"time"}:
                return None
            if part.turns or (measured and not part.bids):
                return "not"
        return (
            self._refute_row(part)
            or self._refute_numbers(part, laps, order)
            or self._refute_same(part)
        )

    def _refute_row(self, part: Part) -> str | None:
        """Whether a part gives a corner, or a sector, a rank that it does not have."""
        compares = len(part.corners) > 1 and _has(self.table["than"], part.text)
        if compares and not self._outdoes(part):
            return "corners"
        lead = self.ranks[0] | {name for one in self.known if one.advises for name in one.corners}
        strange = bool(lead and part.corners) and not part.corners & lead
        if strange and _has(self.table["lead"], part.text):
            return "lead"
        if part.corners & lead and _has(self.table["spare"], part.text):
            return "spare"
        places = part.corners | part.sectors
        for side, pattern in enumerate(self.table["rank"]):
            if _has(pattern, part.text):
                ranked = self.ranks[0] | self.ranks[1]
                if not ranked or (places and not places & self.ranks[side]):
                    return "rank"
        return None

    def _refute_numbers(self, part: Part, laps: list[str], order: list[str]) -> str | None:
        """Whether a number is none of the facts, or goes the other way, as a word may too."""
        plain = not part.numbers
        theirs = self.theirs if part.parties[:1] == ("other",) and self.theirs else self.counts
        for number in part.numbers:
            if number.unit == "" and self._misplans(part.text, number.value):
                return "plan"
            if number.unit == "" and number.value in theirs:
                continue
            found = [one for one in self.known if self._fits(number, one, part)]
            if not found:
                return f"number: {number.value:g} {number.unit}"
            for lap in laps if len(laps) > 1 else ():
                if not any(lap in one.first | one.second for one in found):
                    return f"laps: {lap}"
            plain = plain or not found[0].second
            order += sorted({one.role for one in found} & {"aim", "now"})[:1]
        near = [o for o in self.known if o.turns and o.role != "small" and self._agrees(o, part)]
        for axis, side in part.turns if plain else ():
            said = {s for one in near for s in self._sides(one, part, axis)}
            if part.maybe and not part.bids and axis == "time" and side in said:
                continue
            if said != {side ^ (part.bids or part.maybe)}:
                return f"turn: {axis}"
        return None

    def _misplans(self, text: str, count: float) -> bool:
        """Whether a count is of laps to warm up, to work or to cool down, and another one."""
        return any(
            _has(self.table["plan"][key], text) and laps != count
            for key, laps in self.plan.items()
            if key in self.table["plan"]
        )

    def _refute_same(self, part: Part) -> str | None:
        """Whether a part calls the same what is not."""
        says = _has(self.table["same"], part.text) and (part.beside or not part.numbers)
        return "same" if says and not part.bids and not self._near(part, "level") else None

    def _near(self, part: Part, role: str) -> bool:
        return any(one.role == role and self._agrees(one, part) for one in self.known)

    def _outdoes(self, part: Part) -> bool:
        """Whether the first corner that a part names loses more, or less, than the others."""
        lost = dict.fromkeys(part.corners, 0.0)
        for one in self.known:
            for name in (
                one.corners & part.corners if ("time", 0) in one.turns and one.unit == "s" else ()
            ):
                lost[name] = max(lost[name], one.number)
        named = [
            n
            for _, n in sorted(
                (part.full.find(c), n) for c, n in self.called.items() if c in part.full
            )
        ]
        rest = [lost.get(name, 0.0) for name in named if name != named[0]] if named else []
        first = lost.get(named[0], 0.0) if named else 0.0
        more = [_has(one, part.text) for one in self.table["outdoes"]]
        return bool(rest) and (
            (more[0] and first > max(rest)) or (more[1] and 0 < first < min(rest))
        )

    def _fits(self, number: Number, known: Known, part: Part) -> bool:
        """Whether a number of a part is this known one, and its marks agree."""
        if number.unit != known.unit or not number.low <= abs(known.number) <= number.high:
            return False
        if not self._agrees(known, part):
            return False
        if part.bids and number.unit in ("m", "km/h", "bar") and known.second and not known.advises:
            return False
        if known.needs and not known.needs & {*part.parties, *part.beside}:
            return part.bids
        if not known.second:
            tail = re.match(r"[+-]?[\d.,:]+ ?\S+ (\w+(?: \w+)?)", part.text[number.at :])
            words = tail[1] if tail is not None and not part.bids else ""
            return not any(_has(one, words) for pair in self.table["turn"].values() for one in pair)
        named = {*part.parties, *part.beside}
        ahead, behind = known.first - known.second, known.second - known.first
        if not part.turns and (
            {*part.parties} & behind or ({*part.beside} & ahead and not named & behind)
        ):
            return False  # turned round without a word of direction
        for axis, side in part.turns:
            sides = self._sides(known, part, axis)
            flip = (part.bids or part.maybe) and (
                known.unit == "s" or known.advises or "theory" in known.second
            )
            flip = flip and ("time", 0) not in part.turns
            if not (side ^ flip in sides or (axis == "time" and flip and side in sides)):
                return False
        return True

    def _agrees(self, known: Known, part: Part) -> bool:
        if part.corners and not known.corners & part.corners:
            return False
        if part.sectors and not part.corners and not known.sectors & part.sectors:
            return False
        if part.what and known.what and not part.what & known.what:
            return False
        if part.spots and known.spot and known.spot not in part.spots:
            return False
        named = part.parties
        parties = known.first | known.second
        if not known.second:
            named += tuple(one for one in part.beside if one.startswith("lap "))
            who = next((one for one in named if one in ("own", "other")), "")
            named = tuple(one for one in named if one == who or one not in ("own", "other"))
        else:
            named += part.beside
        laps = [one for one in named if one.startswith("lap ")]
        return all(
            one in parties or (one in laps and len(laps) > 1 and parties & {*laps}) for one in named
        )

    def _sides(self, known: Known, part: Part, axis: str) -> list[int]:
        """The sides of an axis on which a known difference is, as the part puts it."""
        ahead, behind = known.first - known.second, known.second - known.first
        flip = False
        for one in part.parties:
            if one in ahead | behind:
                flip = one in behind
                break
        else:
            flip = any(one in ahead for one in part.beside) and not any(
                one in behind for one in part.beside
            )
        return [side ^ flip for name, side in known.turns if name == axis]

    # what is known

    def _know(self, fact: Fact) -> Iterator[Known]:
        cells = fact.values
        whats, spot = _subject(fact)
        corners = frozenset(_names_of((cells.get("corner"), cells.get("where"))))
        if not corners and fact.place is not None and fact.kind != "coasting-lap":
            corners = frozenset((fact.place.corner or "",)) - {""}
        sectors = frozenset((str(cells["sector"]),)) if cells.get("sector") else frozenset[str]()
        base = Known(0.0, "", corners, sectors, frozenset(), what=whats, spot=spot)
        base = base._replace(advises=bool(_ADVICE.match(fact.kind)))
        plain: list[Known] = []
        for key, cell in cells.items():
            values = cell if isinstance(cell, tuple) and not isinstance(cell, Value) else (cell,)
            for at, value in enumerate(values):
                if isinstance(value, Value):
                    one = self._place(fact, key, at, value, base)
                    if one.second:
                        yield one
                    else:
                        plain.append(one)
        for one in plain:
            rest = [o for o in plain if o.first != one.first and _alike(o, one)]
            needs = one.first - frozenset(p for o in rest for p in o.first) - {"own"}
            usual = "usual" in needs and not any(o.role == "own" for o in rest)
            near = any(abs(o.number - one.number) <= 0.01 * abs(one.number) for o in rest)
            if (
                one.role in ("aim", "now", "own")
                or usual
                or near
                or not rest
                or fact.kind == "lap-spread"
            ):
                needs = frozenset()
            yield one._replace(needs=needs)
        for a, b in combinations(plain, 2):
            if fact.kind == "lap-spread" or cells.get("compared") == "level":
                break
            if (
                "step" not in (a.role, b.role)
                and a.unit == b.unit
                and _alike(a, b)
                and a.first != b.first
                and a.corners == b.corners
            ):
                late = {"usual", "half2", "now"} & b.first or ("own" in b.first - a.first)
                yield from self._compare(fact, *((b, a) if late else (a, b)))
        if fact.kind.startswith("grip"):
            yield from (one._replace(number=100 - one.number) for one in plain if one.unit == "%")
        for term in _list(cells.get("also")):
            if isinstance(term, Term) and term.key in _CAUSES:
                what, turn = _CAUSES[term.key]
                gap = self._gap(fact, "loss", base, {"usual"})
                yield gap._replace(
                    unit="-", what=frozenset({what}), turns=frozenset({turn}), role="cause"
                )
        if fact.kind in ("loss-even", "rival-alike"):
            yield base._replace(unit="-", role="even")
        if "judged" in cells or fact.kind == "strong-steady":
            fair = not (isinstance(cells.get("judged"), Term) and cells["judged"].key == "uneven")  # type: ignore[union-attr]
            yield base._replace(
                unit="-",
                turns=frozenset({("steady", int(fair))}),
                first=frozenset(("own", "usual")),
            )
        if fact.kind == "lap-spread-odd":
            yield plain[0]._replace(unit="-", turns=frozenset({("steady", 1)}))

    def _compare(self, fact: Fact, a: Known, b: Known) -> Iterator[Known]:
        """The difference of two values."""
        apart, small = a.number - b.number, ""
        if abs(apart) <= 0.02 * max(abs(a.number), abs(b.number), 1.0 if a.unit != "s" else 0.0):
            yield a._replace(second=b.first, unit="-", role="level")
            small = "small"
        up = int(apart > 0)
        what = next(iter(sorted(a.what & {"brake", "throttle"})), "") if a.unit == "m" else ""
        side = fact.values.get("side")
        before = what == "brake" or (isinstance(side, Term) and side.key.startswith("before"))
        turns: set[Turn] = set()
        if what:
            turns.add(("place", 1 - up if before else up))
        elif "spread" in a.what:
            turns |= {("amount", up), ("steady", 1 - up)}
        elif a.unit == "s" and "coast" not in a.what:
            turns |= {("time", 1 - up), ("amount", up)}
        elif a.unit == "km/h":
            turns |= {("time", up), ("amount", up)}
        else:
            turns.add(("amount", up))
        yield a._replace(
            number=abs(apart), second=b.first, turns=frozenset(turns), role=small, needs=frozenset()
        )

    def _place(self, fact: Fact, key: str, at: int, value: Value, base: Known) -> Known:
        """A value of a fact with whose it is, or as the difference that it is."""
        cells, kind = fact.values, fact.kind
        one = base._replace(
            number=value.number, unit="s" if value.unit == "lap_time" else value.unit
        )
        lap = cells.get("lap")
        run = {self._party(lap)} if isinstance(lap, int) and lap else {"usual"}
        if cells.get("on") == "laps" or cells.get("which") == "best" or kind == "rival-gap":
            run = {"best"}
        if kind in ("coasting-lap", "claim-corner", "rival-usual"):
            run = {"usual"}
        one = _seat(fact, key, one)
        parts = kind in ("loss-parts", "choice")
        if _GAPS.fullmatch(key) or parts or key in ("after", "worst_lost"):
            return self._gap(fact, key, one, run)
        own = {"own"}
        if key == "theirs" or key.startswith("other_"):
            first = self._theirs(fact, key)
        elif key == "values":
            laps = cells.get("laps")
            first = own | {self._party(laps[at])} if isinstance(laps, tuple) else own
        elif key == "target":
            rival = "other" in str(cells.get("against"))
            first = {"other" if rival else "own", "best", self._party(cells.get("target_lap"))}
        elif key == "aim":
            first = own | {"best", "aim", self._party(cells.get("reached"))}
        elif kind == "ideal-sectors":
            first = own | {"best", self._party(cells.get(f"lap{key[-1]}"))}
        elif kind == "lap-spread":
            first = own | {"best"} if key == "low" else own
        elif kind.startswith(("improved", "stuck", "trend")) and key in ("early", "late"):
            first = own | {"best", "half1" if key == "early" else "half2"}
        else:
            first = self._whose(fact, key, run)
        return one._replace(first=frozenset(first - {""}))

    def _theirs(self, fact: Fact, key: str) -> set[str]:
        cells = fact.values
        if not isinstance(cells.get("other"), str):
            return {self._party(cells.get("other"))}
        if "usual" in key or fact.kind == "rival-usual" or cells.get("on") == "usual":
            return {"other", "usual"}
        return {"other", "best", self._party(cells.get("other_lap"))}

    def _whose(self, fact: Fact, key: str, run: set[str]) -> set[str]:
        own, kind, cells = {"own"}, fact.kind, fact.values
        if key in ("usual", "median", "now"):
            return own | {"usual"}
        if key == "file":
            return {"theory"}
        if key == "step":
            return own | {"step"}
        if (kind, key) == ("claim-corner", "best"):
            return own
        if key.startswith("best") or (kind, key) == ("lap-best", "time"):
            return own | {"best", self._party(cells.get("best_lap"))}
        if kind.startswith(("ideal", "theory")) and key == "time":
            level = kind == "ideal-lap" and cells.get("same") != "yes"
            return own | {kind.partition("-")[0], "" if level else "best"}
        return own | run

    def _gap(self, fact: Fact, key: str, one: Known, run: set[str]) -> Known:
        """A difference of a fact."""
        cells, kind = fact.values, fact.kind
        first, second, sign = self._ends(fact, key, run)
        if one.spot and kind in ("loss-parts", "choice"):
            sign = int(one.number < 0)
        turns: frozenset[Turn] = frozenset({("time", sign)})
        cause = cells.get("cause")
        cause = cause.key if isinstance(cause, Term) else str(cause)
        if key == "amount" and kind == "what-if":
            turns = frozenset({("amount", 1), ("time", 1)})
        elif key == "amount" and cause in _CAUSES:
            what, turn = _CAUSES[cause]
            spot = {"slow_apex": "apex", "slow_exit": "exit", "slow_entry": "entry"}
            one = one._replace(what=frozenset({what}), spot=spot.get(cause, ""), role="cause")
            turns = frozenset({turn, ("time", 0)} if what == "speed" else {turn})
        elif key in ("apart", "difference"):
            pair = (cells.get("own"), cells.get("theirs", cells.get("target")))
            ends = [one._replace(number=v.number) for v in pair if isinstance(v, Value)]
            if len(ends) == 2:
                turns = list(self._compare(fact, *ends))[-1].turns
        elif one.unit == "s":
            one = one._replace(what=frozenset({"time"}))
        level = cells.get("compared") == "level" and key != "loss"
        small = "small" if level or abs(one.number) < 0.006 else one.role
        first, second = first - {""}, second - {""}
        if "other" not in second:
            second.add("own")
        return one._replace(
            first=frozenset(first), second=frozenset(second), turns=turns, role=small
        )

    def _ends(self, fact: Fact, key: str, run: set[str]) -> tuple[set[str], set[str], int]:
        """Whose a difference is, against whose, and on which side of the time it is."""
        cells, kind, own = fact.values, fact.kind, {"own"}
        lap, other = self._party(cells.get("lap")), cells.get("other")
        if kind.startswith("lap-"):
            second = {"usual"}
            if key in ("next_gap", "behind"):
                second = {"best"} if key == "behind" else {self._party(cells.get("next"))}
            elif isinstance(other, int) and other:
                second = {self._party(other)}
            first = own | {"best" if kind == "lap-lead" else lap}
            return first, second, int(kind in _GAINS)
        if kind.startswith(("rival", "measure-rival")) or (isinstance(other, str) and other):
            return own | run, {"other"} | run, int(cells.get("side") in ("ahead", "own"))
        if kind.startswith(("improved", "stuck")):
            return own | {"half2"}, {"half1"}, int(kind.startswith("improved"))
        if kind.startswith("theory"):
            return own | {"best"}, {"theory"}, 0
        if kind.startswith("ideal") and kind != "ideal-usual":
            return own | {"best"}, {"ideal"}, 0
        if kind == "strong-gained":
            return own | {"best"}, {self._party(cells.get("start"))}, 1
        if kind == "incident-odd":
            return own | {lap}, {"usual"}, 0
        second = {"best"} | {self._party(number) for number in fact.laps[:1]}
        return own | run, second, int(kind in _GAINS)

    def _party(self, lap: object) -> str:
        if not isinstance(lap, int) or not lap:
            return ""
        return "best" if lap in self.best else f"lap {lap}"

    # reading

    def _split(self, low: str) -> list[str]:
        """Parts of a sentence: each has its own numbers."""
        pattern = (
            rf"[,;:()\u2013\u2014](?!\d)|(?<!\d)\.|(?<=\d)\.(?=\s|$)|\b(?:{self.table['split']})\b"
        )
        texts = [text.strip() for text in re.split(pattern, low) if text.strip(' .!?"')]
        parts: list[str] = []
        for text in texts:
            match = _first(self.table["versus"], text)
            if match is not None and re.search(r"\d", text[match.end() :]) and match.start() > 0:
                parts += [text[: match.start()], text[match.end() :]]
            elif (
                parts
                and re.fullmatch(r"[\d ]+.{0,12}", text)
                and self._labels(parts[-1] + " & " + text)[1]
            ):
                parts[-1] += " & " + text
            else:
                parts.append(text)
        for at, text in enumerate(parts[1:], 1):  # laps 3 and 5
            if re.match(r"\d+(?![.,:]?\d)(?! ?(?:km|m|s|bar|g|%)\b)", text) and re.search(
                rf"(?:{self.table['lap']}|{self.table['corner']}) \d+$", parts[at - 1]
            ):
                word = re.findall(r"(\w+) \d+$", parts[at - 1])[0]
                parts[at - 1 : at + 1] = ["", f"{parts[at - 1]} & {word} {text}"]
        return [text for text in parts if text]

    def _read(self, text: str) -> Part:
        bare, laps, sectors = self._labels(text)
        spans: list[tuple[int, str]] = [(at, self._party(lap)) for at, lap in laps]
        for name, pattern in self.table["party"].items():
            full = (
                f"{pattern}|(?:{self.others})(?:'s|\u2019s)?"
                if name == "other" and self.others
                else pattern
            )
            spans += [(match.start(), name) for match in _find(full, bare)]
        spans.sort()
        beside = rf"(?:\b|')(?:{self.table['than']})(?: [^\W\d]+){{0,2}} ?$"
        toward = r"\b(?:a|à|con|sur|to|on|from|auf|over) $"
        away = [
            bool(
                re.search(beside if name != "own" else beside.replace("{0,2}", "{0,0}"), bare[:at])
                or (name == "other" and re.search(toward, bare[:at]))
            )
            for at, name in spans
        ]
        parties = tuple(name for (_, name), far in zip(spans, away, strict=True) if not far)
        turns = frozenset(
            (axis, side)
            for axis, pair in self.table["turn"].items()
            for side, pattern in enumerate(pair)
            if _has(pattern, bare)
        )
        head = " ".join(bare.split()[:4])
        bid = _first(self.table["bid"], head)
        own = _first(self.table["party"]["own"], head)
        bids = bid is not None and (own is None or own.start() > bid.start())
        bids = (bids or _has(self.table["ought"], bare)) and ("time", 0) not in turns
        return Part(
            bare,
            text,
            frozenset(name for name in self._corners(text) if name),
            frozenset(sectors),
            parties,
            tuple(name for (_, name), far in zip(spans, away, strict=True) if far),
            self._marks("what", bare),
            self._marks("spot", bare),
            turns,
            tuple(self._numbers(bare)),
            bids,
            _has(self.table["maybe"], bare),
        )

    def _marks(self, key: str, text: str) -> frozenset[str]:
        return frozenset(name for name, one in self.table[key].items() if _has(one, text))

    def _labels(self, text: str) -> tuple[str, list[tuple[int, int]], list[str]]:
        """A text whose numbers of corners, laps and sectors are blanked; the laps; the sectors."""
        for call in sorted(self.called, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(call)}(?!\w)", lambda m: " " * len(m[0]), text)
        found: dict[str, list[tuple[int, int]]] = {"lap": [], "sector": []}
        for key in ("lap", "sector"):

            def blank(match: re.Match[str], key: str = key) -> str:
                found[key] += [(match.start(), int(n)) for n in re.findall(r"\d+", match[0])]
                return " " * len(match[0])

            text = re.sub(rf"(?<!\w)(?:{self.table[key]}) \d+(?![.,:]?\d)", blank, text)
        sectors = [str(number) for _, number in found["sector"]]
        for at, word in enumerate(self.table["ordinals"], 1):
            if _has(f"{word} (?:{self.table['sector']})", text):
                sectors.append(str(at))
        return text, found["lap"], sectors

    def _corners(self, text: str) -> frozenset[str | None]:
        """Corners that a text names; None among them: one that there is not."""
        found: set[str | None] = set()
        for call in sorted(self.called, key=len, reverse=True):
            if _has(re.escape(call), text):
                found.add(self.called[call])
                text = re.sub(rf"(?<!\w){re.escape(call)}(?!\w)", " ", text)
        for match in _find(rf"(?:{self.table['corner']}) (\d+)(?![.,:]\d)", text):
            found.add(
                next(
                    (n for c, n in self.called.items() if re.findall(r"\d+$", c) == [match[1]]),
                    None,
                )
            )
        return frozenset(found)

    def _numbers(self, text: str) -> Iterator[Number]:
        table = self.table
        for match in _NUMBER.finditer(text):
            minutes, digits = match[1], match[2].replace(",", ".")
            value = float(digits) + 60.0 * float(minutes or 0)
            unit, scale = ("s", 1.0) if minutes else ("", 1.0)
            tail = text[match.end() :]
            for pattern, name, factor in _UNITS:
                if re.match(rf"[ \u00a0\u202f]?(?:{pattern})(?![\w/])", tail):
                    unit, scale = name, factor
                    break
            half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
            head = text[: match.start()].rstrip(" ~")
            slack = half if half < 0.5 else min(half, 0.12 * value)
            loose = value * (0.15 if value < 3 else 0.1 if value < 40 else 0.04)
            spelt = text[match.start() - 1 : match.start()] == "~"
            loose = loose if half == 0.5 or spelt else max(half, 0.03 * value)
            low, high = value - slack, value + slack
            if spelt:
                low, high = value - min(loose, 0.05), value + min(loose, 0.05)
            ends = r"(?: (?:an?|eine[nr]?|une?|las?|de))?$"
            if re.search(rf"(?<!\w)(?:{table['under']}){ends}", head):
                low, high = value * 0.85, value + _TINY
            elif re.search(rf"(?<!\w)(?:{table['over']}){ends}", head):
                low, high = value - 0.1 * slack, value * (1.35 if 1 <= value < 2 else 1.2)
            elif re.search(rf"(?<!\w)(?:{table['about']}){ends}", head):
                low, high = min(low, value - loose), max(high, value + loose)
            if not minutes and unit == "" and not re.search(r"\w", match[2]):
                continue
            yield Number(
                value * scale, unit, low * scale - 2e-3, high * scale + 2e-3, match.start()
            )

    def _spell_out(self, low: str) -> str:
        """A sentence whose numbers in words are digits."""
        table = self.table
        low = low.replace("\u2019", "'").replace("\u00a0", " ").replace("\u202f", " ")
        low = low.replace("-", " ") if re.search(r"\d-\w", low) else low
        for words, value in table["fractions"].items():
            low = re.sub(rf"(?<!\w)(?:{words})(?!\w)", f"~{value:g} s", low)
        for word, value in table["numbers"].items():
            low = re.sub(rf"(?<![\w-]){word}(?!\w)", str(value), low)
        units = "|".join(pattern for pattern, _, _ in _UNITS if pattern not in ("g", "bars?"))
        units = f"{table['tenth']}|{table['hundredth']}|{units}"
        low = re.sub(
            rf"(?<!\w)(?:{table['one']})(?= (?:{units})(?!\w))",
            "1",
            low,
        )
        for key, part in (("tenth", 10), ("hundredth", 100)):
            low = re.sub(
                rf"(?<![\d.,:])(\d+(?:[.,]\d)?) (?:{table[key]})(?!\w)",
                lambda match: f"~{float(match[1].replace(',', '.')) / part:g} s",  # noqa: B023
                low,
            )
        return low

    def _stranger(self, sentence: str) -> str | None:
        """A name in the sentence that no fact has."""
        for match in re.finditer(r"(?<![\w'\u2019])([A-ZÀ-Þ][^\W\d_]+)", sentence):
            begins = not sentence[: match.start()].strip(' "\u201c\u00ab(\u00bf\u00a1')
            if match[1].lower() in self.words or self.language == "de":
                continue
            verb = re.match(
                _VERB,
                sentence[match.end() :],
            )
            if begins and not (
                verb and self.language == "en" and not self._is_word(match[1].lower())
            ):
                continue
            if self._is_word(match[1].lower()):
                continue
            return match[1]
        return None

    def _is_word(self, word: str) -> bool:
        if re.fullmatch(
            r"\w+ing|\w+ed|that|this|it|there|what|which|he|she|nobody|the|time|pace", word
        ):
            return True
        keys = ("what", "spot", "party")
        patterns = [one for key in keys for one in self.table[key].values()]
        patterns += [self.table[key] for key in ("corner", "lap", "sector", "same", "bid", "split")]
        patterns += self.table["numbers"]
        return any(re.fullmatch(one, word) for one in patterns)


def _subject(fact: Fact) -> tuple[frozenset[str], str]:
    """Of what a fact speaks, and where in a corner."""
    what, at, kind = fact.values.get("what"), fact.values.get("at"), fact.kind
    spot = at.key if isinstance(at, Term) and at.key != "none" else ""
    side = fact.values.get("side")
    if isinstance(side, Term) and side.key.endswith("apex"):
        spot = "apex"
    key = what.key if isinstance(what, Term) else ""
    for name in ("speed", "time", "brake", "throttle", "coast", "steer"):
        if key.startswith(name) and key != "brake_time":
            return frozenset({name}), spot
    if key:
        return frozenset(
            {"throttle"} if "throttle" in key else {"grip"} if key.endswith("_g") else ()
        ), spot
    for start, names, place in (
        ("pass-brake", "brake", ""),
        ("rival-brake", "brake", ""),
        ("pass-speed", "speed", ""),
        ("rival-coast", "coast", ""),
        ("rival-throttle", "throttle", ""),
        ("rival-slowest", "speed", "apex"),
        ("rival-leave", "speed", "exit"),
        ("rival-spread", "spread", ""),
        ("lap-spread", "spread time", ""),
        ("strong-steady", "spread time", ""),
        ("coasting", "coast", ""),
        ("grip", "grip", ""),
        ("what-if-grip", "grip", ""),
        ("what-if", "speed time", ""),
        ("trail", "brake steer", ""),
        ("loss", "time", ""),
        ("lap", "time", ""),
        ("sector", "time", ""),
        ("rival", "time", ""),
        ("theory", "time", ""),
    ):
        if kind.startswith(start):
            return frozenset(names.split()), place
    return frozenset(), spot


def _seat(fact: Fact, key: str, one: Known) -> Known:
    """A value with where in a corner, in which corner and sector, and of what it is."""
    cells, kind = fact.values, fact.kind
    for spot, ends in (("entry", "entry"), ("apex", ("apex", "low")), ("exit", ("exit", "leave"))):
        if key.endswith(ends) and (key == spot or kind == "pass-speed"):
            one = one._replace(spot=spot)
    if kind == "theory-corner" and key != "lost":
        one = one._replace(spot="apex", what=frozenset({"speed"}))
    where = {
        "after": "next",
        "next_value": "next",
        "steady_value": "steady",
        "first_value": "first",
        "second_value": "second",
        "last_value": "last",
        "top_share": "top_where",
        "top_value": "top_where",
    }.get(key, "first" if (kind, key) == ("claim-corner", "best") else "")
    if where:
        one = one._replace(corners=frozenset(_names_of((cells.get(where),))))
    if key == "worst_lost" or kind == "ideal-sectors":
        one = one._replace(sectors=frozenset({str(cells.get("worst", key[-1]))}))
    if key in ("aim", "now"):
        one = one._replace(what=frozenset({"brake" if one.unit == "m" else "speed"}))
    if kind == "lap-spread":
        names = {"spread": "spread", "width": "range"}.get(key, "time range")
        one = one._replace(what=frozenset(names.split()))
    role = key if key in ("aim", "now", "own", "step") else ""
    if kind.startswith(("improved", "stuck", "trend")):
        role = {"early": "now", "late": "aim"}.get(key, "")
    return one._replace(role=role)


def _join_causes(known: list[Known]) -> list[Known]:
    """Losses speak of their cause too: what was early costs time."""
    causes = [one for one in known if one.role == "cause"]
    for at, one in enumerate(known):
        if one.second and one.unit == "s" and ("time", 0) in one.turns:
            near = [o for o in causes if o.corners & one.corners and o.second == one.second]
            turns = {turn for o in near for turn in o.turns}
            turns = {
                (axis, side) for axis, side in turns if (axis, 1 - side) not in turns | one.turns
            }
            what = frozenset(w for o in near for w in o.what)
            known[at] = one._replace(what=one.what | what, turns=one.turns | turns)
    for at, one in enumerate(known):
        if one.role == "cause":
            known[at] = one._replace(what=one.what, turns=one.turns | {("time", 0)})
    return known


def _alike(one: Known, other: Known) -> bool:
    return (one.unit, one.spot, one.what) == (other.unit, other.spot, other.what)


def _best_laps(fact: Fact) -> Iterator[int]:
    if fact.laps and (
        (fact.basis == "best_lap" and len(fact.laps) == 1) or _BEST_FIRST.match(fact.kind)
    ):
        yield fact.laps[0]
    keys = ("best_lap", "lap" if fact.kind in ("measure-best", "coasting-lap") else "best")
    yield from (lap for key in keys if isinstance(lap := fact.values.get(key), int) and lap)


def _names_of(cells: Sequence[object]) -> Iterator[str]:
    for cell in cells:
        if isinstance(cell, Corner):
            yield cell.name
        elif isinstance(cell, tuple) and not isinstance(cell, Value | Term):
            yield from _names_of(cell)


def _list(cell: object) -> tuple[Any, ...]:
    return cell if isinstance(cell, tuple) and not isinstance(cell, Value | Term) else ()


def _ints(cells: Any) -> Iterator[int]:
    for cell in cells:
        if isinstance(cell, int):
            yield cell


def _has(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _first(pattern: str, text: str) -> re.Match[str] | None:
    return _compiled(pattern).search(text)


def _find(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return _compiled(pattern).finditer(text)


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
