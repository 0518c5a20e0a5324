"""Starter: steering of two passes of one right turn, 10 samples a second."""

from itertools import pairwise

STEERING_DEG = {
    "early eyes": "0 1 0 2 7 15 26 38 49 58 64 68 70 71 70 71 72 71 70 71 70 69 67 "
    "64 60 55 49 43 36 29 22 16 10 6 3 1 0 1 0 0",
    "late eyes": "0 0 1 0 1 4 14 33 58 79 88 86 77 66 60 62 70 80 85 83 75 66 61 "
    "62 66 68 63 54 45 41 42 40 32 22 13 7 3 1 0 0",
}


def changes(steering_deg: list[int]) -> int:
    """Count every change between winding on and winding off."""
    steps = [after - before for before, after in pairwise(steering_deg)]
    moves = [step for step in steps if step != 0]
    return sum(one * two < 0 for one, two in pairwise(moves))


for name, text in STEERING_DEG.items():
    print(f"{name:10}  {changes([int(word) for word in text.split()])} changes")
