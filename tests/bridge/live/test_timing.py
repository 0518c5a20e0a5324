"""What the lap clock shows while a car drives, and that it agrees with the recorded session."""

import math
from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pytest

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.live.timing import (
    NO_PAST,
    Done,
    History,
    LapDone,
    LapTimers,
    Past,
    SectorDone,
    Timing,
    Trace,
    make_trace,
    read_history,
)
from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.recording import WIDE, Frames, LiveFrame
from tests.bridge.simulator.drivekit import LARKFELL
from tools.drive import USUAL, Drive, drive

LENGTH = LARKFELL.length_m


@pytest.fixture(scope="module")
def driven() -> Drive:
    """A way out, three laps and the way in, with noisy positions."""
    return drive(LARKFELL, 3, skill=0.9, seed=3, noise=USUAL)


@pytest.fixture(scope="module")
def recorded(driven: Drive) -> Laps:
    """The laps that the session has once it is stored."""
    return detect(driven.frames, gate=LARKFELL.start, track_length_m=LENGTH)


@pytest.fixture(scope="module")
def history(recorded: Laps) -> History:
    return read_history(recorded, LARKFELL)


def frames_of(driven: Drive, begin: float = -math.inf, end: float = math.inf) -> list[LiveFrame]:
    columns = {name: driven.frames.columns[name].tolist() for name in WIDE}
    return [
        LiveFrame("s", "can", {name: values[at] for name, values in columns.items()})
        for at, t in enumerate(columns["timestamp"])
        if begin <= t < end
    ]


class Clock:
    """A lap clock with the coach's locator, and everything that it told."""

    def __init__(self, past: Past = NO_PAST) -> None:
        self.engine = CueEngine(lambda _: LARKFELL)
        self.past = past
        self.timers = LapTimers(lambda _: self.past)
        self.read: list[tuple[float, Timing]] = []
        self.done: list[tuple[float, Done]] = []

    def run(self, frames: Iterable[LiveFrame]) -> "Clock":
        for frame in frames:
            where = self.engine.locate(frame)
            assert where is not None
            reading = self.timers.tick(frame, where)
            self.read.append((where.t, reading.timing))
            self.done += [(where.t, one) for one in reading.done]
        return self

    @property
    def laps(self) -> list[LapDone]:
        return [one for _, one in self.done if isinstance(one, LapDone)]

    @property
    def sectors(self) -> list[SectorDone]:
        return [one for _, one in self.done if isinstance(one, SectorDone)]


@pytest.fixture(scope="module")
def clock(driven: Drive) -> Clock:
    return Clock().run(frames_of(driven))


def test_laps_have_the_times_and_numbers_of_the_recorded_session(
    clock: Clock, recorded: Laps
) -> None:
    times = [lap.lap_time_s for lap in clock.laps]
    assert times == pytest.approx([lap.duration_s for lap in recorded.complete], abs=0.002)
    assert [lap.lap_number for lap in clock.laps] == [lap.number for lap in recorded.complete]
    assert [lap.best_lap_s for lap in clock.laps] == np.minimum.accumulate(times).tolist()
    assert [lap.is_best for lap in clock.laps] == [
        time == best for time, best in zip(times, np.minimum.accumulate(times), strict=True)
    ]
    assert [lap.mean5_s for lap in clock.laps] == [None] * 3


def test_a_lap_is_told_a_second_after_its_end_and_the_clock_turns_over_at_once(
    clock: Clock, driven: Drive
) -> None:
    told = [t for t, one in clock.done if isinstance(one, LapDone)]
    assert np.array(told) == pytest.approx(np.array(driven.crossings_s[1:]) + 1.05, abs=0.15)
    for number, crossed in enumerate(driven.crossings_s, 1):
        before = [one for t, one in clock.read if -0.2 < t - crossed < -0.05]
        after = [one for t, one in clock.read if 0.05 < t - crossed < 0.2]
        assert {one.lap for one in before} == {number - 1 or None}
        assert {one.lap for one in after} == {number}
        assert all(one.lap_time_s is not None and one.lap_time_s < 0.3 for one in after)


def test_before_start_finish_there_is_a_place_but_no_lap(clock: Clock) -> None:
    assert clock.read[100][1]._replace(lap_distance_m=None) == Timing()
    assert clock.read[100][1].lap_distance_m is not None


def test_the_prediction_runs_into_the_lap_time(clock: Clock, driven: Drive) -> None:
    for lap, end in zip(clock.laps[1:], driven.crossings_s[2:], strict=True):
        last = [one for t, one in clock.read if end - 1.0 < t < end - 0.1]
        for one in last:
            assert one.predicted_s == pytest.approx(lap.lap_time_s, abs=0.15)
            assert one.delta_s == pytest.approx(lap.delta_s, abs=0.15)


def test_sectors_are_those_of_the_recorded_session(clock: Clock, history: History) -> None:
    for number, stored in enumerate(history.laps, 1):
        told = [one.time_s for one in clock.sectors if one.lap_number == number]
        assert told == [pytest.approx(time, abs=0.06) for time in stored.sectors]
    times = np.array([[one.time_s for one in lap.sectors] for lap in clock.laps], np.float64)
    assert times == pytest.approx(np.array([lap.sectors for lap in history.laps]), abs=0.0015)
    assert times.sum(axis=1) == pytest.approx([lap.lap_time_s for lap in clock.laps], abs=1e-6)
    last = [one.is_best for one in clock.laps[-1].sectors]
    assert last == (times[-1] == times.min(axis=0)).tolist()


def test_a_sector_is_rated_by_the_fastest_known_and_by_the_reference_lap(clock: Clock) -> None:
    fastest = [math.inf] * 3
    reference: LapDone | None = None
    laps = {lap.lap_number: lap for lap in clock.laps}
    for one in clock.sectors:
        if one.lap_number > len(laps):
            continue
        at = one.sector - 1
        expected = "slower"
        if one.time_s < fastest[at]:
            expected = "best"
        elif one.delta_s is not None and one.delta_s <= 0:
            expected = "own"
        assert one.rating == expected
        assert (one.delta_s is None) == (reference is None)
        fastest[at] = min(fastest[at], one.time_s)
        if one.sector == 3 and laps[one.lap_number].is_best:
            reference = laps[one.lap_number]


def test_the_record_of_the_driver_is_the_reference_of_the_first_lap(
    driven: Drive, history: History
) -> None:
    record = next(lap.trace for lap in history.laps if lap.trace is not None)
    clock = Clock(Past(record=record)).run(frames_of(driven, end=driven.crossings_s[1] + 3))
    first = clock.laps[0]
    assert first.delta_s == pytest.approx(first.lap_time_s - record.lap_s, abs=0.002)
    deltas = [one.delta_s for _, one in clock.read if one.lap == 1 and one.delta_s is not None]
    assert max(map(abs, deltas)) < 0.1, "compared with itself"
    assert len(deltas) > 1000


def test_a_clock_that_comes_late_goes_on_from_what_is_stored(
    driven: Drive, history: History
) -> None:
    late = driven.crossings_s[1] + 20
    clock = Clock(Past(history)).run(frames_of(driven, begin=late))
    assert clock.read[0][1].lap == 2
    assert clock.read[0][1].lap_time_s == pytest.approx(20, abs=0.15)
    assert clock.read[0][1].delta_s is not None
    assert [lap.lap_number for lap in clock.laps] == [2, 3]
    assert clock.laps[0].lap_time_s == pytest.approx(driven.lap_times_s[1], abs=0.05)


def test_a_circuit_that_is_found_in_the_first_lap_does_not_lose_that_lap(driven: Drive) -> None:
    found = driven.crossings_s[0] + 20
    before = driven.frames.columns["timestamp"] < found
    begun = Frames({name: values[before] for name, values in driven.frames.columns.items()})
    history = read_history(detect(begun, gate=LARKFELL.start, track_length_m=LENGTH), LARKFELL)
    end = driven.crossings_s[1] + 3
    clock = Clock(Past(history)).run(frames_of(driven, begin=found, end=end))
    assert clock.read[0][1].lap == 1
    assert [lap.lap_number for lap in clock.laps] == [1]
    assert clock.laps[0].lap_time_s == pytest.approx(driven.lap_times_s[0], abs=0.05)


@pytest.mark.parametrize("back", [True, False])
def test_a_replay_that_is_moved_shows_the_lap_of_the_place_it_is_moved_to(
    driven: Drive, history: History, back: bool
) -> None:
    clock = Clock(Past(history))
    middles = [begin + 40 for begin in driven.crossings_s[:3]]
    for middle in sorted(middles, reverse=back):
        clock.read.clear()
        clock.run(frames_of(driven, middle, middle + 5))
        number = middles.index(middle) + 1
        assert {one.lap for _, one in clock.read} == {number}
        assert clock.read[-1][1].lap_time_s == pytest.approx(44.9, abs=0.2)


def without(*names: str) -> Callable[[LiveFrame], LiveFrame]:
    lost = dict.fromkeys(names, math.nan)
    return lambda frame: frame._replace(wide={**frame.wide, **lost})


def test_without_positions_laps_are_told_by_the_counter_of_the_device(driven: Drive) -> None:
    begun = driven.frames.columns["distance_m"]
    start = float(np.interp(driven.crossings_s[0], driven.frames.columns["timestamp"], begun))
    blind = without("lat", "lon")
    frames = [
        blind(frame)._replace(
            source="ingest", device_distance_m=(frame.wide["distance_m"] - start) % LENGTH
        )
        for frame in frames_of(driven)
    ]
    clock = Clock().run(frames)
    assert [lap.lap_time_s for lap in clock.laps] == pytest.approx(driven.lap_times_s, abs=0.1)


def test_a_lap_that_was_mostly_not_recorded_is_none(driven: Drive) -> None:
    first, second = driven.crossings_s[0] + 30, driven.crossings_s[0] + 60
    frames = [one for one in frames_of(driven) if not first < one.t < second]
    clock = Clock().run(frames)
    assert [lap.lap_number for lap in clock.laps] == [1, 2]
    assert clock.laps[0].lap_time_s == pytest.approx(driven.lap_times_s[1], abs=0.05)


def test_a_car_that_rolls_back_over_the_line_begins_no_lap() -> None:
    """One of its fixes jumps forward over the line, as noise does."""
    line = LARKFELL.line
    assert line is not None
    frames = []
    for at in range(60):
        metres = 30.0 - at + (4.0 if at == 33 else 0.0)
        lat, lon = line.place(metres)
        wide = dict.fromkeys(WIDE, math.nan)
        moment = {"timestamp": at / 10, "lat": lat, "lon": lon, "speed_ms": 10.0}
        frames.append(LiveFrame("s", "can", {**wide, **moment}))
    clock = Clock().run(frames)
    assert {one.lap for _, one in clock.read} == {None, 1}
    assert clock.read[-1][1].lap is None


def test_a_lap_with_a_hole_is_no_reference() -> None:
    places = np.arange(0.0, LENGTH, 5.0)
    whole = make_trace(places, places / 40, LENGTH, LENGTH / 40)
    assert isinstance(whole, Trace)
    assert whole.at(1000.0) == pytest.approx(25.0)
    seen = (places < 500) | (places > 1000)
    assert make_trace(places[seen], places[seen] / 40, LENGTH, LENGTH / 40) is None


def test_what_a_lap_shows_never_steps_back(clock: Clock) -> None:
    for (_, one), (_, other) in pairwise(clock.read):
        if one.lap is not None and one.lap == other.lap:
            assert (other.lap_time_s or 0) > (one.lap_time_s or 0)
            assert (other.lap_distance_m or 0) >= (one.lap_distance_m or 0) - 1.0
