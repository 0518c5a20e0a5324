"""Chip, device and manufacturer of this machine, for the status of the system model."""

import contextlib
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

UNKNOWN = "unknown"
_CAP = 128
_TREE = Path("/proc/device-tree")
_DMI = Path("/sys/class/dmi/id")

# Placeholders in firmware that its maker did not fill in.
_FILLERS = (
    *("default string", "to be filled by o.e.m.", "system product name", "system manufacturer"),
    *("not specified", "not applicable", "none", "o.e.m.", "0"),
)


class HostInfo(NamedTuple):
    """The machine; never has a null, a serial number or a host name."""

    soc_model: str = UNKNOWN
    device: str = UNKNOWN
    manufacturer: str = UNKNOWN


@cache
def describe_host() -> HostInfo:
    """Describe this machine, read once. Blocks for milliseconds, on macOS to run a program."""
    match sys.platform:
        case "linux":
            return describe_linux(
                _text(Path("/proc/cpuinfo")),
                {name: _text(_DMI / name) for name in ("product_name", "sys_vendor")},
                _text(_TREE / "model"),
                _text(_TREE / "compatible"),
                platform.processor(),
            )
        case "darwin":
            chip, device = _sysctl("machdep.cpu.brand_string"), _sysctl("hw.model")
            return HostInfo(_first(chip), _first(device), "Apple")
        case "win32":
            processor = r"HARDWARE\DESCRIPTION\System\CentralProcessor\0"
            bios = r"HARDWARE\DESCRIPTION\System\BIOS"
            return HostInfo(
                _first(_registry(processor, "ProcessorNameString")),
                _first(_registry(bios, "SystemProductName")),
                _first(_registry(bios, "SystemManufacturer")),
            )
    return HostInfo(_first(platform.processor()))


def describe_linux(
    cpuinfo: str, dmi: Mapping[str, str], tree_model: str, compatible: str, processor: str = ""
) -> HostInfo:
    """Describe a machine from kernel texts; *compatible* is NUL-separated, most specific first.

    Boards have a device tree; other computers have firmware tables.
    """
    names = [name for name in compatible.split("\0") if "," in name]
    if names:
        maker, chip = names[0].partition(",")[0], names[-1].partition(",")[2]
        return HostInfo(_first(chip, processor), _first(tree_model), _first(maker))
    chip = _cpuinfo_field(cpuinfo, ("model name", "Hardware", "Model", "cpu model", "uarch"))
    return HostInfo(
        _first(chip, processor),
        _first(dmi.get("product_name", "")),
        _first(dmi.get("sys_vendor", "")),
    )


def _cpuinfo_field(cpuinfo: str, names: Iterable[str]) -> str:
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value)
    return next((fields[name] for name in names if fields.get(name, "").strip()), "")


def _first(*texts: str) -> str:
    """The first text that is neither blank nor a placeholder, on one line and cut to a limit."""
    for text in texts:
        plain = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:_CAP]
        if plain and plain.lower() not in _FILLERS:
            return plain
    return UNKNOWN


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _sysctl(name: str) -> str:
    command = ["/usr/sbin/sysctl", "-n", name]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout


def _registry(key: str, name: str) -> str:
    if sys.platform == "win32":
        import winreg

        with contextlib.suppress(OSError), winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return str(winreg.QueryValueEx(opened, name)[0])
    return ""
