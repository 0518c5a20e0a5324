"""Fill the time between two samples: a line, a hold, or the short way round."""

T0_S, T1_S = 10.0, 10.2
SPEED_KMH = (96.0, 90.0)
GEAR = (4, 3)
HEADING_DEG = (352.0, 8.0)


def on_line(first: float, second: float, share: float) -> float:
    """Value at *share* (0 to 1) of the way from *first* to *second*."""
    return first + (second - first) * share


def short_way(first_deg: float, second_deg: float, share: float) -> float:
    """Angle at *share* of the way, turning through the smaller side."""
    turn_deg = (second_deg - first_deg + 180) % 360 - 180
    return (first_deg + turn_deg * share) % 360


print("  t_s  speed_kmh  gear_line  gear_hold  heading_line  heading_short")
for i in range(5):
    share = i / 4
    speed_kmh = on_line(*SPEED_KMH, share)
    gear_line, gear_hold = on_line(*GEAR, share), GEAR[1] if share >= 1 else GEAR[0]
    heading_line = on_line(*HEADING_DEG, share)
    heading_short = short_way(*HEADING_DEG, share)
    print(
        f"{on_line(T0_S, T1_S, share):5.2f}  {speed_kmh:9.1f}"
        f"  {gear_line:9.2f}  {gear_hold:9d}"
        f"  {heading_line:12.0f}  {heading_short:13.0f}"
    )
