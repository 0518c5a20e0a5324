"""A lake becomes a season: the same from one process, from many, and from one that was killed."""

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from pydantic import TypeAdapter

from runtime.bridge.commands import exports, seasons
from runtime.bridge.storage.lake.season import SessionDigest, digest_session, summarise_season
from runtime.bridge.track.library import Library
from tests.bridge.bridgekit import Bridge, bridging, frame_objects, settings_for
from tools.drive import drive
from tools.lake import DRIVERS, fill_lake

ROOT = Path(__file__).resolve().parents[3]
TRACK = Library.read(ROOT / "data" / "tracks").tracks["tarn-oval"]
SESSIONS = 6
Json = Any


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake; nobody changes it."""
    folder = tmp_path_factory.mktemp("lake")
    fill_lake(str(folder), TRACK, SESSIONS)
    return folder


@pytest.fixture
def lake(whole: Path, tmp_path: Path) -> Path:
    """A lake of the test's own."""
    return shutil.copytree(whole, tmp_path / "lake")


@pytest.fixture(scope="module")
def seen(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lake with its season; nobody changes it."""
    folder = shutil.copytree(whole, tmp_path_factory.mktemp("seen") / "lake")
    assert run(folder) == 0
    return folder


def run(lake: Path, *arguments: str) -> int:
    return seasons.main(["--lake", str(lake), *arguments])


def result(folder: Path) -> Json:
    return json.loads((folder / "season.json").read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_season_tells_best_laps_development_and_repeated_losses(seen: Path) -> None:
    season = result(seen / "digest")["season"]
    assert {entry["lap"]["driver"] for entry in season["best_laps"]} == set(DRIVERS)
    times = [entry["lap"]["lap_time_s"] for entry in season["best_laps"]]
    assert times == sorted(times)
    assert [(trend["driver"], trend["track"]) for trend in season["trends"]] == [
        (name, TRACK.name) for name in DRIVERS
    ]
    for trend in season["trends"]:
        assert [step["laps"] for step in trend["sessions"]] == [3, 3]
        assert trend["progress"]["latest_s"] < trend["progress"]["first_s"]
    for loss in season["losses"]:
        assert loss["sessions"] == loss["of"] == 2
        assert loss["lost_s"] > 0.05


def test_laps_of_two_circuits_are_never_ranked_against_each_other(seen: Path) -> None:
    stored = TypeAdapter(list[SessionDigest])
    rows = stored.validate_python(result(seen / "digest")["sessions"])
    elsewhere = [replace(row, folder=f"{row.folder}-b", track="Elsewhere") for row in rows]

    best = summarise_season([*rows, *elsewhere]).best_laps

    ranks = [(entry.lap.track, entry.rank) for entry in best]
    tracks = sorted([TRACK.name, "Elsewhere"])
    assert ranks == [(track, place) for track in tracks for place in range(1, len(DRIVERS) + 1)]


def test_the_tables_are_read_by_duckdb(seen: Path) -> None:
    with duckdb.connect() as connection:
        best = connection.execute(
            "SELECT s.driver, count(DISTINCT s.session_id), count(*), min(s.median_lap_s) > 0 "
            f"FROM '{seen}/digest/sessions.parquet' s JOIN '{seen}/digest/corners.parquet' c "
            "USING (session_id) GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    each = SESSIONS // len(DRIVERS)
    assert best == [(name, each, each * len(TRACK.corners), True) for name in DRIVERS]


async def test_a_digest_is_what_the_bridge_answers(tmp_path: Path, backend: str) -> None:
    async with bridging(settings_for(tmp_path, db_backend=backend)) as bridge:
        await drive_at(bridge, "ada", track=TRACK.id)
        await drive_at(bridge, "ben", track="")  # the bridge finds the circuit by itself
        answers = {name: await answers_of(bridge, name) for name in ("ada", "ben")}
    flags = ["--lake", str(tmp_path / "lake"), "--db", str(tmp_path / "db")]
    export = ["--all", *flags, "--db-backend", backend]
    assert await asyncio.to_thread(exports.main, export) == 0

    assert await asyncio.to_thread(run, tmp_path / "lake") == 0

    digests = {row["session_id"]: row for row in result(tmp_path / "lake" / "digest")["sessions"]}
    for name, (card, ideal, friction) in answers.items():
        driving = digests[name]["driving"]
        assert digests[name]["track_id"] == TRACK.id
        assert len(digests[name]["summary"]["laps"]) == card["n_laps"] == 2
        assert driving["ideal_sectors_s"] == ideal["ideal_lap_s"]
        assert driving["max_combo_g"] == friction["max_combo_g_observed"]
        told = [(corner["corner"], corner["lost_s"]) for corner in driving["corners"]]
        assert told == [(grade["corner"], grade["delta_time_s"]) for grade in card["corners"]]
        assert "brake_bar" in digests[name]["recorded"]


async def drive_at(bridge: Bridge, name: str, track: str) -> None:
    """A session of two laps."""
    await bridge.ok("POST", "/session/start", {"session_id": name, "driver": name, "track": track})
    frames = frame_objects(drive(TRACK, 2, skill=0.9).frames)
    await bridge.ok("POST", f"/session/{name}/frames", {"frames": frames})
    await bridge.ok("POST", f"/session/{name}/end")


async def answers_of(bridge: Bridge, name: str) -> tuple[Json, Json, Json]:
    routes = ("scorecard", "ideal_lap", "friction_circle")
    card, ideal, friction = [await bridge.ok("GET", f"/session/{name}/{route}") for route in routes]
    return card["scorecard"], ideal, friction["friction"]


def test_only_what_has_changed_is_computed_again(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(lake) == 0
    before = contents(lake / "digest")
    assert run(lake) == 0
    assert contents(lake / "digest") == before
    (gone, changed) = sorted(lake.glob("*/*/*"))[:2]
    shutil.rmtree(gone)
    other = lake / "aside"
    fill_lake(str(other), TRACK, 1, laps=2)
    shutil.copytree(next(other.glob("*/*/*")), changed, dirs_exist_ok=True)
    shutil.rmtree(other)
    assert run(lake) == 0
    after = contents(lake / "digest")
    assert run(lake, "--out", str(lake / "fresh")) == 0

    assert contents(lake / "fresh") == after
    anew = [line.partition(";")[0] for line in capsys.readouterr().out.splitlines()]
    assert anew == [
        f"{SESSIONS} sessions, {SESSIONS} of them computed",
        f"{SESSIONS} sessions, 0 of them computed",
        f"{SESSIONS - 1} sessions, 1 of them computed",
        f"{SESSIONS - 1} sessions, {SESSIONS - 1} of them computed",
    ]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip(path: Path) -> None:
    """Change one byte of the numbers, which no footer tells."""
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 0x10
    path.write_bytes(data)


def keep(path: Path, *, drop: str = "", null: str = "") -> None:
    """Write a table without a column, or with nothing in one."""
    table = pq.ParquetFile(path).read()
    if drop:
        table = table.drop_columns([drop])
    else:
        at = table.schema.get_field_index(null)
        table = table.set_column(at, table.field(at), pa.nulls(len(table), table.field(at).type))
    pq.write_table(table, path)


@pytest.mark.parametrize(
    ("name", "damage", "why"),
    [
        ("telemetry", Path.unlink, "telemetry.parquet missing"),
        ("session", Path.unlink, "session.parquet missing"),
        ("telemetry", cut, "telemetry.parquet is damaged"),
        ("telemetry", flip, "telemetry.parquet is damaged"),
        ("signals", cut, "signals.parquet is damaged"),
        ("laps", lambda path: path.write_bytes(b""), "laps.parquet is damaged"),
        ("session", cut, "session.parquet is damaged"),
        ("laps", lambda path: shutil.copy(path.with_name("signals.parquet"), path), "a column"),
        ("session", lambda path: keep(path, drop="track_id"), "session.parquet lacks a column"),
        (
            "session",
            lambda path: keep(path, null="started_at"),
            "session.parquet lacks the start",
        ),
    ],
)
def test_a_damaged_session_is_named_and_the_rest_is_done(
    seen: Path,
    tmp_path: Path,
    name: str,
    damage: Callable[[Path], object],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lake = shutil.copytree(seen, tmp_path / "lake")
    folder = sorted(lake.glob("*/*/*"))[1]
    damage(folder / f"{name}.parquet")

    assert run(lake) == 1

    (line,) = capsys.readouterr().err.splitlines()
    named = folder.relative_to(lake).as_posix()
    assert line.startswith(f"{named}: {why}")
    found = result(lake / "digest")
    assert list(found["damaged"]) == [named]
    assert len(found["sessions"]) == SESSIONS - 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--lake", ""],
        ["--lake", "x", "--out", " "],
        ["--lake", "x", "--workers", "2", "--scheduler", "y"],
        ["--lake", "x", "--workers", "-1"],
        ["--lake", "x", "--workers", "0"],
    ],
)
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        seasons.main(arguments)
    assert leaving.value.code == 2
    assert capsys.readouterr().err


def test_a_lake_without_sessions_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path) == 2
    assert "no sessions in" in capsys.readouterr().err


def test_a_scheduler_that_is_none_is_said(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    assert run(lake, "--scheduler", "garbage") == 2
    assert "--scheduler is not a scheduler" in capsys.readouterr().err


def test_without_the_extra_one_process_does_it_and_says_so(
    lake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert run(lake, "--workers", "2") == 0
    told = capsys.readouterr()
    assert "the extra season is not installed" in told.err
    assert f"{SESSIONS} sessions, {SESSIONS} of them computed" in told.out


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two worker processes of this machine."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(n_workers=2, host="127.0.0.1", **options) as local:
        yield local


def slow_down(seconds: float) -> int:
    """Makes each session of this worker take longer; the worker's process."""
    plain = digest_session

    def slow(*arguments: Any) -> Any:
        time.sleep(seconds)
        return plain(*arguments)

    setattr(seasons, digest_session.__name__, slow)
    return os.getpid()


@pytest.mark.slow
@pytest.mark.timeout(240)  # two workers take long to start beside other tests
def test_a_worker_that_is_killed_changes_nothing(seen: Path, tmp_path: Path, cluster: Any) -> None:
    distributed = pytest.importorskip("distributed")
    with distributed.Client(cluster) as client:
        workers = client.run(slow_down, 0.2)
        tasks = cluster.scheduler.tasks
        codes: list[int] = []
        flags = ("--scheduler", cluster.scheduler_address, "--out", str(tmp_path / "many"))
        season = threading.Thread(target=lambda: codes.append(run(seen, *flags)))
        season.start()
        while not any(task.state == "memory" for task in list(tasks.values())):
            time.sleep(0.01)
        busy = [task for task in list(tasks.values()) if task.state == "processing"]
        victim = busy[0].processing_on.address
        os.kill(workers[victim], signal.SIGKILL)
        season.join()

    assert len(busy) > 1
    assert codes == [0]
    assert contents(tmp_path / "many") == contents(seen / "digest")


@pytest.mark.slow
@pytest.mark.timeout(240)  # two workers take long to start beside other tests
def test_processes_of_this_machine_give_the_same(seen: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    assert run(seen, "--out", str(tmp_path / "many"), "--workers", "2") == 0
    assert contents(tmp_path / "many") == contents(seen / "digest")
