"""The thread that reads the bus, whatever happens to the adapter."""

import logging
import math
import threading
from collections.abc import Callable, Iterator

import pytest

from runtime.bridge.can.adapters import open_source
from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.dbc import load_dbc
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frames import CanFrame, Received, Source, SourceLost
from runtime.bridge.can.reader import NO_READER, RETRY_S, CanReader
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.slcan import encode
from runtime.bridge.can.statistics import BusStatistics, describe_messages
from tests.bridge.can.cankit import ROOT, Adapter, Fed, descriptors, until

MESSAGES = load_dbc(ROOT / "data" / "dbc" / "paddock-dash.dbc").messages
DECODER = Decoder(MESSAGES)
RPM = 0x420


def rpm_frame(t: float, rpm: int, mph: float = 50.0) -> CanFrame:
    raw = {"rpm": rpm, "speed_mph": mph, "gear": 0, "water_temp_f": 180}
    return CanFrame(t, RPM, MESSAGES[RPM].encode(raw))


class Bench:
    """A reader, what it delivered, and the pauses that it made."""

    def __init__(self, opening: Callable[[CanSettings, EpochClock], Source], **changes: object):
        self.flushes: list[Flush] = []
        self.pauses: list[float] = []
        self.patience = threading.Event()
        self.now = 1000.0
        settings = CanSettings(**{"keep_stamps": True, **changes})  # type: ignore[arg-type]
        self.reader = CanReader(
            settings,
            DECODER,
            lambda: Assembler(DECODER),
            self.deliver,
            BusStatistics(describe_messages(MESSAGES, {}), settings.bitrate, lambda: self.now),
            opening=opening,
            wait=self.wait,
            monotonic=lambda: self.now,
        )

    def deliver(self, flushes: list[Flush]) -> None:
        self.flushes += flushes

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        self.pauses.append(seconds)
        if self.patience.is_set():
            return stop.wait(seconds)
        return stop.is_set()

    @property
    def state(self) -> str:
        return self.reader.state

    @property
    def rpm(self) -> list[float]:
        return [flush.wide["rpm"] for flush in self.flushes if flush.wide is not None]


@pytest.fixture
def benches() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(
        opening: Callable[[CanSettings, EpochClock], Source] | Fed, **changes: object
    ) -> Bench:
        bench = Bench(
            (lambda settings, clock: opening) if isinstance(opening, Fed) else opening, **changes
        )
        made.append(bench)
        return bench

    yield make
    for bench in made:
        bench.reader.stop()
    until(lambda: not [t for t in threading.enumerate() if t.name == "can-reader"])


def test_frames_become_rows_in_a_thread(benches: Callable[..., Bench]) -> None:
    source = Fed()
    bench = benches(source)
    assert bench.reader.snapshot().state == "off"
    bench.reader.start()
    bench.reader.start()
    source.give(*[rpm_frame(n / 8, 1000 * n) for n in range(5)])
    until(lambda: len(bench.flushes) == 4)
    assert bench.rpm == [0.0, 1000.0, 2000.0, 3000.0]
    assert bench.reader.connected
    bench.reader.stop()
    assert bench.rpm[-1] == 4000.0  # what was left goes out
    assert source.closed == 1
    assert bench.state == "off"
    assert not bench.reader.connected


def test_the_snapshot_says_what_the_bus_does(benches: Callable[..., Bench]) -> None:
    source = Fed()
    bench = benches(source, channel="test", bitrate=1_000_000)
    bench.reader.start()
    source.put(Received([rpm_frame(0.0, 1), CanFrame(0.0, 0x7, b"")], errors=2, malformed=3))
    until(lambda: bench.reader.snapshot().counts.frames_total == 2)
    seen = bench.reader.snapshot()
    assert (seen.loaded, seen.connected, seen.state) == (True, True, "running")
    assert (seen.interface, seen.channel, seen.bitrate) == ("virtual", "test", 1_000_000)
    assert (seen.counts.frames_unknown, seen.counts.errors, seen.counts.malformed) == (1, 2, 3)
    assert [(row.can_id, row.message) for row in seen.counts.ids] == [("0x420", "DASH_ENGINE")]
    assert [row.can_id for row in seen.counts.unknown_ids] == ["0x007"]
    assert (seen.last_error, seen.reconnects, seen.next_retry_in_s) == (None, 0, None)
    bench.now += 6.0
    until(lambda: bench.reader.snapshot().reconnects)
    assert not NO_READER.loaded


def test_tries_to_open_are_made_for_ever_with_growing_pauses(
    benches: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    source = Fed()
    tries = iter([SourceLost("not plugged in")] * 6)

    def opening(settings: CanSettings, clock: EpochClock) -> Source:
        for lost in tries:
            raise lost
        return source

    bench = benches(opening)
    bench.reader.start()
    source.give(rpm_frame(1.0, 1))
    until(lambda: bench.reader.connected)
    assert bench.pauses == [*RETRY_S, 10.0, 10.0]
    assert len(caplog.records) == 1  # the same complaint is not repeated
    assert bench.reader.snapshot().last_error == "not plugged in"
    source.put(SourceLost("unplugged"))
    until(lambda: bench.reader.snapshot().reconnects == 1)
    assert bench.pauses[6:] == [1.0]  # success begins anew
    assert bench.reader.snapshot().last_error == "unplugged"


def test_settings_that_cannot_work_end_in_failure_not_in_tries(
    benches: Callable[..., Bench],
) -> None:
    bench = benches(open_source, interface="slcan", channel="x", bitrate=33_333)
    bench.reader.start()
    until(lambda: bench.state == "failed")
    assert bench.pauses == []
    assert "33333" in (bench.reader.snapshot().last_error or "")


def test_a_bus_that_falls_silent_is_opened_anew(benches: Callable[..., Bench]) -> None:
    sources = [Fed(), Fed()]
    waiting = iter(sources)
    bench = benches(lambda settings, clock: next(waiting))
    bench.reader.start()
    until(lambda: bench.state == "running")
    bench.now += 60.0  # it waits for the first frame as long as that takes
    sources[0].give(rpm_frame(1.0, 1))
    until(lambda: bench.reader.connected)
    assert bench.reader.snapshot().reconnects == 0
    bench.now += 5.5
    until(lambda: bench.reader.snapshot().reconnects == 1)
    assert "no frame" in (bench.reader.snapshot().last_error or "")
    assert sources[0].closed == 1


def test_whatever_a_driver_raises_the_reader_goes_on(
    benches: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    source = Fed()
    bench = benches(source)
    bench.reader.start()
    source.put(ZeroDivisionError())
    source.give(*[rpm_frame(n / 8, n) for n in range(3)])
    until(lambda: len(bench.flushes) == 2)
    assert bench.reader.faults == {"driver: ZeroDivisionError": 1}
    assert bench.reader.snapshot().faults == 1


def test_a_delivery_that_fails_costs_its_rows_only_and_is_logged_once(
    benches: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    source = Fed()
    bench = benches(source)
    broken = [True] * 3

    def deliver(flushes: list[Flush]) -> None:
        if broken:
            broken.pop()
            raise RuntimeError("the loop is closed")
        bench.deliver(flushes)

    bench.reader._deliver = deliver
    bench.reader.start()
    for n in range(6):
        source.give(rpm_frame(n / 8, n))
    until(lambda: len(bench.flushes) == 2)
    assert bench.rpm == [3.0, 4.0]
    assert bench.reader.faults == {"delivery: RuntimeError": 3}
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


def test_a_replay_pauses_the_bus_and_the_distance_goes_on_behind_it(
    benches: Callable[..., Bench],
) -> None:
    source = Fed()
    bench = benches(source)
    bench.reader.pause()
    assert bench.state == "off"  # nothing to pause
    bench.reader.start()
    source.give(*[rpm_frame(n / 8, 1) for n in range(11)])
    until(lambda: len(bench.flushes) == 10)
    bench.reader.pause()
    assert bench.state == "stopped_for_replay"
    bench.reader.resume()
    bench.reader.resume()
    source.give(*[rpm_frame(60 + n / 8, 1) for n in range(3)])
    until(lambda: bench.flushes[-1].wide is not None and bench.flushes[-1].wide["timestamp"] > 60)
    assert bench.flushes[-1].wide is not None
    assert bench.flushes[-1].wide["distance_m"] > 22.0
    bench.reader.stop()
    bench.reader.resume()
    assert bench.state == "off"


def test_a_new_session_begins_at_zero_metres(benches: Callable[..., Bench]) -> None:
    source = Fed()
    bench = benches(source)
    bench.reader.start()
    source.give(*[rpm_frame(n / 8, 1) for n in range(11)])
    until(lambda: len(bench.flushes) == 10)
    bench.reader.begin_session()
    source.give(*[rpm_frame(2 + n / 8, 1) for n in range(3)])
    until(lambda: len(bench.flushes) == 12)
    metres = [flush.wide["distance_m"] for flush in bench.flushes if flush.wide is not None]
    assert metres[9] > 20.0
    assert metres[10] < 3.0


def test_a_bus_that_pauses_hands_out_what_it_has(benches: Callable[..., Bench]) -> None:
    source = Fed()
    bench = benches(source)
    bench.reader.start()
    source.give(rpm_frame(1.0, 7))
    until(lambda: bench.reader.connected)
    assert bench.flushes == []
    bench.now += 1.0
    until(lambda: bench.flushes)
    assert bench.rpm == [7.0]


def test_on_our_clock_silence_shows_as_nulls(benches: Callable[..., Bench]) -> None:
    source = Fed()
    bench = benches(source, keep_stamps=False)
    bench.reader._clock = clock = EpochClock(lambda: bench.now, lambda: 1e9)
    bench.reader.start()
    source.give(rpm_frame(clock.now(), 7))
    until(lambda: bench.reader.connected)
    bench.now += 0.2
    until(lambda: bench.flushes)
    bench.now += 1.5
    until(lambda: len(bench.flushes) == 2)
    assert bench.rpm[0] == 7.0
    assert math.isnan(bench.rpm[1])


def test_a_driver_that_hangs_does_not_keep_a_stop_waiting(
    benches: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    source, free, tried = Fed(), threading.Event(), threading.Event()

    def opening(settings: CanSettings, clock: EpochClock) -> Source:
        tried.set()
        free.wait(30.0)
        return source

    bench = benches(opening)
    bench.reader.start()
    assert tried.wait(10.0)
    assert bench.state == "starting"
    bench.reader.stop()
    assert bench.state == "off"
    assert any(thread.name == "can-reader" for thread in threading.enumerate())
    free.set()  # the driver comes back: what it opened is closed and never read
    until(lambda: source.closed == 1)
    assert bench.state == "off"


@pytest.mark.slow
def test_two_hundred_times_unplugged_and_plugged_in_again(
    benches: Callable[..., Bench], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    plugged = Adapter()

    def opening(settings: CanSettings, clock: EpochClock) -> Source:
        return open_source(CanSettings("slcan", plugged.path, listen_only=True), clock)

    bench = benches(opening, keep_stamps=False)
    bench.reader._wait = lambda stop, seconds: stop.wait(0.0005)
    bench.reader.start()
    settled = (0, 0)
    for n in range(200):
        plugged.heard_until(b"L\r")
        plugged.say(encode(rpm_frame(0.0, n % 8000)) * 2 + b"t4")
        until(lambda: bench.reader.statistics.snapshot().frames_total >= 2 * (n + 1))  # noqa: B023
        if n == 20:
            settled = descriptors(), threading.active_count()
        if n == 199:
            assert settled == (descriptors(), threading.active_count())
        old, plugged = plugged, Adapter()
        old.unplug()
    assert bench.reader.statistics.snapshot().frames_total == 400
    bench.reader.stop()
    plugged.unplug()
    assert bench.reader.snapshot().reconnects in (199, 200)
    assert sum(len(flush.samples.get("speed_mph", ((),))[0]) for flush in bench.flushes) == 400
