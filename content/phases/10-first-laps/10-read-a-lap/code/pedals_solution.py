"""Solution: time in each pedal state, on the straights and in the turns."""

from collections import Counter

STEP_S = 0.5


def numbers(text: str) -> list[float]:
    """Numbers separated by blanks; `6*0` means six zeros in a row."""
    values: list[float] = []
    for word in text.split():
        count, _, value = word.rpartition("*")
        values += [float(value)] * int(count or 1)
    return values


throttle_pct = numbers("100 100 11*0 7*20 27 69 90 11*100 9*0 19 12*22 60 91 8*100")
brake_bar = numbers("8*0 53 54 50 34 18 27*0 53 46 28 23*0")
lateral_g = numbers(
    "10*0 .35 .7 .84 8*.9 .71 .48 .11 17*0 .46 .76 13*.9 .77 .47 .05 7*0"
)


def pedal_state(throttle: float, brake: float) -> str:
    """Name what the feet do: brake wins over throttle."""
    if brake > 2:
        return "braking"
    return "power" if throttle > 5 else "coasting"


time_s: Counter[tuple[str, str]] = Counter()
# The last sample only closes the lap: 66 samples make 65 steps.
for throttle, brake, lateral in list(
    zip(throttle_pct, brake_bar, lateral_g, strict=True)
)[:-1]:
    where = "turn" if abs(lateral) >= 0.3 else "straight"
    time_s[pedal_state(throttle, brake), where] += 1

print("state     straight_s  turn_s")
for state in ["power", "braking", "coasting"]:
    row = [time_s[state, where] * STEP_S for where in ("straight", "turn")]
    print(f"{state:8}  {row[0]:10.1f}  {row[1]:6.1f}")
