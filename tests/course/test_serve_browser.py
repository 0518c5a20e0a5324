"""Open pages in a real browser: they reload, and show why a build failed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.window import Window
from tests.course.coursekit import BRAKE_TRACE, edited, put, write_course
from tests.course.servekit import serving

pytestmark = pytest.mark.browser
OVERLAY: Final = "return document.querySelector('dialog[data-reload]')?.innerText ?? ''"
ON_BUTTON: Final = "return document.activeElement.tagName === 'BUTTON'"


def test_an_open_page_reloads_itself_after_a_change(window: Window, tmp_path: Path) -> None:
    course = write_course(tmp_path)
    with serving(course, "/course") as served:
        window.open(f"{served.server.url}lessons/brake-trace/")
        edited(course, BRAKE_TRACE, ("title: ", "title: Again "))
        window.until(lambda: "Again" in window.js("return document.title"))


def test_a_failed_build_is_shown_and_closed_with_the_keyboard(
    window: Window, tmp_path: Path
) -> None:
    course = write_course(tmp_path)
    text = (course / "content/course.yaml").read_bytes()
    with serving(course, "/course") as served:
        window.open(served.server.url)
        put(course / "content/course.yaml", None)
        shown = window.until(lambda: window.js(OVERLAY))
        assert "The course does not build" in shown
        assert "CFG001" in shown
        window.until(lambda: window.js(ON_BUTTON))
        window.keys(Keys.ESCAPE)
        window.until(lambda: not window.js(OVERLAY))
        put(course / "content/course.yml", text)
        assert "course.yml" in window.until(lambda: window.js(OVERLAY))
        put(course / "content/course.yml", None)
        put(course / "content/course.yaml", text)
        window.until(lambda: not window.js(OVERLAY))


def test_a_half_written_lesson_becomes_the_lesson(window: Window, tmp_path: Path) -> None:
    course = write_course(tmp_path)
    edited(course, BRAKE_TRACE, ("status: authored", "status: nearly"))
    with serving(course) as served:
        window.open(f"{served.server.url}lessons/brake-trace/")
        banner = "return document.querySelector('[data-draft]')?.textContent ?? ''"
        assert "SCH004" in window.js(banner)
        edited(course, BRAKE_TRACE, ("status: nearly", "status: authored"))
        window.until(lambda: not window.js(banner))
