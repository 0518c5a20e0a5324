"""The settings of a CAN reader."""

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
    750_000: 7,  # the adapter decides which of the two the code means
    800_000: 7,
    1_000_000: 8,
}
"""Code after ``S`` in the command that sets the bit rate."""


@dataclass(frozen=True)
class CanSettings:
    """The source of the frames."""

    interface: str = VIRTUAL
    """One of `INTERFACES`."""
    channel: str = "paddock"
    """Serial device, name of a network interface or virtual channel, or channel number."""
    bitrate: int = 500_000
    """Bit/s; for socketcan the network interface sets it."""
    tty_baudrate: int = 115_200
    """Of a serial device; USB devices ignore it."""
    listen_only: bool = True
    """Send nothing, not even acknowledgements."""
    keep_stamps: bool = False
    """Keep the stamps of the sender, whose clock may run faster: a synthetic car."""

    def check(self) -> None:
        """Raise ValueError, worded for users, if the settings can never work."""
        check_interface(self.interface)
        if not self.channel:
            raise ValueError(f"the CAN interface {self.interface} needs a channel")
        if self.bitrate <= 0 or self.tty_baudrate <= 0:
            raise ValueError("a bit rate must be above 0")
        if self.interface == SLCAN and self.bitrate not in SLCAN_BITRATES:
            rates = ", ".join(map(str, SLCAN_BITRATES))
            raise ValueError(f"serial adapters do not offer {self.bitrate} bit/s; known: {rates}")
        if self.interface == "kvaser" and not self.channel.isdecimal():
            raise ValueError("the channel of a kvaser interface is a number, from 0")


def check_interface(interface: str) -> None:
    """Raise ValueError, worded for users, for an unknown interface."""
    if interface not in INTERFACES:
        names = ", ".join(INTERFACES)
        raise ValueError(f"there is no CAN interface {interface!r}; known: {names}")


def make_listen_only_error() -> SourceLost:
    """Return the error for sending on a bus in listen-only mode."""
    return SourceLost("the CAN bus is in listen-only mode: nothing is sent")
