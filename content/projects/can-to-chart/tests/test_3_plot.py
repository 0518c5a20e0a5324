"""Stage 3: the chart shows what is there and nothing else."""

import unittest
from itertools import pairwise
from xml.etree import ElementTree

from svgchart import Panel, chart

SVG = "{http://www.w3.org/2000/svg}"
TIMES = [0.0, 1.0, 2.0, 3.0, 4.0]
SPEED = Panel("speed", "km/h", [100.0, 120.0, 140.0, 120.0, 100.0])
BRAKE = Panel("brake", "bar", [0.0, 10.0, None, 30.0, 0.0])


def lines(text: str) -> list[list[tuple[float, float]]]:
    """Points of each polyline of a drawing."""
    found = ElementTree.fromstring(text).iter(f"{SVG}polyline")
    return [
        [(float(x), float(y)) for x, y in (p.split(",") for p in line.split())]
        for line in (element.get("points", "") for element in found)
    ]


class PlotTest(unittest.TestCase):
    def test_title_names_and_units_are_written(self) -> None:
        text = chart("Lap <1> & 2", TIMES, [SPEED, BRAKE])
        root = ElementTree.fromstring(text)
        words = [element.text for element in root.iter(f"{SVG}text")]
        self.assertEqual(root.findtext(f"{SVG}title"), "Lap <1> & 2")
        self.assertIn("speed (km/h)", words)
        self.assertIn("brake (bar)", words)

    def test_more_is_up_and_later_is_right(self) -> None:
        (points,) = lines(chart("x", TIMES, [SPEED]))
        self.assertEqual(min(points, key=lambda point: point[1]), points[2])
        self.assertEqual(points, sorted(points))
        steps = [b[0] - a[0] for a, b in pairwise(points)]
        self.assertAlmostEqual(min(steps), max(steps), delta=0.2)

    def test_the_line_breaks_at_a_gap(self) -> None:
        drawn = lines(chart("x", TIMES, [BRAKE]))
        self.assertEqual([len(line) for line in drawn], [2, 2])

    def test_empty_and_constant_signals_can_be_drawn(self) -> None:
        flat = Panel("gear", "1", [4.0] * 5)
        empty = Panel("none", "1", [None] * 5)
        self.assertEqual(len(lines(chart("x", TIMES, [flat, empty]))), 1)
        self.assertEqual(chart("x", TIMES, [flat]), chart("x", TIMES, [flat]))


if __name__ == "__main__":
    unittest.main()
