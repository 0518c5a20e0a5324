"""Services and containers: their files name commands, flags and settings that exist."""

import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from runtime.bridge.settings import BridgeSettings
from runtime.llm.settings import LlmSettings
from runtime.web.settings import Settings

ROOT: Final = Path(__file__).resolve().parents[2]
UNITS: Final = sorted((ROOT / "deploy/systemd").iterdir())
SETTINGS: Final[dict[str, type[Settings]]] = {"BRIDGE_": BridgeSettings, "LLMSVC_": LlmSettings}


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


@cache
def flags_of(program: str) -> set[str]:
    command = [sys.executable, "-m", "runtime", program.removeprefix("paddock-"), "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"--[\w-]+", shown))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_one_that_systemd_takes(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd here")
    text = unit.read_text("utf-8")
    (program,) = re.findall(r"^ExecStart=/opt/paddock/bin/(\S+)$", text, re.MULTILINE)
    assert program in pyproject()["project"]["scripts"]
    copy = tmp_path / unit.name
    copy.write_text(re.sub(r"^(ExecStart=)\S+", rf"\1{sys.executable}", text, flags=re.M), "utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_containers_start_commands_that_exist() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    assert set(services) == {"course", "llm", "bridge"}
    for service in services.values():
        program, *words = service["command"]
        if program == "python":
            continue
        assert program in pyproject()["project"]["scripts"]
        used = {word for word in words if word.startswith("--")}
        assert used - flags_of(program) == set()


def test_the_image_is_made_of_what_the_wheel_is_made_of() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = {
        word
        for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE)
        for word in line.split()[:-1]
    }
    hatch = pyproject()["tool"]["hatch"]["build"]["targets"]
    packed = {name.removeprefix("/") for name in hatch["sdist"]["include"]}
    assert copied == packed | {"pyproject.toml", "README.md", "LICENSE"}
    wheel = hatch["wheel"]
    assert {*wheel["packages"], *wheel["force-include"]} == packed


@pytest.mark.parametrize(
    "path", ["docs/installing.md", "compose.yaml", *(f"deploy/systemd/{one.name}" for one in UNITS)]
)
def test_every_setting_that_is_written_down_exists(path: str) -> None:
    text = (ROOT / path).read_text("utf-8")
    for prefix, settings in SETTINGS.items():
        named = set(re.findall(rf"\b{prefix}([A-Z_]+)\b", text))
        assert named - {name.upper() for name in settings.model_fields} == set()
