"""The thread that drives: paced, never ahead of its reader, and gone when it is told to go."""

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import can.interfaces.virtual as virtual
import pytest

from runtime.bridge.can.bus import open_source
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.values import CanFrame, SourceLost
from runtime.bridge.simulator.simulator import (
    PATIENCE_S,
    WINDOW,
    Backpressure,
    Pacer,
    Simulator,
    SourceSend,
)
from tests.bridge.can.cankit import until
from tests.bridge.simulator.drivekit import vesper

ANCHOR = 1_790_000_000.0


class Bus:
    """Takes frames, and lets a test wait for them."""

    def __init__(self) -> None:
        self.frames: list[CanFrame] = []
        self.failures: list[Exception] = []
        self._more = threading.Condition()

    def __call__(self, frames: Sequence[CanFrame]) -> None:
        with self._more:
            if self.failures:
                raise self.failures.pop()
            self.frames.extend(frames)
            self._more.notify_all()

    def wait_for(self, count: int) -> None:
        with self._more:
            assert self._more.wait_for(lambda: len(self.frames) >= count, timeout=30)


@contextmanager
def driving(simulator: Simulator) -> Iterator[Simulator]:
    simulator.start()
    try:
        yield simulator
    finally:
        simulator.stop()


def test_at_a_hundred_times_the_speed_the_frames_are_the_same() -> None:
    expected = vesper(anchor_s=ANCHOR).between(0.0, 4.0)
    fast, slow = Bus(), Bus()
    with (
        driving(Simulator(fast, vesper(anchor_s=ANCHOR), 100.0)),
        driving(Simulator(slow, vesper(anchor_s=ANCHOR), 10.0)),
    ):
        fast.wait_for(len(expected))
        slow.wait_for(100)

    assert fast.frames[: len(expected)] == expected
    assert slow.frames == expected[: len(slow.frames)]


def test_the_state_tells_of_the_drive() -> None:
    bus = Bus()
    simulator = Simulator(bus, vesper(lap_seconds=10.0), 100.0)
    before = simulator.state()
    assert (before.running, before.frames_sent, before.laps) == (False, 0, 0)

    with driving(simulator):
        until(lambda: simulator.state().laps >= 1)
        state = simulator.state()
        assert state.running
        assert (state.lap_seconds, state.speed_x) == (10.0, 100.0)
        assert state.frames_sent > 2000
        assert state.last_error is None

    after = simulator.state()
    assert not after.running
    assert after.frames_sent == len(bus.frames)


def test_a_stopped_drive_goes_on_where_it_was() -> None:
    bus = Bus()
    schedule = vesper(anchor_s=ANCHOR)
    simulator = Simulator(bus, schedule, 50.0)
    for count in (100, 400, 900):
        with driving(simulator):
            bus.wait_for(count)

    stamps = [frame.t for frame in bus.frames]
    assert bus.frames == schedule.between(0.0, stamps[-1] - ANCHOR + 1e-6)


def test_no_more_is_on_its_way_than_the_reader_can_take(monkeypatch: pytest.MonkeyPatch) -> None:
    # Else a reader that is held has missed some.
    monkeypatch.setattr("runtime.bridge.simulator.simulator.PATIENCE_S", 1000.0)
    bus, taken = Bus(), 0
    simulator = Simulator(bus, vesper(), 100.0, taken=lambda: taken)
    with driving(simulator):
        bus.wait_for(1)
        until(lambda: simulator.state().held_up)
        asked = len(bus.frames)  # single frames, until somebody reads
        assert asked < 100
        taken = asked
        bus.wait_for(asked + WINDOW)
        until(lambda: simulator.state().held_up)
        assert len(bus.frames) <= asked + WINDOW + 3
        drive = simulator.state().drive_s
        taken = asked + 500
        bus.wait_for(asked + WINDOW + 500)
        until(lambda: simulator.state().held_up)
        assert len(bus.frames) <= asked + WINDOW + 500 + 3
        assert simulator.state().drive_s - drive < 3.0  # it stood meanwhile, and lost nothing

    assert bus.frames == vesper().between(0.0, 30.0)[: len(bus.frames)]


def test_frames_that_a_reader_missed_do_not_hold_it_up_for_ever() -> None:
    pressure = Backpressure(taken=7, window=100)
    assert pressure.room(7, -2.0) == (1, True)
    pressure.sent(1, -2.0, probing=True)
    assert pressure.room(7, -2.0).frames == 0
    assert pressure.room(0, 0.0).frames == 100
    pressure.sent(100, 0.0)
    assert pressure.room(0, PATIENCE_S / 2).frames == 0

    probe = pressure.room(0, PATIENCE_S)
    assert (probe.frames, probe.probing) == (1, True)
    pressure.sent(1, PATIENCE_S, probing=True)
    assert pressure.room(0, PATIENCE_S * 1.5).frames == 0
    assert pressure.room(0, PATIENCE_S * 2).frames == 1

    assert pressure.room(1, PATIENCE_S * 2.1).frames == 100
    pressure.sent(60, PATIENCE_S * 2.1)
    assert pressure.room(1, PATIENCE_S * 2.2).frames == 40
    assert pressure.room(31, PATIENCE_S * 2.3).frames == 70


def test_a_long_stop_is_not_caught_up_on_but_a_short_one_is() -> None:
    pacer = Pacer(10.0, now=100.0)
    assert pacer.due(101.0) == 10.0
    pacer.limit_lag(101.0, 7.0)
    assert pacer.due(101.0) == 10.0
    pacer.limit_lag(105.0, 10.0)
    assert pacer.due(105.0) == 10.0
    assert pacer.due(106.0) == 20.0
    assert pacer.wait_s(106.0, 25.0) == pytest.approx(0.5)
    assert pacer.wait_s(106.0, 15.0) == 0.0


def test_the_speed_that_is_reached_is_told() -> None:
    seconds = itertools.count(0.0, 0.5)
    simulator = Simulator(Bus(), vesper(), 100.0, clock=lambda: next(seconds))
    with driving(simulator):
        until(lambda: simulator.state().reached_x is not None)
        assert (simulator.state().reached_x or 0.0) < 80.0
    assert simulator.state().reached_x is None


def test_a_lost_bus_is_told_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.bridge.simulator.simulator.BACK_OFF_S", (0.1,))
    bus = Bus()
    bus.failures = [SourceLost("the adapter is gone")]
    simulator = Simulator(bus, vesper(), 20.0)
    with driving(simulator):
        until(lambda: simulator.state().last_error == "the adapter is gone")
        assert simulator.state().running
        bus.wait_for(50)
        until(lambda: simulator.state().last_error is None)


def test_it_stops_while_it_waits_for_a_lost_bus() -> None:
    def lost(frames: Sequence[CanFrame]) -> None:
        raise SourceLost("no adapter")

    simulator = Simulator(lost, vesper())
    with driving(simulator):
        until(lambda: simulator.state().last_error is not None)
    assert "simulator" not in {thread.name for thread in threading.enumerate()}


def test_a_bus_that_holds_a_frame_for_ever_does_not_hold_up_the_stop() -> None:
    free = threading.Event()

    def hangs(frames: Sequence[CanFrame]) -> None:
        free.wait(30)

    simulator = Simulator(hangs, vesper(), 100.0)
    simulator.start()
    simulator.stop()
    assert not simulator.state().running
    free.set()
    until(lambda: "simulator" not in {thread.name for thread in threading.enumerate()})


@pytest.mark.parametrize("speed", [0.05, 101.0])
def test_a_speed_out_of_range_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match=r"0\.1 to 100"):
        Simulator(Bus(), vesper(), speed)


def test_over_the_virtual_bus_a_reader_gets_every_frame_in_order_with_its_stamp() -> None:
    wiring = CanSettings(channel="simulated", listen_only=False, keep_stamps=True)
    expected = vesper(anchor_s=ANCHOR).between(0.0, 10.0)
    reader, send = open_source(wiring), SourceSend(lambda: open_source(wiring))
    got: list[CanFrame] = []
    longest = 0
    simulator = Simulator(send, vesper(anchor_s=ANCHOR), 100.0, taken=lambda: len(got))
    try:
        with driving(simulator):
            while len(got) < len(expected):
                (mine, *_) = virtual.channels["simulated"]
                longest = max(longest, mine.qsize())
                got.extend(reader.read(0.5).frames)
    finally:
        send.close()
        reader.close()

    assert got[: len(expected)] == expected
    assert longest <= WINDOW
    assert "simulated" not in virtual.channels
