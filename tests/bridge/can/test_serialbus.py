"""A serial adapter on a pty: opening, reading, unplugging."""

import itertools
import random
import threading
from collections.abc import Iterator

import pytest

from runtime.bridge.can.adapters import open_source
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.frames import CanFrame, SourceLost
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import (
    AGAIN_S,
    SlcanSource,
    encode,
)
from tests.bridge.can.cankit import Adapter, adapter, descriptors


@pytest.fixture
def device() -> Iterator[Adapter]:
    with adapter() as plugged:
        yield plugged


def settings(device: Adapter, **changes: object) -> CanSettings:
    return CanSettings("slcan", device.path, **changes)  # type: ignore[arg-type]


def drain(source: SlcanSource, n: int) -> list[CanFrame]:
    """The next *n* frames."""
    frames: list[CanFrame] = []
    while len(frames) < n:
        frames += source.read(5.0).frames
    return frames


@pytest.mark.parametrize(("listen_only", "mode"), [(True, b"L"), (False, b"O")])
def test_the_adapter_is_told_bit_rate_and_mode_and_to_leave_the_bus(
    device: Adapter, listen_only: bool, mode: bytes
) -> None:
    source = open_source(settings(device, bitrate=1_000_000, listen_only=listen_only))
    assert device.heard_until(mode + b"\r") == b"\r\r\rC\rS8\r" + mode + b"\r"
    source.close()
    assert device.heard() == b"C\r"
    source.close()


def test_frames_come_with_growing_stamps_of_their_reception(device: Adapter) -> None:
    clock = EpochClock()
    source = SlcanSource(settings(device), clock)
    begin = clock.now()
    device.say(b"t1232ABCD\rT000001231")
    first = drain(source, 1)
    device.say(b"11\rt1230\rgarbage\rt1230\r")
    frames = first + drain(source, 3)
    assert [(frame.key, frame.data) for frame in frames] == [
        (0x123, b"\xab\xcd"), (0x123 | 1 << 31, b"\x11"), (0x123, b""), (0x123, b""),
    ]  # fmt: skip
    stamps = [begin, *(frame.t for frame in frames), clock.now()]
    assert all(a < b for a, b in itertools.pairwise(stamps))
    source.close()


def test_an_adapter_that_does_not_answer_is_told_again_and_in_other_words(
    device: Adapter,
) -> None:
    now = 0.0
    source = SlcanSource(settings(device), EpochClock(), lambda: now)
    modes = [device.heard_until(b"L\r")]
    for end in (b"L\r", b"O\r", b"L\r"):
        source.read(0.0)  # not yet
        now += AGAIN_S
        source.read(0.0)
        modes.append(device.heard_until(end))
    assert [commands.split(b"\r")[5:-1] for commands in modes] == [
        [b"L"],
        [b"L"],
        [b"M1", b"O"],
        [b"L"],
    ]
    device.say(b"\r")
    source.read(5.0)
    now += 100.0
    source.read(0.0)
    source.close()
    assert device.heard() == b"C\r"  # nothing else since it answered


def test_an_adapter_that_must_send_is_never_silenced(device: Adapter) -> None:
    now = 0.0
    source = SlcanSource(settings(device, listen_only=False), EpochClock(), lambda: now)
    for _ in range(4):
        assert b"M1" not in device.heard_until(b"O\r")
        now += AGAIN_S
        source.read(0.0)
    source.close()


def test_sending_is_for_those_who_do_not_only_listen(device: Adapter) -> None:
    silent = open_source(settings(device))
    device.heard_until(b"L\r")
    with pytest.raises(SourceLost, match="listen-only"):
        silent.send(CanFrame(0.0, 1, b""))
    silent.close()
    assert device.heard() == b"C\r"
    source = open_source(settings(device, listen_only=False))
    device.heard_until(b"O\r")
    source.send(CanFrame(0.0, 0x7DF, b"\x02\x01\x0c"))
    assert device.heard() == b"t7DF302010C\r"
    with pytest.raises(ValueError, match="CAN id"):
        source.send(CanFrame(0.0, 0x800, b""))
    source.close()


def test_an_unplugged_adapter_is_lost_at_once_and_leaves_nothing_open(device: Adapter) -> None:
    before = descriptors()
    source = open_source(settings(device, listen_only=False))
    device.unplug()
    with pytest.raises(SourceLost, match="unplugged"):
        source.read(60.0)
    with pytest.raises(SourceLost, match="unplugged"):
        source.send(CanFrame(0.0, 1, b""))
    source.close()
    assert descriptors() == before - 2  # both ends of the line


def test_a_port_that_cannot_be_opened_is_explained(device: Adapter, tmp_path: object) -> None:
    before = descriptors()
    for path, why in (("/dev/nowhere", "plugged in"), (str(tmp_path), "cannot be opened")):
        with pytest.raises(SourceLost, match=why):
            open_source(CanSettings("slcan", path))
    first = open_source(settings(device))
    with pytest.raises(SourceLost, match="in use"):
        open_source(settings(device))
    first.close()
    assert descriptors() == before


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (CanSettings("serial", "/dev/ttyACM0"), "known: virtual, slcan, socketcan, pcan, kvaser"),
        (CanSettings("slcan", "/dev/ttyACM0", bitrate=33_333), "known: 10000"),
        (CanSettings("slcan", ""), "needs a channel"),
        (CanSettings("slcan", "x", tty_baudrate=0), "above 0"),
        (CanSettings("kvaser", "can0"), "a number"),
    ],
)
def test_settings_that_can_never_work_are_refused(wrong: CanSettings, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        open_source(wrong)


@pytest.mark.slow
def test_every_frame_of_a_flood_with_ten_megabytes_of_noise_arrives(device: Adapter) -> None:
    chance = random.Random(8)
    frames = [CanFrame(0.0, n % 0x800, n.to_bytes(8, "big")) for n in range(40_000)]
    dirt = [chance.randbytes(5120).replace(b"\r", b"") for _ in range(20)]

    def flood() -> None:
        for n in range(0, len(frames), 20):
            device.say(dirt[n // 20 % 20] + b"\r" + b"".join(map(encode, frames[n : n + 20])))

    source = SlcanSource(settings(device), EpochClock())
    talking = threading.Thread(target=flood)
    talking.start()
    sent = {(frame.key, frame.data) for frame in frames}
    arrived: list[tuple[int, bytes]] = []
    malformed = 0
    stamps = [0.0]
    while len(arrived) < len(frames):
        received = source.read(5.0)
        malformed += received.malformed
        stamps += [frame.t for frame in received.frames]
        arrived += [(key, data) for _, key, data in received.frames if (key, data) in sent]
    talking.join()
    source.close()
    assert arrived == [(frame.key, frame.data) for frame in frames]
    assert malformed >= 2000
    assert all(a < b for a, b in itertools.pairwise(stamps))
