"""Serial CAN adapters (SLCAN): parses and writes their lines, and reads them in bulk."""

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
from runtime.bridge.can.settings import SLCAN_BITRATES, CanSettings, make_listen_only_error

LONGEST_LINE: Final = 256
"""Bytes; the longest valid line, 64 data bytes under a 29-bit id with a time stamp, has 142."""
FD_LENGTHS: Final = (*range(9), 12, 16, 20, 24, 32, 48, 64)
"""Data bytes by the length code of a line."""
_STAMP: Final = 4
"""Hex digits of the time stamp that some adapters append: milliseconds of a minute."""
_BEGIN: Final = (b"t", b"T", b"r", b"R")
"""First letters of frames that are not hex digits: a frame may start there after noise."""
_HEAD: Final = re.compile(
    rb"(?:[tr]([0-7][0-9a-fA-F]{2})([0-8])|[TR]([01][0-9a-fA-F]{7})([0-8])"
    rb"|[db]([0-7][0-9a-fA-F]{2})([0-9a-fA-F])|[DB]([01][0-9a-fA-F]{7})([0-9a-fA-F]))"
)
"""Id and length code of a frame: classic or FD, of 11 or 29 bits."""
_REPLY: Final = re.compile(rb"[zZ]|F[0-9a-fA-F]{2}|[VvN][0-9A-Za-z]{4}")
"""Replies of an adapter: sent, status, version, serial number."""
CHUNK: Final = 1 << 16
AGAIN_S: Final = 2.0
"""A silent adapter is opened again after this time: many restart when opened."""
WRITE_S: Final = 0.3
GATHER_S: Final = 0.002
"""Pause between reads while data arrives: fewer, larger reads without visible delay."""
DENSE: Final = 40_000
"""Bytes per second, some 2,000 frames: so dense that stamps spread over a longer pause are as
good …"""
GATHER_DENSE_S: Final = 0.009
"""… as over this one, and most of the work of a mostly idle core is waking up."""
MANY: Final = 2048
"""After a read of this many bytes the next follows at once."""
NOTHING: Final = Received(())
_EMPTY_LINES: Final = b"\r\r\r"
"""Ends any partial line in the adapter."""


class SlcanParser:
    """Splits a stream of bytes into frames, independent of the pieces in which it arrives.

    It finds classic frames after noise or after a partial line. Remote frames and replies of the
    adapter are skipped.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._long = False

    def feed(self, data: bytes) -> tuple[list[tuple[int, bytes]], int]:
        """Return key and data of the completed frames, and the number of malformed lines."""
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
    """Read a frame, or one after noise; returns whether the whole line is a frame."""
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
    """Encode a data frame as a line; raises ValueError for an invalid id or length."""
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
    """An open serial adapter; raises `SourceLost` if it cannot be opened, never ValueError.

    Frames carry the time of reception. The adapter listens silently unless it must send.
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
        self._opened_at = monotonic()
        try:
            self._port = serial.Serial(
                settings.channel,
                settings.tty_baudrate,
                timeout=0,
                write_timeout=WRITE_S,
                exclusive=True,
            )
        except (OSError, ValueError) as error:
            raise SourceLost(_explain_open_failure(settings.channel, error)) from error
        self._poll = _Poll(self._port)
        try:
            self._send_open()
        except SourceLost:
            self.close()
            raise

    def read(self, timeout_s: float) -> Received:
        """Return the frames that have arrived; wait up to *timeout_s* for the first byte."""
        try:
            begin = self._read_at
            if self._pause_s and (early := begin + self._pause_s - self._clock.now()) > 0:
                time.sleep(min(early, self._pause_s))
            if not self._poll.wait(0):
                if not self._poll.wait(timeout_s):
                    self._reopen_if_silent()
                    return NOTHING
                begin = self._clock.now()
            data = self._poll.read()
        except (OSError, serial.SerialException) as error:
            raise _make_loss_error(self._settings.channel) from error
        end = self._clock.now()
        self._pause_s = choose_pause(len(data), end - self._read_at)
        self._read_at = end
        self._heard = True
        parsed, malformed = self._parser.feed(data)
        if not parsed:
            return Received((), malformed=malformed)
        stamps = self._spread.spread(begin, end, len(parsed))
        frames = [CanFrame(t, *frame) for t, frame in zip(stamps, parsed, strict=True)]
        return Received(frames, malformed=malformed)

    def send(self, frame: CanFrame) -> None:
        """Send a frame; raises `SourceLost`, or ValueError if the frame is invalid."""
        if self._settings.listen_only:
            raise make_listen_only_error()
        self._write(encode(frame))

    def close(self) -> None:
        """Tell the adapter to leave the bus, and release it."""
        with contextlib.suppress(SourceLost, OSError):
            if self._port.is_open:
                self._write(b"C\r")
        with contextlib.suppress(OSError):
            self._port.close()

    def _reopen_if_silent(self) -> None:
        if not self._heard and self._monotonic() - self._opened_at >= AGAIN_S:
            self._send_open()

    def _send_open(self) -> None:
        """Send the commands for bit rate and mode.

        Some firmware does not know ``L`` and stays silent: after two attempts without an answer
        the third sets its own silent mode.
        """
        self._openings += 1
        self._opened_at = self._monotonic()
        mode = "L" if self._settings.listen_only else "O"
        if mode == "L" and self._openings > 2 and self._openings % 2:
            mode = "M1\rO"
        rate = SLCAN_BITRATES[self._settings.bitrate]
        self._write(_EMPTY_LINES + f"C\rS{rate}\r{mode}\r".encode())

    def _write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except (OSError, serial.SerialException, ValueError) as error:
            raise _make_loss_error(self._settings.channel) from error


def choose_pause(n: int, since_s: float) -> float:
    """Return the pause after a read of *n* bytes that took place *since_s* after the previous."""
    if n >= MANY:
        return 0.0
    return GATHER_DENSE_S if n > DENSE * since_s else GATHER_S


class _Poll:
    """Waits for a serial port and reads what it holds."""

    def __init__(self, port: serial.Serial) -> None:
        self._port = port
        self._poll = None
        if hasattr(select, "poll"):  # without the descriptor limit of pyserial's select
            self._fd = port.fileno()
            self._poll = select.poll()
            self._poll.register(self._fd, select.POLLIN)

    def wait(self, timeout_s: float) -> bool:
        """Wait; returns whether there is something to read, including an error."""
        if self._poll is not None:
            return bool(self._poll.poll(timeout_s * 1000))
        end = time.monotonic() + timeout_s
        while not self._port.in_waiting:
            if time.monotonic() >= end:
                return False
            time.sleep(GATHER_S)
        return True

    def read(self) -> bytes:
        """Read all available bytes; raises OSError if the device is gone."""
        if self._poll is not None:
            data = os.read(self._fd, CHUNK)
            if not data:
                raise OSError("end of file")
            return data
        return bytes(self._port.read(self._port.in_waiting))


def _make_loss_error(channel: str) -> SourceLost:
    return SourceLost(f"the CAN adapter {channel} is gone: it was unplugged or has failed")


def _explain_open_failure(channel: str, error: Exception) -> str:
    code = getattr(error, "errno", None)
    if code == 2:
        return f"there is no serial device {channel}: is the CAN adapter plugged in?"
    if code == 13:
        return f"no permission to open {channel}: add the user to the group that owns it"
    if code in (11, 16):
        return f"{channel} is in use by another program"
    return f"{channel} cannot be opened as a serial device"
