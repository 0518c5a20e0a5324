from typing import NamedTuple


class Approach(NamedTuple):
    """A braking approach with one constant grade over its last 200 m."""

    name: str
    from_kmh: float
    to_kmh: float
    dz: float  # altitude at the entry minus altitude 200 m before it, m


approaches = [
    Approach("Turn 2", 160.0, 90.0, -7.0),
    Approach("Turn 5", 180.0, 80.0, 8.0),
    Approach("Turn 8", 200.0, 70.0, -4.0),
]

for a in approaches:
    # Add the shift of the marker, dry and damp, and the concept at 190 m.
    print(f"{a.name}: flat and dry {stop_m(a.from_kmh, a.to_kmh, 1.0, 0.0):.1f} m")
