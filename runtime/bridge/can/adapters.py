"""Opens a CAN adapter of any kind, and reads those that python-can drives."""

import logging
from collections.abc import Callable
from typing import Any, Final

import can

from runtime.bridge.can.clock import Aligner, EpochClock, Spread
from runtime.bridge.can.frames import EXTENDED, CanFrame, Received, Source, SourceLost
from runtime.bridge.can.settings import SLCAN, VIRTUAL, CanSettings, listen_only_error
from runtime.bridge.can.slcan import NOTHING, SlcanSource

MOST_AT_ONCE: Final = 2000
SEND_S: Final = 0.5
QUEUED: Final = 1 << 16
"""Frames that a virtual channel holds for one listener; beyond it the sender waits."""
log = logging.getLogger(__name__)

_DRIVER: Final = (
    can.CanError, OSError, ValueError, TypeError, LookupError, AttributeError, NameError,
    ImportError, NotImplementedError,
)  # fmt: skip
"""What comes out of python-can where a driver or a device is not there."""
_MISSING: Final = {
    "socketcan": "the CAN network interface {channel} cannot be opened: it must exist and be up",
    "pcan": "the PCAN adapter {channel} cannot be opened: is it plugged in, and is its driver "
    "(PCANBasic) installed?",
    "kvaser": "the Kvaser adapter {channel} cannot be opened: is it plugged in, and is its driver "
    "(CANlib) installed?",
}


def open_source(settings: CanSettings, clock: EpochClock | None = None) -> Source:
    """Open the adapter; raises `SourceLost`, and ValueError for settings that can never work."""
    settings.check()
    clock = clock or EpochClock()
    if settings.interface == SLCAN:
        return SlcanSource(settings, clock)
    return PythonCanSource(settings, clock)


class PythonCanSource:
    """An adapter that python-can drives, or a channel inside this process.

    Frames are stamped with what the kernel or the adapter says of their arrival, put on our clock;
    else with the moment at which they are read.
    """

    def __init__(self, settings: CanSettings, clock: EpochClock) -> None:
        self._settings = settings
        self._clock = clock
        self._bus = _opened(settings)
        self._stamped = _stamping(settings, clock)

    def read(self, timeout_s: float) -> Received:
        """What has come; waits for the first frame at most *timeout_s*."""
        messages: list[can.Message] = []
        try:
            message = self._bus.recv(timeout_s)
            while message is not None:
                messages.append(message)
                if len(messages) >= MOST_AT_ONCE:
                    break
                message = self._bus.recv(0)
        except _DRIVER as error:
            raise SourceLost(self._gone()) from error
        return self._received(messages) if messages else NOTHING

    def _received(self, messages: list[can.Message]) -> Received:
        data = [message for message in messages if not message.is_error_frame]
        errors = len(messages) - len(data)
        data = [message for message in data if not message.is_remote_frame]
        stamps = self._stamped([message.timestamp for message in data])
        frames = [
            CanFrame(
                t,
                message.arbitration_id | (EXTENDED if message.is_extended_id else 0),
                bytes(message.data),
            )
            for t, message in zip(stamps, data, strict=True)
        ]
        return Received(frames, errors)

    def send(self, frame: CanFrame) -> None:
        """Put a frame on the bus; raises `SourceLost`, ValueError for what is no frame."""
        if self._settings.listen_only:
            raise listen_only_error()
        message = can.Message(
            timestamp=frame.t,
            arbitration_id=frame.key & ~EXTENDED,
            is_extended_id=bool(frame.key & EXTENDED),
            is_fd=len(frame.data) > 8,
            data=frame.data,
            check=True,
        )
        try:
            self._bus.send(message, SEND_S)
        except (can.CanError, OSError) as error:
            raise SourceLost(self._gone()) from error

    def close(self) -> None:
        """Release the adapter."""
        try:
            self._bus.shutdown()
        except _DRIVER:
            log.debug("closing %s failed", self._settings.channel, exc_info=True)

    def _gone(self) -> str:
        settings = self._settings
        return f"the CAN adapter {settings.interface} {settings.channel} is gone or fails"


def _opened(settings: CanSettings) -> can.BusABC:
    interface, channel, is_quiet = settings.interface, settings.channel, settings.listen_only
    told: dict[str, Any] = {"channel": channel}
    if interface == VIRTUAL:
        told["rx_queue_size"] = QUEUED
    elif interface != "socketcan":
        told["bitrate"] = settings.bitrate
    if interface == "pcan":
        told["state"] = can.BusState.PASSIVE if is_quiet else can.BusState.ACTIVE
    if interface == "kvaser":
        told |= {"channel": int(channel), "driver_mode": not is_quiet}
    try:
        return can.Bus(interface=interface, ignore_config=True, **told)
    except _DRIVER as error:
        missing = _MISSING.get(interface, "the CAN channel {channel} cannot be opened")
        raise SourceLost(missing.format(channel=channel)) from error


def _stamping(settings: CanSettings, clock: EpochClock) -> Callable[[list[float]], list[float]]:
    """How the stamps of messages become those of frames."""
    if settings.interface == "socketcan":
        return lambda stamps: [clock.at_wall(stamp) for stamp in stamps]
    if settings.interface == VIRTUAL:
        spread = Spread()
        return lambda stamps: spread.over((now := clock.now()) - 1e-3, now, len(stamps))
    aligner = Aligner()

    def aligned(stamps: list[float]) -> list[float]:
        now = clock.now()
        return [aligner.align(stamp, now) for stamp in stamps]

    return aligned
