"""Exercise: where was the time lost? This version points at the largest delta."""

# Delta-time of lap 9 against lap 6 at the end of each stretch, in seconds.
DELTA_S = {
    "T1 braking": -0.06,
    "T1 corner": 0.05,
    "straight to T2": 0.24,
    "T2 braking": 0.22,
    "T2 corner": 0.19,
    "straight to T3": 0.12,
    "T3 braking": 0.21,
    "T3 corner": 0.33,
    "straight to line": 0.41,
}

print("stretch            delta_s")
for name, delta_s in DELTA_S.items():
    print(f"{name:17}  {delta_s:+7.2f}")
worst = max(DELTA_S, key=lambda name: DELTA_S[name])
print("work on:", worst)
