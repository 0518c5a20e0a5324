"""Warnings that cannot wait, and that are not given fifty times."""

import pytest

from runtime.bridge.cues.circuit import Circuit
from runtime.bridge.cues.tones import Watch
from runtime.bridge.track.model import DangerZone
from tests.bridge.cues.coachkit import NAN, circuit, corner, small, straight, track
from tests.bridge.cues.coachkit import engine as engine_of


@pytest.mark.parametrize(
    ("combo", "expected"),
    [
        ([2.40, 2.41], [False, True]),
        ([2.5] * 60, [True] + [False] * 59),
        ([2.5, 2.2] * 20, [True] + [False] * 39),
        ([2.5, NAN, 2.5], [True, False, False]),
        ([2.5, 1.0, 2.5], [True, False, False]),
        ([2.5, *[1.0] * 30, 2.5], [True, *[False] * 30, True]),
    ],
)
def test_one_slide_is_one_warning(combo: list[float], expected: list[bool]) -> None:
    watch = Watch()

    assert [watch.exceeds_grip(g, at / 10) for at, g in enumerate(combo)] == expected


def test_a_zone_is_entered_too_fast_from_five_per_cent_on() -> None:
    (zone,) = circuit().zones
    assert zone.reference_ms == pytest.approx((30.0**2 + 2 * 9.80665 * 19.0) ** 0.5, abs=0.5)

    for factor, expected in ((1.04, None), (1.06, "wall")):
        watch = Watch()
        found = [
            watch.enter_zone(circuit(), circuit().place(at), factor * zone.reference_ms, at)
            for at in (470.0, 478.0, 482.0, 490.0, 600.0, 630.0)
        ]
        ids = [one.zone.id if one else None for one in found]
        assert ids == [None, None, expected, None, None, None]


def test_a_car_that_is_quick_there_on_each_lap_is_warned_above_its_own_speed() -> None:
    (zone,) = circuit().zones
    watch = Watch()

    def enter(lap: int, factor: float) -> float | None:
        watch.enter_zone(circuit(), circuit().place(470.0), 40.0, 100.0 * lap)
        speed = factor * zone.reference_ms
        found = watch.enter_zone(circuit(), circuit().place(482.0), speed, 100.0 * lap + 1.0)
        return found.reference_ms / zone.reference_ms if found else None

    assert [enter(lap, 1.10) for lap in range(5)] == [1.0, 1.0, 1.0, None, None]
    assert enter(5, 1.20) == pytest.approx(1.10)
    watch = Watch()
    assert [enter(lap, 0.8) for lap in range(4)] == [None] * 4
    assert enter(4, 1.0) is None  # quicker than ever here, and not quicker than a good lap


@pytest.mark.parametrize("before", [None, 630.0, 485.0, 1500.0])
def test_a_zone_is_not_entered_from_behind_or_from_nowhere(before: float | None) -> None:
    watch = Watch()
    watch.enter_zone(circuit(), None if before is None else circuit().place(before), 90.0, 0.0)

    assert watch.enter_zone(circuit(), circuit().place(484.0), 90.0, 0.1) is None


def test_a_shaking_position_warns_once() -> None:
    watch = Watch()
    found = [
        watch.enter_zone(circuit(), circuit().place(at), 90.0, i / 10)
        for i, at in enumerate([479.0, 481.0, 479.0, 481.0, 479.0, 481.0])
    ]

    assert [one is not None for one in found] == [False, True, False, False, False, False]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (500.0, 30.0),
        (520.0, 25.0),
        (570.0, 22.5),
        (420.0, (900.0 + 19.6133 * 80) ** 0.5),
        (200.0, (900.0 + 19.6133 * 80) ** 0.5),
        (700.0, None),
    ],
)
def test_the_reference_speed_comes_from_the_corner(start: float, expected: float | None) -> None:
    zone = DangerZone("z", start, start + 10, "", "low")
    of = Circuit(track(corner(1, 500, 540, 600), danger_zones=(zone,)))

    assert [one.reference_ms for one in of.zones] == (
        [] if expected is None else [pytest.approx(expected, abs=0.6)]
    )


def test_live_frames_warn_in_the_frame_itself() -> None:
    engine = engine_of(small())
    cues = [
        (at, cue)
        for at in range(400, 500, 5)
        for cue in engine.feed(straight(at / 50, float(at)))
        if cue.priority == 3
    ]

    ((at, cue),) = cues
    assert at == 480
    assert cue.text == "Slow down: 180 km/h, the mark here is 127."
    assert (cue.source, cue.emotion, cue.distance_m) == ("rule", "intense", 480.0)
