"""Threads follow the timing, a tie goes to fewer, and a model is refused where memory is short."""

from types import SimpleNamespace

import pytest

from runtime.llm.engine.worker.resources import Refused, fastest_threads, refuse_shortage


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
    assert fastest_threads(max(costs), machine.step, machine.clock) == chosen


def test_a_slow_model_is_not_timed_for_ever() -> None:
    machine = Machine(dict.fromkeys(range(1, 65), 0.7))
    assert fastest_threads(64, machine.step, machine.clock) == 1
    assert machine.steps <= 4


def test_a_shortage_names_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    free = SimpleNamespace(available=100 << 20)
    monkeypatch.setattr("psutil.virtual_memory", lambda: free)
    with pytest.raises(Refused) as caught:
        refuse_shortage(100 << 20)
    assert str(caught.value) == "not enough memory: needs 100 MB, 90 MB can be taken"
    assert caught.value.short_of == 100 << 20
    refuse_shortage(90 << 20)
