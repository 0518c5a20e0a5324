"""Draws telemetry records of one corner so that their numbers show one finding."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from training.coach.corpus import values

Fields = dict[str, str]


@dataclass(frozen=True)
class Record:
    """What was measured in one corner, as written: field name to number, and what it shows.

    `label` is empty when the corner has no name. Fields are those of `data/telemetry.toml`.
    """

    finding: str
    fields: Mapping[str, str]
    label: str


def _speed(rng: random.Random, low: float, high: float) -> str:
    value = rng.uniform(low, high)
    return f"{value:.1f}" if rng.random() < 0.2 else f"{value:.0f}"


def _number(rng: random.Random, low: float, high: float, digits: int) -> str:
    """A number well inside the limits: rounding never carries it over one."""
    return f"{rng.uniform(low, high):.{digits}f}"


def _lat(rng: random.Random, low: float, high: float) -> str:
    sign = "-" if rng.random() < 0.06 else ""
    return sign + _number(rng, low + 0.05, high, rng.choice((1, 2, 2)))


def _brake(rng: random.Random, low: float, high: float) -> str:
    return _number(rng, low, high, rng.choice((0, 0, 1)) if high > 2 else 1)


def _three(rng: random.Random, *, exit_higher: bool | None = None) -> Fields:
    """Entry, apex and exit speed; *exit_higher* says how exit and entry compare."""
    apex = rng.uniform(38, 170)
    slow, fast = sorted((rng.uniform(1.05, 1.35), rng.uniform(1.4, 2.0)))
    if exit_higher is None:
        exit_higher = rng.random() < 0.5
    entry, out = (slow, fast) if exit_higher else (fast, slow)
    return {
        "entry": f"{apex * entry:.0f}",
        "apex": f"{apex:.0f}",
        "exit": f"{apex * out:.0f}",
    }


def _maybe_three(rng: random.Random) -> Fields:
    return _three(rng) if rng.random() < 0.55 else {}


def _maybe(rng: random.Random, share: float, **fields: str) -> Fields:
    return fields if rng.random() < share else {}


def _trail_brake(rng: random.Random) -> Fields:
    return (
        _maybe_three(rng)
        | _maybe(rng, 0.3, speed=_speed(rng, 45, 160))
        | {"brake": _brake(rng, 11, 90)}
        | _maybe(rng, 0.6, throttle=_number(rng, 0, 18, 0))
        | {"lat": _lat(rng, 0.45, 1.7)}
    )


def _early_release(rng: random.Random) -> Fields:
    return (
        _maybe_three(rng)
        | _maybe(rng, 0.3, speed=_speed(rng, 45, 160))
        | {"brake": rng.choice(("0", "0", "0.0", _number(rng, 0.1, 0.9, 1)))}
        | _maybe(rng, 0.5, throttle=_number(rng, 0, 45, 0))
        | {"lat": _lat(rng, 0.65, 1.7)}
    )


def _exit_speed(rng: random.Random) -> Fields:
    braked = rng.random() < 0.4
    return (
        _maybe_three(rng)
        | _maybe(rng, 0.3, speed=_speed(rng, 45, 140))
        | ({"brake": _brake(rng, 2, 9)} if braked else {})
        | {"throttle": _number(rng, 0, 19, 0), "lat": _lat(rng, 0.35, 1.4)}
    )


def _clean_exit(rng: random.Random) -> Fields:
    return (
        _maybe_three(rng)
        | _maybe(rng, 0.4, brake="0")
        | {"throttle": _number(rng, 60, 100, 0), "lat": _number(rng, 0.1, 0.54, 1)}
    )


def _coasting(rng: random.Random) -> Fields:
    return {
        "speed": _speed(rng, 60, 240),
        "throttle": _number(rng, 0, 4, 0),
    } | _maybe(rng, 0.8, brake=_number(rng, 0, 1.4, rng.choice((0, 1))),
               to_entry=_number(rng, 105, 400, 0))  # fmt: skip


def _brake_end(rng: random.Random) -> Fields:
    return (
        {"to_entry": _number(rng, 32, 98, 0), "speed": _speed(rng, 70, 240)}
        | {"brake": _number(rng, 0, 1.4, rng.choice((0, 1)))}
        | _maybe(rng, 0.5, throttle=_number(rng, 6, 100, 0))
    )


def _slope(sign: str) -> Callable[[random.Random], Fields]:
    def draw(rng: random.Random) -> Fields:
        plus = "+" if sign == "" and rng.random() < 0.4 else sign
        return {
            "to_entry": _number(rng, 101, 198, 0),
            "height": plus + _number(rng, 6, 28, rng.choice((0, 0, 1))),
        } | _maybe(rng, 0.6, speed=_speed(rng, 70, 240))

    return draw


def _late_apex(rng: random.Random) -> Fields:
    return {
        "to_entry": _number(rng, 101, 248, 0),
        "speed": _speed(rng, 70, 240),
    } | _maybe(rng, 0.5, throttle=_number(rng, 30, 100, 0))


def _look_ahead(rng: random.Random) -> Fields:
    return {"speed": _speed(rng, 50, 240)} | _maybe(
        rng, 0.5, throttle=_number(rng, 30, 100, 0)
    ) | _maybe(rng, 0.3, lat=_number(rng, 0.0, 0.25, 1))  # fmt: skip


def _reference(field: str) -> Callable[[random.Random], Fields]:
    def draw(rng: random.Random) -> Fields:
        own = _three(rng)
        step = rng.choice((rng.randint(2, 6), rng.randint(3, 15)))
        other = int(own[field]) + rng.choice((-step, step))
        kept = own if rng.random() < 0.4 else {field: own[field]}
        return kept | {f"ref_{field}": str(other)}

    return draw


def _brake_point(rng: random.Random) -> Fields:
    point = rng.randint(35, 220)
    step = rng.randint(3, 25)
    return {"point": str(point), "ref_point": str(point + rng.choice((-step, step)))}


def _delta(sign: str) -> Callable[[random.Random], Fields]:
    def draw(rng: random.Random) -> Fields:
        digits = rng.choice((1, 2, 2, 3))
        written = _number(rng, 0.1, 1.5, digits)
        return _maybe(rng, 0.2, apex=_speed(rng, 40, 160)) | {"delta": sign + written}

    return draw


def _coasting_corner(rng: random.Random) -> Fields:
    return _maybe(rng, 0.4, apex=_speed(rng, 40, 160)) | {"coast": _number(rng, 0.3, 2.5, 1)}


# finding: how to draw it, weight
DRAW: Final[Mapping[str, tuple[Callable[[random.Random], Fields], int]]] = {
    "trail_brake": (_trail_brake, 10),
    "early_brake_release": (_early_release, 8),
    "exit_speed": (_exit_speed, 9),
    "clean_exit": (_clean_exit, 4),
    "full_commitment": (_coasting, 6),
    "brake_end_focus": (_brake_end, 5),
    "downhill_braking": (_slope("-"), 4),
    "uphill_braking": (_slope(""), 4),
    "late_apex": (_late_apex, 3),
    "look_ahead": (_look_ahead, 2),
    "entry_exit": (lambda rng: _three(rng, exit_higher=rng.random() < 0.5), 12),
    "ref_apex": (_reference("apex"), 7),
    "ref_exit": (_reference("exit"), 7),
    "ref_entry": (_reference("entry"), 6),
    "ref_point": (_brake_point, 6),
    "time_lost": (_delta("+"), 4),
    "time_won": (_delta("-"), 3),
    "coasting_corner": (_coasting_corner, 3),
}


def draw(rng: random.Random) -> Record:
    """A record with a finding that is drawn first."""
    finding = rng.choices(list(DRAW), [weight for _, weight in DRAW.values()])[0]
    fields = DRAW[finding][0](rng)
    label = "" if rng.random() < 0.12 else values.corner(rng)
    return Record(finding, fields, label)
