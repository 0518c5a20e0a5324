"""Reads the frames of CAN logs: candump's, Vector's ASC and BLF, PEAK's TRC.

python-can knows the last three, and gives up at the first odd line; here it goes on with the next
one, which is counted. What it does not know is put right on the way in: dates of ASC logs, their
time stamps that count from the line before, and traces of version 1.2.
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

from runtime.bridge.can.frames import EXTENDED, LARGEST_ID, LATEST, LONGEST, Batch, batch_of
from runtime.bridge.formats.can_recording import CHUNK, Tally, line_blocks
from runtime.bridge.formats.options import UnreadableRecording

_ERROR: Final = 0x2000_0000
"""Flag of an error frame in an id of candump's."""
_LOG: Final = re.compile(
    r"\((?P<t>\d{1,17}(?:\.\d{1,9})?)\)\s+(?P<channel>[^\s#]{1,32})\s+"
    r"(?P<id>[0-9A-F]{3}|[0-9A-F]{8})#(?:(?P<remote>R\d?)|(?:#.)?(?P<data>\S*))"
    r"(?:\s+[RT])?",
    re.ASCII | re.IGNORECASE,
)
"""A line of a log file (``-l``, ``-L``)."""
_CONSOLE: Final = re.compile(
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
_ASC: Final = re.compile(r"\s*(date\s|base\s+(hex|dec)|//|begin triggerblock)", re.IGNORECASE)
_DELTAS: Final = re.compile(r"base\s.*\srelative\s*$", re.IGNORECASE)
_END_OF_HEAD: Final = "no internal events logged"
"""Without this line the reader of ASC logs takes the first frame for the end of the head."""
_VERSIONS: Final = frozenset("1.0 1.1 1.2 1.3 2.0 2.1".split())
_FAULTS: Final = (
    can.CanError, BLFParseError, ValueError, LookupError, TypeError, ArithmeticError, OSError,
    struct.error, zlib.error, NotImplementedError,
)  # fmt: skip
"""What comes out of python-can where a log is damaged."""
_OBJECT: Final = struct.Struct("<4sHHLL")
_CONTAINER: Final = 10
_PACKED: Final = 16
"""Bytes before the packed data of a container."""
_MOST: Final = 64 << 20
"""Bytes of an unpacked container; a larger one is a fault or an attack."""
_AS_WRITTEN: Final = "as written, read as UTC"


class _Frame(NamedTuple):
    """One frame as its log has it."""

    t: float
    can_id: int
    extended: bool
    data: bytes | bytearray | None
    """None: a remote frame."""
    channel: str
    error: bool = False


def read_candump(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """The frames of a candump log; a file without any frame gives none."""
    return _batches(_candump(stream, tally), tally)


def _candump(stream: BinaryIO, tally: Tally) -> Iterator[_Frame]:
    for line in filter(None, map(str.strip, _text_lines(stream, tally))):
        match = _LOG.fullmatch(line) or _CONSOLE.fullmatch(line)
        try:
            if match is None:
                raise ValueError("no line of candump's")
            frame = _candump_frame(match)
        except ValueError:
            tally.malformed += 1
        else:
            yield frame


def _candump_frame(match: re.Match[str]) -> _Frame:
    """Raises ValueError where it is none."""
    fields = match.groupdict()
    extended, can_id = len(fields["id"]) == 8, int(fields["id"], 16)
    data = None
    if fields["remote"] is None:
        length = fields.get("length")
        digits = fields["data"] if length is None else fields["data"][: 3 * int(length)]
        data = bytes.fromhex(digits)
        if length is not None and len(data) != int(length):
            raise ValueError("of another length than it says")
    try:
        t = float(fields["t"])
    except ValueError:
        t = datetime.fromisoformat(fields["t"].strip()).replace(tzinfo=UTC).timestamp()
    error = extended and bool(can_id & _ERROR)
    return _Frame(t, can_id & LARGEST_ID, extended, data, fields["channel"], error)


def read_asc(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """The frames of an ASC log."""
    lines = _Lines(_asc_lines(stream, tally), _END_OF_HEAD)
    messages = _patiently(can.ASCReader(cast(Any, lines)), lines, tally)
    return _batches(
        (_frame(one, 1)._replace(t=one.timestamp + (tally.created or 0.0)) for one in messages),
        tally,
    )


def read_trc(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """The frames of a TRC trace."""
    lines = _Lines(_trc_lines(stream, tally))
    reader = can.TRCReader(cast(Any, lines))

    def frames() -> Iterator[_Frame]:
        for message in _patiently(reader, lines, tally):
            if tally.created is None and reader.start_time is not None:
                tally.created = reader.start_time.timestamp()
                tally.notes["start_date"] = _AS_WRITTEN
            yield _frame(message, 0)

    return _batches(frames(), tally)


def read_blf(stream: BinaryIO, tally: Tally) -> Iterator[Batch]:
    """The frames of a BLF log; what follows the first damage is left out, and told as a doubt."""
    begin = stream.tell()
    try:
        _check_containers(stream, tally)
        stream.seek(begin)
        reader = can.BLFReader(cast(Any, _Opened(stream)))
    except _FAULTS:
        raise UnreadableRecording("the file is not a BLF log, or its head is damaged") from None
    if reader.start_timestamp > 0:
        tally.created = reader.start_timestamp
        tally.notes["start_date"] = _AS_WRITTEN

    def frames() -> Iterator[_Frame]:
        with contextlib.suppress(*_FAULTS):  # the damage was told
            for message in reader:
                yield _frame(message, 1)

    return _batches(frames(), tally)


def _frame(message: can.Message, first_channel: int) -> _Frame:
    """A message of python-can; *first_channel* is the log's name of its channel 0."""
    channel: Any = message.channel
    return _Frame(
        message.timestamp,
        message.arbitration_id,
        message.is_extended_id,
        None if message.is_remote_frame else message.data,
        str((channel or 0) + first_channel),
        message.is_error_frame,
    )


class _Opened:
    """The part of a file that python-can uses; whoever opened the file closes it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.read = stream.read
        self.write = None

    def close(self) -> None:
        """See the class."""


class _Lines:
    """Lines in place of a text file."""

    def __init__(self, lines: Iterator[str], restart: str = "") -> None:
        self._lines = lines
        self.restart = restart
        """What a reader that begins again needs to be told first."""
        self.read = self.write = None
        self.before = ""
        """A line to be given first."""
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
        """Whoever opened the file closes it."""


def _text_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    for block in line_blocks(stream, tally):
        yield from block.decode("utf-8", "replace").removeprefix("\ufeff").split("\n")


def _asc_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    """With absolute stamps; raises `UnreadableRecording` where the first line is none of ASC's."""
    opened = deltas = ended = False
    now = 0.0
    for line in _text_lines(stream, tally):
        if not opened:
            if not _ASC.match(line):
                text = "the file is not an ASC log: it begins with no date and no base"
                raise UnreadableRecording(text)
            opened = True
        head = line.lstrip()[:1].lower()
        if head in ("d", "b"):
            deltas = deltas or bool(_DELTAS.match(line.strip()))
            tally.notes["time_stamps"] = "relative" if deltas else "absolute"
            if (moment := _moment(line.strip())) is not None:
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


def _moment(line: str) -> float | None:
    """Unix seconds of a date in English or German, read as UTC."""
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


def _trc_lines(stream: BinaryIO, tally: Tally) -> Iterator[str]:
    """Lines of versions that python-can knows; raises `UnreadableRecording` for others."""
    version = ""
    for line in filter(None, map(str.strip, _text_lines(stream, tally))):
        if not version:
            if not line.startswith(";"):
                text = "the file is not a TRC trace: it has no head of lines with ;"
                raise UnreadableRecording(text)
            version = "1.0"
        if line.startswith(";$FILEVERSION="):
            version = line.partition("=")[2]
            if version not in _VERSIONS:
                raise UnreadableRecording("the trace is of a version that is not known")
            if version == "1.2":
                line = ";$FILEVERSION=1.3"
        elif version == "1.2" and not line.startswith(";"):
            words = line.split(maxsplit=5)
            line = " ".join([*words[:5], "-", *words[5:]])  # the reserved column of 1.3
        tally.notes["version"] = version
        yield line


def _check_containers(stream: BinaryIO, tally: Tally) -> None:
    """Tell of damage, and refuse a log with a container that would not fit memory."""
    if stream.read(4) != b"LOGG":
        raise UnreadableRecording("the file is not a BLF log")
    stream.seek(int.from_bytes(stream.read(4), "little") - 8, 1)
    damaged = False
    while (head := stream.read(_OBJECT.size)) and not damaged:
        if len(head) < _OBJECT.size:
            damaged = True
            break
        mark, _, _, size, kind = _OBJECT.unpack(head)
        body = stream.read(max(size - _OBJECT.size, 0))
        stream.read(size % 4)
        damaged = mark != b"LOBJ" or len(body) != size - _OBJECT.size
        if kind == _CONTAINER and body[:1] == b"\x02" and not damaged:
            unpacker = zlib.decompressobj()
            try:
                unpacker.decompress(body[_PACKED:], _MOST)
            except zlib.error:
                damaged = True
            if unpacker.unconsumed_tail:
                raise UnreadableRecording("a container of the BLF log is too large")
            damaged = damaged or not unpacker.eof
    if damaged:
        tally.doubts.append(("log_damaged", "the log ends in a damaged part, which is left out"))


def _patiently(reader: Iterable[can.Message], lines: _Lines, tally: Tally) -> Iterator[can.Message]:
    """The messages of a text log, beyond lines that python-can cannot read."""
    while not lines.ended:
        try:
            yield from reader
        except UnreadableRecording:
            raise
        except _FAULTS:
            tally.malformed += 1
            lines.before = lines.restart


def _batches(frames: Iterable[_Frame], tally: Tally) -> Iterator[Batch]:
    """The data frames that are wanted; all others are counted."""
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
        elif tally.takes(channel, 1):
            t.append(moment)
            keys.append(can_id | EXTENDED if extended else can_id)
            data.append(bytes(payload))
            if len(t) >= CHUNK:
                yield batch_of(t, keys, data)
                t, keys, data = [], [], []
    if t:
        yield batch_of(t, keys, data)
