"""Draws the centre line of an invented circuit from straights and eased bends."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.recording import Numbers

BEND: Final = 0.3
"""Degrees a metre from which a bend counts as a corner: the floor of corner detection."""
GRID_M: Final = 0.05


class Bend(NamedTuple):
    """A corner whose curvature rises evenly, holds, and falls evenly."""

    degrees: float
    """Change of heading, positive to the right."""
    radius_m: float
    """Where it is tightest."""
    ease_m: float = 0.0
    """Length of the rise, and of the fall."""

    @property
    def length_m(self) -> float:
        """Metres along the line."""
        return math.radians(abs(self.degrees)) * self.radius_m + self.ease_m

    @property
    def lead_m(self) -> float:
        """Metres from its first bending to where it counts as a corner."""
        return self.ease_m * min(BEND * math.radians(self.radius_m), 1.0)


Part: TypeAlias = float | Bend
"""A straight's length in metres, or a bend."""


class Shape(NamedTuple):
    """A closed centre line, its first point not repeated."""

    distance: Numbers
    x: Numbers
    y: Numbers
    length_m: float
    windows: tuple[tuple[float, float, float], ...]
    """Entry, middle and exit of each bend, metres from start/finish."""


def draw(
    parts: Sequence[Part],
    heading: float = 0.0,
    free: tuple[int, int] | None = None,
    start_m: float = 0.0,
    step: float = 5.0,
) -> Shape:
    """The line through *parts*, the first of which leaves at *heading* degrees.

    The two straights at the places *free* are given the lengths that close the line, unless it
    is closed as it is; start/finish lies *start_m* behind the beginning of the first part.
    Raises ValueError where no such lengths exist or the bends do not add up to one turn.
    """
    if abs(abs(sum(part.degrees for part in parts if isinstance(part, Bend))) - 360) > 1e-9:
        raise ValueError("the bends of a closed line add up to 360 degrees")
    parts = _closed(parts, heading, free) if free else list(parts)
    spans = np.array([_span(part) for part in parts])
    ends = np.cumsum(spans)
    length = float(ends[-1])
    x, y, s = _points(parts, heading)
    count = round(length / step)
    distance = np.arange(count) * (length / count)
    wanted = (distance + start_m) % length
    windows = tuple(
        tuple(float((place - start_m) % length) for place in _window(part, float(end)))
        for part, end in zip(parts, ends, strict=True)
        if isinstance(part, Bend)
    )
    px, py = np.interp(wanted, s, x), np.interp(wanted, s, y)
    return Shape(distance, px - px[0], py - py[0], length, windows)  # type: ignore[arg-type]


def _span(part: Part) -> float:
    return part.length_m if isinstance(part, Bend) else part


def _window(bend: Bend, end: float) -> tuple[float, float, float]:
    begin = end - bend.length_m
    return begin + bend.lead_m, (begin + end) / 2, end - bend.lead_m


def _bent(bend: Bend) -> tuple[Numbers, Numbers]:
    """Distances along a bend, and the heading gained there in radians."""
    s = np.linspace(0.0, bend.length_m, max(2, round(bend.length_m / GRID_M)))
    knots = [0.0, bend.ease_m, bend.length_m - bend.ease_m, bend.length_m]
    peak = math.copysign(1.0 / bend.radius_m, bend.degrees)
    curvature = np.full(len(s), peak)
    if bend.ease_m:
        curvature = np.interp(s, knots, [0.0, peak, peak, 0.0])
    gained = np.concatenate([[0.0], np.cumsum((curvature[1:] + curvature[:-1]) / 2 * np.diff(s))])
    # The sum is a hair off at the knots: scaled, so that the headings of the parts add up.
    return s, gained * (math.radians(bend.degrees) / gained[-1])


def _points(parts: Sequence[Part], heading: float) -> tuple[Numbers, Numbers, Numbers]:
    """A fine polyline from the origin: x to the east, y to the north, distance."""
    xs, ys, ss = [np.zeros(1)], [np.zeros(1)], [np.zeros(1)]
    course = math.radians(heading)
    for part in parts:
        if isinstance(part, Bend):
            s, gained = _bent(part)
        else:
            s, gained = np.array([0.0, part]), np.zeros(2)
        middle = course + (gained[1:] + gained[:-1]) / 2
        width = np.diff(s)
        xs.append(xs[-1][-1] + np.cumsum(np.sin(middle) * width))
        ys.append(ys[-1][-1] + np.cumsum(np.cos(middle) * width))
        ss.append(ss[-1][-1] + s[1:])
        course += float(gained[-1])
    return np.concatenate(xs), np.concatenate(ys), np.concatenate(ss)


def _closed(parts: Sequence[Part], heading: float, free: tuple[int, int]) -> list[Part]:
    """The parts with the two free straights as long as the line needs to close."""
    parts = list(parts)
    for i in free:
        parts[i] = 0.0
    x, y, _ = _points(parts, heading)
    courses = []
    for i in free:
        turned = sum(part.degrees for part in parts[:i] if isinstance(part, Bend))
        courses.append(math.radians(heading + turned))
    ways = np.array([np.sin(courses), np.cos(courses)])
    if abs(np.linalg.det(ways)) < 1e-6:
        raise ValueError("the two free straights are parallel")
    lengths = np.linalg.solve(ways, [-x[-1], -y[-1]])
    if min(lengths) < 0:
        raise ValueError(f"the line closes only with straights of {lengths.round(1)} m")
    for i, length in zip(free, lengths, strict=True):
        parts[i] = float(length)
    return parts
