"""What a learner does on a page: answers a question, goes on, finds a passage."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.window import Window
from tests.course.sitekit import Host

pytestmark = pytest.mark.browser
LESSON = "lessons/read-a-lap/"


def test_the_reason_stands_beside_the_chosen_option(window: Window, small: Host) -> None:
    window.open(f"{small.url}{LESSON}")
    question = window.one(".question[data-answer]")
    option = next(one for one in window.all(".option") if "A straight." in one.text)
    option.click()
    question.find_element("css selector", ".check button").click()
    (reason,) = window.all(".option + .why")
    assert "On a straight the speed rises" in reason.text
    assert window.axe() == []


def test_enter_checks_a_number(window: Window, small: Host) -> None:
    window.open(f"{small.url}{LESSON}")
    window.one(".question[data-value] input").send_keys("61", Keys.ENTER)
    result = window.one(".question[data-value] [role=status]")
    window.until(lambda: result.text == "Correct.")
    assert window.driver.current_url == f"{small.url}{LESSON}"


def test_the_next_lesson_may_be_in_the_next_phase(window: Window, small: Host) -> None:
    window.open(f"{small.url}{LESSON}")
    window.one(".nearby .next").click()
    window.until(lambda: window.driver.current_url == f"{small.url}lessons/brake-trace/")


def test_search_shows_the_passage_and_leads_to_its_heading(window: Window, host: Host) -> None:
    window.open(f"{host.url}search/?q=hot+tire")
    window.until(lambda: window.all("#page-results .passage mark"))
    assert "tyre" in window.one("#page-results .passage mark").text.lower()
    assert "#" in str(window.one("#page-results .passage").get_attribute("href"))
    assert window.axe() == []


def test_heel_and_toe_finds_lessons(window: Window, host: Host) -> None:
    window.open(f"{host.url}search/?q=heel+and+toe")
    window.until(lambda: window.all("#page-results li"))
