"""What a channel tells about, from the words of its name, where nobody has said it."""

import re
from typing import Final

DRIVER_INPUT: Final = "driver_input"
CHASSIS: Final = "chassis"
POWERTRAIN: Final = "powertrain"
TIRES: Final = "tires"
AMBIENT: Final = "ambient"
POSITION: Final = "position"
ELECTRICAL: Final = "electrical"
OTHER: Final = "other"
ROLES: Final = (
    DRIVER_INPUT, CHASSIS, POWERTRAIN, TIRES, AMBIENT, POSITION, ELECTRICAL, OTHER,
)  # fmt: skip

# The first role that knows one of the words wins: `tire_temp` before `temp`, `fuel_press` is
# powertrain whatever `press` could mean elsewhere.
_WORDS: Final = (
    (TIRES, "tire tires tyre tyres tpms"),
    (AMBIENT, "ambient baro barometric humidity wind"),
    (POSITION, "gps lat lon latitude longitude altitude heading sats distance"),
    (ELECTRICAL, "battery batt volt volts voltage current alternator"),
    (DRIVER_INPUT, "brake throttle steer steering clutch pedal accel_pedal handbrake"),
    (CHASSIS, "wheel speed g yaw roll pitch lateral inline vertical accel acceleration stability"),
    (CHASSIS, "abs tc susp suspension damper"),
    (POWERTRAIN, "rpm engine gear oil water coolant fuel boost lambda afr map maf knock turbo"),
    (POWERTRAIN, "intake exhaust transmission gearbox ignition timing"),
)  # fmt: skip
_ROLE_OF: Final = tuple((role, frozenset(words.split())) for role, words in _WORDS)


def role_of(channel: str) -> str:
    """One of `ROLES`."""
    words = set(re.split(r"[^a-z]+", channel.lower()))
    return next((role for role, known in _ROLE_OF if words & known), OTHER)
