"""Processes that share the work of a build answer, fail and end as one process would."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from course.publish.parallel import Alone, Forked, aside, at_once, workers
from course.publish.tree import Refusal

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


class Counter:
    """Answers a number with everything below it, plus what it was asked before."""

    def __init__(self) -> None:
        self.before = 0

    def __call__(self, request: Any) -> Iterator[int]:
        yield from range(self.before, self.before + request)
        self.before += 100


@pytest.mark.parametrize("size", [1, 2, 3])
def test_every_member_remembers_and_answers_all_that_it_was_asked(size: int) -> None:
    with Forked(Counter(), size) as crew:
        for expected in (range(50), range(100, 150)):
            for member in range(size):
                crew.ask(member, 50)
            assert sorted(crew.answers()) == sorted([*expected] * size)


def test_a_crew_of_one_answers_the_same() -> None:
    crew = Alone(Counter())
    for expected in (range(50), range(100, 150)):
        crew.ask(0, 50)
        assert list(crew.answers()) == [*expected]
    crew.close()


@pytest.mark.parametrize("begin", [Alone, partial(Forked, size=2)])
def test_a_member_that_is_done_is_handed_more_until_there_is_none(begin: Any) -> None:
    crew = begin(Counter())
    left = [3, 2]

    def more(member: int) -> int | None:
        return left.pop(0) if left and member == 0 else None

    for member in range(crew.size):
        crew.ask(member, 1)
    found = sorted(crew.answers(more))
    crew.close()
    assert found == sorted([0, 100, 101, 102, 200, 201] + [0] * (crew.size - 1))
    assert not left


def test_large_answers_of_many_members_arrive_whole() -> None:
    def handler(request: Any) -> Iterator[bytes]:
        for number in range(40):
            yield bytes([number]) * 100_000

    with Forked(handler, 3) as crew:
        for member in range(3):
            crew.ask(member, "all")
        sizes = sorted((len(one), one[0]) for one in crew.answers())
    assert sizes == sorted([(100_000, number) for number in range(40)] * 3)


@pytest.mark.parametrize("error", [RuntimeError("no"), Refusal("CFG005", "full", "free some")])
def test_an_error_of_a_member_is_raised_as_it_was(error: Exception) -> None:
    def handler(request: Any) -> Iterator[int]:
        yield 1
        raise error

    with Forked(handler, 2) as crew:
        crew.ask(1, "go")
        with pytest.raises(type(error)) as raised:
            list(crew.answers())
    assert (str(raised.value), vars(raised.value)) == (str(error), vars(error))


def test_a_member_that_is_killed_is_an_error_and_no_endless_wait() -> None:
    def handler(request: Any) -> Iterator[int]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield 1

    with Forked(handler, 2) as crew:
        crew.ask(0, "go")
        with pytest.raises(RuntimeError, match="ended early"):
            list(crew.answers())


def test_members_whose_answers_nobody_takes_end_with_the_crew() -> None:
    def handler(request: Any) -> Iterator[tuple[int, bytes]]:
        while True:
            yield os.getpid(), bytes(100_000)

    members = set()
    with Forked(handler, 2) as crew:
        crew.ask(0, "go")
        crew.ask(1, "go")
        for member, _ in crew.answers():
            members.add(member)
            if len(members) == 2:
                break
    for member in members:
        with pytest.raises(ProcessLookupError):
            os.kill(member, 0)


def test_a_member_without_a_request_works_ahead_until_nothing_is_left() -> None:
    done: list[int] = []
    source, sink = os.pipe()

    def ahead() -> bool:
        done.append(1)
        os.write(sink, b"x")
        return len(done) < 3

    with Forked(lambda _request: iter([len(done)]), 1, ahead) as crew:
        crew.ask(0, "before")
        assert list(crew.answers()) == [0]
        seen = b""
        while len(seen) < 3:
            seen += os.read(source, 3)
        crew.ask(0, "after")
        assert list(crew.answers()) == [3]
    os.close(source)
    os.close(sink)


def test_what_fails_ahead_does_not_end_a_member() -> None:
    def ahead() -> bool:
        raise Refusal("CFG005", "full", "free some")

    with Forked(Counter(), 1, ahead) as crew:
        for expected in (range(50), range(100, 150)):
            crew.ask(0, 50)
            assert list(crew.answers()) == [*expected]


@pytest.mark.parametrize("begin", [aside, at_once])
def test_what_is_done_aside_gives_its_result_or_its_error(begin: Any) -> None:
    assert begin(lambda: {"a": 1})() == {"a": 1}


def test_an_error_aside_is_raised_when_its_result_is_asked_for() -> None:
    def fails() -> int:
        raise Refusal("CFG005", "full", "free some")

    with pytest.raises(Refusal, match="full"):
        aside(fails)()


def test_few_lessons_need_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert workers(0, 10) == 1
    assert workers(5, 3) == 3


def test_a_process_with_other_threads_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert workers(0, 1000) == 1
    assert workers(5, 3) == 1
