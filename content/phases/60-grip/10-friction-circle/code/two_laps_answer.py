def tenths(points: list[tuple[float, float]], limit_g: float) -> list[int]:
    """Number of samples in each tenth of the limit; the last bin takes the rest."""
    bins = [0] * 10
    for g_lat, g_long in points:
        bins[min(int(10 * hypot(g_lat, g_long) / limit_g), 9)] += 1
    return bins


def mean_use(points: list[tuple[float, float]], limit_g: float) -> float:
    """Mean share of the limit that the samples use."""
    return sum(hypot(x, y) for x, y in points) / limit_g / len(points)


print("lap    samples in each tenth of the limit     mean  entry  exit")
for label, points in (("lap 1", lap_1), ("lap 2", lap_2)):
    bins = " ".join(f"{n:2}" for n in tenths(points, LIMIT_G))
    whole, entry, leave = (
        mean_use(part, LIMIT_G) for part in (points, points[:5], points[5:])
    )
    print(f"{label}  {bins}    {whole:11.0%} {entry:6.0%} {leave:5.0%}")
