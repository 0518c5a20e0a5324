"""From the bytes of a serial adapter to frames."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.can.frames import EXTENDED, CanFrame
from runtime.bridge.can.slcan import FD_LENGTHS, LONGEST_LINE, SlcanParser, encode

Parsed = list[tuple[int, bytes]]


def parse(data: bytes, *cuts: int) -> tuple[Parsed, int]:
    """What a parser makes of *data*, cut there."""
    parser = SlcanParser()
    frames: Parsed = []
    malformed = 0
    ends = sorted({0, *(cut % (len(data) + 1) for cut in cuts), len(data)})
    for begin, end in pairwise(ends):
        more, wrong = parser.feed(data[begin:end])
        frames += more
        malformed += wrong
    return frames, malformed


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (b"t12320aBf\r", (0x123, b"\x0a\xbf")),
        (b"t7FF0\r", (0x7FF, b"")),
        (b"t0001ff\r", (0, b"\xff")),
        (b"t123401020304ABCD\r", (0x123, b"\x01\x02\x03\x04")),  # a time stamp
        (b"t0000EA5F\r", (0, b"")),
        (b"T1FFFFFFF101\r", (0x1FFFFFFF | EXTENDED, b"\x01")),
        (b"T000001231010000\r", (0x123 | EXTENDED, b"\x01")),
        (b"d1239" + b"01" * 12 + b"\r", (0x123, b"\x01" * 12)),
        (b"D00000123f" + b"02" * 64 + b"\r", (0x123 | EXTENDED, b"\x02" * 64)),
        (b"b123Fa0" + b"03" * 63 + b"\r", (0x123, b"\xa0" + b"\x03" * 63)),
        (b"B00000123A" + b"04" * 16 + b"\r", (0x123 | EXTENDED, b"\x04" * 16)),
        (b"t123101\n", (0x123, b"\x01")),
        (b"t123101\r\n", (0x123, b"\x01")),
        (b"\r\x07z\rt123101\r", (0x123, b"\x01")),
    ],
)
def test_every_kind_of_line_is_read(line: bytes, frame: tuple[int, bytes]) -> None:
    assert parse(line) == ([frame], 0)


@pytest.mark.parametrize(
    "line",
    [b"r1238\r", b"R000001238\r", b"r12381234\r", b"z\r", b"Z\r", b"V1013\r", b"NA12C\r", b"F00\r",
     b"\r\r", b"\x07\x07", b""],
)  # fmt: skip
def test_what_is_no_data_frame_is_passed_over(line: bytes) -> None:
    assert parse(line + b"t123101\r" + line) == ([(0x123, b"\x01")], 0)


@pytest.mark.parametrize(
    "line",
    [
        b"t8001FF",  # an id of more than 11 bits
        b"T200000001FF",  # of more than 29
        b"t1239" + b"00" * 9,  # nine bytes
        b"t123F" + b"00" * 8,
        b"t1232AB",  # a byte is missing
        b"t1232ABC",
        b"t1232ABCDE",  # half a byte too much
        b"t1232ABCDEFG",  # no time stamp
        b"t1232AXCD",
        b"t 1 2AB",
        b"t+121AB",
        b"t1_31AB",
        b"t1232 A B",
        b"t12",
        b"t",
        b"r123",
        b"r123800",
        b"r800800",
        b"d1239" + b"00" * 11,
        b"x1232ABCD",
        b"zz",
        b"hello",
        b"\x00\xff\xfe",
    ],
)
def test_what_is_none_is_counted_and_the_next_frame_read(line: bytes) -> None:
    good = [(0x123, b"\x01"), (0x123, b"\xab\xcd")]
    around = b"t123101\rt1232ABCD\r%s\rt123101\rt1232abcd\r" % line
    assert parse(around) == (good * 2, 1)


@pytest.mark.parametrize("noise", [b"\x00\x80", b"t12", b"T0000", b"zt1", b"x" * 1000, b"r"])
def test_a_frame_behind_noise_without_an_end_is_found(noise: bytes) -> None:
    expected = ([(0x123, b"\xab\xcd")], 1)
    assert parse(noise + b"t1232ABCD\r") == expected
    assert parse(noise + b"t1232ABCD\r", *range(1, len(noise) + 9)) == expected


def test_a_stream_without_ends_does_not_grow() -> None:
    parser = SlcanParser()
    wrong = [parser.feed(b"A" * 4096)[1] for _ in range(100)]
    assert wrong == [1] + [0] * 99
    assert len(parser._rest) <= LONGEST_LINE
    assert parser.feed(b"\rt123101\r") == ([(0x123, b"\x01")], 0)
    assert parser.feed(b"?\rt123101\r") == ([(0x123, b"\x01")], 1)


keys = st.one_of(
    st.integers(0, 0x7FF), st.integers(0, (1 << 29) - 1).map(lambda number: number | EXTENDED)
)
payloads = st.sampled_from(FD_LENGTHS).flatmap(lambda n: st.binary(min_size=n, max_size=n))
frames = st.builds(CanFrame, st.just(0.0), keys, payloads)
# Bytes in which nobody can see a frame: none that end a line or begin one.
noise = st.binary(max_size=40).map(
    lambda data: bytes(byte for byte in data if byte not in b"\r\n\x07tTrRdDbBzZFVvN")
)


@given(st.lists(st.tuples(frames, noise, st.booleans())), st.lists(st.integers(0, 10_000)))
def test_no_valid_line_is_lost_however_the_stream_is_cut(
    parts: list[tuple[CanFrame, bytes, bool]], cuts: list[int]
) -> None:
    stream, wrong = b"", 0
    for frame, dirt, lower in parts:
        line = encode(frame)
        line = line[:1] + line[1:].lower() if lower else line
        stream += (dirt + b"\r" if dirt else b"") + line
        wrong += bool(dirt)
    expected = [(frame.key, frame.data) for frame, _, _ in parts]
    assert parse(stream, *cuts) == (expected, wrong)


@given(st.binary(max_size=2000), st.lists(st.integers(0, 10_000)))
def test_any_bytes_give_the_same_in_any_pieces(data: bytes, cuts: list[int]) -> None:
    assert parse(data, *cuts) == parse(data)


@pytest.mark.parametrize(
    ("key", "length"),
    [(0x800, 1), (1 << 29 | EXTENDED, 1), (-1, 1), (1, 9), (1, 65)],
)
def test_what_no_bus_can_carry_is_not_written(key: int, length: int) -> None:
    with pytest.raises(ValueError, match="CAN"):
        encode(CanFrame(0.0, key, bytes(length)))
