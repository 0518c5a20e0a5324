"""The values that live telemetry is passed around in, whatever it comes from."""

from typing import Final, Literal, TypeAlias

Control: TypeAlias = Literal["loop", "end", "state"]
"""What a telemetry stream tells besides frames: a replay begins anew or ends, a bus comes or goes.
"""

LIVE_SESSION: Final = "_live"
"""Takes what comes while no session is open; listeners of that name hear any live frame."""
EVERYTHING: Final = "*"
"""Listeners of that name hear every session."""
