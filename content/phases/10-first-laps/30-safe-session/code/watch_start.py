"""Starter: three channels of 20 s, four samples a second, and a naive watch."""

STEP_S = 0.25


def numbers(text: str) -> list[float]:
    """Numbers separated by blanks; `6*0` means six zeros in a row."""
    values: list[float] = []
    for word in text.split():
        count, _, value = word.rpartition("*")
        values += [float(value)] * int(count or 1)
    return values


rpm = numbers("60*5500 4*3000 16*900")
oil_bar = numbers("36*4.6 3.9 2.4 4*1.8 3.1 17*4.6 4*2.8 16*1.2")
water_c = numbers("18*96 140 61*97")


def episodes(broken: list[bool]) -> list[tuple[float, float]]:
    """Start and length in s of every unbroken run of `True`."""
    runs: list[tuple[float, float]] = []
    start: int | None = None
    for i, bad in enumerate([*broken, False]):
        if bad and start is None:
            start = i
        elif not bad and start is not None:
            runs.append((start * STEP_S, (i - start) * STEP_S))
            start = None
    return runs


oil_low = [oil < 2.0 for oil in oil_bar]
water_hot = [water > 110 for water in water_c]
for name, broken in [("oil", oil_low), ("water", water_hot)]:
    for start_s, length_s in episodes(broken):
        print(f"{name:5}  from {start_s:5.2f} s for {length_s:.2f} s")
