"""Sessions over HTTP: begin, go on, end, list, laps, export, refusals; on both databases."""

import io
from collections import deque
from datetime import datetime
from itertools import pairwise, product
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.cues.model import LEVELS
from runtime.bridge.session.recording import Frames
from runtime.bridge.track.library import Library
from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import ROOT, Bridge, Json, frame_objects
from tests.bridge.conftest import Start
from tests.bridge.formats.vbo.vbokit import write_vbo
from tests.bridge.live.replaykit import frames_at
from tools.drive import drive

pytestmark = pytest.mark.asyncio(loop_scope="module")
CAR = "tarnhow-pip-180"
TAKEN = ("SIM", "_live", "start", "import", "reset", "replay")
BEGINNING = ("/session/start", "/session/import")


async def begun(bridge: Bridge, body: Json) -> Json:
    """The answer to a start, with the row that lists show then."""
    answer = await bridge.ok("POST", "/session/start", body)
    listed = await bridge.ok("GET", "/sessions")
    (row,) = [one for one in listed["sessions"] if one["session_id"] == answer["session_id"]]
    return {**answer, "row": row}


@pytest.mark.asyncio(loop_scope="function")
async def test_health_of_a_new_bridge(bridge: Bridge, backend: str) -> None:
    health = await bridge.ok("GET", "/health")
    assert health["status"] == "ok"
    assert health["analytics_db"] is True
    assert health["db"]["backend"] == backend
    assert health["track"] == "Larkfell Circuit"
    assert health["active_session_id"] == ""
    can = health["can"]
    assert (can["connected"], can["fps"], can["frames_total"]) == (False, 0.0, 0)
    assert can["channel"] is None
    assert health["timestamp"].endswith("Z")


@pytest.mark.asyncio(loop_scope="function")
async def test_a_session_is_begun_listed_and_ended_once(bridge: Bridge) -> None:
    body = {"driver": "Mia", "note": "first run", "track": "Larkfell Circuit"}
    begun = await bridge.ok("POST", "/session/start", body)
    name = begun["session_id"]
    assert begun["started"] is True
    assert begun["resumed"] is False
    assert name.startswith("larkfell-circuit-2")
    assert (await bridge.ok("GET", "/health"))["active_session_id"] == name

    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert (row["driver"], row["driver_level"], row["note"]) == ("Mia", "intermediate", "first run")
    assert (row["track"], row["ended_at"], row["lap_count"]) == ("Larkfell Circuit", None, 0)

    first = await bridge.ok("POST", f"/session/{name}/end")
    second = await bridge.ok("POST", f"/session/{name}/end")
    assert first == second
    assert first["ended"] is True
    assert (await bridge.ok("GET", "/sessions?active_only=true"))["sessions"] == []
    assert (await bridge.ok("GET", "/health"))["active_session_id"] == ""


@pytest.mark.asyncio(loop_scope="function")
async def test_sessions_are_found_by_the_words_that_they_hold(bridge: Bridge) -> None:
    for body in (
        {"session_id": "a", "driver": "Mia", "note": "New brake pads, wet", "track": "larkfell"},
        {"session_id": "b", "driver": "Ömer", "car": "Vesper", "note": "brake balance to the rear"},
        {"session_id": "c"},
    ):
        await bridge.ok("POST", "/session/start", body)
    for words, found in {
        "BRAKE": {"a", "b"},
        "pads larkfell": {"a"},
        "brake ömer": {"b"},
        "pads omer": set(),
        "  ": {"a", "b", "c"},
        "%": set(),
    }.items():
        query = urlencode({"q": words})
        listed = (await bridge.ok("GET", f"/sessions?{query}"))["sessions"]
        assert {row["session_id"] for row in listed} == found, words


async def test_names_have_no_blanks_around_them(each_bridge: Bridge, sid: str) -> None:
    body = {"session_id": sid, "driver": " Ana ", "car": "  "}
    await each_bridge.ok("POST", "/session/start", body)
    row = (await each_bridge.ok("GET", f"/session/{sid}"))["session"]
    assert (row["driver"], row["car"]) == ("Ana", "")
    changed = await each_bridge.request("PATCH", f"/session/{sid}", json={"driver": "Ben\t"})
    assert changed.json["session"]["driver"] == "Ben"


async def test_a_session_that_is_started_again_goes_on(each_bridge: Bridge, sid: str) -> None:
    await each_bridge.ok("POST", "/session/start", {"session_id": sid, "driver": "Mia"})
    await each_bridge.ok("POST", f"/session/{sid}/end")
    again = await each_bridge.ok(
        "POST", "/session/start", {"session_id": sid, "driver": "Tom", "car": "hatch"}
    )
    assert again["resumed"] is True
    row = (await each_bridge.ok("GET", f"/session/{sid}"))["session"]
    assert (row["driver"], row["car"], row["ended_at"]) == ("Mia", "hatch", None)


async def test_an_id_that_cannot_be_one_or_means_something_else_is_refused(
    each_bridge: Bridge,
) -> None:
    before = (await each_bridge.ok("GET", "/sessions"))["count"]
    for name in ("", "-a", "a b", "a/b", "x" * 129, "ü"):
        refused = await each_bridge.refused("POST", "/session/start", {"session_id": name})
        assert refused == (400, "bad_field"), name
        answer = await each_bridge.post(f"/session/{name}/frames", {"frames": [{"timestamp": 0}]})
        assert answer.status in (404, 405), name
    for path, name in product(BEGINNING, TAKEN):
        answer = await each_bridge.post(path, {"session_id": name, "vbo_path": "/day.vbo"})
        told = answer.json
        assert (answer.status, told["code"], told["param"]) == (400, "bad_field", "session_id")
        assert name in told["error"]
    posted = {
        "/session/SIM/frame": {"timestamp": 1.0, "speed_ms": 20.0},
        "/session/SIM/frames": {"frames": [{"timestamp": 1.0}]},
        "/session/SIM/signals": {"signals": [["oil", 1.0, 90.0]]},
        "/lap": {"session_id": "SIM", "lap_number": 1, "lap_time_s": 61.0},
    }
    for path, body in posted.items():
        answer = await each_bridge.post(path, body)
        assert answer.status in (400, 404)
        assert "SIM" in answer.json["error"]
    assert (await each_bridge.ok("GET", "/sessions"))["count"] == before


async def test_a_level_is_kept_in_one_spelling(each_bridge: Bridge) -> None:
    for given, kept in (
        ("beginner", "beginner"),
        (" Pro ", "pro"),
        ("advanced", "pro"),
        ("", "intermediate"),
        (None, "intermediate"),
    ):
        done = await begun(each_bridge, {"driver_level": given})
        assert done["row"]["driver_level"] == kept, given


async def test_a_level_that_is_none_is_refused_with_those_that_are(each_bridge: Bridge) -> None:
    before = (await each_bridge.ok("GET", "/sessions"))["count"]
    for path in BEGINNING:
        answer = await each_bridge.post(path, {"driver_level": "wizard", "vbo_path": "/day.vbo"})
        told = answer.json
        assert (answer.status, told["code"], told["param"]) == (400, "bad_field", "driver_level")
        assert all(level in told["error"] for level in LEVELS)
    assert (await each_bridge.ok("GET", "/sessions"))["count"] == before


async def test_a_start_says_which_circuit_it_is(each_bridge: Bridge) -> None:
    named: list[tuple[Json, str, str | None]] = [
        ({}, "", None),
        ({"track": "larkfell"}, "larkfell", "larkfell"),
        ({"track": "LARKFELL circuit"}, "LARKFELL circuit", "larkfell"),
        ({"track": "Nürnberg"}, "Nürnberg", None),
    ]
    for given, kept, circuit in named:
        done = await begun(each_bridge, given)
        assert (done["track"], done["row"]["track"], done["track_id"]) == (kept, kept, circuit)
        assert (done["hint"] is None) == (circuit is not None or not given)
        assert done["hint"] is None or kept in done["hint"]


async def test_a_session_without_a_car_has_the_loaded_one(start: Start) -> None:
    async with start(can_car_config=CAR) as bridge:
        for name, body in {"own": {"car": "hatch"}, "plain": {}, "none": {"car": ""}}.items():
            await bridge.ok("POST", "/session/start", {"session_id": name, **body})
        await bridge.ok("POST", "/session/start", {"session_id": "own"})
        rows = (await bridge.ok("GET", "/sessions"))["sessions"]
    cars = {row["session_id"]: row["car"] for row in rows}
    assert cars == {"own": "hatch", "plain": CAR, "none": CAR}


async def test_a_session_of_any_circuit_can_be_recorded_into(each_bridge: Bridge) -> None:
    for name in ("\u5bcc\u58eb\u30b9\u30d4\u30fc\u30c9\u30a6\u30a7\u30a4", "\u2116 1", "x" * 256):
        sid = (await each_bridge.ok("POST", "/session/start", {"track": name}))["session_id"]
        await each_bridge.ok("POST", f"/session/{sid}/frame", {"timestamp": 1, "speed_ms": 20})
        assert (await each_bridge.ok("GET", f"/session/{sid}"))["session"]["track"] == name
        exported = await each_bridge.get(f"/session/{sid}/export.parquet")
        assert (exported.status, exported.headers["X-Bridge-Session"]) == (200, sid)
        assert (await each_bridge.ok("GET", "/sessions", None))["sessions"][0]["session_id"] == sid


REFUSED = (
    ("/session/nothing", 404, "unknown_session"),
    ("/session/nothing/laps", 404, "unknown_session"),
    ("/session/nothing/export.parquet", 404, "no_rows"),
    ("/session/nothing/export.parquet?table=nothing", 400, "bad_table"),
    ("/sessions?active_only=perhaps", 400, "bad_query"),
    ("/laps?limit=x", 400, "bad_query"),
    ("/nothing", 404, "not_found"),
)


async def test_what_is_not_there_or_wrong_says_so(each_bridge: Bridge) -> None:
    for path, status, code in REFUSED:
        assert await each_bridge.refused("GET", path) == (status, code), path
    assert (await each_bridge.request("OPTIONS", "/nothing")).status == 404
    for body in (b"{", b"[]", b"7", b"\xff"):
        answer = await each_bridge.request("POST", "/session/start", data=body)
        assert (answer.status, answer.json["code"]) == (400, "bad_json")
    assert (await each_bridge.request("POST", "/session/start", data=b"")).status == 200


async def test_a_limit_beyond_all_numbers_is_the_highest_one(each_bridge: Bridge) -> None:
    for path in ("/sessions", "/laps", "/leaderboard"):
        for limit in ("100000", "9" * 20, "0" * 30 + "1", "9" * 5000):
            assert (await each_bridge.get(f"{path}?limit={limit}")).status == 200
        for limit in ("-" + "9" * 20, "0", "x"):
            assert (await each_bridge.get(f"{path}?limit={limit}")).status == 400


@pytest.mark.asyncio(loop_scope="function")
async def test_reported_laps_are_kept_replaced_listed_and_bounded(bridge: Bridge) -> None:
    for number, time_s in [(1, 92.5), (2, 91.25), (2, 90.75), (3, 1e-7), (4, 86_400)]:
        body = {"session_id": "s", "lap_number": number, "lap_time_s": time_s}
        assert (await bridge.ok("POST", "/lap", body))["saved"] is True
    listed = await bridge.ok("GET", "/laps?session_id=s")
    assert sorted(lap["lap_time_s"] for lap in listed["laps"]) == [1e-7, 90.75, 92.5, 86_400]
    detail = await bridge.ok("GET", "/session/s")
    assert [lap["lap_number"] for lap in detail["laps"]] == [1, 2, 3, 4]
    assert bridge.service.active_session() == ""
    best = (await bridge.ok("GET", "/leaderboard"))["entries"][0]
    assert (best["session_id"], best["time"]) == ("s", "1:30.750")
    wrong: list[Json] = [
        {"lap_number": 1, "lap_time_s": 90},
        {"session_id": "s", "lap_number": 1, "lap_time_s": "fast"},
        {"session_id": "s", "lap_number": 1e30, "lap_time_s": 61},
        {"session_id": "s", "lap_number": 2**63, "lap_time_s": 61},
        *(
            {"session_id": "s", "lap_number": 1, "lap_time_s": time_s}
            for time_s in (0, -1, 86_400.1, 1e300, 10**18)
        ),
    ]
    for body in wrong:
        assert await bridge.refused("POST", "/lap", body) == (400, "bad_field"), body


async def test_reported_laps_stand_beside_those_of_the_telemetry(
    each_bridge: Bridge, sid: str
) -> None:
    async def laps() -> dict[int, float]:
        detail = await each_bridge.ok("GET", f"/session/{sid}")
        (row,) = (
            one
            for one in (await each_bridge.ok("GET", "/sessions?limit=500"))["sessions"]
            if one["session_id"] == sid
        )
        board = (await each_bridge.ok("GET", "/leaderboard"))["entries"]
        times = {lap["lap_number"]: lap["lap_time_s"] for lap in detail["laps"]}
        for one in (detail, detail["session"], row):
            assert (one["lap_count"], one["best_lap_s"]) == (len(times), min(times.values()))
        assert [one["lap_time_s"] for one in board if one["session_id"] == sid] == [
            min(times.values())
        ]
        return times

    await each_bridge.ok("POST", "/session/start", {"session_id": sid, "driver": sid})
    for number, time_s in ((1, 70.0), (2, 68.0)):
        body = {"session_id": sid, "lap_number": number, "lap_time_s": time_s}
        await each_bridge.ok("POST", "/lap", body)
    found = await laps()
    assert found == {1: 70.0, 2: 68.0}
    driven = drive(OVAL, 4)
    for begin, end in ((0, 1), (1, None)):
        some = Frames({name: column[begin:end] for name, column in driven.frames.columns.items()})
        await each_bridge.service.db.append_frames(sid, some)
        found = await laps()
        assert (found[1], found[2]) == (70.0, 68.0)
    assert list(found) == [1, 2, 3, 4]
    assert found[3] == pytest.approx(driven.lap_times_s[2], abs=0.05)


async def test_frames_that_carry_utc_date_their_session_and_its_laps(
    each_bridge: Bridge, sid: str
) -> None:
    begun = 1_790_000_000
    columns = dict(drive(OVAL, 3).frames.columns)
    columns["timestamp"] = columns["timestamp"] + begun
    frames = frame_objects(Frames(columns))
    for some in (frames[:1000], frames[1000:]):
        await each_bridge.ok("POST", f"/session/{sid}/frames", {"frames": some})
    detail = await each_bridge.ok("GET", f"/session/{sid}")
    assert detail["session"]["started_at"] == "2026-09-21T14:13:20.000Z"
    moments = [datetime.fromisoformat(lap["recorded_at"]) for lap in detail["laps"]]
    times = [lap["lap_time_s"] for lap in detail["laps"]]
    assert [(b - a).total_seconds() for a, b in pairwise(moments)] == pytest.approx(times[1:])
    assert 0 < moments[0].timestamp() - begun < columns["timestamp"][-1] - begun


async def test_laps_that_came_all_at_once_are_dated_the_same_each_time(
    each_bridge: Bridge, sid: str
) -> None:
    await each_bridge.service.db.append_frames(sid, drive(OVAL, 3).frames)
    await each_bridge.ok("POST", f"/session/{sid}/end")
    detail = await each_bridge.ok("GET", f"/session/{sid}")
    moments = {lap["recorded_at"] for lap in detail["laps"]}
    assert moments == {detail["session"]["ended_at"]}


async def test_what_has_no_data_has_nothing_to_count(each_bridge: Bridge, sid: str) -> None:
    path = f"/session/{sid}/capabilities/recompute"
    assert await each_bridge.refused("POST", path) == (404, "unknown_session")
    await each_bridge.ok("POST", "/session/start", {"session_id": sid})
    assert await each_bridge.refused("POST", path) == (404, "no_rows")


async def test_partial_is_advised_only_where_it_helps(each_bridge: Bridge, sid: str) -> None:
    await each_bridge.service.db.append_frames(sid, frames_at([5.0]))
    cases = {
        f"/session/{sid}/stats": True,
        f"/session/{sid}/stats?partial=1": False,
        f"/session/{sid}/compare?a=1": False,
        f"/compare?laps={sid}:1,{sid}:2": False,
    }
    for path, advised in cases.items():
        answer = await each_bridge.get(path)
        assert (answer.status, answer.json["code"]) == (400, "no_complete_lap")
        assert ("partial=true" in answer.json["error"]) is advised


async def test_an_export_holds_what_was_imported(
    each_bridge: Bridge, sid: str, tmp_path: Path
) -> None:
    write_vbo(tmp_path / "day.vbo")
    await each_bridge.ok(
        "POST", "/session/import", {"vbo_path": str(tmp_path / "day.vbo"), "session_id": sid}
    )
    frames = await each_bridge.service.db.read_frames(sid)
    answer = await each_bridge.get(f"/session/{sid}/export.parquet")
    assert answer.status == 200
    assert answer.headers["X-Bridge-Rows"] == str(len(frames))
    assert answer.headers["X-Bridge-Table"] == "telemetry"
    table = pq.read_table(io.BytesIO(answer.body))
    assert table.column_names[:3] == ["session_id", "frame_idx", "timestamp"]
    for name, column in frames.columns.items():
        exported = table[name].to_numpy(zero_copy_only=False)
        assert np.array_equal(np.asarray(exported, np.float64), column, equal_nan=True)
    head = await each_bridge.request("HEAD", f"/session/{sid}/export.parquet")
    assert (head.status, head.headers["X-Bridge-Rows"]) == (200, str(len(frames)))
    for name in ("telemetry_signals", "signal_registry", "capabilities"):
        other = await each_bridge.get(f"/session/{sid}/export.parquet?table={name}")
        assert pq.read_table(io.BytesIO(other.body)).num_rows == int(other.headers["X-Bridge-Rows"])


async def test_laps_on_a_known_circuit_have_its_length(each_bridge: Bridge, sid: str) -> None:
    track = Library.read(ROOT / "data" / "tracks").tracks["larkfell"]
    driven = drive(track, 3)
    await each_bridge.service.db.append_frames(sid, driven.frames)
    envelope = await each_bridge.ok("GET", f"/session/{sid}/laps?include=partial")
    assert envelope["track_length_m"] == pytest.approx(track.length_m, abs=0.1)
    kinds = [lap["kind"] for lap in envelope["laps"]]
    assert kinds == ["all", "out", "lap", "lap", "lap", "in"]
    times = [lap["duration_s"] for lap in envelope["laps"] if lap["kind"] == "lap"]
    assert times == pytest.approx(list(driven.lap_times_s), abs=0.011)
    detail = await each_bridge.ok("GET", f"/session/{sid}")
    assert all(lap["best_sector"] for lap in detail["laps"])
    assert detail["best_lap_s"] == pytest.approx(min(driven.lap_times_s), abs=0.011)


async def test_sessions_outlive_the_bridge(start: Start, backend: str, tmp_path: Path) -> None:
    write_vbo(tmp_path / "day.vbo")
    body = {"vbo_path": str(tmp_path / "day.vbo"), "session_id": "s"}
    async with start(db_backend=backend) as bridge:
        await bridge.ok("POST", "/session/import", body)
        before = [await bridge.ok("GET", path) for path in ("/sessions", "/session/s/laps")]
        parquet = (await bridge.get("/session/s/export.parquet")).body
    async with start(db_backend=backend) as bridge:
        after = [await bridge.ok("GET", path) for path in ("/sessions", "/session/s/laps")]
        assert after == before
        assert (await bridge.get("/session/s/export.parquet")).body == parquet


async def test_bursts_are_cleared_and_counted(each_bridge: Bridge) -> None:
    each_bridge.service.bursts["s"] = deque([1, 2, 3])
    assert await each_bridge.ok("POST", "/session/reset") == {"cleared_bursts": 3, "status": "ok"}
    assert await each_bridge.ok("POST", "/session/reset") == {"cleared_bursts": 0, "status": "ok"}
