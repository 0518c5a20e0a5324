from math import hypot

LIMIT_G = 1.15  # this car, these tyres, this day

# metres from turn-in, g_lat (+ right), g_long (+ speeding up)
samples = [
    (-20, 0.00, -1.08),
    (0, 0.02, -1.06),
    (10, 0.35, -0.70),
    (20, 0.62, -0.32),
    (30, 0.86, -0.08),
    (40, 1.08, -0.05),
    (50, 1.10, 0.00),
    (60, 1.02, 0.12),
    (70, 0.84, 0.24),
    (80, 0.55, 0.32),
    (90, 0.25, 0.34),
]

print("m from turn-in  g_lat  g_long  combined  share of limit")
for place, g_lat, g_long in samples:
    combined = hypot(g_lat, g_long)
    print(
        f"{place:14} {g_lat:6.2f} {g_long:7.2f} {combined:9.2f}"
        f" {combined / LIMIT_G:14.0%}"
    )
