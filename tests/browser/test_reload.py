"""Open pages of a course that is being written: they load again, and show why a build failed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.window import Window
from tests.course.coursekit import BRAKE_TRACE, edited, put, write_course
from tests.course.servekit import serving

pytestmark = pytest.mark.browser
OVERLAY: Final = "return document.querySelector('dialog[data-reload=failure]')?.innerText ?? ''"
BANNER: Final = "return document.querySelector('[data-draft]')?.innerText ?? ''"
ON_BUTTON: Final = "return document.activeElement.tagName === 'BUTTON'"
TITLE: Final = "Read every brake trace"


def test_a_broken_lesson_says_so_on_its_page_and_a_repaired_one_loads_the_page(
    window: Window, tmp_path: Path
) -> None:
    course = write_course(tmp_path)
    edited(course, BRAKE_TRACE, ("status: authored", "status: nearly"))
    with serving(course, "/course") as served:
        window.open(f"{served.server.url}lessons/brake-trace/")
        title = window.one("h1").text
        assert "SCH004" in window.js(BANNER)
        edited(course, BRAKE_TRACE, ("status: nearly", "status: authored"))
        window.until(lambda: not window.js(BANNER))

        edited(course, BRAKE_TRACE, ("status: authored", "status: autored"))
        said = window.until(lambda: window.js(BANNER))
        assert re.search(rf"{re.escape(BRAKE_TRACE)}:\d+:\d+", said), said
        assert "autored" in said
        assert window.one("h1").text == title
        assert window.axe() == []

        edited(course, BRAKE_TRACE, ("status: autored", "status: authored"))
        edited(course, BRAKE_TRACE, (f"title: {title}", f"title: {TITLE}"))
        window.until(lambda: TITLE in window.driver.title)
        assert not window.js(BANNER)


def test_a_failed_build_is_shown_until_it_is_repaired_or_closed_with_the_keyboard(
    window: Window, tmp_path: Path
) -> None:
    course = write_course(tmp_path)
    text = (course / "content/course.yaml").read_bytes()
    with serving(course, "/course") as served:
        window.open(served.server.url)
        window.js("window.kept = true")
        put(course / "content/course.yaml", None)
        shown = window.until(lambda: window.js(OVERLAY))
        assert "The course does not build" in shown
        assert "CFG001" in shown
        assert window.axe() == []
        window.until(lambda: window.js(ON_BUTTON))
        window.keys(Keys.ESCAPE)
        window.until(lambda: not window.js(OVERLAY))
        put(course / "content/course.yml", text)
        assert "course.yml" in window.until(lambda: window.js(OVERLAY))
        put(course / "content/course.yml", None)
        put(course / "content/course.yaml", text)
        window.until(lambda: not window.js(OVERLAY))
        assert window.js("return window.kept") is True  # nothing has changed: it is not loaded
        assert [line for line in window.console() if "Content Security Policy" in line] == []
