"""How large is the ideal-lap gain of a driver who only varies at random?"""

from random import Random

TRIALS = 1000
SECTOR_SD_S = 0.15  # every sector varies by this much around its mean


def mean_gain(laps: int, sectors: int, seed: int) -> float:
    """Return the mean gain, in seconds, over many made-up sessions."""
    draw = Random(seed)
    total_s = 0.0
    sd_s = SECTOR_SD_S * (3 / sectors) ** 0.5  # the whole lap varies alike
    for _ in range(TRIALS):
        times = [[draw.gauss(0, sd_s) for _ in range(sectors)] for _ in range(laps)]
        best_lap_s = min(sum(lap) for lap in times)
        ideal_s = sum(min(column) for column in zip(*times, strict=True))
        total_s += best_lap_s - ideal_s
    return total_s / TRIALS


print("laps  gain_s, 3 sectors  gain_s, 12 sectors")
for laps in (2, 5, 10, 20):
    three, twelve = mean_gain(laps, 3, seed=7), mean_gain(laps, 12, seed=7)
    print(f"{laps:4d}  {three:17.2f}  {twelve:18.2f}")
