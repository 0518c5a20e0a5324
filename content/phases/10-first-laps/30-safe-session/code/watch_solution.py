"""Solution: a limit that follows the engine speed, and a hold for each channel."""

STEP_S = 0.25
OIL_BAR_PER_1000_RPM = 0.7
WATER_LIMIT_C = 110.0


def numbers(text: str) -> list[float]:
    """Numbers separated by blanks; `6*0` means six zeros in a row."""
    values: list[float] = []
    for word in text.split():
        count, _, value = word.rpartition("*")
        values += [float(value)] * int(count or 1)
    return values


def alarms(broken: list[bool], hold_s: float) -> list[float]:
    """Times in s at which a limit has just been broken for *hold_s*."""
    times_s: list[float] = []
    hold_steps = round(hold_s / STEP_S)
    run = 0
    for i, bad in enumerate(broken):
        run = run + 1 if bad else 0
        if run == hold_steps + 1:  # told once, not at every sample after it
            times_s.append(i * STEP_S)
    return times_s


rpm = numbers("60*5500 4*3000 16*900")
oil_bar = numbers("36*4.6 3.9 2.4 4*1.8 3.1 17*4.6 4*2.8 16*1.2")
water_c = numbers("18*96 140 61*97")
oil_low = [
    oil < OIL_BAR_PER_1000_RPM * speed / 1000
    for oil, speed in zip(oil_bar, rpm, strict=True)
]
water_hot = [water > WATER_LIMIT_C for water in water_c]

print("oil hold  water hold  oil alarm  water alarm")
for oil_hold_s, water_hold_s in [(0.0, 0.0), (5.0, 5.0), (0.5, 5.0)]:
    oil_at = [f"{t_s:.2f} s" for t_s in alarms(oil_low, oil_hold_s)] or ["none"]
    water_at = [f"{t_s:.2f} s" for t_s in alarms(water_hot, water_hold_s)] or ["none"]
    holds = f"{oil_hold_s:6.1f} s  {water_hold_s:8.1f} s"
    print(f"{holds}  {' '.join(oil_at):>9}  {' '.join(water_at):>11}")
