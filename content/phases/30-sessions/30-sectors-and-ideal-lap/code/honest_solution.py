"""Solution: join the sectors that influence each other before taking the best."""

LAPS = {
    1: (31.42, 35.90, 31.25),
    2: (31.18, 35.71, 31.40),
    3: (30.86, 36.24, 31.22),
    4: (31.10, 35.62, 31.31),
    5: (31.24, 35.66, 30.98),
}
GROUPINGS = {
    "S1 | S2 | S3": ((0,), (1,), (2,)),
    "S1+S2 | S3": ((0, 1), (2,)),
    "S1 | S2+S3": ((0,), (1, 2)),
}


def best_of_group(group: tuple[int, ...]) -> tuple[float, int]:
    """Return the best time over the joined sectors and the lap it comes from."""
    return min((sum(LAPS[lap][i] for i in group), lap) for lap in LAPS)


best_lap_s = min(sum(sectors) for sectors in LAPS.values())
print("grouping       ideal_s  gain_s  from laps")
for name, groups in GROUPINGS.items():
    parts = [best_of_group(group) for group in groups]
    ideal_s = sum(time_s for time_s, _ in parts)
    sources = ", ".join(str(lap) for _, lap in parts)
    print(f"{name:13}  {ideal_s:7.2f}  {best_lap_s - ideal_s:6.2f}  {sources}")
