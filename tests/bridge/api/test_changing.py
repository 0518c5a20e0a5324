"""Sessions that are corrected or deleted: what every route says of them afterwards."""

import asyncio
import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from runtime.bridge.api.sessions import _delete
from runtime.bridge.live.inbox import read_notifications
from runtime.bridge.storage.records import NoteRow, SessionMeta
from tests.bridge.analysis.lapkit import OVAL, session
from tests.bridge.bridgekit import Bridge, Json, launch
from tests.bridge.conftest import Start
from tests.bridge.formats.vbo.vbokit import drive as vbo_drive
from tests.bridge.formats.vbo.vbokit import vbo_bytes
from tests.bridge.live.streamkit import cue, waiting
from tests.waiting import until
from tools.drive import drive

MIA = drive(OVAL, 2, hz=10.0, seed=1, skill=0.9)
TOM = drive(OVAL, 2, hz=10.0, seed=2, skill=0.95)
READ = ("", "/laps", "/stats", "/compare?a=1", "/signals?names=rpm", "/capabilities", "/map")


@pytest.fixture
async def driven(bridge: Bridge) -> Bridge:
    """Two ended sessions, of which each route has been asked."""
    for name, driver, told in (("mia", "Mia", MIA), ("tom", "Tom", TOM)):
        about = {"session_id": name, "driver": driver, "car": "hatch", "track": OVAL.id}
        await bridge.ok("POST", "/session/start", about)
        await bridge.service.db.append_frames(name, told.frames)
        await bridge.ok("POST", f"/session/{name}/end")
        await bridge.service.db.add_note(NoteRow(name, "brake later", 1))
        for path in READ:
            await bridge.ok("GET", f"/session/{name}{path}")
    return bridge


async def names_of(bridge: Bridge, path: str, field: str) -> set[str]:
    """The sessions that a list names."""
    listed = (await bridge.ok("GET", path))[field]
    return {one["session_id"] for one in listed}


async def test_a_deleted_session_is_nowhere_any_more(driven: Bridge) -> None:
    assert await names_of(driven, "/leaderboard", "entries") == {"mia", "tom"}
    token = (await driven.ok("POST", "/spectator/token", {"session_id": "mia"}))["token"]
    seen = await driven.get(f"/session/mia?token={token}")
    assert seen.status == 200

    done = await driven.ok("DELETE", "/session/mia")

    assert done == {"deleted": True, "session_id": "mia"}
    assert await driven.refused("DELETE", "/session/mia") == (404, "unknown_session")
    for path in READ:
        assert (await driven.refused("GET", f"/session/mia{path}"))[0] == 404, path
        await driven.ok("GET", f"/session/tom{path}")
    assert await driven.refused("GET", "/compare?laps=tom:1,mia:1") == (404, "unknown_session")
    assert await names_of(driven, "/leaderboard", "entries") == {"tom"}
    assert await names_of(driven, "/sessions", "sessions") == {"tom"}
    assert (await driven.get(f"/session/mia?token={token}")).status == 401
    assert {kept.session_id for kept in driven.service.inbox._kept.values()} == {"tom"}


async def test_a_deletion_goes_to_its_end_where_whoever_asked_has_left(driven: Bridge) -> None:
    service = driven.service
    token = (await driven.ok("POST", "/spectator/token", {"session_id": "mia"}))["token"]
    asked = asyncio.create_task(service.finish(_delete(service, "mia")))
    await asyncio.sleep(0)

    asked.cancel()

    with pytest.raises(asyncio.CancelledError):
        await asked
    kept = service.inbox._kept
    await until(lambda: "mia" not in {one.session_id for one in kept.values()})
    assert (await driven.get(f"/session/mia?token={token}")).status == 401


async def test_what_is_still_on_its_way_about_a_deleted_session_is_not_told(driven: Bridge) -> None:
    service = driven.service
    watching = service.hub.subscribe({"cues": ["mia"], "timing": ["mia"]})
    for name in ("mia", "tom"):
        service.hub.publish_cue(cue("brake later", name))
    assert watching.position is not None
    await driven.ok("DELETE", "/session/mia")

    await service.inbox.post("session-saved", "Mia", "Session saved", "2 laps", "mia")

    assert {kept.session_id for kept in service.inbox._kept.values()} == {"tom"}
    stored = await read_notifications(service.db, 9)
    assert "mia" not in {json.loads(row.payload)["session_id"] for row in stored}
    for name, count in (("mia", 0), ("tom", 1)):
        again = service.hub.subscribe({"cues": [name]}, since_id=watching.position)
        assert len(await waiting(again)) == count


async def test_another_session_of_the_id_shows_its_own_telemetry(driven: Bridge) -> None:
    before = await driven.ok("GET", "/session/mia/lap_time_table")
    await driven.ok("DELETE", "/session/mia")
    about = SessionMeta(driver="Mia", track=OVAL.id)

    await driven.service.db.append_frames("mia", TOM.frames, meta=about)

    after = await driven.ok("GET", "/session/mia/lap_time_table")
    tom = await driven.ok("GET", "/session/tom/lap_time_table")
    assert after["laps"] == tom["laps"] != before["laps"]
    assert (await driven.ok("GET", "/session/mia"))["notes"] == []


async def test_the_active_one_and_the_replayed_one_stay(driven: Bridge) -> None:
    await driven.ok("POST", "/session/start", {"session_id": "mia"})
    assert await driven.refused("DELETE", "/session/mia") == (409, "session_in_use")
    await driven.ok("POST", "/session/mia/end")
    await driven.ok("POST", "/session/replay/start", {"source_session_id": "mia"})
    answer = await driven.request("DELETE", "/session/mia")
    assert (answer.status, answer.json["code"]) == (409, "session_in_use")
    assert answer.json["error"] == "the session is being replayed: stop it first"
    assert answer.json["session_id"] == "mia"
    await driven.ok("DELETE", "/session/tom")
    await driven.ok("POST", "/session/replay/stop")
    await driven.ok("DELETE", "/session/mia")


async def test_a_session_that_a_bus_fills_stays(start: Start) -> None:
    async with start(simulate=True) as bridge:
        await until(lambda: bool(bridge.service.db.sessions()))
        name = bridge.service.bus_session()
        answer = await bridge.request("DELETE", f"/session/{name}")
        assert (answer.status, answer.json["code"]) == (409, "session_in_use")
        assert "a bus fills the session" in answer.json["error"]


async def test_a_corrected_session_says_so_everywhere(driven: Bridge) -> None:
    body = {"driver": "Mía", "car": None, "note": "wet"}

    found = await driven.request("PATCH", "/session/mia", json=body)

    assert found.status == 200
    record = found.json["session"]
    assert record == (await driven.ok("GET", "/session/mia"))["session"]
    assert (record["driver"], record["car"], record["note"]) == ("Mía", "", "wet")
    assert (record["track_id"], record["lap_count"]) == (OVAL.id, 2)
    assert {one["driver"] for one in (await driven.ok("GET", "/leaderboard"))["entries"]} == {
        "Mía",
        "Tom",
    }


async def test_laps_follow_a_corrected_track(bridge: Bridge) -> None:
    lapped = session([(20.0,) * 3] * 3)  # without positions: by the length of the laps
    await bridge.service.db.append_frames("s", lapped, meta=SessionMeta(track="nowhere"))
    before = await bridge.ok("GET", "/session/s/laps")

    answer = await bridge.request("PATCH", "/session/s", json={"track": OVAL.id})

    assert answer.json["session"]["track_id"] == OVAL.id
    assert await bridge.ok("GET", "/session/s/laps") != before
    await bridge.request("PATCH", "/session/s", json={"track": "nowhere"})
    assert await bridge.ok("GET", "/session/s/laps") == before


async def test_a_correction_that_says_nothing_or_too_much_is_refused(driven: Bridge) -> None:
    before = (await driven.ok("GET", "/session/mia"))["session"]
    for body, path, expected in (
        ({}, "mia", (400, "bad_field")),
        ({"colour": "red"}, "mia", (400, "bad_field")),
        ({"driver": 7}, "mia", (400, "bad_field")),
        ({"note": "x" * 2001}, "mia", (400, "bad_field")),
        ({"driver": "x"}, "nobody", (404, "unknown_session")),
    ):
        assert await driven.refused("PATCH", f"/session/{path}", body) == expected
    assert (await driven.ok("GET", "/session/mia"))["session"] == before


def call(url: str, method: str, path: str, body: bytes | None = None) -> tuple[int, Json]:
    """One request to a bridge of another process."""
    request = urllib.request.Request(f"{url}{path}", body, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused)


def delete_and_kill(folder: Path, backend: str) -> None:
    """Have two of three sessions deleted by a bridge that is killed then."""
    file = vbo_bytes(vbo_drive(laps=2.2))
    process, url = launch(folder, backend)
    with process:
        try:
            for name in ("a", "b", "c"):
                path = f"/session/upload?filename=run.vbo&session_id={name}"
                assert call(url, "POST", path, file)[0] == 200
            for name in ("a", "b"):
                assert call(url, "DELETE", f"/session/{name}")[0] == 200
        finally:
            process.kill()


async def test_what_was_deleted_stays_so_when_the_bridge_is_killed(
    start: Start, backend: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(delete_and_kill, tmp_path, backend)
    async with start(db_backend=backend) as bridge:
        assert [(await bridge.get(f"/session/{name}")).status for name in "abc"] == [404, 404, 200]
        assert (await bridge.ok("GET", "/health"))["db"]["recovered_from"] is None
        await bridge.ok("GET", "/session/c/laps")
