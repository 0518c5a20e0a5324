"""Admission and lanes: limits, order, estimates, and that the counters always add up."""

import asyncio
from contextlib import suppress

import pytest

from runtime.llm.chats import Admission, Lane, Owner, QueueFull, State, Ticket
from tests.waiting import Clock, until

A, B, C = (("10.0.0.1", name) for name in "abc")
ELSEWHERE = ("10.0.0.2", "a")


def enter(admission: Admission, lane: Lane, owner: Owner, first: int, count: int) -> list[Ticket]:
    """As many of *count* requests as are admitted, numbered from *first*."""
    admitted = []
    for number in range(first, first + count):
        with suppress(QueueFull):
            admitted.append(admission.enter(number, lane, owner, "m"))
    return admitted


async def test_an_address_that_changes_its_name_all_the_time_keeps_no_other_out() -> None:
    admission, lane = Admission(8), Lane("local")
    for number in range(1000):
        enter(admission, lane, ("10.0.0.1", f"name {number}"), number, 1)

    assert len(lane.unfinished) == 16
    assert len(enter(admission, lane, ELSEWHERE, 2000, 20)) == 1


async def test_there_is_an_end_to_what_all_addresses_may_have_in_line() -> None:
    admission, lane = Admission(2), Lane("local")
    for number in range(100):
        enter(admission, lane, (f"10.0.0.{number}", "a"), number, 1)

    assert len(lane.unfinished) == 16


async def run_all(admission: Admission, lane: Lane, tickets: list[Ticket]) -> list[Ticket]:
    """Let the requests generate one after the other; the order in which they did."""
    order: list[Ticket] = []

    async def request(ticket: Ticket) -> None:
        await lane.take(ticket)
        order.append(ticket)
        admission.finish(ticket, State.COMPLETED)
        lane.give(ticket)

    await asyncio.gather(*map(request, tickets))
    return order


async def test_clients_take_turns_and_the_position_is_the_one_in_that_order() -> None:
    admission, lane = Admission(8), Lane("local")
    many = enter(admission, lane, A, 1, 6)
    await lane.take(many[0])
    joined = enter(admission, lane, B, 10, 2)
    late = enter(admission, lane, C, 20, 1)

    assert [ticket.position for ticket in many] == [1, 2, 3, 4, 5, 6]
    # one of A runs, and one more of it came before B and C did
    assert [(t.position, t.depth) for t in (*joined, *late)] == [(3, 7), (5, 8), (4, 9)]
    waiting = asyncio.ensure_future(run_all(admission, lane, [*many[1:], *joined, *late]))
    await until(lambda: len(lane._waiting) == 8)
    admission.finish(many[0], State.COMPLETED)
    lane.give(many[0])

    order = [ticket.number for ticket in await waiting]
    assert order == [2, 10, 20, 3, 11, 4, 5, 6]


async def test_a_client_that_asks_again_and_again_does_not_overtake_one_that_waits() -> None:
    admission, lane = Admission(8), Lane("local")
    (running,) = enter(admission, lane, A, 1, 1)
    await lane.take(running)
    (waits,) = enter(admission, lane, B, 2, 1)
    for number in range(3, 9):
        (again,) = enter(admission, lane, A, number, 1)
        assert lane.runs_before(waits, again)


async def test_the_estimate_is_the_mean_of_completed_requests_times_those_ahead() -> None:
    clock = Clock()
    admission, lane = Admission(8, clock), Lane("local")
    for number, seconds in ((1, 2.0), (2, 4.0)):
        ticket = admission.enter(number, lane, A, "m")
        admission.note_start(ticket)
        clock.now += seconds
        admission.finish(ticket, State.COMPLETED)
    failed = admission.enter(3, lane, A, "m")
    admission.note_start(failed)
    clock.now += 100.0
    admission.finish(failed, State.ERRORED)

    waits = [admission.enter(number, lane, A, "m").wait_ms for number in (4, 5, 6)]

    assert waits == [0, 3000, 6000]
    assert admission.totals.inference_s == pytest.approx(6.0)


async def test_a_turn_that_comes_as_its_waiter_leaves_goes_to_the_next() -> None:
    admission, lane = Admission(8), Lane("local")
    tickets = [admission.enter(number, lane, A, "m") for number in (1, 2, 3)]
    await lane.take(tickets[0])
    leaver = asyncio.create_task(lane.take(tickets[1]))
    stayer = asyncio.create_task(lane.take(tickets[2]))
    await asyncio.sleep(0)

    lane.give(tickets[0])  # hands the lane to the leaver, whose task has not run yet
    leaver.cancel()
    await stayer

    assert set(lane.holders) == {3}


async def test_requests_of_one_engine_share_the_lane_and_others_wait_for_its_end() -> None:
    admission, lane = Admission(8), Lane("local")
    tickets = [admission.enter(number, lane, A, "m") for number in range(1, 6)]
    engines = ["x", "x", "x", "y", "x"]
    taking = [
        asyncio.create_task(lane.take(ticket, engine, 2))
        for ticket, engine in zip(tickets, engines, strict=True)
    ]
    await asyncio.sleep(0)
    assert set(lane.holders) == {1, 2}

    lane.give(tickets[0])
    assert set(lane.holders) == {2, 3}
    lane.give(tickets[1])
    assert set(lane.holders) == {3}  # the fourth is for another engine, and the fifth behind it
    lane.give(tickets[2])
    assert set(lane.holders) == {4}
    lane.give(tickets[3])
    await asyncio.gather(*taking)
    assert set(lane.holders) == {5}


async def test_a_waiter_for_another_engine_that_leaves_lets_the_next_one_join() -> None:
    admission, lane = Admission(8), Lane("local")
    tickets = [admission.enter(number, lane, A, "m") for number in (1, 2, 3)]
    await lane.take(tickets[0], "x", 2)
    leaver = asyncio.create_task(lane.take(tickets[1], "y", 2))
    joiner = asyncio.create_task(lane.take(tickets[2], "x", 2))
    await asyncio.sleep(0)
    leaver.cancel()
    await joiner
    assert set(lane.holders) == {1, 3}


async def test_the_estimate_counts_rounds_of_replies_side_by_side() -> None:
    clock = Clock()
    admission, lane = Admission(8, clock), Lane("local")
    first = admission.enter(1, lane, A, "m")
    await lane.take(first, "x", 2)
    admission.note_start(first)
    clock.now += 10
    admission.finish(first, State.COMPLETED)
    lane.give(first)
    assert [admission.enter(n, lane, A, "m").wait_ms for n in (2, 3, 4, 5)] == [0, 0, 10e3, 10e3]
