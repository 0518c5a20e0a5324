"""Telemetry beside video: nearest frames, ties, windows, midnight, and clips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.analysis.video import (
    Ask,
    ClipSource,
    Footage,
    find_sources,
    match_frames,
    sort_footage,
)
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, VideoFrame
from tests.bridge.analysis.lapkit import drive_laps

DRIVE = drive_laps([(10.0, 10.0, 10.0)] * 2)


def film(*moments: float, path: str = "a.mp4", drive: Drive = DRIVE) -> Footage:
    return sort_footage(drive, [VideoFrame(t, None, path, t - 5.0) for t in moments])


def pairs(video: Footage, ask: Ask) -> list[tuple[float, float | None]]:
    """Times of the telemetry frames, and of the video frames they got."""
    result = match_frames(DRIVE, video, ask)
    times = DRIVE.series.t[result.frames].round(3).tolist()
    return [
        (t, None if at < 0 else round(float(video.t[at]), 3))
        for t, at in zip(times, result.video.tolist(), strict=True)
    ]


@pytest.mark.parametrize("t", [1.05, 2.15, 3.35, 40.45])
def test_exactly_the_window_counts_and_of_two_the_earlier_is_taken(t: float) -> None:
    around = (round(t - 0.05, 3), round(t + 0.05, 3))

    assert pairs(film(t), Ask(around[0] - 0.01, around[1] + 0.01)) == [
        (around[0], t),
        (around[1], t),
    ]
    both = film(around[0] + 0.05 - 0.1, around[0] + 0.05)
    assert pairs(both, Ask(around[0] - 0.01, around[0] + 0.01)) == [
        (around[0], round(around[0] - 0.05, 3))
    ]


def test_of_two_files_with_one_moment_the_first_by_name_is_taken() -> None:
    frames = [VideoFrame(1.0, None, name, 0.0) for name in ("b.mp4", "a.mp4", "c.mp4")]
    video = sort_footage(DRIVE, frames)

    result = match_frames(DRIVE, video, Ask(0.95, 1.04))

    assert [video.files[i] for i in video.file[result.video]] == ["a.mp4"]


def test_the_limit_and_unmatched_frames() -> None:
    video = film(*np.arange(0.0, 60.0, 0.2).tolist())

    result = match_frames(DRIVE, video, Ask(most=100))
    assert (len(result.frames), result.more) == (100, True)
    every = match_frames(DRIVE, video, Ask(most=601))
    assert (len(every.frames), every.more) == (601, False)
    only = match_frames(DRIVE, video, Ask(matched_only=True, most=300))
    assert (len(only.frames), only.more) == (300, False)
    assert (only.video >= 0).all()


def test_without_video_nothing_is_matched() -> None:
    result = match_frames(DRIVE, film(), Ask(most=10))

    assert result.video.tolist() == [-1] * 10
    assert np.isnan(result.dt_s).all()
    assert find_sources(film(), 0.0, 9.0) == ()


@given(
    st.lists(st.floats(0, 60), max_size=40),
    st.floats(0.001, 1.0),
)
def test_no_other_video_frame_is_nearer(moments: list[float], window_s: float) -> None:
    video = film(*moments)
    result = match_frames(DRIVE, video, Ask(window_s=window_s, most=1000))

    assert result.frames.tolist() == list(range(601))
    for t, at in zip(DRIVE.series.t.tolist(), result.video.tolist(), strict=True):
        nearest = min((abs(t - moment) for moment in moments), default=np.inf)
        if at >= 0:
            assert abs(t - video.t[at]) <= nearest + 1e-8
        else:
            assert nearest > window_s - 1e-8


def test_video_goes_on_after_midnight_as_the_session_does() -> None:
    frames = dict(DRIVE.series.frames.columns)
    frames["timestamp"] = (frames["timestamp"] + 86_370.0) % 86_400.0
    late = drive_of(detect(Frames(frames), track_length_m=3000.0))
    video = sort_footage(
        late, [VideoFrame(86_399.0, 10, "a", None), VideoFrame(1.0, 2010, "a", None)]
    )

    assert video.t.tolist() == [86_399.0, 86_401.0]
    assert video.place.tolist() == [0.01, 2.01]
    result = match_frames(late, video, Ask(86_400.95, 86_401.05))
    assert result.video.tolist() == [1]


def test_cuts_follow_the_offsets_of_each_file() -> None:
    first = [VideoFrame(10.0 + i, None, "one.mp4", 2.0 * i) for i in range(6)]
    second = [VideoFrame(14.0 + i, 1000 * i, "two.mp4", None) for i in range(6)]
    lost = [VideoFrame(10.0 + i, None, "lost.mp4", None) for i in range(6)]
    video = sort_footage(DRIVE, [*second, *first, *lost])

    assert find_sources(video, 12.0, 17.0) == (
        ClipSource("one.mp4", 4.0, 10.0),
        ClipSource("two.mp4", 0.0, 3.0),
    )
    assert find_sources(video, 0.0, 9.0) == ()
