"""Where the power came in each exit, and what it costs by the next brake point."""

from itertools import pairwise

STRAIGHT_M = 400


def late_power_m(rows: list[Row]) -> float:
    """Metres past the apex with under 20 % throttle and over 0.3 g lateral."""
    late = (b[0] - a[0] for a, b in pairwise(rows) if a[2] < 20 and a[3] > 0.3)
    return sum(late)


def full_from_m(rows: list[Row]) -> float:
    """Distance after which the throttle never falls below 95 % again."""
    return max(s for s, _, throttle_pct, _ in rows if throttle_pct < 95)


def lifted(rows: list[Row]) -> bool:
    """True when the throttle falls by over 20 points after it had passed 20 %."""
    highest = 0.0
    for _, _, throttle_pct, _ in rows:
        highest = max(highest, throttle_pct)
        if highest > 20 and throttle_pct < highest - 20:
            return True
    return False


def bend_time_s(rows: list[Row]) -> float:
    """Time from the apex to the end of the rows, speed linear between them."""
    return sum(2 * (b[0] - a[0]) * 3.6 / (a[1] + b[1]) for a, b in pairwise(rows))


best = EXITS["lap 6"]
print("lap    late_power  full_after  lift  bend_loss  straight_loss")
for lap, rows in EXITS.items():
    bend_s = bend_time_s(rows) - bend_time_s(best)
    straights_s = [straight(r[-1][1], STRAIGHT_M)[0] for r in (rows, best)]
    lift = "yes" if lifted(rows) else "no"
    head = f"{lap}  {late_power_m(rows):8.0f} m  {full_from_m(rows):8.0f} m  {lift:4}"
    print(f"{head}  {bend_s:7.2f} s  {straights_s[0] - straights_s[1]:11.2f} s")
