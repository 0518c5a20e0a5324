"""The layers of tones, each at its edges."""

import pytest

from runtime.bridge.cues.model import Burst, Tone
from runtime.bridge.cues.tones import Ahead, Estimate, LapClock, tones

NOTHING = Ahead(999.0, 0)
SILENT = Burst(avg_throttle_pct=100.0, avg_speed_kmh=144.0)
AFTER = SILENT._replace(past_apex=True, avg_throttle_pct=19.9, max_lateral_g=-0.31)
COAST = SILENT._replace(avg_throttle_pct=4.9, max_brake_bar=1.9, avg_speed_kmh=54.1)
TRAIL = SILENT._replace(in_corner=True, max_brake_bar=3.1, max_lateral_g=-0.41)
NEAR = Ahead(75.0, 3)


def told(tone: Tone | None) -> tuple[str, float, float, str, int] | None:
    if tone is None:
        return None
    figures = round(tone.frequency, 3), round(tone.volume, 4)
    return tone.layer, *figures, tone.pattern, tone.priority


@pytest.mark.parametrize(
    ("burst", "ahead", "expected"),
    [
        (SILENT, NOTHING, None),
        (SILENT._replace(max_combo_g=2.29 * 0.30), NOTHING, None),
        (SILENT._replace(max_combo_g=2.29 * 0.5), NOTHING, ("grip", 700.0, 0.225, "continuous", 0)),
        (SILENT._replace(max_combo_g=2.29), NOTHING, ("grip", 1600.0, 0.5, "continuous", 0)),
        (SILENT._replace(max_combo_g=2.41), NOTHING, ("grip", 1600.0, 0.8, "buzz", 3)),
        (SILENT, NEAR, ("brake_approach", 800.0, 0.375, "pulse", 1)),
        (SILENT, Ahead(22.6, 3), ("brake_approach", 1079.467, 0.5322, "pulse", 1)),
        (SILENT, Ahead(22.4, 3), ("brake_approach", 1200.0, 0.7, "fast_pulse", 2)),
        (SILENT, Ahead(5.0, 3), None),
        (SILENT, Ahead(150.0, 3), None),
        (SILENT, Ahead(299.0, 6), ("brake_approach", 402.667, 0.1515, "pulse", 1)),
        (SILENT._replace(max_brake_bar=2.0), NEAR, None),
        (TRAIL, NOTHING, ("trail_brake", 325.306, 0.35, "continuous", 1)),
        (
            TRAIL._replace(max_brake_bar=200.0),
            NOTHING,
            ("trail_brake", 900.0, 0.35, "continuous", 1),
        ),
        (TRAIL._replace(max_brake_bar=3.0), NOTHING, None),
        (TRAIL._replace(max_lateral_g=0.4), NOTHING, None),
        (TRAIL._replace(in_corner=None), NOTHING, None),
        (AFTER, NOTHING, ("throttle", 280.0, 0.3, "pulse", 1)),
        (AFTER._replace(past_apex=False), NOTHING, None),
        (AFTER._replace(avg_throttle_pct=20.0), NOTHING, None),
        (AFTER._replace(max_lateral_g=0.3), NOTHING, None),
        (AFTER._replace(avg_speed_kmh=36.0), NOTHING, None),
        (COAST, NOTHING, ("coast_warning", 350.0, 0.25, "pulse", 1)),
        (COAST._replace(in_corner=None), NOTHING, None),
        (COAST._replace(avg_throttle_pct=5.0), NOTHING, None),
        (COAST._replace(avg_speed_kmh=54.0), NOTHING, None),
        (COAST, Ahead(100.0, 0), None),
    ],
)
def test_a_layer_sounds_as_it_should(
    burst: Burst, ahead: Ahead, expected: tuple[str, float, float, str, int] | None
) -> None:
    found = tones(burst, ahead, was_past_apex=True)

    assert [told(tone) for tone in found] == ([] if expected is None else [expected])


@pytest.mark.parametrize("was", [None, False])
def test_the_throttle_is_missed_from_the_second_burst_past_the_apex(was: bool | None) -> None:
    assert tones(AFTER, NOTHING, was_past_apex=was) == ()


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
    (tone,) = tones(SILENT, NOTHING, estimate=Estimate(predicted, best))

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
