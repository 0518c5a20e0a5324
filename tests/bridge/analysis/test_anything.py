"""Analytics of nonsense and of damaged sessions: no crash, and nothing that JSON cannot hold."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import pytest

from runtime.bridge.analysis.compare import (
    compare_sides,
    compose_ideal,
    describe_circuit,
    measure_side,
    scale_side,
)
from runtime.bridge.analysis.corners import (
    classify_corners,
    measure_consistency,
    measure_smoothness,
    measure_track_out,
    report_corners,
)
from runtime.bridge.analysis.drive import Drive, NoCorners, NoLaps, drive_of
from runtime.bridge.analysis.grading import grade_session
from runtime.bridge.analysis.grip import find_oscillations, measure_bands, measure_friction_circle
from runtime.bridge.analysis.highlights import find_highlights
from runtime.bridge.analysis.incidents import detect_incidents
from runtime.bridge.analysis.laps import (
    compose_ideal_lap,
    list_lap_times,
    list_sector_times,
    measure_distribution,
)
from runtime.bridge.analysis.mapping import draw_map
from runtime.bridge.analysis.passes import list_passes
from runtime.bridge.analysis.pedals import (
    find_throttle_changes,
    measure_brake_acceleration,
    measure_brake_ends,
    measure_hustle,
    measure_pedals,
    rate_trail_braking,
    summarise_throttle,
)
from runtime.bridge.analysis.reference import make_reference
from runtime.bridge.analysis.stats import compute_stats, measure_straights
from runtime.bridge.formats.readers.csv_table import read_csv
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import TIMESTAMP, WIDE_SIGNALS, Frames
from tests.bridge.analysis.cornerkit import drive_on, ring_track
from tests.bridge.analysis.lapkit import OVAL, TRACKS
from tests.bridge.session.sessions import frames
from tests.bridge.track.examples import REAL
from tools.drive import USUAL, drive

EVERY: Final[tuple[Callable[[Drive], Any], ...]] = (
    compute_stats,
    measure_friction_circle,
    measure_hustle,
    draw_map,
    list_lap_times,
    measure_distribution,
    compose_ideal_lap,
    list_sector_times,
    measure_pedals,
    measure_straights,
    list_passes,
    grade_session,
    measure_brake_ends,
    measure_brake_acceleration,
    rate_trail_braking,
    summarise_throttle,
    find_throttle_changes,
    classify_corners,
    report_corners,
    detect_incidents,
    find_highlights,
    measure_bands,
    find_oscillations,
    measure_smoothness,
    measure_consistency,
    measure_track_out,
    make_reference,
)


def numbers(values: Any) -> Iterator[float]:
    """Every float outside an array, for those may hold NaN."""
    if isinstance(values, float):
        yield values
    elif isinstance(values, dict):
        yield from numbers(tuple(values.values()))
    elif isinstance(values, tuple):
        for value in values:
            yield from numbers(value)
    elif is_dataclass(values):
        yield from numbers(tuple(getattr(values, item.name) for item in fields(values)))


def check(drive: Drive) -> None:
    for compute in EVERY:
        try:
            answer = compute(drive)
        except NoCorners:
            assert drive.geometry is None
            continue
        assert all(math.isfinite(value) for value in numbers(answer)), compute


def test_a_car_that_stands_all_day_has_nothing_to_show() -> None:
    t = np.arange(0.0, 3600.0)

    check(drive_on(frames(t, speed_ms=0.0, lat=46.0, lon=7.0), ring_track(), partial=True))


@pytest.mark.skipif(not REAL.is_dir(), reason="recordings of others are not beside the project")
def test_a_real_lap_is_answered() -> None:
    path = REAL / "racechrono-v3-tianma-lap9.csv"
    with path.open("rb") as stream:
        recording = read_csv(stream)
    drive = drive_on(recording.frames, partial=True)

    assert len(drive.series) > 3000
    check(drive)


def damage_session(seed: int) -> Frames:
    """A driven session: channels lost or nonsense, stretches and frames missing, clocks jump."""
    chance = np.random.default_rng(seed)
    track = OVAL if seed % 2 else TRACKS["larkfell"]
    hz = float(chance.choice([1.0, 5.0, 25.0]))
    source = drive(track, 3, hz=hz, seed=seed, noise=USUAL, skill=0.8).frames
    columns = {name: values.copy() for name, values in source.columns.items()}
    count = len(source)
    for name in WIDE_SIGNALS:
        match chance.integers(6):
            case 0:
                columns[name][:] = np.nan
            case 1:
                begin = chance.integers(count)
                columns[name][begin : begin + count // 5] = np.nan
            case 2:
                columns[name][chance.random(count) < 0.3] = np.nan
            case 3:
                columns[name] = chance.uniform(-100.0, 100.0, count)
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
            result = drive_of(laps, track, partial=True)
        except NoLaps:
            continue
        yield result
        if not result.partial:
            yield drive_of(laps, track, lap=result.counted[-1].number)


@pytest.mark.parametrize("seed", range(16))
def test_a_damaged_session_has_numbers_or_nulls(seed: int) -> None:
    for damaged in drives(damage_session(seed)):
        check(damaged)
        assert (compose_ideal_lap(damaged).sectors.gain_s or 0.0) >= 0.0
        where, lap = describe_circuit(damaged), damaged.counted[0].number
        sides = [
            measure_side(damaged, lap, where),
            compose_ideal(damaged, where),
            scale_side(damaged, 50.0),
        ]
        for side in sides:
            result = compare_sides(sides[0], side, where)
            assert len(result.delta_s) == len(result.distance_m)
            assert all(math.isfinite(n) for n in numbers(result.mini_sectors))


@pytest.mark.parametrize("count", [1, 2, 3, 30])
def test_a_handful_of_frames_taken_as_one_lap_has_numbers_or_nulls(count: int) -> None:
    columns = drive(OVAL, 1, hz=5.0, seed=1).frames.columns
    few = Frames({name: values[:count] for name, values in columns.items()})

    for result in drives(few):
        check(result)
