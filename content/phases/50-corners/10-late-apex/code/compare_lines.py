"""Four lines through the same corner, timed at five points of the straight."""

from math import pi

START_M, ENTRY_MS = 150.0, 50.0  # timing starts 150 m before the corner axis
LINES: dict[str, tuple[float, list[Piece], float]] = {
    # turn-in before the axis, arcs as (degrees, radius_m), track-out after the axis
    "early": (41.1, [(30, 94.9), (60, 47.2)], 23.6),
    "geometric": (29.0, [(90, 59.0)], 29.0),
    "late": (23.6, [(60, 47.2), (30, 94.9)], 41.1),
    "too late": (17.7, [(50, 35.4), (40, 88.0)], 39.2),
}


def line_run(name: str, finish_m: float) -> tuple[list[float], float]:
    """Speeds and time from the start point to a point of the exit straight."""
    turn_in_m, arcs, track_out_m = LINES[name]
    bend = [(radius_m * degrees * pi / 180, radius_m) for degrees, radius_m in arcs]
    before = (START_M - turn_in_m, inf)
    after = (finish_m - track_out_m, inf)
    return run([before, *bend, after], ENTRY_MS)


finishes_m = (50, 100, 200, 400, 600)
print("line       min_kmh  at_50m_kmh" + "".join(f"  t_{m}m" for m in finishes_m))
for name in LINES:
    speeds_ms, _ = line_run(name, finishes_m[0])
    gaps = [line_run(name, m)[1] - line_run("geometric", m)[1] for m in finishes_m]
    row = "".join(f"{gap:+7.2f}" for gap in gaps)
    print(f"{name:9}  {3.6 * min(speeds_ms):7.1f}  {3.6 * speeds_ms[-1]:10.1f}{row}")
