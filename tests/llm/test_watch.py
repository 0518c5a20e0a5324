"""How long an engine process may leave a command unanswered, and from when on."""

import asyncio

import pytest

from runtime.llm.api.health import WARM_BUDGET_S
from runtime.llm.engine.protocol import Close, Command, Load, Open, Prepare, Warm
from runtime.llm.engine.watch import ANSWER_S, COMPUTE_S, Watch, limit_of
from runtime.llm.engine.worker import renderer


@pytest.mark.parametrize(
    ("command", "limit_s"),
    [
        (Load(1, "m", 0, 1), None),
        (Open(1, "e", 1, 1), COMPUTE_S),
        (Warm(1), COMPUTE_S),
        (Close(1, "e"), ANSWER_S),
        (Prepare(1, "e", []), ANSWER_S),
    ],
)
def test_every_command_has_a_limit_that_fits_it(command: Command, limit_s: float | None) -> None:
    assert limit_of(command) == limit_s


def test_the_limits_outlast_what_is_bounded_elsewhere() -> None:
    assert COMPUTE_S > 2 * WARM_BUDGET_S
    assert ANSWER_S > 4 * (2 * renderer.TIME_LIMIT_S + renderer._GRACE_S)


class Watched:
    """A watch, and whether it gave up."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.watch = Watch(self.over.set)

    async def patient(self) -> bool:
        """Whether a limit of no time at all has not been found to be over."""
        for _ in range(10):
            await asyncio.sleep(0)
        return not self.over.is_set()


async def test_the_time_of_a_command_runs_only_while_it_is_at_work() -> None:
    watched = Watched()
    watched.watch.sent(1, None)
    watched.watch.sent(2, 0.0)
    assert await watched.patient()
    watched.watch.answered(1)
    async with asyncio.timeout(10):
        await watched.over.wait()


async def test_what_was_answered_is_not_waited_for() -> None:
    watched = Watched()
    watched.watch.sent(1, 0.0)
    watched.watch.answered(1)
    watched.watch.answered(1)
    assert await watched.patient()


async def test_an_answer_out_of_turn_leaves_the_first_command_watched() -> None:
    watched = Watched()
    watched.watch.sent(1, 0.0)
    watched.watch.sent(2, None)
    watched.watch.answered(2)
    assert not await watched.patient()


async def test_a_process_that_is_gone_is_not_waited_for() -> None:
    watched = Watched()
    watched.watch.sent(1, 0.0)
    watched.watch.end()
    assert await watched.patient()
