"""Metres that pass while the eyes and the hands do their work."""

SPEEDS_KMH = [60, 90, 120, 150, 180]
GLANCE_S = 0.5  # a short look at a display
REACTION_S = 0.8  # an alert driver, from seeing to a moved pedal or wheel
LOOK_S = 2.0  # how far ahead the eyes should be

print("km/h    m/s  glance_m  reaction_m  look_m")
for speed_kmh in SPEEDS_KMH:
    speed_ms = speed_kmh / 3.6
    row = [speed_ms * seconds for seconds in (GLANCE_S, REACTION_S, LOOK_S)]
    print(
        f"{speed_kmh:4d}  {speed_ms:5.1f}  {row[0]:8.0f}  {row[1]:10.0f}  {row[2]:6.0f}"
    )
