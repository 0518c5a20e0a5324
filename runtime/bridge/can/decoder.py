"""Decodes batches of CAN frames, live and from logs, into one column of numbers per signal.

The values equal those of cantools to the bit: integers are scaled with one rounding, floats as
they are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from cantools.database.can import Message, Signal
from cantools.database.conversion import BaseConversion

from runtime.bridge.can.frames import Batch, Bytes, Flags, Rows
from runtime.bridge.session.recording import Numbers

_WORD: Final = 64
_EXACT: Final = 53
_FLOATS: Final = {16: np.float16, 32: np.float32, 64: np.float64}
_UNSIGNED: Final = {16: np.uint16, 32: np.uint32, 64: np.uint64}
Words: TypeAlias = npt.NDArray[np.uint64]
Branches: TypeAlias = Mapping[str, Mapping[int, "_Node"]]


class Column(NamedTuple):
    """The values of one signal of one message in a batch."""

    name: str
    place: int
    """Position of the signal in its message, from 0."""
    rows: Rows
    """Rows of the batch, rising; columns with the same rows share the array."""
    values: Numbers


class _Field(NamedTuple):
    """Position and encoding of a signal."""

    name: str
    place: int
    ends: int
    """Minimum bits of the payload."""
    first: int
    """First byte of its word."""
    big: bool
    left: int
    """Bits above the signal in its word."""
    length: int
    signed: bool
    conversion: BaseConversion
    linear: tuple[float, float] | None
    """Scale and offset if floats are as exact as integers; None: cantools converts."""

    @property
    def is_wide(self) -> bool:
        """Whether it spans more than 8 bytes."""
        return self.left + self.length > _WORD


class _Node(NamedTuple):
    fields: tuple[_Field, ...]
    branches: Branches


class _Payload:
    """The payloads of one message in a batch, with the words that contain its signals."""

    def __init__(self, data: Bytes, length: Bytes, rows: Rows, width: int) -> None:
        self._data = data
        self._width = width
        self.length = length
        self.rows = rows
        self._shortest = int(length.min())
        self._words: dict[tuple[int, bool], Words] = {}
        self._long_enough: dict[int, tuple[Rows, Flags | None]] = {}

    def select_usable(self, ends: int) -> tuple[Rows, Flags | None]:
        """Return the rows with payloads of this many bits, and their mask; None for all rows."""
        if self._shortest * 8 >= ends:
            return self.rows, None
        if ends not in self._long_enough:
            mask = self.length.astype(np.intp) * 8 >= ends
            self._long_enough[ends] = self.rows[mask], mask
        return self._long_enough[ends]

    def read_word(self, first: int, *, big: bool) -> Words:
        """Return eight bytes from *first* on as one number per frame; zeros beyond the payload."""
        if (first, big) not in self._words:
            part = self._data[:, first : first + 8]
            if part.shape[1] < 8:
                part = np.pad(part, ((0, 0), (0, 8 - part.shape[1])))
            part = np.ascontiguousarray(part)
            self._words[first, big] = part.view(">u8" if big else "<u8")[:, 0].astype(np.uint64)
        return self._words[first, big]

    def read_integers(self, field: _Field) -> list[int]:
        """Return the raw numbers of a signal across nine bytes or more; slow."""
        order: Literal["big", "little"] = "big" if field.big else "little"
        below = self._width * 8 - field.left - field.length if field.big else field.left
        mask = (1 << field.length) - 1
        data = self._data[:, : self._width]
        padded = np.pad(data, ((0, 0), (0, self._width - data.shape[1])))
        return [(int.from_bytes(row.tobytes(), order) >> below) & mask for row in padded]

    def select(self, chosen: Flags) -> "_Payload":
        """Select some of these payloads."""
        return _Payload(self._data[chosen], self.length[chosen], self.rows[chosen], self._width)


class Decoder:
    """Decodes batches by the messages of one or more databases; keeps nothing between batches."""

    def __init__(self, messages: Mapping[int, Message]) -> None:
        self._messages = {
            key: (_compile(message), message.length) for key, message in messages.items()
        }
        self.units = {
            signal.name: signal.unit or ""
            for message in messages.values()
            for signal in message.signals
        }
        """Unit of each signal; empty if the databases state none."""
        self.unknown: Counter[int] = Counter()
        """Frames of unknown messages by id."""
        self.decoded = 0
        """Frames of known messages."""
        self.truncated = 0
        """Those shorter than their message."""
        self.unknown_multiplexer = 0
        """Those with a multiplexer value that the database lacks."""

    def knows(self, key: int) -> bool:
        """Return whether frames of this id can be decoded."""
        return key in self._messages

    def decode(self, batch: Batch) -> list[Column]:
        """Decode a batch into columns, message by message."""
        columns: list[Column] = []
        for key, rows in _group_by_key(batch):
            message = self._messages.get(key)
            if message is None:
                self.unknown[key] += len(rows)
                continue
            node, width = message
            length = batch.length[rows]
            self.decoded += len(rows)
            self.truncated += int(np.count_nonzero(length < width))
            payload = _Payload(batch.data[rows], length, rows, width)
            columns.extend(self._decode_node(node, payload))
        return columns

    def _decode_node(self, node: _Node, payload: _Payload) -> Iterator[Column]:
        raw: dict[str, tuple[Rows, Numbers]] = {}
        for field in node.fields:
            rows, mask = payload.select_usable(field.ends)
            if not len(rows):
                continue
            values = _decode(payload, field)
            if mask is not None:
                values = values[mask]
            if field.name in node.branches:
                raw[field.name] = rows, values
            yield Column(field.name, field.place, rows, values)
        for name, branches in node.branches.items():
            if name not in raw:
                continue
            rows, values = raw[name]
            inside = (
                payload if rows is payload.rows else payload.select(np.isin(payload.rows, rows))
            )
            chosen = np.trunc(values)
            decoded = np.zeros(len(rows), np.bool_)
            for number in np.unique(chosen[np.isfinite(chosen)]).tolist():
                branch = branches.get(int(number))
                if branch is None:
                    continue
                mask = chosen == number
                decoded |= mask
                yield from self._decode_node(branch, inside if mask.all() else inside.select(mask))
            self.unknown_multiplexer += int(len(rows) - np.count_nonzero(decoded))


def _group_by_key(batch: Batch) -> Iterator[tuple[int, Rows]]:
    """Yield the ids of a batch with their rows."""
    if not len(batch):
        return
    key = batch.key
    if int(key.max()) < 1 << 16:
        code = key.astype(np.uint16)  # sorted in linear time
    else:
        code = np.unique(key, return_inverse=True)[1].astype(np.uint16)
    order = np.argsort(code, kind="stable")
    begins = np.flatnonzero(np.diff(code[order], prepend=code[order[0]])).tolist()
    for begin, end in zip([0, *begins], [*begins, len(order)], strict=True):
        rows = order[begin:end]
        yield int(key[rows[0]]), rows


def _compile(message: Message) -> _Node:
    places: dict[str, int] = {}
    return _build_node(message, message._codecs, places)  # type: ignore[arg-type] # noqa: SLF001 - the tree of multiplexers


def _build_node(message: Message, codec: Mapping[str, object], places: dict[str, int]) -> _Node:
    fields = []
    for signal in codec["signals"]:  # type: ignore[attr-defined]
        place = places.setdefault(signal.name, len(places))
        if (field := _build_field(signal, place, message.length)) is not None:
            fields.append(field)
    branches = {
        name: {int(number): _build_node(message, below, places) for number, below in chosen.items()}
        for name, chosen in codec["multiplexers"].items()  # type: ignore[attr-defined]
    }
    return _Node(tuple(fields), branches)


def _build_field(signal: Signal, place: int, width: int) -> _Field | None:
    """Compile a signal; None if it does not lie within the message."""
    big = signal.byte_order == "big_endian"
    start = 8 * (signal.start // 8) + 7 - signal.start % 8 if big else signal.start
    ends = start + signal.length
    if ends > 8 * width or signal.length < 1:
        return None
    first = 0 if ends <= _WORD else start // 8
    within = start - 8 * first
    if within + signal.length > _WORD:
        first, left = 0, start  # across nine bytes
    else:
        left = within if big else _WORD - within - signal.length
    return _Field(
        signal.name,
        place,
        ends,
        first,
        big,
        left,
        signal.length,
        signal.is_signed,
        signal.conversion,
        _find_linear_scaling(signal),
    )


def _find_linear_scaling(signal: Signal) -> tuple[float, float] | None:
    """Return scale and offset if float arithmetic gives the values of cantools, else None."""
    scale, offset = signal.conversion.scale, signal.conversion.offset
    if signal.conversion.is_float:
        return float(scale), float(offset)
    if signal.length > _EXACT:
        return None
    whole = float(scale).is_integer() and float(offset).is_integer()
    if whole and abs(scale) * 2.0**signal.length + abs(offset) >= 2.0**_EXACT:
        return None
    return float(scale), float(offset)


def _decode(payload: _Payload, field: _Field) -> Numbers:
    """Decode a field in all payloads; the caller drops those that are too short."""
    length, right = field.length, np.uint64(_WORD - field.length if field.length < _WORD else 0)
    if field.is_wide:
        bits = np.array(payload.read_integers(field), object)
    else:
        bits = payload.read_word(field.first, big=field.big) << np.uint64(field.left) >> right
    if field.conversion.is_float:
        with np.errstate(all="ignore"):  # signalling NaNs
            raw = bits.astype(_UNSIGNED[length]).view(_FLOATS[length]).astype(np.float64)
    elif field.linear is None or field.is_wide:
        top = 1 << (length - 1) if field.signed else 0
        convert = field.conversion.raw_to_scaled  # cantools' own: too long for exact floats
        numbers = [convert((bit ^ top) - top, False) for bit in bits.tolist()]
        return np.array(numbers, np.float64)
    elif field.signed:
        raw = ((bits << right).view(np.int64) >> right.astype(np.int64)).astype(np.float64)
    else:
        raw = bits.astype(np.float64)
    scale, offset = field.linear or (1.0, 0.0)
    with np.errstate(all="ignore"):  # a sensor may send any bits
        return raw if (scale, offset) == (1.0, 0.0) else raw * scale + offset
