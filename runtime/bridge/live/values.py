"""The values that live telemetry is passed around in, whatever it comes from."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.session.recording import Samples

Control: TypeAlias = Literal["loop", "end", "state"]
"""What a telemetry stream tells besides frames: a replay begins anew or ends, a bus comes or goes.
"""

LIVE_SESSION: Final = "_live"
"""Takes what comes while no session is open; listeners of that name hear any live frame."""
EVERYTHING: Final = "*"
"""Listeners of that name hear every session."""


class Flush(NamedTuple):
    """What a CAN bus told since the flush before."""

    wide: Mapping[str, float] | None
    """A frame to be stored and shown, every name of `WIDE`; None while the car stands still."""
    samples: Mapping[str, Samples]
    """Every value of every further signal, in order of time."""
    extras: Mapping[str, float]
    """The latest value of every further signal."""
