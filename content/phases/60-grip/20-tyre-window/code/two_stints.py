# Means of laps 4 to 6 and of laps 10 to 12 of two stints in the same car.
# ceiling: combined g; peak: brake pressure in bar; hot: tyre pressure in bar;
# lock: steering angle in degrees while the car corners at 0.8 g
STINTS = {
    "stint 1": (
        {"ceiling": 1.15, "peak": 62.0, "hot": 2.11, "lock": 41.0},
        {"ceiling": 1.07, "peak": 61.0, "hot": 2.31, "lock": 48.0},
    ),
    "stint 2": (
        {"ceiling": 1.14, "peak": 61.0, "hot": 2.10, "lock": 40.0},
        {"ceiling": 1.06, "peak": 49.0, "hot": 2.06, "lock": 40.0},
    ),
}

for name, (early, late) in STINTS.items():
    lost = 1 - late["ceiling"] / early["ceiling"]
    print(f"{name}: the ceiling fell by {lost:.0%}, overheated")
