"""Stage 2: the session is cut at the start line."""

import unittest

import make_session
from laps import Line, crossings, cut_laps
from session_file import Sample, read_vbo

LINE = Line(*make_session.start_line())
EAST_WEST = Line(0.0, 0.0, 0.0, 0.001)


def walk(*places: tuple[float, float]) -> list[Sample]:
    """Samples one second apart at the places given as latitude, longitude."""
    return [Sample(float(i), lat, lon, 10.0) for i, (lat, lon) in enumerate(places)]


class LapsTest(unittest.TestCase):
    def test_lap_times_of_the_sample_are_right(self) -> None:
        laps = cut_laps(read_vbo(make_session.session_text()).samples, LINE)
        true = make_session.drive()[1]
        self.assertEqual([lap.number for lap in laps], [1, 2, 3])
        for lap, start, end in zip(laps, true, true[1:], strict=False):
            self.assertAlmostEqual(lap.time_s, end - start, delta=0.02)

    def test_the_crossing_is_interpolated(self) -> None:
        path = walk((-0.003, 0.0005), (0.001, 0.0005))
        self.assertAlmostEqual(crossings(path, EAST_WEST)[0], 0.75, places=6)

    def test_only_the_driving_direction_counts(self) -> None:
        path = walk((-0.001, 0.0005), (0.001, 0.0005), (-0.001, 0.0005))
        self.assertEqual(len(crossings(path, EAST_WEST)), 1)

    def test_passing_beside_the_line_is_no_crossing(self) -> None:
        path = walk((-0.001, 0.002), (0.001, 0.002))
        self.assertEqual(crossings(path, EAST_WEST), [])
        self.assertEqual(cut_laps(path, EAST_WEST), [])


if __name__ == "__main__":
    unittest.main()
