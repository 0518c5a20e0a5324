"""Work out when each recorded frame is due in a replay."""

from itertools import pairwise

GAP_CAP_S = 5.0  # a longer pause in the recording is shortened to this
# A minute at 10 Hz, a stop of 300 s in the pits, and another minute.
RECORDED_S = [i / 10 for i in range(601)] + [360 + i / 10 for i in range(1, 601)]


def due_times(recorded_s: list[float], speed: float) -> list[float]:
    """Return the seconds after the start at which each frame is due."""
    due_s = 0.0
    result = [due_s]
    for before_s, after_s in pairwise(recorded_s):
        step_s = min(max(after_s - before_s, 0.0), GAP_CAP_S)
        due_s += step_s / speed
        result.append(due_s)
    return result


print("frame  recorded_s  due_s at 1x  due_s at 2x  due_s at 10x")
by_speed = [due_times(RECORDED_S, speed) for speed in (1.0, 2.0, 10.0)]
for frame in (0, 1, 600, 601, 1200):
    one, two, ten = (due[frame] for due in by_speed)
    print(f"{frame:5d}  {RECORDED_S[frame]:10.1f}  {one:11.2f}", end="  ")
    print(f"{two:11.2f}  {ten:12.2f}")
