"""Stopping distance: what the head needs plus what the tyres need."""

G_MS2 = 9.80665
REACTION_S = 0.8  # an alert driver
GRIP_G = {"dry": 1.0, "wet": 0.6}


def stopping_m(speed_kmh: float, grip_g: float) -> tuple[float, float]:
    """Metres driven before the brakes act, and metres on the brakes."""
    speed_ms = speed_kmh / 3.6
    return speed_ms * REACTION_S, speed_ms**2 / (2 * grip_g * G_MS2)


print("km/h  reaction_m  dry_brake_m  dry_total_m  wet_brake_m  wet_total_m")
for speed_kmh in (80, 120, 160, 200):
    reaction_m, dry_m = stopping_m(speed_kmh, GRIP_G["dry"])
    _, wet_m = stopping_m(speed_kmh, GRIP_G["wet"])
    print(
        f"{speed_kmh:4d}  {reaction_m:10.0f}  {dry_m:11.0f}  {reaction_m + dry_m:11.0f}"
        f"  {wet_m:11.0f}  {reaction_m + wet_m:11.0f}"
    )
