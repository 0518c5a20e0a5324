"""The pit wall and the page of a spectator, while the simulator drives."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator

import pytest
from selenium.webdriver.support.ui import Select

from tests.bridge.coach.modelkit import laps
from tests.browser.bridgepages import HOSTILE, faults, got, post, record, said, served
from tests.browser.window import Window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

PIXELS = """
const canvas = document.getElementById(arguments[0]), pen = canvas.getContext('2d');
const {data} = pen.getImageData(0, 0, canvas.width, canvas.height);
let sum = 0;
for (let i = 0; i < data.length; i += 4) sum = (sum * 31 + data[i] + 7 * data[i + 3]) % 1000000007;
return sum
"""
FAST = """
const { src } = document.querySelector("[src$='live.js']");
return import(src.replace("live.js", "timing.js")).then(({ Timing }) => {
  const timing = new Timing(), name = () => document.getElementById("lap-name").textContent;
  timing.sector({ lap_number: 1, sector: 1, time_s: 30.12 });
  const sectors = [{ sector: 1, time_s: 30.13 }];
  timing.lap({ lap_number: 1, lap_time_s: 100, is_best: true, sectors });
  timing.frame({ lap: 2, lap_time_s: 19 });
  const before = name();
  timing.frame({ lap: 2, lap_time_s: 21 });
  return [before, name(), document.querySelector("#sectors b").textContent];
});
"""
"""A lap of 100 s ends, and a fifth of the next one is driven at once."""
TIMES = "return [...document.querySelectorAll('.sector .figure')].map((one) => one.textContent)"
LAPS = "return document.querySelectorAll('#laps tbody tr').length"
"""Not the rows themselves: the driver would keep those that the page has replaced."""
ONE_FRAME = """
window.EventSource = class extends EventSource {
  addEventListener(name, take) {
    super.addEventListener(name, (event) => {
      if (window.ended) return;
      take(event);
      window.ended = name === 'telemetry';
    });
  }
};
"""
"""A page hears a stream up to the first frame."""
COLOURED = """
const canvas = document.getElementById('curves'), half = Math.round(canvas.width / 2);
const {data} = canvas.getContext('2d').getImageData(0, 0, half, canvas.height);
let found = 0;
for (let i = 0; i < data.length; i += 4) {
  const part = data.subarray(i, i + 3);
  found += Math.max(...part) - Math.min(...part) > 60;
}
return found
"""
"""Pixels of curves, which have a colour, in the older half of the seconds that are shown."""
AT_ONCE_S = 20.0
SLOW_S = 120.0
"""Two laps of the simulator take a quarter of this on a machine that does nothing else."""
HIDE = (
    "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    "document.dispatchEvent(new Event('visibilitychange'))"
)


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bridge whose simulator drives a lap in six seconds or so."""
    folder = tmp_path_factory.mktemp("live-page")
    flags = ("--simulate", "--simulate-speed", "5", "--simulate-lap-seconds", "30")
    with served(
        folder, *flags, "--spectator-port", "0", "--spectator-host", "127.0.0.1"
    ) as address:
        yield address


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bridge with a session of today and one of another day, in which nothing drives."""
    with served(tmp_path_factory.mktemp("stored")) as address:
        for name, driven in (("earlier", laps(2, seed=4)), ("today", laps(4, seed=9))):
            record(address, {"session_id": name, "driver": "Ana", "track": "larkfell"}, driven)
        yield address


@pytest.fixture
def page(window: Window, bridge: str) -> Window:
    """The pit wall, with frames coming in."""
    window.open(f"{bridge}/ui/live")
    window.until(lambda: window.one("#feed").text == "Live")
    return window


def text(window: Window, name: str) -> str:
    return said(window, f"#{name}")


def different(window: Window, name: str, seconds: float = SLOW_S) -> str:
    """Wait until an element says something else, and give that."""
    before = text(window, name)
    window.until(lambda: text(window, name) != before, seconds)
    return text(window, name)


def test_the_car_moves_in_numbers_curves_and_pictures(page: Window) -> None:
    page.until(lambda: text(page, "speed").isdigit() and int(text(page, "speed")) > 20)
    page.until(lambda: ":" in text(page, "lap-time"), SLOW_S)
    different(page, "lap-time")
    before = [page.js(PIXELS, canvas) for canvas in ("map", "circle", "curves")]
    page.until(lambda: page.js(PIXELS, "map") != before[0])
    page.until(lambda: page.js(PIXELS, "circle") != before[1])
    assert [row.text.split("\n")[0] for row in page.all(".trace")] == [
        "Speed",
        "Throttle",
        "Brake",
        "Lateral",
    ]
    page.until(lambda: page.js(PIXELS, "curves") != before[2])
    page.until(lambda: text(page, "track-title") == "Larkfell Circuit", SLOW_S)
    assert "frames/s" in page.until(lambda: page.one("#bus").text)


def test_a_lap_flashes_and_is_listed_and_the_delta_counts_from_then_on(page: Window) -> None:
    page.until(lambda: page.all("#clock.flash"), SLOW_S)
    assert text(page, "lap-name").endswith("finished")
    shown = text(page, "lap-time")
    page.until(lambda: not page.all("#clock.flash"))
    page.until(lambda: shown in text(page, "laps"))
    page.until(lambda: text(page, "delta")[1:] > "0", SLOW_S)
    different(page, "delta")
    assert ":" in text(page, "predicted")
    page.until(lambda: page.all(".sector.best, .sector.own, .sector.slower"), SLOW_S)
    assert "Mean of the last" in text(page, "mean")


def test_a_cue_of_the_coach_appears(page: Window) -> None:
    page.until(lambda: page.all("#cues li"), SLOW_S)
    assert said(page, "#cues li p")


def test_a_page_opened_during_a_lap_shows_what_was_told_before(page: Window, bridge: str) -> None:
    page.until(lambda: page.js(LAPS) and page.all("#cues li"), SLOW_S)
    now = got(bridge, "/health")["active_session_id"]
    link = post(bridge, "/spectator/token", {"session_id": now})["address"]
    made = page.cdp("Page.addScriptToEvaluateOnNewDocument", source=ONE_FRAME)
    try:
        for url in (f"{bridge}/ui/live", link):
            page.open(url)
            page.until(lambda: page.js("return window.ended"))
            page.until(lambda: page.all("#cues li"), AT_ONCE_S)
            times = page.js(TIMES)
            assert len(times) == 3
            assert any(time[0].isdigit() for time in times)
            if url != link:
                page.until(lambda: page.js(COLOURED) > 100, AT_ONCE_S)
    finally:
        page.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"])


def test_cues_are_spoken_once_that_is_switched_on(page: Window) -> None:
    page.js(
        "window.spoken = []; speechSynthesis.speak = (words) => spoken.push(words.text);"
        "speechSynthesis.cancel = () => {}"
    )
    page.until(lambda: page.all("#cues li"), SLOW_S)
    assert page.js("return spoken") == []

    page.one("#speak").click()

    spoken = page.until(lambda: page.js("return spoken"), SLOW_S)
    assert page.one("#speak").get_attribute("aria-pressed") == "true"
    page.until(lambda: any(spoken[-1] in cue.text for cue in page.all("#cues li p")))


def test_one_stream_is_open_and_none_while_the_page_is_hidden(page: Window, bridge: str) -> None:
    def listeners() -> int:
        return int(got(bridge, "/health")["streams"]["listeners"])

    page.until(lambda: listeners() == 1)
    page.js(HIDE % "true")
    page.until(lambda: listeners() == 0)
    page.js(HIDE % "false")
    page.until(lambda: listeners() == 1)
    different(page, "lap-time")


def test_a_session_that_does_not_drive_is_offered_as_a_replay(page: Window, bridge: str) -> None:
    driven = got(bridge, "/health")["active_session_id"]
    post(bridge, "/session/start", {"session_id": "other", "driver": HOSTILE, "track": HOSTILE})
    post(bridge, "/session/start", {"session_id": driven})
    page.open(f"{bridge}/ui/live")
    page.until(lambda: len(page.all("#session option")) > 2)
    assert any(HOSTILE in option.text for option in page.all("#session option"))
    assert page.js("return window.hacked") is None
    Select(page.one("#session")).select_by_value("other")
    page.until(lambda: page.one("#blank button").is_displayed())
    assert page.driver.current_url.endswith("?session=other")


def test_a_replay_asks_before_it_interrupts_a_recording_and_is_what_drives_then(
    window: Window, bridge: str
) -> None:
    def running() -> bool:
        return bool(got(bridge, "/session/replay/status")["running"])

    columns = {name: values.tolist() for name, values in laps(2).columns.items()}
    post(bridge, "/session/kept/frames", {"columns": columns, "track": "larkfell"})
    window.open(f"{bridge}/ui/live?session=kept")
    window.until(lambda: window.js(LAPS) == 2)
    best = got(bridge, "/session/kept/lap_time_table")["laps"]
    assert text(window, "best") in {lap["time"] for lap in best}
    try:
        window.one("#blank button").click()
        window.until(lambda: window.one("dialog .quiet")).click()
        assert not running()
        window.one("#blank button").click()
        window.until(lambda: window.one("#confirm-ok")).click()
        window.until(running)
        window.open(f"{bridge}/ui/live")
        window.until(lambda: window.one("#feed").text == "Replay")
        window.until(lambda: "The session has 2 laps" in text(window, "laps"))
        assert not window.one("#bus").is_displayed()
    finally:
        post(bridge, "/session/replay/stop", {})
    window.until(lambda: window.one("#feed").text == "Live")


def test_a_replay_is_paused_and_sought_from_the_page(window: Window, stored: str) -> None:
    post(stored, "/session/replay/start", {"source_session_id": "today"})
    try:
        window.open(f"{stored}/ui/live?session=today")
        window.until(lambda: window.one("#feed").text == "Replay")
        window.until(lambda: window.one("#pause").is_displayed())
        window.one("#pause").click()
        window.until(lambda: window.one("#pause").text == "Go on")
        assert got(stored, "/session/replay/status")["paused"] is True
        seek = "const s = arguments[0]; s.value = 5; for (const type of ['input', 'change'])"
        window.js(f"{seek} s.dispatchEvent(new Event(type))", window.one("#seek"))
        window.until(lambda: abs(got(stored, "/session/replay/status")["t_s"] - 5) < 1)
        window.one("#pause").click()
        window.until(lambda: got(stored, "/session/replay/status")["paused"] is False)
    finally:
        post(stored, "/session/replay/stop", {})


def test_the_delta_refers_to_the_lap_that_is_chosen(window: Window, stored: str) -> None:
    def delta() -> float:
        return float(text(window, "delta").replace("\N{MINUS SIGN}", "-").strip("±"))

    def shown() -> tuple[str, str]:
        return text(window, "delta"), text(window, "predicted")  # one may be as it was before

    def refer(lap: str) -> float:
        """Choose a lap, and give the delta to it once that is shown."""
        before = shown()
        Select(window.one("#against")).select_by_value(lap)
        window.until(lambda: shown() != before)
        return delta()

    def clock() -> float:
        minutes, _, seconds = text(window, "lap-time").rpartition(":")
        return 60 * float(minutes or 0) + float(seconds.strip("\N{EN DASH}") or 0)

    window.open(f"{stored}/ui/live?session=today")
    window.until(lambda: window.one("#blank button").is_displayed())
    post(stored, "/session/replay/start", {"source_session_id": "today", "speed": 15})
    try:
        window.until(lambda: window.js(LAPS) >= 2, SLOW_S)
        window.until(lambda: window.all("#against-others option"))
        window.until(lambda: not window.all("#clock.flash"))
        window.until(lambda: text(window, "lap-name") in ("Lap 3", "Lap 4") and clock() > 30)
        post(stored, "/session/replay/pause", {"paused": True})
        elapsed = -1.0
        while elapsed != (elapsed := clock()):
            time.sleep(0.5)  # frames that are under way still come

        earlier, first, second = (refer(lap) for lap in ("earlier:best", "today:1", "today:2"))

        driven = text(window, "lap-name").removeprefix("Lap ")
        query = f"laps=today:1,today:2,earlier:best,today:{driven}&channels=time_s"
        channels = [lap["channels"] for lap in got(stored, f"/compare?{query}")["laps"]]
        at = next(i for i, seconds in enumerate(channels[3]["time_s"]) if seconds >= elapsed)
        apart = [channels[lap]["delta_s"][at] for lap in (1, 2)]
        assert [first - second, first - earlier] == pytest.approx(apart, abs=0.03)
        assert ":" in text(window, "predicted")
        assert faults(window, stored) == []
    finally:
        post(stored, "/session/replay/stop", {})


def test_a_lap_that_is_replayed_fast_gives_its_place_back_to_the_clock(
    window: Window, stored: str
) -> None:
    window.open(f"{stored}/ui/live?session=today")
    shown = window.js(FAST)

    assert shown == ["Lap 1 finished", "Lap 2", "30.13"], "a lap brings its exact sectors"


def test_the_pit_wall_has_no_barrier_is_quiet_and_fits_the_screen(
    page: Window, bridge: str
) -> None:
    page.until(lambda: page.all("#laps tbody tr"), SLOW_S)
    assert faults(page, bridge) == []


@pytest.mark.slow
def test_ten_minutes_of_driving_do_not_make_the_page_grow(
    window: Window, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with served(tmp_path_factory.mktemp("long-drive")) as address:
        record(address, {"session_id": "long", "track": "larkfell"}, laps(7))
        window.open(f"{address}/ui/live?session=long")
        post(address, "/session/replay/start", {"source_session_id": "long", "speed": 60})
        window.until(lambda: window.js(LAPS) == 3, SLOW_S)
        before = window.held()
        window.until(lambda: window.js(LAPS) == 7, SLOW_S)  # each adds a row and a choice
        after = window.held()
    assert {name: after[name] / before[name] for name in before} == {
        name: pytest.approx(1, abs=0.2) for name in before
    }


def test_the_car_page_shows_messages_signals_and_what_they_allow(
    window: Window, bridge: str
) -> None:
    window.open(f"{bridge}/ui/car")
    window.until(lambda: len(window.all("#signals tbody tr")) > 50)
    window.until(lambda: "DASH_ENGINE" in text(window, "messages"))
    window.until(lambda: "frames a second" in text(window, "bus"))
    window.until(lambda: window.all("#abilities li"))
    window.one("#find").send_keys("oil temp")
    window.until(lambda: len(window.all("#signals tbody tr")) < 10)
    assert "oil_temp_c" in text(window, "signals")
    different(window, "messages")
    assert faults(window, bridge) == []


def test_a_link_lets_others_watch_and_only_that(page: Window, bridge: str) -> None:
    page.until(lambda: page.one("#share").is_enabled())
    page.one("#share").click()
    page.until(lambda: page.all("dialog .code"))
    page.until(lambda: page.js("return document.querySelector('dialog .code').naturalWidth > 0"))
    link = page.one("dialog .link").text
    assert "?token=watch_" in link
    page.open("about:blank")  # what the pit wall still asks for is not the link's
    page.requests()
    page.open(link)
    page.until(lambda: page.one("#state").text == "Live")
    page.until(lambda: text(page, "session") == "Larkfell Circuit", SLOW_S)
    page.until(lambda: ":" in text(page, "lap-time"), SLOW_S)
    different(page, "speed")
    page.one(".others summary").click()
    page.until(lambda: page.js("return document.getElementById('code').naturalWidth > 0"))
    origin = link.split("/spectator/")[0]
    assert faults(page, origin) == []
    token = link.split("token=")[1]
    request = urllib.request.Request(f"{bridge}/spectator/token/{token}", method="DELETE")
    urllib.request.urlopen(request, timeout=30).close()
    page.until(lambda: page.one("#state").text == "This link is no longer good")
