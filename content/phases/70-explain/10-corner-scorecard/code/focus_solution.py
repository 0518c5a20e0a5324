"""Solution: weigh what is missing in a corner by the straight that follows."""

# corner: score of the graded pass, length of the straight that follows in m
CORNERS = {
    "T1": (0.93, 240.0),
    "T3": (0.78, 90.0),
    "T5": (0.86, 780.0),
    "T8": (0.97, 400.0),
    "T11": (0.76, 60.0),
}

longest_m = max(straight_m for _, straight_m in CORNERS.values())
raw = {name: 0.5 + 0.5 * m / longest_m for name, (_, m) in CORNERS.items()}
weight = {name: value / sum(raw.values()) for name, value in raw.items()}
missing = {name: weight[name] * (1 - score) for name, (score, _) in CORNERS.items()}

print("corner  score  weight  missing")
for name in sorted(missing, key=lambda corner: -missing[corner]):
    score = CORNERS[name][0]
    print(f"{name:6}  {score:5.2f}  {weight[name]:6.3f}  {missing[name]:7.4f}")
session = 1 - sum(missing.values())
print("focus:", max(missing, key=lambda corner: missing[corner]))
print(f"session score: {session:.3f}")
