"""`build.py serve` beside an open page: a broken edit is shown, a good one loads the page again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.window import Window
from tests.course.coursekit import BRAKE_TRACE, edited, put, write_course

pytestmark = pytest.mark.browser

OVERLAY = "dialog[data-reload=failure]"
BANNER = "[data-draft]"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return write_course(tmp_path / "course")


@pytest.fixture
def address(course: Path, root: Path) -> Iterator[str]:
    """The address of a running `build.py serve` below a prefix."""
    command = [sys.executable, str(root / "build.py"), "serve", "--root", str(course)]
    with subprocess.Popen(
        [*command, "--port", "0", "--prefix", "/course"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        assert server.stdout is not None
        found = None
        while not found:
            line = server.stdout.readline()
            assert line, "the server ended"
            found = re.search(r"http://\S+/", line)
        yield found[0]
        server.send_signal(signal.SIGINT)
        server.wait(30)


def test_a_broken_edit_is_shown_on_its_page_and_a_repaired_one_loads_the_page(
    window: Window, course: Path, address: str
) -> None:
    window.open(f"{address}lessons/brake-trace/")
    title = window.one("h1").text
    edited(course, BRAKE_TRACE, ("status: authored", "status: autored"))
    window.until(lambda: window.all(BANNER))
    said = window.one(BANNER).text
    assert re.search(rf"{re.escape(BRAKE_TRACE)}:\d+:\d+", said), said
    assert "autored" in said
    assert window.one("h1").text == title
    assert window.axe() == []

    edited(course, BRAKE_TRACE, ("status: autored", "status: authored"))
    edited(course, BRAKE_TRACE, (f"title: {title}", "title: Read every brake trace"))
    window.until(lambda: "Read every brake trace" in window.driver.title)
    assert window.all(BANNER) == []


def test_a_repair_without_a_change_takes_the_message_away(
    window: Window, course: Path, address: str
) -> None:
    window.open(address)
    window.js("window.kept = true")
    text = (course / "content/course.yaml").read_bytes()
    put(course / "content/course.yaml", None)
    window.until(lambda: window.all(OVERLAY))
    assert window.axe() == []
    put(course / "content/course.yaml", text)
    window.until(lambda: not window.all(OVERLAY))
    assert window.js("return window.kept") is True
    assert [line for line in window.console() if "Content Security Policy" in line] == []
