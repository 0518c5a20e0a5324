"""The heights along a lap, sampled at even steps."""

from typing import Final, Literal, NamedTuple

import numpy as np

from runtime.bridge.session.values import Numbers
from runtime.bridge.track.model import Track, TrackError

MOST_SAMPLES: Final = 100_000


class Elevation(NamedTuple):
    """Heights every so many metres from start/finish."""

    source: Literal["json_profile", "reference_line", "missing"]
    distance: Numbers
    altitude: Numbers
    """Metres; as many as distances, which are none where the heights are missing."""

    @property
    def lowest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.min()) if len(self.altitude) else None

    @property
    def highest(self) -> float | None:
        """Metres; None without samples."""
        return float(self.altitude.max()) if len(self.altitude) else None


def elevation(track: Track, step_m: float = 10.0) -> Elevation:
    """Heights at 0, step, 2 x step … up to the end of the profile, else of the lap.

    From the profile, else from the heights of the reference line. Raises `TrackError` where the
    circuit has no reference line, and ValueError for a step that is not above 0 or is so small
    that there would be more than 100,000 samples.
    """
    if track.line is None:
        raise TrackError("the track file has no reference_line")
    if not step_m > 0 or track.length_m / step_m > MOST_SAMPLES:
        raise ValueError("step_m must be above 0 and give 100,000 samples at most")
    line = track.line
    if track.elevation is not None:
        known, heights = track.elevation
        at = _steps(float(known[-1]), step_m)
        return Elevation("json_profile", at, np.interp(at, known, heights))
    sure = ~np.isnan(line.altitude)
    if not sure.any():
        return Elevation("missing", np.zeros(0), np.zeros(0))
    at = _steps(track.length_m, step_m)
    heights = np.interp(at, line.distance[sure], line.altitude[sure], period=track.length_m)
    return Elevation("reference_line", at, heights)


def _steps(last: float, step: float) -> Numbers:
    count = int(last / step + 1e-9) + 1
    at: Numbers = np.minimum(np.arange(count) * step, last)
    return at
