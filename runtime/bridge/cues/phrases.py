"""Words for a concept: by the driver's level, with numbers of the moment, short enough to say."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Final, NamedTuple, TypeAlias

import yaml
from pydantic import BaseModel

from runtime.bridge.cues.circuit import NOWHERE_M, Circuit, Place, Zone, braking_m
from runtime.bridge.cues.concepts import Concept, Inputs
from runtime.bridge.cues.habits import Focus
from runtime.bridge.cues.model import (
    ADVICE,
    BACKGROUND,
    MOST_WORDS,
    SAFETY,
    TTS_WORD_MS,
    Burst,
    Emotion,
    Level,
    Tone,
)
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner, Marker

SLOPE_M: Final = 5.0
"""A road that rises or falls by more over an approach is mentioned."""
SLOPES: Final = frozenset({"downhill_braking", "uphill_braking"})
AT_M: Final = 10.0
NEAR_M: Final = 25.0
"""A landmark further from the brake point does not mark it."""
SHORTEST_MS: Final = 800
"""The shortest time of a message."""
LONGEST_LABEL: Final = 5
"""The most words of a label."""
_Table: TypeAlias = Mapping[str, Mapping[Level, str]]


class Note(NamedTuple):
    """A message that may be said now."""

    text: str
    priority: int = BACKGROUND
    concept: str = ""
    corner: str | None = None
    phrase_id: str | None = None
    emotion: Emotion = "neutral"


class PhraseFile(BaseModel, frozen=True, extra="forbid"):
    """Content of `phrases.yaml`."""

    hints: _Table
    doing: _Table
    anywhere: _Table
    focus: _Table
    severity: Mapping[int, str]
    parts: Mapping[Level, Mapping[str, int]]
    alarms: _Table
    tones: Mapping[str, Note]
    rules: Mapping[str, Note]


PHRASES: Final = PhraseFile.model_validate(
    yaml.load(Path(__file__).with_suffix(".yaml").read_text("utf-8"), Loader=yaml.CSafeLoader)
)
DOING: Final = PHRASES.doing
ANYWHERE: Final = PHRASES.anywhere
TOLD_LATER: Final = frozenset({"early_brake_release"})
"""Said after the corner, which must therefore be named."""
EMOTIONS: Final[dict[str, Emotion]] = {
    "early_brake_release": "encouraging",
    "full_commitment": "serious",
    "exit_speed": "encouraging",
}


class Occasion(NamedTuple):
    """A concept to speak of, with its circumstances."""

    concept: Concept
    inputs: Inputs
    circuit: Circuit | None = None
    place: Place | None = None
    corner: Corner | None = None
    """The corner that it is about."""


class _Part(NamedTuple):
    text: str
    rank: int
    """The highest rank is dropped first if there are too many words."""


def phrase(occasion: Occasion, level: Level, most: int = MOST_WORDS) -> str:
    """Say the concept in at most *most* words; empty if even the shortest form is longer."""
    doing = DOING.get(occasion.concept.id)
    if doing is not None:
        if occasion.place is None and not _has_corner(occasion):
            doing = ANYWHERE.get(occasion.concept.id, doing)
        text = doing[level].format(**_format_values(occasion.inputs))
        if occasion.concept.id in TOLD_LATER and occasion.corner is not None:
            name = _name(occasion.corner, level)
            return _join_parts([_Part(f"{name}:", 1), _Part(f"{_low(text)}.", 0)], most)
        return _join_parts([_Part(f"{text}.", 0)], most)
    values = _values(occasion, level)
    parts = [
        _Part(text.format(**values), rank)
        for text, rank in PHRASES.parts[level].items()
        if values.keys() >= {name for _, name, _, _ in Formatter().parse(text) if name}
    ]
    return _join_parts(parts, most)


LARGEST_STEP_M: Final = 15.0
"""Nobody is told to brake later by more at a time."""
WORTH_M: Final = 8.0


def focus_words(focus: Focus, level: Level) -> str:
    """Say what to do about a repeated loss, before its corner."""
    habit: str = focus.habit
    if habit == "coasting" and focus.earlier_m >= WORTH_M:
        habit = "rolling"
    return PHRASES.focus[habit][level].format(
        name=_name(focus.corner, level),
        step=5 * max(1, math.floor(min(focus.earlier_m, LARGEST_STEP_M) / 5)),
        coast=f"{focus.amount:.1f}",
    )


def grip_note(level: Level) -> Note:
    """Warn of more acceleration than grip."""
    return _alarm("grip", level, f"grip-{level}")


def zone_note(zone: Zone, speed_ms: float, level: Level) -> Note:
    """Warn of a danger zone entered too fast."""
    now, mark = round(min(speed_ms, 999.0) * KMH), round(zone.reference_ms * KMH)
    return _alarm("zone", level, f"danger-{zone.zone.id}-{level}", now=now, mark=mark)


def _alarm(kind: str, level: Level, phrase_id: str, **speeds_kmh: int) -> Note:
    text = PHRASES.alarms[kind][level].format(**speeds_kmh)
    return Note(text, SAFETY, phrase_id=phrase_id, emotion="intense")


def speaking_ms(text: str) -> int:
    """Return the least time to say a text, as published."""
    return max(SHORTEST_MS, TTS_WORD_MS * len(text.split())) if text.strip() else 0


def _values(occasion: Occasion, level: Level) -> dict[str, str | int]:
    """Return what is known of the coming corner, for the parts of `phrases.yaml`."""
    concept, corner, learns = occasion.concept.id, occasion.corner, level == "beginner"
    hint = PHRASES.hints[concept][level]
    values: dict[str, str | int] = {"hint": _low(hint) if learns else hint}
    if corner is None:
        there = {"somewhere": _far(occasion)} if _has_corner(occasion) else {}
        return values | there | {"ahead": "ahead"}
    brake = braking_m(corner)
    values |= {"name": _name(corner, level), "far": _far(occasion), "grade": corner.severity}
    values |= {"direction": corner.direction, "dz": abs(round(occasion.inputs.dz))}
    values["severity"] = PHRASES.severity.get(corner.severity, "{}").format(corner.direction)
    if spot := _brake_spot(occasion, corner):
        values |= {"spot": spot, "brake": round(brake)}
    if (slope := _slope(occasion)) and (spot or not learns):
        values["slope"] = slope
    turn_in = _nearest(occasion, corner, ("turn_in_ref",), 0.0) if learns and not spot else None
    if turn_in is not None:
        values["turn_in"] = turn_in[0]
    if (concept in SLOPES and brake <= 0 and not learns) or (learns and (spot or turn_in)):
        del values["hint"]
    return values


def _join_parts(parts: Sequence[_Part], most: int) -> str:
    """Join as many of the parts as fit into *most* words, in order, with a capital first."""
    for rank in range(max((part.rank for part in parts), default=0), -1, -1):
        text = " ".join(part.text for part in parts if part.rank <= rank)
        if len(text.split()) <= min(most, MOST_WORDS):
            text = text[:-1] + "." if text.endswith((",", ":")) else text
            return text[:1].upper() + text[1:]
    return ""


def _format_values(inputs: Inputs) -> dict[str, str]:
    return {
        "brake": f"{min(max(inputs.brake, 0.0), 999.0):.0f}",
        "glat": f"{min(max(inputs.glat, 0.0), 9.9):.1f}",
        "thr": f"{min(max(inputs.thr, 0.0), 100.0):.0f}",
        "v": f"{min(max(inputs.v, 0.0), 999.0):.0f}",
    }


def _has_corner(occasion: Occasion) -> bool:
    return 0 < occasion.inputs.to_entry < NOWHERE_M


def _far(occasion: Occasion) -> int:
    """Round the metres to the entry as a speaker would: to tens, nearby to fives."""
    left = occasion.inputs.to_entry
    unit = 10 if left >= 100 else 5
    return max(unit * round(left / unit), 5)


def _name(corner: Corner, level: Level) -> str:
    if level == "pro":
        return f"T{corner.number}"
    fits = corner.name.strip() and len(corner.name.split()) <= LONGEST_LABEL
    return corner.name.strip() if fits else f"Turn {corner.number}"


def _slope(occasion: Occasion) -> str:
    dz = occasion.inputs.dz
    if dz > SLOPE_M:
        return "Uphill"
    return "Downhill" if dz < -SLOPE_M else ""


def _brake_spot(occasion: Occasion, corner: Corner) -> str:
    """Say where to brake: at a landmark, else metres before the corner; empty: not at all."""
    bz = braking_m(corner)
    if bz <= 0:
        return ""
    near = _nearest(occasion, corner, ("brake_ref",), -bz)
    if near is None:
        return f"{round(bz)} m before"
    label, after = near
    word = "at" if abs(after) <= AT_M else "just after" if after < 0 else "just before"
    return f"{word} {label}"


def _nearest(
    occasion: Occasion, corner: Corner, kinds: Sequence[str], wanted_m: float
) -> tuple[str, float] | None:
    """Return the landmark nearest to a place after the entry, and its distance beyond that place.

    Landmarks already passed or with long names do not count.
    """
    circuit, left = occasion.circuit, occasion.inputs.to_entry
    if circuit is None:
        return None
    marks = [
        (abs(after), mark, after)
        for mark in circuit.markers(corner, kinds)
        if (at := circuit.ahead(mark.distance_m, corner.entry.distance_m)) > -left
        and abs(after := at - wanted_m) <= NEAR_M
        and 0 < len(mark.label.split()) <= LONGEST_LABEL
    ]
    if not marks:
        return None
    _, mark, after = min(marks, key=lambda row: row[0])
    return _label(mark, circuit), after


def _label(mark: Marker, circuit: Circuit) -> str:
    """Name a landmark as one says it: "the yellow bollard", but "the Gannet kerb" at Gannet
    Corner."""
    label = mark.label.strip()
    if label.split()[0] not in circuit.names:
        label = _low(label)
    return label if label.lower().startswith("the ") else f"the {label}"


def _low(text: str) -> str:
    return text[:1].lower() + text[1:]


def note_of(text: str, priority: int, concept: str, corner: str | None, level: Level) -> Note:
    """Make a note on a concept, with the matching face."""
    emotion = EMOTIONS.get(concept, "neutral")
    return Note(text, priority, concept, corner, f"{concept}-{level}", emotion)


def tone_phrase(tones: tuple[Tone, ...]) -> Note | None:
    """Return the words of the most urgent tone; None: none is urgent."""
    tone = max(tones, key=lambda tone: tone.priority, default=None)
    if tone is None or tone.priority < ADVICE:
        return None
    chimes = "ahead" if tone.pattern == "chime_up" else "behind"
    note = PHRASES.tones.get(tone.layer, PHRASES.tones[chimes])
    return note._replace(priority=tone.priority)


def rule_phrase(burst: Burst) -> Note:
    """Return the phrase of the first matching rule; unknown values match none."""
    coasting = burst.coast_frames / burst.frame_count if burst.frame_count > 0 else 0.0
    fitting = {
        "grip": burst.max_combo_g > 2.1,
        "coasting": coasting > 0.25,
        "trail_brake": burst.trail_brake_frames > 0 and burst.max_combo_g > 1.5,
        "slow": burst.avg_speed_kmh < 60,
        "fast": burst.avg_speed_kmh > 120,
    }
    return PHRASES.rules[next((rule for rule, fits in fitting.items() if fits), "neutral")]
