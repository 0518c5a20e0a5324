"""Grounding: true sentences pass, and the same sentences with one thing turned false do not."""

import random
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest

from runtime.bridge.coach.warm.evidence import Evidence, Place, evidence_of
from runtime.bridge.coach.warm.grounding import false_part
from runtime.bridge.session.ranking import time_text

CORNERS: Final = [f"Turn {number}" for number in range(1, 10)]
PLACES: Final = [Place(name, at, direction="left") for at, name in enumerate(CORNERS, start=1)]


class Said(NamedTuple):
    """A sentence, and what it says of a session."""

    text: str
    kind: str
    corner: str | None
    lap: int | None
    value: float
    digits: int


class World:
    """A session that was made up, and everything that is true of it."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.rng = rng
        self.laps = {lap: round(rng.uniform(90.0, 99.0), 3) for lap in range(1, rng.randint(4, 9))}
        self.best = min(self.laps, key=lambda lap: self.laps[lap])
        self.rows = {corner: self._row(corner) for corner in rng.sample(CORNERS, 5)}
        self.top = round(rng.uniform(180, 240), 1)
        self.bar = round(rng.uniform(60, 90), 1)

    def _row(self, corner: str) -> dict[str, float | int | str]:
        rng = self.rng
        apex, leave = round(rng.uniform(50, 120), 1), round(rng.uniform(121, 175), 1)
        row: dict[str, float | int | str] = {
            "corner": corner,
            "basis": "session_best",
            "delta_time_s": round(rng.choice([1, 1, 1, -1]) * rng.uniform(0.06, 0.9), 3),
            "entry_speed_kmh": round(rng.uniform(176, 230), 1),
            "apex_speed_kmh": apex,
            "exit_speed_kmh": leave,
            "apex_delta_kmh": round(rng.choice([1, -1]) * rng.uniform(0.8, 6), 1),
            "exit_delta_kmh": round(rng.choice([1, -1]) * rng.uniform(0.8, 6), 1),
            "brake_point_delta_m": round(rng.choice([1, -1]) * rng.uniform(3, 25), 1),
            "peak_brake_bar": round(rng.uniform(20, 59), 1),
            "coast_seconds": round(rng.uniform(1.0, 3.0), 1),
        }
        return row

    @property
    def evidence(self) -> Evidence:
        known = {
            "laps": [{"lap": lap, "lap_time_s": time} for lap, time in self.laps.items()],
            "n_laps": len(self.laps),
            "best_lap": {"lap": self.best, "best_lap_time_s": self.laps[self.best]},
            "top_speed_kmh": self.top,
            "max_brake_bar": self.bar,
            "corners": list(self.rows.values()),
        }
        return evidence_of(known, PLACES, ["Larkfell", "Mia"])

    def values(self, kind: str, corner: str | None, lap: int | None) -> list[float]:
        """What is true of a kind of number there."""
        if kind in ("lap_time", "best_time"):
            wanted = [self.best] if lap is None else [lap]
            if kind == "best_time" and lap not in (None, self.best):
                return []
            return [self.laps[one] for one in wanted if one in self.laps]
        if corner is None:
            whole = {"top": self.top, "max_bar": self.bar, "laps": float(len(self.laps))}
            return [whole[kind]] if kind in whole else []
        row = self.rows.get(corner)
        if row is None or kind not in KEYS:
            return []
        key, sign = KEYS[kind]
        value = float(row[key])
        return [abs(value)] if not sign or value * sign > 0 else []

    def true(self, said: Said) -> bool:
        """Whether a claim holds, as far as its digits say."""
        step = 10.0**-said.digits
        known = self.values(said.kind, said.corner, said.lap)
        more = [(value - said.value) / step for value in known]
        return any(abs(one) <= 0.5 + 1e-6 or 0.0 <= one < 1.0 - 1e-6 for one in more)


KEYS: Final[dict[str, tuple[str, int]]] = {
    "lost": ("delta_time_s", 1),
    "won": ("delta_time_s", -1),
    "entry": ("entry_speed_kmh", 0),
    "apex": ("apex_speed_kmh", 0),
    "exit": ("exit_speed_kmh", 0),
    "apex less": ("apex_delta_kmh", -1),
    "apex more": ("apex_delta_kmh", 1),
    "exit less": ("exit_delta_kmh", -1),
    "exit more": ("exit_delta_kmh", 1),
    "early": ("brake_point_delta_m", 1),
    "late": ("brake_point_delta_m", -1),
    "bar": ("peak_brake_bar", 0),
    "coast": ("coast_seconds", 0),
}
WORDINGS: Final[dict[str, tuple[str, ...]]] = {
    "lost": (
        "You lost {v} s at {c}.",
        "{c} cost you {v} s.",
        "At {c} you were {v} s slower than your best pass.",
        "There are {v} s to gain at {c}.",
        "You gave away {v} seconds in {c}.",
        "{c} is where {v} s went missing.",
        "The time loss at {c} is {v} s.",
        "Mia, you dropped {v} s at {c}.",
    ),
    "won": (
        "You gained {v} s at {c}.",
        "At {c} you were {v} s faster than your best pass.",
        "You picked up {v} s at {c}.",
        "You won {v} seconds in {c}.",
    ),
    "entry": ("Your entry speed at {c} was {v} km/h.", "You entered {c} with {v} km/h."),
    "apex": (
        "Your apex speed at {c} was {v} km/h.",
        "You carried {v} km/h through the apex of {c}.",
        "{c}: {v} km/h at the slowest point.",
    ),
    "exit": ("You left {c} with {v} km/h.", "Your exit speed at {c} was {v} km/h."),
    "apex less": ("You were {v} km/h slower at the apex of {c}.",),
    "apex more": ("You were {v} km/h faster at the apex of {c}.",),
    "exit less": (
        "You were {v} km/h slower at the exit of {c}.",
        "{v} km/h were missing at the exit of {c}.",
    ),
    "exit more": ("You were {v} km/h faster at the exit of {c}.",),
    "early": ("You braked {v} m early at {c}.", "The brakes came {v} m early into {c}."),
    "late": ("You braked {v} m late at {c}.", "The brakes came {v} m late into {c}."),
    "bar": ("You braked with {v} bar at {c}.", "Your brake pressure at {c} was {v} bar."),
    "coast": ("You coasted for {v} s at {c}.", "You rolled for {v} s on no pedal at {c}."),
    "lap_time": ("Lap {l} took {t}.", "Lap {l}: {t}.", "You did lap {l} in {t}."),
    "best_time": ("Your best lap was lap {l} with {t}.", "Lap {l} was your fastest with {t}."),
    "top": ("Your top speed was {v} km/h.",),
    "max_bar": ("Your highest brake pressure was {v} bar.",),
    "laps": ("You drove {n} laps.", "You completed {n} laps."),
}
SWAPS: Final = (
    ("lost", "gained"),
    ("cost you", "gained you"),
    ("slower", "faster"),
    ("gave away", "clawed back"),
    ("went missing", "were won"),
    ("time loss", "time gain"),
    ("dropped", "found"),
    ("early", "late"),
    ("picked up", "bled"),
    ("won", "shed"),
    ("were missing", "were gained"),
    ("faster", "slower"),
    ("late", "early"),
    ("gained", "lost"),
)
"""Words and their opposites: each turns the truth around."""
NOUNS: Final = (
    ("apex speed", "top speed", "top"),
    ("apex speed", "exit speed", "exit"),
    ("apex speed", "entry speed", "entry"),
    ("exit speed", "apex speed", "apex"),
    ("exit speed", "average speed", "none"),
    ("entry speed", "exit speed", "exit"),
    ("top speed", "average speed", "none"),
    ("at the apex", "at the entry", "none"),
    ("brake pressure", "fuel pressure", "none"),
)


def write(kind: str, wording: str, world: World, corner: str | None, lap: int | None) -> Said:
    value = world.values(kind, corner, lap)[0]
    digits = {"laps": 0, "lap_time": 3, "best_time": 3}.get(kind, world.rng.choice([1, 2]))
    if kind in ("early", "late", "bar"):
        digits = 1
    if abs(float(f"{value:.{digits}f}") - value) > 0.12 * value:
        digits += 1
    shown = f"{value:.{digits}f}"
    text = wording.format(v=shown, c=corner, l=lap, n=shown, t=time_text(value))
    return Said(text, kind, corner, lap, float(shown), digits)


def truths(world: World) -> Iterator[Said]:
    """Every wording of everything that is true."""
    for kind, wordings in WORDINGS.items():
        for wording in wordings:
            corners = list(world.rows) if kind in KEYS else [None]
            laps = list(world.laps) if "{l}" in wording else [None]
            for corner in corners:
                for lap in laps:
                    if world.values(kind, corner, lap):
                        yield write(kind, wording, world, corner, lap)


def mutants(said: Said, world: World) -> Iterator[Said]:
    """The same with one thing changed; some may be true by chance."""
    rng, text = world.rng, said.text
    if said.corner is not None:
        other = rng.choice([one for one in CORNERS if one != said.corner])
        yield said._replace(text=text.replace(said.corner, other), corner=other)
    if said.lap is not None:
        lap = rng.choice([one for one in (*world.laps, 31) if one != said.lap])
        yield said._replace(text=re.sub(rf"(?i)lap {said.lap}\b", f"lap {lap}", text), lap=lap)
    value = said.value * (1 + rng.choice([-1, 1]) * rng.uniform(0.05, 0.3))
    written = f"{said.value:.{said.digits}f}"
    if said.kind in ("lap_time", "best_time"):
        written, shown = time_text(said.value), time_text(value)
    else:
        shown = f"{value:.{said.digits}f}"
        value = float(shown)
    yield said._replace(text=text.replace(written, shown), value=value)
    for unit in ("s", "km/h", "bar", "m", "%", "g"):
        changed = re.sub(r" (?:s|seconds|km/h|bar|m)\b(?! \w+ly)", f" {unit}", text, count=1)
        if f"{written} {unit}" not in text and changed != text:
            yield said._replace(text=changed, kind="none")
    for word, opposite in SWAPS:
        if re.search(rf"\b{word}\b", text):
            yield said._replace(text=re.sub(rf"\b{word}\b", opposite, text), kind="none")
    for noun, other, kind in NOUNS:
        if noun in text:
            yield said._replace(text=text.replace(noun, other), kind=kind)
    yield said._replace(
        text=text.replace("your best pass", "the reference"), kind=_same(said, "pass")
    )
    for verb in (" were ", " was ", " is ", " are "):
        if verb in text:
            yield said._replace(text=text.replace(verb, f"{verb}not ", 1), kind="none")
            yield said._replace(text=text.replace(verb, f"{verb}always ", 1), kind="none")
    yield said._replace(text=text.replace("You ", "You never ", 1), kind=_same(said, "You "))
    yield said._replace(text=f"{text[:-1]} on every lap.", kind="none")
    yield said._replace(text=f"{text[:-1]}, your biggest loss.", kind="none")
    yield said._replace(text=f"{text[:-1]} and 3 times at the exit.", kind="none")


def _same(said: Said, part: str) -> str:
    """The kind of a sentence, which is false once *part* of it has been changed."""
    return "none" if part in said.text else said.kind


@pytest.mark.parametrize("seed", range(12))
def test_what_is_true_is_kept_however_it_is_worded(seed: int) -> None:
    world = World(seed)
    evidence = world.evidence
    for said in truths(world):
        assert false_part(said.text, evidence) is None, said


@pytest.mark.parametrize("seed", range(12))
def test_no_mutant_of_a_true_sentence_is_kept(seed: int) -> None:
    world = World(seed)
    evidence, tried = world.evidence, 0
    for said in truths(world):
        for one in mutants(said, world):
            if one.text == said.text or world.true(one):
                continue
            tried += 1
            assert false_part(one.text, evidence) is not None, (said, one)
    assert tried > 500
