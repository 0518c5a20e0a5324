"""Exercise: choose the corner to work on. This version takes the worst grade."""

# corner: score of the graded pass, length of the straight that follows in m
CORNERS = {
    "T1": (0.93, 240.0),
    "T3": (0.78, 90.0),
    "T5": (0.86, 780.0),
    "T8": (0.97, 400.0),
    "T11": (0.76, 60.0),
}

ranked = sorted(CORNERS, key=lambda name: CORNERS[name][0])
print("corner  score  straight_m")
for name in ranked:
    score, straight_m = CORNERS[name]
    print(f"{name:6}  {score:5.2f}  {straight_m:10.0f}")
print("focus:", ranked[0])
