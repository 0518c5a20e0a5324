"""Sessions over HTTP: begin, go on, end, list, import, laps, export; on both databases."""

import io
from collections import deque
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge
from tests.bridge.conftest import Start
from tests.bridge.formats.vbo.vbokit import write_vbo
from tools.drive import drive

DATA = Path(__file__).resolve().parents[3] / "data"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.read(DATA / "tracks")


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


async def test_a_session_is_begun_listed_and_ended_once(bridge: Bridge) -> None:
    begun = await bridge.ok("POST", "/session/start", {"driver": "Mia", "note": "first run"})
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


async def test_two_sessions_of_one_second_are_two(bridge: Bridge) -> None:
    names = [(await bridge.ok("POST", "/session/start"))["session_id"] for _ in range(3)]
    assert len(set(names)) == 3


async def test_a_session_that_is_started_again_goes_on(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "day-1", "driver": "Mia"})
    await bridge.ok("POST", "/session/day-1/end")
    again = await bridge.ok(
        "POST", "/session/start", {"session_id": "day-1", "driver": "Tom", "car": "hatch"}
    )
    assert again["resumed"] is True
    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert (row["driver"], row["car"], row["ended_at"]) == ("Mia", "hatch", None)


@pytest.mark.parametrize("name", ["", "start", "reset", "-a", "a b", "a/b", "x" * 129, "ü"])
async def test_an_id_that_cannot_be_one_is_refused(bridge: Bridge, name: str) -> None:
    refused = await bridge.refused("POST", "/session/start", {"session_id": name})
    assert refused == (400, "bad_field")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/session/nothing", (404, "unknown_session")),
        ("/session/nothing/laps", (404, "unknown_session")),
        ("/session/nothing/export.parquet", (404, "no_rows")),
        ("/session/nothing/export.parquet?table=nothing", (400, "bad_table")),
        ("/sessions?limit=x", (400, "bad_query")),
        ("/sessions?limit=0", (400, "bad_query")),
        ("/sessions?active_only=perhaps", (400, "bad_query")),
        ("/laps?limit=x", (400, "bad_query")),
        ("/nothing", (404, "not_found")),
    ],
)
async def test_what_is_not_there_or_wrong_says_so(
    bridge: Bridge, path: str, wanted: tuple[int, str]
) -> None:
    assert await bridge.refused("GET", path) == wanted


async def test_bodies_that_are_no_objects_are_refused(bridge: Bridge) -> None:
    for body in (b"{", b"[]", b"7", b"\xff"):
        answer = await bridge.request("POST", "/session/start", data=body)
        assert (answer.status, answer.json["code"]) == (400, "bad_json")
    assert (await bridge.request("POST", "/session/start", data=b"")).status == 200


async def test_limits_are_pulled_to_their_caps(bridge: Bridge) -> None:
    for path in ("/sessions?limit=100000", "/laps?limit=100000"):
        assert (await bridge.get(path)).status == 200


async def test_a_vbo_file_becomes_a_session_with_laps(
    bridge: Bridge, library: Library, tmp_path: Path
) -> None:
    truth = write_vbo(tmp_path / "day.vbo")
    body = {"vbo_path": str(tmp_path / "day.vbo"), "driver": "Mia", "session_id": "imported"}

    done = await bridge.ok("POST", "/session/import", body)

    assert done["session_id"] == "imported"
    assert done["vbo_source"] == "day.vbo"
    assert done["n_laps"] == len(truth.lap_times)
    assert done["best_lap_s"] == pytest.approx(min(truth.lap_times), abs=0.05)
    assert await bridge.refused("POST", "/session/import", body) == (409, "session_exists")
    envelope = await bridge.ok("GET", "/session/imported/laps")
    assert envelope["laps"][0]["name"] == "Full session"
    assert envelope["laps"][0]["method"] == "all"
    laps = envelope["laps"][1:]
    assert [lap["lap_number"] for lap in laps] == list(range(1, len(truth.lap_times) + 1))
    assert {lap["method"] for lap in laps} == {"gps"}
    for lap, time_s in zip(laps, truth.lap_times, strict=True):
        assert lap["duration_s"] == pytest.approx(time_s, abs=0.05)
    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert row["lap_count"] == len(truth.lap_times)
    detail = await bridge.ok("GET", "/session/imported")
    assert len(detail["laps"]) == len(truth.lap_times)
    assert detail["n_frames"] == done["n_frames"]


@pytest.mark.parametrize(
    "path", ["", "relative.vbo", "/nowhere/x.vbo", "/dev/null", "/etc/hostname", "/tmp"]
)
async def test_a_file_that_cannot_be_imported_is_one_message(bridge: Bridge, path: str) -> None:
    answer = await bridge.post("/session/import", {"vbo_path": path})
    assert (answer.status, answer.json["code"]) == (400, "not_importable")
    assert "/nowhere" not in answer.json["error"]
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


@pytest.mark.parametrize("text", ["hello\n", ""])
async def test_a_file_that_is_no_vbo_is_422_and_leaves_nothing(
    bridge: Bridge, tmp_path: Path, text: str
) -> None:
    (tmp_path / "bad.vbo").write_text(text, encoding="utf-8")
    refused = await bridge.refused(
        "POST", "/session/import", {"vbo_path": str(tmp_path / "bad.vbo")}
    )
    assert refused == (422, "unparsable_vbo")
    assert (await bridge.ok("GET", "/sessions"))["count"] == 0


async def test_an_import_without_a_path_names_the_field(bridge: Bridge) -> None:
    answer = await bridge.post("/session/import", {})
    assert (answer.status, answer.json["code"], answer.json["param"]) == (
        400,
        "bad_field",
        "vbo_path",
    )


async def test_imports_stay_below_their_roots(start: Start, tmp_path: Path) -> None:
    inside = tmp_path / "logs"
    inside.mkdir()
    write_vbo(inside / "in.vbo")
    write_vbo(tmp_path / "out.vbo")
    async with start(import_roots=[inside]) as bridge:
        refused = {"vbo_path": str(tmp_path / "out.vbo")}
        assert (await bridge.refused("POST", "/session/import", refused))[0] == 400
        await bridge.ok("POST", "/session/import", {"vbo_path": str(inside / "in.vbo")})


async def test_reported_laps_are_kept_replaced_and_listed(bridge: Bridge) -> None:
    await bridge.ok("POST", "/session/start", {"session_id": "s"})
    for number, time_s in [(1, 92.5), (2, 91.25), (2, 90.75)]:
        saved = await bridge.ok(
            "POST", "/lap", {"session_id": "s", "lap_number": number, "lap_time_s": time_s}
        )
        assert saved["saved"] is True
    listed = await bridge.ok("GET", "/laps?session_id=s")
    assert sorted(lap["lap_time_s"] for lap in listed["laps"]) == [90.75, 92.5]
    (row,) = (await bridge.ok("GET", "/sessions"))["sessions"]
    assert (row["lap_count"], row["best_lap_s"]) == (2, 90.75)
    for wrong in (
        {"lap_number": 1, "lap_time_s": 90},
        {"session_id": "s", "lap_number": 1, "lap_time_s": 0},
        {"session_id": "s", "lap_number": 1, "lap_time_s": "fast"},
        {"session_id": "s", "lap_number": 1e30, "lap_time_s": 61},
        {"session_id": "s", "lap_number": 2**63, "lap_time_s": 61},
    ):
        assert await bridge.refused("POST", "/lap", wrong) == (400, "bad_field")


async def test_an_export_holds_what_was_imported(bridge: Bridge, tmp_path: Path) -> None:
    write_vbo(tmp_path / "day.vbo")
    await bridge.ok(
        "POST", "/session/import", {"vbo_path": str(tmp_path / "day.vbo"), "session_id": "s"}
    )
    frames = await bridge.service.db.read_frames("s")
    answer = await bridge.get("/session/s/export.parquet")
    assert answer.status == 200
    assert answer.headers["X-Bridge-Rows"] == str(len(frames))
    assert answer.headers["X-Bridge-Table"] == "telemetry"
    table = pq.read_table(io.BytesIO(answer.body))
    assert table.column_names[:3] == ["session_id", "frame_idx", "timestamp"]
    for name, column in frames.columns.items():
        exported = table[name].to_numpy(zero_copy_only=False)
        assert np.array_equal(np.asarray(exported, np.float64), column, equal_nan=True)
    head = await bridge.request("HEAD", "/session/s/export.parquet")
    assert (head.status, head.headers["X-Bridge-Rows"]) == (200, str(len(frames)))
    for name in ("telemetry_signals", "signal_registry", "capabilities"):
        other = await bridge.get(f"/session/s/export.parquet?table={name}")
        assert pq.read_table(io.BytesIO(other.body)).num_rows == int(other.headers["X-Bridge-Rows"])


async def test_laps_on_a_known_circuit_have_its_length(bridge: Bridge, library: Library) -> None:
    track = library.tracks["larkfell"]
    driven = drive(track, 3)
    await bridge.service.db.append_frames("s", driven.frames)
    envelope = await bridge.ok("GET", "/session/s/laps?include=partial")
    assert envelope["track_length_m"] == pytest.approx(track.length_m, abs=0.1)
    kinds = [lap["kind"] for lap in envelope["laps"]]
    assert kinds == ["all", "out", "lap", "lap", "lap", "in"]
    times = [lap["duration_s"] for lap in envelope["laps"] if lap["kind"] == "lap"]
    assert times == pytest.approx(list(driven.lap_times_s), abs=0.011)
    detail = await bridge.ok("GET", "/session/s")
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


async def test_bursts_are_cleared_and_counted(bridge: Bridge) -> None:
    bridge.service.bursts["s"] = deque([1, 2, 3])
    assert await bridge.ok("POST", "/session/reset") == {"cleared_bursts": 3, "status": "ok"}
    assert await bridge.ok("POST", "/session/reset") == {"cleared_bursts": 0, "status": "ok"}
