"""Admission and lanes: limits, order, estimates, and that the counters always add up."""

import asyncio

import pytest

from runtime.llm.chats import Admission, Cancelled, Lane, QueueFull, State, Ticket


class Clock:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def test_the_running_request_counts_in_the_limit_and_in_the_position() -> None:
    admission, lane = Admission(3), Lane("local")
    first = admission.enter(1, lane, "a", "m")
    await lane.take(first)
    admission.started(first)

    second, third = admission.enter(2, lane, "a", "m"), admission.enter(3, lane, "a", "m")

    assert [ticket.position for ticket in (first, second, third)] == [1, 2, 3]
    assert (lane.running, lane.waiting) == (1, 2)
    with pytest.raises(QueueFull) as refused:
        admission.enter(4, lane, "a", "m")
    assert refused.value.headers == {"Retry-After": "5", "X-Queue-Depth": "3"}
    assert admission.totals.admitted == 3


async def test_the_limit_is_over_all_lanes_and_positions_are_within_one() -> None:
    admission, local, system = Admission(2), Lane("local"), Lane("sysmodel")

    assert admission.enter(1, local, "a", "m").position == 1
    assert admission.enter(2, system, "a", "m").position == 1
    with pytest.raises(QueueFull):
        admission.enter(3, system, "a", "m")


async def test_the_estimate_is_the_mean_of_completed_requests_times_those_ahead() -> None:
    clock = Clock()
    admission, lane = Admission(8, clock), Lane("local")
    for number, seconds in ((1, 2.0), (2, 4.0)):
        ticket = admission.enter(number, lane, "a", "m")
        admission.started(ticket)
        clock.now += seconds
        admission.finish(ticket, State.COMPLETED)
    failed = admission.enter(3, lane, "a", "m")
    admission.started(failed)
    clock.now += 100.0
    admission.finish(failed, State.ERRORED)

    waits = [admission.enter(number, lane, "a", "m").wait_ms for number in (4, 5, 6)]

    assert waits == [0, 3000, 6000]
    assert admission.totals.inference_s == pytest.approx(6.0)


async def test_the_mean_is_over_the_last_fifty() -> None:
    clock = Clock()
    admission, lane = Admission(8, clock), Lane("local")
    for number in range(1, 101):
        ticket = admission.enter(number, lane, "a", "m")
        admission.started(ticket)
        clock.now += 9.0 if number <= 50 else 1.0
        admission.finish(ticket, State.COMPLETED)

    assert lane.average_s == pytest.approx(1.0)
    assert len(admission.history) == 50
    assert admission.history[0].number == 100


async def test_ready_requests_run_in_order_of_arrival_one_at_a_time() -> None:
    admission, lane = Admission(8), Lane("local")
    ran: list[int] = []
    running = 0

    async def request(ticket: Ticket) -> None:
        nonlocal running
        await lane.take(ticket)
        running += 1
        assert running == 1
        ran.append(ticket.number)
        await asyncio.sleep(0)
        running -= 1
        lane.give(ticket)

    tickets = [admission.enter(number, lane, "a", "m") for number in range(1, 7)]
    await lane.take(tickets[0])
    waiting = [asyncio.create_task(request(ticket)) for ticket in reversed(tickets[1:])]
    await asyncio.sleep(0)
    lane.give(tickets[0])
    await asyncio.gather(*waiting)

    assert ran == [2, 3, 4, 5, 6]


async def test_a_waiter_that_leaves_disturbs_nobody() -> None:
    admission, lane = Admission(8), Lane("local")
    tickets = [admission.enter(number, lane, "a", "m") for number in (1, 2, 3)]
    await lane.take(tickets[0])
    leaver = asyncio.create_task(lane.take(tickets[1]))
    stayer = asyncio.create_task(lane.take(tickets[2]))
    await asyncio.sleep(0)

    leaver.cancel()
    await asyncio.sleep(0)

    assert not stayer.done()
    lane.give(tickets[0])
    await stayer
    assert lane.holders == {3}


async def test_a_turn_that_comes_as_its_waiter_leaves_goes_to_the_next() -> None:
    admission, lane = Admission(8), Lane("local")
    tickets = [admission.enter(number, lane, "a", "m") for number in (1, 2, 3)]
    await lane.take(tickets[0])
    leaver = asyncio.create_task(lane.take(tickets[1]))
    stayer = asyncio.create_task(lane.take(tickets[2]))
    await asyncio.sleep(0)

    lane.give(tickets[0])  # hands the lane to the leaver, whose task has not run yet
    leaver.cancel()
    await stayer

    assert lane.holders == {3}


async def test_a_stopped_request_raises_the_reason_and_a_foreign_cancellation_passes() -> None:
    admission, lane = Admission(8), Lane("local")
    entered = asyncio.Event()
    seen: list[Ticket] = []

    async def request(number: int) -> None:
        ticket = admission.enter(number, lane, "a", "m")
        seen.append(ticket)
        entered.set()
        with ticket.stoppable():
            await asyncio.Event().wait()

    stopped = asyncio.create_task(request(1))
    await entered.wait()
    seen[0].stop(Cancelled())
    with pytest.raises(Cancelled):
        await stopped

    foreign = asyncio.create_task(request(2))
    await asyncio.sleep(0)
    foreign.cancel()
    with pytest.raises(asyncio.CancelledError):
        await foreign
