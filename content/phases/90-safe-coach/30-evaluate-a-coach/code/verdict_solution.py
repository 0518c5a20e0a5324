from itertools import product

KEEP_BELOW = 0.05  # decided before the first lap, as are the next two
WORTH_S = -0.10
MOST_OFFS = 0.05


def by_luck(differences_s: list[float]) -> float:
    """Share of all ways to swap the signs that give a mean at least as far from zero."""
    seen = abs(sum(differences_s))
    swaps = list(product((1, -1), repeat=len(differences_s)))
    sums = [sum(s * d for s, d in zip(w, differences_s, strict=True)) for w in swaps]
    return sum(abs(total) >= seen - 1e-9 for total in sums) / len(swaps)


luck = by_luck(DIFFERENCES_S)
print(f"mean {mean_s:+.2f} s, as far from zero by luck in {luck:.1%} of 256 cases")
offs_at_most = 3 / LAPS_WITH if OFFS_WITH == 0 else OFFS_WITH / LAPS_WITH
print(
    f"offs: {OFFS_WITH} in {LAPS_WITH} laps, so up to {offs_at_most:.1%} of laps are possible"
)
helps = luck < KEEP_BELOW and mean_s <= WORTH_S
print("gain: shown" if helps else "gain: not shown")
print(
    "offs: below the limit"
    if offs_at_most < MOST_OFFS
    else "offs: not shown to be below"
)
