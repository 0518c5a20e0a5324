"""Cost of waiting before full throttle, simulated and by formula."""

EXIT_KMH, LENGTH_M = 85.0, 400
base_s, end_kmh = straight(EXIT_KMH, LENGTH_M)

print("wait_m  simulated_s  formula_s")
for wait_m in (10, 20, 30):
    simulated_s = straight(EXIT_KMH, LENGTH_M, wait_m)[0] - base_s
    formula_s = wait_m * 3.6 * (1 / EXIT_KMH - 1 / end_kmh)
    print(f"{wait_m:6}  {simulated_s:11.2f}  {formula_s:9.2f}")
