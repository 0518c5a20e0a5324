"""The values that live telemetry is passed around in, whatever it comes from."""

import math
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.session.values import TIMESTAMP, Samples

Origin: TypeAlias = Literal["can", "replay", "ingest"]
Control: TypeAlias = Literal["loop", "end", "state"]
"""What a telemetry stream tells besides frames: a replay begins anew or ends, a bus comes or goes.
"""

LIVE_SESSION: Final = "_live"
"""Takes what comes while no session is open; listeners of that name hear any live frame."""
EVERYTHING: Final = "*"
"""Listeners of that name hear every session."""


class LiveFrame(NamedTuple):
    """One moment of a drive, as streams and the coach see it."""

    session_id: str
    source: Origin
    wide: Mapping[str, float]
    """Every name of `telemetry.values.WIDE`; NaN stands for null, never in the timestamp."""
    extras: Mapping[str, float] = {}
    """The latest value of every further signal by its name; finite."""
    frame_idx: int | None = None
    """Index in the session; None while it is not known yet."""
    replay_id: str | None = None
    told_m: float = math.nan
    """The distance that the car's own device told, not one that was reckoned from its speed."""

    @property
    def t(self) -> float:
        """Seconds of the session's clock."""
        return self.wide[TIMESTAMP]

    def number(self, name: str) -> float | None:
        """A column or further signal; None where it is null or was never seen."""
        value = self.wide.get(name, self.extras.get(name, math.nan))
        return None if math.isnan(value) else value


class Flush(NamedTuple):
    """What a CAN bus told since the flush before."""

    wide: Mapping[str, float] | None
    """A frame to be stored and shown, every name of `WIDE`; None while the car stands still."""
    samples: Mapping[str, Samples]
    """Every value of every further signal, in order of time."""
    extras: Mapping[str, float]
    """The latest value of every further signal."""


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
    """How long saying it takes."""
    distance_m: float | None = None
    """Of the lap, where it was made."""
