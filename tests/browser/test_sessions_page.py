"""The list of sessions, the page of a driver, and the reference of the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from tests.bridge.coach.modelkit import laps
from tests.bridge.formats.logkit import own_bus
from tests.bridge.formats.vbo.vbokit import drive, write_vbo
from tests.browser.bridgepages import HOSTILE, faults, got, post, record, said, served
from tests.browser.window import Window

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
NOTE = f"{HOSTILE}\nand a second line"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A bridge that has recorded nothing; the first test that adds to it comes last."""
    with served(tmp_path_factory.mktemp("sessions-page")) as address:
        yield address


@pytest.fixture
def bridge(empty: str) -> str:
    """Its address with a session whose names should do harm, driving no more."""
    here = {"session_id": "hostile", "driver": HOSTILE, "car": HOSTILE, "track": HOSTILE}
    post(empty, "/session/start", {**here, "note": NOTE})
    post(empty, "/session/hostile/end", {})
    return empty


def names(address: str) -> set[str]:
    return {row["session_id"] for row in got(address, "/sessions")["sessions"]}


def opened(window: Window, address: str) -> Window:
    window.open(f"{address}/")
    window.until(lambda: window.all(".day li, .none"))
    return window


def row(session: str) -> str:
    return f"[data-session='{session}']"


def test_without_a_session_the_page_says_what_to_do(window: Window, empty: str) -> None:
    opened(window, empty)
    assert "Nothing recorded yet" in window.one(".none").text
    assert not window.one("#now").is_displayed()
    assert faults(window, empty) == []
    window.open(f"{empty}/ui/live")
    assert not window.one("#share").is_enabled()


def test_a_file_is_added_and_its_session_opened(
    window: Window, bridge: str, tmp_path: Path
) -> None:
    opened(window, bridge)
    write_vbo(tmp_path / "run.vbo", drive(laps=2.4))
    window.one("#files").send_keys(str(tmp_path / "run.vbo"))
    window.until(lambda: window.all(".log a"))
    window.until(lambda: "2 laps" in said(window, ".log li"))
    window.one("#files").send_keys(str(tmp_path / "run.vbo"))
    window.until(lambda: window.all(".log .problem a"))
    (tmp_path / "notes.txt").write_text("no recording")
    window.one("#files").send_keys(str(tmp_path / "notes.txt"))
    window.until(lambda: "notes.txt" in said(window, ".log .problem"))
    assert not window.all(".log .problem button")
    added = names(bridge) - {"hostile"}
    assert len(added) == 1
    window.until(lambda: len(window.all(".day li")) == 2)
    window.one(".log .problem a").click()
    # the page writes the laps that it shows after the session
    assert f"/ui/session?session={added.pop()}" in window.driver.current_url


def test_names_are_text_and_can_be_changed(window: Window, bridge: str) -> None:
    opened(window, bridge)
    assert HOSTILE in said(window, f"{row('hostile')} .open strong")
    assert said(window, f"{row('hostile')} .about").count(HOSTILE) == 3
    assert faults(window, bridge) == []
    window.one(f"{row('hostile')} .acts button").click()
    for field, value in {"driver": "Ana", "track": "larkfell"}.items():
        box = window.one(f"dialog [name={field}]")
        box.clear()
        box.send_keys(value)
    assert faults(window, bridge) == []
    window.one("dialog [name=track]").send_keys(Keys.ENTER)
    window.until(lambda: "Ana" in said(window, ".day .about"))
    session = got(bridge, "/session/hostile")["session"]
    assert (session["driver"], session["car"], session["note"]) == ("Ana", HOSTILE, NOTE)
    assert window.js("return window.hacked") is None


def test_sessions_are_found_by_what_their_notes_say(window: Window, bridge: str) -> None:
    opened(window, bridge)
    window.js("document.getElementById('find').hidden = false")  # usually from five sessions on
    window.one("#wanted").send_keys("hacked")
    window.until(lambda: len(window.all(".day .rows > li")) == 1)
    window.one("#wanted").send_keys(" nowhere")
    window.until(lambda: "No session says" in window.one("#days").text)
    assert faults(window, bridge) == []


def test_a_session_is_deleted_after_a_question_only(window: Window, bridge: str) -> None:
    opened(window, bridge)
    window.one(f"{row('hostile')} .acts button:last-child").click()
    window.until(lambda: window.all("#confirm-ok"))
    driver = got(bridge, "/session/hostile")["session"]["driver"]
    assert f", {driver}, " in window.one("dialog p").text
    window.keys(Keys.ESCAPE)
    assert "hostile" in names(bridge)
    window.one(f"{row('hostile')} .acts button:last-child").click()
    window.one("#confirm-ok").click()
    window.until(lambda: not window.all(row("hostile")))
    assert "hostile" not in names(bridge)


def test_a_can_log_and_the_dbc_file_of_its_bus_are_chosen_together(
    window: Window, bridge: str, tmp_path: Path
) -> None:
    log, dbc = own_bus(tmp_path)
    opened(window, bridge)
    window.one("#files").send_keys(str(log))
    window.until(lambda: window.all("#log .problem"))
    assert "DBC file" in window.one("#log .problem").text
    assert window.one("#log .problem button").text == "Choose its DBC file"
    window.console()
    window.one("#files").send_keys(f"{log}\n{dbc}")
    window.until(lambda: window.all("#log a"))
    assert window.one("#log a").text == log.name
    assert faults(window, bridge) == []


def test_what_drives_now_leads_to_the_pit_wall(window: Window, bridge: str) -> None:
    post(bridge, "/session/start", {"session_id": "now", "driver": "Ben", "track": "larkfell"})
    opened(window, bridge)
    window.until(lambda: window.one("#now").is_displayed())
    assert "Ben" in window.one("#now").text
    window.one("#now").click()
    window.until(lambda: window.all("#map"))
    assert window.driver.current_url.endswith("/ui/live")


def test_a_driver_sees_the_trend_what_to_work_on_and_the_board(window: Window, bridge: str) -> None:
    here = {"car": "vesper", "track": "larkfell"}
    for number, (name, skill) in enumerate((("Cleo", 0.3), ("Cleo", 0.7), ("Dan", 0.5))):
        session = {"session_id": f"driven-{number}", "driver": name, **here}
        here["track"] = "Larkfell Circuit"  # of the others: the name of the same one
        record(bridge, session, laps(3, skill=skill, seed=number))
    window.open(f"{bridge}/ui/driver?driver=Cleo&track=larkfell")
    window.until(lambda: len(window.all("#steps tbody tr")) == 2)
    assert [track.text for track in window.all("#track option")] == ["Larkfell Circuit"]
    assert window.one("#gained").text.startswith("\N{MINUS SIGN}")
    assert window.all("#chart canvas")
    assert [row.text.split()[1] for row in window.all("#board tbody tr")] == ["Cleo", "Dan"]
    assert "Cleo" in window.one("#board .mine").text
    assert window.all("#focus li")
    gains = [float(gain.text.split()[1]) for gain in window.all("#focus .gain") if gain.text]
    assert gains == sorted(gains, reverse=True)
    assert faults(window, bridge) == []
    Select(window.one("#driver")).select_by_value("Dan")
    window.until(lambda: said(window, "h1") == "Dan")
    window.until(lambda: len(window.all("#steps tbody tr")) == 1)
    window.open(f"{bridge}/ui/driver?driver=Nobody")
    window.until(lambda: "“Nobody”" in said(window, "#trouble"))
    window.open(f"{bridge}/ui/driver?driver=cleo")
    window.until(lambda: said(window, "h1") == "Cleo")


def test_the_reference_has_every_route_and_the_fields_of_its_answers(
    window: Window, bridge: str
) -> None:
    routes = sum(len(methods) for methods in got(bridge, "/openapi.json")["paths"].values())
    window.open(f"{bridge}/docs")
    window.until(lambda: window.one("#count").text == f"{routes} routes")
    window.one("#find").send_keys("get /sessions")
    window.until(lambda: window.one("#count").text == "1 route")
    window.one(".route:not([hidden]) summary").click()
    window.until(lambda: "active_only" in window.one(".route[open]").text)
    window.one(".route[open] .shape summary").click()
    assert "best_lap_s" in window.one(".route[open]").text
    assert faults(window, bridge) == []
    window.open(window.driver.current_url)
    window.until(lambda: "active_only" in window.one(".route[open]").text)
