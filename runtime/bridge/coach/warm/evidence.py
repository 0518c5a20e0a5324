"""What is known of a session, as facts that sentences can be checked against; pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, NamedTuple

from runtime.bridge.coach.warm.advice_words import FRAMES, FREE
from runtime.bridge.coach.warm.claims import UNKNOWN, Token, folded, plain, tokens
from runtime.bridge.coach.warm.kinds import CAUSES, KEYS, LABELS, QUANTITIES, SHARES, Quantity
from runtime.bridge.coach.warm.lexicon import CHEER, CONCEPTS, FUNCTION
from runtime.bridge.coach.warm.segments import DIRECTIONS, Segment, segments

_LAP_KEYS: Final = ("lap", "lap_number", "from_lap")
_CORNER_KEYS: Final = ("corner", "name")
_BASIS: Final = {
    "session_best": frozenset({"vsbest"}),
    "reference_file": frozenset({"vsref"}),
    "reference": frozenset({"vsref"}),
}
END: Final = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])")
_WISHES: Final = frozenset("goal focus asked question driver track id category concept".split())
"""Keys of what somebody wants, or is called: nothing follows from it."""
_PASS: Final = re.compile(
    r"\b(?P<usual>(?:usual|typical|middle) pass)|(?:best|quickest|fastest) pass\b|\bat best\b"
)
_MEASURED: Final = frozenset({"more", "less"})
_MOVED: Final = frozenset({"lose", "gain", "slower", "faster", "slow"})
_FREE: Final = frozenset({"lapref", "cornerref"})


class Place(NamedTuple):
    """A corner under all of its names."""

    name: str
    number: int | None = None
    nicknames: tuple[str, ...] = ()
    direction: Literal["left", "right"] | None = None
    """None: it may not be told."""
    danger: bool = False
    """Whether mistakes are punished there, so that nobody is asked for more speed."""


class Fact(NamedTuple):
    """A number that is known."""

    kind: str
    """One of `QUANTITIES`."""
    value: float
    corner: str | None = None
    """Name of the corner that it is about; None: of none."""
    lap: int | None = None
    basis: frozenset[str] | None = None
    """What it is compared with; None: nobody knows."""
    which: str = ""
    """The pass that it is of, *best* or *usual*, or *lap*: that of its lap; empty: any."""

    @property
    def quantity(self) -> Quantity:
        """How it is spoken of."""
        return QUANTITIES[self.kind]


@dataclass(frozen=True)
class Evidence:
    """All that may be said; made by `evidence_of`."""

    facts: tuple[Fact, ...] = ()
    numbered: Mapping[str, str] = field(default_factory=dict)
    """Corner names by what stands behind *Turn*."""
    spoken: Mapping[str, str] = field(default_factory=dict)
    """Corner names by every name, in small letters."""
    laps: frozenset[int] = frozenset()
    sectors: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Further names, in small letters."""
    areas: frozenset[str] = frozenset()
    """Those of them that are stretches of the track."""
    told: Mapping[str, frozenset[str | None]] = field(default_factory=dict)
    """Sentences that are true as they stand, folded, and the corners that each is about."""
    places: tuple[Place, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    """What the evidence itself calls best or worst: *best_lap*, *weakest*, … and which it is."""
    grades: Mapping[str, str] = field(default_factory=dict)
    """Letters by corner; that of the session under an empty name."""
    causes: frozenset[tuple[str, str]] = frozenset()
    """Corner and cause of lost time."""

    @cached_property
    def by_unit(self) -> Mapping[str, tuple[Fact, ...]]:
        """The facts by their unit."""
        found: dict[str, list[Fact]] = {}
        for fact in self.facts:
            found.setdefault(fact.quantity.unit, []).append(fact)
        return {unit: tuple(facts) for unit, facts in found.items()}

    @cached_property
    def only(self) -> str | None:
        """The one corner that anything is known of."""
        corners = {fact.corner for fact in self.facts if fact.corner is not None}
        return corners.pop() if len(corners) == 1 else None

    @cached_property
    def lap_times(self) -> Mapping[int, float]:
        """Seconds by lap."""
        return {f.lap: f.value for f in self.facts if f.kind == "lap_time" and f.lap is not None}

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        return _any_of({*self.spoken, *self.names})

    @cached_property
    def corner_names(self) -> re.Pattern[str] | None:
        """Finds names of corners that are no numbers, in small letters."""
        return _any_of(self.spoken)

    def tokens(self, sentence: str) -> list[Token]:
        """A sentence taken apart, with its names."""
        return tokens(sentence, self._pattern, self.spoken, self.areas)

    def segments(self, sentence: str) -> list[Segment]:
        """The parts of a sentence."""
        return segments(self.tokens(sentence), self.numbered)

    def knowing(self, *texts: str) -> "Evidence":
        """The same with sentences of *texts*, which are true, and may be repeated."""
        told = {key: set(corners) for key, corners in self.told.items()}
        for text in texts:
            _learn(self, text, None, told)
        return replace(self, told={key: frozenset(corners) for key, corners in told.items()})


def evidence_of(
    known: object,
    places: Sequence[Place] = (),
    names: Iterable[str] = (),
    told: Sequence[str] = (),
    areas: Iterable[str] = (),
) -> Evidence:
    """Evidence out of plain JSON values, whose keys tell what they are.

    Sentences inside are evidence too, as are those of *told*. A number is about the ``corner`` and
    the ``lap`` of its object or of the nearest one around it. *names* are further proper names
    that may be used, *areas* those that stretches of the track have.
    """
    numbered: dict[str, str] = {}
    spoken: dict[str, str] = {}
    for place in places:
        for name in (place.name, *place.nicknames):
            if not re.fullmatch(r"turn \d+", name.casefold()):
                spoken[plain(name).casefold()] = place.name
        digits = re.search(r"(\d+[a-z]?)$", place.name, re.IGNORECASE)
        if digits:
            numbered[digits.group(1).lower()] = place.name
        elif place.number is not None:
            numbered[str(place.number)] = place.name
    every = [plain(name).casefold() for name in names if name.strip()]
    parts = [plain(name).casefold() for name in areas if name.strip()]
    bare = Evidence(
        numbered=numbered,
        spoken=spoken,
        places=tuple(places),
        names=frozenset(
            part for name in (*every, *parts) for part in _parts(name) if not _usual(part)
        ),
        areas=frozenset(part for name in parts for part in _parts(name)),
        sectors=frozenset(found for name in every for found in _sector(name)) or frozenset("123"),
    )
    found = _Found(bare)
    found.walk(known, "", None, None)
    evidence = found.evidence()
    return evidence.knowing(*told) if told else evidence


def _any_of(names: Iterable[str]) -> re.Pattern[str] | None:
    every = sorted(filter(None, names), key=len, reverse=True)
    if not every:
        return None
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, every))})(?!\w)")


def _parts(name: str) -> set[str]:
    """A name, and its first word where that is none of the language's."""
    return {name, name.split()[0]} if len(name.split()[0]) > 3 else {name}


def _usual(name: str) -> bool:
    """Whether a name consists of words that say something by themselves."""
    known = (FUNCTION, CONCEPTS, FRAMES, CHEER, FREE)
    return all(any(word in words for words in known) for word in re.findall(r"[\w'-]+", name))


def _sector(name: str) -> list[str]:
    return re.findall(r"^(?:sector |s)(\d)$", name)


class _Found:
    """What a walk through JSON has found."""

    def __init__(self, bare: Evidence) -> None:
        self.bare = bare
        self.facts: dict[Fact, None] = {}
        self.told: dict[str, set[str | None]] = {}
        self.marks: dict[str, str] = {}
        self.grades: dict[str, str] = {}
        self.causes: set[tuple[str, str]] = set()
        self.laps: set[int] = set()
        self.names = set(bare.names)
        self.basis: frozenset[str] | None = None
        self._moment = self._graded = False
        self._corners = {place.name for place in bare.places}

    def evidence(self) -> Evidence:
        """The whole of it."""
        laps = self.laps | {fact.lap for fact in self.facts if fact.lap is not None}
        return replace(
            self.bare,
            facts=tuple(self.facts),
            laps=frozenset(laps),
            names=frozenset(self.names),
            told={key: frozenset(corners) for key, corners in self.told.items()},
            marks=self.marks,
            grades=self.grades,
            causes=frozenset(self.causes),
        )

    def walk(self, known: object, key: str, corner: str | None, lap: int | None) -> None:
        """Take in a value below *key*."""
        if isinstance(known, Mapping):
            self._object(known, key, corner, lap)
        elif isinstance(known, str):
            self._text(known, key, corner, lap)
        elif isinstance(known, list | tuple):
            for value in known:
                self.walk(value, key, corner, lap)
        elif isinstance(known, int | float) and not isinstance(known, bool) and known == known:
            self._number(float(known), key, corner, lap)

    def _object(
        self, known: Mapping[object, object], key: str, corner: str | None, lap: int | None
    ) -> None:
        corner = next(
            (str(known[name]) for name in _CORNER_KEYS if known.get(name) in self._corners), corner
        )
        for lap_key in _LAP_KEYS:
            number = known.get(lap_key)
            if isinstance(number, int) and not isinstance(number, bool):
                lap = number
                break
        basis, self.basis = self.basis, _BASIS.get(str(known.get("basis")), self.basis)
        graded, self._graded = (
            self._graded,
            known.get("basis") == "session_best"
            and (isinstance(known.get("n_passes"), int) and known.get("n_passes") != 1),
        )
        if key == "best_lap" and lap is not None:
            self.marks["best_lap"] = str(lap)
        if key in ("weakest", "improved") and corner is not None:
            self.marks[key] = corner
        cause = known.get("cause")
        if corner is not None and isinstance(cause, str):
            self.causes.add((corner, cause))
        for name, value in known.items():
            if name == "seconds_lost" and cause in CAUSES and isinstance(value, int | float):
                self._add(CAUSES[str(cause)], float(value), corner, lap)
                continue
            at_corner = str(name) in self._corners
            self._moment = self._moment or name == "highlights"
            below = key if at_corner else str(name)
            self.walk(value, below, str(name) if at_corner else corner, lap)
            self._moment = self._moment and name != "highlights"
        self.basis, self._graded = basis, graded

    def _text(self, text: str, key: str, corner: str | None, lap: int | None) -> None:
        if key in ("grade", "letter", "session_grade") and re.fullmatch("[A-F]", text):
            self.grades["" if key == "session_grade" else corner or ""] = text
            return
        if key in ("costs_most", "best_corner", "weakest") and text in self._corners:
            self.marks[key] = text
            return
        if key in ("surface", "surface_state"):
            usual = plain(text).casefold()
            self.names |= {f"{what} is {usual}" for what in ("the surface", "the track")}
        if key in _WISHES or " " not in text or text in self._corners:
            return
        _learn(self.bare, text, corner, self.told)
        for sentence in END.split(text):
            self._read(sentence, corner, lap)

    def _number(self, value: float, key: str, corner: str | None, lap: int | None) -> None:
        if key in _LAP_KEYS:
            self.laps.add(int(value))
        elif (kind := KEYS.get(key)) is not None:
            self._add(kind, 100.0 * value if key in SHARES else value, corner, lap)
            if key.startswith("best_lap") and kind == "lap_time":
                self.marks["best_time"] = str(value)

    def _add(self, kind: str, value: float, corner: str | None, lap: int | None) -> None:
        scope = QUANTITIES[kind].scope
        if (scope == "corner") == (corner is None) and scope != "any":
            return
        which = "lap" if self._moment and corner is not None and lap is not None else ""
        which = "usual" if self._graded and kind == "delta_time" else which
        self.facts[Fact(kind, value, corner, lap, self.basis, which)] = None

    def _which(self, sentence: str, what: Quantity, corner: str | None, lap: int | None) -> str:
        """The pass that a true sentence speaks of."""
        found = _PASS.search(sentence) if not what.plus else None  # else it is compared with it
        if found is not None:
            return "usual" if found.lastgroup == "usual" else "best"
        own = lap is not None and (self._moment or f"lap {lap}" in sentence.casefold())
        return "lap" if corner is not None and own else ""

    def _labelled(self, sentence: str, corner: str | None) -> bool:
        """Whether a sentence is a difference with its label, which is taken in."""
        for pattern, kind in LABELS:
            if found := re.search(pattern, sentence):
                named = {one for part in self.bare.segments(sentence) for one in part.corners}
                about = named.pop() if len(named) == 1 else corner
                self._add(kind, float(found.group(1)), about, None)
                return True
        return False

    def _read(self, sentence: str, corner: str | None, lap: int | None) -> None:
        """The facts of a sentence that is known to be true, as far as it is understood."""
        if self._labelled(sentence, corner):
            return
        clear, parts = True, self.bare.segments(sentence)
        laps = {lap for part in parts for lap in (*part.laps, *part.versus)}
        for part in parts:
            clear = clear and not (part.unknown or part.bad)
            clear = clear and all(one.unit != UNKNOWN for one in part.measures)
            if part.laps and not part.corners and {"best", "fastest"} & part.concepts:
                part.concepts -= {"best", "fastest"}
                part.concepts.add("bestlap")
            about = part.corners[0] if len(part.corners) == 1 else corner
            if len(part.corners) > 1 or not clear or len(part.laps) > 1:
                continue
            of_lap = part.laps[0] if part.laps else lap
            self.laps.update(part.laps)
            if len(part.measures) != 1 or part.unsure or part.measures[0].sign:
                continue
            one = part.measures[0]
            kinds = [*_kinds_of(part, one.unit, about is not None)]
            if len(kinds) == 1 and (about is None or len(laps) < 2):
                kind, sign = kinds[0]
                basis = part.basis - {"vsany"} or None
                which = self._which(sentence, QUANTITIES[kind], about, of_lap)
                fact = Fact(kind, sign * one.value, about, of_lap, basis, which)
                self.facts[fact] = None
                if "bestlap" in part.concepts and kind == "lap_time":
                    self.marks["best_time"] = str(one.value)
                    if part.laps:
                        self.marks["best_lap"] = str(part.laps[0])


def _kinds_of(part: Segment, unit: str, at_corner: bool) -> Iterator[tuple[str, int]]:
    """The kinds that a part may speak of, and the signs of their values."""
    for kind, quantity in QUANTITIES.items():
        if quantity.unit != unit or quantity.scope == ("session" if at_corner else "corner"):
            continue
        for sign in (1, -1) if quantity.plus else (1,):
            if speaks_of(part, quantity, sign, at_corner):
                yield kind, sign
                break


def speaks_of(part: Segment, quantity: Quantity, sign: int, at_corner: bool) -> bool:
    """Whether a part speaks of such a quantity with that sign, and of nothing else."""
    concepts = part.concepts | ({"lapref"} if part.laps else set())
    concepts |= {"cornerref"} if at_corner else set()
    if any(not need & concepts for need in quantity.needs):
        return False
    if _MEASURED & concepts and _MOVED & concepts:
        return False  # less was lost
    allowed = quantity.may.union(_FREE, *quantity.needs)
    if quantity.plus or quantity.minus:
        own = quantity.plus if sign > 0 else quantity.minus
        if not own & concepts:
            return False
        held = {word for need in quantity.needs for word in need if word in DIRECTIONS}
        held -= quantity.plus | quantity.minus  # a direction that belongs to the name
        allowed = (allowed - DIRECTIONS) | own | held | quantity.basis
    return concepts <= allowed


def _learn(bare: Evidence, text: str, corner: str | None, told: dict[str, set[str | None]]) -> None:
    """Remember the sentences of a true text."""
    for line in text.splitlines():
        for sentence in (*END.split(line), line):
            key = folded(sentence)
            if " " not in key:
                continue
            named = {name for part in bare.segments(sentence) for name in part.corners}
            told.setdefault(key, set()).update(named or {corner})
