"""Draws signals over one time axis as an SVG file."""

from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 720, 150, 70, 20, 40, 20
FRAME = '<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="#1c2430"/>'
LABEL = '<text x="{}" y="{}" text-anchor="{}">{}</text>'
CURVE = '<polyline points="{}" fill="none" stroke="#a5540a" stroke-width="2"/>'


class Panel(NamedTuple):
    """One signal on the common axis; None where there is no value."""

    name: str
    unit: str
    values: list[float | None]


def runs(values: list[float | None]) -> list[list[int]]:
    """Indices of neighbouring values, one list for each unbroken run."""
    found: list[list[int]] = []
    for i, value in enumerate(values):
        if value is None:
            continue
        if found and found[-1][-1] == i - 1:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def panel_svg(panel: Panel, times_s: list[float], top: int) -> list[str]:
    """Frame, labels and lines of one panel."""
    known = [value for value in panel.values if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    span = high - low or 1.0
    wide = WIDTH - LEFT - RIGHT
    length_s = times_s[-1] - times_s[0] or 1.0

    def point(i: int) -> str:
        x = LEFT + wide * (times_s[i] - times_s[0]) / length_s
        y = top + PANEL * (1 - ((panel.values[i] or 0.0) - low) / span)
        return f"{x:.1f},{y:.1f}"

    parts = [FRAME.format(LEFT, top, wide, PANEL)]
    name = escape(f"{panel.name} ({panel.unit})")
    parts.append(LABEL.format(LEFT + 6, top + 18, "start", name))
    parts.append(LABEL.format(LEFT - 6, top + 12, "end", f"{high:g}"))
    parts.append(LABEL.format(LEFT - 6, top + PANEL, "end", f"{low:g}"))
    for run in runs(panel.values):
        parts.append(CURVE.format(" ".join(point(i) for i in run)))
    return parts


def chart(title: str, times_s: list[float], panels: list[Panel]) -> str:
    """The whole drawing; equal input gives equal text."""
    height = TOP + len(panels) * (PANEL + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="14">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fbfaf7"/>',
        LABEL.format(LEFT, 24, "start", escape(title)),
    ]
    for number, panel in enumerate(panels):
        parts += panel_svg(panel, times_s, TOP + number * (PANEL + GAP))
    for anchor, x, t_s in (
        ("start", LEFT, times_s[0]),
        ("end", WIDTH - RIGHT, times_s[-1]),
    ):
        parts.append(LABEL.format(x, height - 16, anchor, f"{t_s:g} s"))
    return "\n".join([*parts, "</svg>"]) + "\n"
