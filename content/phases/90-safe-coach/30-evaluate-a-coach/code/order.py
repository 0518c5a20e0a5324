"""What the order of stints does to a comparison, when nothing but practice is at work."""

FIRST_S, PRACTICE_S, COACH_S = 100.0, -0.30, 0.0  # lap, change a stint, true effect


def effect_s(order: str) -> float:
    """Mean lap with the coach (B) minus mean lap without (A)."""
    laps: dict[str, list[float]] = {"A": [], "B": []}
    for stint, kind in enumerate(order):
        lap_s = FIRST_S + PRACTICE_S * stint + (COACH_S if kind == "B" else 0.0)
        laps[kind].append(lap_s)
    with_s, without_s = (sum(laps[kind]) / len(laps[kind]) for kind in "BA")
    return round(with_s - without_s, 6) + 0.0  # no -0.0


print("order  seeming effect")
for order in ("AB", "AABB", "ABAB", "ABBA", "BAAB"):
    print(f"{order:5}  {effect_s(order):+12.2f} s")
