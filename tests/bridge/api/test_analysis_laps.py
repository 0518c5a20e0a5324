"""The routes of lap analytics on both databases: shapes, guards, parameters, and what adds up."""

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.api.analysis import FrictionAnswer
from runtime.bridge.api.compare import CompareAnswer
from runtime.bridge.api.pictures import MapAnswer, SyncAnswer
from runtime.bridge.session.recording import VideoFrame
from runtime.web.wire import Wire
from tests.bridge.analysis.lapkit import OVAL, session
from tests.bridge.bridgekit import Bridge, Json, frame_objects
from tests.bridge.conftest import Start
from tests.bridge.session.sessions import changed, kept
from tools.drive import USUAL, drive

DRIVEN = drive(OVAL, 3, hz=10.0, seed=1, skill=0.9, noise=USUAL)
PLAIN = (
    "stats",
    "friction_circle",
    "hustle_map",
    "map",
    "sync",
    "clips",
    "lap_time_table",
    "lap_time_distribution",
    "ideal_lap",
    "sector_times",
    "pedal_behavior",
    "straight_line_speed",
    "compare?a=1",
)
POOLED = ("stats", "friction_circle", "hustle_map", "map", "pedal_behavior", "straight_line_speed")
WRONG = (
    "pedal_behavior?throttle_th=-1",
    "pedal_behavior?brake_th=x",
    "pedal_behavior?brake_th=nan",
    "friction_circle?samples=0",
    "stats?partial=maybe",
    "sync?window_s=0",
    "sync?window_s=1.01",
    "sync?from=2&to=1",
    "sync?from=x",
    "sync?limit=0",
    "compare",
    "compare?a=worst",
    "compare?a=1&b=1:75.0",
    "compare?a=0.1",
)


async def filled(bridge: Bridge) -> Bridge:
    """The bridge with three laps of the oval, filmed from the fifth second on."""
    about = {"session_id": "s", "driver": "Mia", "car": "hatch", "track": OVAL.name}
    await bridge.ok("POST", "/session/start", about)
    await bridge.service.db.append_frames("s", DRIVEN.frames)
    since = [i / 10 for i in range(20)] + [5.0 * i for i in range(1, 20)]
    video = [VideoFrame(5.0 + t, None, "in.mp4", t) for t in since]
    await bridge.service.db.append_video("s", video)
    return bridge


@pytest.fixture
async def driven(start: Start) -> AsyncIterator[Bridge]:
    """Such a bridge; the databases are compared by `test_both_databases_answer_the_same`."""
    async with start(db_backend="lightweight") as running:
        yield await filled(running)


def numbers(found: Json) -> list[float]:
    """Every number of an answer."""
    if isinstance(found, dict):
        return [n for value in found.values() for n in numbers(value)]
    if isinstance(found, list):
        return [n for value in found for n in numbers(value)]
    return [found] if isinstance(found, float) else []


async def test_every_analytic_names_its_session_and_repeats_itself(driven: Bridge) -> None:
    for name in PLAIN:
        first, again = await asyncio.gather(*(driven.get(f"/session/s/{name}") for _ in range(2)))
        assert first.status == 200, (name, first.body)
        assert first.body == again.body
        assert next(iter(first.json)) == "session_id"
        assert first.json["session_id"] == "s"
        assert "partial" not in first.json
        assert all(math.isfinite(n) for n in numbers(first.json))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("friction_circle", FrictionAnswer),
        ("map", MapAnswer),
        ("sync", SyncAnswer),
        ("compare?a=1", CompareAnswer),
        ("compare?a=ideal", CompareAnswer),
    ],
)
async def test_what_is_written_without_a_model_fits_the_described_one(
    driven: Bridge, name: str, model: type[Wire]
) -> None:
    answer = await driven.get(f"/session/s/{name}")

    model.model_validate_json(answer.body)
    assert set(answer.json) == set(model.model_fields) - {"partial"}


async def test_both_databases_answer_the_same(start: Start, tmp_path: Path) -> None:
    answers = []
    for backend in ("lightweight", "analytical"):
        async with start(db_backend=backend, db=tmp_path / backend) as running:
            await filled(running)
            answers.append([(await running.get(f"/session/s/{name}")).body for name in PLAIN])

    assert answers[0] == answers[1]


async def test_the_guard_stands_before_every_analytic(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "empty"})
    short = changed(kept(session([(20.0,) * 3] * 2), np.arange(1201) < 300), throttle_pct=50.0)
    await bridge.ok("POST", "/session/short/frames", {"frames": frame_objects(short)})
    for name in PLAIN:
        assert (await bridge.refused("GET", f"/session/none/{name}"))[0] == 404
        assert await bridge.refused("GET", f"/session/empty/{name}") == (404, "no_rows")
        refused = await bridge.refused("GET", f"/session/short/{name}")
        assert refused == (400, "no_complete_lap"), name
        if not name.startswith("compare"):
            body = await bridge.ok("GET", f"/session/short/{name}?partial=true")
            assert body["partial"] is True
    stats = await bridge.ok("GET", "/session/short/stats?partial=yes")
    assert (stats["n_frames"], stats["n_laps"]) == (300, 1)
    assert stats["best_lap_s"] == pytest.approx(29.9)


async def test_a_lap_can_be_looked_at_alone(driven: Bridge) -> None:
    whole = await driven.ok("GET", "/session/s/pedal_behavior")
    laps = [await driven.ok("GET", f"/session/s/pedal_behavior?lap={n}") for n in (1, 2, 3)]
    assert 0 < sum(lap["frame_count"] for lap in laps) < whole["frame_count"]
    one = await driven.ok("GET", "/session/s/map?lap=2")
    assert list(one["lap_polylines"]) == ["2"]
    for name in POOLED:
        assert await driven.refused("GET", f"/session/s/{name}?lap=4") == (404, "unknown_lap")
        assert await driven.refused("GET", f"/session/s/{name}?lap=x") == (400, "bad_query")


async def test_sectors_add_up_to_the_lap_and_the_best_is_one(driven: Bridge) -> None:
    table = await driven.ok("GET", "/session/s/lap_time_table")
    splits = await driven.ok("GET", "/session/s/sector_times")

    assert table["lap_count"] == 3
    times = [lap["lap_time_s"] for lap in table["laps"]]
    assert times == pytest.approx(DRIVEN.lap_times_s, abs=0.05)
    assert [lap["is_best"] for lap in table["laps"]].count(True) == 1
    assert table["best_lap_s"] == min(times)
    for lap, other in zip(table["laps"], splits["laps"], strict=True):
        own = [sector["time_s"] for sector in lap["sectors"]]
        assert own == [other["s1"], other["s2"], other["s3"]]
        assert sum(own) == pytest.approx(lap["lap_time_s"], abs=1e-9)
        assert lap["delta_to_best_s"] == pytest.approx(lap["lap_time_s"] - min(times), abs=0.0011)
        assert lap["delta_to_best_s"] == 0.0 or not lap["is_best"]
        assert [sector["id"] for sector in lap["sectors"]] == ["S1", "S2", "S3"]
        assert float(lap["time"].split(":")[1]) == lap["lap_time_s"]
    assert [one["name"] for one in splits["sector_definitions"]] == [s.name for s in OVAL.sectors]


async def test_the_ideal_lap_stands_beside_finer_ones(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/ideal_lap")
    spread = await driven.ok("GET", "/session/s/lap_time_distribution")

    assert found["ideal_lap_s"] <= found["best_actual_lap_s"] == spread["min_s"]
    assert found["gain_potential_s"] >= 0
    best = sum(one["time_s"] for one in found["best_sectors"])
    assert best == pytest.approx(found["ideal_lap_s"], abs=0.002)
    assert len(found["mini_sectors"]["parts"]) == 25
    assert found["mini_sectors"]["lap_s"] <= found["best_actual_lap_s"]
    names = [one["name"] for one in found["corners_and_straights"]["parts"]]
    assert names == ["Main straight", "Turn 1", "Straight 2", "Turn 2", "Main straight"]


async def test_stats_stand_at_the_top_and_as_an_object(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/stats")

    assert found["stats"] == {name: found[name] for name in found["stats"]}
    assert found["stats"]["n_frames"] == len(DRIVEN.frames)


async def test_shares_add_up_to_a_hundred_and_thresholds_of_zero_count(driven: Bridge) -> None:
    circle = (await driven.ok("GET", "/session/s/friction_circle?samples=50"))["friction"]
    assert len(circle["histogram_pct"]) == 10
    assert sum(circle["histogram_pct"]) == pytest.approx(100.0, abs=1e-9)
    assert len(circle["samples"]) == 50
    most = await driven.ok("GET", "/session/s/friction_circle?samples=99999")
    assert len(most["friction"]["samples"]) == len(DRIVEN.frames)
    pedals = await driven.ok("GET", "/session/s/pedal_behavior?throttle_th=0&brake_th=0")
    assert pedals["thresholds"] == {"throttle_pct": 0.0, "brake_bar": 0.0}
    states = pedals["states"].values()
    assert sum(state["frames"] for state in states) == pedals["frame_count"]
    assert sum(state["pct"] for state in states) == pytest.approx(100.0, abs=1e-9)
    hustle = (await driven.ok("GET", "/session/s/hustle_map"))["hustle_map"]
    assert len(hustle) == math.ceil(OVAL.length_m / 50)
    assert all(0 <= one["hustle_pct"] <= 100 for one in hustle)


async def test_a_wrong_parameter_is_named(driven: Bridge) -> None:
    for path in WRONG:
        answer = await driven.get(f"/session/s/{path}")
        assert (answer.status, answer.json["code"]) == (400, "bad_query"), path
        assert answer.json["param"] in path


async def test_each_telemetry_frame_stands_once_beside_the_video(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/sync?from=4&to=6")

    rows = found["rows"]
    assert [row["frame_idx"] for row in rows] == list(range(40, 61))
    assert found["count"] == len(rows)
    assert [row["matched"] for row in rows] == [False] * 10 + [True] * 11
    assert rows[0]["file_path"] is None
    assert (rows[10]["file_offset_s"], rows[10]["dt_ms"]) == (0.0, 0.0)
    only = await driven.ok("GET", "/session/s/sync?matched_only=true&limit=7")
    assert [row["timestamp"] for row in only["rows"]] == [round(5 + i / 10, 3) for i in range(7)]
    assert only["more"] is True
    late = [VideoFrame(4.02, 20, "b.mp4", None)]
    await driven.service.db.append_video("s", late)
    again = await driven.ok("GET", "/session/s/sync?from=4&to=4.05")
    assert again["rows"][0]["avitime_ms"] == 20
    assert again["rows"][0]["dt_ms"] == 20.0


async def test_there_is_a_clip_for_each_highlight(driven: Bridge) -> None:
    highlights = await driven.ok("GET", "/session/s/highlights")
    clips = await driven.ok("GET", "/session/s/clips")

    named = [(one["id"], one["title"], one["video_in_s"]) for one in highlights["highlights"]]
    assert [(one["id"], one["title"], one["in_s"]) for one in clips["clips"]] == named
    assert clips["count"] == len(named) > 0
    assert any(one["available"] for one in clips["clips"])
    for one in clips["clips"]:
        assert one["available"] is bool(one["sources"])
        for source in one["sources"]:
            assert source["in_offset_s"] == pytest.approx(max(one["in_s"] - 5.0, 0.0), abs=0.01)


async def test_the_map_has_lines_speeds_and_colours(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/map")

    assert found["track"] == OVAL.name
    assert list(found["lap_polylines"]) == ["1", "2", "3"] == list(found["lap_speeds"])
    for number, points in found["lap_polylines"].items():
        assert len(points) == len(found["lap_speeds"][number]) > 100
    (south, west), (north, east) = found["bounds"]
    assert all(south <= lat <= north and west <= lon <= east for lat, lon in found["centerline"])
    assert [one["name"] for one in found["corners"]] == list(found["per_corner_color"])


async def test_two_laps_are_compared_every_five_metres(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/compare?a=3&b=1")

    count = len(found["distance_m"])
    assert count == math.ceil(OVAL.length_m / 5) + 1
    assert found["distance_m"][-1] == pytest.approx(OVAL.length_m)
    for name in ("speed_kmh", "throttle_pct", "brake_bar", "g_lat"):
        assert len(found[name]["a"]) == len(found[name]["b"]) == count
    assert found["delta_s"] == pytest.approx(DRIVEN.lap_times_s[2] - DRIVEN.lap_times_s[0], abs=0.1)
    assert found["time_delta_s"][-1] == pytest.approx(found["delta_s"], abs=0.0011)
    assert [one["name"] for one in found["corners"]] == ["Turn 1", "Turn 2"]
    assert sum(one["delta_s"] for one in found["mini_sectors"]) == pytest.approx(
        found["delta_s"], abs=0.02
    )
    assert (found["a"]["driver"], found["a"]["lap_number"]) == ("Mia", 3)


async def test_a_lap_is_compared_with_a_target_the_ideal_and_the_record(driven: Bridge) -> None:
    quick = drive(OVAL, 2, hz=10.0, seed=2, skill=1.0)
    other = {"session_id": "quick", "driver": "mia", "car": "Hatch", "track": OVAL.id}
    await driven.ok("POST", "/session/start", other)
    await driven.service.db.append_frames("quick", quick.frames)
    await driven.ok("POST", "/session/start", {**other, "session_id": "tom", "driver": "Tom"})
    fast = changed(quick.frames, timestamp=quick.frames.columns["timestamp"] * 0.9)
    await driven.service.db.append_frames("tom", fast)

    record = await driven.ok("GET", "/session/s/compare?a=best&b=record")
    assert (record["b"]["session_id"], record["b"]["kind"]) == ("quick", "record")
    assert record["b"]["lap_time_s"] == pytest.approx(min(quick.lap_times_s), abs=0.02)
    named = await driven.ok("GET", "/session/s/compare?a=best&b=quick:best")
    assert named["time_delta_s"] == record["time_delta_s"]
    target = await driven.ok("GET", "/session/s/compare?a=best&b=1:00.5")
    assert (target["b"]["lap_time_s"], target["b"]["time"]) == (60.5, "1:00.500")
    assert target["b"]["session_id"] is None
    ideal = await driven.ok("GET", "/session/s/compare?a=2&b=ideal")
    assert ideal["b"]["lap_number"] is None
    assert all(one["delta_s"] >= 0 for one in ideal["mini_sectors"])
    assert set(ideal["time_delta_s"]) == {None}


async def test_a_lap_that_is_not_there_or_elsewhere_is_refused(driven: Bridge) -> None:
    await driven.service.db.append_frames("line", session([(20.0,) * 3] * 2))
    path = "/session/s/compare"

    assert await driven.refused("GET", f"{path}?a=4") == (404, "unknown_lap")
    assert await driven.refused("GET", f"{path}?a=1&b=nobody:1") == (404, "unknown_session")
    assert await driven.refused("GET", f"{path}?a=1&b=s:9") == (404, "unknown_lap")
    answer = await driven.get(f"{path}?a=1&b=line:1")
    assert answer.status == 400
    assert answer.json["error"] == "b: the lap is of another circuit: larkfell, not tarn-oval"
    assert answer.json["param"] == "b"


async def test_without_a_database_every_analytic_says_so(driven: Bridge) -> None:
    store, driven.service.store = driven.service.store, None
    try:
        for name in PLAIN:
            assert await driven.refused("GET", f"/session/s/{name}") == (503, "no_database")
    finally:
        driven.service.store = store
