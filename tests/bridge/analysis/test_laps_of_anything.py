"""Lap analytics of damaged sessions: no crash, nothing that JSON cannot hold, sums that hold."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from runtime.bridge.analysis.compare import circuit, compared, driven_side, ideal_side, target_side
from runtime.bridge.analysis.drive import Drive, NoCompleteLap, drive_of
from runtime.bridge.analysis.grip import friction_circle
from runtime.bridge.analysis.laps import (
    all_sector_times,
    ideal_lap,
    lap_time_distribution,
    lap_time_table,
)
from runtime.bridge.analysis.mapping import track_map
from runtime.bridge.analysis.pedals import hustle_map, pedal_behavior
from runtime.bridge.analysis.stats import stats, straight_line_speed
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import TIMESTAMP, WIDE_SIGNALS, Frames
from tests.bridge.analysis.lapkit import OVAL, TRACKS
from tools.drive import USUAL, drive

EVERY = (
    stats,
    friction_circle,
    hustle_map,
    track_map,
    lap_time_table,
    lap_time_distribution,
    ideal_lap,
    all_sector_times,
    pedal_behavior,
    straight_line_speed,
)


def numbers(found: Any) -> Iterator[float]:
    """Every number outside an array, for those may hold NaN."""
    if isinstance(found, float):
        yield found
    elif isinstance(found, tuple):
        for one in found:
            yield from numbers(one)
    elif dataclasses.is_dataclass(found):
        for field in dataclasses.fields(found):
            yield from numbers(getattr(found, field.name))


def damaged(seed: int) -> Frames:
    """A driven session, of which channels, stretches and frames are lost and clocks jump."""
    chance = np.random.default_rng(seed)
    track = OVAL if seed % 2 else TRACKS["larkfell"]
    hz = float(chance.choice([1.0, 5.0, 10.0]))
    driven = drive(track, 3, hz=hz, seed=seed, noise=USUAL, skill=0.8).frames
    columns = {name: values.copy() for name, values in driven.columns.items()}
    count = len(driven)
    for name in WIDE_SIGNALS:
        match chance.integers(6):
            case 0:
                columns[name][:] = np.nan
            case 1:
                begin = chance.integers(count)
                columns[name][begin : begin + count // 5] = np.nan
            case 2:
                columns[name][chance.random(count) < 0.3] = np.nan
    keep = chance.random(count) > 0.02
    begin = chance.integers(count)
    keep[begin : begin + int(4 * hz)] = False
    columns[TIMESTAMP] = (columns[TIMESTAMP] + chance.choice([0.0, 86_300.0])) % 86_400.0
    columns[TIMESTAMP][chance.integers(count, size=3)] -= 5.0
    return Frames({name: values[keep] for name, values in columns.items()})


def drives(frames: Frames) -> Iterator[Drive]:
    """The session on either circuit and on none, whole, and by laps."""
    for track in (OVAL, TRACKS["larkfell"], None):
        gate, length = (track.start, track.length_m) if track else (None, None)
        laps = detect(frames, gate=gate, track_length_m=length)
        try:
            found = drive_of(laps, track, partial=True)
        except NoCompleteLap:
            continue
        yield found
        if not found.partial:
            yield drive_of(laps, track, lap=found.counted[-1].number)


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_session_has_numbers_or_nulls(seed: int) -> None:
    for found in drives(damaged(seed)):
        for function in EVERY:
            assert all(math.isfinite(n) for n in numbers(function(found))), function.__name__
        ideal = ideal_lap(found)
        assert (ideal.sectors.gain_s or 0.0) >= 0.0
        assert pedal_behavior(found).frame_count == stats(found).n_frames
        where, lap = circuit(found), found.counted[0].number
        sides = [driven_side(found, lap, where), ideal_side(found), target_side(found, 50.0)]
        for side in sides:
            result = compared(sides[0], side, where)
            assert len(result.delta_s) == len(result.distance_m)
            assert all(math.isfinite(n) for n in numbers(result.mini_sectors))


@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_a_handful_of_frames_taken_as_one_lap_has_numbers_or_nulls(count: int) -> None:
    driven = drive(OVAL, 1, hz=5.0, seed=1).frames
    few = Frames({name: values[:count] for name, values in driven.columns.items()})

    for found in drives(few):
        for function in EVERY:
            assert all(math.isfinite(n) for n in numbers(function(found))), function.__name__
