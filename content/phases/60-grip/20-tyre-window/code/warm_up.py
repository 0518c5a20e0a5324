"""Warm-up and fade of one stint, read from the ceiling of each lap."""

# Per lap: combined g that 1 % of the samples exceed, and hot pressure in bar.
STINT = [
    *[(0.88, 1.82), (0.99, 1.93), (1.08, 2.01), (1.13, 2.07)],
    *[(1.15, 2.11), (1.15, 2.14), (1.14, 2.17), (1.15, 2.19)],
    *[(1.13, 2.22), (1.11, 2.26), (1.08, 2.30), (1.05, 2.33)],
]

best_g = max(ceiling_g for ceiling_g, _ in STINT)
print("lap  ceiling  pressure  share of the best")
for lap, (ceiling_g, hot_bar) in enumerate(STINT, start=1):
    share = ceiling_g / best_g
    state = "in the window" if share >= 0.98 else "below it"
    print(f"{lap:3}  {ceiling_g:5.2f} g  {hot_bar:.2f} bar  {share:5.0%}  {state}")
