"""Two ways to pace a replay on a computer whose sleeps end a little late."""

STEP_S = 0.040  # 25 Hz
LATE_S = 0.0012  # each sleep ends 1.2 ms after it should


def sleep_the_step(frames: int) -> float:
    """Sleep one step after each frame; return how late the last frame is."""
    clock_s = 0.0
    for _ in range(frames):
        clock_s += STEP_S + LATE_S
    return clock_s - frames * STEP_S


def sleep_until_due(frames: int) -> float:
    """Sleep until start + k steps; return how late the last frame is."""
    clock_s = 0.0
    for frame in range(1, frames + 1):
        wait_s = frame * STEP_S - clock_s
        if wait_s > 0:
            clock_s += wait_s + LATE_S
    return clock_s - frames * STEP_S


print("minutes  frames  late_s, sleep the step  late_s, sleep until due")
for minutes in (1, 3, 20):
    frames = minutes * 60 * 25
    step_late_s, due_late_s = sleep_the_step(frames), sleep_until_due(frames)
    print(f"{minutes:7d}  {frames:6d}  {step_late_s:22.3f}  {due_late_s:23.4f}")
