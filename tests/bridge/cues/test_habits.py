"""A planted fault that a driver repeats is spoken of before its corner, and nothing else is."""

from dataclasses import replace
from typing import Literal, TypeAlias

import numpy as np
import pytest

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Cue
from runtime.bridge.session.recording import TIMESTAMP, WIDE, LiveFrame, Numbers
from runtime.bridge.track.model import Corner, DangerZone, Track
from tests.bridge.cues.coachkit import larkfell
from tools.drive import Drive, drive

Columns: TypeAlias = dict[str, Numbers]
Fault = Literal["rolls", "brakes_early", "crawls", "waits"]
LAPS = 4
BOX_M = 0.04 * larkfell().length_m
"""The car leaves its box so far before start/finish."""


@pytest.fixture(scope="module")
def clean() -> Drive:
    return drive(larkfell(), LAPS, seed=3, skill=0.98)


def plant(driven: Drive, corner: Corner, fault: Fault) -> list[LiveFrame]:
    """The drive with one fault, as a car without positions sends it that counts its metres."""
    return sent(with_fault(driven, corner, fault))


def with_fault(driven: Drive, corner: Corner, fault: Fault) -> Columns:
    """The drive with one fault in one corner on every lap: the same way, driven more slowly."""
    columns = columns_of(driven)
    length = larkfell().length_m
    way = columns["distance_m"] + BOX_M
    ahead = (corner.entry.distance_m - way + length / 2) % length - length / 2
    inside = (corner.exit.distance_m - corner.entry.distance_m) % length
    bz = corner.brake.before_entry_m if corner.brake else 0.0
    factor = np.ones(len(way))
    early = (ahead > bz - 5.0) & (ahead < bz + 35.0)
    slow = (ahead < bz) & (ahead > -inside)
    if fault == "rolls":
        rolling = early | ((ahead <= bz - 5.0) & (ahead > 0.5 * bz))
        columns["throttle_pct"][rolling] = columns["brake_bar"][rolling] = 0.0
        factor[rolling] = 0.75
    elif fault == "brakes_early":
        columns["throttle_pct"][early], columns["brake_bar"][early] = 0.0, 20.0
        factor[early | slow & (ahead > 0.0)] = 0.75
    elif fault == "waits":
        beyond = (corner.apex.distance_m - way + length / 2) % length - length / 2
        late = (beyond < -10.0) & (beyond > -60.0)
        columns["throttle_pct"][late] = 25.0
        factor[late] = 0.95
    else:
        factor[slow & (ahead < 10.0)] = 0.8
    return slowed(columns, factor)


def slowed(columns: Columns, factor: Numbers) -> Columns:
    """The same way at a share of the speed."""
    steps = np.diff(columns[TIMESTAMP], prepend=columns[TIMESTAMP][0]) / factor
    return {
        **columns,
        TIMESTAMP: np.cumsum(steps),
        "speed_ms": columns["speed_ms"] * factor,
        "g_lat": columns["g_lat"] * factor**2,
        "distance_m": columns["distance_m"] + BOX_M,
    }


def sent(columns: Columns) -> list[LiveFrame]:
    """As a car without positions sends it that counts its metres."""
    nowhere = np.full(len(columns[TIMESTAMP]), np.nan)
    columns = {**columns, "lat": nowhere, "lon": nowhere}
    rows = zip(*(columns[name].tolist() for name in WIDE), strict=True)
    wide = [dict(zip(WIDE, row, strict=True)) for row in rows]
    return [LiveFrame("s", "ingest", one, device_distance_m=one["distance_m"]) for one in wide]


def columns_of(driven: Drive) -> Columns:
    return {name: np.array(driven.frames.columns[name]) for name in WIDE}


def listen(track: Track, frames: list[LiveFrame]) -> list[tuple[float, Cue]]:
    """Each cue with the laps that were begun when it was heard."""
    engine = CueEngine(lambda _: track)
    heard = []
    for frame in frames:
        lap = frame.wide["distance_m"] / track.length_m
        heard += [(lap, cue) for cue in engine.feed(frame)]
    return heard


@pytest.mark.parametrize("number", [1, 4, 8, 11])
@pytest.mark.parametrize(
    ("fault", "concepts"),
    [
        ("rolls", {"full_commitment"}),
        ("brakes_early", {"brake_end_focus", "early_brake_release"}),
        ("crawls", {"early_brake_release"}),
        ("waits", {"exit_speed"}),
    ],
)
def test_a_repeated_fault_is_spoken_of_within_three_laps_before_its_corner(
    clean: Drive, number: int, fault: Fault, concepts: set[str]
) -> None:
    track = replace(larkfell(), danger_zones=())
    corner = next(one for one in track.corners if one.number == number)

    heard = listen(track, plant(clean, corner, fault))

    losses = [(lap, cue) for lap, cue in heard if cue.priority == 2]
    assert losses
    first, cue = losses[0]
    assert cue.corner == corner.name
    assert cue.concept in concepts
    assert first < 4.0  # the lap out counts as one
    for _, said in losses:
        assert said.corner == corner.name
        assert said.distance_m is not None
        left = (corner.entry.distance_m - said.distance_m) % track.length_m
        bz = corner.brake.before_entry_m if corner.brake else 0.0
        assert bz < left < 600.0


def test_a_driver_without_faults_hears_of_none(clean: Drive) -> None:
    frames = sent(slowed(columns_of(clean), np.ones(len(clean.frames))))

    assert [cue.text for _, cue in listen(larkfell(), frames) if cue.priority == 2] == []


def test_rain_is_no_habit(clean: Drive) -> None:
    columns = columns_of(clean)
    wet = columns["distance_m"] > 2.0 * larkfell().length_m
    frames = sent(slowed(columns, np.where(wet, 0.9, 1.0)))

    assert [cue.text for _, cue in listen(larkfell(), frames) if cue.priority == 2] == []


def test_a_recording_that_is_played_again_is_coached_in_the_same_words(clean: Drive) -> None:
    frames = plant(clean, larkfell().corners[0], "rolls")

    heard = listen(larkfell(), [*frames, *frames])

    half = len(heard) // 2
    assert [(lap, cue.text) for lap, cue in heard[:half]] == [
        (lap, cue.text) for lap, cue in heard[half:]
    ]


def test_in_a_danger_zone_nobody_is_told_to_brake_later(clean: Drive) -> None:
    corner = next(one for one in larkfell().corners if one.number == 1)
    begin, end = corner.entry.distance_m - 50.0, corner.exit.distance_m
    walled = replace(larkfell(), danger_zones=(DangerZone("wall", begin, end, "a wall", "high"),))

    rolling = [cue.text for _, cue in listen(walled, plant(clean, corner, "rolls"))]
    early = listen(walled, plant(clean, corner, "brakes_early"))

    assert [text for text in rolling if "From the brake straight to the throttle" in text]
    assert not [text for text in rolling if "later" in text]
    assert [cue.text for _, cue in early if cue.priority == 2] == []


@pytest.mark.parametrize(("number", "behind"), [(2, set()), (4, {"exit_speed"})])
def test_only_behind_a_danger_zone_is_more_speed_asked_for(
    clean: Drive, number: int, behind: set[str]
) -> None:
    corner = next(one for one in larkfell().corners if one.number == number)
    expected: dict[Fault, set[str]] = {"brakes_early": set(), "crawls": behind, "waits": behind}

    for fault, concepts in expected.items():
        heard = listen(larkfell(), plant(clean, corner, fault))
        assert {cue.concept for _, cue in heard if cue.priority == 2} == concepts
