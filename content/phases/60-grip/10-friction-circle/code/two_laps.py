# Ten samples from turn-in to exit for each lap: (g_lat, g_long).
lap_1 = [
    *[(0.05, -1.00), (0.30, -0.55), (0.55, -0.20), (0.80, -0.06), (1.05, -0.05)],
    *[(1.06, -0.02), (0.95, 0.05), (0.75, 0.15), (0.50, 0.28), (0.20, 0.33)],
]
lap_2 = [
    *[(0.05, -1.04), (0.35, -0.96), (0.62, -0.82), (0.86, -0.62), (1.04, -0.36)],
    *[(1.08, -0.10), (1.02, 0.16), (0.82, 0.26), (0.55, 0.32), (0.24, 0.34)],
]

for label, points in (("lap 1", lap_1), ("lap 2", lap_2)):
    # Count how many samples fall into each tenth of the limit, then take the mean.
    best = max(hypot(g_lat, g_long) for g_lat, g_long in points)
    print(f"{label}: largest combined g {best:.2f}")
