"""Who hears what, what a slow listener misses, and where one goes on that comes back."""

from functools import partial

import pytest

from runtime.bridge.live.hub import QUEUES, RING, Hub, Kind
from runtime.bridge.session.recording import Origin
from tests.bridge.live.streamkit import cue, frame, waiting
from tests.waiting import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def hub(clock: Clock) -> Hub:
    return Hub(clock=clock, wall=clock)


@pytest.mark.parametrize(
    ("source", "session", "heard"),
    [
        ("can", "s", {"s", "_live", "*", "SIM"}),
        ("replay", "s", {"s", "_live", "*", "SIM"}),
        ("ingest", "s", {"s", "*", "SIM"}),
        ("can", "other", {"other", "_live", "*"}),
        ("can", "_live", {"_live", "*"}),
        ("ingest", "_live", {"_live", "*"}),
        ("can", "SIM", {"SIM", "_live", "*"}),
    ],
)
async def test_a_frame_reaches_the_listeners_of_its_session(
    hub: Hub, source: Origin, session: str, heard: set[str]
) -> None:
    hub.follow(lambda: "s")
    names = ("s", "other", "_live", "*", "SIM")
    listeners = {name: hub.subscribe({"telemetry": [name]}) for name in names}
    hub.publish_frame(frame(session, source=source))
    got = {name: await waiting(one) for name, one in listeners.items()}
    assert {name for name, events in got.items() if events} == heard
    assert {len(events) for events in got.values()} <= {0, 1}


async def test_the_active_session_is_asked_for_at_each_frame(hub: Hub) -> None:
    listener = hub.subscribe({"telemetry": ["SIM"]})
    hub.publish_frame(frame("one"))
    for active in ("one", "two"):
        hub.follow(partial(str, active))
        hub.publish_frame(frame("one"))
        hub.publish_frame(frame("two"))
    assert [event.data["session_id"] for event in await waiting(listener)] == ["one", "two"]


async def test_a_listener_of_two_topics_gets_an_event_once(hub: Hub) -> None:
    listener = hub.subscribe({"telemetry": ["s", "*"]})
    hub.publish_frame(frame())
    assert len(await waiting(listener)) == 1


@pytest.mark.parametrize("kind", ["telemetry", "cues"])
async def test_a_full_queue_drops_the_oldest_and_says_so_once(hub: Hub, kind: Kind) -> None:
    listener = hub.subscribe({kind: ["s"]})
    most = QUEUES[kind]
    for at in range(most + 5):
        if kind == "cues":
            hub.publish_cue(cue(str(at)))
        else:
            hub.publish_frame(frame(t=float(at)))
    got = await waiting(listener)
    assert len(got) == most
    assert got[0].data["dropped"] == 5
    assert not any("dropped" in event.data for event in got[1:])
    first = got[0].data["text"] if kind == "cues" else got[0].data["timestamp"]
    assert float(first) == 5.0
    assert (listener.dropped, hub.dropped) == (5, 5)


@pytest.mark.parametrize(
    ("gaps", "hz", "share"),
    [
        ([0.1], 10.0, 1.0),  # as fast as it comes
        ([0.09, 0.11], 10.0, 1.0),  # uneven
        ([0.02], 10.0, 0.2),
        ([0.1], 100.0, 1.0),
        ([0.1], 3.0, 0.3),
    ],
)
async def test_a_listener_gets_no_more_than_it_asked_for(
    hub: Hub, clock: Clock, gaps: list[float], hz: float, share: float
) -> None:
    listener = hub.subscribe({"telemetry": ["s"]}, hz=hz)
    got = 0
    for at in range(1000):
        hub.publish_frame(frame(t=float(at)))
        got += len(await waiting(listener))
        clock.now += gaps[at % len(gaps)]
    assert got == pytest.approx(1000 * share, rel=0.02)
    assert listener.dropped == 0


async def test_the_end_of_a_replay_passes_every_rate(hub: Hub) -> None:
    listener = hub.subscribe({"telemetry": ["_live"]}, hz=0.001)
    hub.publish_frame(frame())
    hub.publish_frame(frame())
    hub.publish_control("s", "end", {"replay_id": "r", "frames_emitted": 2})
    assert [event.name for event in await waiting(listener)] == ["telemetry", "end"]


@pytest.mark.parametrize("behind", [-10_000_000, -1, 10_000_000])
async def test_a_number_of_before_a_restart_means_all_that_is_kept(hub: Hub, behind: int) -> None:
    start = hub.subscribe({"cues": ["s"]}).position
    for at in range(3):
        hub.publish_cue(cue(str(at)))
    again = hub.subscribe({"cues": ["s"]}, since_id=start + behind)
    assert [event.data["text"] for event in await waiting(again)] == ["0", "1", "2"]
    assert again.position == start


async def test_numbers_grow_over_a_restart(hub: Hub, clock: Clock) -> None:
    hub.publish_cue(cue("before"))
    last = hub.subscribe({"cues": ["s"]}).position
    clock.now += 1
    restarted = Hub(clock=clock, wall=clock)
    restarted.publish_cue(cue("after"))
    again = restarted.subscribe({"cues": ["s"]}, since_id=last)
    assert [event.data["text"] for event in await waiting(again)] == ["after"]


async def test_what_was_missed_is_not_cut_to_the_length_of_the_queue(hub: Hub) -> None:
    start = hub.subscribe({"cues": ["s"]}).position
    for at in range(RING + 44):
        hub.publish_cue(cue(str(at)))
    again = hub.subscribe({"cues": ["s"]}, since_id=start)
    got = await waiting(again)
    assert [event.data["text"] for event in got] == [str(at) for at in range(44, RING + 44)]
    assert not any("dropped" in event.data for event in got)


async def test_a_listener_that_gave_up_waiting_can_go_on(hub: Hub) -> None:
    listener = hub.subscribe({"telemetry": ["s"]})
    assert await waiting(listener) == []  # a wait that was cancelled
    hub.publish_frame(frame())
    assert len(await waiting(listener)) == 1
