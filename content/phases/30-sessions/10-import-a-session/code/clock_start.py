"""Exercise: turn the time column of a VBO file into elapsed seconds."""

TIMES = ("235958.50", "235959.25", "000000.00", "000000.75", "000059.75", "000100.50")


def to_seconds(stamp: str) -> float:
    """Return seconds since midnight UTC. This version reads the digits as they are."""
    return float(stamp)


def elapsed(stamps: tuple[str, ...]) -> list[float]:
    """Return seconds since the first row. This version does not know midnight."""
    first_s = to_seconds(stamps[0])
    return [to_seconds(stamp) - first_s for stamp in stamps]


print("time       elapsed_s")
for stamp, t_s in zip(TIMES, elapsed(TIMES), strict=True):
    print(f"{stamp}  {t_s:9.2f}")
