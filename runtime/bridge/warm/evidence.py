"""What is known of a session, as facts that sentences can be checked against; pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from runtime.bridge.warm.claims import UNKNOWN, Claim, plain, read

_SUFFIXES: Final = (
    ("_kmh", "km/h"),
    ("_pct", "%"),
    ("_bar", "bar"),
    ("_deg", "deg"),
    ("_std", "s"),
    ("_spread", "s"),
    ("seconds", "s"),
    ("seconds_lost", "s"),
    ("_s", "s"),
    ("_g", "g"),
    ("_m", "m"),
)
_SHARES: Final = frozenset({"score_pct", "weighted_total_pct", "score", "fraction"})
"""From 0 to 1, and spoken of in percent."""
_COUNTS: Final = {
    "n_laps": "laps",
    "lap_count": "laps",
    "laps": "laps",
    "n_passes": "times",
    "crossings": "times",
    "steering_corrections": "times",
    "sessions": "times",
}
_LAP_KEYS: Final = ("lap", "lap_number", "from_lap")
_CORNER_KEYS: Final = ("corner", "name")
NO_CLAIMS: Final[frozenset[Claim]] = frozenset()
_LOST: Final[frozenset[Claim]] = frozenset({"slower", "more", "to gain"})
_WON: Final[frozenset[Claim]] = frozenset({"faster", "less"})


class Place(NamedTuple):
    """A corner under all of its names."""

    name: str
    number: int | None = None
    nicknames: tuple[str, ...] = ()


class Fact(NamedTuple):
    """A number that is known."""

    value: float
    unit: str
    corner: str | None = None
    """Name of the corner that it is about; None: of none."""
    lap: int | None = None
    claims: frozenset[Claim] = NO_CLAIMS
    """What may be said of it."""


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
    words: frozenset[str] = frozenset()
    """Words of all names, in small letters."""

    def corners_in(self, text: str) -> frozenset[str]:
        """The corners that a text names by a name that is no number."""
        folded = text.casefold()
        return frozenset(
            corner
            for name, corner in self.spoken.items()
            if name in folded and re.search(rf"\b{re.escape(name)}\b", folded)
        )


def evidence_of(known: object, places: Sequence[Place] = (), names: Iterable[str] = ()) -> Evidence:
    """Evidence out of plain JSON values, whose keys tell the units (`_kmh`, `_s`, `_bar`, …).

    Sentences inside are evidence too. A number is about the ``corner`` and the ``lap`` of its
    object or of the nearest one around it. *names* are further proper names that may be used.
    """
    numbered: dict[str, str] = {}
    spoken: dict[str, str] = {}
    for place in places:
        for name in (place.name, *place.nicknames):
            spoken[name.casefold()] = place.name
        digits = re.search(r"(\d+[a-z]?)$", place.name, re.IGNORECASE)
        if digits:
            numbered[digits.group(1).lower()] = place.name
        elif place.number is not None:
            numbered[str(place.number)] = place.name
    bare = Evidence(numbered=numbered, spoken=spoken)
    facts = tuple(dict.fromkeys(_walk(known, "", None, None, bare)))
    told = (*names, *(name for place in places for name in (place.name, *place.nicknames)))
    laps = {fact.lap for fact in facts if fact.lap is not None}
    laps |= {int(fact.value) for fact in facts if fact.unit == "lap"}
    return Evidence(
        facts=facts,
        numbered=numbered,
        spoken=spoken,
        laps=frozenset(laps),
        sectors=frozenset(digit for name in told for digit in _sector(name)) or frozenset("123"),
        words=frozenset(
            word for name in told for word in re.findall(r"[\w']+", plain(name).casefold())
        ),
    )


def _sector(name: str) -> list[str]:
    return re.findall(r"^(?:sector |s)(\d)$", name.casefold())


def _walk(
    known: object, key: str, corner: str | None, lap: int | None, bare: Evidence
) -> Iterator[Fact]:
    if isinstance(known, Mapping):
        corner = next(
            (str(known[name]) for name in _CORNER_KEYS if known.get(name) in bare.spoken.values()),
            corner,
        )
        lap = next((known[name] for name in _LAP_KEYS if _whole(known.get(name))), lap)
        for name, value in known.items():
            about = bare.spoken.get(str(name).casefold())
            yield from _walk(value, key if about else str(name), about or corner, lap, bare)
    elif isinstance(known, str):
        yield from _told(known, corner, lap, bare)
    elif isinstance(known, list | tuple):
        for value in known:
            yield from _walk(value, key, corner, lap, bare)
    elif isinstance(known, int | float) and not isinstance(known, bool) and known == known:
        yield from _measured(key, float(known), corner, lap)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _measured(key: str, value: float, corner: str | None, lap: int | None) -> Iterator[Fact]:
    if key in _LAP_KEYS:
        yield Fact(value, "lap", corner, int(value))
        return
    if key in _COUNTS:
        yield Fact(value, _COUNTS[key], corner, lap)
        return
    if key in _SHARES:
        yield Fact(100.0 * value, "%", corner, lap)
        return
    unit = next((unit for suffix, unit in _SUFFIXES if key.endswith(suffix)), None)
    if unit is not None:
        yield Fact(value, unit, corner, lap, _meaning(key, value, unit))


def _meaning(key: str, value: float, unit: str) -> frozenset[Claim]:
    """What may be said of a number by its name and its sign."""
    if key == "seconds_lost":
        return _LOST
    if "gain" in key:
        return frozenset({"to gain", "faster"} if "est" not in key else {"to gain"})
    if "brake_point_delta" in key:
        return frozenset({"early"} if value > 0 else {"late"})
    if key.startswith("improvement") or "delta_score" in key:
        return _WON if value > 0 else _LOST
    if "delta" in key:
        if unit == "s":
            return _LOST if value > 0 else _WON
        slower: frozenset[Claim] = frozenset({"slower", "less", "to gain"})
        return slower if value < 0 else frozenset({"faster", "more"})
    meaning: set[Claim] = set()
    if key.startswith("best") or "_best" in key:
        meaning.add("best")
    if key.startswith(("max", "top", "peak", "longest")):
        meaning.add("most")
    if key.startswith("min"):
        meaning.add("least")
    return frozenset(meaning)


def _told(text: str, corner: str | None, lap: int | None, bare: Evidence) -> Iterator[Fact]:
    """The numbers of a sentence that is known to be true."""
    for part in re.split(r"(?<=[.!?])\s+", text):
        sentence = read(part)
        named = [bare.numbered[one] for one in sorted(sentence.corners) if one in bare.numbered]
        named += sorted(bare.corners_in(part))
        laps = sorted(sentence.laps)
        about = named[0] if named else corner
        of_lap = laps[0] if laps else lap
        for one in laps:
            yield Fact(float(one), "lap", None, one)
        for number in sentence.numbers:
            if number.unit != UNKNOWN:
                value = number.value if number.sign >= 0 else -number.value
                yield Fact(value, number.unit, about, of_lap, number.claims)
