"""Adapters that python-can drives, and the virtual channel inside this process."""

import itertools
from collections.abc import Iterator

import can
import pytest

from runtime.bridge.can.adapters import PythonCanSource, open_source
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.frames import EXTENDED, CanFrame, Source, SourceLost
from runtime.bridge.can.settings import CanSettings

FRAMES = [
    CanFrame(5000.25, 0x123, b"\x01\x02"),
    CanFrame(5000.5, 0x1ABCDEF | EXTENDED, b""),
    CanFrame(5000.75, 0x7, bytes(range(64))),
]
numbers = itertools.count()


@pytest.fixture
def channel() -> str:
    return f"test-{next(numbers)}"


@pytest.fixture
def simulator(channel: str) -> Iterator[Source]:
    source = open_source(CanSettings(channel=channel, listen_only=False))
    yield source
    source.close()


def receive(source: Source, n: int) -> list[CanFrame]:
    frames: list[CanFrame] = []
    while len(frames) < n:
        frames += source.read(5.0).frames
    return frames


def test_a_virtual_channel_carries_frames_that_are_stamped_as_they_are_read(
    channel: str, simulator: Source
) -> None:
    clock = EpochClock()
    reader = PythonCanSource(CanSettings(channel=channel), clock)
    begin = clock.now()
    for frame in FRAMES:
        simulator.send(frame)
    frames = receive(reader, 3)
    assert [(frame.key, frame.data) for frame in frames] == [
        (sent.key, sent.data) for sent in FRAMES
    ]
    assert reader.read(0.0) == ((), 0, 0)
    reader.close()
    reader.close()
    stamps = [frame.t for frame in frames]
    assert begin - 0.01 < stamps[0] < stamps[1] < stamps[2] <= clock.now()


def test_error_and_remote_frames_are_told_apart(channel: str, simulator: Source) -> None:
    reader = open_source(CanSettings(channel=channel))
    with can.Bus(interface="virtual", channel=channel, ignore_config=True) as bus:
        bus.send(can.Message(is_error_frame=True))
        bus.send(can.Message(arbitration_id=1, is_remote_frame=True, is_extended_id=False))
        bus.send(can.Message(arbitration_id=2, data=b"\x05", is_extended_id=False))
    frames: list[CanFrame] = []
    errors = 0
    while not frames:
        received = reader.read(5.0)
        frames += received.frames
        errors += received.errors
    assert [(frame.key, frame.data) for frame in frames] == [(2, b"\x05")]
    assert errors == 1
    reader.close()


def test_a_listener_sends_nothing(channel: str) -> None:
    listener = open_source(CanSettings(channel=channel))
    with pytest.raises(SourceLost, match="listen-only"):
        listener.send(FRAMES[0])
    listener.close()


@pytest.mark.parametrize("frame", [CanFrame(0.0, 0x800, b""), CanFrame(0.0, 1, bytes(65))])
def test_what_no_bus_can_carry_is_not_sent(simulator: Source, frame: CanFrame) -> None:
    with pytest.raises(ValueError, match=r".+"):
        simulator.send(frame)


def test_a_closed_channel_is_lost(channel: str) -> None:
    reader = open_source(CanSettings(channel=channel))
    reader.close()
    with pytest.raises(SourceLost, match="gone"):
        reader.read(0.0)


@pytest.mark.parametrize(
    ("interface", "channel", "why"),
    [
        ("socketcan", "can-none", "must exist and be up"),
        ("pcan", "PCAN_USBBUS1", "PCANBasic"),
        ("pcan", "nonsense", "PCANBasic"),
        ("kvaser", "0", "CANlib"),
    ],
)
def test_a_driver_that_is_missing_is_named(interface: str, channel: str, why: str) -> None:
    with pytest.raises(SourceLost, match=why):
        open_source(CanSettings(interface, channel))


class Scripted:
    """A bus of python-can that brings what it is told to."""

    def __init__(self, **arguments: object) -> None:
        self.asked = arguments
        self.messages = [
            can.Message(timestamp=t, arbitration_id=1, is_extended_id=False) for t in (7.0, 7.5)
        ]

    def recv(self, timeout: float) -> can.Message | None:
        if not self.messages:
            raise can.CanOperationError("gone")
        message = self.messages.pop(0)
        return message if message.timestamp else None

    def shutdown(self) -> None:
        raise can.CanOperationError("gone")


@pytest.mark.parametrize(
    ("interface", "quiet"),
    [("pcan", {"state": can.BusState.PASSIVE}), ("kvaser", {"driver_mode": False})],
)
def test_adapters_listen_silently_and_their_stamps_are_put_on_our_clock(
    interface: str, quiet: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Scripted] = []

    def bus(**arguments: object) -> Scripted:
        opened.append(Scripted(**arguments))
        opened[0].messages.append(can.Message(timestamp=0.0))
        return opened[0]

    monkeypatch.setattr(can, "Bus", bus)
    clock = EpochClock()
    source = open_source(CanSettings(interface, "0", bitrate=250_000), clock)
    assert quiet.items() <= opened[0].asked.items()
    assert opened[0].asked["bitrate"] == 250_000
    first, second = source.read(1.0).frames
    assert second.t - first.t == pytest.approx(0.5, abs=1e-3) or first.t == second.t
    assert second.t <= clock.now()
    with pytest.raises(SourceLost, match="gone"):
        source.read(1.0)
    source.close()
