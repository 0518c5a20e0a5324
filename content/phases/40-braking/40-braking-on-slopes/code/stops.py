G = 9.81  # m/s^2


def stop_m(from_kmh: float, to_kmh: float, grip: float, grade: float) -> float:
    """Braking distance in metres; grade is rise over run, negative downhill."""
    v0, v1 = from_kmh / 3.6, to_kmh / 3.6
    return (v0**2 - v1**2) / (2 * G * (grip + grade))


print("grade %   dry 1.0 g m   damp 0.6 g m")
for percent in (-8, -5, -2, 0, 2, 5, 8):
    dry = stop_m(180, 80, 1.0, percent / 100)
    damp = stop_m(180, 80, 0.6, percent / 100)
    print(f"{percent:+7} {dry:13.1f} {damp:14.1f}")
