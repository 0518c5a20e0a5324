"""The layers of tones, each at its edges."""

import math

import pytest

from runtime.bridge.cues.model import CueLimits, Tone
from runtime.bridge.cues.tones import Estimate, Heard, LapClock, tones
from tests.bridge.cues.coachkit import NAN

LIMITS = CueLimits()
SILENT = Heard(
    combo_g=0.0,
    g_lat=0.0,
    brake=0.0,
    throttle=100.0,
    speed_ms=40.0,
    in_corner=False,
    past_apex=False,
    was_past_apex=False,
    dist=999.0,
    severity=0,
)
AFTER = SILENT._replace(past_apex=True, was_past_apex=True, throttle=19.9, g_lat=-0.31)
COAST = SILENT._replace(throttle=4.9, brake=1.9, speed_ms=15.1, dist=100.1)
TRAIL = SILENT._replace(in_corner=True, brake=3.1, g_lat=-0.41)
APPROACH = SILENT._replace(severity=3, dist=75.0)


def told(tone: Tone | None) -> tuple[str, float, float, str, int] | None:
    if tone is None:
        return None
    figures = round(tone.frequency, 3), round(tone.volume, 4)
    return tone.layer, *figures, tone.pattern, tone.priority


@pytest.mark.parametrize(
    ("heard", "expected"),
    [
        (SILENT, None),
        (SILENT._replace(combo_g=2.29 * 0.30), None),
        (SILENT._replace(combo_g=2.29 * 0.5), ("grip", 700.0, 0.225, "continuous", 0)),
        (SILENT._replace(combo_g=2.29 * 0.9), ("grip", 1100.0, 0.325, "continuous", 0)),
        (SILENT._replace(combo_g=2.29 * 1.0), ("grip", 1600.0, 0.5, "continuous", 0)),
        (SILENT._replace(combo_g=2.4045), ("grip", 1800.0, 0.5, "continuous", 0)),
        (SILENT._replace(combo_g=2.41), ("grip", 1600.0, 0.8, "buzz", 3)),
        (APPROACH, ("brake_approach", 800.0, 0.375, "pulse", 1)),
        (APPROACH._replace(dist=22.6), ("brake_approach", 1079.467, 0.5322, "pulse", 1)),
        (APPROACH._replace(dist=22.4), ("brake_approach", 1200.0, 0.7, "fast_pulse", 2)),
        (APPROACH._replace(dist=5.1), ("brake_approach", 1200.0, 0.7, "fast_pulse", 2)),
        (APPROACH._replace(dist=5.0), None),
        (APPROACH._replace(dist=150.0), None),
        (APPROACH._replace(dist=149.9), ("brake_approach", 400.533, 0.1503, "pulse", 1)),
        (APPROACH._replace(severity=0), None),
        (
            APPROACH._replace(severity=6, dist=299.0),
            ("brake_approach", 402.667, 0.1515, "pulse", 1),
        ),
        (APPROACH._replace(brake=1.9), ("brake_approach", 800.0, 0.375, "pulse", 1)),
        (APPROACH._replace(brake=2.0), None),
        (TRAIL, ("trail_brake", 325.306, 0.35, "continuous", 1)),
        (TRAIL._replace(brake=200.0), ("trail_brake", 900.0, 0.35, "continuous", 1)),
        (TRAIL._replace(brake=3.0), None),
        (TRAIL._replace(g_lat=0.4), None),
        (TRAIL._replace(in_corner=False), None),
        (TRAIL._replace(in_corner=None), None),
        (AFTER, ("throttle", 280.0, 0.3, "pulse", 1)),
        (AFTER._replace(was_past_apex=False), None),
        (AFTER._replace(was_past_apex=None), None),
        (AFTER._replace(past_apex=False), None),
        (AFTER._replace(throttle=20.0), None),
        (AFTER._replace(g_lat=0.3), None),
        (AFTER._replace(speed_ms=10.0), None),
        (COAST, ("coast_warning", 350.0, 0.25, "pulse", 1)),
        (COAST._replace(in_corner=True), None),
        (COAST._replace(in_corner=None), None),
        (COAST._replace(throttle=5.0), None),
        (COAST._replace(brake=2.0), None),
        (COAST._replace(speed_ms=15.0), None),
        (COAST._replace(dist=100.0), None),
    ],
)
def test_a_layer_sounds_as_it_should(
    heard: Heard, expected: tuple[str, float, float, str, int] | None
) -> None:
    found = tones(heard, LIMITS)

    assert [told(tone) for tone in found] == ([] if expected is None else [expected])


@pytest.mark.parametrize("heard", [APPROACH, TRAIL, AFTER, COAST, SILENT._replace(combo_g=9.0)])
@pytest.mark.parametrize("missing", ["combo_g", "g_lat", "brake", "throttle", "speed_ms", "dist"])
def test_what_was_not_measured_sounds_nowhere(heard: Heard, missing: str) -> None:
    found = tones(Heard(**{**heard._asdict(), missing: NAN}), LIMITS)

    assert all(math.isfinite(tone.frequency) for tone in found)
    assert {tone.layer for tone in found} <= {tone.layer for tone in tones(heard, LIMITS)}


@pytest.mark.parametrize(
    ("predicted", "best", "expected"),
    [
        (89.5, 90.0, (800.0, 0.5, "chime_up", 1)),
        (89.6, 90.0, (600.0, 0.3, "chime_neutral", 0)),
        (90.4, 90.0, (600.0, 0.3, "chime_neutral", 0)),
        (90.5, 90.0, (400.0, 0.5, "chime_down", 1)),
        (90.5, None, (600.0, 0.4, "chime_neutral", 0)),
    ],
)
def test_the_estimate_of_the_lap_chimes(
    predicted: float, best: float | None, expected: tuple[float, float, str, int]
) -> None:
    (tone,) = tones(SILENT, LIMITS, Estimate(predicted, best))

    assert (tone.frequency, tone.volume, tone.pattern, tone.priority) == expected


def lap(clock: LapClock, begin: float, seconds: float, slow_first: float = 0.5) -> list[Estimate]:
    """Goes once round in steps of 1 %; the first half takes that share of the time."""
    found = []
    for step in range(1, 101):
        share = step / 100
        first, second = min(share, 0.5) * 2, max(share - 0.5, 0.0) * 2
        t = begin + seconds * (slow_first * first + (1 - slow_first) * second)
        # A little beyond, so that no checkpoint is exactly a step.
        estimate = clock.tick(t, (share * 1000.0 + 1e-3) % 1000.0)
        found += [estimate] if estimate else []
    return found


def test_laps_are_timed_from_crossing_to_crossing() -> None:
    clock = LapClock(1000.0)
    clock.tick(-1.0, 990.0)
    clock.tick(0.0, 0.001)

    first, second = lap(clock, 0.0, 90.0), lap(clock, 90.0, 88.0)

    assert clock.laps == 3
    assert clock.best_s == pytest.approx(88.0, abs=0.01)
    assert [one.best_s for one in first] == [None] * 3
    assert [one.best_s for one in second] == [pytest.approx(90.0, abs=0.01)] * 3
    assert [one.predicted_s for one in second] == [pytest.approx(88.0, abs=0.05)] * 3


def test_a_slow_part_of_the_circuit_is_no_slow_lap() -> None:
    clock = LapClock(1000.0)
    clock.tick(-1.0, 990.0)
    clock.tick(0.0, 0.001)
    lap(clock, 0.0, 90.0, slow_first=0.7)

    same = lap(clock, 90.0, 90.0, slow_first=0.7)

    assert [one.predicted_s for one in same] == [pytest.approx(90.0, abs=0.05)] * 3


@pytest.mark.parametrize("jump", [(5.0, 700.0), (-5.0, 12.0), (0.0, 12.0)])
def test_a_lap_with_a_jump_in_it_does_not_count(jump: tuple[float, float]) -> None:
    clock = LapClock(1000.0)
    clock.tick(-1.0, 990.0)
    clock.tick(0.0, 10.0)
    clock.tick(*jump)

    assert lap(clock, 10.0, 60.0) == []
    assert clock.best_s is None
