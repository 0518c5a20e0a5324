"""Write which dependencies are there as wheels, by system, into docs/installing.md.

    python -m tools.wheels [--check]

Everything is read from uv.lock: the packages that each part of an installation needs on a system,
and the wheels that the index had when the versions were locked.
"""

import itertools
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from packaging.markers import Marker
from packaging.tags import Tag
from packaging.utils import parse_wheel_filename

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "installing.md"
BEGIN: Final = "<!-- written by python -m tools.wheels -->\n"
END: Final = "<!-- end -->\n"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "course": (),
    "bridge": ("bridge",),
    "llm": ("llm", "prebuilt"),
}
"""The extras of each part."""
Package = Mapping[str, Any]


class System(NamedTuple):
    """What wheels and markers call a system."""

    name: str
    wheel: str
    machines: tuple[str, ...]
    """How the platform of a wheel ends."""
    marker: Mapping[str, str]

    def takes(self, platform: str) -> bool:
        """Whether a wheel of that platform can be installed."""
        fits = platform.startswith(self.wheel) and platform.endswith(self.machines)
        return platform == "any" or fits


def _marker(platform: str, machine: str) -> dict[str, str]:
    return {
        "sys_platform": platform,
        "platform_system": {"darwin": "Darwin", "linux": "Linux", "win32": "Windows"}[platform],
        "platform_machine": machine,
        "os_name": "nt" if platform == "win32" else "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": "",
    }


SYSTEMS: Final = (
    System("Linux x86-64", "manylinux", ("_x86_64",), _marker("linux", "x86_64")),
    System("Linux aarch64", "manylinux", ("_aarch64",), _marker("linux", "aarch64")),
    System("macOS arm64", "macosx", ("_arm64", "_universal2"), _marker("darwin", "arm64")),
    System("Windows x86-64", "win", ("_amd64",), _marker("win32", "AMD64")),
)


class Locked:
    """The packages of uv.lock."""

    def __init__(self, lock: Mapping[str, Any]) -> None:
        self._packages: list[Package] = lock["package"]
        self._project = next(one for one in self._packages if one["name"] == "paddock")

    def needed(
        self, extras: Sequence[str], system: System, python: str
    ) -> Iterator[tuple[str, Package]]:
        """Name and entry of each package that an installation with these extras brings."""
        environment = {
            **system.marker,
            "python_version": python,
            "python_full_version": f"{python}.0",
        }
        optional = self._project["optional-dependencies"]
        waiting = [*self._project["dependencies"]]
        waiting += itertools.chain.from_iterable(optional[extra] for extra in extras)
        done: set[str] = set()
        while waiting:
            wanted = waiting.pop()
            if "marker" in wanted and not Marker(wanted["marker"]).evaluate(environment):
                continue
            package = self._find(wanted)
            for extra in wanted.get("extra", []):
                waiting += package.get("optional-dependencies", {}).get(extra, [])
            if wanted["name"] not in done:
                done.add(wanted["name"])
                waiting += package.get("dependencies", [])
                yield wanted["name"], package

    def _find(self, wanted: Package) -> Package:
        return next(
            one
            for one in self._packages
            if one["name"] == wanted["name"]
            and wanted.get("version", one.get("version")) == one.get("version")
        )


def tags_of(package: Package) -> Iterator[Tag]:
    """The tags of all wheels of a package."""
    for wheel in package.get("wheels", []):
        yield from parse_wheel_filename(wheel["url"].rpartition("/")[2].replace("%2B", "+"))[3]


def fits(tag: Tag, python: str) -> bool:
    """Whether that version of CPython takes a wheel."""
    number = python.replace(".", "")
    if tag.abi == "abi3":
        return int(tag.interpreter.removeprefix("cp")) <= int(number)
    return tag.interpreter in ("py3", "py2.py3", f"cp{number}") and not tag.abi.endswith("t")


def make_rows(locked: Locked) -> tuple[list[tuple[str, ...]], int]:
    """A row for each package that holds compiled code, and how many others there are."""
    parts: dict[str, set[str]] = {}
    covered: dict[tuple[str, str], list[str]] = {}
    missing: dict[tuple[str, str], list[str]] = {}
    pure: set[str] = set()
    for (part, extras), system, python in itertools.product(PARTS.items(), SYSTEMS, PYTHONS):
        for name, package in locked.needed(extras, system, python):
            parts.setdefault(name, set()).add(part)
            tags = list(tags_of(package))
            if tags and all(tag.platform == "any" for tag in tags):
                pure.add(name)
            there = any(fits(tag, python) and system.takes(tag.platform) for tag in tags)
            cell = (covered if there else missing).setdefault((name, system.name), [])
            if python not in cell:
                cell.append(python)
    rows = [
        (
            name,
            ", ".join(part for part in PARTS if part in parts[name]),
            *(
                describe(covered.get((name, one.name), []), missing.get((name, one.name), []))
                for one in SYSTEMS
            ),
        )
        for name in sorted(parts.keys() - pure)
    ]
    return rows, len(pure)


def describe(covered: Sequence[str], missing: Sequence[str]) -> str:
    """One cell: for which versions of Python there is a wheel."""
    if not covered:
        return "**none**" if missing else "not needed"
    if not missing:
        return "yes"
    return f"{covered[0]} to {covered[-1]}" if len(covered) > 1 else covered[0]


def make_table(locked: Locked) -> str:
    """The table in Markdown, with a sentence on what it leaves out."""
    rows, pure = make_rows(locked)
    head = ("Package", "Part", *(system.name for system in SYSTEMS))
    lines = [head, ("---",) * len(head), *rows]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    span = f"{PYTHONS[0]} to {PYTHONS[-1]}"
    return f"{table}\n`yes`: for Python {span}. {pure} more packages are pure Python.\n"


def main(argv: Sequence[str]) -> int:
    """Write the table, or with ``--check`` say that it is not the current one."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    table = make_table(Locked(tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))))
    new = f"{before}{BEGIN}{table}{end}{after}"
    if "--check" not in argv:
        PAGE.write_text(new, "utf-8")
    elif new != text:
        sys.stderr.write("docs/installing.md: run python -m tools.wheels\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
