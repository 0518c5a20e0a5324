"""Reading a lesson: by keyboard, with questions, without script, in the dark and on paper."""

from __future__ import annotations

import base64
import re
import zlib

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser.window import PHONE, Window
from tests.course.sitekit import Host

pytestmark = pytest.mark.browser

LESSON = "lessons/trail-braking/"
# The driver's own notion knows no other way to show a closed fold than to open it.
VISIBLE = "return arguments[0].lastElementChild.checkVisibility()"
COLOUR = "return getComputedStyle(arguments[0]).color"


def outlined(window: Window) -> bool:
    """Whether the element with the focus shows it."""
    style = "const s = getComputedStyle(document.activeElement);"
    return bool(window.js(f"{style} return s.outlineStyle !== 'none' && s.outlineWidth !== '0px'"))


def test_the_first_stop_of_the_keyboard_skips_the_navigation(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    window.keys(Keys.TAB)
    link = window.focus()
    assert link.get_attribute("class") == "skip"
    window.until(lambda: link.rect["y"] >= 0)
    window.keys(Keys.ENTER)
    window.until(lambda: window.focus().get_attribute("id") == "page-main")
    window.keys(Keys.TAB)
    assert window.js("return document.activeElement.closest('main') !== null")


def test_every_stop_of_the_keyboard_shows_where_it_is(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    seen = []
    for _ in range(40):
        window.keys(Keys.TAB)
        seen.append(outlined(window))
    assert all(seen)
    assert window.focus().tag_name != "body"


def test_a_choice_of_theme_is_kept(window: Window, host: Host) -> None:
    window.open(host.url)
    light = window.js(COLOUR, window.one("h1"))
    button = window.one(".tools button")
    for wanted in ("light", "dark"):
        button.click()
        assert window.js("return document.documentElement.dataset.theme") == wanted
    assert "dark" in button.text.lower() or "dark" in str(button.get_attribute("title")).lower()
    window.open(host.url + LESSON)
    assert window.js(COLOUR, window.one("h1")) != light


def test_the_contents_are_open_where_there_is_room(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    assert window.one("details.toc nav").is_displayed()
    window.size(*PHONE)
    window.open(host.url + LESSON)
    assert not window.one("details.toc nav").is_displayed()


# Questions


def test_a_question_is_checked_and_gives_its_reasons(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    question = window.one(".question[data-answer]")
    right = str(question.get_attribute("data-answer")).split()
    check, said = window.one(".question .check button"), window.one(".question .check p")
    assert said.get_attribute("role") == "status"
    check.click()
    assert "choose" in said.text.lower()
    boxes = question.find_elements("css selector", "input")
    wrong = next(box for box in boxes if box.get_attribute("value") not in right)
    wrong.click()
    assert said.text == ""
    check.click()
    assert said.get_attribute("class") == "no"
    wrong_said = said.text
    for box in boxes:
        if box.get_attribute("value") in right:
            box.click()
    check.click()
    assert said.get_attribute("class") == "yes"
    assert said.text not in ("", wrong_said)
    window.one(".question summary").click()
    reasons = window.one(".question details").text
    assert len(re.findall("^Right:", reasons, re.MULTILINE)) == len(right)
    assert len(re.findall("^Not right:", reasons, re.MULTILINE)) == len(boxes) - len(right)


def test_the_reason_stands_beside_the_chosen_option(window: Window, small: Host) -> None:
    window.open(f"{small.url}lessons/read-a-lap/")
    next(one for one in window.all(".option") if "A straight." in one.text).click()
    window.one(".question[data-answer] .check button").click()
    (reason,) = window.all(".option + .why")
    assert "On a straight the speed rises" in reason.text
    assert window.axe() == []


def test_a_number_is_right_within_its_tolerance(window: Window, host: Host) -> None:
    window.open(f"{host.url}lessons/friction-circle/")
    for question in window.all(".question[data-value]"):
        value, tolerance = (
            float(str(question.get_attribute(f"data-{name}"))) for name in ("value", "tolerance")
        )
        field = question.find_element("css selector", "input")
        said = question.find_element("css selector", ".check p")
        for number, verdict in (
            (value + tolerance, "yes"),
            (value - tolerance, "yes"),
            (value + 2 * tolerance + 1, "no"),
        ):
            field.clear()
            field.send_keys(str(round(number, 6)), Keys.ENTER)
            assert said.get_attribute("class") == verdict, number


@pytest.mark.parametrize(
    ("lang", "value", "typed", "verdict"),
    [
        ("en", 0.3, "0.3", "yes"),
        ("en", 0.3, "0,3", "yes"),
        ("de", 0.3, "0,3", "yes"),
        ("de", 0.3, "0.3", "yes"),
        ("de", 0.3, "3", "no"),
        ("en", 1105, "1,105", "yes"),
        ("en", 1105, "1 105", "yes"),
        ("en", 1105, "1.105", "no"),
        ("de", 1105, "1.105", "yes"),
        ("de", 1105, "1,105", "no"),
        ("de", 1105.5, "1.105,5", "yes"),
        ("en", 1234567, "1,234,567", "yes"),
        ("en", -0.5, "\u2212.5", "yes"),
        ("en", 1500, "1.5e3", "yes"),
        ("en", 1105, "1105 bees", ""),
        ("en", 1105, "1,10,5", ""),
        ("en", 0, "-", ""),
        ("en", 0, " ", ""),
    ],
)
def test_a_number_is_read_as_readers_write_it(
    window: Window, small: Host, lang: str, value: float, typed: str, verdict: str
) -> None:
    window.open(f"{small.url}lessons/read-a-lap/")
    window.js(
        "document.documentElement.lang = arguments[0];"
        "const data = document.querySelector('.question[data-value]').dataset;"
        "[data.value, data.tolerance] = [arguments[1], 0]",
        lang,
        value,
    )
    window.one(".question[data-value] input").send_keys(typed, Keys.ENTER)
    said = window.one(".question[data-value] .check p")
    assert said.get_attribute("class") == verdict
    assert ("Write a number first" in said.text) is (verdict == "")


# Without script


def test_a_lesson_reads_without_script(window: Window, host: Host) -> None:
    window.without_scripts()
    window.open(host.url + LESSON)
    assert window.all(".check, .tools button") == []
    for fold in ("details.solution", ".question details", "details.toc"):
        inside = window.one(f"{fold} > :not(summary)")
        assert not inside.is_displayed()
        window.one(f"{fold} > summary").click()
        window.until(inside.is_displayed)


def test_search_without_script_points_to_the_list(window: Window, host: Host) -> None:
    window.without_scripts()
    window.open(f"{host.url}search/?q=brake")
    said = window.one("noscript p")
    assert said.is_displayed()
    assert "needs JavaScript" in said.text
    link = next(link for link in window.all("main a") if "A to Z" in link.text)
    link.click()
    window.until(lambda: window.driver.current_url == f"{host.url}lessons/")
    assert len(window.all(".index a")) > 20


def test_the_missing_page_without_script_says_the_way_home(window: Window, host: Host) -> None:
    window.without_scripts()
    window.open(f"{host.url}nowhere")
    assert window.one("#words").is_displayed()
    assert not window.one("#home").is_displayed()


# On paper


def luminance(colour: str) -> float:
    red, green, blue = map(float, re.findall(r"[\d.]+", colour)[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_paper_has_the_text_without_the_navigation(window: Window, host: Host) -> None:
    window.without_scripts()
    window.open(host.url + LESSON)
    assert not any(window.js(VISIBLE, fold) for fold in window.all("details.solution"))
    window.media(medium="print")
    for selector in (".site-head", ".site-foot", ".crumbs", ".toc", ".nearby"):
        assert not window.one(selector).is_displayed(), selector
    for fold in window.all("details:not(.toc)"):
        assert window.js(VISIBLE, fold), fold.get_attribute("class")
    assert window.one("h1").is_displayed()


def test_paper_is_light_whatever_the_screen_is(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    window.js("localStorage.setItem('paddock.theme', 'dark')")
    window.open(host.url + LESSON)
    assert luminance(window.js(COLOUR, window.one("h1"))) > 0.5
    window.media(medium="print", scheme="dark")
    assert luminance(window.js(COLOUR, window.one("h1"))) < 0.3
    assert luminance(window.js("return getComputedStyle(document.body).backgroundColor")) > 0.99


def test_printing_opens_every_solution(window: Window, host: Host) -> None:
    window.open(host.url + LESSON)
    sheet = base64.b64decode(window.cdp("Page.printToPDF")["data"])
    assert sheet.startswith(b"%PDF")
    assert window.all("main details:not([open])") == []
    streams = re.findall(rb"stream\r?\n(.*?)endstream", sheet, re.DOTALL)
    assert sum(len(zlib.decompressobj().decompress(data)) for data in streams if data[0] == 0x78)


def test_the_print_edition_shows_each_kind_at_its_heading(window: Window, host: Host) -> None:
    window.open(f"{host.url}print/track-coach.html")
    kinds = window.all(".block .kind")
    assert len(kinds) > 20
    for kind in kinds:
        heading = kind.find_element("xpath", "..")
        assert 0 <= kind.rect["y"] - heading.rect["y"] < 10, heading.text
        assert 0 <= kind.rect["x"] - heading.rect["x"] < 10, heading.text
