"""Rows of one form are read to the same bits as by the library, or not at all."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.bridge.formats.vbo.fixed import Scratch, parse_fixed


def plain(block: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    rows = [[float(cell) for cell in line.split()] for line in block.split(b"\n") if line.strip()]
    return np.array(rows, dtype=np.float64)


def same_bits(block: bytes, columns: int) -> bool:
    values = parse_fixed(block, columns)
    return values is not None and np.ascontiguousarray(values).tobytes() == plain(block).tobytes()


FORMS: dict[str, Callable[[float], str]] = {
    "places": lambda v: f"{v * 1e-2:+015.8f}",
    "digits": lambda v: f"{abs(int(v)):09d}",
    "powers": lambda v: f"{v:+.6E}",
    "small": lambda v: f"{v * 1e-9:+.9e}",
    "large": lambda v: f"{v * 1e9:+.3E}",
    "point": lambda v: f"{abs(int(v)):07d}.",
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_nearest_number(name: str, line_end: str) -> None:
    chance = np.random.default_rng(3)
    numbers = chance.uniform(-9e5, 9e5, (500, 4))
    rows = [" ".join(FORMS[name](float(v)) for v in row) for row in numbers]
    block = "".join(row + line_end for row in rows if len(row) == len(rows[0]))
    assert block.count("\n") > 200
    assert same_bits(block.encode(), 4)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, 10**12), st.integers(-10, 10), st.booleans(), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_digits_and_powers_round_once(cells: list[tuple[int, int, bool, bool]]) -> None:
    rows = [
        f"{'-' if minus else '+'}{digits // 10**6:07d}.{digits % 10**6:06d}E{power:+03d} {flag:d}"
        for digits, power, minus, flag in cells
    ]
    assert same_bits("".join(f"{row}\n" for row in rows).encode(), 2)


@pytest.mark.parametrize("before", range(16))
def test_a_point_may_stand_anywhere(before: int) -> None:
    chance = np.random.default_rng(before)
    rows = []
    for digits in chance.integers(0, 10, (40, 15)):
        text = "".join(map(str, digits))
        number = f"{text[:before]}.{text[before:]}" if before else f"0.{text[1:]}"
        rows.append(f"-{number} {text[: before or 1]} {text}\n")
    assert same_bits("".join(rows).encode(), 3)


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 40])
def test_what_is_alike_in_all_rows_counts_as_what_changes(rows: int) -> None:
    columns = (
        "{n:03d}000000000.5 {n:03d}123456789012 -123456789012.{n:03d} -{n:03d}0000000000.25",
        "+{n:03d}.5E-02 -7.250{n:03d}E+01 -0.000E+00 -1.5E+{e:02d} +2.5E-{e:02d} 3E2{d:d} -4e1",
        "{s}1.5E+01 {s}12.5 1.5E{s}01 {s}1.5E{s}01 {s}000.00 {s}{n:03d} -0 +0 007 -007.50",
    )
    lines = [
        " ".join(columns).format(n=n * 37 % 1000, e=n % 20, d=n % 3, s="+-"[n % 2])
        for n in range(rows)
    ]
    assert same_bits("".join(f"{line}\r\n" for line in lines).encode(), len(lines[0].split()))


def test_one_block_after_the_other_in_the_same_memory() -> None:
    scratch = Scratch()
    for rows in (50, 3, 70):
        for form in ("{:+.6E} {:09.3f}\n", "{:05.1f}\n", "1 {:+03.0f} {:+.2E} {:06.2f}\n"):
            numbers = np.random.default_rng(rows).uniform(10, 99, (rows, 4))
            block = "".join(form.format(*row) for row in numbers.tolist()).encode()
            columns = len(block.split(b"\n")[0].split())
            values = parse_fixed(block, columns, scratch)
            assert values is not None
            assert np.ascontiguousarray(values).tobytes() == plain(block).tobytes()


@pytest.mark.parametrize(
    "block",
    [
        b"1 2\n33 4\n",
        b"12\n1 2\n",
        b"1 2\n1.2\n",
        b"1 2\n1 x\n",
        b"+1 2\n 1 2\n",
        b"+1 2\n11 2\n",
        b"1 2\n1 2",
        b"1 2\n1-2\n",
        b"1 nan\n2 nan\n",
        b"1 1E99\n2 1E99\n",
        b"1 1234567890123456\n",
        b"1 2 3\n",
        b"1,2\n3,4\n",
        b"1 0x1\n",
        b"1 1e\n",
        b"1 --1\n",
        b"1 2\r\n1 2 \n",
        b"",
        b"\n\n",
        b"1 \xb2\n",
    ],
)
def test_what_is_not_of_one_form_is_left_to_others(block: bytes) -> None:
    assert parse_fixed(block, 2) is None


def test_a_blank_line_after_the_data_line_does_no_harm() -> None:
    assert same_bits(b"\r\n1 2\r\n3 4\r\n", 2)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 39), st.binary(min_size=1, max_size=1))
def test_one_odd_byte_never_gives_another_number(at: int, byte: bytes) -> None:
    block = bytearray(b"+1.5E+01 007\n" * 3 + b"+1.5E+01 007\n")
    block[at : at + 1] = byte
    values = parse_fixed(bytes(block), 2)
    if values is not None:
        assert np.ascontiguousarray(values).tobytes() == plain(bytes(block)).tobytes()
