"""Stage 1: the file becomes samples with SI units."""

import unittest

import make_session
from session_file import read_vbo

SMALL = """[column names]
sats time lat long velocity
[data]
137 162235.40 +03119.09973 +00058.49277 036.000
000 162235.50 +03119.09973 +00058.49277 036.000
137 162235.40 +03119.09973 +00058.49277 036.000
137 162236.05 +03119.10000 -00058.49277 072.000
137 162236.10 +03119.1
"""


class ImportTest(unittest.TestCase):
    def test_units_and_signs_follow_the_format(self) -> None:
        first, second = read_vbo(SMALL).samples
        self.assertAlmostEqual(first.lat_deg, 51.9849955)
        self.assertAlmostEqual(first.lon_deg, -0.9748795)
        self.assertAlmostEqual(first.speed_ms, 10.0)
        self.assertAlmostEqual(second.lon_deg, 0.9748795)

    def test_time_is_seconds_since_midnight(self) -> None:
        first, second = read_vbo(SMALL).samples
        self.assertAlmostEqual(first.t_s, 16 * 3600 + 22 * 60 + 35.4)
        self.assertAlmostEqual(second.t_s - first.t_s, 0.65)

    def test_unusable_rows_are_dropped_and_counted(self) -> None:
        session = read_vbo(make_session.session_text())
        self.assertEqual(read_vbo(SMALL).dropped, 3)
        self.assertEqual(session.dropped, 2)
        self.assertEqual(len(session.samples), len(make_session.drive()[0]) - 2)

    def test_a_missing_column_is_named(self) -> None:
        with self.assertRaisesRegex(ValueError, "velocity"):
            read_vbo("[column names]\nsats time lat long\n[data]\n")


if __name__ == "__main__":
    unittest.main()
