"""The command brings files in, into the database or through the bridge that has it open."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from runtime.bridge.commands import imports
from runtime.bridge.storage.records import SessionRow
from runtime.bridge.storage.store import Store
from runtime.web.instance import write_address
from tests.bridge.bridgekit import bridging, settings_for
from tests.bridge.formats.logkit import drive, own_bus, write
from tests.bridge.truth import drives as truth
from tests.bridge.truth.exports import EXPORTS

ROOT = Path(__file__).parents[3]


class Done(NamedTuple):
    code: int | None
    lines: list[dict[str, Any]]
    out: str
    err: str


async def run(folder: Path, backend: str, *arguments: str) -> Done:
    """The command in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "runtime.bridge", "import", *arguments,
        "--db", str(folder / "db"), "--db-backend", backend,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = (part.decode() for part in await process.communicate())
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return Done(process.returncode, lines, out, err)


async def sessions(folder: Path) -> Mapping[str, SessionRow]:
    store = await Store.open(folder / "db")
    try:
        return {row.session_id: row for row in store.sessions()}
    finally:
        await store.close()


def test_a_data_folder_without_signals_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--data-dir", str(tmp_path / "none"), "--db", str(tmp_path / "db")]
    assert imports.main(["x.vbo", *flags]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "import: data_dir: registry/signals.json: No such file or directory\n"


@pytest.mark.slow
async def test_files_go_straight_into_the_database(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = write(tmp_path / "good.log", drive(10))
    again = write(tmp_path / "again.asc", drive(5, 1_600_000_000.0))
    bad = tmp_path / "bad.blf"
    bad.write_bytes(b"nothing of the kind")
    files = [str(good), str(bad), str(tmp_path / "missing.vbo"), str(again)]
    done = await run(
        tmp_path, backend, *files, "--json", "--driver", "Ada", "--dbc", "paddock-dash"
    )
    assert done.code == 1, done.err
    assert [line.get("code") for line in done.lines] == [
        None, "unparsable_file", "not_importable", None,
    ]  # fmt: skip
    assert done.lines[0]["n_frames"] > 90
    stored = await sessions(tmp_path)
    assert set(stored) == {line["session_id"] for line in done.lines if "session_id" in line}
    assert {row.driver for row in stored.values()} == {"Ada"}
    once_more = [str(good), "--db", str(tmp_path / "db"), "--db-backend", backend]
    assert await asyncio.to_thread(imports.main, once_more) == 1
    assert "already" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("told", "backend"), [(True, "analytical"), (False, "lightweight")])
async def test_a_running_bridge_takes_the_files(
    told: bool, backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "good.log", drive(10))
    async with bridging(settings_for(tmp_path, db_backend=backend)) as bridge:
        port = bridge.url.rpartition(":")[2]
        if told:
            write_address(bridge.service.db._opened.lock, bridge.url)
        done = await run(
            tmp_path, backend, str(path), "--session-id", "one", "--port", "0" if told else port
        )
        assert done.code == 0, done.err
        assert done.out.startswith("good.log: session one, ")
        listed = await bridge.ok("GET", "/sessions")
        assert [one["session_id"] for one in listed["sessions"]] == ["one"]
        again = [str(path), "--session-id", "one", "--json", "--port", port]
        where = ["--db", str(tmp_path / "db"), "--db-backend", backend]
        assert await asyncio.to_thread(imports.main, [*again, *where]) == 1
        assert '"code": "session_exists"' in capsys.readouterr().out


def test_what_a_bridge_would_refuse_is_refused_without_one(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write(tmp_path / "good.log", drive(10)))
    for wrong in (["--driver-level", "wizard"], ["--session-id", "SIM"]):
        where = ["--db", str(tmp_path / "db"), "--db-backend", backend]
        assert imports.main([path, *wrong, *where]) == 1
        assert "not a" in capsys.readouterr().err
    assert asyncio.run(sessions(tmp_path)) == {}


@pytest.mark.parametrize("flag", ["--dbc", "--can-dbc"])
async def test_a_running_bridge_gets_the_dbc_file_of_the_command(
    flag: str, backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, dbc = own_bus(tmp_path)
    async with bridging(settings_for(tmp_path, db_backend=backend)) as bridge:
        write_address(bridge.service.db._opened.lock, bridge.url)
        where = ["--db", str(tmp_path / "db"), "--db-backend", backend, "--driver", "Ada"]
        code = await asyncio.to_thread(imports.main, [str(log), flag, str(dbc), *where])
        assert code == 0, capsys.readouterr().err
        (stored,) = (await bridge.ok("GET", "/sessions"))["sessions"]
        assert stored["driver"] == "Ada"


@pytest.mark.parametrize("arguments", [[], ["a.vbo", "b.vbo", "--session-id", "x"], ["--frob"]])
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        imports.main(arguments)
    assert leaving.value.code == 2
    assert capsys.readouterr().err


async def test_a_folder_of_mixed_files_becomes_a_session_for_each(
    backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = truth.drive(truth.FILE_PLAN)
    folder = tmp_path / "day"
    (folder / "phone").mkdir(parents=True)
    for age, name in enumerate(("nmea", "semicolons", "phone/vbox-csv", "tabs")):
        export = EXPORTS[name.rpartition("/")[2]]
        path = folder / f"{name}{export.suffix}"
        path.write_bytes(export.write(made))
        os.utime(path, (1_780_000_000 - 100 * age,) * 2)
    (folder / "broken.vbo").write_bytes(b"hello")
    (folder / "photo.jpg").write_bytes(b"no recording")
    flags = ["--db", str(tmp_path / "db"), "--db-backend", backend]

    code = await asyncio.to_thread(imports.main, [str(folder), *flags])

    out, err = capsys.readouterr()
    told = [line.split(":")[0] for line in out.splitlines() if ": session " in line]
    assert code == 1
    assert told == ["tabs.txt", "vbox-csv.csv", "semicolons.csv", "nmea.nmea"]
    assert err.splitlines() == [
        "1 of 5 files were not imported:",
        "broken.vbo: the file has no [data] section",
    ]
    stored = await sessions(tmp_path)
    assert len(stored) == 4
    assert (await asyncio.to_thread(imports.main, [str(folder / "phone"), *flags])) == 1
    assert "already" in capsys.readouterr().err
    assert len(await sessions(tmp_path)) == 4


def test_a_folder_without_recordings_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert imports.main([str(tmp_path), "--db", str(tmp_path / "db")]) == 2
    assert "contains no file" in capsys.readouterr().err


def test_flags_of_the_server_may_stand_before_the_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "good.log", drive(5))
    flags = ["--db", str(tmp_path / "db"), "--db-backend=lightweight", "--no-simulate"]
    assert imports.main([*flags, str(path)]) == 0
    assert capsys.readouterr().out.startswith("good.log: session ")
    assert (tmp_path / "db").is_file()


def test_the_help_names_the_database(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as leaving:
        imports.main(["--help"])
    assert leaving.value.code == 0
    shown = capsys.readouterr().out
    assert "--db DB" in shown
    assert "--data-dir" in shown
    assert "--simulate" not in shown


def test_a_terminal_is_shown_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "good.log", drive(5))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    code = imports.main([str(path), "--db", str(tmp_path / "db"), "--db-backend", "lightweight"])
    shown = capsys.readouterr()
    assert code == 0
    assert "good.log: " in shown.err
    assert shown.out.startswith("good.log: session ")


def test_a_mapping_is_shown_given_kept_listed_and_forgotten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "day.vbo"
    rows = "\n".join(f"{n / 10} {50 + n % 5} {1000 + n} {2000 + n}" for n in range(50))
    path.write_text(f"[column names]\ntime velocity EngineSpeed ECU_RPM\n[data]\n{rows}\n")
    flags = ["--db", str(tmp_path / "db"), "--db-backend", "lightweight"]

    def run_here(*arguments: str, code: int = 0) -> str:
        assert imports.main([*arguments, *flags]) == code
        return "".join(capsys.readouterr())

    shown = run_here(str(path), "--dry-run")
    assert "speed_ms: velocity (in km/h, not stated)" in shown
    assert "rpm: EngineSpeed (in rpm, not stated; rather than ECU_RPM)" in shown
    assert "brake_bar: none" in shown
    assert not (tmp_path / "db").exists()
    assert run_here("--list-maps") == ""
    first = run_here(str(path), "--map", "rpm=ECU_RPM", "--session-id", "one")
    assert "rpm from ECU_RPM" in first
    assert "rpm=ECU_RPM (day.vbo, " in run_here("--list-maps")
    kept = json.loads(run_here(str(path), "--session-id", "two", "--json"))
    assert (kept["mapping"]["rpm"]["channel"], kept["mapping"]["rpm"]["why"]) == ("ECU_RPM", "kept")
    assert "rpm: ECU_RPM (in rpm, not stated; kept; rather than EngineSpeed)" in run_here(
        str(path), "--dry-run"
    )
    refused = run_here(str(path), "--map", "rpm=Nothing", code=1)
    assert "known are velocity, EngineSpeed, ECU_RPM" in refused
    run_here(str(path), "--forget-map", "--session-id", "three")
    assert run_here("--list-maps") == ""
    run_here(str(path), "--map", "rpm=ECU_RPM", "--session-id", "four")
    assert "forgotten" in run_here(str(path), "--forget-map", "--session-id", "one")
    assert run_here("--list-maps") == ""


@pytest.mark.parametrize(
    "flag", [["--map", "rpm"], ["--map", "=x"], ["--map", "a=b", "--forget-map"]]
)
def test_a_mapping_that_cannot_be_read_is_wrong_use(
    flag: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as leaving:
        imports.main(["a.vbo", *flag])
    assert leaving.value.code == 2
    assert "--map" in capsys.readouterr().err
