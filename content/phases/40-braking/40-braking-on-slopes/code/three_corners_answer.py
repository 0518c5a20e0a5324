def shift_m(a: Approach, grip: float) -> float:
    """Metres by which the slope moves the marker; positive = brake earlier."""
    flat = stop_m(a.from_kmh, a.to_kmh, grip, 0.0)
    return stop_m(a.from_kmh, a.to_kmh, grip, a.dz / 200) - flat


print("corner    dz m  dry shift m  damp shift m  concept at 190 m")
for a in approaches:
    name = concept(190, 100, a.dz, 0.0)
    dry, damp = shift_m(a, 1.0), shift_m(a, 0.6)
    print(f"{a.name:7} {a.dz:6.1f} {dry:+12.1f} {damp:+13.1f}  {name}")
