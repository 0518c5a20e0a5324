"""What is said about a burst when nothing better is known: plain rules, the first that fits."""

from typing import Final, NamedTuple

from runtime.bridge.cues.values import ADVICE, Burst, Emotion, Tone


class Said(NamedTuple):
    """A sentence that stands ready."""

    id: str
    text: str
    concept: str = ""
    emotion: Emotion = "neutral"


GRIP: Final = Said(
    "rule-grip", "You are at the limit of the grip: smooth hands, calm feet.", "", "serious"
)
COASTING: Final = Said(
    "rule-coasting",
    "Too much coasting: be on the throttle or on the brake.",
    "full_commitment",
    "serious",
)
PRAISE: Final = Said(
    "rule-trail-brake",
    "Good trail braking: you carry the brake into the corner.",
    "trail_brake",
    "proud",
)
SLOW: Final = Said("rule-slow", "Carry a little more speed, step by step.", "", "encouraging")
FAST: Final = Said("rule-fast", "Fast here: look far ahead.", "look_ahead", "intense")
NEUTRAL: Final = Said("rule-neutral", "Steady. Keep your rhythm.")

TONES: Final = {
    "grip": Said("tone-grip", "That is all the grip there is: ease off.", "", "intense"),
    "brake_approach": Said("tone-approach", "A corner is coming.", "brake_end_focus"),
    "trail_brake": Said("tone-trail-brake", "Bleed the brake off as you turn.", "trail_brake"),
    "throttle": Said("tone-throttle", "Past the apex: open the throttle.", "exit_speed"),
    "coast_warning": Said("tone-coast", "You are coasting.", "full_commitment", "serious"),
}
"""By layer: what a tone says in words."""
AHEAD: Final = Said("tone-ahead", "You are ahead of your best lap.", "", "excited")
BEHIND: Final = Said("tone-behind", "You are behind your best lap.", "", "encouraging")


def tone_phrase(tones: tuple[Tone, ...]) -> tuple[Said, int] | None:
    """The words of the most urgent tone, and how urgent it is; None: none is urgent."""
    tone = max(tones, key=lambda tone: tone.priority, default=None)
    if tone is None or tone.priority < ADVICE:
        return None
    if tone.layer == "lap_estimate":
        return AHEAD if tone.pattern == "chime_up" else BEHIND, tone.priority
    return TONES[tone.layer], tone.priority


def rule_phrase(burst: Burst) -> Said:
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
