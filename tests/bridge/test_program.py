"""The bridge as a program: exit codes, what it says when it cannot start, its database."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from runtime import VERSION
from runtime.bridge.server import main
from runtime.web.instance import address_of
from tests.bridge.bridgekit import ROOT


def test_a_taken_port_ends_with_code_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code = main(["--port", str(port), "--db", str(tmp_path / "db")])
    said = capsys.readouterr()
    assert (code, said.out) == (3, "")
    assert f"cannot listen on 127.0.0.1 port {port}" in said.err
    assert "the setting port" in said.err
    assert not (tmp_path / "db").exists()


@pytest.mark.parametrize("flags", [["--version"], ["--port", "0", "--version"]])
def test_the_version_is_told_whatever_else_is_said(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 0
    assert capsys.readouterr().out == f"{VERSION}\n"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--host", "203.0.113.1", "--allow-remote"), "cannot listen on 203.0.113.1"),
        (("--host", "192.0.2.7"), "--allow-remote"),
        (("--can-car-config", "no-such-car"), "can_car_config"),
        (("--can-session-id", "no id"), "can_session_id"),
        (("--data-dir", "no-such-folder"), "data_dir: registry/signals.json: No such file"),
        (("--db", "/dev/null", "--check"), "db: BRIDGE_DB must be a file"),
        (("--db", "/proc/x", "--check"), "db: the folder of BRIDGE_DB cannot be used"),
        (("--db", "/proc/x/y/z", "--check"), "db: the folder of BRIDGE_DB cannot be used"),
        (("--data-dir", "no-such-folder", "--check"), "data_dir: registry/signals.json"),
        (("--can-interface", "smoke", "--can-channel", "x"), "known: virtual, slcan"),
        (("--can-interface", "slcan", "--can-channel", "x", "--can-bitrate", "33333"), "33333"),
        (("--can-dbc", "nothing.dbc"), "nothing.dbc"),
    ],
)
def test_a_bad_configuration_ends_with_code_2(
    flags: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--port", "0", "--db", str(tmp_path / "db"), *flags]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("kind", ["lightweight", "analytical"])
def test_a_check_finds_the_other_engine_and_changes_nothing(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--check", "--port", "0", "--db", str(tmp_path / "db"), "--db-backend", kind]
    assert main(flags) == 0
    assert capsys.readouterr().out == "the configuration is good\n"
    assert list(tmp_path.iterdir()) == []
    heads = {"lightweight": b"\0" * 8 + b"DUCK" + b"\0" * 4, "analytical": b"SQLite format 3\0"}
    (tmp_path / "db").write_bytes(heads[kind])
    assert main(flags) == 2
    assert "db: the database of BRIDGE_DB is" in capsys.readouterr().err
    assert (tmp_path / "db").read_bytes() == heads[kind]


@pytest.mark.parametrize("kind", ["analytical", "lightweight"])
def test_a_folder_takes_the_database_which_is_nobody_elses_to_read(
    tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "made"
    folder.mkdir(mode=0o700)
    command = [sys.executable, "-m", "runtime.bridge", "--port", "0", "--db-backend", kind]
    with subprocess.Popen(
        [*command, "--db", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{json.loads(process.stdout.readline())['port']}"
        assert address_of(folder / "bridge.db.lock") == url
        frame = Request(f"{url}/session/s/frame", b'{"timestamp":1.0}', method="POST")
        for asked in (frame, f"{url}/session/s"):
            with urlopen(asked) as answer:
                assert answer.status == 200
        found = [folder, *folder.rglob("*")]
        assert len(found) > 3
        assert {path.name for path in found if path.stat().st_mode & 0o077} == set()
        process.terminate()
        _, told = process.communicate(timeout=20)
    assert process.returncode == 0
    assert (folder / "bridge.db").is_file()
    told = told.partition("nanobind: leaked")[0]  # DuckDB's binding may list what is alive at exit
    assert [line for line in told.splitlines() if not line.startswith("{")] == []
