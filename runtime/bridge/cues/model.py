"""Data of the cue engine: bursts and moments in, tones, cues and analyses out."""

from typing import Final, Literal, NamedTuple, TypeAlias

Level: TypeAlias = Literal["beginner", "intermediate", "pro"]
Emotion: TypeAlias = Literal[
    "neutral",
    "thinking",
    "analyzing",
    "encouraging",
    "proud",
    "excited",
    "serious",
    "concerned",
    "disappointed",
    "intense",
    "relaxed",
    "tired",
]
Pattern: TypeAlias = Literal[
    "silent",
    "continuous",
    "pulse",
    "fast_pulse",
    "sharp",
    "buzz",
    "chime_up",
    "chime_down",
    "chime_neutral",
]
Source: TypeAlias = Literal["sonic_model", "bridge_rules", "rule", "local_model"]

BACKGROUND: Final = 0
ADVICE: Final = 1
WARNING: Final = 2
SAFETY: Final = 3
MOST_WORDS: Final = 20
TTS_WORD_MS: Final = 150
"""A word of the fastest voice: the estimate published as `expected_tts_ms`."""
WORD_S: Final = 0.35
"""A word as a driver hears and understands it; cues are timed by it, so that the slowest voice is
in time."""
USUAL_LEVEL: Final[Level] = "intermediate"
LEVELS: Final[dict[str, Level]] = {
    "beginner": "beginner",
    "intermediate": "intermediate",
    "pro": "pro",
    "advanced": "pro",
}


def level_of(word: str | None, usual: Level = USUAL_LEVEL) -> Level:
    """Return a driver's level by its name, in any case; *usual* for an empty or unknown one."""
    return LEVELS.get(word.strip().lower(), usual) if word else usual


class Moment(NamedTuple):
    """What the driver does at a moment; NaN stands for what was not measured."""

    brake: float
    """The highest, in bar."""
    thr: float
    """Mean throttle in %."""
    glat: float
    """The highest lateral acceleration in g, without sign."""
    v: float
    """Mean speed in km/h."""


class Burst(NamedTuple):
    """About one second of a drive, summed up; NaN and None stand for unknown values."""

    session_id: str = ""
    """Empty: no session."""
    burst_id: int = 0
    avg_speed_kmh: float = 0.0
    max_combo_g: float = 0.0
    max_lateral_g: float = 0.0
    """The value farthest from 0, with its sign."""
    max_brake_bar: float = 0.0
    avg_throttle_pct: float = 0.0
    coast_frames: int = 0
    trail_brake_frames: int = 0
    frame_count: int = 0
    distance_m: float | None = None
    """Of the lap, or counted over laps."""
    in_corner: bool | None = False
    past_apex: bool | None = False
    lap: int | None = None
    driver_level: str | None = None
    dist_to_next_corner_m: float | None = None
    next_corner_severity: int | None = None
    latest: Moment | None = None
    """The part since the car entered or left its corner, within the burst; None: unknown."""

    @property
    def moment(self) -> Moment:
        """What the driver does at the end of the burst if known, else in the whole of it."""
        return self.latest or Moment(
            self.max_brake_bar,
            self.avg_throttle_pct,
            abs(self.max_lateral_g),
            self.avg_speed_kmh,
        )


class Cue(NamedTuple):
    """Something to tell the driver."""

    session_id: str
    text: str
    priority: int
    """0 background, 1 advice, 2 warning, 3 safety."""
    concept: str
    """Id of the coaching concept behind it; empty: none."""
    source: str
    """``rule``, ``sonic_model``, ``local_model`` or ``bridge_rules``."""
    corner: str | None = None
    pace_note: str = ""
    emotion: str = "neutral"
    burst_id: int = 0
    phrase_id: str | None = None
    expected_tts_ms: int = 0
    """Time to say it."""
    distance_m: float | None = None
    """Place on the lap where it was made."""


class Tone(NamedTuple):
    """A sound without words."""

    layer: str
    frequency: float
    """Hz."""
    volume: float
    """0 to 1."""
    pattern: Pattern
    priority: int
    reason: str


class Analysis(NamedTuple):
    """The coach's answer to a burst."""

    coaching: str
    """The pace note, else the phrase of a tone, else that of a rule; never empty."""
    pace_note: str
    """What the arbiter admitted; empty: silence."""
    coach_source: Literal["", "rule", "local_model"]
    cues: tuple[Tone, ...]
    burst_id: int
    source: Source
    """The source of `coaching`."""
    concept: str
    """Id of the concept behind the pace note, or of the moment if there is none."""
    emotion: Emotion
    cue: Cue | None
    """`coaching` for the streams; None for a burst without session."""
    distance_m: float | None
    """On the lap, if its length is known."""
