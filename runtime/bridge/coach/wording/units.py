"""Writes a measured value in a reader's units and notation, or for a voice."""

from typing import Final, NamedTuple

import babel.numbers
from fluent.runtime.types import FluentType

from runtime.bridge.coach.fact import Unit, Value
from runtime.bridge.coach.need import Units

THIN: Final = "\u00a0"
"""Keeps a number and its unit on one line."""


class _Shown(NamedTuple):
    """How a unit is shown: name, factor, and digits after the point."""

    name: str
    factor: float
    digits: int
    spoken: str
    """Key of its spoken form, the message ``spoken-…``."""
    zero: float = 0.0
    """Zero of its scale: 0 °C are 32 °F."""


_METRIC: Final[dict[Unit, _Shown]] = {
    "s": _Shown("s", 1.0, 2, "s"),
    "m": _Shown("m", 1.0, 0, "m"),
    "km": _Shown("km", 1.0, 2, "km"),
    "km/h": _Shown("km/h", 1.0, 1, "kmh"),
    "bar": _Shown("bar", 1.0, 1, "bar"),
    "bar/s": _Shown("bar/s", 1.0, 0, "bar-s"),
    "g": _Shown("g", 1.0, 2, "g"),
    "%": _Shown("%", 1.0, 0, "percent"),
    "deg": _Shown("°", 1.0, 0, "deg"),
    "deg/s": _Shown("°/s", 1.0, 0, "deg-s"),
    "rpm": _Shown("rpm", 1.0, 0, "rpm"),
    "min": _Shown("min", 1.0 / 60.0, 0, "min"),
    "°C": _Shown("°C", 1.0, 0, "celsius"),
    "l": _Shown("l", 1.0, 1, "l"),
    "V": _Shown("V", 1.0, 1, "volt"),
    "/min": _Shown("/min", 1.0, 0, "per-min"),
}
_IMPERIAL: Final[dict[Unit, _Shown]] = {
    **_METRIC,
    "m": _Shown("ft", 1.0 / 0.3048, 0, "ft"),
    "km": _Shown("mi", 1.0 / 1.609344, 2, "mi"),
    "km/h": _Shown("mph", 1.0 / 1.609344, 1, "mph"),
    "bar": _Shown("psi", 14.503774, 0, "psi"),
    "bar/s": _Shown("psi/s", 14.503774, 0, "psi-s"),
    "°C": _Shown("°F", 1.8, 0, "fahrenheit", 32.0),
    "l": _Shown("gal", 1.0 / 3.785412, 1, "gal"),
}


class Quantity(FluentType):
    """A value placed in a message, which writes itself in the message's language."""

    def __init__(self, value: Value, units: Units) -> None:
        self.value = value
        self.units = units

    def format(self, locale: babel.Locale) -> str:
        """Write the number with its unit."""
        return write_value(self.value, self.units, locale)


def show_as(unit: Unit, units: Units) -> _Shown:
    """Return how a unit is shown in the system *units*."""
    return (_IMPERIAL if units == "imperial" else _METRIC)[unit]


def write_value(value: Value, units: Units, locale: babel.Locale) -> str:
    """Write the number with its unit as it is read: 87.3 km/h, 1:52.203, 17:18 min, +0.35 s."""
    sign = ("+" if value.number > 0 else "") if value.signed else ""
    if value.unit == "lap_time":
        return sign + _write_lap_time(value.number, locale)
    if not value.unit:
        return sign + write_number(value.number, _digits_of(value.number, 0), locale)
    shown = show_as(value.unit, units)
    if value.unit == "min":
        minutes, seconds = divmod(round(value.number), 60)
        return f"{sign}{minutes}{f':{seconds:02d}' if seconds else ''}{THIN}{shown.name}"
    number = value.number * shown.factor + shown.zero
    digits = _digits_of(number, shown.digits, finer=shown.name in ("m", "s"))
    gap = "" if shown.name == "°" or (shown.name == "%" and locale.language == "en") else THIN
    return f"{sign}{write_number(number, digits, locale)}{gap}{shown.name}"


def write_number(number: float, digits: int, locale: babel.Locale) -> str:
    """Write a number with that many digits after the point; a negative zero is zero."""
    rounded = round(number, digits) + 0.0
    pattern = "0." + "0" * digits if digits else "0"
    return babel.numbers.format_decimal(rounded, pattern, locale=locale)


def say_value(
    value: Value, units: Units, locale: babel.Locale
) -> tuple[str, dict[str, float | str]]:
    """Return the message that says a value aloud, and its arguments: ``number`` as it is said,
    ``count`` for the plural; for a lap time ``minutes`` and ``seconds``."""
    if value.unit == "lap_time":
        tenths = round(value.number * 10)
        minutes, rest = divmod(tenths, 600)
        seconds = write_number(rest / 10, 1, locale)
        return "spoken-lap-time", {"minutes": minutes, "seconds": seconds}
    if not value.unit:
        plain = write_number(value.number, _digits_of(value.number, 0), locale)
        return "spoken-number", {"number": plain, "count": value.number}
    shown = show_as(value.unit, units)
    number = value.number * shown.factor + shown.zero
    digits = {2: 1 if abs(number) >= 1 else 2, 1: 0}.get(shown.digits, shown.digits)
    text = write_number(number, digits, locale)
    return f"spoken-{shown.spoken}", {"number": text, "count": round(number, digits)}


def _digits_of(number: float, digits: int, *, finer: bool = False) -> int:
    """Return more digits for a small number, so that it is not shown as zero."""
    if finer and 0 < abs(number) < 10.0**-digits * 5:
        return digits + 1
    return digits if digits or float(number).is_integer() or abs(number) >= 10 else 1


def _write_lap_time(seconds: float, locale: babel.Locale) -> str:
    """Write as 1:52.203."""
    thousandths = round(abs(seconds) * 1000)
    minutes, rest = divmod(thousandths, 60_000)
    point = babel.numbers.get_decimal_symbol(locale)
    minus = "-" if seconds < 0 else ""
    whole, part = divmod(rest, 1000)
    return f"{minus}{minutes}:{whole:02d}{point}{part:03d}"
