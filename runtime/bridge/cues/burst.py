"""Sums frames of a session up into bursts of one second."""

import math
from typing import Final

from runtime.bridge.cues.circuit import Place
from runtime.bridge.cues.model import Burst, Moment
from runtime.bridge.session.recording import LiveFrame
from runtime.bridge.session.units import KMH

BURST_S: Final = 1.0
COAST_THROTTLE_PCT: Final = 5.0
COAST_BRAKE_BAR: Final = 2.0
TRAIL_BRAKE_BAR: Final = 3.0
TRAIL_G: Final = 0.4
MOST_CORNERS: Final = 16
IMPOSSIBLE: Final = 1e6
"""No sensor of a car shows more, in any of the units."""


class Mean:
    """The mean of what was measured; NaN without any."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def add(self, value: float) -> None:
        """Takes a value in; NaN is none."""
        if value == value:
            self.total += value
            self.count += 1

    @property
    def value(self) -> float:
        """The mean so far."""
        return self.total / self.count if self.count else math.nan


class _Deeds:
    """What the driver did over some frames."""

    __slots__ = ("brake", "combo", "lateral", "long", "speed", "steering", "throttle")

    def __init__(self) -> None:
        self.speed, self.throttle, self.steering = Mean(), Mean(), Mean()
        self.brake = self.combo = self.lateral = self.long = math.nan

    def add(self, numbers: "Numbers") -> None:
        self.speed.add(numbers.speed_ms)
        self.throttle.add(numbers.throttle)
        self.steering.add(numbers.steering)
        self.brake = highest(self.brake, numbers.brake)
        self.combo = highest(self.combo, numbers.combo)
        self.lateral = farthest(self.lateral, numbers.g_lat)
        self.long = farthest(self.long, numbers.g_long)

    def after(self, earlier: "_Deeds | None") -> "_Deeds":
        """Both together."""
        if earlier is None:
            return self
        both = _Deeds()
        for name in ("speed", "throttle", "steering"):
            mean: Mean = getattr(both, name)
            for part in (earlier, self):
                mean.total += getattr(part, name).total
                mean.count += getattr(part, name).count
        both.brake = highest(earlier.brake, self.brake)
        both.combo = highest(earlier.combo, self.combo)
        both.lateral = farthest(earlier.lateral, self.lateral)
        both.long = farthest(earlier.long, self.long)
        return both


class Numbers:
    """The channels of a frame that the coach looks at; what is impossible counts as missing."""

    __slots__ = ("brake", "combo", "g_lat", "g_long", "speed_ms", "steering", "throttle")

    def __init__(self, frame: LiveFrame) -> None:
        wide = frame.wide
        self.speed_ms = sane(wide.get("speed_ms", math.nan))
        self.g_lat = sane(wide.get("g_lat", math.nan))
        self.g_long = sane(wide.get("g_long", math.nan))
        self.brake = sane(wide.get("brake_bar", math.nan))
        self.throttle = sane(wide.get("throttle_pct", math.nan))
        self.steering = sane(wide.get("steering_deg", math.nan))
        combo = sane(wide.get("combo_g", math.nan))
        self.combo = combo if combo == combo else math.hypot(self.g_lat, self.g_long)


class Folder:
    """Collects the frames of one session; a burst ends with the frame a second after its first."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._number = 0
        self._clear()

    def _clear(self) -> None:
        self._began: float | None = None
        self._earlier: _Deeds | None = None
        """What was done before the car came into its corner or left it, within the burst."""
        self._latest = _Deeds()
        self._coast = self._trail = self._frames = 0
        self._corners: list[str] = []
        self._place: Place | None = None

    def add(self, t: float, numbers: Numbers, place: Place | None) -> Burst | None:
        """Take a frame in; the burst before it where that is complete."""
        done = None
        if self._began is not None and t - self._began >= BURST_S:
            done = self.close()
        if self._began is None:
            self._began = t
        elif _inside(place) is not _inside(self._place):
            self._earlier = self._latest.after(self._earlier)
            self._latest = _Deeds()
        self._place = place
        self._frames += 1
        self._latest.add(numbers)
        inside = _inside(place)
        if numbers.throttle < COAST_THROTTLE_PCT and numbers.brake < COAST_BRAKE_BAR:
            self._coast += 1
        if inside and numbers.brake > TRAIL_BRAKE_BAR and abs(numbers.g_lat) > TRAIL_G:
            self._trail += 1
        if place is not None and place.corner is not None and len(self._corners) < MOST_CORNERS:
            name = place.corner.name
            if name not in self._corners:
                self._corners.append(name)
        return done

    @property
    def number(self) -> int:
        """Of the burst that is under way, from 1."""
        return self._number + 1

    def drop(self) -> None:
        """Forget the burst that is under way."""
        self._clear()

    def close(self) -> Burst | None:
        """End the burst that is under way; None where there is none."""
        if not self._frames:
            return None
        latest, place = self._latest, self._place
        whole = latest.after(self._earlier)
        self._number += 1
        found = Burst(
            session_id=self._session_id,
            burst_id=self._number,
            avg_speed_kmh=whole.speed.value * KMH,
            max_combo_g=whole.combo,
            max_lateral_g=whole.lateral,
            max_long_g=whole.long,
            max_brake_bar=whole.brake,
            avg_throttle_pct=whole.throttle.value,
            avg_steering_deg=whole.steering.value,
            coast_frames=self._coast,
            trail_brake_frames=self._trail,
            frame_count=self._frames,
            corners_visited=tuple(self._corners),
            distance_m=place.progress_m if place else None,
            in_corner=_inside(place),
            past_apex=place.past_apex if place else None,
            latest=Moment(
                latest.brake,
                latest.throttle.value,
                abs(latest.lateral),
                latest.speed.value * KMH,
            ),
        )
        self._clear()
        return found


def _inside(place: Place | None) -> bool | None:
    return None if place is None else place.corner is not None


def sane(value: float) -> float:
    """The value, NaN where no sensor can have measured it."""
    return value if -IMPOSSIBLE < value < IMPOSSIBLE else math.nan


def highest(one: float, other: float) -> float:
    """The greater of two; NaN counts as none."""
    if one != one:
        return other
    return other if other > one else one


def farthest(one: float, other: float) -> float:
    """The one that is farther from 0; NaN counts as none."""
    if one != one:
        return other
    return other if abs(other) > abs(one) else one
