"""Estimates the distance travelled from speed, acceleration and measured distance."""

from typing import Final, NamedTuple

STANDARD_GRAVITY: Final = 9.80665
ACCELERATION_NOISE: Final = 2.0
"""m/s², error of the measured acceleration."""
SPEED_NOISE: Final = 0.3
"""m/s."""
DISTANCE_NOISE: Final = 3.0
"""m, error of a distance from a GPS receiver."""
PRIOR_VARIANCE: Final = 100.0
LONGEST_STEP_S: Final = 1.0
"""Without measurements for longer than this the motion is unknown and the distance stops."""
STILL_MS: Final = 0.1
"""Below this the car stands, and the accelerometer shows only a slope or its own error."""
STILL_NOISE: Final = 0.03
JUMP_M: Final = 50.0
"""A measured distance that differs by more than this comes from a reset counter."""


class _State(NamedTuple):
    """Distance (m) and speed (m/s) with their variances and covariance."""

    distance: float
    speed: float
    dd: float
    dv: float
    vv: float


class DistanceFilter:
    """A Kalman filter over distance and speed, driven by the acceleration.

    Times are seconds of any clock. Nothing moves while the clock stands still or runs backwards.
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
        """Whether any measurement of the motion has arrived."""
        return self._t is not None

    def add_acceleration(self, t: float, g_long: float) -> None:
        """Set the acceleration from *t* on, in g."""
        if self._t is not None:
            self._advance(t)
        self._acceleration = g_long * STANDARD_GRAVITY

    def drop_acceleration(self) -> None:
        """Forget the acceleration, which is too old."""
        self._acceleration = 0.0

    def add_speed(self, t: float, speed_ms: float) -> None:
        """Take a measured speed."""
        self._advance(t)
        self._still = speed_ms < STILL_MS
        noise = STILL_NOISE if self._still else SPEED_NOISE
        state = self._state
        self._correct(speed_ms - state.speed, state.dv, state.vv, state.vv + noise * noise)

    def add_distance(self, t: float, distance_m: float) -> None:
        """Take a measured distance from any origin: only its growth counts."""
        self._advance(t)
        state = self._state
        if self._anchor is None or abs(distance_m - self._anchor - state.distance) > JUMP_M:
            self._anchor = distance_m - state.distance
            return
        off = distance_m - self._anchor - state.distance
        self._correct(off, state.dd, state.dv, state.dd + DISTANCE_NOISE * DISTANCE_NOISE)

    def _correct(self, off: float, of_d: float, of_v: float, total: float) -> None:
        """Correct by the difference *off*, with its covariances to distance and speed."""
        d, v, dd, dv, vv = self._state
        gain_d, gain_v = of_d / total, of_v / total
        self._state = _State(
            d + gain_d * off,
            v + gain_v * off,
            dd - gain_d * of_d,
            dv - gain_d * of_v,
            vv - gain_v * of_v,
        )

    def estimate_at(self, t: float) -> float:
        """Return the metres travelled until *t*, not before the last measurement; never shrinks."""
        step = self._limit_step(t)
        state = self._predict(step)
        self._reached = max(self._reached, state.distance)
        return self._reached

    def _limit_step(self, t: float) -> float:
        return 0.0 if self._t is None else min(max(t - self._t, 0.0), LONGEST_STEP_S)

    def _advance(self, t: float) -> None:
        if self._t is None:
            self._t = t
            return
        self._state = self._predict(self._limit_step(t))
        self._t = max(self._t, t)

    def _predict(self, dt: float) -> _State:
        """Predict the state *dt* later; the car does not roll backwards."""
        if dt <= 0.0:
            return self._state
        d, v, dd, dv, vv = self._state
        a = 0.0 if self._still else self._acceleration
        if v < 0.0:
            v = 0.0
        if v + a * dt < 0.0:  # the car stops within the step
            a, d, v = 0.0, d + (v * v / (-2.0 * a)), 0.0
        noise = ACCELERATION_NOISE * ACCELERATION_NOISE
        return _State(
            d + v * dt + a * dt * dt / 2.0,
            v + a * dt,
            dd + 2.0 * dt * dv + dt * dt * vv + noise * dt**4 / 4.0,
            dv + dt * vv + noise * dt**3 / 2.0,
            vv + noise * dt * dt,
        )
