"""Every kind of page: accessible, quiet, at home on its host, and no wider than the screen."""

from __future__ import annotations

import pytest

from tests.browser.window import Window
from tests.course.sitekit import Host

pytestmark = pytest.mark.browser

PAGES = {
    "home": "",
    "phases": "phases/",
    "phase": "phases/braking/",
    "lessons": "lessons/",
    "lesson": "lessons/trail-braking/",
    "concepts": "concepts/",
    "pathways": "pathways/",
    "pathway": "pathways/track-coach/",
    "roles": "roles/",
    "role": "roles/driver-coach/",
    "domain": "domains/lap-analysis/",
    "projects": "projects/",
    "project": "projects/lap-review-kit/",
    "search": "search/?q=brake",
    "print": "print/track-coach.html",
    "missing": "lessons/nowhere/",
}
MISSING = "Failed to load resource: the server responded with a status of 404"


def opened(window: Window, host: Host, kind: str) -> None:
    window.open(host.url + PAGES[kind])
    if kind == "search":
        window.until(lambda: window.all("#page-results a"))


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_is_quiet_without_a_barrier_and_fits_a_narrow_screen(
    window: Window, host: Host, kind: str
) -> None:
    opened(window, host, kind)
    said = window.console()
    assert said == [line for line in said if kind == "missing" and MISSING in line]
    asked = [url for url in window.requests() if not url.startswith("data:")]
    assert [url for url in asked if not url.startswith(host.url)] == []
    assert len(asked) > (0 if kind == "missing" else 1)
    assert window.driver.get_cookies() == []
    for fold in window.all("details:not([open])"):
        window.js("arguments[0].open = true", fold)
    assert window.overflow(320) == 0
    if kind == "print":  # its lessons are alike, and each takes the rules two seconds
        window.js("document.querySelectorAll('.lesson ~ .lesson').forEach((one) => one.remove())")
    assert window.barriers() == []


def test_the_rules_find_the_barriers_of_a_bad_page(window: Window, host: Host) -> None:
    window.open(f"{host.url}lessons/trail-braking/")
    window.js(
        "document.documentElement.removeAttribute('lang');"
        "document.querySelector('.body img').removeAttribute('alt');"
        "document.querySelector('.lede').style.color = 'rgb(200, 200, 200)';"
    )
    found = {rule["id"] for rule in window.axe()}
    assert {"html-has-lang", "image-alt", "color-contrast"} <= found


def test_the_content_policy_is_in_force(window: Window, host: Host) -> None:
    window.open(host.url)
    window.js(
        "const style = document.createElement('style');"
        "style.textContent = 'body { display: none }';"
        "document.head.append(style);"
    )
    assert any("Content Security Policy" in line for line in window.console())
    assert window.one("body").is_displayed()


@pytest.mark.parametrize("kind", ["home", "phase", "lessons", "lesson", "pathway", "role"])
def test_a_very_long_word_in_a_title_makes_no_page_wider(
    window: Window, host: Host, kind: str
) -> None:
    window.size(320, 640)
    opened(window, host, kind)
    replaced = window.js(
        "const found = document.querySelectorAll('h1, h2, h3, .card > a, .rows a, .index a,"
        " .links a, .crumbs a, .nearby a, .sheet dd > a');"
        "for (const one of found) one.textContent = 'W'.repeat(120);"
        "return found.length"
    )
    assert replaced > 5
    assert window.overflow(320) == 0


@pytest.mark.parametrize("width", [320, 1440])
def test_the_amount_of_work_stays_inside_its_card(window: Window, small: Host, width: int) -> None:
    window.size(width, 900)
    window.open(small.url)
    wider = window.js(
        "const amount = document.querySelector('.card .amount:has(.planned)');"
        "amount.firstChild.data = '15 lessons, 15 h 25 min ';"
        "return amount.scrollWidth - amount.clientWidth"
    )
    assert wider == 0


@pytest.mark.parametrize("width", [320, 375, 390])
def test_the_header_of_a_phone_takes_two_rows(window: Window, host: Host, width: int) -> None:
    window.size(width, 640)
    window.open(host.url)
    assert window.js("return document.querySelector('.site-head').offsetHeight") <= 100
    last = window.all(".site-nav a")[-1]
    left, right = window.js(
        "const link = arguments[0]; link.focus(); const box = link.getBoundingClientRect();"
        "return [box.left, box.right]",
        last,
    )
    assert 0 <= left < right <= width


def test_an_old_address_leads_to_the_lesson(window: Window, small: Host) -> None:
    window.open(f"{small.url}lessons/brake-curve/")
    window.until(lambda: window.driver.current_url.endswith("/lessons/brake-trace/"))
    assert "brake trace" in window.one("h1").text.lower()


def test_the_missing_page_leads_home_from_any_depth(window: Window, host: Host) -> None:
    for path in ("nowhere", "lessons/nowhere/", "api/v1/lessons/nowhere.json"):
        window.open(host.url + path)
        assert window.one("#home").get_attribute("href") == host.url
        assert window.one("#home").is_displayed()
    window.one("#home").click()
    window.until(lambda: window.driver.current_url == host.url)
