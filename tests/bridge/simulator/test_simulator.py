"""The synthetic car as an adapter: paced, the same at any speed, and heard on another one."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.frames import CanFrame, Received, SourceLost
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.simulator.simulator import Simulator
from tests.bridge.simulator.drivekit import between, vesper

ANCHOR = 1_790_000_000.0
TIMEOUT_S = 0.1


class Adapter:
    """Takes frames, until it is gone."""

    def __init__(self) -> None:
        self.frames: list[CanFrame] = []
        self.gone = self.closed = False

    def read(self, timeout_s: float) -> Received:
        return Received(())

    def send(self, frame: CanFrame) -> None:
        if self.gone:
            raise SourceLost("the adapter is gone")
        self.frames.append(frame)

    def close(self) -> None:
        self.closed = True


@contextmanager
def opened(simulator: Simulator) -> Iterator[Simulator]:
    try:
        yield simulator.open(CanSettings(), EpochClock())
    finally:
        simulator.close()


def read_until(simulator: Simulator, enough: Callable[[list[CanFrame]], bool]) -> list[CanFrame]:
    frames: list[CanFrame] = []
    while not enough(frames):
        frames += simulator.read(TIMEOUT_S).frames
    return frames


def test_at_a_hundred_times_the_speed_the_frames_are_the_same() -> None:
    expected = between(vesper(anchor_s=ANCHOR), 0.0, 4.0)
    with opened(Simulator(vesper(anchor_s=ANCHOR), 100.0)) as simulator:
        fast = read_until(simulator, lambda frames: len(frames) >= len(expected))
    with opened(Simulator(vesper(anchor_s=ANCHOR), 10.0)) as simulator:
        slow = read_until(simulator, lambda frames: len(frames) >= 100)

    assert fast[: len(expected)] == expected
    assert slow == expected[: len(slow)]


def test_the_state_tells_of_the_drive() -> None:
    simulator = Simulator(vesper(lap_seconds=10.0), 100.0)
    before = simulator.state()
    assert (before.running, before.laps) == (False, 0)

    with opened(simulator):
        read_until(simulator, lambda _: simulator.state().laps >= 1)
        state = simulator.state()
        assert state.running
        assert (state.lap_seconds, state.speed_x) == (10.0, 100.0)

    assert not simulator.state().running


def test_a_stopped_drive_goes_on_where_it_was() -> None:
    schedule = vesper(anchor_s=ANCHOR)
    simulator = Simulator(schedule, 50.0)
    frames: list[CanFrame] = []
    for _ in range(3):
        with opened(simulator):
            frames += read_until(simulator, lambda frames: len(frames) >= 100)

    assert frames == between(schedule, 0.0, frames[-1].t - ANCHOR + 1e-6)


def test_a_long_stop_is_not_caught_up_on_but_a_short_one_is() -> None:
    now = 100.0
    simulator = Simulator(vesper(anchor_s=ANCHOR), 10.0, clock=lambda: now)

    def driven_at(moment: float) -> float:
        """Seconds of the drive that were sent by a moment."""
        nonlocal now
        now = moment
        frames: list[CanFrame] = []
        while more := simulator.read(0.0).frames:
            frames += more
        return frames[-1].t - ANCHOR

    with opened(simulator):
        assert driven_at(100.1) == pytest.approx(1.0, abs=0.05)
        assert driven_at(100.5) == pytest.approx(5.0, abs=0.05)
        assert driven_at(120.0) == pytest.approx(5.0, abs=0.05)
        assert driven_at(120.1) == pytest.approx(6.0, abs=0.05)


def test_the_speed_that_is_reached_is_told() -> None:
    seconds = itertools.count(0.0, 0.5)
    simulator = Simulator(vesper(), 100.0, clock=lambda: next(seconds))
    with opened(simulator):
        read_until(simulator, lambda _: simulator.state().reached_x is not None)
        assert (simulator.state().reached_x or 0.0) < 80.0
    assert simulator.state().reached_x is None


def test_an_adapter_hears_what_is_read_and_is_opened_anew_once_it_was_lost() -> None:
    adapters = [Adapter(), Adapter()]
    later = iter(adapters)
    simulator = Simulator(vesper(), 50.0, lambda: next(later))
    with opened(simulator):
        first = read_until(simulator, lambda frames: len(frames) >= 100)
        assert adapters[0].frames == first
        adapters[0].gone = True
        with pytest.raises(SourceLost, match="gone"):
            read_until(simulator, lambda _: False)
    assert adapters[0].closed

    with opened(simulator):
        again = read_until(simulator, lambda frames: len(frames) >= 100)
    assert adapters[1].frames == again


@pytest.mark.parametrize("speed", [0.05, 101.0])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match=r"0\.1 to 100"):
        Simulator(vesper(), speed)
