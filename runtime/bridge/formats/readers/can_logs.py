"""Reads the frames of CAN logs: candump, Vector's ASC and BLF, PEAK's TRC.

python-can parses the last three but stops at the first odd line; here odd lines are counted and
skipped. Lines are adapted where it lacks support: dates and relative time stamps of ASC logs, and
TRC version 1.2.
"""

import contextlib
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final, NamedTuple, cast

import can
from can.io.blf import BLFParseError

from runtime.bridge.can.frames import EXTENDED, LARGEST_ID, LATEST, LONGEST, Batch, to_batch
from runtime.bridge.formats.can_recording import CHUNK, Tally, read_line_blocks
from runtime.bridge.formats.options import UnreadableRecording

_ERROR: Final = 0x2000_0000
"""Flag of error frames in ids of candump."""
_LOG_LINE: Final = re.compile(
    r"\((?P<t>\d{1,17}(?:\.\d{1,9})?)\)\s+(?P<channel>[^\s#]{1,32})\s+"
    r"(?P<id>[0-9A-F]{3}|[0-9A-F]{8})#(?:(?P<remote>R\d?)|(?:#.)?(?P<data>\S*))"
    r"(?:\s+[RT])?",
    re.ASCII | re.IGNORECASE,
)
"""A line of a log file (``-l``, ``-L``)."""
_CONSOLE_LINE: Final = re.compile(
    r"\((?P<t>[-:. \d]{1,32})\)\s+(?P<channel>\S{1,32})\s+(?:(?:RX|TX)\s+\S+\s+\S+\s+)?"
    r"(?P<id>[0-9A-F]{3}|[0-9A-F]{8})\s+\[(?P<length>\d{1,2})\]\s*"
    r"(?:(?P<remote>remote.*)|(?P<data>.*))",
    re.ASCII | re.IGNORECASE,
)
"""A line of the console output with time stamps."""
_MONTHS: Final = (
    "jan feb mar apr may jun jul aug sep oct nov dec".split(),
    "jan feb mär apr mai jun jul aug sep okt nov dez".split(),
)
_DATE: Final = re.compile(
    r"(?:date|begin triggerblock)\s.*?(\w{3,})\s+(\d{1,2})\s+"
    r"(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,6}))?\s*([ap]m)?\s+(\d{4})",
    re.IGNORECASE,
)
_ASC_HEAD: Final = re.compile(r"\s*(date\s|base\s+(hex|dec)|//|begin triggerblock)", re.IGNORECASE)
_DELTAS: Final = re.compile(r"base\s.*\srelative\s*$", re.IGNORECASE)
_END_OF_HEAD: Final = "no internal events logged"
"""Without this line python-can takes the first frame of an ASC log for the end of the head."""
_VERSIONS: Final = frozenset("1.0 1.1 1.2 1.3 2.0 2.1".split())
_FAULTS: Final = (
    can.CanError, BLFParseError, ValueError, LookupError, TypeError, ArithmeticError, OSError,
    struct.error, zlib.error, NotImplementedError,
)  # fmt: skip
"""What python-can raises on damaged logs."""
_OBJECT_HEAD: Final = struct.Struct("<4sHHLL")
_CONTAINER: Final = 10
_CONTAINER_HEAD: Final = 16
"""Bytes before the compressed data of a container."""
_LARGEST_CONTAINER: Final = 64 << 20
"""Limit on the bytes of an unpacked container, against damage and attacks."""
_AS_WRITTEN: Final = "as written, read as UTC"


class _Frame(NamedTuple):
    """One frame of a log."""

    t: float
    can_id: int
    extended: bool
    data: bytes | bytearray | None
    """None: a remote frame."""
    channel: str
    error: bool = False


def read_candump(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """Read the frames of a candump log."""
    return _batch(_read_candump_lines(stream, tally), tally)


def _read_candump_lines(stream: BinaryIO, tally: Tally) -> Iterator[_Frame]:
    for line in filter(None, map(str.strip, _read_lines(stream, tally))):
        match = _LOG_LINE.fullmatch(line) or _CONSOLE_LINE.fullmatch(line)
        try:
            if match is None:
                raise ValueError("not a line of candump")
            frame = _parse_candump_line(match)
        except ValueError:
            tally.malformed += 1
        else:
            yield frame


def _parse_candump_line(match: re.Match[str]) -> _Frame:
    """Convert a matching line; raises ValueError if it is not a frame."""
    fields = match.groupdict()
    extended, can_id = len(fields["id"]) == 8, int(fields["id"], 16)
    data = None
    if fields["remote"] is None:
        length = fields.get("length")
        digits = fields["data"] if length is None else fields["data"][: 3 * int(length)]
        data = bytes.fromhex(digits)
        if length is not None and len(data) != int(length):
            raise ValueError("length does not match the data")
    try:
        t = float(fields["t"])
    except ValueError:
        t = datetime.fromisoformat(fields["t"].strip()).replace(tzinfo=UTC).timestamp()
    error = extended and bool(can_id & _ERROR)
    return _Frame(t, can_id & LARGEST_ID, extended, data, fields["channel"], error)


def read_asc(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """Read the frames of an ASC log."""
    lines = _Lines(_adapt_asc_lines(stream, tally), _END_OF_HEAD)
    messages = _retry(can.ASCReader(cast(Any, lines)), lines, tally)
    frames = (
        _convert(message, 1)._replace(t=message.timestamp + (tally.created or 0.0))
        for message in messages
    )
    return _batch(frames, tally)


def read_trc(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """Read the frames of a TRC trace."""
    lines = _Lines(_adapt_trc_lines(stream, tally))
    reader = can.TRCReader(cast(Any, lines))

    def frames() -> Iterator[_Frame]:
        for message in _retry(reader, lines, tally):
            if tally.created is None and reader.start_time is not None:
                tally.created = reader.start_time.timestamp()
                tally.notes["start_date"] = _AS_WRITTEN
            yield _convert(message, 0)

    return _batch(frames(), tally)


def read_blf(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """Read the frames of a BLF log up to the first damage, which becomes a warning."""
    begin = stream.tell()
    try:
        _check_containers(stream, tally)
        stream.seek(begin)
        reader = can.BLFReader(cast(Any, _OpenFile(stream)))
    except _FAULTS:
        raise UnreadableRecording("the file is not a BLF log, or its head is damaged") from None
    if reader.start_timestamp > 0:
        tally.created = reader.start_timestamp
        tally.notes["start_date"] = _AS_WRITTEN

    def frames() -> Iterator[_Frame]:
        with contextlib.suppress(*_FAULTS):  # a warning names the damage
            for message in reader:
                yield _convert(message, 1)

    return _batch(frames(), tally)


def _convert(message: can.Message, first_channel: int) -> _Frame:
    """Convert a message of python-can; *first_channel* is the log's name of its channel 0."""
    channel: Any = message.channel
    return _Frame(
        message.timestamp,
        message.arbitration_id,
        message.is_extended_id,
        None if message.is_remote_frame else message.data,
        str((channel or 0) + first_channel),
        message.is_error_frame,
    )


class _OpenFile:
    """The part of a file that python-can uses; closing it does nothing."""

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.write = None

    def close(self) -> None:
        """Leave the file open for the caller."""


class _Lines:
    """Lines that python-can reads like a text file."""

    def __init__(self, lines: Iterator[str], restart: str = "") -> None:
        self._lines = lines
        self.restart = restart
        """The line that a restarted reader needs first."""
        self.read = self.write = None
        self.before = ""
        """A line to yield next."""
        self.ended = False

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line, self.before = self.before, ""
        try:
            return line or next(self._lines)
        except StopIteration:
            self.ended = True
            raise

    def close(self) -> None:
        """Leave the file open for the caller."""


def _read_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    for block in read_line_blocks(stream, tally):
        yield from block.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")


def _adapt_asc_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    """Yield lines with absolute stamps; raises `UnreadableRecording` for other files."""
    opened = deltas = ended = False
    now = 0.0
    for line in _read_lines(stream, tally):
        if not opened:
            if not _ASC_HEAD.match(line):
                text = "the file is not an ASC log: it does not begin with a date or base"
                raise UnreadableRecording(text)
            opened = True
        head = line.lstrip()[:1].lower()
        if head in ("d", "b"):
            deltas = deltas or bool(_DELTAS.match(line.strip()))
            tally.notes["time_stamps"] = "relative" if deltas else "absolute"
            if (moment := _parse_date(line.strip())) is not None:
                tally.created = moment
                tally.notes["start_date"] = _AS_WRITTEN
        elif head.isdigit() and not ended:
            ended = True
            yield _END_OF_HEAD
        if deltas and head.isdigit():
            step, _, rest = line.strip().partition(" ")
            try:
                now += float(step)
            except ValueError:
                tally.malformed += 1
                continue
            line = f"{now:.6f} {rest}"
        yield line


def _parse_date(line: str) -> float | None:
    """Parse a date in English or German as UTC; returns Unix seconds."""
    match = _DATE.match(line)
    if match is None:
        return None
    name = match[1].lower()[:3]
    month = next((names.index(name) + 1 for names in _MONTHS if name in names), 0)
    hour = int(match[3])
    if match[7]:
        hour = hour % 12 + (12 if match[7].lower() == "pm" else 0)
    micros = int((match[6] or "0").ljust(6, "0"))
    day, minute, second, year = (int(match[at]) for at in (2, 4, 5, 8))
    try:
        return datetime(year, month, day, hour, minute, second, micros, UTC).timestamp()
    except ValueError:
        return None


def _adapt_trc_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    """Yield lines for python-can; raises `UnreadableRecording` for unsupported versions."""
    version = ""
    for line in filter(None, map(str.strip, _read_lines(stream, tally))):
        if not version:
            if not line.startswith(";"):
                text = "the file is not a TRC trace: it has no header lines with ;"
                raise UnreadableRecording(text)
            version = "1.0"
        if line.startswith(";$FILEVERSION="):
            version = line.partition("=")[2]
            if version not in _VERSIONS:
                raise UnreadableRecording("the version of the trace is not supported")
            if version == "1.2":
                line = ";$FILEVERSION=1.3"
        elif version == "1.2" and not line.startswith(";"):
            words = line.split(maxsplit=5)
            line = " ".join([*words[:5], "-", *words[5:]])  # the reserved column of 1.3
        tally.notes["version"] = version
        yield line


def _check_containers(stream: BinaryIO, tally: Tally) -> None:
    """Warn of damage, and refuse a log with a container that would not fit into memory."""
    if stream.read(4) != b"LOGG":
        raise UnreadableRecording("the file is not a BLF log")
    stream.seek(int.from_bytes(stream.read(4), "little") - 8, 1)
    damaged = False
    while (head := stream.read(_OBJECT_HEAD.size)) and not damaged:
        if len(head) < _OBJECT_HEAD.size:
            damaged = True
            break
        mark, _, _, size, kind = _OBJECT_HEAD.unpack(head)
        body = stream.read(max(size - _OBJECT_HEAD.size, 0))
        stream.read(size % 4)
        damaged = mark != b"LOBJ" or len(body) != size - _OBJECT_HEAD.size
        if kind == _CONTAINER and body[:1] == b"\x02" and not damaged:
            unpacker = zlib.decompressobj()
            try:
                unpacker.decompress(body[_CONTAINER_HEAD:], _LARGEST_CONTAINER)
            except zlib.error:
                damaged = True
            if unpacker.unconsumed_tail:
                raise UnreadableRecording("a container of the BLF log is too large")
            damaged = damaged or not unpacker.eof
    if damaged:
        tally.doubts.append(("log_damaged", "the log ends in a damaged part, which is left out"))


def _retry(reader: Iterable[can.Message], lines: _Lines, tally: Tally) -> Iterator[can.Message]:
    """Yield the messages of a text log; skip lines that python-can cannot read."""
    while not lines.ended:
        try:
            yield from reader
        except UnreadableRecording:
            raise
        except _FAULTS:
            tally.malformed += 1
            lines.before = lines.restart


def _batch(frames: Iterable[_Frame], tally: Tally) -> Iterator[Batch]:
    """Batch the data frames of the selected channel; count all others."""
    t: list[float] = []
    keys: list[int] = []
    data: list[bytes] = []
    for moment, can_id, extended, payload, channel, error in frames:
        if error:
            tally.errors += 1
        elif payload is None:
            tally.remote += 1
        elif (
            not abs(moment) < LATEST
            or not 0 <= can_id <= (LARGEST_ID if extended else 0x7FF)
            or len(payload) > LONGEST
        ):
            tally.malformed += 1
        elif tally.count_and_select(channel, 1):
            t.append(moment)
            keys.append(can_id | EXTENDED if extended else can_id)
            data.append(bytes(payload))
            if len(t) >= CHUNK:
                yield to_batch(t, keys, data)
                t, keys, data = [], [], []
    if t:
        yield to_batch(t, keys, data)
