"""Serial CAN adapters (SLCAN): the lines that they speak, and reading them in bulk."""

import contextlib
import os
import re
import select
import time
from binascii import unhexlify
from collections.abc import Callable
from typing import Final

import serial  # type: ignore[import-untyped]

from runtime.bridge.can.clock import EpochClock, Spread
from runtime.bridge.can.frames import EXTENDED, CanFrame, Received, SourceLost
from runtime.bridge.can.settings import SLCAN_BITRATES, CanSettings, listen_only_error

LONGEST_LINE: Final = 256
"""Bytes; the longest valid line, 64 data bytes under a 29-bit id with a time stamp, has 142."""
FD_LENGTHS: Final = (*range(9), 12, 16, 20, 24, 32, 48, 64)
"""Data bytes by the length code of a line."""
_STAMP: Final = 4
"""Hex digits of the time stamp that some adapters append: milliseconds of a minute."""
_BEGIN: Final = (b"t", b"T", b"r", b"R")
"""They begin a frame and are no hex digits: behind noise they tell where it may go on."""
_HEAD: Final = re.compile(
    rb"(?:[tr]([0-7][0-9a-fA-F]{2})([0-8])|[TR]([01][0-9a-fA-F]{7})([0-8])"
    rb"|[db]([0-7][0-9a-fA-F]{2})([0-9a-fA-F])|[DB]([01][0-9a-fA-F]{7})([0-9a-fA-F]))"
)
"""Id and length code of a frame: classic or FD, of 11 or 29 bits."""
_REPLY: Final = re.compile(rb"[zZ]|F[0-9a-fA-F]{2}|[VvN][0-9A-Za-z]{4}")
"""What an adapter answers: sent, status, version, serial number."""
CHUNK: Final = 1 << 16
AGAIN_S: Final = 2.0
"""An adapter that says nothing at all is told to open again: many restart when they are opened."""
WRITE_S: Final = 0.3
GATHER_S: Final = 0.002
"""Pause between reads while data stream in: fewer, larger reads at no delay that anyone sees."""
DENSE: Final = 40_000
"""Bytes a second, some 2,000 frames: they follow each other so closely that their stamps, spread
over a longer pause, are as good …"""
GATHER_DENSE_S: Final = 0.009
"""… as this one: a core that wakes up seldom has most of its work in waking up."""
MANY: Final = 2048
"""Bytes of one read after which the next follows at once."""
NOTHING: Final = Received(())
_EMPTY_LINES: Final = b"\r\r\r"
"""They end whatever line the adapter was in the middle of."""


class SlcanParser:
    """Cuts a stream of bytes into frames; however it is cut into pieces, they are the same.

    A classic frame behind noise, or behind the first half of another line, is found all the same.
    Remote frames and replies of the adapter are passed over.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._long = False

    def feed(self, data: bytes) -> tuple[list[tuple[int, bytes]], int]:
        """Keys and data of the frames that *data* complete, and how many lines were none."""
        data = data.replace(b"\x07", b"\r").replace(b"\n", b"\r")
        lines = (self._rest + data).split(b"\r")
        rest = lines.pop()
        frames: list[tuple[int, bytes]] = []
        malformed = 0
        if lines and self._long:
            malformed = -1  # the line was counted while it grew
            self._long = False
        for line in lines:
            if line and not _read_line(line, frames):
                malformed += not _REPLY.fullmatch(line)
        if len(rest) > LONGEST_LINE:
            malformed += not self._long
            self._long = True
            rest = rest[-LONGEST_LINE:]
        self._rest = rest
        return frames, malformed


def _read_line(line: bytes, frames: list[tuple[int, bytes]]) -> bool:
    """Read a frame, or one behind noise; whether the whole line was one."""
    if _read_frame(line, frames):
        return True
    if (begin := max(line.rfind(letter, 1) for letter in _BEGIN)) > 0:
        _read_frame(line[begin:], frames)
    return False


def _read_frame(line: bytes, frames: list[tuple[int, bytes]]) -> bool:
    head = _HEAD.match(line)
    if head is None:
        return False
    kind = head.lastindex or 0
    at = head.end()
    remote = line[0] in b"rR"
    end = at if remote else at + 2 * FD_LENGTHS[int(head[kind], 16)]
    if len(line) not in (end, end + _STAMP):
        return False
    try:
        data = unhexlify(line[at:])[: (end - at) // 2]
    except ValueError:
        return False
    if not remote:
        number = int(head[kind - 1], 16)
        frames.append((number if kind in (2, 6) else number | EXTENDED, data))
    return True


def encode(frame: CanFrame) -> bytes:
    """The line of a data frame; raises ValueError where no CAN frame has that id or length."""
    number = frame.key & ~EXTENDED
    wide = frame.key & EXTENDED
    if not 0 <= number < (1 << 29 if wide else 1 << 11):
        raise ValueError(f"there is no CAN id {number:#x}")
    length = len(frame.data)
    if length not in FD_LENGTHS:
        raise ValueError(f"a CAN frame cannot have {length} bytes")
    kind = ("D" if wide else "d") if length > 8 else ("T" if wide else "t")
    code = FD_LENGTHS.index(length)
    line = f"{kind}{number:0{8 if wide else 3}X}{code:X}{frame.data.hex().upper()}\r"
    return line.encode()


class SlcanSource:
    """An open serial adapter; raises `SourceLost` where it cannot be opened, ValueError never.

    Stamps are those of the reception. It listens silently unless it must send.
    """

    def __init__(
        self,
        settings: CanSettings,
        clock: EpochClock,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._monotonic = monotonic
        self._parser = SlcanParser()
        self._spread = Spread()
        self._heard = False
        self._pause_s = 0.0
        self._openings = 0
        self._read_at = clock.now()
        self._told_at = monotonic()
        try:
            self._port = serial.Serial(
                settings.channel,
                settings.tty_baudrate,
                timeout=0,
                write_timeout=WRITE_S,
                exclusive=True,
            )
        except (OSError, ValueError) as error:
            raise SourceLost(_unopened(settings.channel, error)) from error
        self._poll = _Poll(self._port)
        try:
            self._tell_to_open()
        except SourceLost:
            self.close()
            raise

    def read(self, timeout_s: float) -> Received:
        """What has come; waits for the first byte at most *timeout_s*."""
        try:
            begin = self._read_at
            if self._pause_s and (early := begin + self._pause_s - self._clock.now()) > 0:
                time.sleep(min(early, self._pause_s))
            if not self._poll.wait(0):
                if not self._poll.wait(timeout_s):
                    self._tell_again()
                    return NOTHING
                begin = self._clock.now()
            data = self._poll.read()
        except (OSError, serial.SerialException) as error:
            raise _gone(self._settings.channel) from error
        end = self._clock.now()
        self._pause_s = pause_after(len(data), end - self._read_at)
        self._read_at = end
        self._heard = True
        parsed, malformed = self._parser.feed(data)
        if not parsed:
            return Received((), malformed=malformed)
        stamps = self._spread.over(begin, end, len(parsed))
        frames = [CanFrame(t, *frame) for t, frame in zip(stamps, parsed, strict=True)]
        return Received(frames, malformed=malformed)

    def send(self, frame: CanFrame) -> None:
        """Put a frame on the bus; raises `SourceLost`, ValueError for what is no frame."""
        if self._settings.listen_only:
            raise listen_only_error()
        self._write(encode(frame))

    def close(self) -> None:
        """Tell the adapter to leave the bus, and release it."""
        with contextlib.suppress(SourceLost, OSError):
            if self._port.is_open:
                self._write(b"C\r")
        with contextlib.suppress(OSError):
            self._port.close()

    def _tell_again(self) -> None:
        if not self._heard and self._monotonic() - self._told_at >= AGAIN_S:
            self._tell_to_open()

    def _tell_to_open(self) -> None:
        """Commands for the bit rate and the mode.

        Some firmware does not know ``L`` and answers nothing: where the second try brings no
        answer either, the third sets the silent mode in that firmware's way.
        """
        self._openings += 1
        self._told_at = self._monotonic()
        mode = "L" if self._settings.listen_only else "O"
        if mode == "L" and self._openings > 2 and self._openings % 2:
            mode = "M1\rO"
        rate = SLCAN_BITRATES[self._settings.bitrate]
        self._write(_EMPTY_LINES + f"C\rS{rate}\r{mode}\r".encode())

    def _write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except (OSError, serial.SerialException, ValueError) as error:
            raise _gone(self._settings.channel) from error


def pause_after(n: int, since_s: float) -> float:
    """Seconds to let more come after a read of *n* bytes, that long after the one before it."""
    if n >= MANY:
        return 0.0
    return GATHER_DENSE_S if n > DENSE * since_s else GATHER_S


class _Poll:
    """Waits for a serial port and takes what it holds."""

    def __init__(self, port: serial.Serial) -> None:
        self._port = port
        self._poll = None
        if hasattr(select, "poll"):  # knows no largest descriptor, unlike pyserial's select
            self._fd = port.fileno()
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)

    def wait(self, timeout_s: float) -> bool:
        """Whether there is something to read, an error included."""
        if self._poll is not None:
            return bool(self._poll.poll(timeout_s * 1000))
        end = time.monotonic() + timeout_s
        while not self._port.in_waiting:
            if time.monotonic() >= end:
                return False
            time.sleep(GATHER_S)
        return True

    def read(self) -> bytes:
        """All that is there; raises OSError where the device is gone."""
        if self._poll is not None:
            data = os.read(self._fd, CHUNK)
            if not data:
                raise OSError("end of file")
            return data
        return bytes(self._port.read(self._port.in_waiting))


def _gone(channel: str) -> SourceLost:
    return SourceLost(f"the CAN adapter {channel} is gone: it was unplugged or fails")


def _unopened(channel: str, error: Exception) -> str:
    code = getattr(error, "errno", None)
    if code == 2:
        return f"there is no serial device {channel}: is the CAN adapter plugged in?"
    if code == 13:
        return f"no permission to open {channel}: add the user to the group that owns it"
    if code in (11, 16):
        return f"{channel} is in use by another program"
    return f"{channel} cannot be opened as a serial device"
