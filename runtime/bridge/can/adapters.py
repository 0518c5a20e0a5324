"""Opens CAN adapters of any kind and reads those driven by python-can."""

import logging
from collections.abc import Callable
from typing import Any, Final

import can

from runtime.bridge.can.clock import Aligner, EpochClock, Spread
from runtime.bridge.can.frames import EXTENDED, CanFrame, Received, Source, SourceLost
from runtime.bridge.can.settings import SLCAN, VIRTUAL, CanSettings, make_listen_only_error
from runtime.bridge.can.slcan import NOTHING, SlcanSource

MOST_AT_ONCE: Final = 2000
SEND_S: Final = 0.5
QUEUED: Final = 1 << 16
"""Frames that a virtual channel queues for a listener before the sender waits."""
log = logging.getLogger(__name__)

_DRIVER: Final = (
    can.CanError, OSError, ValueError, TypeError, LookupError, AttributeError, NameError,
    ImportError, NotImplementedError,
)  # fmt: skip
"""What python-can raises if a driver or device is missing."""
_MISSING: Final = {
    "socketcan": "the CAN network interface {channel} cannot be opened: it must exist and be up",
    "pcan": "the PCAN adapter {channel} cannot be opened: is it plugged in, and is its driver "
    "(PCANBasic) installed?",
    "kvaser": "the Kvaser adapter {channel} cannot be opened: is it plugged in, and is its driver "
    "(CANlib) installed?",
}


def open_source(settings: CanSettings, clock: EpochClock | None = None) -> Source:
    """Open the adapter; raises `SourceLost`, or ValueError for settings that can never work."""
    settings.check()
    clock = clock or EpochClock()
    if settings.interface == SLCAN:
        return SlcanSource(settings, clock)
    return PythonCanSource(settings, clock)


class PythonCanSource:
    """An adapter driven by python-can, or a channel inside this process.

    Frames carry the arrival time from the kernel or the adapter, converted to our clock, else the
    time of reading.
    """

    def __init__(self, settings: CanSettings, clock: EpochClock) -> None:
        self._settings = settings
        self._clock = clock
        self._bus = _open_bus(settings)
        self._stamp_all = _choose_stamping(settings, clock)

    def read(self, timeout_s: float) -> Received:
        """Return the frames that have arrived; wait up to *timeout_s* for the first."""
        messages: list[can.Message] = []
        try:
            message = self._bus.recv(timeout_s)
            while message is not None:
                messages.append(message)
                if len(messages) >= MOST_AT_ONCE:
                    break
                message = self._bus.recv(0)
        except _DRIVER as error:
            raise SourceLost(self._describe_loss()) from error
        return self._convert(messages) if messages else NOTHING

    def _convert(self, messages: list[can.Message]) -> Received:
        data = [message for message in messages if not message.is_error_frame]
        errors = len(messages) - len(data)
        data = [message for message in data if not message.is_remote_frame]
        stamps = self._stamp_all([message.timestamp for message in data])
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
        """Send a frame; raises `SourceLost`, or ValueError if the frame is invalid."""
        if self._settings.listen_only:
            raise make_listen_only_error()
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
            raise SourceLost(self._describe_loss()) from error

    def close(self) -> None:
        """Release the adapter."""
        try:
            self._bus.shutdown()
        except _DRIVER:
            log.debug("closing %s failed", self._settings.channel, exc_info=True)

    def _describe_loss(self) -> str:
        settings = self._settings
        return f"the CAN adapter {settings.interface} {settings.channel} is gone or has failed"


def _open_bus(settings: CanSettings) -> can.BusABC:
    interface, channel, is_quiet = settings.interface, settings.channel, settings.listen_only
    arguments: dict[str, Any] = {"channel": channel}
    if interface == VIRTUAL:
        arguments["rx_queue_size"] = QUEUED
    elif interface != "socketcan":
        arguments["bitrate"] = settings.bitrate
    if interface == "pcan":
        arguments["state"] = can.BusState.PASSIVE if is_quiet else can.BusState.ACTIVE
    if interface == "kvaser":
        arguments |= {"channel": int(channel), "driver_mode": not is_quiet}
    try:
        return can.Bus(interface=interface, ignore_config=True, **arguments)
    except _DRIVER as error:
        missing = _MISSING.get(interface, "the CAN channel {channel} cannot be opened")
        raise SourceLost(missing.format(channel=channel)) from error


def _choose_stamping(
    settings: CanSettings, clock: EpochClock
) -> Callable[[list[float]], list[float]]:
    """Return the function that converts stamps of messages to stamps of frames."""
    if settings.interface == "socketcan":
        return lambda stamps: [clock.convert_wall(stamp) for stamp in stamps]
    if settings.interface == VIRTUAL:
        spread = Spread()
        return lambda stamps: spread.spread((now := clock.now()) - 1e-3, now, len(stamps))
    aligner = Aligner()

    def align(stamps: list[float]) -> list[float]:
        now = clock.now()
        return [aligner.align(stamp, now) for stamp in stamps]

    return align
