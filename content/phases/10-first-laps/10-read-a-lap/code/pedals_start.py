"""Starter: two pedal columns of lap 2, one sample every 0.5 s."""

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

print(len(throttle_pct), len(brake_bar), len(lateral_g))
braking_s = STEP_S * sum(brake > 2 for brake in brake_bar)
print(f"on the brake for {braking_s:.1f} s")
