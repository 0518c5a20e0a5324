"""Solution: count only the reversals that a hand really made."""

STEERING_DEG = {
    "early eyes": "0 1 0 2 7 15 26 38 49 58 64 68 70 71 70 71 72 71 70 71 70 69 67 "
    "64 60 55 49 43 36 29 22 16 10 6 3 1 0 1 0 0",
    "late eyes": "0 0 1 0 1 4 14 33 58 79 88 86 77 66 60 62 70 80 85 83 75 66 61 "
    "62 66 68 63 54 45 41 42 40 32 22 13 7 3 1 0 0",
}


def reversals(steering_deg: list[int], least_deg: int) -> list[int]:
    """Samples at which the wheel turned back by at least *least_deg*."""
    found: list[int] = []
    direction, extreme_at = 1, 0
    for i, angle_deg in enumerate(steering_deg):
        moved_deg = (angle_deg - steering_deg[extreme_at]) * direction
        if moved_deg > 0:
            extreme_at = i
        elif moved_deg <= -least_deg:
            found.append(extreme_at)
            direction, extreme_at = -direction, i
    return found


for name, text in STEERING_DEG.items():
    angles_deg = [int(word) for word in text.split()]
    back_at = reversals(angles_deg, least_deg=3)
    times = " ".join(f"{i / 10:.1f}" for i in back_at)
    print(f"{name:10}  corrections {len(back_at) - 1}  largest {max(angles_deg)} deg")
    print(f"            turned back at {times} s")
