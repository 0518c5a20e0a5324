"""The bridge as a program: exit codes, what it says when it cannot start, its database."""

import json
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from runtime.web.instance import address_of
from tests.bridge.bridgekit import ROOT


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runtime.bridge", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def test_a_taken_port_ends_with_3(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run("--port", port, "--db", str(tmp_path / "db"))
    assert ended.returncode == 3
    assert "Address already in use" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("--can-interface", "smoke", "--can-channel", "x"), "smoke"),
        (("--can-interface", "smoke"), "known: virtual, slcan"),
        (("--can-interface", "slcan", "--can-channel", "x", "--can-bitrate", "33333"), "33333"),
        (("--can-dbc", "nothing.dbc"), "nothing.dbc"),
        (("--can-car-config", "no-such-car"), "there is no such car"),
        (("--simulate-speed", "fast"), "--simulate-speed"),
    ],
    ids=["interface", "interface alone", "bitrate", "dbc", "car", "speed"],
)
def test_a_bad_setting_ends_with_2_and_is_named(
    tmp_path: Path, flags: tuple[str, ...], named: str
) -> None:
    ended = run("--check", "--db", str(tmp_path / "db"), *flags)
    assert ended.returncode == 2, ended.stderr
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_good_configuration_is_said_to_be_good(tmp_path: Path) -> None:
    ended = run("--check", "--simulate", "--db", str(tmp_path / "db"))
    assert (ended.returncode, ended.stdout) == (0, "the configuration is good\n")


def test_a_folder_takes_the_database_and_tells_where_the_bridge_answers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "runtime.bridge", "--port", "0", "--db", str(tmp_path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert address_of(tmp_path / "bridge.db.lock") == f"http://127.0.0.1:{ready['port']}"
        process.terminate()
        assert process.wait(20) == 0
    assert (tmp_path / "bridge.db").is_file()


@pytest.mark.parametrize("kind", ["analytical", "lightweight"])
def test_it_ends_without_a_word_that_is_not_of_its_log(tmp_path: Path, kind: str) -> None:
    command = [sys.executable, "-m", "runtime.bridge", "--port", "0", "--db-backend", kind]
    with subprocess.Popen(
        [*command, "--db", str(tmp_path / "db")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = json.loads(process.stdout.readline())["port"]
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/session/s/frame", b'{"timestamp":1.0}', method="POST"
        )
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/session/s") as answer:
            assert answer.status == 200
        process.terminate()
        _, told = process.communicate(timeout=20)
    assert [line for line in told.splitlines() if not line.startswith("{")] == []
