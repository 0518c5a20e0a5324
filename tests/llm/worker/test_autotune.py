"""The number of threads follows the timing, and a tie goes to fewer."""

import pytest

from runtime.llm.engine.worker.autotune import fastest
from runtime.llm.engine.worker.resources import free_bytes, shortage, usable_cores


class Machine:
    """A clock that moves by what a step costs."""

    def __init__(self, costs: dict[int, float]) -> None:
        self.costs, self.now, self.steps = costs, 0.0, 0

    def step(self, threads: int) -> None:
        self.now += self.costs[threads]
        self.steps += 1

    def clock(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("costs", "chosen"),
    [
        ({1: 0.01}, 1),
        ({1: 0.010, 2: 0.006}, 2),
        ({1: 0.010, 2: 0.0095}, 1),
        ({1: 0.010, 2: 0.020, 3: 0.005, 4: 0.004}, 4),
        ({1: 0.004, 2: 0.020, 3: 0.020, 4: 0.020, 6: 0.001}, 6),
    ],
)
def test_more_threads_must_be_clearly_faster(costs: dict[int, float], chosen: int) -> None:
    machine = Machine(costs)
    assert fastest(max(costs), machine.step, machine.clock) == chosen


def test_a_slow_model_is_not_timed_for_ever() -> None:
    machine = Machine(dict.fromkeys(range(1, 65), 0.7))
    assert fastest(64, machine.step, machine.clock) == 1
    assert machine.steps <= 4


def test_a_shortage_names_both_numbers() -> None:
    assert shortage(100 << 20, 100 << 20) == "not enough memory: needs 100 MB, 90 MB can be taken"
    assert shortage(90 << 20, 101 << 20) is None


def test_the_system_tells_its_memory_and_cores() -> None:
    assert free_bytes() > 1 << 20
    assert usable_cores() >= 1
