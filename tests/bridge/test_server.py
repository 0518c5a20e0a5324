"""What the command of the bridge says to the shell when it cannot listen."""

import socket
from pathlib import Path

import pytest

from runtime.bridge import VERSION
from runtime.bridge.server import main


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
    ],
)
def test_a_bad_configuration_ends_with_code_2(
    flags: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--port", "0", "--db", str(tmp_path / "db"), *flags]) == 2
    assert words in capsys.readouterr().err
