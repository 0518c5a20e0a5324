"""What a CAN reader is started with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from runtime.bridge.can.frames import SourceLost

SLCAN: Final = "slcan"
VIRTUAL: Final = "virtual"
INTERFACES: Final = (VIRTUAL, SLCAN, "socketcan", "pcan", "kvaser")
SLCAN_BITRATES: Final[Mapping[int, int]] = {
    10_000: 0,
    20_000: 1,
    50_000: 2,
    100_000: 3,
    125_000: 4,
    250_000: 5,
    500_000: 6,
    750_000: 7,  # which of the two the code stands for is the adapter's choice
    800_000: 7,
    1_000_000: 8,
}
"""What follows ``S`` in the command that sets the bit rate."""


@dataclass(frozen=True)
class CanSettings:
    """Where the frames come from."""

    interface: str = VIRTUAL
    """One of `INTERFACES`."""
    channel: str = "paddock"
    """Serial device, name of a network interface or of a virtual channel, number of a channel."""
    bitrate: int = 500_000
    """Bit/s; socketcan has its own, set with the network interface."""
    tty_baudrate: int = 115_200
    """Of a serial device; USB devices do not care."""
    listen_only: bool = True
    """Never put anything on the bus, not even acknowledgements."""
    keep_stamps: bool = False
    """Stamps are of the sender's own clock, which may run faster: that of a synthetic car."""

    def check(self) -> None:
        """Raise ValueError, in words for users, where this can never work."""
        check_interface(self.interface)
        if not self.channel:
            raise ValueError(f"the CAN interface {self.interface} needs a channel")
        if self.bitrate <= 0 or self.tty_baudrate <= 0:
            raise ValueError("a bit rate must be above 0")
        if self.interface == SLCAN and self.bitrate not in SLCAN_BITRATES:
            known = ", ".join(map(str, SLCAN_BITRATES))
            raise ValueError(f"serial adapters know no bit rate of {self.bitrate}; known: {known}")
        if self.interface == "kvaser" and not self.channel.isdecimal():
            raise ValueError("the channel of a kvaser interface is a number, from 0")


def check_interface(interface: str) -> None:
    """Raise ValueError, in words for users, where there is no such kind."""
    if interface not in INTERFACES:
        known = ", ".join(INTERFACES)
        raise ValueError(f"there is no CAN interface {interface!r}; known: {known}")


def listen_only_error() -> SourceLost:
    """What sending on a bus that is only listened to comes to."""
    return SourceLost("the CAN bus is only listened to: nothing is sent")
