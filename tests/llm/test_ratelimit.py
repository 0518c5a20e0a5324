"""The rate limit, driven by a clock that the test turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.web.buckets import LONGEST_WAIT_S, Buckets, RateLimiter
from tests.waiting import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def burst(limiter: RateLimiter, client: str, requests: int) -> list[int | None]:
    return [limiter.take(client) for _ in range(requests)]


@pytest.mark.parametrize(
    ("rate", "said"), [(10.0, 1), (1.0, 1), (0.5, 2), (0.3, 4), (0.01, 100), (5e-324, 86_400)]
)
def test_a_refusal_says_in_whole_seconds_when_a_token_will_be_there(
    clock: Clock, rate: float, said: int
) -> None:
    limiter = RateLimiter(rate, 1.0, clock=clock)
    limiter.take("a")

    assert limiter.take("a") == said


def test_a_bucket_starts_full_and_fills_continuously_and_never_above_its_burst(
    clock: Clock,
) -> None:
    limiter = RateLimiter(2.0, 2.0, clock=clock)
    assert burst(limiter, "a", 3) == [None, None, 1]

    clock.now += 0.25
    assert limiter.take("a") == 1
    clock.now += 0.25
    assert limiter.take("a") is None
    clock.now += 3600
    assert burst(limiter, "a", 3) == [None, None, 1]


def test_a_new_name_from_the_same_address_does_not_help_where_addresses_count(clock: Clock) -> None:
    limiter = RateLimiter(1.0, 2.0, per_address=0.5, clock=clock)

    answers = [limiter.take(f"name {n}", "192.0.2.1") for n in range(3)]

    assert answers == [None, None, 2]
    assert limiter.take("name 9", "192.0.2.2") is None


def test_a_flood_of_names_keeps_memory_bounded_and_forgets_the_oldest(clock: Clock) -> None:
    buckets = Buckets(1.0, 1.0, size=8)

    for n in range(100):
        buckets.take(f"client {n}", clock.now)

    assert len(buckets) == 8
    assert buckets.wait("client 99", clock.now) == 1.0
    assert buckets.wait("client 0", clock.now) == 0.0


@given(
    rate=st.floats(0.001, 1000),
    size=st.floats(1, 10_000),
    pauses=st.lists(st.floats(0, 20), max_size=60),
)
def test_no_client_gets_more_than_its_burst_and_rate_and_waiting_as_told_is_enough(
    rate: float, size: float, pauses: list[float]
) -> None:
    clock = Clock()
    limiter = RateLimiter(rate, size, clock=clock)
    passed = 0
    for pause in pauses:
        clock.now += pause
        wait = limiter.take("a")
        if wait is None:
            passed += 1
            continue
        assert 1 <= wait <= LONGEST_WAIT_S
        clock.now += wait
        assert limiter.take("a") is None
        passed += 1

    assert passed <= size + rate * (clock.now - 1000.0) + 1e-3
