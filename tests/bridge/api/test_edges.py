"""What requests at the edge of the routes get: defaults, limits, methods, words of refusals."""

from pathlib import Path

import pytest

from tests.bridge.bridgekit import Bridge
from tests.bridge.canlog.logkit import drive, write
from tests.bridge.conftest import Start
from tests.bridge.replay.replaykit import frames_at

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


@pytest.mark.parametrize("time_s", [1e-7, 0.9999, 86_400.1, 1e300, 10**18])
async def test_a_reported_lap_takes_a_second_to_a_day(bridge: Bridge, time_s: float) -> None:
    body = {"session_id": "s", "lap_number": 1, "lap_time_s": time_s}
    assert await bridge.refused("POST", "/lap", body) == (400, "bad_field")
    assert (await bridge.ok("GET", "/leaderboard"))["entries"] == []


async def test_the_first_and_last_time_of_a_lap_are_taken(bridge: Bridge) -> None:
    for number, time_s in enumerate((1, 86_400)):
        body = {"session_id": "s", "lap_number": number, "lap_time_s": time_s}
        await bridge.ok("POST", "/lap", body)
    assert (await bridge.ok("GET", "/laps"))["count"] == 2


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
