"""The page of a stored session, as an engineer has it: laps, losses, the map and the coach."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from runtime.bridge.session.recording import Frames, Recording
from runtime.bridge.storage.records import SessionMeta
from tests.bridge.coach.coursekit import QUOTED, write_course
from tests.bridge.coach.modelkit import laps
from tests.bridge.storage.storekit import opened as opened_store
from tests.browser.bridgepages import HOSTILE, faults, got, record, served
from tests.browser.window import Window
from tests.course.sitekit import served as serve_files

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

CLICK_MAP: Final = """
const canvas = document.getElementById('map'), box = canvas.getBoundingClientRect();
const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
let last = data.length - 4;
while (data[last] === data[0]) last -= 4; // the lowest pixel of the circuit, far from its start
const at = last / 4, place = {clientX: box.x + at % canvas.width,
  clientY: box.y + Math.floor(at / canvas.width)};
canvas.dispatchEvent(new PointerEvent('pointerdown', place));
"""
HOLD_ANSWERS: Final = """
const send = window.fetch;
window.fetch = (address, options) => !String(address).includes('/ask/') ? send(address, options)
  : new Promise((resolve, reject) => {
    window.letAnswer = () => resolve(send(address, options));
    options.signal.addEventListener('abort', () => reject(options.signal.reason));
  });
"""
EARLIER: Final = datetime(2025, 3, 14, 12, tzinfo=UTC)
READY: Final = "return document.getElementById('main').dataset.state === 'ready'"
CURSORS: Final = """
return [...document.querySelectorAll('.u-over')].map((over) =>
  over.querySelector('.u-cursor-x').getBoundingClientRect().x - over.getBoundingClientRect().x)
"""
DOTS: Final = """
const canvas = document.getElementById('map'), pen = canvas.getContext('2d');
const {data} = pen.getImageData(0, 0, canvas.width, canvas.height);
let sum = 0;
for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i] + 7 * data[i + 3]) % 1000000007;
return sum
"""


async def keep_earlier(folder: Path) -> None:
    """Store a session of another day, as an import does."""
    store = await opened_store(folder / "bridge.db", "lightweight")
    about = SessionMeta(driver="Ben", track="larkfell", car="vesper")
    recording = Recording(laps(2, seed=3), created=EARLIER.timestamp())
    await store.import_recording("earlier", recording, about)
    await store.close()


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a bridge with Ana's session, one of another day, and what may go wrong."""
    folder = tmp_path_factory.mktemp("session-page")
    asyncio.run(keep_earlier(folder))
    site = write_course(folder / "site")
    with serve_files(site) as course, served(folder, "--course", course.url) as address:
        here = {"track": "larkfell", "car": "vesper"}
        record(address, {"session_id": "ana", "driver": "Ana", **here}, laps(3, skill=0.6))
        record(address, {"session_id": "ben", "driver": "Ben", **here}, laps(2, seed=2))
        bare = {"session_id": "bare", "driver": HOSTILE, "car": HOSTILE, "track": "larkfell"}
        gone = "brake_bar throttle_pct steering_deg rpm g_lat g_long combo_g"
        record(address, {**bare, "note": HOSTILE}, laps(2), without=gone)
        first = laps(1)
        short = Frames({name: values[:200] for name, values in first.columns.items()})
        record(address, {"session_id": "short", "driver": "Ana", **here}, short)
        record(address, {"session_id": "no-map", **here}, short, without="lat lon rpm")
        yield address


def opened(window: Window, address: str, query: str = "session=ana") -> Window:
    window.open(f"{address}/ui/session?{query}")
    window.until(lambda: window.js(READY))
    return window


@pytest.fixture
def page(window: Window, bridge: str) -> Window:
    """Ana's session: her best lap, and her usual one against it."""
    opened(window, bridge)
    window.until(lambda: window.all("#focus button"))
    return window


def shown(window: Window) -> list[str]:
    """The names of the laps on the charts, the reference first."""
    names: list[str] = window.js(
        "return [...document.querySelectorAll('#legend b')].map((name) => name.textContent)"
    )
    return names


def tick(window: Window, lap: int, session: str = "ana") -> None:
    before = len(shown(window))
    window.one(f"#laps [data-ref='{session}:{lap}']").click()
    window.until(lambda: len(shown(window)) != before)


def metres(window: Window) -> int:
    return int(window.one("#where").text.split(" m")[0])


def seconds(text: str) -> float:
    """The number of a difference as it is shown, with a true minus sign."""
    return float(text.replace("\u2212", "-").lstrip("\u00b1"))


def at_place(window: Window, name: str) -> bool:
    return window.one("#where").text.endswith(name)


def settle(window: Window) -> None:
    """Wait for two frames: what is due has been drawn."""
    frames = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
    window.driver.execute_async_script(frames)


def test_three_laps_share_one_cursor_on_the_map_and_all_charts(page: Window, bridge: str) -> None:
    both = set(shown(page))
    third = next(n for n in range(1, 4) if f"Lap {n}" not in both)
    tick(page, third)
    assert len(shown(page)) == 3
    settle(page)
    before = page.js(DOTS)
    chart = page.one(".u-over")
    ActionChains(page.driver).move_to_element(chart).perform()
    page.until(lambda: metres(page) > 1000)
    settle(page)
    places = page.js(CURSORS)
    assert len(places) == len(page.all(".chart")) >= 7
    assert max(places) - min(places) < 1
    assert page.js(DOTS) != before
    assert all(len(values.text.splitlines()) >= 3 for values in page.all(".values"))
    at = metres(page)
    page.one("#where").click()
    page.keys(Keys.ARROW_RIGHT)
    page.until(lambda: metres(page) > at)
    index = int(page.one("#place").get_attribute("value") or 0)
    compared = got(bridge, f"/compare?laps=ana:{third},ana:{third}")
    speed = compared["laps"][0]["channels"]["speed_kmh"][index]
    assert page.one(".values p:last-child").text == f"{speed:.0f}"


def test_a_click_on_the_map_moves_the_cursor_of_the_charts(page: Window) -> None:
    settle(page)
    before = page.js(CURSORS)
    page.js(CLICK_MAP)
    page.until(lambda: metres(page) > 0)
    settle(page)
    assert page.js(CURSORS) != before


def test_what_to_fix_is_named_first_and_one_click_shows_where(page: Window, bridge: str) -> None:
    things = got(bridge, "/session/ana/focus")["focus"]
    assert 1 <= len(things) <= 3
    for thing, button in zip(things, page.all("#focus button"), strict=True):
        assert button.text.split("\n") == [f"{thing['gain_s']:.2f} s", thing["corner"]]
        button.click()
        page.until(partial(at_place, page, thing["corner"]))
        assert page.one("#whole").is_enabled()
    page.keys(Keys.ESCAPE)
    page.one("#whole").click()
    assert not page.one("#whole").is_enabled()


def test_an_address_with_a_corner_shows_it(page: Window, bridge: str) -> None:
    corner = got(bridge, "/session/ana/focus")["focus"][0]["corner"]
    page.open(f"{bridge}/ui/session?{urlencode({'session': 'ana', 'corner': corner})}")
    page.until(partial(at_place, page, corner))
    assert "corner=" not in page.driver.current_url


def test_corners_are_ordered_by_loss_and_add_up_to_the_gap(page: Window) -> None:
    rows = [row.text.split() for row in page.all("#corners tbody tr")]
    lost = [seconds(row[2]) for row in rows]
    assert lost == sorted(lost, reverse=True)
    gap = seconds(page.all("#legend .lap")[1].text.split()[-1])
    assert sum(lost) == pytest.approx(gap, abs=0.01 * len(lost))


def test_a_lap_of_another_day_becomes_the_reference(page: Window) -> None:
    page.until(lambda: len(page.all("#others option")) > 1)
    named = {row.get_attribute("value"): row.text for row in page.all("#others option")}
    assert "14 Mar 2025" in named["earlier"]
    assert "14 Mar 2025" not in named["ben"]
    Select(page.one("#others")).select_by_value("earlier")
    page.until(lambda: len(shown(page)) == 3)
    assert shown(page)[2].startswith("Ben, lap ")
    ref = page.one("#laps tbody:last-child input:checked").get_attribute("data-ref")
    page.one(f"#laps tr:has([data-ref='{ref}']) [type=radio]").click()
    page.until(lambda: shown(page)[0].startswith("Ben, lap "))
    assert "reference" in page.one("#legend .lap").text
    page.driver.refresh()
    page.until(lambda: page.js(READY))
    assert shown(page)[0].startswith("Ben, lap ")
    assert len(shown(page)) == 3


def test_the_ideal_lap_is_chosen_like_any_other(page: Window) -> None:
    ideal = "[data-ref='ana:ideal']"
    page.until(lambda: page.all(ideal))
    page.one(ideal).click()
    page.until(lambda: "Ideal lap" in shown(page))
    times = {lap.text.split("\n")[0]: lap.text for lap in page.all("#legend .lap")}
    assert "\N{MINUS SIGN}" in times["Ideal lap"]
    settle(page)
    values = page.one(".values").text.splitlines()
    assert len(values) == 1 + len(shown(page))
    page.one(f"#laps tr:has({ideal}) [type=radio]").click()
    page.until(lambda: shown(page)[0] == "Ideal lap")
    gaps = [seconds(lap.text.split()[-1]) for lap in page.all("#legend .lap")[1:]]
    assert all(gap > 0 for gap in gaps)
    page.driver.refresh()
    page.until(lambda: page.js(READY))
    assert shown(page)[0] == "Ideal lap"


def test_an_answer_moves_the_cursor_to_what_it_speaks_of(page: Window) -> None:
    assert metres(page) == 0
    page.one("#question").send_keys(f"Where do I lose the most time? {HOSTILE}", Keys.ENTER)
    page.until(lambda: page.all(".turn[data-state=ended]"))
    page.until(lambda: metres(page) > 0)
    assert page.one(".asked").text.endswith(HOSTILE)
    fact = page.one(".fact")
    corner = page.one("#where").text.rpartition(" · ")[2]
    assert corner in fact.text
    assert page.all("#chips .chip")
    page.keys(Keys.HOME)
    page.one("#whole").click()
    fact.click()
    assert page.one("#whole").is_enabled()
    page.one("#chips .chip").click()
    page.until(lambda: len(page.all(".turn[data-state=ended]")) == 2)
    assert page.js("return window.hacked") is None


def test_an_answer_quotes_the_section_of_the_course_that_teaches_it(page: Window) -> None:
    page.one("#question").send_keys("What does exit speed mean?", Keys.ENTER)
    page.until(lambda: page.all(".turn[data-state=ended] .quotation"))
    assert page.one(".quotation blockquote").text == QUOTED
    link = page.one(".quotation figcaption a")
    assert link.text == "Idea: the straight"
    assert "/lessons/exits/?from=" in (link.get_attribute("href") or "")
    assert (link.get_attribute("href") or "").endswith("#idea")


def test_playing_drives_the_cursor_until_it_is_stopped(page: Window) -> None:
    page.one("#where").click()
    page.keys(Keys.SPACE)
    page.until(lambda: metres(page) > 40)
    assert page.one("#play").text == "Pause"
    page.keys(Keys.SPACE)
    at = metres(page)
    settle(page)
    assert page.one("#play").text == "Play"
    assert metres(page) == at


def test_what_was_not_recorded_has_no_chart_and_text_stays_text(
    window: Window, bridge: str
) -> None:
    opened(window, bridge, "session=bare")
    charts = [title.text for title in window.all(".values h3")]
    assert charts[:2] == ["Speed km/h", "Delta s"]
    assert not any(title.startswith(("Brake", "Throttle", "Engine")) for title in charts)
    missing = window.one("#missing").text
    assert all(name in missing for name in ("throttle", "brake", "steering", "gear", "engine"))
    assert HOSTILE in window.one("#about").text
    assert window.js("return window.hacked") is None
    assert window.all("main img") == []


def test_a_session_without_a_complete_lap_says_so(window: Window, bridge: str) -> None:
    opened(window, bridge, "session=short")
    assert window.one("#run").text == "No complete lap: the whole run is shown."
    assert window.all("#trouble .problem") == []
    assert window.one("#map").is_displayed()
    assert [title.text for title in window.all(".values h3")][:2] == ["Speed km/h", "Throttle %"]
    window.js("document.getElementById('place').focus()")
    window.keys(Keys.END)
    run = got(bridge, "/session/short/capabilities")
    minutes, _, rest = window.one("#where").text.partition(":")
    assert 60 * int(minutes) + float(rest) == pytest.approx(run["duration_s"], abs=0.1)
    recorded = got(bridge, "/session/short/signals?names=speed_ms&axis=time")["rows"]
    assert window.one(".values p").text == f"{recorded[-1]['speed_ms'] * 3.6:.0f}"
    window.one("#numbers summary").click()
    window.until(lambda: window.all("#numbers tbody tr"))
    window.one("#question").send_keys("How fast was I?", Keys.ENTER)
    window.until(lambda: window.all(".turn[data-state=ended] .said"))
    assert all("lap_time_table" in line for line in window.console())
    assert faults(window, bridge) == []


def test_the_charts_of_a_run_are_chosen_among_what_was_recorded(
    window: Window, bridge: str
) -> None:
    opened(window, bridge, "session=no-map")
    assert not window.one("#map").is_displayed()
    titles = [title.text for title in window.all(".values h3")]
    assert not any(title.startswith("Engine") for title in titles)
    window.one("[data-channel=throttle_pct]").click()
    window.until(lambda: len(window.all(".values h3")) == len(titles) - 1)
    assert "Throttle %" not in [title.text for title in window.all(".values h3")]


def test_a_question_during_an_answer_is_asked_after_it(page: Window) -> None:
    page.js(HOLD_ANSWERS)
    field = page.one("#question")
    field.send_keys("Where do I lose the most time?", Keys.ENTER)
    field.send_keys("How even are my laps?", Keys.ENTER)
    assert field.get_attribute("value") == ""
    states = [turn.get_attribute("data-state") for turn in page.all(".turn")]
    assert states == ["running", "waiting"]
    page.js("letAnswer()")
    page.until(lambda: page.all(".turn:last-child[data-state=running]"))
    assert page.one(".turn:first-child").get_attribute("data-state") == "ended"
    assert "stopped" not in page.one("#answers").text
    page.one("#stop").click()
    page.until(lambda: page.all(".turn:last-child[data-state=ended]"))
    assert "You stopped this answer." in page.one(".turn:last-child").text
    assert not page.one("#stop").is_displayed()


def test_an_unknown_session_is_an_error_in_words(window: Window, bridge: str) -> None:
    opened(window, bridge, "session=nobody")
    assert "session" in window.one("#trouble .problem").text
    assert all("404" in line for line in window.console())


def test_an_address_with_laps_that_there_are_not_shows_the_usual_ones(
    window: Window, bridge: str
) -> None:
    opened(window, bridge, "session=ana&laps=ana:best,ana:77")
    assert "lap" in window.one("#trouble .problem").text
    assert len(shown(window)) == 2
    opened(window, bridge, "session=ana&laps=2,1")
    assert not window.all("#trouble .problem")
    assert shown(window) == ["Lap 2", "Lap 1"]
    opened(window, bridge, "session=ana&laps=ana:best,ben:best")
    assert len(window.all("#laps :checked[data-ref]")) == len(shown(window)) == 2


def test_the_charts_have_a_table_of_the_part_that_is_shown(page: Window) -> None:
    page.one("#numbers summary").click()
    page.until(lambda: page.all("#numbers tbody tr"))
    whole = [row.text for row in page.all("#numbers tbody th")]
    page.one("#corners .go").click()
    part = [row.text for row in page.all("#numbers tbody th")]
    assert 10 < len(part) <= 26
    assert int(part[-1]) - int(part[0]) < int(whole[-1]) - int(whole[0])
    assert page.axe() == []


def test_the_page_is_without_a_barrier_quiet_and_fits_the_screen(page: Window, bridge: str) -> None:
    page.one("#question").send_keys("Why?" + "w" * 200, Keys.ENTER)
    page.until(lambda: page.all(".turn[data-state=ended]"))
    assert faults(page, bridge) == []
