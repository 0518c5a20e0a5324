"""The policy that shuts the system model in the background or on battery."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtime.llm.errors import SysmodelBackgroundBlocked
from runtime.llm.models.system import foreground
from runtime.llm.models.system.foreground import (
    Gate,
    Policy,
    is_on_mains,
    is_session_open,
    parse_properties,
    read_supplies,
)

MAINS = {"type": "Mains", "online": "1"}
UNPLUGGED = {"type": "Mains", "online": "0"}
LAPTOP = {"type": "Battery", "status": "Discharging", "scope": "System"}
MOUSE = {"type": "Battery", "status": "Discharging", "scope": "Device"}


@pytest.mark.parametrize(
    ("supplies", "mains"),
    [
        ([MAINS, LAPTOP], True),
        ([UNPLUGGED, LAPTOP], False),
        ([UNPLUGGED, {"type": "USB_PD", "online": "1"}, LAPTOP], True),
        ([{"type": "Battery", "status": "Discharging"}], False),
        ([{"type": "Battery", "status": "Full"}], True),
        ([{"type": "Battery", "status": "Charging"}], True),
        ([{"type": "Battery", "status": "Unknown"}], None),
        ([MOUSE], None),
        ([UNPLUGGED], None),
        ([{}], None),
        ([], None),
    ],
)
def test_power_supplies_tell_whether_the_machine_is_plugged_in(
    supplies: list[dict[str, str]], mains: bool | None
) -> None:
    assert is_on_mains(supplies) is mains


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("Active=yes\nLockedHint=no\n", True),
        ("Active=yes\nLockedHint=yes\n", False),
        ("Active=no\nLockedHint=no\n", False),
        ("Active=yes", True),
        ("LockedHint=no", None),
        ("Failed to connect", None),
        ("", None),
    ],
)
def test_a_session_tells_whether_it_is_in_front(text: str, opened: bool | None) -> None:
    assert is_session_open(parse_properties(text)) is opened


def test_supplies_are_read_from_the_folder_of_the_kernel(tmp_path: Path) -> None:
    for name, attributes in {"AC": MAINS, "BAT0": LAPTOP, "odd": {}}.items():
        (tmp_path / name).mkdir()
        for key, value in attributes.items():
            (tmp_path / name / key).write_text(f"{value}\n")

    assert read_supplies(tmp_path) == [MAINS, LAPTOP, {}]
    assert read_supplies(tmp_path / "none") == []


class Answers:
    """A reading that follows a list."""

    def __init__(self, *answers: bool | None) -> None:
        self.left = list(answers)

    async def __call__(self) -> bool | None:
        await asyncio.sleep(0)
        return self.left.pop(0)


async def test_a_gate_looks_once_a_second_and_is_open_where_nothing_is_known() -> None:
    now = [0.0]
    read = Answers(True, False, None)
    gate = Gate("session_active", read, lambda: now[0])
    seen = []
    for moment in (0.0, 0.9, 1.0, 1.5, 2.1):
        now[0] = moment
        seen.append(await gate.is_open())

    assert seen == [True, True, False, False, True]


@pytest.mark.parametrize(("policy", "words"), [("session_active", "locked"), ("on_ac", "battery")])
async def test_a_shut_gate_names_the_policy(policy: Policy, words: str) -> None:
    with pytest.raises(SysmodelBackgroundBlocked, match=words) as refused:
        await Gate(policy, Answers(False)).check()

    assert policy in refused.value.message
    assert "policy" in refused.value.message


@pytest.mark.parametrize(
    ("printed", "opened"),
    [
        ({"show-user": "Display=2\n", "show-session": "Active=yes\nLockedHint=yes\n"}, False),
        ({"show-user": "Display=2\n", "show-session": "Active=yes\nLockedHint=no\n"}, True),
        ({"show-user": "Display=\n"}, True),
        ({"show-user": ""}, True),
    ],
)
async def test_the_graphical_session_of_the_user_decides(
    monkeypatch: pytest.MonkeyPatch, printed: Mapping[str, str], opened: bool
) -> None:
    async def loginctl(command: str, *arguments: str) -> str:
        await asyncio.sleep(0)
        return printed[command]

    monkeypatch.setattr(foreground, "_loginctl", loginctl)

    assert await Gate("session_active").is_open() is opened


@pytest.mark.parametrize(
    ("program", "printed"),
    [("echo Active=yes", "Active=yes\n"), ("exit 1", ""), ("exec sleep 60", ""), (None, "")],
)
async def test_a_login_manager_that_fails_hangs_or_is_missing_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str | None, printed: str
) -> None:
    if program is not None:
        install(tmp_path / "loginctl", program)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin" if program else str(tmp_path))
    monkeypatch.setattr(foreground, "_QUERY_S", 0.5 if program == "exec sleep 60" else 30)

    assert await foreground._loginctl("show-user") == printed


def install(path: Path, program: str) -> None:
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
