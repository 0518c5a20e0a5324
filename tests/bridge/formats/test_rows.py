"""Rows: regular ones fast, odd ones tolerated and counted, hostile ones refused."""

import contextlib
import io
import time

import numpy as np
import pytest

from runtime.bridge.formats import number_rows
from runtime.bridge.formats.number_rows import Table, read_blocks, read_table
from runtime.bridge.formats.options import UnreadableRecording


def read(text: str | bytes, columns: int = 3, *, commas: bool = False) -> Table:
    data = text.encode("latin-1") if isinstance(text, str) else text
    return read_table(io.BytesIO(data), columns, commas=commas)


def rows(table: Table) -> list[list[float]]:
    return [[float(value) for value in row] for row in zip(*table.columns, strict=True)]


@pytest.mark.parametrize(
    "text",
    [
        "1 2 3\n4 5 6\n",
        "1 2 3\r\n4 5 6\r\n",
        "+1 +2 +3\n4 5 6",
        "\n\n  1   2\t3  \r\n\n4 5 6 \n\n",
        "001 2.0 +3.000000E+00\n4E0 0005 .6e1\n",
        "1,0 2,0 3,0\n4 5,0 6\n",
        "1, 2, 3\n4, 5, 6\n",
        "1,2,3\n4,5,6\n",
        "1,2,3,\n4,5,6,\n",
        "1,2,3,\r\n4,5,6,\r\n",
    ],
)
def test_numbers_are_read_however_they_are_written(text: str) -> None:
    table = read(text)
    assert rows(table) == [[1, 2, 3], [4, 5, 6]]
    assert not table.skipped


def test_odd_cells_anywhere_cost_no_good_row() -> None:
    chance = np.random.default_rng(4)
    lines = [f"{n:06d} {n * 0.5:+010.3f} {-n:+.3E}" for n in range(1000, 9000)]
    odd = ["1 2", "", "9 x 7", "[data]", "001000 +00500.000 -1.000E+0x", "  1  2\t3 ", "+-1 1+2 3"]
    for at in sorted(chance.choice(8000, 60, replace=False), reverse=True):
        lines[at:at] = odd
    for end in ("\n", "\r\n"):
        table = read("\n\n" + end.join(lines))
        assert len(table) == 8000 + 4 * 60
        assert np.nansum(table.columns[0]) == sum(range(1000, 9000)) + 60 * (9 + 1000 + 1)
        assert dict(table.skipped) == {"rows_short": 120, "values_unreadable": 240}


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        ("7 8", "rows_short"),
        ("7", "rows_short"),
        ("7 8 9 10", "rows_long"),
        ("here we are", "rows_unreadable"),
        ("[x] [y] [z]", "rows_unreadable"),
        ("[laptiming]", "rows_short"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_an_odd_row_is_left_out_and_counted(odd: str, what: str, place: int) -> None:
    lines = ["1 2 3", "4 5 6"]
    lines.insert(place, odd)
    table = read("\n".join(lines))
    assert rows(table) == [[1, 2, 3], [4, 5, 6]]
    assert dict(+table.skipped) == {what: 1}


@pytest.mark.parametrize(
    "cell", ["-", "--", "1.#QNAN", "1_0", "0x10", "\u0661", "5..6", "+-1", "NA"]
)
def test_a_cell_without_a_number_is_null_and_counted(cell: str) -> None:
    table = read(f"1 {cell} 3\n4 5 6\n".encode())
    assert np.isnan(table.columns[1][0])
    assert table.columns[1][1] == 5.0
    assert table.skipped["values_unreadable"] == 1


@pytest.mark.parametrize("cell", ["nan", "-NaN", "inf", "-inf", "1e300", "9" * 400, "9E36"])
@pytest.mark.parametrize("commas", [False, True])
@pytest.mark.parametrize(("rows_beside", "odd"), [(0, False), (0, True), (200, True)])
def test_a_number_that_is_no_reading_is_null_and_counted(
    cell: str, commas: bool, rows_beside: int, odd: bool
) -> None:
    lines = [*["1 2 3"] * rows_beside, *[f"1 {cell} 3"] * 300, *["here we are"] * odd]
    text = "\n".join(lines)
    table = read(text.replace(" ", ",") if commas else text, commas=commas)
    assert np.isnan(table.columns[1]).sum() == 300
    assert table.skipped["values_unreadable"] == 300


def test_empty_cells_beside_written_nothing_are_not_counted() -> None:
    table = read(",nan,3\n4,,\n,inf,9\n7,8,\n", commas=True)
    assert np.isnan(table.columns[1]).tolist() == [True, True, True, False]
    assert dict(+table.skipped) == {"values_unreadable": 2}


def test_empty_cells_between_commas_are_null() -> None:
    table = read(",2,3\r\n4,,\r\n,,9\n7,8,", commas=True)
    expected = [[np.nan, 2, 3], [4, np.nan, np.nan], [np.nan, np.nan, 9], [7, 8, np.nan]]
    assert np.array_equal(np.array(table.columns).T, np.array(expected), equal_nan=True)
    assert not +table.skipped


def test_blocks_are_cut_between_lines_whatever_their_size() -> None:
    data = b"".join(b"%d %d\n" % (n, n * n) for n in range(500)) + b"last"
    for size in (1, 2, 7, 64, 1000, 10**6):
        cut = list(read_blocks(io.BytesIO(data), size))
        assert b"".join(cut) == data
        assert all(block.endswith(b"\n") for block in cut[:-1])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "no rows"),
        (b"\n \n\r\n", "no rows"),
        (b"a b c\n", "no row can be read"),
        (b"1 2\n" * 9, "rows short: 9"),
        (b"1" * 70_000, "longer than 65536"),
        (b"1 2 3\n" + b"1 " * 40_000 + b"\n", "longer than 65536"),
        (b"1 2 3\n" * 200_000 + b"7" * 65_537 + b"\n1 2 3\n", "longer than 65536"),
    ],
)
def test_what_is_no_table_is_refused_in_words(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableRecording, match=message):
        read(data)


def test_a_line_of_the_longest_length_is_read() -> None:
    line = b"1 2 3" + b" " * (65_535 - 5) + b"\n"
    assert rows(read(line * 2)) == [[1, 2, 3], [1, 2, 3]]


class Endless(io.RawIOBase):
    """A stream of one row again and again, that counts what was taken from it."""

    taken = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        self.taken += size
        return (b"1 2 3\n" * (size // 6 + 1))[: size // 6 * 6]


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("MOST_ROWS", 1000, "more than 1000 rows"), ("LARGEST_FILE", 2**20, "larger than 1 MiB")],
)
def test_a_stream_without_an_end_is_refused(
    limit: str, value: int, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(number_rows, limit, value)
    endless = Endless()
    with pytest.raises(UnreadableRecording, match=message):
        read_table(endless, 3, commas=False)  # type: ignore[arg-type]
    assert endless.taken < 2**23


def cost(data: bytes) -> float:
    best = float("inf")
    for _ in range(3):
        started = time.process_time()
        with contextlib.suppress(UnreadableRecording):
            read(data)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.parametrize("row", ["1 2", "a b c", "1 - 3"])
def test_time_grows_with_the_size_and_not_faster(row: str) -> None:
    small, large = (("1 2 3\n" + f"{row}\n" * n).encode() for n in (500, 4_000))
    assert cost(large) < 8 * 3 * max(cost(small), 1e-3)
