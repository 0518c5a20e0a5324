"""The routes of analytics: shapes, guards, parameters, files, and what adds up."""

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from runtime.bridge.analysis.reference import format_reference, parse_reference
from runtime.bridge.api.analysis import FrictionAnswer
from runtime.bridge.api.compare import CompareAnswer
from runtime.bridge.api.pictures import MapAnswer, SyncAnswer
from runtime.bridge.commands.references import main
from runtime.bridge.session.recording import Samples, VideoFrame
from runtime.bridge.storage.records import SessionMeta
from runtime.web.wire import Wire
from tests.bridge.analysis.lapkit import OVAL, session
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.conftest import Start
from tests.bridge.session.sessions import change, keep
from tools.drive import USUAL, drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
DRIVEN = drive(OVAL, 3, hz=10.0, seed=1, skill=0.9, noise=USUAL)
LAPS = ("lap_time_table", "lap_time_distribution", "ideal_lap", "sector_times", "sync", "clips")
POOLED = (
    "stats",
    "friction_circle",
    "hustle_map",
    "map",
    "pedal_behavior",
    "straight_line_speed",
    "highlights",
    "incidents",
)
CORNERING = (
    "scorecard",
    "eob",
    "throttle_corner_box",
    "corner_classification",
    "brake_acceleration",
    "corners",
    "reference",
)
EVERY = (*LAPS, *POOLED, *CORNERING, "compare?a=1")
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
    "corner_classification?low_max=0",
    "corner_classification?low_max=130&med_max=100",
    "corner_classification?med_max=80",
    "corner_classification?med_max=nan",
    "corners?lap=1.5",
)


async def filled(bridge: Bridge, name: str = "s") -> Bridge:
    """The bridge with three laps of the oval, filmed from the fifth second on."""
    about = {"session_id": name, "driver": "Mia", "car": "hatch", "track": OVAL.name}
    await bridge.ok("POST", "/session/start", about)
    await bridge.service.db.append_frames(name, DRIVEN.frames)
    since = [i / 10 for i in range(20)] + [5.0 * i for i in range(1, 20)]
    await bridge.service.db.append_video(
        name, [VideoFrame(5.0 + t, None, "in.mp4", t) for t in since]
    )
    t = DRIVEN.frames.columns["timestamp"]
    on = Samples(t, ((t > 60) & (t < 61)).astype(np.float64))
    await bridge.service.db.append_signals(name, {"abs_active": on})
    return bridge


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def driven(shared_bridge: Bridge) -> Bridge:
    """Such a bridge; the databases are compared by `test_both_databases_answer_the_same`."""
    return await filled(shared_bridge)


def numbers(found: Json) -> Iterator[float]:
    """Every number of an answer."""
    if isinstance(found, dict | list):
        for value in found.values() if isinstance(found, dict) else found:
            yield from numbers(value)
    elif isinstance(found, float):
        yield found


async def test_both_databases_answer_the_same(start: Start, tmp_path: Path) -> None:
    answers = []
    for backend in ("lightweight", "analytical"):
        async with start(db_backend=backend, db=tmp_path / backend) as running:
            await filled(running)
            answers.append([(await running.get(f"/session/s/{name}")).body for name in EVERY])
    assert answers[0] == answers[1]


async def test_every_answer_is_whole_names_its_session_and_repeats_itself(driven: Bridge) -> None:
    for name in EVERY:
        first, again = await asyncio.gather(*(driven.get(f"/session/s/{name}") for _ in range(2)))
        assert first.status == 200, (name, first.body)
        assert first.body == again.body
        assert b"NaN" not in first.body
        assert all(math.isfinite(number) for number in numbers(first.json))
        assert name == "reference" or next(iter(first.json.items())) == ("session_id", "s")
        assert "partial" not in first.json


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
    assert set(answer.json) == set(model.model_fields) - {"partial", "missing"}


@pytest.mark.asyncio(loop_scope="function")
async def test_the_guard_stands_before_every_analytic(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "empty"})
    short = keep(DRIVEN.frames, np.arange(len(DRIVEN.frames)) < 100)
    await bridge.service.db.append_frames("short", short, meta=SessionMeta(track="tarn-oval"))
    for name in EVERY:
        assert (await bridge.refused("GET", f"/session/none/{name}"))[0] == 404
        assert await bridge.refused("GET", f"/session/empty/{name}") == (404, "no_rows")
        one_lap = "map?lap=1" if name == "map" else name  # the whole map needs no lap
        refused = await bridge.refused("GET", f"/session/short/{one_lap}")
        assert refused == (400, "no_complete_lap"), name
        if name not in ("reference", "compare?a=1"):
            body = await bridge.ok("GET", f"/session/short/{name}?partial=true")
            assert body["partial"] is True
    stats = await bridge.ok("GET", "/session/short/stats?partial=yes")
    assert (stats["n_frames"], stats["n_laps"]) == (100, 1)


async def test_a_lap_can_be_looked_at_alone(driven: Bridge) -> None:
    whole = await driven.ok("GET", "/session/s/pedal_behavior")
    laps = [await driven.ok("GET", f"/session/s/pedal_behavior?lap={n}") for n in (1, 2, 3)]
    assert 0 < sum(lap["frame_count"] for lap in laps) < whole["frame_count"]
    one = await driven.ok("GET", "/session/s/map?lap=2")
    assert list(one["lap_polylines"]) == ["2"]
    for name in (*POOLED, *CORNERING):
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


async def test_a_wrong_parameter_is_named(driven: Bridge) -> None:
    for path in WRONG:
        answer = await driven.get(f"/session/s/{path}")
        assert (answer.status, answer.json["code"]) == (400, "bad_query"), path
        assert answer.json["param"] in path


async def test_each_telemetry_frame_stands_once_beside_the_video(driven: Bridge) -> None:
    await filled(driven, "filmed")
    found = await driven.ok("GET", "/session/filmed/sync?from=4&to=6")

    rows = found["rows"]
    assert [row["frame_idx"] for row in rows] == list(range(40, 61))
    assert found["count"] == len(rows)
    assert [row["matched"] for row in rows] == [False] * 10 + [True] * 11
    assert rows[0]["file_path"] is None
    assert (rows[10]["file_offset_s"], rows[10]["dt_ms"]) == (0.0, 0.0)
    only = await driven.ok("GET", "/session/filmed/sync?matched_only=true&limit=7")
    assert [row["timestamp"] for row in only["rows"]] == [round(5 + i / 10, 3) for i in range(7)]
    assert only["more"] is True
    late = [VideoFrame(4.02, 20, "b.mp4", None)]
    await driven.service.db.append_video("filmed", late)
    again = await driven.ok("GET", "/session/filmed/sync?from=4&to=4.05")
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


async def test_a_lap_is_compared_with_a_target_the_ideal_and_the_record(
    start: Start,
) -> None:
    quick = drive(OVAL, 2, hz=10.0, seed=2, skill=1.0)
    other = {"session_id": "quick", "driver": "mia", "car": "Hatch", "track": OVAL.id}
    async with start() as bridge:
        await filled(bridge)
        await bridge.ok("POST", "/session/start", other)
        await bridge.service.db.append_frames("quick", quick.frames)
        await bridge.ok("POST", "/session/start", {**other, "session_id": "tom", "driver": "Tom"})
        fast = change(quick.frames, timestamp=quick.frames.columns["timestamp"] * 0.9)
        await bridge.service.db.append_frames("tom", fast)

        record = await bridge.ok("GET", "/session/s/compare?a=best&b=record")
        assert (record["b"]["session_id"], record["b"]["kind"]) == ("quick", "record")
        assert record["b"]["lap_time_s"] == pytest.approx(min(quick.lap_times_s), abs=0.02)
        named = await bridge.ok("GET", "/session/s/compare?a=best&b=quick:best")
        assert named["time_delta_s"] == record["time_delta_s"]
        target = await bridge.ok("GET", "/session/s/compare?a=best&b=1:00.5")
        assert (target["b"]["lap_time_s"], target["b"]["time"]) == (60.5, "1:00.500")
        assert target["b"]["session_id"] is None
        ideal = await bridge.ok("GET", "/session/s/compare?a=2&b=ideal")
        assert ideal["b"]["lap_number"] is None
        assert all(one["delta_s"] >= 0 for one in ideal["mini_sectors"])
        assert set(ideal["time_delta_s"]) == {None}


async def test_a_lap_that_is_not_there_or_elsewhere_is_refused(driven: Bridge) -> None:
    await driven.service.db.append_frames(
        "line", session([(20.0,) * 3] * 2), meta=SessionMeta(track="larkfell")
    )
    path = "/session/s/compare"

    assert await driven.refused("GET", f"{path}?a=4") == (404, "unknown_lap")
    assert await driven.refused("GET", f"{path}?a=1&b=nobody:1") == (404, "unknown_session")
    assert await driven.refused("GET", f"{path}?a=1&b=s:9") == (404, "unknown_lap")
    answer = await driven.get(f"{path}?a=1&b=line:1")
    assert answer.status == 400
    assert answer.json["error"] == "b: the lap is on another circuit: larkfell, not tarn-oval"
    assert answer.json["param"] == "b"


async def test_without_a_database_every_analytic_says_so(driven: Bridge) -> None:
    store, driven.service.store = driven.service.store, None
    try:
        for name in EVERY:
            assert await driven.refused("GET", f"/session/s/{name}") == (503, "no_database")
    finally:
        driven.service.store = store


async def test_without_positions_or_track_nobody_knows_the_corners(start: Start) -> None:
    async with start(track="") as bridge:
        bare = change(DRIVEN.frames, lat=np.nan, lon=np.nan)
        await bridge.service.db.append_frames("s", bare)
        for name in CORNERING:
            answer = await bridge.refused("GET", f"/session/s/{name}?partial=true")
            assert answer == (422, "no_geometry")


async def test_corners_that_were_found_are_said_to_be(start: Start) -> None:
    async with start(track="") as bridge:
        moved = change(DRIVEN.frames, lon=DRIVEN.frames.columns["lon"] + 5.0)
        await bridge.service.db.append_frames("s", moved)
        for name in CORNERING[:-1]:
            assert (await bridge.ok("GET", f"/session/s/{name}"))["geometry"] == "detected"
        found = await bridge.ok("GET", "/session/s/corners")
        names = [one["name"] for one in found["corners"]]
        assert names == [f"C{i + 1}" for i in range(len(names))]
        assert names


async def test_the_scorecard_is_there_twice_and_fits_together(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/scorecard")
    card = found["scorecard"]

    assert found["corners"] == card["corners"]
    assert card["n_laps"] == 3
    assert card["basis"] == "session_best"
    assert card["best_lap_s"] == pytest.approx(min(DRIVEN.lap_times_s), abs=0.05)
    assert [one["corner"] for one in card["corners"]] == [
        corner.name for corner in OVAL.in_lap_order()
    ]
    assert sum(one["weight"] for one in card["corners"]) == pytest.approx(1.0, abs=1e-3)
    mean = sum(one["weight"] * one["score_pct"] for one in card["corners"])
    assert card["weighted_total_pct"] == pytest.approx(mean, abs=1e-3)
    for one in card["corners"]:
        assert one["corner"] == one["name"]
        assert one["delta_s"] == one["delta_time_s"]
        assert one["peak_g_lat"] == one["max_lateral_g"]
        assert one["grade"] in "ABCDF"
        lost = sum(loss["seconds_lost"] for loss in one["time_loss_attribution"])
        assert lost <= max(one["delta_time_s"], 0.0) + 0.003
        assert one["phrase"].startswith(one["corner"])
    second = await driven.ok("GET", "/session/s/scorecard?lap=2")
    assert {one["lap"] for one in second["corners"]} == {2}


async def test_a_reference_file_counts_from_the_moment_it_is_there(
    start: Start, tmp_path: Path
) -> None:
    book = tmp_path / "reference"
    async with start() as bridge:
        bridge.service.references.folder = book
        await filled(bridge)
        before = await bridge.ok("GET", "/session/s/corners")
        assert before["reference_available"] is False
        quick = await bridge.ok("GET", "/session/s/reference?lap=2")
        assert quick["source_file"] == "s, lap 2"

        book.mkdir()
        text = format_reference(parse_reference(json.dumps(quick)))
        (book / f"{OVAL.id}.json").write_text(text, encoding="utf-8")
        behind = await bridge.ok("GET", "/session/s/corners")
        card = (await bridge.ok("GET", "/session/s/scorecard"))["scorecard"]

    assert behind["reference_available"] is True
    assert {one["grade"] for one in behind["corners"]} <= set("ABCDF")
    assert (card["basis"], card["reference_lap_s"]) == (
        "reference_file",
        round(quick["lap_time_s"], 3),
    )


async def test_highlights_and_incidents_fit_together(driven: Bridge) -> None:
    moments = await driven.ok("GET", "/session/s/highlights")
    found = await driven.ok("GET", "/session/s/incidents")

    assert moments["count"] == len(moments["highlights"]) <= 8
    assert [one["id"] for one in moments["highlights"]] == [
        f"h{i}" for i in range(moments["count"])
    ]
    assert found["count"] == len(found["incidents"])
    (worked,) = [one for one in found["incidents"] if one["kind"] == "abs_active"]
    assert (worked["severity"], worked["t_start"]) == ("low", 60.1)
    assert worked["frame_idx"] == 601
    titles = [one["title"] for one in moments["highlights"] if one["category"] == "incident"]
    assert len(titles) == min(found["count"], 2)


@pytest.mark.parametrize("kind", ["lightweight", "analytical"])
async def test_an_answer_is_as_new_as_the_session(start: Start, kind: str) -> None:
    async with start(db_backend=kind) as bridge:
        await filled(bridge)
        before = {name: (await bridge.get(f"/session/s/{name}")).body for name in POOLED}
        kept = len(bridge.service.analytics._results)
        late = [VideoFrame(12.0, None, "late.mp4", 0.0)]
        await bridge.service.db.append_video("s", late)
        assert b"late.mp4" in (await bridge.get("/session/s/sync")).body
        t = DRIVEN.frames.columns["timestamp"][300:320]
        braking = Samples(t, np.ones(len(t)))
        await bridge.service.db.append_signals("s", {"abs_active": braking})
        assert (await bridge.get("/session/s/incidents")).body != before["incidents"]
        worst = {"timestamp": 9_000.0, "combo_g": 3.1, "speed_ms": 10.0}
        await bridge.ok("POST", "/session/s/frames", {"frames": [worst]})
        last = (await bridge.ok("GET", "/session/s/incidents"))["incidents"][-1]
        assert (last["combo_g"], last["lap"]) == (3.1, None)
        for name in POOLED:
            await bridge.ok("GET", f"/session/s/{name}")
        assert len(bridge.service.analytics._results) == kept, "those of earlier states are gone"


async def test_each_question_has_its_own_answer(driven: Bridge) -> None:
    questions = [
        "sync",
        "sync?limit=3",
        "sync?limit=3&matched_only=true",
        "sync?from=20&to=21",
        "sync?window_s=0.01&limit=3",
        "friction_circle?samples=3",
        "friction_circle?samples=3&lap=1",
        "map",
        "map?lap=1",
    ]
    answers = [(await driven.get(f"/session/s/{one}")).body for one in questions * 2]
    assert answers[: len(questions)] == answers[len(questions) :]
    assert len(set(answers)) == len(questions)
    await driven.ok("POST", "/session/start", {"session_id": "t", "track": "oval"})
    await driven.service.db.append_frames("t", DRIVEN.frames)
    assert (await driven.ok("GET", "/session/t/sync?limit=3"))["session_id"] == "t"
    assert (await driven.ok("GET", "/session/t/sync?limit=3"))["rows"][0]["matched"] is False


async def test_the_command_asks_a_running_bridge(tmp_path: Path) -> None:
    out = tmp_path / "lap.json"
    async with bridging(settings_for(tmp_path)) as bridge:
        await filled(bridge)

        async def run(*flags: str) -> int:
            return await asyncio.to_thread(main, ["s", "--url", bridge.url, *flags])

        assert await run("--lap", "3", "--out", str(out)) == 0
        assert await run("--lap", "3", "--out", str(out)) == 1  # it is there already
        assert await run("--lap", "9", "--out", str(tmp_path / "none.json")) == 1
        # the database is in use: the bridge of the settings is asked
        port = bridge.url.rsplit(":", 1)[1].rstrip("/")
        flags = ["s", "--db", str(tmp_path / "db"), "--port", port]
        flags += ["--db-backend", "lightweight", "--data-dir", str(tmp_path / "data")]
        assert await asyncio.to_thread(main, flags) == 0
    assert parse_reference(out.read_text(encoding="utf-8")).source_file == "s, lap 3"
    written = tmp_path / "data" / "reference" / f"{OVAL.id}.json"
    assert parse_reference(written.read_text(encoding="utf-8")).track == OVAL.id


async def test_the_command_reads_a_database_that_is_not_in_use(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with bridging(settings_for(tmp_path)) as bridge:
        await filled(bridge)
        standing = {"timestamp": 1.0, "speed_ms": 0.0}
        await bridge.ok("POST", "/session/stood/frames", {"frames": [standing]})

    async def run(session: str, *flags: str, db: str = "db") -> int:
        where = ["--db", str(tmp_path / db), "--db-backend", "lightweight"]
        return await asyncio.to_thread(main, [session, *where, *flags])

    out = str(tmp_path / "lap.json")
    assert await run("s", "--out", out) == 0
    assert "corners, written to" in capsys.readouterr().out
    for name, flags, db, said in (
        ("nobody", [], "db", "no such session"),
        ("stood", [], "db", "no complete lap"),
        ("s", ["--lap", "9"], "db", "no complete lap with that number"),
        ("s", [], "elsewhere", "there is no database"),
        ("s", ["--url", "ftp://x"], "db", "must begin with http"),
        ("s", ["--url", "http://127.0.0.1:9"], "db", "does not answer"),
    ):
        assert await run(name, *flags, "--out", out, db=db) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
