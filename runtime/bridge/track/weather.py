"""What the surface is like at an hour of the day."""

from typing import Final

from runtime.bridge.track.model import Track, WeatherPhase

USUAL: Final = (
    WeatherPhase(
        "morning_fog",
        6,
        10,
        "cool damp",
        "Tyres and surface are cold: press gently and keep a margin where you brake.",
    ),
    WeatherPhase(
        "warm_up",
        10,
        12,
        "rising grip",
        "Grip grows from lap to lap: move braking points later in small steps.",
    ),
    WeatherPhase(
        "peak_grip",
        12,
        15,
        "optimal",
        "The surface is at its best: this is the time for a flying lap.",
    ),
    WeatherPhase(
        "late_session",
        15,
        24,
        "tire degradation",
        "Tyres are past their best: be patient with the throttle and smooth with the wheel.",
    ),
    WeatherPhase(
        "peak_grip",
        0,
        6,
        "optimal",
        "The surface is at its best: this is the time for a flying lap.",
    ),
)
"""The phases of a circuit whose file names none; together they cover the day."""


def phase_at(hour: int, track: Track | None = None) -> WeatherPhase:
    """The phase of a local hour, 0 to 23: the circuit's own, else the usual one.

    Raises ValueError for an hour outside the day.
    """
    if not 0 <= hour <= 23:
        raise ValueError("the hour must be from 0 to 23")
    own = track.weather_phases if track else ()
    return next(phase for phase in (*own, *USUAL) if phase.start_hour <= hour < phase.end_hour)
