"""Turning of three recorded passes from speed and lateral acceleration."""

# distance_m, then speed_kmh and g_lat of lap 3, lap 5 and lap 7
TRACE = """
  0  131.3 0.00  127.0 0.00  128.5 0.00
 10  121.6 0.00  116.8 0.00  118.5 0.00
 20  111.3 0.42  105.8 0.00  107.6 0.00
 30  101.9 0.68   93.8 0.57   97.5 0.71
 40   93.9 0.82   85.3 0.87   90.2 0.87
 50   87.5 0.89   80.4 0.95   85.1 0.93
 60   82.8 0.94   78.1 0.97   82.0 0.96
 70   79.6 0.96   77.9 0.97   80.5 0.97
 80   78.0 0.97   79.5 0.96   80.5 0.97
 90   78.1 0.97   82.7 0.93   81.9 0.96
100   80.3 0.95   87.4 0.89   85.0 0.93
110   85.1 0.87   93.3 0.81   90.0 0.87
120   91.3 0.54   98.9 0.64   95.8 0.69
130   97.1 0.00  104.0 0.37  101.3 0.00
140  102.4 0.00  108.6 0.00  106.1 0.00
"""
TABLE = [[float(x) for x in line.split()] for line in TRACE.strip().splitlines()]

Row = tuple[float, float, float]  # distance_m, speed_kmh, g_lat
PASSES: dict[str, list[Row]] = {
    f"lap {lap}": [(row[0], row[i], row[i + 1]) for row in TABLE]
    for lap, i in ((3, 1), (5, 3), (7, 5))
}


def turned_deg(rows: list[Row]) -> list[float]:
    """Heading change since the first row: curvature times distance, summed."""
    curve = [g * G_MS2 / (v / 3.6) ** 2 for _, v, g in rows]
    total = [0.0]
    for (s0, _, _), (s1, _, _), c0, c1 in zip(rows, rows[1:], curve, curve[1:]):
        total.append(total[-1] + (c0 + c1) / 2 * (s1 - s0) * 180 / pi)
    return total


for lap, rows in PASSES.items():
    print(f"{lap}: turned {turned_deg(rows)[-1]:.0f} deg")
