"""Laps of driven sessions against the times at which the line was really crossed."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.progress import Span, measure_progress, time_sectors
from runtime.bridge.session.recording import Frames
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from tools.drive import QUIET, USUAL, Drive, Noise, drive

TRACKS = Library.read(Path(__file__).parents[3] / "data" / "tracks").tracks
EVERY = pytest.mark.parametrize("track", TRACKS.values(), ids=TRACKS)


def errors(laps: Laps, driven: Drive) -> list[float]:
    assert len(laps.complete) == len(driven.lap_times_s)
    result = [lap.duration_s for lap in laps.complete]
    return [abs(a - b) for a, b in zip(result, driven.lap_times_s, strict=True)]


def laps_of(frames: Frames, track: Track) -> Laps:
    return detect(frames, gate=track.start, track_length_m=track.length_m)


@EVERY
@pytest.mark.parametrize(("noise", "within_s"), [(QUIET, 0.010), (USUAL, 0.050)])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_laps_at_10_hz_are_as_driven(
    track: Track, noise: Noise, within_s: float, seed: int
) -> None:
    driven = drive(track, 5, hz=10.0, skill=0.9, seed=seed, noise=noise)

    laps = laps_of(driven.frames, track)

    assert laps.method == "gps"
    assert [s.kind for s in laps.segments] == ["out", *["lap"] * 5, "in"]
    assert max(errors(laps, driven)) <= within_s
    starts = [lap.t_start for lap in laps.complete]
    np.testing.assert_allclose(starts, driven.crossings_s[:-1], atol=0.1)


@EVERY
def test_laps_at_one_fix_a_second_are_as_driven_to_a_tenth(track: Track) -> None:
    driven = drive(track, 4, hz=1.0, seed=4)

    assert max(errors(laps_of(driven.frames, track), driven)) <= 0.1


@EVERY
def test_laps_by_distance_are_as_driven(track: Track) -> None:
    driven = drive(track, 4, hz=10.0, seed=5)
    columns = dict(driven.frames.columns)
    box_m = track.length_m * 5 - np.interp(
        driven.crossings_s[-1], columns["timestamp"], columns["distance_m"]
    )
    blind = Frames({**columns, "lat": columns["lat"] * np.nan})
    blind.columns["distance_m"][:] += box_m  # counted from the line

    laps = laps_of(blind, track)

    assert laps.method == "distance"
    result = {round(lap.t_start, 1): lap.duration_s for lap in laps.complete}
    for start, time in zip(driven.crossings_s[:-1], driven.lap_times_s, strict=True):
        assert result[round(start, 1)] == pytest.approx(time, abs=0.010)


@EVERY
@pytest.mark.parametrize("noise", [QUIET, USUAL])
def test_sectors_of_driven_laps_add_up_and_agree_with_the_distance(
    track: Track, noise: Noise
) -> None:
    driven = drive(track, 3, hz=20.0, seed=6, noise=noise)
    laps = laps_of(driven.frames, track)
    progress = measure_progress(laps, track.line)
    assert progress is not None
    assert progress.basis == "line"
    spans = [Span(*astuple(sector)) for sector in track.sectors]

    for lap, begin in zip(laps.complete, driven.crossings_s, strict=False):
        times = time_sectors(laps, progress, lap, spans)
        assert sum(time or 0.0 for time in times) == pytest.approx(lap.duration_s, abs=1e-3)
        start_m = np.interp(begin, laps.series.t, laps.travelled)
        at = [start_m + span.end_m for span in spans[:-1]]
        truth = np.interp(at, laps.travelled, laps.series.t) - begin
        slack = 0.01 if noise is QUIET else 0.2
        assert np.cumsum([time or 0.0 for time in times])[:-1] == pytest.approx(truth, abs=slack)


def test_lost_fixes_and_pauses_do_not_move_the_other_laps() -> None:
    track = TRACKS["larkfell"]
    driven = drive(track, 4, hz=10.0, seed=7, noise=USUAL)
    t = driven.frames.columns["timestamp"]
    second = driven.crossings_s[1]
    keep = (t < second + 50) | (t > second + 53)
    frames = Frames({name: values[keep] for name, values in driven.frames.columns.items()})
    third = driven.crossings_s[2]
    lost = (frames.columns["timestamp"] > third + 20) & (frames.columns["timestamp"] < third + 60)
    frames.columns["lat"][lost] = np.nan

    laps = laps_of(frames, track)

    assert [lap.gap_s > 0 for lap in laps.complete] == [False, True, False, False]
    assert max(errors(laps, driven)) <= 0.050
