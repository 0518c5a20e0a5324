"""A trace in the page: slider, cursor, lines, zoom; by pointer and by keyboard, and on a phone."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.window import PHONE, Window
from tests.course.sitekit import Host

pytestmark = pytest.mark.browser

LESSON = "lessons/brake-trace/"
SLIDE = """const slider = document.querySelector('.graph .sliders input');
slider.value = arguments[0]; slider.dispatchEvent(new Event('input'));"""
SMALLEST = """return Math.min(...Array.from(document.querySelectorAll('.graph *'))
  .filter(e => e.textContent.trim() && e.checkVisibility())
  .map(e => parseFloat(getComputedStyle(e).fontSize)))"""


def drawn(window: Window) -> list[str]:
    """The lines as they are drawn, the reference last."""
    paths = window.all(".graph .lines > path")
    return [str(path.get_attribute("d")) for path in paths]


def test_a_slider_moves_the_plot_and_the_number(window: Window, small: Host) -> None:
    window.open(small.url + LESSON)
    number = window.one(".graph .readings output")
    assert number.text == "5.24"  # as the build computed it
    yours, reference = drawn(window)
    assert yours == reference
    slider = window.one(".graph .sliders input")
    slider.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert window.one(".graph .sliders output").text == "90"
    assert drawn(window)[1] == reference
    assert drawn(window)[0] != yours
    assert float(number.text) < 5.24
    window.js(SLIDE, 40)
    assert float(number.text) > 5.24
    back = next(button for button in window.all(".graph .buttons button") if "start" in button.text)
    back.click()
    assert number.text == "5.24"
    assert drawn(window) == [yours, reference]
    assert window.console() == []


def test_the_cursor_reads_every_line(window: Window, small: Host) -> None:
    window.open(small.url + LESSON)
    position = window.one(".graph .position input")
    position.send_keys(Keys.HOME)
    assert window.one(".graph .position output").text == "0 m"
    assert [now.text for now in window.all(".graph .now")] == ["180 km/h", "180 km/h"]
    position.send_keys(Keys.END)
    assert [now.text for now in window.all(".graph .now")] == ["79 km/h", "79 km/h"]
    assert "200 m: Yours 79 km/h" in str(position.get_attribute("aria-valuetext"))
    chart = window.one(".graph .chart")
    ActionChains(window.driver).move_to_element(chart).perform()
    window.until(lambda: window.one(".graph .position output").text == "100 m")


def test_a_line_is_switched_off_and_on(window: Window, small: Host) -> None:
    window.open(small.url + LESSON)
    button = window.all(".graph .legend button")[1]
    before = drawn(window)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert drawn(window) == [before[0], ""]
    button.click()
    assert drawn(window) == before


def test_zoom_shows_a_part_and_comes_back(window: Window, small: Host) -> None:
    window.open(small.url + LESSON)
    before, labels = drawn(window), window.one(".graph .ticks").text
    near, far, _ = window.all(".graph .buttons button")
    assert not far.is_enabled()
    near.click()
    assert drawn(window) != before
    assert window.one(".graph .ticks").text != labels
    far.click()
    assert drawn(window) == before
    chart = window.one(".graph .chart")
    width = chart.rect["width"]
    mouse = ActionChains(window.driver)
    mouse.move_to_element_with_offset(chart, -width // 4, 0).click_and_hold()
    mouse.move_by_offset(int(width // 2), 0).release().perform()
    assert window.one(".graph .ticks").text.split()[0] in ("60", "50")
    assert far.is_enabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_trace_fits_a_phone_and_everybody(scheme: str, window: Window, small: Host) -> None:
    window.size(*PHONE)
    window.media(scheme=scheme)
    window.open(small.url + LESSON)
    assert window.js("return document.documentElement.scrollWidth") == PHONE[0]
    assert window.js(SMALLEST) >= 11
    assert [fault["id"] for fault in window.axe()] == []


def test_paper_has_the_table_and_no_controls(window: Window, small: Host) -> None:
    window.open(small.url + LESSON)
    window.media(medium="print")
    window.js("dispatchEvent(new Event('beforeprint'))")
    assert window.one(".graph .chart").is_displayed()
    assert len(window.all(".graph tbody tr")) == 12
    assert window.one(".graph tbody tr").is_displayed()
    for selector in (".sliders", ".position", ".buttons"):
        assert not window.one(f".graph {selector}").is_displayed()


def test_a_page_with_a_trace_stays_light(window: Window, small: Host) -> None:
    window.requests()
    window.open(small.url + LESSON)
    asked = window.requests()
    assert all(url.startswith(small.url) for url in asked)
    scripts = [url for url in asked if url.endswith(".js")]
    size = "return fetch(arguments[0]).then(a => a.text()).then(t => t.length)"
    assert 0 < sum(window.js(size, url) for url in scripts) < 60_000
