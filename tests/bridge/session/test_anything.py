"""Whatever the columns hold, laps come out in order, apart, and without an exception."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.laps import detect
from runtime.bridge.session.progress import divide_in_thirds, measure_progress, time_sectors
from runtime.bridge.session.recording import WIDE, Frames, Gate
from tests.bridge.session.sessions import circle, circle_gate

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)


@st.composite
def disturbed_circle(draw: st.DrawFn) -> Frames:
    """A real session in which a few cells are anything."""
    session = circle(130, hz=2.0, lat0=draw(st.sampled_from([0.0, 46.0, 89.9])))
    for _ in range(draw(st.integers(0, 12))):
        name = draw(st.sampled_from(WIDE))
        session.columns[name][draw(st.integers(0, len(session) - 1))] = draw(ANY)
    return session


def a_line() -> Line:
    s = np.arange(0.0, 1000.0, 10.0)
    angle = s / 1000 * 2 * np.pi
    return Line(s, np.sin(angle) / 700, 10 + np.cos(angle) / 700, s * np.nan, 1000.0)


def check(frames: Frames, gate: Gate | None, length: float | None) -> None:
    laps = detect(frames, gate=gate, track_length_m=length)

    assert (np.diff(laps.series.t) > 0).all()
    for before, after in zip(laps.segments, laps.segments[1:], strict=False):
        assert before.t_end <= after.t_start
        assert before.last <= after.first
    for segment in (laps.full, *laps.segments):
        assert segment.t_start <= segment.t_end
        assert 0 <= segment.first <= segment.last <= len(laps.series)
        assert np.isfinite([segment.distance_m, segment.gap_s]).all()
    assert [lap.number for lap in laps.complete] == list(range(1, len(laps.complete) + 1))
    assert sum(lap.best for lap in laps.complete) == bool(laps.complete)
    for line in (None, a_line()):
        progress = measure_progress(laps, line)
        if progress is None:
            continue
        expected = progress.p[~np.isnan(progress.p)]
        assert ((expected >= 0) & (expected < progress.length_m)).all()
        for lap in laps.complete:
            times = time_sectors(laps, progress, lap, divide_in_thirds(progress.length_m))
            assert all(time is None or time > 0 for time in times)
            if None not in times:
                assert abs(sum(time or 0 for time in times) - lap.duration_s) < 1e-3


GATES = st.sampled_from([None, circle_gate(), circle_gate(46.0), Gate(90.0, 180.0, 400.0)])
LENGTHS = st.sampled_from([None, 1000.0, 30.0, 1e-3, 0.0])


@given(disturbed_circle(), GATES, LENGTHS)
def test_a_session_with_faulty_cells_makes_ordered_disjoint_segments(
    frames: Frames, gate: Gate | None, length: float | None
) -> None:
    check(frames, gate, length)
