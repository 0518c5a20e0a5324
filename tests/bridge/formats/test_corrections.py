"""Signs, zeros and ranges are put right where the frames prove them wrong, and nowhere else."""

from collections.abc import Callable

import numpy as np
import pytest

from runtime.bridge.formats.corrections import correct_frames
from runtime.bridge.formats.recording_builder import build_from_channels
from runtime.bridge.session.recording import WIDE, Frames, Numbers
from tests.bridge.formats.aimkit import CHANNELS, STILL_S, Drive

Change = Callable[[dict[str, Numbers]], None]


@pytest.fixture(scope="module")
def good() -> Frames:
    """Frames in which all is right."""
    units = {name: about[0] for name, about in CHANNELS.items()}
    return build_from_channels(Drive().channels(), units, form="mf4").frames


def correct(good: Frames, change: Change) -> tuple[dict[str, Numbers], Frames, set[str]]:
    columns = {name: values.copy() for name, values in good.columns.items()}
    change(columns)
    done = correct_frames(Frames(columns))
    return columns, done.frames, {doubt.code for doubt in done.doubts}


def test_what_is_right_stays_as_it_is(good: Frames) -> None:
    done = correct_frames(good)
    assert done.doubts == []
    assert done.facts == {}
    for name in WIDE:
        assert np.array_equal(done.frames.columns[name], good.columns[name], equal_nan=True), name


@pytest.mark.parametrize("column", ["g_lat", "g_long", "steering_deg"])
def test_a_sensor_that_is_mounted_turned_round_is_turned(good: Frames, column: str) -> None:
    def turn(columns: dict[str, Numbers]) -> None:
        columns[column] = -columns[column]

    _, frames, codes = correct(good, turn)
    assert codes == {f"{column.removesuffix('_deg')}_sign_flipped"}
    assert np.array_equal(frames.columns[column], good.columns[column], equal_nan=True)
    assert not np.signbit(frames.columns[column][frames.columns[column] == 0.0]).any()


@pytest.mark.parametrize("column", ["g_lat", "g_long"])
@pytest.mark.parametrize(
    ("offset", "taken"), [(0.17, True), (-0.17, True), (0.03, False), (0.6, False)]
)
def test_a_zero_is_moved_where_it_is_plain(
    good: Frames, column: str, offset: float, taken: bool
) -> None:
    def shift(columns: dict[str, Numbers]) -> None:
        columns[column] = columns[column] + offset

    _, frames, codes = correct(good, shift)
    assert codes == ({f"{column}_offset"} if taken else set())
    left = np.nanmedian(frames.columns[column] - good.columns[column])
    assert left == pytest.approx(0.0 if taken else offset, abs=0.02)
    both = np.hypot(frames.columns["g_lat"], frames.columns["g_long"])
    assert not taken or np.allclose(frames.columns["combo_g"], both, equal_nan=True)


def test_a_zero_on_which_driving_and_standing_disagree_is_left(good: Frames) -> None:
    def shift(columns: dict[str, Numbers]) -> None:
        still = columns["speed_ms"] < 0.5  # a steep place in the paddock
        columns["g_long"] = columns["g_long"] + np.where(still, 0.2, 0.0)

    assert correct(good, shift)[2] == set()


def test_a_zero_without_a_standstill_is_left(good: Frames) -> None:
    def shift(columns: dict[str, Numbers]) -> None:
        driving = columns["timestamp"] > STILL_S + 5
        for name in columns:
            columns[name] = columns[name][driving]
        columns["g_long"] = columns["g_long"] + 0.2

    assert correct(good, shift)[2] == set()


@pytest.mark.parametrize("column", ["g_lat", "g_long", "steering_deg"])
@pytest.mark.parametrize("what", ["noise", "nothing", "constant", "short", "other axis"])
def test_without_clear_evidence_no_sign_is_touched(good: Frames, column: str, what: str) -> None:
    chance = np.random.default_rng(2)

    def spoil(columns: dict[str, Numbers]) -> None:
        size = len(columns[column])
        if what == "noise":
            columns[column] = chance.normal(0, 1, size)
        elif what == "nothing":
            columns[column] = np.full(size, np.nan)
        elif what == "constant":
            columns[column] = np.full(size, -1.0)
        elif what == "other axis":
            columns[column] = -columns["g_long" if column != "g_long" else "g_lat"]
        else:
            for name in columns:
                columns[name] = columns[name][400:430]
            columns[column] = -columns[column]

    before, frames, codes = correct(good, spoil)
    assert codes == set()
    assert np.array_equal(frames.columns[column], before[column], equal_nan=True)


def test_without_positions_nothing_is_turned(good: Frames) -> None:
    def spoil(columns: dict[str, Numbers]) -> None:
        columns["lat"] = np.full(len(columns["lat"]), np.nan)
        columns["g_lat"] = -columns["g_lat"]

    assert correct(good, spoil)[2] == set()


@pytest.mark.parametrize(
    ("rest", "taken"), [(-0.3, True), (1.01, True), (0.02, False), (9.0, False)]
)
def test_brake_pressure_is_zero_on_the_throttle(good: Frames, rest: float, taken: bool) -> None:
    def shift(columns: dict[str, Numbers]) -> None:
        columns["brake_bar"] = columns["brake_bar"] + rest

    _, frames, codes = correct(good, shift)
    assert codes == ({"brake_offset"} if taken else set())
    on_throttle = frames.columns["throttle_pct"] > 50
    rests = float(np.median(frames.columns["brake_bar"][on_throttle]))
    assert rests == pytest.approx(0.0 if taken else rest, abs=0.01)
    assert np.nanmin(frames.columns["brake_bar"]) >= 0.0


@pytest.mark.parametrize(
    ("low", "high", "taken"),
    [(19.2, 94.9, True), (12.0, 100.0, True), (0.0, 80.0, False), (3.0, 100.0, False),
     (30.0, 90.0, False), (10.0, 40.0, False)],
)  # fmt: skip
def test_a_pedal_that_rests_off_zero_is_stretched(
    good: Frames, low: float, high: float, taken: bool
) -> None:
    def squeeze(columns: dict[str, Numbers]) -> None:
        columns["throttle_pct"] = low + columns["throttle_pct"] / 100 * (high - low)

    before, frames, codes = correct(good, squeeze)
    assert codes == ({"throttle_stretched"} if taken else set())
    wanted = good if taken else Frames(before)
    assert np.allclose(
        frames.columns["throttle_pct"], wanted.columns["throttle_pct"], equal_nan=True
    )


def test_a_pedal_that_is_held_is_not_stretched(good: Frames) -> None:
    def hold(columns: dict[str, Numbers]) -> None:
        columns["throttle_pct"] = np.linspace(20.0, 80.0, len(columns["throttle_pct"]))
        columns["throttle_pct"][:200] = 20.0

    assert correct(good, hold)[2] == set()


def test_steering_that_no_wheel_can_do_is_no_reading(good: Frames) -> None:
    def spoil(columns: dict[str, Numbers]) -> None:
        columns["steering_deg"][[500, 600]] = 1024.0

    _, frames, codes = correct(good, spoil)
    assert codes == {"sentinel_values"}
    assert np.isnan(frames.columns["steering_deg"][[500, 600]]).all()


@pytest.mark.parametrize("rows", [0, 1, 2, 40])
def test_few_frames_are_no_reason_to_fail(good: Frames, rows: int) -> None:
    done = correct_frames(Frames({name: values[:rows] for name, values in good.columns.items()}))
    assert len(done.frames) == rows
