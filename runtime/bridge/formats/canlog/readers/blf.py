"""Reads Vector's binary logs (BLF): compressed containers of objects, of which frames are kept."""

import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.can.dbc import EXTENDED
from runtime.bridge.formats.canlog.readers.lines import LATEST, wanted
from runtime.bridge.formats.canlog.values import (
    CLASSIC,
    LARGEST_ID,
    LONGEST,
    Batch,
    Bytes,
    Rows,
    Tally,
)
from runtime.bridge.formats.errors import UnreadableRecording

_FILE: Final = struct.Struct("<4sL8xQQLL8H8H")
_OBJECT: Final = struct.Struct("<4sHHLL")
_CONTAINER: Final = struct.Struct("<H6xL4x")
_MARK: Final = b"LOBJ"
_MOST: Final = 64 << 20
"""Bytes of an unpacked container or an object; a larger one is a fault or an attack."""
_HEADS: Final = {1: 16, 2: 24}
"""Bytes of the second part of an object's head by the head's version."""
_HEAD: Final = np.dtype([("base", "V16"), ("flags", "<u4"), ("rest", "<u4"), ("t", "<u8")])
_CAN: Final = np.dtype(
    [("channel", "<u2"), ("flags", "u1"), ("dlc", "u1"), ("id", "<u4"), ("data", "u1", 8)]
)
_FD: Final = np.dtype(
    [("channel", "<u2"), ("flags", "u1"), ("dlc", "u1"), ("id", "<u4"), ("skip", "V4"),
     ("bits", "u1"), ("fd", "u1"), ("valid", "u1"), ("skip2", "V5"), ("data", "u1", 64)]
)  # fmt: skip
_FD64: Final = np.dtype(
    [("channel", "u1"), ("dlc", "u1"), ("valid", "u1"), ("tx", "u1"), ("id", "<u4"),
     ("skip", "V4"), ("flags", "<u4"), ("skip2", "V22"), ("offset", "u1"), ("crc", "V4")]
)  # fmt: skip
_LOG_CONTAINER: Final = 10
_KINDS: Final = {1: _CAN, 86: _CAN, 100: _FD, 101: _FD64}
_ERRORS: Final = (2, 73, 104)
_REMOTE: Final = 0x80
_REMOTE_FD64: Final = 0x10


class BlfReader:
    """A BLF log; *channel* is the number of a channel, from 1, None: all."""

    def __init__(self, stream: BinaryIO, channel: str | None = None) -> None:
        self.tally = Tally()
        self._stream = stream
        self._channel = channel
        self._started = 0.0

    def __iter__(self) -> Iterator[Batch]:
        """A batch a container; raises `UnreadableRecording` for a file that is no BLF log.

        What follows the first damaged container is left out, and told as a doubt.
        """
        self._head()
        tail = b""
        try:
            for data in self._containers():
                data = tail + data
                batch, used = self._batch(data)
                tail = data[used:]
                if len(batch):
                    yield batch
        except (zlib.error, struct.error, UnreadableRecording):
            said = "the log ends in a damaged part, which is left out"
            self.tally.doubts.append(("log_damaged", said))

    def _head(self) -> None:
        head = self._stream.read(_FILE.size)
        if len(head) < _FILE.size or not head.startswith(b"LOGG"):
            raise UnreadableRecording("the file is no BLF log")
        found = _FILE.unpack(head)
        if not _FILE.size <= found[1] <= 4096:
            raise UnreadableRecording("the head of the BLF log is damaged")
        self._stream.read(found[1] - _FILE.size)
        year, month, _, day, hour, minute, second, ms = found[6:14]
        try:
            moment = datetime(year, month, day, hour, minute, second, ms * 1000, UTC)
        except ValueError:
            return
        self.tally.created = self._started = moment.timestamp()
        self.tally.notes["start_date"] = "as written, read as UTC"

    def _containers(self) -> Iterator[bytes]:
        while len(head := self._stream.read(_OBJECT.size)) == _OBJECT.size:
            mark, _, _, size, kind = _OBJECT.unpack(head)
            if mark != _MARK or not _OBJECT.size <= size <= _MOST:
                raise UnreadableRecording("an object of the log is damaged")
            body = self._stream.read(size - _OBJECT.size)
            self._stream.read(size % 4)
            if kind != _LOG_CONTAINER:
                continue
            method, _ = _CONTAINER.unpack_from(body)
            packed = body[_CONTAINER.size :]
            if method == 0:
                yield packed
            elif method == 2:
                unpacker = zlib.decompressobj()
                data = unpacker.decompress(packed, _MOST)
                yield data
                if not unpacker.eof:
                    raise UnreadableRecording("a container of the log is damaged")
            else:
                self.tally.malformed += 1
        if head:
            raise UnreadableRecording("the log ends within an object")

    def _batch(self, data: bytes) -> tuple[Batch, int]:
        """The frames of unpacked objects, and how many bytes of it were whole objects."""
        places: dict[tuple[int, int], list[int]] = {}
        at, end = 0, len(data)
        unpack = _OBJECT.unpack_from
        while True:
            at = data.find(_MARK, at)
            if at < 0 or at + _OBJECT.size > end:
                at = max(end - 3, 0) if at < 0 else at
                break
            _, _, version, size, kind = unpack(data, at)
            if size < _OBJECT.size or size > _MOST:
                self.tally.malformed += 1
                at += 4
                continue
            if at + size > end:
                break
            if kind in _KINDS and version in _HEADS:
                needed = _OBJECT.size + _HEADS[version] + _KINDS[kind].itemsize
                if size >= needed:
                    places.setdefault((kind, version), []).append(at)
                else:
                    self.tally.malformed += 1
            elif kind in _ERRORS:
                self.tally.errors += 1
            at += size
        text = np.frombuffer(data, np.uint8)
        parts = [
            (np.array(where, np.intp), *self._frames(text, np.array(where, np.intp), *form))
            for form, where in places.items()
        ]
        return _joined(parts), at

    def _frames(
        self, text: Bytes, at: Rows, kind: int, version: int
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], Batch]:
        head = _records(text, at, _HEAD)
        body_at = at + _OBJECT.size + _HEADS[version]
        body = _records(text, body_at, _KINDS[kind])
        t = np.where(head["flags"] == 1, head["t"] / 1e5, head["t"] / 1e9) + self._started
        if kind == 101:
            remote = (body["flags"] & _REMOTE_FD64) != 0
            length = np.minimum(body["valid"], LONGEST)
            payload = self._payload(text, body_at + _FD64.itemsize, length)
        else:
            remote = (body["flags"] & _REMOTE) != 0
            length = body["valid"] if kind == 100 else body["dlc"]
            payload = body["data"].copy()
            length = np.minimum(length, payload.shape[1]).astype(np.uint8)
        payload[np.arange(payload.shape[1]) >= length[:, None]] = 0
        extended = (body["id"] >> 31) == 1
        can_id = (body["id"] & LARGEST_ID).astype(np.int64)
        good = (np.abs(t) < LATEST) & (extended | (can_id <= 0x7FF))
        self.tally.malformed += int(np.count_nonzero(~good))
        self.tally.remote += int(np.count_nonzero(good & remote))
        good &= ~remote
        for channel in np.unique(body["channel"][good]).tolist():
            mine = good & (body["channel"] == channel)
            if not wanted(self.tally, self._channel, str(channel), int(np.count_nonzero(mine))):
                good &= ~mine
        key = np.where(extended, can_id | EXTENDED, can_id)
        return good, Batch(t, key, length.astype(np.uint8), payload)

    def _payload(self, text: Bytes, at: Rows, length: Bytes) -> Bytes:
        """Payloads of their own lengths; what an object does not have counts as zeros."""
        padded = np.concatenate((text, np.zeros(LONGEST, np.uint8)))
        view = np.lib.stride_tricks.sliding_window_view(padded, LONGEST)
        return view[np.minimum(at, len(text))].copy()


def _records(
    text: Bytes, at: Rows, form: np.dtype[np.void]
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    view = np.lib.stride_tricks.sliding_window_view(text, form.itemsize)
    return np.ascontiguousarray(view[at]).view(form)[:, 0]


def _joined(
    parts: list[tuple[Rows, np.ndarray[tuple[int], np.dtype[np.bool_]], Batch]],
) -> Batch:
    """The good frames of all kinds in the order of the log."""
    width = max((batch.data.shape[1] for _, _, batch in parts), default=CLASSIC)
    at = np.concatenate([where[good] for where, good, _ in parts] or [np.empty(0, np.intp)])
    order = np.argsort(at, kind="stable")
    data = np.zeros((len(at), width), np.uint8)
    begin = 0
    for _, good, batch in parts:
        rows = int(np.count_nonzero(good))
        data[begin : begin + rows, : batch.data.shape[1]] = batch.data[good]
        begin += rows
    if not parts:
        return Batch(np.empty(0), np.empty(0, np.int64), np.empty(0, np.uint8), data)
    t, key, length = (
        np.concatenate([batch[column][good] for _, good, batch in parts]) for column in range(3)
    )
    return Batch(t[order], key[order], length[order], data[order])
