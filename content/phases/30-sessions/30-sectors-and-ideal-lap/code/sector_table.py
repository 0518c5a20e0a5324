"""Print sector times of five laps, mark the best ones, and add up the ideal lap."""

# Seconds in sectors 1, 2 and 3 of each lap.
LAPS = {
    1: (31.42, 35.90, 31.25),
    2: (31.18, 35.71, 31.40),
    3: (30.86, 36.24, 31.22),
    4: (31.10, 35.62, 31.31),
    5: (31.24, 35.66, 30.98),
}

best_sectors_s = [min(column) for column in zip(*LAPS.values(), strict=True)]
best_lap_s = min(sum(sectors) for sectors in LAPS.values())

print("lap       S1       S2       S3     lap_s   to best")
for lap, sectors in LAPS.items():
    cells = ""
    for sector_s, best_s in zip(sectors, best_sectors_s, strict=True):
        mark = "*" if sector_s == best_s else " "
        cells += f"  {sector_s:6.2f}{mark}"
    lap_s = sum(sectors)
    print(f"{lap:3d}{cells}  {lap_s:7.2f}  {lap_s - best_lap_s:+8.2f}")

ideal_s = sum(best_sectors_s)
print(f"ideal lap {ideal_s:.2f} s, best lap {best_lap_s:.2f} s")
print(f"gain {best_lap_s - ideal_s:.2f} s")
