"""Whatever was recorded, corner analytics answer or say why not, and never with a NaN."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.analysis.corners import (
    consistency,
    corner_classes,
    corner_reports,
    smoothness,
    track_out,
)
from runtime.bridge.analysis.drive import Drive, NoCompleteLap, NoGeometry
from runtime.bridge.analysis.grading import scorecard
from runtime.bridge.analysis.grip import slip_bands, slip_oscillations
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.incidents import incidents
from runtime.bridge.analysis.passes import passes_of
from runtime.bridge.analysis.pedals import (
    brake_acceleration,
    brake_ends,
    changes_of_speed,
    throttle_boxes,
    trail_braking,
)
from runtime.bridge.analysis.reference import reference_lap
from runtime.bridge.formats.racechrono import read_racechrono
from runtime.bridge.session.recording import Frames
from tests.bridge.analysis.cornerkit import driven, ring_frames, ring_track
from tests.bridge.session.sessions import changed, frames, kept
from tests.bridge.track.examples import REAL

EVERY: Final[tuple[Callable[[Drive], Any], ...]] = (
    passes_of,
    scorecard,
    brake_ends,
    brake_acceleration,
    trail_braking,
    throttle_boxes,
    changes_of_speed,
    corner_classes,
    corner_reports,
    incidents,
    highlights,
    slip_bands,
    slip_oscillations,
    smoothness,
    consistency,
    track_out,
    reference_lap,
)
CHANNELS: Final = {
    "speed_ms": (0.0, 80.0),
    "g_lat": (-3.0, 3.0),
    "g_long": (-3.0, 2.0),
    "combo_g": (0.0, 4.0),
    "brake_bar": (0.0, 120.0),
    "throttle_pct": (0.0, 100.0),
    "steering_deg": (-200.0, 200.0),
}


def numbers(found: Any) -> Iterator[float]:
    """Every float of a result."""
    if isinstance(found, float):
        yield found
    elif isinstance(found, dict):
        for value in found.values():
            yield from numbers(value)
    elif isinstance(found, tuple | list):
        for value in found:
            yield from numbers(value)
    elif is_dataclass(found) and not isinstance(found, type):
        yield from numbers([getattr(found, one.name) for one in fields(found)])


def check(drive: Drive) -> None:
    for compute in EVERY:
        try:
            found = compute(drive)
        except NoGeometry:
            assert drive.geometry is None
            continue
        assert all(math.isfinite(value) for value in numbers(found)), compute


def shaken(session: Frames, seed: int, missing: float, lost: float) -> Frames:
    """The session with channels of nonsense, cells and frames of which are missing."""
    chance = np.random.default_rng(seed)
    made = {}
    for name, (low, high) in CHANNELS.items():
        values = chance.uniform(low, high, len(session))
        values[chance.random(len(session)) < missing] = np.nan
        made[name] = values
    for name in ("lat", "lon"):
        values = session.columns[name].copy()
        values[chance.random(len(session)) < lost] = np.nan
        made[name] = values
    return kept(changed(session, **made), chance.random(len(session)) >= lost)


@settings(max_examples=25, deadline=None)
@given(
    laps=st.sampled_from([0.0, 0.4, 1.0, 2.5]),
    hz=st.sampled_from([1.0, 4.0, 25.0]),
    seed=st.integers(0, 2**20),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    lost=st.sampled_from([0.0, 0.15, 0.6]),
    known=st.booleans(),
)
def test_nonsense_is_answered(
    laps: float, hz: float, seed: int, missing: float, lost: float, known: bool
) -> None:
    session = shaken(ring_frames(laps, hz=hz), seed, missing, lost)
    try:
        drive = driven(session, ring_track() if known else None, partial=True)
    except NoCompleteLap:
        assert len(session) < 2
        return
    check(drive)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_few_frames_are_a_session(count: int) -> None:
    t = np.arange(float(count))
    session = frames(t, speed_ms=20.0, combo_g=3.0, lat=46.0 + 1e-4 * t, lon=7.0)

    check(driven(session, ring_track(), partial=True))
    check(driven(session, partial=True))


def test_a_car_that_stands_all_day_has_nothing_to_show() -> None:
    t = np.arange(0.0, 3600.0)

    check(driven(frames(t, speed_ms=0.0, lat=46.0, lon=7.0), ring_track(), partial=True))


@pytest.mark.skipif(not REAL.is_dir(), reason="recordings of others are not beside the project")
def test_a_real_lap_is_answered() -> None:
    path = REAL / "racechrono-v3-tianma-lap9.csv"
    with path.open("rb") as stream:
        recording = read_racechrono(stream)
    drive = driven(recording.frames, partial=True)

    assert len(drive.series) > 3000
    check(drive)
