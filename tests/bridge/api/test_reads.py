"""What the bridge tells of signals, drivers, cars, tracks and the best laps; on both databases."""

from pathlib import Path

import pytest
import pytest_asyncio

from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import ROOT, Bridge, Json
from tests.bridge.conftest import Start
from tools.drive import drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
TRACKS = Library.read(ROOT / "data" / "tracks").tracks


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sampled(each_bridge: Bridge) -> Bridge:
    """A bridge with a session of three frames a second apart and a slower signal."""
    frames = [
        {"timestamp": t, "speed_ms": 10.0 * (t + 1), "distance_m": 10.0 * t} for t in range(3)
    ]
    await each_bridge.ok("POST", "/session/s/frames", {"frames": frames})
    await each_bridge.ok("POST", "/session/s/signals", {"signals": [["oil_temp_c", 1, 90]]})
    return each_bridge


async def rows(bridge: Bridge, query: str) -> list[dict[str, Json]]:
    answer = await bridge.ok("GET", f"/session/s/signals?{query}")
    assert answer["count"] == len(answer["rows"])
    found: list[dict[str, Json]] = answer["rows"]
    return found


async def test_signals_come_on_the_axis_of_the_frames(sampled: Bridge) -> None:
    found = await rows(sampled, "names=speed_ms,oil_temp_c")
    assert found == [
        {"t": 0, "speed_ms": 10, "oil_temp_c": None},
        {"t": 1, "speed_ms": 20, "oil_temp_c": 90},
        {"t": 2, "speed_ms": 30, "oil_temp_c": 90},
    ]


async def test_signals_come_on_an_even_grid_of_time_or_distance(sampled: Bridge) -> None:
    found = await rows(sampled, "names=speed_ms&rate_hz=4&interp=linear&t_from=0&t_to=2")
    assert len(found) == 9
    assert [row["speed_ms"] for row in found[:3]] == [10, 12.5, 15]
    held = await rows(sampled, "names=speed_ms&rate_hz=4&interp=hold&t_from=0&t_to=2")
    assert [row["speed_ms"] for row in held[:5]] == [10, 10, 10, 10, 20]
    found = await rows(sampled, "names=speed_ms&axis=distance&rate_hz=1&step_m=3&interp=linear")
    assert [row["distance_m"] for row in found] == [0, 3, 6, 9, 12, 15, 18]
    assert [row["speed_ms"] for row in found] == [10, 13, 16, 19, 22, 25, 28]
    answer = await sampled.ok("GET", "/session/s/signals?names=speed_ms,gear_position")
    assert answer["missing"] == ["gear_position"]
    assert {row["gear_position"] for row in answer["rows"]} == {None}


WRONG = (
    ("", "names", 400, "bad_query"),
    ("names=nothing", "names", 400, "bad_query"),
    ("names=nothing,speed_ms", "names", 400, "bad_query"),
    ("names=speed_ms&interp=spline", "interp", 400, "bad_query"),
    ("names=speed_ms&rate_hz=1001", "rate_hz", 400, "bad_query"),
    ("names=speed_ms&rate_hz=-1", "rate_hz", 400, "bad_query"),
    ("names=speed_ms&t_from=2&t_to=1", "t_from", 400, "bad_query"),
    ("names=speed_ms&axis=nothing", "axis", 400, "bad_query"),
    ("names=speed_ms&lap=1", None, 404, "unknown_lap"),
    ("names=speed_ms&rate_hz=1000&t_from=0&t_to=100", None, 413, "too_many_rows"),
)


async def test_a_wrong_question_to_signals_says_why(sampled: Bridge) -> None:
    for query, param, status, code in WRONG:
        answer = await sampled.get(f"/session/s/signals?{query}")
        assert (answer.status, answer.json["code"]) == (status, code), query
        assert answer.json.get("param") == param
    for path in ("signals?names=speed_ms", "capabilities"):
        assert await sampled.refused("GET", f"/session/none/{path}") == (404, "unknown_session")


async def test_capabilities_tell_rates_and_what_coaches_lack(sampled: Bridge) -> None:
    found = await sampled.ok("GET", "/session/s/capabilities")
    by_name = {one["name"]: one for one in found["signals"]}
    assert list(by_name) == sorted(by_name)
    assert by_name["speed_ms"]["mean_hz"] == 1.5
    assert by_name["speed_ms"]["useful"] is False
    assert by_name["oil_temp_c"]["mean_hz"] == 0.0
    assert found["duration_s"] == 2
    assert "base_pace_note" in found["coaches_available"]
    (tpms,) = [one for one in found["coaches_disabled"] if one["coach_id"] == "tpms_drift"]
    assert tpms["reason"] == tpms["reasons"][0] == "missing signal: tpms_fl_kpa"


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_zero_before_the_clock_is_set_spoils_no_rate(
    each_bridge: Bridge, sid: str, at_once: bool
) -> None:
    times = [0.0, *(1_795_900_000 + at / 20 for at in range(200))]
    frames = [{"timestamp": t, "speed_ms": 20.0, "oil_temp_c": 90} for t in times]
    for some in (frames,) if at_once else (frames[:1], frames[1:150], frames[150:]):
        await each_bridge.ok("POST", f"/session/{sid}/frames", {"frames": some})
    for _ in range(2):
        found = await each_bridge.ok("GET", f"/session/{sid}/capabilities")
        assert found["duration_s"] == pytest.approx(9.95)
        for signal in found["signals"]:
            assert signal["mean_hz"] == pytest.approx(20, rel=0.02)
            assert signal["t_start"] == times[1]
        await each_bridge.ok("POST", f"/session/{sid}/capabilities/recompute")


@pytest.mark.asyncio(loop_scope="function")
async def test_the_leaderboard_ranks_best_laps_of_all_sessions(bridge: Bridge) -> None:
    assert await bridge.ok("GET", "/leaderboard") == {"entries": [], "count": 0}
    track = TRACKS["tarn-oval"]
    truth = {}
    for driver, skill in [("Mia Fischer", 0.95), ("Tom", 0.8)]:
        name = driver.split()[0].lower()
        await bridge.ok(
            "POST",
            "/session/start",
            {"session_id": name, "driver": driver, "track": track.name, "car": "hatch"},
        )
        driven = drive(track, 2, skill=skill)
        await bridge.service.db.append_frames(name, driven.frames)
        truth[driver] = min(driven.lap_times_s)
    await bridge.ok("POST", "/lap", {"session_id": "tom", "lap_number": 9, "lap_time_s": 20.0})
    board = await bridge.ok("GET", "/leaderboard?track=tarn%20oval")
    assert [(one["rank"], one["initials"]) for one in board["entries"]] == [(1, "TOM"), (2, "MF")]
    assert board["entries"][0]["time"] == "0:20.000"
    assert board["entries"][1]["lap_time_s"] == pytest.approx(truth["Mia Fischer"], abs=0.05)
    assert (await bridge.ok("GET", "/leaderboard?track=elsewhere"))["count"] == 0
    assert (await bridge.ok("GET", "/leaderboard?limit=1"))["count"] == 1


@pytest.mark.asyncio(loop_scope="function")
async def test_a_driver_of_five_sessions_is_seen_to_improve(bridge: Bridge) -> None:
    track = TRACKS["larkfell"]
    for number in range(5):
        await bridge.ok(
            "POST",
            "/session/start",
            {"session_id": f"day-{number}", "driver": "Mia", "track": track.name},
        )
        driven = drive(track, 2, skill=0.7 + 0.05 * number, hz=5, seed=number)
        await bridge.service.db.append_frames(f"day-{number}", driven.frames)
        if number == 3:
            early = await bridge.get("/driver/mia/evolution")
            assert (early.status, early.body) == (204, b"")
    found = await bridge.ok("GET", "/driver/Mia/evolution")
    assert found["session_count"] == 5
    by_id = await bridge.ok("GET", "/driver/Mia/evolution?track=larkfell")
    assert by_id == {**found, "track": "larkfell"}
    assert (await bridge.ok("GET", "/sessions?track=larkfell"))["count"] == 5
    assert (await bridge.ok("GET", "/leaderboard?track=larkfell"))["count"] == 1
    bests = [step["best_lap_s"] for step in found["evolution"]]
    assert bests == sorted(bests, reverse=True)
    assert all(step["sector_pbs"]["s2"] for step in found["evolution"])
    summary = found["summary"]
    assert summary["improvement_s"] == pytest.approx(bests[0] - bests[-1], abs=0.002)
    assert summary["biggest_corner_gain"]["delta_kmh"] > 5
    profile = await bridge.ok("GET", "/driver/mia/profile")
    assert [one["lap_s"] for one in profile["best_lap_history"]] == bests
    assert await bridge.refused("GET", "/driver/nobody/evolution") == (404, "unknown_driver")
    assert (await bridge.ok("GET", "/driver/nobody/profile"))["sessions"] == 0


async def test_cars_are_listed_and_the_loaded_one_is_marked(start: Start) -> None:
    async with start() as bridge:
        found = await bridge.ok("GET", "/cars")
        assert len(found["cars"]) >= 2
        assert found["loaded_id"] == ""
        first = found["cars"][0]["id"]
        assert all("error" not in car for car in found["cars"])
    async with start(can_car_config=first) as bridge:
        found = await bridge.ok("GET", "/cars")
        assert [car["id"] for car in found["cars"] if car["loaded"]] == [first]
        assert all(car["channel_count"] == len(car["channels"]) for car in found["cars"])


async def test_without_a_folder_of_cars_it_is_404(start: Start, tmp_path: Path) -> None:
    (tmp_path / "data" / "registry").mkdir(parents=True)
    signals = (ROOT / "data" / "registry" / "signals.json").read_text(encoding="utf-8")
    (tmp_path / "data" / "registry" / "signals.json").write_text(signals, encoding="utf-8")
    async with start(data_dir=tmp_path / "data") as bridge:
        assert await bridge.refused("GET", "/cars") == (404, "no_cars_dir")
        assert await bridge.refused("GET", "/track/markers") == (404, "no_track")
        assert (await bridge.ok("GET", "/health"))["track"] == ""
        assert (await bridge.ok("GET", "/track/weather?hour_local=13"))["phase"] == "peak_grip"


async def test_the_track_file_is_read_out(start: Start) -> None:
    async with start() as bridge:
        everything = await bridge.ok("GET", "/track/markers")
        brakes = await bridge.ok("GET", "/markers?kind=brake&corner=1")
        zones = await bridge.ok("GET", "/track/danger_zones")
        assert everything["count"] == len(everything["markers"]) > 20
        assert {one["kind"] for one in brakes["markers"]} == {"brake_ref"}
        assert brakes["filters"] == {"corner": "1", "kind": "brake"}
        assert zones["count"] == len(zones["danger_zones"]) > 0
        assert (await bridge.ok("GET", "/markers?kind=nothing"))["count"] == 0
        found = await bridge.ok("GET", "/track/larkfell/elevation?step_m=50")
        assert [one["distance_m"] for one in found["samples"][:3]] == [0, 50, 100]
        heights = [one["elevation_m"] for one in found["samples"]]
        lowest, highest = found["min_elevation_m"], found["max_elevation_m"]
        assert (min(heights), max(heights)) == (lowest, highest)


async def test_metrics_count_what_happens(start: Start) -> None:
    async with start() as bridge:
        await bridge.ok("POST", "/session/start", {"session_id": "s"})
        async with bridge.http.get("/stream?session_id=s") as stream:
            await stream.content.readuntil(b"\n\n")
            answer = await bridge.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.body.decode().splitlines()
    assert {"bridge_streams 1", "bridge_sessions 1", "bridge_database_damaged 0"} <= set(lines)
    commits = next(one for one in lines if one.startswith("bridge_commits_total "))
    assert float(commits.split()[1]) > 0
    named = [one.split()[2] for one in lines if one.startswith("# HELP")]
    assert len(named) == len(set(named))


async def test_circuits_are_listed_and_drawn(start: Start) -> None:
    async with start() as bridge:
        listed = (await bridge.ok("GET", "/tracks"))["tracks"]
        assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)
        for one in listed:
            found = await bridge.ok("GET", f"/track/{one['id']}")
            assert {name: found[name] for name in one} == one
            bounds = [found["sectors"][0]["start_m"], *(s["end_m"] for s in found["sectors"])]
            assert bounds == sorted(bounds)
            assert [bounds[0], bounds[-1]] == pytest.approx([0.0, one["length_m"]], abs=1.0)
            assert all(0 <= c["apex_m"] <= one["length_m"] for c in found["corners"])
        larkfell = await bridge.ok("GET", "/track/larkfell")
        (lat, lon), gate = larkfell["outline"][0], larkfell["gate"]
        assert [lat, lon] == pytest.approx([gate["lat"], gate["lon"]], abs=1e-4)
        assert [c["number"] for c in larkfell["corners"]] == list(
            range(1, len(larkfell["corners"]) + 1)
        )


REFUSED = (
    ("nothing", 404, "no_track"),
    ("..%2F..%2Fx", 404, "no_track"),
    ("weather?hour_local=24", 400, "bad_query"),
    ("weather?hour_local=x", 400, "bad_query"),
    ("nothing/elevation", 404, "no_track"),
    ("..%2F..%2Fx/elevation", 404, "no_track"),
    ("larkfell/elevation?step_m=0", 400, "bad_query"),
    ("larkfell/elevation?step_m=1001", 400, "bad_query"),
    ("larkfell/elevation?step_m=x", 400, "bad_query"),
)


async def test_wrong_questions_to_a_track_say_why(start: Start) -> None:
    async with start() as bridge:
        for path, status, code in REFUSED:
            assert await bridge.refused("GET", f"/track/{path}") == (status, code), path
        refused = await bridge.get("/track/larkfell/elevation?step_m=0.0001")
        least = refused.json["error"].removesuffix(" or more").rpartition(" ")[2]
        assert (await bridge.get(f"/track/larkfell/elevation?step_m={least}")).status == 200
