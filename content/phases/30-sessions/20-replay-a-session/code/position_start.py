"""Exercise: say where a replay is, given the time since it started."""

SPEED = 2.0
RATE_HZ = 10.0
RECORDED_S = [i / 10 for i in range(601)] + [360 + i / 10 for i in range(1, 601)]


def frame_at(wall_s: float) -> int:
    """Return the last frame sent. This version believes the rate never pauses."""
    return int(wall_s * SPEED * RATE_HZ)


print("wall_s  frame  recorded_s")
for wall_s in (10.01, 31.01, 45.01, 62.01):
    frame = min(frame_at(wall_s), len(RECORDED_S) - 1)
    print(f"{wall_s:6.2f}  {frame:5d}  {RECORDED_S[frame]:10.1f}")
