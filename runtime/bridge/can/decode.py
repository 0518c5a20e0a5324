"""Turns the frames of a bus into the signals of a car."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias, cast

from cantools.database.can import Message
from cantools.database.can.signal import Signal
from cantools.database.utils import create_encode_decode_formats

from runtime.bridge.can.pipeline import Pipeline, Plan
from runtime.bridge.can.statistics import Known, id_text
from runtime.bridge.can.values import CanFrame

Decoded: TypeAlias = dict[str, float]
Unpack: TypeAlias = Callable[[bytes], Decoded]
NO_CAR: Final = Plan({}, ())
"""Every signal goes out as the bus has it."""
log = logging.getLogger(__name__)


class Stamped(NamedTuple):
    """The signals that one frame brought."""

    t: float
    """Seconds since the epoch."""
    signals: Mapping[str, float]
    """Finite."""


class Decoder:
    """Decodes frames one after the other; for one thread.

    What cannot be decoded, an unknown multiplexer value for instance, is counted and left out.
    """

    def __init__(self, messages: Mapping[int, Message], plan: Plan = NO_CAR) -> None:
        self._plan = plan
        self._pipeline = Pipeline(plan)
        self._messages = messages
        self._unpack = {key: _unpacking(message) for key, message in messages.items()}
        self.failures: Counter[int] = Counter()
        """Frames of a known message that could not be decoded, by id."""
        self.failed = 0
        """All of them; for any thread to look at."""

    def reset(self) -> None:
        """Forget the values that were seen: what comes next belongs to another drive."""
        self._pipeline = Pipeline(self._plan)

    def decode(self, frame: CanFrame) -> Decoded | None:
        """The car's signals in a frame; None for an id that is not known."""
        unpack = self._unpack.get(frame.key)
        if unpack is None:
            return None
        try:
            return self._pipeline.feed(unpack(frame.data))
        except Exception:  # whatever a decoder does to one frame, the next one is read
            self.failed += 1
            self.failures[frame.key] += 1
            if self.failures[frame.key] == 1:
                log.warning("a frame %s cannot be decoded", id_text(frame.key), exc_info=True)
            return {}

    def decode_all(self, frames: Iterable[CanFrame]) -> list[Stamped]:
        """The signals of those frames that brought any."""
        decode = self.decode
        return [Stamped(frame.t, found) for frame in frames if (found := decode(frame))]


def known_messages(
    messages: Mapping[int, Message], rates: Mapping[int, float | None]
) -> dict[int, Known]:
    """What is decoded, by id, for `BusStatistics`.

    *rates* are those of the car file; where it says nothing the DBC's cycle time counts.
    """
    return {
        key: Known(message.name, rates.get(key) or _rate(message))
        for key, message in messages.items()
    }


def _rate(message: Message) -> float | None:
    return 1000.0 / message.cycle_time if message.cycle_time else None


def _unpacking(message: Message) -> Unpack:
    """A function from payload to values, the same ones as `Message.decode` gives.

    Frames of full length take a way that is three times as fast.
    """

    def slow(data: bytes) -> Decoded:
        decoded = message.decode(data, decode_choices=False, allow_truncated=True)
        return cast(Decoded, decoded)  # numbers: choices were not asked for

    if message.is_multiplexed() or message.is_container:
        return slow
    formats = create_encode_decode_formats(message.signals, message.length)
    big, little = formats.big_endian.unpack, formats.little_endian.unpack
    length = message.length
    scalings = [(signal.name, *_scaling(signal)) for signal in message.signals]
    both = {signal.byte_order for signal in message.signals} == {"big_endian", "little_endian"}
    only_big = all(signal.byte_order == "big_endian" for signal in message.signals)

    def fast(data: bytes) -> Decoded:
        if len(data) != length:
            return slow(data)
        if both:
            raw = {**big(data), **little(data[::-1])}
        else:
            raw = big(data) if only_big else little(data[::-1])
        return {
            name: raw[name] * scale + offset if scaled else raw[name]
            for name, scaled, scale, offset in scalings
        }

    return fast


def _scaling(signal: Signal) -> tuple[bool, float, float]:
    """Whether to scale, by what, and the offset; whole numbers are kept whole."""
    conversion = signal.conversion
    scale, offset = conversion.scale, conversion.offset
    if scale == 1 and offset == 0:
        return False, 1, 0
    if not conversion.is_float and float(scale).is_integer() and float(offset).is_integer():
        return True, int(scale), int(offset)
    return True, scale, offset
