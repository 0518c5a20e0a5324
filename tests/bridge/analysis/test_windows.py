"""Sums, maxima and first events of stretches, beside the same in plain loops."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.windows import (
    first_in,
    known_in,
    largest_in,
    last_in,
    runs,
    total_in,
)

VALUES = st.lists(st.one_of(st.floats(0, 100), st.just(math.nan)), min_size=1, max_size=30)
FLAGS = st.lists(st.booleans(), max_size=30)


@st.composite
def stretched(draw: st.DrawFn) -> tuple[list[float], list[tuple[int, int]]]:
    values = draw(VALUES)
    bounds = st.tuples(st.integers(0, len(values) - 1), st.integers(1, len(values)))
    found = draw(st.lists(bounds.filter(lambda pair: pair[0] < pair[1]), max_size=6))
    return values, found


@given(stretched())
def test_every_stretch_is_as_if_it_were_alone(
    case: tuple[list[float], list[tuple[int, int]]],
) -> None:
    values, bounds = np.array(case[0]), case[1]
    first = np.array([a for a, _ in bounds], dtype=np.intp)
    last = np.array([b for _, b in bounds], dtype=np.intp)
    plain = np.nan_to_num(values)
    events = np.flatnonzero(values > 50)

    largest = largest_in(values, first, last)
    for i, (a, b) in enumerate(bounds):
        part = values[a:b][~np.isnan(values[a:b])]
        assert np.isnan(largest[i]) if not len(part) else largest[i] == part.max()
        assert total_in(plain, first, last)[i] >= 0
        assert math.isclose(total_in(plain, first, last)[i], plain[a:b].sum(), abs_tol=1e-9)
        assert known_in(values, first, last)[i] == bool(len(part))
        inside = [e for e in events.tolist() if a <= e < b]
        assert first_in(events, first, last)[i] == (inside[0] if inside else -1)
        assert last_in(events, first, last)[i] == (inside[-1] if inside else -1)


@given(FLAGS, st.data())
def test_runs_hold_every_flag_and_no_break(flags: list[bool], data: st.DataObject) -> None:
    size = max(len(flags) - 1, 0)
    broken = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    begins, ends = runs(np.array(flags, dtype=bool), np.array(broken, dtype=bool))

    covered = [i for a, b in zip(begins.tolist(), ends.tolist(), strict=True) for i in range(a, b)]
    assert covered == [i for i, flag in enumerate(flags) if flag]
    for a, b in zip(begins.tolist(), ends.tolist(), strict=True):
        assert not any(broken[a : b - 1])
    between = [b for b, a in zip(ends.tolist()[:-1], begins.tolist()[1:], strict=True) if b == a]
    assert all(broken[b - 1] for b in between)
