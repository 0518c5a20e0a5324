"""Name the line of a pass from how early the turning is done."""

from itertools import pairwise


def value_at(x: float, xs: list[float], ys: list[float]) -> float:
    """Linear interpolation of y at x inside the range of xs."""
    for x0, x1, y0, y1 in zip(xs, xs[1:], ys, ys[1:]):
        if x0 <= x <= x1:
            return y0 + (x - x0) / (x1 - x0) * (y1 - y0)
    raise ValueError(f"{x} m is outside the pass")


def first_half_share(rows: list[Row]) -> float:
    """Percent of the turning that is done at the middle of the pass's own arc."""
    distances_m = [s for s, _, _ in rows]
    total_deg = turned_deg(rows)
    arc_m = [s for s, _, g in rows if g > 0.2]
    middle_m = (arc_m[0] + arc_m[-1]) / 2
    return 100 * value_at(middle_m, distances_m, total_deg) / total_deg[-1]


def line_name(share_pct: float) -> str:
    """Early below 47 %, late above 53 %, even between them."""
    if share_pct < 47:
        return "early apex"
    return "late apex" if share_pct > 53 else "even"


def pass_s(rows: list[Row]) -> float:
    """Time from the first to the last row, speed linear between rows."""
    return sum(7.2 * (b[0] - a[0]) / (a[1] + b[1]) for a, b in pairwise(rows))


print("lap    first_half  slowest        at_140m  time_s  line")
for lap, rows in PASSES.items():
    share_pct = first_half_share(rows)
    low_m, low_kmh, _ = min(rows, key=lambda row: row[1])
    slowest = f"{low_kmh:.1f} at {low_m:.0f} m"
    row = f"{lap}  {share_pct:8.0f} %  {slowest:13}  {rows[-1][1]:7.1f}"
    print(f"{row}  {pass_s(rows):6.2f}  {line_name(share_pct)}")
