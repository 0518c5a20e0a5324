"""Vectors as they pass between encoders and those who ask them."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.engine.embedding import Vectors


def vectors(*rows: tuple[float, ...], truncated: int = 0) -> Vectors:
    data = b"".join(struct.pack(f"<{len(row)}f", *row) for row in rows)
    return Vectors(len(rows[0]), data, tuple(range(3, 3 + len(rows))), truncated)


def test_a_row_is_the_vector_of_one_text() -> None:
    two = vectors((1.0, 0.0), (0.0, -1.0))
    assert len(two) == 2
    assert two.row(1) == struct.pack("<2f", 0.0, -1.0)
    assert two.floats(1) == [0.0, -1.0]


def test_a_shortened_vector_is_of_unit_length_again() -> None:
    short = vectors((0.6, 0.0, 0.8), (0.0, 3.0, 4.0)).shortened(2)
    assert (short.width, short.tokens) == (2, (3, 4))
    assert short.floats(0) == [1.0, 0.0]
    assert short.floats(1) == [0.0, 1.0]


def test_a_vector_of_zeros_can_be_shortened() -> None:
    assert vectors((0.0, 0.0, 1.0)).shortened(2).floats(0) == [0.0, 0.0]


@given(st.lists(st.floats(-1, 1, width=32), min_size=4, max_size=4))
def test_whatever_is_shortened_has_unit_length_or_none(row: list[float]) -> None:
    short = vectors((row[0], row[1], row[2], row[3])).shortened(3).floats(0)
    length = math.sqrt(sum(x * x for x in short))
    assert length == pytest.approx(1, abs=1e-5) or max(map(abs, row[:3])) < 1e-11
