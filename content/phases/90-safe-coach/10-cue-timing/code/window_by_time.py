"""Words that fit when advice begins a time, not a distance, before the brake point."""

WINDOW_S = 6.0
LEAST_M, MOST_M = 250.0, 500.0

print("corner  opens_m  window_s  by_position  by_1s_burst")
for name, (speed_kmh, brake_m) in CORNERS.items():
    speed_ms = speed_kmh / 3.6
    opens_m = min(max(LEAST_M, brake_m + WINDOW_S * speed_ms), MOST_M)
    window_s = (opens_m - brake_m) / speed_ms
    fits = [words_that_fit(window_s, chain_s) for chain_s in (CHAIN_S, CHAIN_S + 1)]
    print(f"{name:6}  {opens_m:7.0f}  {window_s:8.1f}  {fits[0]:11}  {fits[1]:11}")
