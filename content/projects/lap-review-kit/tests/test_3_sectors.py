"""Stage 3: sectors by distance, the ideal lap and the repeatable loss."""

import unittest

import make_session
from laps import Lap, Line, cut_laps
from sectors import ideal_lap, largest_loss, sector_times
from session_file import Sample, read_vbo

TABLE = [[20.0, 30.0, 25.0], [24.0, 30.6, 24.5], [20.1, 30.7, 24.6]]


class SectorsTest(unittest.TestCase):
    def test_sectors_are_cut_by_distance_and_not_by_time(self) -> None:
        speeds = [10.0] * 11 + [30.0] * 11  # 100 m slowly, then 300 m
        times = [float(i) for i in range(11)] + [10.0001 + i for i in range(11)]
        path = [Sample(t, 0.0, 0.0, v) for t, v in zip(times, speeds, strict=True)]
        lap = Lap(1, 0.0, 20.0001)
        first, second = sector_times(path, lap, [0.25])
        self.assertAlmostEqual(first, 10.0, places=2)
        self.assertAlmostEqual(second, 10.0, places=2)

    def test_sectors_add_up_to_the_lap(self) -> None:
        samples = read_vbo(make_session.session_text()).samples
        for lap in cut_laps(samples, Line(*make_session.start_line())):
            times = sector_times(samples, lap, [0.3, 0.7])
            self.assertEqual(len(times), 3)
            self.assertAlmostEqual(sum(times), lap.time_s)

    def test_the_ideal_lap_names_its_sources(self) -> None:
        ideal = ideal_lap(TABLE)
        self.assertAlmostEqual(ideal.time_s, 20.0 + 30.0 + 24.5)
        self.assertEqual(list(ideal.lap_numbers), [1, 1, 2])

    def test_one_mistake_does_not_outweigh_a_habit(self) -> None:
        loss = largest_loss(TABLE)
        self.assertEqual(loss.sector, 2)
        self.assertAlmostEqual(loss.seconds, 0.6)


if __name__ == "__main__":
    unittest.main()
