"""Agreement of two people who label the same cues without talking to each other."""

from collections import Counter

# One letter for each of 40 cues: g good, l too late, w wrong, u of no use.
ANNA = "ggggggggggggggggggggggggggggggllllwwuuug"
BORIS = "gggggggggggggggggggggggggggglllllgwwuugg"


def kappa(first: str, second: str) -> tuple[float, float]:
    """Share of equal labels, and how much of what chance left over was reached."""
    count = len(first)
    seen = sum(a == b for a, b in zip(first, second, strict=True)) / count
    one, two = Counter(first), Counter(second)
    by_chance = sum(one[label] * two[label] for label in one) / count**2
    return seen, (seen - by_chance) / (1 - by_chance)


seen, agreed = kappa(ANNA, BORIS)
print(f"equal labels {seen:.0%}, kappa {agreed:.2f}")
for name, labels in (("Anna", ANNA), ("Boris", BORIS)):
    print(f"{name}: {labels.count('g') / len(labels):.0%} good")
seen, agreed = kappa("g" * 38 + "ll", "ll" + "g" * 38)
print(f"nearly all good: equal labels {seen:.0%}, kappa {agreed:.2f}")
