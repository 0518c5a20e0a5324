"""Stage 4: the report says what was found and from how much."""

import unittest

import make_session
from laps import Line, cut_laps
from report import lap_clock, report
from sectors import sector_times
from session_file import Session, read_vbo


def sample_report() -> str:
    """The report of the sample session."""
    session = read_vbo(make_session.session_text())
    laps = cut_laps(session.samples, Line(*make_session.start_line()))
    table = [sector_times(session.samples, lap, [0.3, 0.7]) for lap in laps]
    return report(session, laps, table)


class ReportTest(unittest.TestCase):
    def test_lap_times_read_as_minutes_and_seconds(self) -> None:
        self.assertEqual(lap_clock(65.25), "1:05.250")
        self.assertEqual(lap_clock(59.9996), "1:00.000")

    def test_the_loss_is_named_with_its_basis(self) -> None:
        text = sample_report()
        self.assertIn("sector 2", text)
        self.assertIn("3 laps", text)
        self.assertIn("2 dropped", text)

    def test_a_session_without_a_lap_says_so(self) -> None:
        self.assertIn("No complete lap", report(Session([], 4), [], []))


if __name__ == "__main__":
    unittest.main()
