"""Number of drivers that a comparison within each driver needs."""

from math import ceil
from statistics import NormalDist

SPREAD_S = 0.40  # standard deviation of the difference between drivers


def drivers(effect_s: float, power: float = 0.80, chance: float = 0.05) -> int:
    """Drivers who show an effect of effect_s with the given power."""
    z = NormalDist().inv_cdf
    needed = ((z(1 - chance / 2) + z(power)) * SPREAD_S / effect_s) ** 2
    return ceil(needed) + 2  # the normal curve is a little too hopeful for few


print("effect s  drivers")
for effect in (0.10, 0.20, 0.30, 0.40):
    print(f"{effect:8.2f}  {drivers(effect):7}")
