"""The routes of corners and moments on both databases: shapes, guards, parameters, files."""

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runtime.bridge.analysis.reference import parse_reference, reference_text
from runtime.bridge.commands.references import main
from runtime.bridge.session.recording import Samples
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge, Json, bridging, settings_for
from tests.bridge.conftest import Start
from tests.bridge.session.sessions import changed, kept
from tests.bridge.track.examples import DATA
from tools.drive import USUAL, drive

TRACK = Library.read(DATA).tracks["tarn-oval"]
DRIVEN = drive(TRACK, 4, hz=10.0, seed=2, skill=0.8, noise=USUAL)
CORNERING = (
    "scorecard",
    "eob",
    "throttle_corner_box",
    "corner_classification",
    "brake_acceleration",
    "corners",
    "reference",
)
EVERY = (*CORNERING, "highlights", "incidents")


async def filled(bridge: Bridge) -> Bridge:
    """The bridge with a session of four laps."""
    await bridge.ok("POST", "/session/start", {"session_id": "s", "track": TRACK.name})
    await bridge.service.db.append_frames("s", DRIVEN.frames)
    t = DRIVEN.frames.columns["timestamp"]
    on = Samples(t, ((t > 60) & (t < 61)).astype(np.float64))
    await bridge.service.db.append_signals("s", {"abs_active": on})
    return bridge


@pytest.fixture
async def driven(start: Start) -> AsyncIterator[Bridge]:
    """Such a bridge; the databases are compared by `test_both_databases_answer_the_same`."""
    async with start(db_backend="lightweight") as running:
        yield await filled(running)


def numbers(found: Json) -> Iterator[float]:
    """Every number of an answer."""
    if isinstance(found, dict | list):
        for value in found.values() if isinstance(found, dict) else found:
            yield from numbers(value)
    elif isinstance(found, float):
        yield found


async def test_both_databases_answer_the_same(start: Start, tmp_path: Path) -> None:
    answers: list[dict[str, bytes]] = []
    for backend in ("analytical", "lightweight"):
        async with start(db_backend=backend, db=tmp_path / backend) as running:
            bridge = await filled(running)
            found = {name: (await bridge.get(f"/session/s/{name}")).body for name in EVERY}
            answers.append(found)
    assert answers[0] == answers[1]


async def test_every_answer_is_whole_and_repeats_itself(driven: Bridge) -> None:
    for name in EVERY:
        first = await driven.get(f"/session/s/{name}")
        assert first.status == 200, first.body
        assert all(math.isfinite(number) for number in numbers(first.json))
        assert b"NaN" not in first.body
        assert (await driven.get(f"/session/s/{name}")).body == first.body
        if name != "reference":
            assert first.json["session_id"] == "s"


async def test_a_session_that_cannot_be_looked_at_is_refused(driven: Bridge) -> None:
    await driven.ok("POST", "/session/start", {"session_id": "empty"})
    begin = np.arange(len(DRIVEN.frames)) < 100
    await driven.service.db.append_frames("short", kept(DRIVEN.frames, begin))
    for name in EVERY:
        assert (await driven.refused("GET", f"/session/nobody/{name}"))[0] == 404
        assert (await driven.refused("GET", f"/session/empty/{name}"))[0] == 404
        assert await driven.refused("GET", f"/session/short/{name}") == (400, "no_complete_lap")
        part = await driven.ok("GET", f"/session/short/{name}?partial=true")
        assert name == "reference" or part["partial"] is True
        assert await driven.refused("GET", f"/session/s/{name}?lap=9") == (404, "unknown_lap")
        assert (await driven.refused("GET", f"/session/s/{name}?lap=x"))[0] == 400


async def test_without_positions_or_track_nobody_knows_the_corners(start: Start) -> None:
    async with start(track="") as bridge:
        bare = changed(DRIVEN.frames, lat=np.nan, lon=np.nan)
        await bridge.service.db.append_frames("s", bare)
        for name in CORNERING:
            answer = await bridge.refused("GET", f"/session/s/{name}?partial=true")
            assert answer == (422, "no_geometry")


async def test_corners_that_were_found_are_said_to_be(start: Start) -> None:
    async with start(track="") as bridge:
        moved = changed(DRIVEN.frames, lon=DRIVEN.frames.columns["lon"] + 5.0)
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
    assert card["n_laps"] == 4
    assert card["basis"] == "session_best"
    assert card["best_lap_s"] == pytest.approx(min(DRIVEN.lap_times_s), abs=0.05)
    assert [one["corner"] for one in card["corners"]] == [
        corner.name for corner in TRACK.in_lap_order()
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


async def test_one_lap_without_a_reference_is_listed_ungraded(driven: Bridge) -> None:
    single = drive(TRACK, 1, hz=10.0).frames
    await driven.service.db.append_frames("one", single)
    found = await driven.ok("GET", "/session/one/scorecard")

    assert found["scorecard"]["session_grade"] is None
    assert {one["ungraded_reason"] for one in found["corners"]} == {"single_pass_no_reference"}
    assert {one["grade"] for one in found["corners"]} == {None}


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
        text = reference_text(parse_reference(json.dumps(quick)))
        (book / f"{TRACK.id}.json").write_text(text, encoding="utf-8")
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


async def test_a_new_write_is_seen_at_once(driven: Bridge) -> None:
    before = await driven.ok("GET", "/session/s/incidents")
    worst = {"timestamp": 9_000.0, "combo_g": 3.1, "speed_ms": 10.0}
    await driven.ok("POST", "/session/s/frames", {"frames": [worst]})

    behind = await driven.ok("GET", "/session/s/incidents")
    assert behind["count"] == before["count"] + 1
    assert behind["incidents"][-1]["combo_g"] == 3.1
    assert behind["incidents"][-1]["lap"] is None


async def test_the_thresholds_of_the_classes(driven: Bridge) -> None:
    found = await driven.ok("GET", "/session/s/corner_classification?low_max=1&med_max=2")

    assert found["thresholds"] == {"low_max_kmh": 1.0, "med_max_kmh": 2.0}
    assert [len(one["corners"]) for one in found["bands"]] == [0, 0, len(TRACK.corners)]
    assert found["bands"][0]["mean_apex_kmh"] is None


async def test_thresholds_that_cannot_be_are_refused(driven: Bridge) -> None:
    wrong = ("low_max=0", "low_max=-5", "low_max=130", "low_max=x", "med_max=80", "med_max=nan")
    for query in (*wrong, "lap=1.5"):
        answer = await driven.refused("GET", f"/session/s/corner_classification?{query}")
        assert answer == (400, "bad_query")


async def test_missing_channels_are_null(driven: Bridge) -> None:
    gone: dict[str, Any] = dict.fromkeys(
        ("brake_bar", "throttle_pct", "steering_deg", "g_lat", "g_long", "combo_g", "rpm"), np.nan
    )
    await driven.service.db.append_frames("bare", changed(DRIVEN.frames, **gone))
    answers = {name: await driven.ok("GET", f"/session/bare/{name}") for name in EVERY}

    assert answers["eob"]["eob"]["average_nothing_time_s"] is None
    assert answers["brake_acceleration"]["brake_zones"] == []
    for one in answers["brake_acceleration"]["corner_exits"]:
        assert one["max_long_accel_g"] is None
        assert one["exit_speed_kmh"] > 0
    for one in answers["throttle_corner_box"]["corners"]:
        assert (one["n_samples"], one["median_pct"]) == (0, None)
        assert one["n_passes"] == 4
    for one in answers["scorecard"]["corners"]:
        assert one["peak_brake_bar"] is None
        assert one["trail_brake_quality"] is None
        assert one["grade"] in "ABCDF"
    assert answers["incidents"]["count"] == 0


async def test_without_a_database_everything_says_so(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with start(db=tmp_path / "file" / "db") as bridge:
        for name in EVERY:
            assert (await bridge.refused("GET", f"/session/s/{name}"))[0] == 503


async def test_the_command_asks_a_running_bridge(tmp_path: Path) -> None:
    out = tmp_path / "lap.json"
    async with bridging(settings_for(tmp_path)) as bridge:
        await filled(bridge)

        async def run(*flags: str) -> int:
            return await asyncio.to_thread(main, ["s", "--url", bridge.url, *flags], {})

        assert await run("--lap", "3", "--out", str(out)) == 0
        assert await run("--lap", "3", "--out", str(out)) == 1  # it is there already
        assert await run("--lap", "9", "--out", str(tmp_path / "none.json")) == 1
        # the database is in use: the bridge of the settings is asked
        port = bridge.url.rsplit(":", 1)[1].rstrip("/")
        flags = ["s", "--db", str(tmp_path / "db"), "--port", port]
        flags += ["--db-backend", "lightweight", "--data-dir", str(tmp_path / "data")]
        assert await asyncio.to_thread(main, flags, {}) == 0
    assert parse_reference(out.read_text(encoding="utf-8")).source_file == "s, lap 3"
    written = tmp_path / "data" / "reference" / f"{TRACK.id}.json"
    assert parse_reference(written.read_text(encoding="utf-8")).track == TRACK.id


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
        return await asyncio.to_thread(main, [session, *where, *flags], {})

    out = str(tmp_path / "lap.json")
    assert await run("s", "--out", out) == 0
    assert "corners, written to" in capsys.readouterr().out
    for session, flags, db, said in (
        ("nobody", [], "db", "no such session"),
        ("stood", [], "db", "no complete lap"),
        ("s", ["--lap", "9"], "db", "no complete lap of that number"),
        ("s", [], "elsewhere", "there is no database"),
        ("s", ["--url", "ftp://x"], "db", "must begin with http"),
        ("s", ["--url", "http://127.0.0.1:9"], "db", "does not answer"),
    ):
        assert await run(session, *flags, "--out", out, db=db) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()
