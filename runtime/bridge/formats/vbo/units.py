"""Units as files name them, to the units of the bridge."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from runtime.bridge.session.recording import Numbers


class Scale(NamedTuple):
    """value · factor + offset."""

    factor: float = 1.0
    offset: float = 0.0

    def __call__(self, values: Numbers) -> Numbers:
        """Convert values to the unit of the bridge."""
        if self == SAME:
            return values
        return values * self.factor + self.offset


SAME: Final = Scale()
_KMH: Final = Scale(1 / 3.6)
_KNOTS: Final = Scale(1.852 / 3.6)

SPEED: Final[Mapping[str, Scale]] = {
    **dict.fromkeys(("kmh", "km/h", "kph", "kmph"), _KMH),
    **dict.fromkeys(("knots", "knot", "kts", "kt", "kn"), _KNOTS),
    **dict.fromkeys(("m/s", "ms", "mps", "ms-1"), SAME),
    "mph": Scale(0.44704),
}
PRESSURE: Final[Mapping[str, Scale]] = {
    "bar": SAME,
    "psi": Scale(0.0689476),
    "kpa": Scale(0.01),
    "mpa": Scale(10.0),
    "mbar": Scale(0.001),
    "hpa": Scale(0.001),
    "pa": Scale(1e-5),
}
TEMPERATURE: Final[Mapping[str, Scale]] = {
    **dict.fromkeys(("c", "°c", "degc", "celsius"), SAME),
    **dict.fromkeys(("f", "°f", "degf", "fahrenheit"), Scale(5 / 9, -160 / 9)),
    "k": Scale(1.0, -273.15),
}
LENGTH: Final[Mapping[str, Scale]] = {
    "m": SAME,
    **dict.fromkeys(("ft", "feet"), Scale(0.3048)),
}
ANGLE: Final[Mapping[str, Scale]] = {
    **dict.fromkeys(("deg", "°", "degrees"), SAME),
    "rad": Scale(57.29577951308232),
}
ACCELERATION: Final[Mapping[str, Scale]] = {
    "g": SAME,
    **dict.fromkeys(("m/s2", "m/s²", "m/s^2", "m/s/s"), Scale(1 / 9.80665)),
}
PLAIN: Final[Mapping[str, Scale]] = {}


def scale_of(units: Mapping[str, Scale], *texts: str, default: Scale = SAME) -> Scale:
    """The scale of the first text that names one of *units*, alone or as its last word."""
    for text in texts:
        words = text.strip().strip("[]()").lower().replace("_", " ").split()
        for word in words[-1:]:
            if word.strip("[]()") in units:
                return units[word.strip("[]()")]
    return default
