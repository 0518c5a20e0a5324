"""What requests at the edge of the routes get: defaults, limits, methods, words of refusals."""

import shutil
from pathlib import Path

import pytest

from tests.bridge.bridgekit import ROOT, Bridge
from tests.bridge.conftest import Start
from tests.bridge.formats.logkit import drive, write
from tests.bridge.live.replaykit import frames_at

CAR = "tarnhow-pip-180"


async def test_a_session_without_a_car_has_the_loaded_one(start: Start) -> None:
    async with start(can_car_config=CAR) as bridge:
        for name, body in {"own": {"car": "hatch"}, "plain": {}, "none": {"car": ""}}.items():
            await bridge.ok("POST", "/session/start", {"session_id": name, **body})
        await bridge.ok("POST", "/session/start", {"session_id": "own"})
        rows = (await bridge.ok("GET", "/sessions"))["sessions"]
    cars = {row["session_id"]: row["car"] for row in rows}
    assert cars == {"own": "hatch", "plain": CAR, "none": CAR}


@pytest.mark.parametrize(
    ("asked", "kept"),
    [(None, CAR), (CAR, CAR), ("Grandpa's van", "Grandpa's van")],
    ids=["loaded", "id", "name"],
)
async def test_an_imported_log_keeps_the_car_that_decoded_it(
    asked: str | None, kept: str, start: Start, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write(tmp_path_factory.mktemp("logs") / "drive.log", drive(5))
    async with start(can_car_config=CAR) as bridge:
        body = {"path": str(path), "session_id": "one", **({"car": asked} if asked else {})}
        await bridge.ok("POST", "/session/import", body)
        session = (await bridge.ok("GET", "/session/one"))["session"]
    assert session["car"] == kept


async def test_a_log_that_no_car_file_decoded_has_no_car(start: Start, tmp_path: Path) -> None:
    path = write(tmp_path / "drive.log", drive(5))
    async with start() as bridge:
        await bridge.ok("POST", "/session/import", {"path": str(path), "session_id": "one"})
        assert (await bridge.ok("GET", "/session/one"))["session"]["car"] == ""


@pytest.mark.parametrize("time_s", [0, -1, 86_400.1, 1e300, 10**18])
async def test_a_reported_lap_takes_a_day_at_most(bridge: Bridge, time_s: float) -> None:
    body = {"session_id": "s", "lap_number": 1, "lap_time_s": time_s}
    assert await bridge.refused("POST", "/lap", body) == (400, "bad_field")
    assert (await bridge.ok("GET", "/leaderboard"))["entries"] == []


async def test_the_first_and_last_time_of_a_lap_are_taken(bridge: Bridge) -> None:
    for number, time_s in enumerate((1e-7, 0.5, 86_400)):
        body = {"session_id": "s", "lap_number": number, "lap_time_s": time_s}
        await bridge.ok("POST", "/lap", body)
    assert (await bridge.ok("GET", "/laps"))["count"] == 3
    best = (await bridge.ok("GET", "/leaderboard"))["entries"][0]
    assert (best["session_id"], best["time"]) == ("s", "0:00.500")


async def test_the_session_of_a_reported_lap_is_there(bridge: Bridge) -> None:
    await bridge.ok("POST", "/lap", {"session_id": "new", "lap_number": 1, "lap_time_s": 61.5})
    (entry,) = (await bridge.ok("GET", "/leaderboard"))["entries"]
    found = await bridge.ok("GET", f"/session/{entry['session_id']}")
    assert (found["session"]["session_id"], found["best_lap_s"]) == ("new", 61.5)
    assert bridge.service.active_session() == ""


@pytest.mark.parametrize(
    ("limit", "status"),
    [("9" * 20, 200), ("0" * 30 + "1", 200), ("9" * 5000, 200), ("-" + "9" * 20, 400), ("0", 400)],
)
async def test_a_limit_beyond_all_numbers_is_the_highest_one(
    bridge: Bridge, limit: str, status: int
) -> None:
    for path in ("/sessions", "/laps", "/leaderboard"):
        assert (await bridge.get(f"{path}?limit={limit}")).status == status


async def test_what_has_no_data_has_nothing_to_count(bridge: Bridge) -> None:
    path = "/session/s/capabilities/recompute"
    assert await bridge.refused("POST", path) == (404, "unknown_session")
    await bridge.ok("POST", "/session/start", {"session_id": "s"})
    assert await bridge.refused("POST", path) == (404, "no_rows")


async def test_a_session_of_any_circuit_can_be_recorded_into(bridge: Bridge) -> None:
    for name in ("\u5bcc\u58eb\u30b9\u30d4\u30fc\u30c9\u30a6\u30a7\u30a4", "\u2116 1", "x" * 256):
        sid = (await bridge.ok("POST", "/session/start", {"track": name}))["session_id"]
        await bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": 1, "speed_ms": 20})
        assert (await bridge.ok("GET", f"/session/{sid}"))["session"]["track"] == name
        exported = await bridge.get(f"/session/{sid}/export.parquet")
        assert (exported.status, exported.headers["X-Bridge-Session"]) == (200, sid)
        assert (await bridge.ok("GET", "/sessions", None))["sessions"][0]["session_id"] == sid


async def test_partial_is_not_advised_to_who_has_given_it(bridge: Bridge) -> None:
    await bridge.service.db.append_frames("s", frames_at([5.0]))
    for query, advised in (("", True), ("?partial=1", False)):
        answer = await bridge.get(f"/session/s/stats{query}")
        assert (answer.status, answer.json["code"]) == (400, "no_complete_lap")
        assert ("partial=true" in answer.json["error"]) is advised


@pytest.mark.parametrize(
    ("query", "param"),
    [("names=speed_ms&axis=x", "axis"), ("names=x", "names"), ("names=x,speed_ms", "names")],
)
async def test_the_parameter_at_fault_is_the_one_that_is_named(
    bridge: Bridge, query: str, param: str
) -> None:
    await bridge.service.db.append_frames("s", frames_at([1.0, 2.0]))
    answer = await bridge.get(f"/session/s/signals?{query}")
    assert answer.status == 400
    assert answer.json["param"] == param
    assert answer.json["error"].startswith(param)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/session/start", "POST"),
        ("/session/import", "POST"),
        ("/session/reset", "POST"),
        ("/session/replay/start", "POST"),
        ("/session/replay/stop", "POST"),
        ("/spectator/token", "POST"),
        ("/session/some", "GET, HEAD"),
        ("/health", "GET, HEAD"),
    ],
)
async def test_a_known_path_tells_its_methods(bridge: Bridge, path: str, allowed: str) -> None:
    wrong = await bridge.request("GET" if allowed == "POST" else "POST", path)
    assert (wrong.status, wrong.json["code"]) == (405, "method_not_allowed")
    assert wrong.headers["Allow"] == allowed
    told = await bridge.request("OPTIONS", path)
    assert (told.status, told.body) == (204, b"")
    assert told.headers["Allow"] == f"{allowed}, OPTIONS"


async def test_an_unknown_path_has_no_options(bridge: Bridge) -> None:
    assert (await bridge.request("OPTIONS", "/nothing")).status == 404


async def test_the_active_track_of_another_folder_is_found_by_its_id(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(ROOT / "data" / "tracks" / "tarn-oval.json", folder / "my-oval.json")
    async with start(track=str(folder / "my-oval.json")) as bridge:
        assert (await bridge.ok("GET", "/track/my-oval/elevation"))["samples"]
        assert (await bridge.get("/track/tarn-oval/elevation")).status == 200
