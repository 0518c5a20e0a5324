"""Open pages in a real browser: they reload, and show why a build failed."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.course.coursekit import BRAKE_TRACE, edited, put, write_course
from tests.course.servekit import serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]
PATIENCE_S: Final = 20.0
ESCAPE: Final = "\ue00c"
OVERLAY: Final = "return document.querySelector('dialog[data-reload]')?.innerText ?? ''"


class Browser:
    """One tab, driven by the WebDriver protocol."""

    def __init__(self, address: str) -> None:
        self._address = address
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments}}
        made = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._address = f"{address}/{made['sessionId']}"

    def _call(self, method: str, path: str, data: object = None) -> Any:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(self._address + path, body, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url: str) -> None:
        """Load a page."""
        self._call("POST", "/url", {"url": url})

    def run(self, script: str) -> Any:
        """The value that a script returns."""
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, key: str) -> None:
        """Press and release a key."""
        strokes = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        keyboard = {"type": "key", "id": "keys", "actions": strokes}
        self._call("POST", "/actions", {"actions": [keyboard]})

    def wait(self, script: str, good: Callable[[Any], bool]) -> Any:
        """The value of *script* once it is *good*."""
        until = time.monotonic() + PATIENCE_S
        while not good(value := self.run(script)) and time.monotonic() < until:
            time.sleep(0.05)
        assert good(value), value
        return value

    def quit(self) -> None:
        """Close the browser."""
        self._call("DELETE", "")


@pytest.fixture
def browser() -> Iterator[Browser]:
    with subprocess.Popen(
        ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as driver:
        assert driver.stdout is not None
        started = (re.search(rb"successfully on port (\d+)", line) for line in driver.stdout)
        port = int(next(match for match in started if match)[1])
        tab = Browser(f"http://127.0.0.1:{port}/session")
        yield tab
        tab.quit()
        driver.terminate()


def test_an_open_page_reloads_itself_after_a_change(browser: Browser, tmp_path: Path) -> None:
    course = write_course(tmp_path)
    with serving(course, "/course") as served:
        browser.open(f"{served.server.url}lessons/brake-trace/")
        edited(course, BRAKE_TRACE, ("title: ", "title: Again "))
        browser.wait("return document.title", lambda title: "Again" in title)


def test_a_failed_build_is_shown_and_closed_with_the_keyboard(
    browser: Browser, tmp_path: Path
) -> None:
    course = write_course(tmp_path)
    text = (course / "content/course.yaml").read_bytes()
    with serving(course, "/course") as served:
        browser.open(served.server.url)
        put(course / "content/course.yaml", None)
        shown = browser.wait(OVERLAY, bool)
        assert "The course does not build" in shown
        assert "CFG001" in shown
        assert browser.run("return document.activeElement.tagName") == "BUTTON"
        browser.press(ESCAPE)
        browser.wait(OVERLAY, lambda text: not text)
        put(course / "content/course.yml", text)
        assert "course.yml" in browser.wait(OVERLAY, bool)
        put(course / "content/course.yml", None)
        put(course / "content/course.yaml", text)
        browser.wait(OVERLAY, lambda text: not text)


def test_a_half_written_lesson_becomes_the_lesson(browser: Browser, tmp_path: Path) -> None:
    course = write_course(tmp_path)
    edited(course, BRAKE_TRACE, ("status: authored", "status: nearly"))
    with serving(course) as served:
        browser.open(f"{served.server.url}lessons/brake-trace/")
        banner = "return document.querySelector('[data-draft]')?.textContent ?? ''"
        assert "SCH004" in browser.run(banner)
        edited(course, BRAKE_TRACE, ("status: nearly", "status: authored"))
        browser.wait(banner, lambda text: not text)
