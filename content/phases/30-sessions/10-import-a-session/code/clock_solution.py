"""Solution: decode hhmmss.ss and carry on over midnight."""

from itertools import pairwise

DAY_S = 86_400.0
TIMES = ("235958.50", "235959.25", "000000.00", "000000.75", "000059.75", "000100.50")


def to_seconds(stamp: str) -> float:
    """Return seconds since midnight UTC of a packed hhmmss.ss time."""
    hours, minutes, seconds = int(stamp[:2]), int(stamp[2:4]), float(stamp[4:])
    if minutes >= 60 or seconds >= 60:
        raise ValueError(f"{stamp} is not a packed time of day")
    return hours * 3600 + minutes * 60 + seconds


def elapsed(stamps: tuple[str, ...]) -> list[float]:
    """Return seconds since the first row; a fall of half a day means a new day."""
    day_s = 0.0
    last_s = first_s = to_seconds(stamps[0])
    result = []
    for stamp in stamps:
        now_s = to_seconds(stamp)
        if last_s - now_s > DAY_S / 2:
            day_s += DAY_S
        result.append(now_s + day_s - first_s)
        last_s = now_s
    return result


times_s = elapsed(TIMES)
steps_s = [0.0] + [b - a for a, b in pairwise(times_s)]
print("time       elapsed_s  step_s")
for stamp, t_s, step_s in zip(TIMES, times_s, steps_s, strict=True):
    print(f"{stamp}  {t_s:9.2f}  {step_s:6.2f}")
