"""The leaderboard: best laps, shared ranks, initials, times."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.session.ranking import Candidate, abbreviate, format_time, rank_laps


def lap(driver: str, seconds: float, *, at: int = 0) -> Candidate:
    return Candidate(driver, "Pip", "Oval", f"s{at}", 1, seconds, at, "oval")


def test_equal_times_share_a_rank_and_the_next_is_skipped() -> None:
    laps = [lap("A", 60.0, at=2), lap("B", 60.0001, at=1), lap("C", 61.0), lap("D", 59.0)]
    board = rank_laps(laps)
    assert [(e.rank, e.lap.driver) for e in board] == [(1, "D"), (2, "B"), (2, "A"), (4, "C")]


def test_of_equal_laps_of_one_driver_the_earlier_counts() -> None:
    board = rank_laps([lap("A", 60.0, at=5), lap("A", 60.0, at=3), lap("A", 60.0, at=4)])
    assert [e.lap.recorded_at for e in board] == [3]


def test_the_board_has_at_most_500_places() -> None:
    laps = [lap(f"driver {i}", 60 + i / 100) for i in range(600)]
    assert len(rank_laps(laps)) == 50
    assert len(rank_laps(laps, limit=10_000)) == 500
    assert [e.rank for e in rank_laps(laps, limit=3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("driver", "expected"),
    [
        ("Ann Bee", "AB"),
        ("ann maria bee cee", "AMB"),
        ("Madonna", "MAD"),
        ("Al", "AL"),
        ("  ", "---"),
        ("", "---"),
        ("--", "---"),
        ("Jean-Luc", "JL"),
        ("Pat O'Brien", "PO"),
        ("o'brien", "OBR"),
        ("driver 7", "D7"),
        ("émile zola", "ÉZ"),
        ("ßa", "SA"),
        ("山田 太郎", "山太"),
    ],
)
def test_initials_are_up_to_three_capitals(driver: str, expected: str) -> None:
    assert abbreviate(driver) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59.9996, "1:00.000"),
        (59.9995, "1:00.000"),
        (59.9994, "0:59.999"),
        (61.0005, "1:01.001"),
        (1.0005, "0:01.001"),
        (83.456, "1:23.456"),
        (3599.9999, "60:00.000"),
        (0.0004, "0:00.000"),
    ],
)
def test_a_time_is_rounded_half_up_with_carry(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


@given(st.text())
def test_any_name_has_initials(driver: str) -> None:
    assert 1 <= len(abbreviate(driver)) <= 3
