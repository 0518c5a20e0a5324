"""Times of day, packed or not, become seconds that only go forward."""

import numpy as np
import pytest

from runtime.bridge.formats.encodings import find_time_encoding, read_clock, unwrap_midnights
from runtime.bridge.session.recording import Numbers


def pack(seconds: Numbers) -> Numbers:
    whole, minutes = seconds // 3600, seconds // 60 % 60
    return np.array(whole * 10_000 + minutes * 100 + seconds % 60, dtype=np.float64)


@pytest.mark.parametrize("start", [0.0, 42.0, 3599.0, 51_930.2, 86_000.0])
@pytest.mark.parametrize("step", [0.01, 0.1, 1.0])
def test_packed_times_and_seconds_are_told_apart(start: float, step: float) -> None:
    t = start + np.arange(3000.0) * step
    packed = pack(np.mod(t, 86_400.0))
    assert find_time_encoding(packed, f"{packed[0]:010.3f}") == "hhmmss"
    assert find_time_encoding(t, f"{t[0]:.3f}") == "seconds"


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        ([142530.2, 142530.3], "142530.2", "hhmmss"),
        ([12.0, 12.1], "12.0", "seconds"),
        ([12.0, 12.1], "000012.0", "hhmmss"),
        ([112.0, 112.1], "112.0", "seconds"),
        ([162235.4, 162235.9, 162236.4], "", "hhmmss"),
        ([142530.2], "142530,2", "hhmmss"),
        ([np.nan], "", "seconds"),
    ],
)
def test_within_a_minute_the_digits_decide(values: list[float], text: str, expected: str) -> None:
    assert find_time_encoding(np.array(values), text) == expected


@pytest.mark.parametrize("wrong", [0.0, 235959.0, 142529.0])
def test_a_single_time_out_of_line_is_taken_out(wrong: float) -> None:
    packed = pack(51_930.0 + np.arange(100.0) * 0.1)
    packed[50] = wrong
    clock = read_clock(packed, "142530.0", None)
    assert np.flatnonzero(np.isnan(clock.t)).tolist() == [50]
    assert clock.midnights == 0


def test_each_midnight_adds_a_day() -> None:
    t = np.arange(0.0, 3 * 86_400.0, 1000.0)
    there, midnights = unwrap_midnights(np.mod(t, 86_400.0))
    assert np.array_equal(there, t)
    assert midnights == 2
