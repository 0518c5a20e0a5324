"""What the browser keeps: progress on this device, and pages without a network."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.browser.window import PHONE, Window
from tests.course.coursekit import TRACE, with_body
from tests.course.sitekit import Host, built, served, site_headers

pytestmark = pytest.mark.browser

FIRST, SECOND = "lessons/read-a-lap/", "lessons/brake-trace/"
DOWNLOAD = """const done = arguments[0];
URL.createObjectURL = blob => { blob.text().then(done); return '#'; };
document.querySelector('.export').click();"""
LOAD = """const box = document.querySelector('.import input');
const file = new File([arguments[0]], 'p.json');
const data = new DataTransfer(); data.items.add(file); box.files = data.files;
box.dispatchEvent(new Event('change'));"""
CACHED = """const done = arguments[1];
caches.match(arguments[0]).then(found => done(Boolean(found)));"""


def finish(window: Window, host: Host, lesson: str) -> None:
    """Say that a lesson is done."""
    window.open(host.url + lesson)
    window.one(".finish button").click()


def is_complete(said: str) -> bool:
    """Whether as many files are kept as there are: ``31 of 31 files kept``."""
    kept, *_, every = re.findall(r"\d+", said) or ("0", "1")
    return kept == every


def test_a_program_nearby_that_leads_to_a_lesson_is_led_back_to(
    window: Window, small: Host
) -> None:
    def way_back(address: str) -> list[str]:
        query = urlencode({"from": address, "as": "Your session, <b>Turn 5"})
        window.open(f"{small.url}{FIRST}?{query}")
        return [str(link.get_attribute("href")) for link in window.all(".back a")]

    near = "http://192.168.1.7:8765/ui/session?session=a&corner=Turn+5"
    assert way_back(near) == [near]
    assert window.one(".back").text == "← Your session, <b>Turn 5 (192.168.1.7:8765)"
    for elsewhere in ("https://example.org/", "http://10.example.org/", "javascript:alert(1)", ""):
        assert way_back(elsewhere) == []


def test_a_new_reader_has_no_progress(window: Window, small: Host) -> None:
    window.open(small.url)
    assert window.one("#page-progress details").is_displayed()
    assert not window.one("#page-progress .know").is_displayed()
    assert window.all("a.done") == []


def test_progress_survives_a_reload(window: Window, small: Host) -> None:
    finish(window, small, FIRST)
    window.open(small.url + FIRST)
    assert window.one(".finish button").get_attribute("aria-pressed") == "true"
    window.open(small.url)
    assert window.one(".progress .count").text == "1 of 2 lessons done"
    window.open(f"{small.url}phases/laps/")
    assert window.one(".rows a.done").text.startswith("Read a lap")
    window.open(small.url + FIRST)
    window.one(".finish button").click()
    window.open(small.url)
    assert window.one(".progress .count").text == "0 of 2 lessons done"


def test_the_home_page_continues_where_the_reader_was(window: Window, small: Host) -> None:
    window.open(small.url + SECOND)
    window.open(small.url)
    link = window.one(".progress .go-on")
    assert link.text == "Continue: Read a brake trace"
    link.click()
    window.until(lambda: window.driver.current_url == small.url + SECOND)


def test_answers_are_kept_with_their_result(window: Window, small: Host) -> None:
    window.open(small.url + FIRST)
    questions = window.all("[data-question]")
    question = next(one for one in questions if one.get_attribute("data-answer"))
    right = str(question.get_attribute("data-answer")).split()
    for box in question.find_elements("css selector", "input"):
        if box.get_attribute("value") in right:
            box.click()
    question.find_element("css selector", ".check button").click()
    said = f"1 of {len(questions)} questions right"
    assert window.one(".finish output").text == said
    window.open(small.url + FIRST)
    assert window.one(".finish output").text == said
    assert len(window.all(".was-right")) == 1


def test_progress_is_taken_to_another_browser(window: Window, small: Host) -> None:
    finish(window, small, FIRST)
    window.open(small.url)
    window.one("#page-progress summary").click()
    saved = window.driver.execute_async_script(DOWNLOAD)
    assert json.loads(saved)["lessons"]["read-a-lap"]["done"] is True
    window.one(".forget").click()
    assert not window.one("#page-progress .know").is_displayed()
    window.js(LOAD, '{"version": 1, "lessons": 3}')
    window.until(lambda: "no progress" in window.one(".said").text)
    evil = json.loads(saved)
    evil["lessons"]["read-a-lap"] |= {"url": "javascript:alert(1)", "title": "<b>x</b>"}
    window.js(LOAD, json.dumps(evil))
    window.until(lambda: window.one(".progress .count").text == "1 of 2 lessons done")
    assert window.all(".progress b") == []
    assert "javascript:" not in str(window.one(".go-on").get_attribute("href"))
    window.js(LOAD, saved)
    window.until(lambda: "is loaded" in window.one(".said").text)


def test_code_is_copied(window: Window, small: Host) -> None:
    window.open(small.url + FIRST)
    window.js("navigator.clipboard.writeText = async text => { window.copied = text; }")
    button = window.one(".code .copy")
    button.click()
    window.until(lambda: button.text == "Copied")
    assert "print(min(lap" in window.js("return window.copied")
    assert window.console() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_progress_is_for_everybody(scheme: str, window: Window, small: Host) -> None:
    finish(window, small, FIRST)
    window.size(*PHONE)
    window.media(scheme=scheme)
    for page in ("", FIRST, "phases/laps/"):
        window.open(small.url + page)
        for fold in window.all("#page-progress details"):
            window.js("arguments[0].open = true", fold)
        assert [fault["id"] for fault in window.axe()] == []
        assert window.js("return document.documentElement.scrollWidth") == PHONE[0]


def test_a_second_visit_needs_no_network(window: Window, tmp_path: Path) -> None:
    site = built(with_body(tmp_path / "course", TRACE), tmp_path / "site")
    with served(site, "/", site_headers(site)) as host:
        window.open(host.url + SECOND)
        page = host.url + SECOND
        window.until(lambda: window.driver.execute_async_script(CACHED, page))
    window.open(page)
    assert window.one("h1").text == "Read a brake trace"
    slider = window.one(".graph .sliders input")
    slider.send_keys("\ue014")
    assert window.one(".graph .readings output").text != "5.24"


def test_the_whole_course_is_kept_on_request(window: Window, tmp_path: Path) -> None:
    site = built(with_body(tmp_path / "course", TRACE), tmp_path / "site")
    with served(site, "/", site_headers(site)) as host:
        window.open(host.url)
        window.one("#page-progress summary").click()
        window.one(".keep-offline").click()
        window.until(lambda: is_complete(window.one(".said").text))
    for page in (FIRST, "phases/laps/", "search/?q=lap"):
        window.open(host.url + page)
        assert window.one("h1").is_displayed()
    window.until(lambda: window.all("#page-results a"))
