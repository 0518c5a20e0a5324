"""Stage 2: signals come to one axis and nothing is invented."""

import unittest

from decode import Series
from resample import axis, resample

RAMP = Series([1.0, 2.0, 3.0, 8.0, 9.0], [10.0, 20.0, 30.0, 80.0, 90.0])


class ResampleTest(unittest.TestCase):
    def test_the_axis_includes_both_ends(self) -> None:
        self.assertEqual(axis(1.0, 4.0), [0.0, 0.25, 0.5, 0.75, 1.0])
        self.assertEqual(len(axis(0.7, 10.0)), 8)
        self.assertEqual(axis(0.99, 2.0), [0.0, 0.5])

    def test_quantities_are_interpolated(self) -> None:
        values = resample(RAMP, [1.0, 1.5, 2.75], hold=False, max_gap_s=2.0)
        self.assertEqual(values, [10.0, 15.0, 27.5])

    def test_states_are_held(self) -> None:
        values = resample(RAMP, [1.0, 1.5, 1.99, 2.0], hold=True, max_gap_s=2.0)
        self.assertEqual(values, [10.0, 10.0, 10.0, 20.0])

    def test_nothing_before_the_first_and_after_the_last_sample(self) -> None:
        for hold in (False, True):
            values = resample(RAMP, [0.9, 9.0, 9.1], hold=hold, max_gap_s=2.0)
            self.assertEqual(values, [None, 90.0, None])

    def test_a_gap_stays_a_gap_and_its_edges_are_kept(self) -> None:
        for hold in (False, True):
            values = resample(RAMP, [3.0, 3.1, 7.9, 8.0], hold=hold, max_gap_s=2.0)
            self.assertEqual(values, [30.0, None, None, 80.0])
        self.assertEqual(resample(RAMP, [5.0], hold=False, max_gap_s=5.0), [50.0])

    def test_a_signal_without_samples_gives_no_values(self) -> None:
        values = resample(Series([], []), [0.0, 1.0], hold=False, max_gap_s=1.0)
        self.assertEqual(values, [None, None])


if __name__ == "__main__":
    unittest.main()
