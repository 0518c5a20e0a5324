"""The search page: found by keyboard, forgiving about case and accents, honest about nothing."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.window import Window
from tests.course.sitekit import Host

pytestmark = pytest.mark.browser


def asked(window: Window, host: Host, query: str) -> list[str]:
    """Type *query* into the search box; the titles that are listed."""
    if not window.driver.current_url.startswith(f"{host.url}search/"):
        window.open(f"{host.url}search/")
    box = window.one("#page-query")
    box.clear()
    box.send_keys(query)
    window.until(lambda: window.one("#page-count").text)
    return [link.text.partition("\n")[0] for link in window.all("#page-results a")]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("trail braking", "Trail the brake into the corner"),
        ("read a brake tr", "Read a brake trace"),
        ("fricti", "Drive on the friction circle"),
        ("APEX", "The late apex"),
        ("lap", "Read a lap"),
        ("can", "Decode CAN frames"),  # a common word that the index leaves out
        ("cän", "Decode CAN frames"),
        ("éxit", "Exit speed"),
    ],
)
def test_a_lesson_is_found(window: Window, host: Host, query: str, first: str) -> None:
    assert asked(window, host, query)[0] == first


def test_a_planned_lesson_is_marked_in_the_results(window: Window, small: Host) -> None:
    titles = asked(window, small, "tyre window")
    assert titles[0].startswith("Stay inside the tyre window")
    assert window.one("#page-results a .planned").is_displayed()


def test_a_passage_is_shown_that_leads_to_its_heading(window: Window, host: Host) -> None:
    asked(window, host, "hot tire")
    window.until(lambda: window.all("#page-results .passage mark"))
    assert "tyre" in window.one("#page-results .passage mark").text.lower()
    assert "#" in str(window.one("#page-results .passage").get_attribute("href"))
    assert window.axe() == []


def test_a_project_is_found_and_says_what_it_is(window: Window, host: Host) -> None:
    titles = asked(window, host, "lap review kit")
    assert titles[0].startswith("Lap review kit")
    found = window.one("#page-results a")
    assert "Project: " in found.text
    assert found.get_attribute("href") == f"{host.url}projects/lap-review-kit/"
    assert "result" in window.one("#page-count").text


def test_nothing_found_is_said(window: Window, host: Host) -> None:
    assert asked(window, host, "xylophone") == []
    assert "nothing" in window.one("#page-count").text.lower()
    assert window.one("#page-count").get_attribute("role") == "status"


def test_the_slash_key_leads_to_search_and_the_arrows_to_a_lesson(
    window: Window, host: Host
) -> None:
    window.open(f"{host.url}lessons/trail-braking/")
    window.keys("/")
    window.until(lambda: "/search/" in window.driver.current_url)
    window.until(lambda: window.focus().get_attribute("id") == "page-query")
    window.keys(*"brake")
    window.until(lambda: len(window.all("#page-results a:not(.passage)")) > 2)
    links = window.all("#page-results a:not(.passage)")
    window.keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert window.focus() == links[1]
    window.keys(Keys.ARROW_UP, Keys.ARROW_UP)
    assert window.focus().get_attribute("id") == "page-query"
    window.keys(Keys.ARROW_DOWN)
    target = links[0].get_attribute("href")
    window.keys(Keys.ENTER)
    window.until(lambda: window.driver.current_url == target)
    assert "404" not in window.driver.title


def test_enter_in_the_box_opens_the_best_lesson(window: Window, host: Host) -> None:
    asked(window, host, "friction circle")
    window.one("#page-query").send_keys(Keys.ENTER)
    window.until(lambda: window.driver.current_url == f"{host.url}lessons/friction-circle/")
    window.driver.back()
    window.until(lambda: window.all("#page-results a"))
    assert window.one("#page-query").get_attribute("value") == "friction circle"


def test_the_slash_key_can_be_switched_off(window: Window, host: Host) -> None:
    window.open(f"{host.url}search/")
    window.one(".shortcut input").click()
    window.open(f"{host.url}lessons/")
    window.keys("/")
    window.open(f"{host.url}lessons/")
    assert window.js("return localStorage.getItem('paddock.slash')") == "off"
    assert window.focus().tag_name == "body"


def test_a_lost_index_is_said(window: Window, host: Host) -> None:
    window.cdp("Network.enable")
    window.cdp("Network.setBlockedURLs", urls=["*search/index.json*"])
    try:
        window.open(f"{host.url}search/?q=brake")
        window.until(lambda: window.one("#page-count").text)
        assert window.all("#page-results a") == []
        lost = window.one("#page-count").text
    finally:
        window.cdp("Network.setBlockedURLs", urls=[])
    asked(window, host, "brake ")
    assert window.all("#page-results a")
    assert window.one("#page-count").text != lost
