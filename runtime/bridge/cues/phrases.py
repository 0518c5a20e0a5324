"""Words for a concept: by the driver's level, with numbers of the moment, few enough to be said."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.cues.circuit import NOWHERE_M, Circuit, Place, Zone, braking_m
from runtime.bridge.cues.concepts import Concept, Inputs
from runtime.bridge.cues.habits import Focus
from runtime.bridge.cues.model import (
    ADVICE,
    BACKGROUND,
    MOST_WORDS,
    SAFETY,
    Burst,
    Emotion,
    Level,
    Tone,
)
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import Corner, Marker

SLOPE_M: Final = 5.0
"""A road that rises or falls by more over an approach is worth a word."""
SLOPES: Final = frozenset({"downhill_braking", "uphill_braking"})
AT_M: Final = 10.0
NEAR_M: Final = 25.0
"""A landmark further from the brake point does not tell where it is."""
LONGEST_LABEL: Final = 5
"""Words."""
SEVERITY: Final = {
    1: "{} hairpin",
    2: "tight {}",
    3: "medium {}",
    4: "open {}",
    5: "fast {}",
    6: "{} kink",
}
HINTS: Final[dict[str, dict[Level, str]]] = {
    "late_apex": {
        "beginner": "Turn in late",
        "intermediate": "Late apex",
        "pro": "Late apex",
    },
    "brake_end_focus": {
        "beginner": "Look where braking ends",
        "intermediate": "Eyes on the end of braking",
        "pro": "Eyes on release",
    },
    "downhill_braking": {
        "beginner": "Road falls, brake early",
        "intermediate": "Longer stop",
        "pro": "Longer stop",
    },
    "uphill_braking": {
        "beginner": "Road climbs, it slows you",
        "intermediate": "Shorter stop",
        "pro": "Shorter stop",
    },
    "look_ahead": {
        "beginner": "Look far ahead",
        "intermediate": "Look far ahead",
        "pro": "Eyes up",
    },
}
DOING: Final[dict[str, dict[Level, str]]] = {
    "trail_brake": {
        "beginner": "Ease the brake off as you turn",
        "intermediate": "{brake} bar at {glat} g: bleed the brake off as the steering builds",
        "pro": "{brake} bar, {glat} g: bleed it off",
    },
    "early_brake_release": {
        "beginner": "Keep a little brake on until the car has turned",
        "intermediate": "Brake off too early, {glat} g: keep a little pressure past turn-in",
        "pro": "{brake} bar at {glat} g. Trail it longer",
    },
    "exit_speed": {
        "beginner": "Past the apex, squeeze the throttle",
        "intermediate": "{thr} % throttle past the apex: open it",
        "pro": "{thr} % past apex. Power",
    },
    "full_commitment": {
        "beginner": "You are coasting: stay on the throttle until you brake",
        "intermediate": "Coasting at {v} km/h: full throttle until the brake point",
        "pro": "Coasting at {v}. Throttle",
    },
}
"""What is said about what the driver does, rather than about the corner to come."""
ANYWHERE: Final[dict[str, dict[Level, str]]] = {
    "full_commitment": {
        "beginner": "You are coasting: choose, throttle or brake",
        "intermediate": "Coasting at {v} km/h: be on the throttle or on the brake",
        "pro": "Coasting at {v}. Throttle or brake",
    },
}
"""The same, where nobody knows what comes next."""
TOLD_LATER: Final = frozenset({"early_brake_release"})
"""Said when the corner lies behind, so that it must be named."""
EMOTIONS: Final[dict[str, Emotion]] = {
    "early_brake_release": "encouraging",
    "full_commitment": "serious",
    "exit_speed": "encouraging",
}


class Occasion(NamedTuple):
    """What there is to speak of."""

    concept: Concept
    inputs: Inputs
    circuit: Circuit | None = None
    place: Place | None = None
    corner: Corner | None = None
    """The corner that it is about."""


class _Part(NamedTuple):
    text: str
    rank: int
    """The highest goes first where there are too many words."""


def phrase(occasion: Occasion, level: Level, most: int = MOST_WORDS) -> str:
    """What to say, in *most* words; empty where not even the shortest form has so few."""
    doing = DOING.get(occasion.concept.id)
    if doing is not None:
        if occasion.place is None and not _has_corner(occasion):
            doing = ANYWHERE.get(occasion.concept.id, doing)
        text = doing[level].format(**_spoken(occasion.inputs))
        if occasion.concept.id in TOLD_LATER and occasion.corner is not None:
            name = _name(occasion.corner, level)
            return _said([_Part(f"{name}:", 1), _Part(f"{_low(text)}.", 0)], most)
        return _said([_Part(f"{text}.", 0)], most)
    if level == "beginner":
        return _said(_one_action(occasion), most)
    if level == "pro":
        return _said(_terse(occasion), most)
    return _said(_described(occasion), most)


FOCUS: Final[dict[str, dict[Level, str]]] = {
    "early_brake": {
        "beginner": "{name}: brake a little later, step by step.",
        "intermediate": "{name}: you brake early. {step} m later, step by step.",
        "pro": "{name}: brake {step} later.",
    },
    "early_brake_danger": {
        "beginner": "{name}: look at the place where braking ends.",
        "intermediate": "{name}: you brake early. Eyes on where braking ends.",
        "pro": "{name}: early. Eyes on release.",
    },
    "rolling": {
        "beginner": "{name}: brake a little later, and do not roll.",
        "intermediate": "{name}: rolling {coast} s. Brake {step} m later, then throttle.",
        "pro": "{name}: coast {coast}. Brake {step} later.",
    },
    "coasting": {
        "beginner": "{name}: from the brake straight to the throttle.",
        "intermediate": "{name}: {coast} s of rolling. From the brake straight to the throttle.",
        "pro": "{name}: coast {coast}. Brake to throttle.",
    },
    "slow_apex": {
        "beginner": "{name}: let it roll in a little faster, step by step.",
        "intermediate": "{name}: {speed} km/h slow at the apex. Ease off the brake sooner.",
        "pro": "{name}: apex {speed} down.",
    },
    "slow_apex_danger": {
        "beginner": "{name}: ease the brake off as you turn in.",
        "intermediate": "{name}: {speed} km/h slow at the apex. Ease the brake off as you turn in.",
        "pro": "{name}: apex {speed} down. Release smoothly.",
    },
    "late_throttle": {
        "beginner": "{name}: squeeze the throttle as you unwind the wheel.",
        "intermediate": "{name}: throttle {late} m late. Squeeze as the wheel unwinds.",
        "pro": "{name}: throttle {late} late.",
    },
}
"""What is said of a repeated loss; *rolling* is coasting after a brake that came too early. In a
danger zone nobody is told to brake later or to carry more speed."""
LARGEST_STEP_M: Final = 15.0
"""Nobody is told to brake later by more at a time."""
WORTH_M: Final = 8.0


def focus_words(focus: Focus, level: Level, *, dangerous: bool) -> str:
    """What to do about a repeated loss, said before its corner."""
    habit: str = focus.habit
    if dangerous and habit in ("early_brake", "slow_apex"):
        habit = f"{habit}_danger"
    elif habit == "coasting" and focus.earlier_m >= WORTH_M and not dangerous:
        habit = "rolling"
    return FOCUS[habit][level].format(
        name=_name(focus.corner, level),
        step=5 * max(1, math.floor(min(focus.earlier_m, LARGEST_STEP_M) / 5)),
        coast=f"{focus.amount:.1f}",
        speed=max(1, round(focus.amount * KMH)),
        late=5 * max(1, round(focus.amount / 5)),
    )


def grip_note(level: Level) -> "Note":
    """Said when there is more acceleration than grip."""
    text = "Over the grip." if level == "pro" else "Ease off: that is all the grip there is."
    return Note(text, SAFETY, phrase_id=f"grip-{level}", emotion="intense")


def zone_note(zone: Zone, speed_ms: float, level: Level) -> "Note":
    """Said where a danger zone is entered too fast."""
    now, usual = round(min(speed_ms, 999.0) * KMH), round(zone.reference_ms * KMH)
    text = f"Slow down: {now} km/h where {usual} is usual."
    if level == "pro":
        text = f"{now}, usual {usual}. Brake."
    return Note(text, SAFETY, phrase_id=f"danger-{zone.zone.id}-{level}", emotion="intense")


def speaking_ms(text: str) -> int:
    """How long saying it takes."""
    return max(800, 150 * len(text.split())) if text.strip() else 0


def _one_action(occasion: Occasion) -> list[_Part]:
    """A beginner hears one thing to do, with something to see."""
    hint = HINTS[occasion.concept.id]["beginner"]
    corner = occasion.corner
    if corner is None:
        return [_Part("Corner ahead:", 1), _Part(f"{_low(hint)}.", 0)]
    name = _Part(f"{_name(corner, 'beginner')}:", 0)
    spot = _brake_spot(occasion, corner)
    if spot:
        parts = [name, _Part(f"brake {spot}.", 0)]
        return [*parts, _Part(f"{slope}.", 1)] if (slope := _slope(occasion)) else parts
    turn_in = _nearest(occasion, corner, ("turn_in_ref",), 0.0)
    action = f"turn in at {turn_in[0]}" if turn_in else _low(hint)
    return [name, _Part(f"{action}.", 0)]


def _described(occasion: Occasion) -> list[_Part]:
    """Distance, direction, severity, brake reference, and a hint."""
    corner = occasion.corner
    if corner is None:
        parts = [_Part(f"Corner in {_far(occasion)} m.", 1)] if _has_corner(occasion) else []
        return [*parts, *_hint(occasion, "intermediate", 0)]
    parts = [
        _Part(f"{_name(corner, 'intermediate')} in {_far(occasion)} m,", 2),
        _Part(f"{_severity(corner)}.", 0),
    ]
    if spot := _brake_spot(occasion, corner):
        parts.append(_Part(f"Brake {spot}.", 1))
    if slope := _slope(occasion):
        parts.append(_Part(f"{slope}.", 3))
    return [*parts, *_hint(occasion, "intermediate", 4)]


def _terse(occasion: Occasion) -> list[_Part]:
    """Numbers for somebody who knows what they mean."""
    corner = occasion.corner
    if corner is None:
        parts = [_Part(f"{_far(occasion)}.", 1)] if _has_corner(occasion) else []
        return [*parts, *_hint(occasion, "pro", 0)]
    parts = [
        _Part(_name(corner, "pro"), 0),
        _Part(f"{corner.direction} {corner.severity}.", 0),
        _Part(f"In {_far(occasion)}.", 2),
    ]
    if bz := braking_m(corner):
        parts.append(_Part(f"Brake {round(bz)}.", 1))
    if slope := _slope(occasion):
        parts.append(_Part(f"{slope} {abs(round(occasion.inputs.dz))}.", 3))
    return [*parts, *_hint(occasion, "pro", 4)]


def _hint(occasion: Occasion, level: Level, rank: int) -> list[_Part]:
    """A word about the concept; none about a stop where nobody stops."""
    concept, corner = occasion.concept.id, occasion.corner
    if concept in SLOPES and corner is not None and braking_m(corner) <= 0:
        return []
    return [_Part(f"{HINTS[concept][level]}.", rank)]


def _said(parts: Sequence[_Part], most: int) -> str:
    """As many of the parts as fit into *most* words, in their order; a capital letter first."""
    for rank in range(max((part.rank for part in parts), default=0), -1, -1):
        text = " ".join(part.text for part in parts if part.rank <= rank)
        if len(text.split()) <= min(most, MOST_WORDS):
            text = text[:-1] + "." if text.endswith((",", ":")) else text
            return text[:1].upper() + text[1:]
    return ""


def _spoken(inputs: Inputs) -> dict[str, str]:
    return {
        "brake": f"{min(max(inputs.brake, 0.0), 999.0):.0f}",
        "glat": f"{min(max(inputs.glat, 0.0), 9.9):.1f}",
        "thr": f"{min(max(inputs.thr, 0.0), 100.0):.0f}",
        "v": f"{min(max(inputs.v, 0.0), 999.0):.0f}",
    }


def _has_corner(occasion: Occasion) -> bool:
    return 0 < occasion.inputs.to_entry < NOWHERE_M


def _far(occasion: Occasion) -> int:
    """Metres to the entry as one says them: in tens, near by in fives."""
    left = occasion.inputs.to_entry
    unit = 10 if left >= 100 else 5
    return max(unit * round(left / unit), 5)


def _name(corner: Corner, level: Level) -> str:
    if level == "pro":
        return f"T{corner.number}"
    fits = corner.name.strip() and len(corner.name.split()) <= LONGEST_LABEL
    return corner.name.strip() if fits else f"Turn {corner.number}"


def _severity(corner: Corner) -> str:
    return SEVERITY.get(corner.severity, "{}").format(corner.direction)


def _slope(occasion: Occasion) -> str:
    dz = occasion.inputs.dz
    if dz > SLOPE_M:
        return "Uphill"
    return "Downhill" if dz < -SLOPE_M else ""


def _brake_spot(occasion: Occasion, corner: Corner) -> str:
    """Where to brake: at something to be seen, else metres before the corner; empty: not at all."""
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
    """The landmark nearest to a place behind the entry, and how far behind that place it is.

    One that the car has passed, or that has a long name, is none.
    """
    circuit = occasion.circuit
    if circuit is None:
        return None
    found = [
        (abs(after), mark, after)
        for mark in circuit.markers(corner, kinds)
        if (at := circuit.behind_entry(mark, corner)) > -occasion.inputs.to_entry
        and abs(after := at - wanted_m) <= NEAR_M
        and 0 < len(mark.label.split()) <= LONGEST_LABEL
    ]
    if not found:
        return None
    _, mark, after = min(found, key=lambda one: one[0])
    return _label(mark, circuit), after


def _label(mark: Marker, circuit: Circuit) -> str:
    """As one says it: "the yellow bollard", but "the Gannet kerb" at Gannet Corner."""
    label = mark.label.strip()
    if label.split()[0] not in circuit.names:
        label = _low(label)
    return label if label.lower().startswith("the ") else f"the {label}"


def _low(text: str) -> str:
    return text[:1].lower() + text[1:]


class Note(NamedTuple):
    """Something that may be said now."""

    text: str
    priority: int = BACKGROUND
    concept: str = ""
    corner: str | None = None
    phrase_id: str | None = None
    emotion: Emotion = "neutral"


def note_of(text: str, priority: int, concept: str, corner: str | None, level: Level) -> Note:
    """A text about a concept, with the face that goes with it."""
    emotion = EMOTIONS.get(concept, "neutral")
    return Note(text, priority, concept, corner, f"{concept}-{level}", emotion)


GRIP: Final = Note(
    "You are at the limit of the grip: smooth hands, calm feet.",
    phrase_id="rule-grip",
    emotion="serious",
)
COASTING: Final = Note(
    "Too much coasting: be on the throttle or on the brake.",
    concept="full_commitment",
    phrase_id="rule-coasting",
    emotion="serious",
)
PRAISE: Final = Note(
    "Good trail braking: you carry the brake into the corner.",
    concept="trail_brake",
    phrase_id="rule-trail-brake",
    emotion="proud",
)
SLOW: Final = Note(
    "Carry a little more speed, step by step.", phrase_id="rule-slow", emotion="encouraging"
)
FAST: Final = Note(
    "Fast here: look far ahead.", concept="look_ahead", phrase_id="rule-fast", emotion="intense"
)
NEUTRAL: Final = Note("Steady. Keep your rhythm.", phrase_id="rule-neutral")

TONES: Final = {
    "grip": Note(
        "That is all the grip there is: ease off.", phrase_id="tone-grip", emotion="intense"
    ),
    "brake_approach": Note(
        "A corner is coming.", concept="brake_end_focus", phrase_id="tone-approach"
    ),
    "trail_brake": Note(
        "Bleed the brake off as you turn.", concept="trail_brake", phrase_id="tone-trail-brake"
    ),
    "throttle": Note(
        "Past the apex: open the throttle.", concept="exit_speed", phrase_id="tone-throttle"
    ),
    "coast_warning": Note(
        "You are coasting.", concept="full_commitment", phrase_id="tone-coast", emotion="serious"
    ),
}
"""By layer: what a tone says in words."""
AHEAD: Final = Note("You are ahead of your best lap.", phrase_id="tone-ahead", emotion="excited")
BEHIND: Final = Note(
    "You are behind your best lap.", phrase_id="tone-behind", emotion="encouraging"
)


def tone_phrase(tones: tuple[Tone, ...]) -> Note | None:
    """The words of the most urgent tone; None: none is urgent."""
    tone = max(tones, key=lambda tone: tone.priority, default=None)
    if tone is None or tone.priority < ADVICE:
        return None
    note = TONES.get(tone.layer) or (AHEAD if tone.pattern == "chime_up" else BEHIND)
    return note._replace(priority=tone.priority)


def rule_phrase(burst: Burst) -> Note:
    """The first rule that fits; what is not known fits none."""
    coasting = burst.coast_frames / burst.frame_count if burst.frame_count > 0 else 0.0
    rules = (
        (burst.max_combo_g > 2.1, GRIP),
        (coasting > 0.25, COASTING),
        (burst.trail_brake_frames > 0 and burst.max_combo_g > 1.5, PRAISE),
        (burst.avg_speed_kmh < 60, SLOW),
        (burst.avg_speed_kmh > 120, FAST),
    )
    return next((said for fits, said in rules if fits), NEUTRAL)
