"""The distance travelled, from speed, acceleration and whatever else tells of it."""

from typing import Final, NamedTuple

STANDARD_GRAVITY: Final = 9.80665
ACCELERATION_NOISE: Final = 2.0
"""m/s²: how far the true acceleration is from the one that is told."""
SPEED_NOISE: Final = 0.3
"""m/s."""
DISTANCE_NOISE: Final = 3.0
"""m, of the distance that a GPS receiver tells."""
PRIOR_VARIANCE: Final = 100.0
LONGEST_STEP_S: Final = 1.0
"""Without news for longer than this nobody knows how the car moved: the distance stands still."""
STILL_MS: Final = 0.1
"""Below it the car stands: what the accelerometer says then is a slope or its own error."""
STILL_NOISE: Final = 0.03
JUMP_M: Final = 50.0
"""A told distance that is further off than this is not believed: its counter was reset."""


class _State(NamedTuple):
    """Distance (m) and speed (m/s) at a moment, and how uncertain they are."""

    distance: float
    speed: float
    dd: float
    """Variance of the distance."""
    dv: float
    vv: float


class DistanceFilter:
    """A Kalman filter over distance and speed; the acceleration drives it.

    Times are seconds of any clock. One that stands still or runs backwards moves nothing.
    """

    def __init__(self) -> None:
        self._state = _State(0.0, 0.0, PRIOR_VARIANCE, 0.0, PRIOR_VARIANCE)
        self._t: float | None = None
        self._acceleration = 0.0
        self._still = False
        self._anchor: float | None = None
        self._reached = 0.0

    @property
    def has_started(self) -> bool:
        """Whether anything was told that a distance can be made of."""
        return self._t is not None

    def add_acceleration(self, t: float, g_long: float) -> None:
        """The acceleration from here on, in g."""
        if self._t is not None:
            self._advance(t)
        self._acceleration = g_long * STANDARD_GRAVITY

    def drop_acceleration(self) -> None:
        """The acceleration is not known any longer."""
        self._acceleration = 0.0

    def add_speed(self, t: float, speed_ms: float) -> None:
        """A measured speed."""
        self._advance(t)
        self._still = speed_ms < STILL_MS
        noise = STILL_NOISE if self._still else SPEED_NOISE
        state = self._state
        self._correct(speed_ms - state.speed, state.dv, state.vv, state.vv + noise * noise)

    def add_distance(self, t: float, distance_m: float) -> None:
        """A measured distance, from anywhere: only how it grows counts."""
        self._advance(t)
        state = self._state
        if self._anchor is None or abs(distance_m - self._anchor - state.distance) > JUMP_M:
            self._anchor = distance_m - state.distance
            return
        off = distance_m - self._anchor - state.distance
        self._correct(off, state.dd, state.dv, state.dd + DISTANCE_NOISE * DISTANCE_NOISE)

    def _correct(self, off: float, of_d: float, of_v: float, total: float) -> None:
        """Take in a measurement that is *off*; with it distance and speed vary by *of_…*."""
        d, v, dd, dv, vv = self._state
        gain_d, gain_v = of_d / total, of_v / total
        self._state = _State(
            d + gain_d * off,
            v + gain_v * off,
            dd - gain_d * of_d,
            dv - gain_d * of_v,
            vv - gain_v * of_v,
        )

    def at(self, t: float) -> float:
        """Metres travelled until *t*, which is not before what was told last; they never shrink."""
        step = self._step(t)
        state = self._predicted(step)
        self._reached = max(self._reached, state.distance)
        return self._reached

    def _step(self, t: float) -> float:
        return 0.0 if self._t is None else min(max(t - self._t, 0.0), LONGEST_STEP_S)

    def _advance(self, t: float) -> None:
        if self._t is None:
            self._t = t
            return
        self._state = self._predicted(self._step(t))
        self._t = max(self._t, t)

    def _predicted(self, dt: float) -> _State:
        """The state *dt* later; the car does not roll backwards."""
        if dt <= 0.0:
            return self._state
        d, v, dd, dv, vv = self._state
        a = 0.0 if self._still else self._acceleration
        if v < 0.0:
            v = 0.0
        if v + a * dt < 0.0:  # it comes to a stop on the way
            a, d, v = 0.0, d + (v * v / (-2.0 * a)), 0.0
        noise = ACCELERATION_NOISE * ACCELERATION_NOISE
        return _State(
            d + v * dt + a * dt * dt / 2.0,
            v + a * dt,
            dd + 2.0 * dt * dv + dt * dt * vv + noise * dt**4 / 4.0,
            dv + dt * vv + noise * dt**3 / 2.0,
            vv + noise * dt * dt,
        )
