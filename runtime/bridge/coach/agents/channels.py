"""What only a car's own bus can tell: the words for it, and the signals; pure."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple


class Channel(NamedTuple):
    """One such thing."""

    id: str
    name: str
    """As a sentence calls it."""
    words: re.Pattern[str]
    signals: tuple[str, ...]
    """How names of signals begin, the best first."""
    whole: bool = False
    """Whether its values are steps, such as gears."""
    falls: bool = False
    """Whether what is left at the end counts, and not the most there was."""


def _channel(
    name: str, words: str, signals: str, *, whole: bool = False, falls: bool = False
) -> Channel:
    pattern = re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])")
    parts = tuple(signals.split())
    return Channel(parts[0], name, pattern, parts, whole, falls)


CHANNELS: Final = (
    _channel("gear", r"gears?|shift\w*|upshift\w*|downshift\w*", "gear_position gear", whole=True),
    _channel(
        "tyre pressure",
        r"(?:tyre|tire)s?\b.{0,12}\bpressures?|pressures? (?:of|in) (?:the |my )?(?:tyre|tire)s?",
        "tpms tire_press tyre_press",
    ),
    _channel(
        "tyre temperature",
        r"(?:tyre|tire)s?\b.{0,12}\b(?:temp\w*|hot|cold|warm\w*)"
        r"|temp\w* (?:of|in) (?:the |my )?(?:tyre|tire)s?",
        "tire_temp tyre_temp",
    ),
    _channel("brake temperature", r"brakes?\b.{0,10}\b(?:temp\w*|hot)|disc temp\w*", "brake_temp"),
    _channel("oil pressure", r"oil pressure", "oil_press"),
    _channel("oil temperature", r"oil(?: temp\w*)?", "oil_temp"),
    _channel(
        "water temperature",
        r"(?:water|coolant|engine) temp\w*|coolant|overheat\w*|hot (?:was|is|did) the engine",
        "water_temp coolant",
    ),
    _channel("fuel", r"fuel\w*|petrol|tank", "fuel_level fuel", falls=True),
    _channel("battery voltage", r"battery|voltage|volts?", "battery voltage"),
    _channel("yaw rate", r"yaw\w*", "yaw_rate yaw"),
    _channel("slip angle", r"slip ?angles?|drift angle", "slip_angle"),
    _channel("wheel slip", r"wheel ?spin|wheel slip|slip", "rear_slip slip wheel_slip"),
    _channel("heart rate", r"heart ?rate|pulse|bpm", "heart_rate"),
    _channel("clutch", r"clutch", "clutch"),
    _channel("boost pressure", r"boost|turbo", "boost manifold"),
    _channel(
        "ride height", r"ride height|suspension(?: travel)?|damper\w*|bump", "damper ride_height"
    ),
    _channel("altitude", r"altitude|height above", "altitude gps_alt"),
    _channel("wind speed", r"wind(?: speed)?|headwind|tailwind", "wind_speed wind"),
)
BY_ID: Final = {one.id: one for one in CHANNELS}


def channel_of(text: str) -> str:
    """The id of the channel that a text asks for; empty where it asks for none."""
    return next((one.id for one in CHANNELS if one.words.search(text)), "")


_FOREIGN: Final = ("_f", "_psi", "_gal", "_mph", "_mv")
UNITS: Final = {
    "_c": "\u00b0C",
    "_f": "\u00b0F",
    "_bar": "bar",
    "_kpa": "kPa",
    "_psi": "psi",
    "_l": "l",
    "_gal": "gal",
    "_v": "V",
    "_mv": "mV",
    "_pct": "%",
    "_kmh": "km/h",
    "_mph": "mph",
    "_degs": "degrees/s",
    "_rpm": "1/min",
}


def unit_of(signal: str) -> str:
    """The unit that ends the name of a signal; empty where none does."""
    return next((unit for end, unit in UNITS.items() if signal.casefold().endswith(end)), "")


def signals_of(channel: Channel, names: Iterable[str]) -> list[str]:
    """Which of the recorded signals tell it: those of the first part that any of them has.

    What is there in more than one unit is told in the metric one.
    """
    known = sorted(names)
    for part in channel.signals:
        if found := [name for name in known if name.casefold().startswith(part)]:
            exact = [name for name in found if name.casefold() == part]
            metric = [name for name in found if not name.casefold().endswith(_FOREIGN)]
            return exact or metric or found
    return []
