"""Sessions become a lake of parquet files, out of the database or through a running bridge."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from runtime.bridge.commands import exports, imports
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge, bridging, frame_objects, settings_for
from tools.drive import drive

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"
LAKE_PAGE = ROOT / "docs" / "bridge-lake.md"
TRACK = Library.read(DATA / "tracks").tracks["tarn-oval"]
LAPS = 2


async def fill(bridge: Bridge, *names: str) -> None:
    """Sessions of two laps and a signal besides, each driven by the one it is named after."""
    frames = frame_objects(drive(TRACK, LAPS).frames)
    for name in names:
        about = {"session_id": name, "driver": name.title(), "car": "Car 3", "track": TRACK.id}
        await bridge.ok("POST", "/session/start", about)
        await bridge.ok("POST", f"/session/{name}/frames", {"frames": frames})
        signal = [["oil_temp_c", float(t), 90.0 + t] for t in range(30)]
        await bridge.ok("POST", f"/session/{name}/signals", {"signals": signal})
        await bridge.ok("POST", f"/session/{name}/end")


def export(folder: Path, backend: str, *arguments: str) -> int:
    flags = ["--lake", str(folder / "lake"), "--db", str(folder / "db"), "--db-backend", backend]
    return exports.main([*arguments, *flags])


def query(folder: Path, table: str, sql: str) -> list[tuple[object, ...]]:
    """What DuckDB finds in all files of a table; *sql* names it ``lake``."""
    files = f"{folder}/lake/*/*/*/{table}.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE VIEW lake AS FROM read_parquet('{files}', hive_partitioning = true)"
        )
        return connection.execute(sql).fetchall()


@pytest.fixture
async def folder(tmp_path: Path, backend: str) -> Path:
    """Where a database with two sessions lies."""
    async with bridging(settings_for(tmp_path, db_backend=backend)) as bridge:
        await fill(bridge, "ada", "ben")
    return tmp_path


async def test_many_sessions_are_read_as_one_table(folder: Path, backend: str) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0

    sessions = query(folder, "session", "SELECT session_id, driver, car, laps FROM lake ORDER BY 1")
    assert sessions == [("ada", "Ada", "Car 3", LAPS), ("ben", "Ben", "Car 3", LAPS)]
    laps = query(
        folder,
        "laps",
        "SELECT session, count(*), min(lap_time_s) = min(sector_1_s + sector_2_s + sector_3_s),"
        " sum(best::int) FROM lake WHERE kind = 'lap' GROUP BY ALL ORDER BY ALL",
    )
    assert [row[:2] for row in laps] == [("ada", LAPS), ("ben", LAPS)]
    assert [row[3] for row in laps] == [1, 1]
    by_lap = query(
        folder,
        "telemetry",
        "SELECT lap, min(lap_distance_m), max(lap_distance_m) FROM lake"
        " WHERE session = 'ada' AND lap IS NOT NULL GROUP BY lap ORDER BY lap",
    )
    assert [row[0] for row in by_lap] == list(range(1, LAPS + 1))
    for _, least, most in by_lap:
        assert least == pytest.approx(0, abs=5)
        assert most == pytest.approx(TRACK.length_m, rel=0.01)
    assert query(folder, "signals", "SELECT DISTINCT signal_name, units FROM lake") == [
        ("oil_temp_c", "C")
    ]


async def test_the_questions_of_the_documentation_are_answered(folder: Path, backend: str) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0

    views, places = re.findall(r"```sql\n(.*?)```", LAKE_PAGE.read_text("utf-8"), re.DOTALL)
    with duckdb.connect() as connection:
        best = connection.execute(views.replace("'season/", f"'{folder}/lake/")).fetchall()
        at_150 = connection.execute(places.replace("'season/", f"'{folder}/lake/")).fetchall()
    assert [row[:2] for row in best] == [(TRACK.name, "Ada"), (TRACK.name, "Ben")]
    assert [row[:2] for row in at_150] == [(name, n) for name in ("ada", "ben") for n in (1, 2)]


async def test_frames_are_as_they_were_recorded(folder: Path, backend: str) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0

    (path,) = (folder / "lake").rglob("session=ada/telemetry.parquet")
    table = pq.read_table(path, partitioning=None)
    frames = drive(TRACK, LAPS).frames
    for name in ("timestamp", "speed_ms", "lat"):
        np.testing.assert_array_equal(table[name].to_numpy(), frames.columns[name])


async def test_only_what_has_changed_is_written_again(
    folder: Path, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    async with bridging(settings_for(folder, db_backend=backend)) as bridge:
        await bridge.ok("PATCH", "/session/ben", {"car": "../Car 4"})
    capsys.readouterr()

    assert await asyncio.to_thread(export, folder, backend, "--all") == 0

    assert sorted(capsys.readouterr().out.splitlines()) == [
        "ada: unchanged",
        f"ben: {folder_of(folder, 'ben')}",
    ]
    assert query(folder, "session", "SELECT session_id, car FROM lake ORDER BY 1") == [
        ("ada", "Car 3"),
        ("ben", "../Car 4"),
    ]


async def test_a_damaged_file_is_written_anew_and_a_long_name_keeps_nobody_back(
    folder: Path, backend: str
) -> None:
    async with bridging(settings_for(folder, db_backend=backend)) as bridge:
        await bridge.ok("PATCH", "/session/ben", {"car": "赛车" * 100})
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    whole = contents(folder / "lake")
    assert len(whole) == 8
    (path,) = (folder / "lake").glob("*/car=Car 3/*/session.parquet")
    data = path.read_bytes()
    for damaged in (data[:-40] + bytes(byte ^ 255 for byte in data[-40:-8]) + data[-8:], b"", b"x"):
        path.write_bytes(damaged)
        assert await asyncio.to_thread(export, folder, backend, "--all") == 0
        assert contents(folder / "lake") == whole


def folder_of(folder: Path, session: str) -> str:
    """The only folder of a session, below the lake."""
    (found,) = (folder / "lake").rglob(f"session={session}")
    return found.relative_to(folder / "lake").as_posix()


async def test_a_running_bridge_gives_the_same_files(folder: Path, backend: str) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    before = contents(folder / "lake")
    (folder / "lake").rename(folder / "aside")
    async with bridging(settings_for(folder, db_backend=backend)) as bridge:
        port = bridge.url.rpartition(":")[2]
        code = await asyncio.to_thread(export, folder, backend, "--all", "--port", port)
    assert code == 0
    assert contents(folder / "lake") == before


def contents(root: Path) -> dict[str, bytes]:
    files = [path for path in root.rglob("*") if path.is_file()]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


async def test_a_killed_export_is_finished_by_the_next(folder: Path, backend: str) -> None:
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    whole = contents(folder / "lake")
    for name in ("session.parquet", "laps.parquet"):
        for path in (folder / "lake").rglob(f"session=ben/{name}"):
            path.rename(path.with_name(f"{name}.part"))
    (damaged,) = (folder / "lake").rglob("session=ada/session.parquet")
    damaged.write_bytes(b"PAR1")

    assert await asyncio.to_thread(export, folder, backend, "--all") == 0

    assert contents(folder / "lake") == whole


@pytest.mark.parametrize(
    "arguments",
    [[], ["--all"], ["--lake", "x"], ["--all", "a", "--lake", "x"], ["--all", "--lake", ""]],
)
def test_wrong_use_exits_with_2(
    arguments: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        exports.main(arguments)
    assert leaving.value.code == 2
    assert capsys.readouterr().err


async def test_what_cannot_be_exported_is_said(
    folder: Path, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await asyncio.to_thread(export, folder, backend, "ada", "nobody") == 1
    assert "nobody: no such session" in capsys.readouterr().err
    flags = ["--db", str(folder / "db"), "--db-backend", backend]
    assert exports.main(["--all", "--lake", "gopher://x/y", *flags]) == 2
    assert capsys.readouterr().err.startswith("export: ")
    (folder / "file").write_text("")
    assert (
        await asyncio.to_thread(exports.main, ["--all", "--lake", str(folder / "file"), *flags])
        == 2
    )
    assert capsys.readouterr().err.startswith("export: ")


def told_of(session: dict[str, object]) -> list[object]:
    names = ("session_id", "driver", "car", "track_id", "note", "started_at", "best_lap_s")
    return [session[name] for name in names]


@pytest.mark.parametrize("running", [False, True])
async def test_the_sessions_of_a_lake_come_back_as_they_were(
    folder: Path, backend: str, running: bool, tmp_path: Path
) -> None:
    before = settings_for(tmp_path, db_backend=backend)
    async with bridging(before) as bridge:
        await bridge.ok("PATCH", "/session/ada", {"note": "wet until lap 2"})
        listed = (await bridge.ok("GET", "/sessions"))["sessions"]
        signals = await bridge.ok("GET", "/session/ada/signals?names=oil_temp_c")
        laps = await bridge.ok("GET", "/session/ada/laps")
    assert await asyncio.to_thread(export, folder, backend, "--all") == 0
    flags = [str(folder / "lake"), "--db", str(tmp_path / "new"), "--db-backend", backend]
    if not running:
        assert await asyncio.to_thread(imports.main, flags) == 0
    async with bridging(settings_for(tmp_path, db=tmp_path / "new", db_backend=backend)) as bridge:
        if running:
            flags += ["--port", bridge.url.rpartition(":")[2]]
            assert await asyncio.to_thread(imports.main, flags) == 0
        back = (await bridge.ok("GET", "/sessions"))["sessions"]
        assert sorted(map(told_of, back)) == sorted(map(told_of, listed))
        assert await bridge.ok("GET", "/session/ada/signals?names=oil_temp_c") == signals
        assert await bridge.ok("GET", "/session/ada/laps") == laps
