"""What a person sees of a long step."""

import io

import pytest

from runtime.llm.models.pull.progress import SMALL, Progress, Screen, in_words

TOTAL = 100 * SMALL


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def live(out: io.StringIO, clock: Clock, columns: int = 100) -> Progress:
    screen = Screen(out, live=True, clock=clock, columns=lambda: columns)
    return screen.step("downloading", TOTAL)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (83_506_384, "83.5 MB"),
        (4_200_000_000, "4.2 GB"),
    ],
)
def test_sizes_are_said_in_the_unit_that_fits(size: int, words: str) -> None:
    assert in_words(size) == words


@pytest.mark.parametrize(
    ("out", "environ", "expected"),
    [
        (Terminal(), {"TERM": "xterm"}, True),
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_control_sequences_are_only_for_a_terminal_that_wants_them(
    out: io.StringIO, environ: dict[str, str], expected: bool
) -> None:
    assert Screen.of(out, environ).live is expected


def test_elsewhere_than_on_a_terminal_a_step_says_each_quarter_once() -> None:
    out = io.StringIO()

    with Screen(out, live=False).step("downloading", TOTAL) as bar:
        for done in range(0, TOTAL + 1, TOTAL // 100):
            bar.show(done)

    assert out.getvalue().splitlines() == [f"downloading: {n} %" for n in (0, 25, 50, 75, 100)]


def test_a_terminal_line_is_redrawn_ten_times_a_second_at_most() -> None:
    out, clock = Terminal(), Clock()

    with live(out, clock) as bar:
        for millisecond in range(1000):
            clock.now = millisecond / 1000
            bar.show(millisecond)
        bar.show(TOTAL)

    assert out.getvalue().count("\r") <= 12
    assert "100%" in out.getvalue()
    assert out.getvalue().endswith("\n")


def test_a_line_tells_sizes_speed_and_the_time_that_is_left() -> None:
    out, clock = Terminal(), Clock()

    with live(out, clock) as bar:
        bar.show(TOTAL // 2)  # from an earlier attempt: no speed of this one
        clock.now = 10.0
        bar.show(TOTAL * 3 // 4)

    last = out.getvalue().split("\r")[-1]
    assert "] " in last
    assert f"75%  {in_words(TOTAL * 3 // 4)} of {in_words(TOTAL)}  2.6 MB/s  0:10 left" in last


@pytest.mark.parametrize("columns", [10, 20, 40, 60, 80, 200])
def test_a_line_never_wraps(columns: int) -> None:
    out, clock = Terminal(), Clock()

    with live(out, clock, columns) as bar:
        for tick in range(11):
            clock.now = tick * 1.0
            bar.show(TOTAL * tick // 10)

    lines = [line.removesuffix("\n").removesuffix("\x1b[K") for line in out.getvalue().split("\r")]
    assert max(map(len, lines)) < columns


@pytest.mark.parametrize("is_live", [True, False])
def test_a_step_that_is_over_at_once_is_not_shown(is_live: bool) -> None:
    out = Terminal()

    with Screen(out, live=is_live).step("checking", SMALL - 1) as bar:
        bar.show(0)
        bar.show(SMALL - 1)

    assert out.getvalue() == ""


def test_a_source_that_brings_more_than_it_said_ends_at_a_hundred_percent() -> None:
    out, clock = Terminal(), Clock()

    with live(out, clock) as bar:
        bar.show(TOTAL * 2)

    assert "100%" in out.getvalue()
