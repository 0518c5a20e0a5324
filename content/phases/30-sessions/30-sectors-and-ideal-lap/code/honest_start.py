"""Exercise: which part of the ideal-lap gain could one driver put in one lap?"""

LAPS = {
    1: (31.42, 35.90, 31.25),
    2: (31.18, 35.71, 31.40),
    3: (30.86, 36.24, 31.22),
    4: (31.10, 35.62, 31.31),
    5: (31.24, 35.66, 30.98),
}

best_lap_s = min(sum(sectors) for sectors in LAPS.values())
for sector in range(3):
    best_s, lap = min((times[sector], lap) for lap, times in LAPS.items())
    print(f"best S{sector + 1}: {best_s:.2f} s in lap {lap}")

# Replace the next line: take S1 and S2 together from one lap, then add the best S3.
together_s = sum(min(column) for column in zip(*LAPS.values(), strict=True))
print(f"gain {best_lap_s - together_s:.2f} s")
