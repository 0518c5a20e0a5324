"""Fastest time of a point-mass car along straights and arcs of known radius."""

from math import inf

GRIP_MS2 = 1.0 * G_MS2  # net acceleration stays inside this circle
DRIVE_MS2 = 0.45 * G_MS2  # traction limit of the driven wheels
CAR_KG, POWER_W, DRAG_KG_M = 1250.0, 150_000.0, 0.42
STEP_M = 0.5

Piece = tuple[float, float]  # length_m, radius_m; radius inf is a straight


def spare_ms2(speed_ms: float, curve: float) -> float:
    """Acceleration left for braking or driving beside v^2/r."""
    lateral = min(speed_ms**2 * curve, GRIP_MS2)
    return sqrt(GRIP_MS2**2 - lateral**2)


def drive_ms2(speed_ms: float) -> float:
    """Full-throttle acceleration: power or traction, less drag."""
    push = min(DRIVE_MS2, POWER_W / (CAR_KG * speed_ms))
    return push - DRAG_KG_M * speed_ms**2 / CAR_KG


def run(pieces: list[Piece], entry_ms: float) -> tuple[list[float], float]:
    """Speed in m/s at each step, and the total time in s."""
    steps: list[tuple[float, float]] = []
    for length_m, radius_m in pieces:
        count = max(1, round(length_m / STEP_M))
        steps += [(length_m / count, 1 / radius_m)] * count
    speed = [entry_ms]
    for ds, curve in steps:
        v = speed[-1]
        gain = min(drive_ms2(v), spare_ms2(v, curve))
        cap = sqrt(GRIP_MS2 / curve) if curve else inf
        speed.append(min(cap, sqrt(v * v + 2 * gain * ds)))
    for i, (ds, curve) in reversed(list(enumerate(steps))):
        brake = spare_ms2(speed[i + 1], curve)
        speed[i] = min(speed[i], sqrt(speed[i + 1] ** 2 + 2 * brake * ds))
    pairs = zip(steps, speed, speed[1:], strict=False)
    return speed, sum(2 * ds / (v + w) for (ds, _), v, w in pairs)
