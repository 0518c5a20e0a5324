"""Quantiles, box plots and deviations against numbers worked out by hand."""

import numpy as np
import pytest

from runtime.bridge.session.stats import box_plot, deviation, quantile


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([3.0, 1.0, 2.0], 0.5, 2.0),
        ([1.0, 2.0, 3.0, 4.0], 0.25, 1.75),
        ([1.0, 2.0, 3.0, 4.0], 0.75, 3.25),
        ([1.0, 2.0, 3.0, 4.0], 1.0, 4.0),
        ([7.0], 0.9, 7.0),
        ([1.0, np.nan, 3.0], 0.5, 2.0),
        ([], 0.5, None),
        ([np.nan], 0.5, None),
    ],
)
def test_a_quantile_lies_between_neighbours(
    values: list[float], share: float, expected: float | None
) -> None:
    assert quantile(values, share) == expected


def test_a_box_plot_worked_out_by_hand() -> None:
    box = box_plot([10.0, 11.0, 12.0, 13.0, 14.0, 30.0])

    assert box is not None
    # h = 0.25 x 5 = 1.25 and 3.75: Q1 = 11.25, Q3 = 13.75; fences 11.25 - 3.75 and 13.75 + 3.75
    assert (box.q1, box.median, box.q3, box.iqr) == (11.25, 12.5, 13.75, 2.5)
    assert (box.low_fence, box.high_fence) == (7.5, 17.5)
    assert (box.low, box.high) == (10.0, 14.0)
    assert [value for value in (7.5, 7.4, 17.5, 30.0) if box.is_outlier(value)] == [7.4, 30.0]


def test_a_box_of_one_value_is_a_line_and_of_none_nothing() -> None:
    assert set(box_plot([5.0]) or ()) == {5.0}
    assert box_plot([np.nan]) is None


@pytest.mark.parametrize(
    ("values", "sample", "expected"),
    [
        ([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], False, 2.0),
        ([1.0, 3.0], True, 2.0**0.5),
        ([1.0, 3.0], False, 1.0),
        ([4.0], True, 0.0),
        ([], True, None),
    ],
)
def test_deviations(values: list[float], sample: bool, expected: float | None) -> None:
    assert deviation(values, sample=sample) == pytest.approx(expected)
