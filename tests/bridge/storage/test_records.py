"""The pure parts: canonical numbers, the odometer, the frame next to a sample."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.session.series import Odometer, fill_distance
from runtime.bridge.storage.records import SessionMeta, clean_row, clean_text
from runtime.bridge.storage.telemetry import clean_signals, find_nearest
from tests.bridge.storage.storekit import pairs, samples

NAN = float("nan")


@pytest.mark.parametrize(
    ("t", "speed", "distance", "expected"),
    [
        ([0, 1, 2], [10, 20, 30], [NAN] * 3, [0, 15, 40]),
        ([0, 1, 2], [10, 20, 30], [5, NAN, NAN], [5, 20, 45]),
        ([0, 1, 2], [10, 10, 10], [NAN, 100, NAN], [0, 100, 110]),
        ([0, 5, 6], [10, 10, 10], [NAN] * 3, [0, 10, 20]),
        ([5, 4, 5], [10, 10, 10], [NAN] * 3, [0, 0, 0]),  # the late one is passed over
        ([0, 0.5, 1], [10, NAN, 10], [NAN] * 3, [0, NAN, 10]),
        ([0, 1], [NAN, 10], [7, NAN], [7, 17]),
        ([0, 1], [NAN, NAN], [NAN, NAN], [NAN, NAN]),
        ([0, 1], [1, 1], [3, 2], [3, 2]),
    ],
)
def test_distances_that_are_missing_follow_from_the_speed(
    t: list[float], speed: list[float], distance: list[float], expected: list[float]
) -> None:
    filled, _ = fill_distance(
        np.array(t, float), np.array(speed, float), np.array(distance, float), Odometer()
    )
    assert filled.tolist() == pytest.approx(expected, nan_ok=True)


numbers = st.one_of(st.just(NAN), st.floats(0, 80))


@given(st.lists(st.tuples(st.floats(0, 1), numbers, numbers), max_size=30), st.integers(0, 30))
def test_the_odometer_does_not_notice_where_a_session_is_cut(
    steps: list[tuple[float, float, float]], cut: int
) -> None:
    table = np.array(steps, np.float64).reshape(-1, 3)
    t, speed, distance = np.cumsum(table[:, 0]), table[:, 1], table[:, 2]
    whole, last = fill_distance(t, speed, distance, Odometer())
    first, middle = fill_distance(t[:cut], speed[:cut], distance[:cut], Odometer())
    second, end = fill_distance(t[cut:], speed[cut:], distance[cut:], middle)
    assert np.concatenate((first, second)).tobytes() == whole.tobytes()
    known = [number for number in last if number == number]
    assert known == [number for number in end if number == number]


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        ([0.0, 0.1, 0.2], [0, 1, 2]),
        ([0.04, 0.06], [0, 1]),
        ([0.05], [0]),
        ([-0.06, 0.26, 99], [-1, -1, -1]),
        ([0.1, 0.11], [1, -1]),
        ([], []),
    ],
)
def test_a_sample_belongs_to_the_nearest_frame_within_half_a_period(
    t: list[float], expected: list[int]
) -> None:
    assert find_nearest(np.array([0.0, 0.1, 0.2]), np.array(t)).tolist() == expected


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [("e\u0301", "é"), ("a\0b", "ab"), ("\ud800", "?"), ("plain", "plain"), ("", "")],
)
def test_texts_are_kept_in_one_form(given_text: str, kept: str) -> None:
    assert clean_text(given_text) == kept


def test_an_optional_text_has_no_blanks_around_it_and_an_empty_one_is_none_at_all() -> None:
    meta = SessionMeta(driver="", car="\0", track=" ", note=" wet\n")
    assert clean_row(meta) == SessionMeta(note="wet")


def test_names_that_are_one_in_canonical_form_are_one_signal() -> None:
    kept = clean_signals({"e\u0301": samples((1, 1)), "é": samples((1, 2), (0, 3)), "n": samples()})
    assert {name: pairs(values) for name, values in kept.items()} == {"é": [(0, 3), (1, 2)]}
