"""Grade four passes of one corner against the fastest of them."""

from statistics import median_high

NAMES = ("entry", "min", "exit", "time", "trail", "idle")
WEIGHTS = (0.10, 0.25, 0.30, 0.15, 0.05, 0.15)
LETTERS = ((0.95, "A"), (0.90, "B"), (0.80, "C"), (0.70, "D"))
# lap: entry, minimum and exit in km/h, corner time in s, bar at the apex, idle s
PASSES = {
    2: (94.1, 74.0, 94.9, 3.53, 6.0, 0.80),
    3: (95.5, 76.5, 99.2, 3.41, 5.0, 0.30),
    4: (100.6, 71.0, 90.5, 3.60, 9.0, 0.50),
    5: (92.0, 75.0, 96.0, 3.55, 0.0, 0.90),
}


def ramp(gap: float) -> float:
    """Return 1 inside a gap of 5 %, then a score that reaches 0 at 30 %."""
    return 1.0 if gap < 0.05 else max(0.0, 1 - gap / 0.30)


def scores(own: tuple[float, ...], ref: tuple[float, ...]) -> list[float]:
    """Return the six part scores of a pass; beating the reference costs nothing."""
    speed = [ramp(max(0.0, ref[i] - own[i]) / ref[i]) for i in range(3)]
    time = ramp(max(0.0, own[3] - ref[3]) / own[3])
    trail = 1.0 if ref[4] == 0 else min(own[4] / max(ref[4], 1.0), 1.0)
    return [*speed, time, trail, max(0.0, 1 - own[5] / 1.5)]


reference = min(PASSES.values(), key=lambda one: one[3])
print("lap  " + "  ".join(f"{name:>5}" for name in NAMES) + "  total  letter")
for lap, own in PASSES.items():
    parts = scores(own, reference)
    total = sum(w * part for w, part in zip(WEIGHTS, parts, strict=True))
    letter = next((name for low, name in LETTERS if total >= low), "F")
    print(f"{lap:3d}  " + "  ".join(f"{part:5.2f}" for part in parts), end="")
    print(f"  {total:5.3f}  {letter:>6}")
typical_s = median_high(own[3] for own in PASSES.values())
graded = next(lap for lap, own in PASSES.items() if own[3] == typical_s)
print(f"graded pass: lap {graded}, {typical_s:.2f} s")
