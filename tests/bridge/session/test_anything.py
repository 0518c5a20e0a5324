"""Whatever the columns hold, laps come out in order, apart, and without an exception."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.laps import detect
from runtime.bridge.session.progress import lap_progress, sector_times, thirds
from runtime.bridge.session.recording import WIDE, Frames, Gate, Numbers
from runtime.bridge.session.stats import box_plot, quantile
from tests.bridge.session.sessions import circle, circle_gate

ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
LIKELY = st.floats(-1000, 5000)
COUNT = 60


def column(count: int) -> st.SearchStrategy[Numbers]:
    return arrays.arrays(np.float64, count, elements=st.one_of(ANY, LIKELY))


@st.composite
def any_frames(draw: st.DrawFn) -> Frames:
    count = draw(st.integers(0, COUNT))
    return Frames({name: draw(column(count)) for name in WIDE})


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
        progress = lap_progress(laps, line)
        if progress is None:
            continue
        known = progress.p[~np.isnan(progress.p)]
        assert ((known >= 0) & (known < progress.length_m)).all()
        for lap in laps.complete:
            times = sector_times(laps, progress, lap, thirds(progress.length_m))
            assert all(time is None or time > 0 for time in times)
            if None not in times:
                assert abs(sum(time or 0 for time in times) - lap.duration_s) < 1e-3


GATES = st.sampled_from([None, circle_gate(), circle_gate(46.0), Gate(90.0, 180.0, 400.0)])
LENGTHS = st.sampled_from([None, 1000.0, 30.0, 1e-3, 0.0])


@settings(max_examples=120, deadline=None)
@given(any_frames(), GATES, LENGTHS)
def test_any_columns_make_ordered_disjoint_segments(
    frames: Frames, gate: Gate | None, length: float | None
) -> None:
    check(frames, gate, length)


@settings(max_examples=100, deadline=None)
@given(disturbed_circle(), GATES, LENGTHS)
def test_a_session_with_faulty_cells_makes_ordered_disjoint_segments(
    frames: Frames, gate: Gate | None, length: float | None
) -> None:
    check(frames, gate, length)


@settings(max_examples=100, deadline=None)
@given(arrays.arrays(np.float64, st.integers(0, 30), elements=st.floats(-1e6, 1e6)))
def test_a_box_holds_its_quartiles_in_order(values: Numbers) -> None:
    box = box_plot(values)

    if box is None:
        assert len(values) == 0
        return
    assert box.low_fence <= box.q1 <= box.median <= box.q3 <= box.high_fence
    assert box.median == quantile(values, 0.5)
    assert all(box.low <= v <= box.high for v in values if not box.is_outlier(float(v)))
