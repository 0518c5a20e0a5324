"""The operator's policy that the system model answers only in the foreground or on mains power."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

from runtime.llm.errors import SysmodelBackgroundBlocked

Policy = Literal["off", "session_active", "on_ac"]
Reading = Callable[[], Awaitable[bool | None]]
"""Returns whether the gate is open now; None if this machine cannot tell."""

_POWER = Path("/sys/class/power_supply")
_FRESH_S = 1.0
_QUERY_S = 2.0
_WHY = {
    "session_active": "the desktop session is locked or not active",
    "on_ac": "this machine runs on battery",
}


class Gate:
    """A gate read at most once a second; it is open if the machine cannot tell."""

    def __init__(
        self,
        policy: Policy,
        read: Reading | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._policy = policy
        self._read = read or _READINGS.get(policy)
        self._clock = clock
        self._open = True
        self._looked: float | None = None

    async def check(self) -> None:
        """Raise `SysmodelBackgroundBlocked`, which names the policy, if the gate is closed."""
        if not await self.is_open():
            raise SysmodelBackgroundBlocked(
                f"a policy of this machine blocks the system model: {_WHY[self._policy]} "
                f"(sysmodel.foreground_policy = {self._policy})"
            )

    async def is_open(self) -> bool:
        """Whether the policy allows the system model to answer."""
        if self._policy == "off" or self._read is None:
            return True
        now = self._clock()
        if self._looked is None or now - self._looked >= _FRESH_S:
            self._looked = now
            self._open = await self._read() is not False
        return self._open


def is_on_mains(supplies: Iterable[Mapping[str, str]]) -> bool | None:
    """Whether a machine with these power supplies runs on mains; None if they do not tell."""
    supplies = list(supplies)
    online = [
        supply["online"] not in ("0", "")
        for supply in supplies
        if supply.get("type", "").startswith(("Mains", "USB", "Wireless")) and "online" in supply
    ]
    if any(online):
        return True
    batteries = [
        supply.get("status", "Unknown")
        for supply in supplies
        # A mouse has a battery too; only one that feeds the whole system counts.
        if supply.get("type") == "Battery" and supply.get("scope", "System") == "System"
    ]
    if "Discharging" in batteries:
        return False
    return True if {"Charging", "Full", "Not charging"} & set(batteries) else None


def is_session_open(properties: Mapping[str, str]) -> bool | None:
    """Whether a login session is active and unlocked; None if its properties do not tell."""
    active, locked = properties.get("Active"), properties.get("LockedHint", "no")
    return active == "yes" and locked != "yes" if active in ("yes", "no") else None


def parse_properties(text: str) -> dict[str, str]:
    """Parse the ``Name=value`` lines that ``loginctl show-…`` prints."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value.strip() for name, separator, value in pairs if separator}


def read_supplies(folder: Path) -> list[dict[str, str]]:
    """The attributes of the power supplies below *folder*; none if the folder does not exist."""
    supplies = []
    with suppress(OSError):
        for entry in sorted(folder.iterdir()):
            supply = {}
            for name in ("type", "online", "status", "scope"):
                with suppress(OSError):
                    supply[name] = (entry / name).read_text("utf-8", "replace").strip()
            supplies.append(supply)
    return supplies


async def _read_power() -> bool | None:
    return is_on_mains(await asyncio.to_thread(read_supplies, _POWER))


async def _read_session() -> bool | None:
    """Query logind for the graphical session of the user who runs the server."""
    if not hasattr(os, "getuid"):
        return None
    user = parse_properties(await _loginctl("show-user", str(os.getuid()), "--property=Display"))
    session = user.get("Display", "")
    if not session:
        return None
    wanted = ("--property=Active", "--property=LockedHint")
    return is_session_open(parse_properties(await _loginctl("show-session", session, *wanted)))


async def _loginctl(*arguments: str) -> str:
    """The output of ``loginctl``; empty if it is missing, fails or does not answer."""
    try:
        process = await asyncio.create_subprocess_exec(
            "loginctl",
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(_QUERY_S):
            printed, _ = await process.communicate()
    except TimeoutError:
        printed = b""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return printed.decode("utf-8", "replace") if process.returncode == 0 else ""


_READINGS: dict[Policy, Reading] = {"on_ac": _read_power, "session_active": _read_session}
