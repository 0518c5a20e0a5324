"""Threads follow the timing, a tie goes to fewer, and a model is refused where memory is short."""

from types import SimpleNamespace

import pytest

from runtime.llm.engine.worker.resources import (
    Refused,
    find_best_width,
    find_fastest_threads,
    list_thread_counts,
    refuse_shortage,
)


class Machine:
    """A clock that moves by what a step costs."""

    def __init__(self, costs: dict[int, float], first: float = 0.0) -> None:
        self.costs, self.now, self.first = costs, 0.0, first
        self.steps = 0
        self.tried: set[int] = set()

    def step(self, threads: int) -> None:
        self.now += self.costs[threads] + (0.0 if self.steps else self.first)
        self.steps += 1
        self.tried.add(threads)

    def clock(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [
        ({1: 0.01}, 1),
        ({2: 0.006, 1: 0.010}, 2),
        ({2: 0.0095, 1: 0.010}, 1),
        ({8: 0.005, 6: 0.004, 4: 0.006, 2: 0.010, 1: 0.02}, 6),
        ({4: 0.020, 3: 0.020, 2: 0.021, 1: 0.004}, 1),
        ({4: 0.020, 3: 0.015, 2: 0.010, 1: 0.004}, 1),
        ({4: 0.7, 3: 0.9, 2: 1.4, 1: 2.8}, 4),
        ({2: 30.0, 1: 60.0}, 2),
    ],
)
def test_the_fastest_count_is_chosen_however_slow_the_model_and_a_tie_goes_to_fewer(
    costs: dict[int, float], chosen: int
) -> None:
    machine = Machine(costs)
    assert find_fastest_threads(list(costs), machine.step, machine.clock) == chosen


def test_a_first_step_that_reads_the_file_decides_nothing() -> None:
    machine = Machine({2: 0.006, 1: 0.010}, first=20.0)
    assert find_fastest_threads([2, 1], machine.step, machine.clock) == 2


def test_the_timing_ends_where_fewer_threads_are_clearly_slower() -> None:
    machine = Machine({threads: 8.0 / threads for threads in range(1, 65)})
    assert find_fastest_threads(list_thread_counts(64), machine.step, machine.clock) == 64
    assert machine.tried == {64, 56, 48, 40}
    assert machine.steps <= 16


@pytest.mark.parametrize(
    ("cores", "counts"),
    [(1, [1]), (2, [2, 1]), (4, [4, 3, 2, 1]), (16, [16, 14, 12, 10, 8, 6, 4, 3, 2, 1])],
)
def test_counts_fall_from_every_core_to_one(cores: int, counts: list[int]) -> None:
    assert list_thread_counts(cores) == counts


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [
        ({1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}, 1),
        ({1: 1.0, 2: 1.9, 4: 3.7, 8: 7.3}, 1),  # hardly better
        ({1: 1.0, 2: 2.2, 4: 2.5, 8: 6.0}, 4),
        ({1: 1.0, 2: 1.1, 4: 1.3, 8: 1.6}, 8),
    ],
)
def test_so_many_replies_at_a_time_as_clearly_give_most_in_total(
    costs: dict[int, float], chosen: int
) -> None:
    machine = Machine(costs, first=50.0)
    assert find_best_width(list(costs), machine.step, machine.clock) == chosen


def test_a_shortage_names_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    free = SimpleNamespace(available=100 << 20)
    monkeypatch.setattr("psutil.virtual_memory", lambda: free)
    with pytest.raises(Refused) as caught:
        refuse_shortage(100 << 20)
    assert str(caught.value) == "not enough memory: needs 100 MB, 90 MB are available"
    assert caught.value.short_of == 100 << 20
    refuse_shortage(90 << 20)
