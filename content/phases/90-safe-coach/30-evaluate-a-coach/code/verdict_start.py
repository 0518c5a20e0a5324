# Lap with the coach minus lap without, in s, for eight drivers in ABBA or BAAB order.
DIFFERENCES_S = [-0.42, -0.10, -0.35, 0.08, -0.51, -0.22, 0.15, -0.30]
LAPS_WITH = 96  # laps with the coach, all drivers together
OFFS_WITH = 0  # of them, laps on which a car left the track

mean_s = sum(DIFFERENCES_S) / len(DIFFERENCES_S)
print(f"mean {mean_s:+.2f} s, no car left the track: the coach works and is safe")
