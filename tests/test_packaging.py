"""What an installation is made of: versions, what each part asks for, and other systems."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from runtime import VERSION
from runtime.__main__ import main

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGES: Final = ("course", "runtime", "paddock")
OTHER_NAMES: Final = {
    "can": "python-can",
    "llama_cpp": "llama-cpp-python",
    "ruamel": "ruamel.yaml",
    "serial": "pyserial",
    "yaml": "pyyaml",
}
"""Distributions that are not called as what they bring is imported."""
BROUGHT_ALONG: Final = {
    "markupsafe": "jinja2",
    "multidict": "aiohttp",
    "pydantic-core": "pydantic",
    "yarl": "aiohttp",
}
"""Packages that a dependency is built on and hands to its users."""
STARTED: Final = {"pip", "llama-cpp-python", "fluent-runtime"}
"""Dependencies that are imported by another name, or run."""
WITHOUT_POSIX: Final = """
import importlib, pkgutil, sys

def modules():
    for name in PACKAGES:
        try:
            package = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        yield name
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield module.name

first = list(modules())
for name in first:
    importlib.import_module(name)  # with what they import of others, which has its own Windows side
for name in list(sys.modules):
    if name.partition(".")[0] in PACKAGES:
        del sys.modules[name]
for name in ("resource", "fcntl", "termios", "tty", "pty", "pwd", "grp", "syslog"):
    sys.modules[name] = None
failed = []
for name in first:
    try:
        importlib.import_module(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")
print(len(first), *failed, sep="\\n")
"""


def project() -> dict[str, Any]:
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    read: dict[str, Any] = tomllib.loads(text)["project"]
    return read


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[>=\[]", entry)[0] for entry in requirements}


def imported(folders: tuple[str, ...]) -> Iterator[str]:
    """The distributions that the modules below *folders* import."""
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                found: list[str] = []
                if isinstance(node, ast.Import):
                    found = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                    found = [node.module]
                for name in {one.partition(".")[0] for one in found} - sys.stdlib_module_names:
                    if name not in (*PACKAGES, "_typeshed"):
                        known = OTHER_NAMES.get(name, name.replace("_", "-"))
                        yield BROUGHT_ALONG.get(known, known)


def test_the_course_asks_for_what_it_imports_and_for_nothing_else() -> None:
    assert set(imported(("course",))) == names(project()["dependencies"])


@pytest.mark.parametrize("part", ["bridge", "llm"])
def test_a_server_asks_for_what_it_imports_and_for_nothing_else(part: str) -> None:
    base = names(project()["dependencies"])
    extras = {name: names(wanted) for name, wanted in project()["optional-dependencies"].items()}
    of_others = set().union(*(extras[name] for name in extras.keys() - {"bridge", "llm", "all"}))

    used = set(imported((f"runtime/{part}", "runtime/web")))

    renamed = {"fluent": "fluent-runtime"}
    used = {renamed.get(name, name) for name in used}
    assert used - base - extras[part] - of_others == set()
    assert extras[part] - used - STARTED == set()


def locked(extras: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The entries of uv.lock of all packages that an installation with these extras may bring."""
    entries = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))["package"]
    waiting, done = [{"name": "paddock", "extra": extras}], set()
    while waiting:
        wanted = waiting.pop()
        name = wanted["name"]
        if name in done:
            continue
        done.add(name)
        for entry in (one for one in entries if one["name"] == name):
            waiting += entry.get("dependencies", [])
            for extra in wanted.get("extra", ()):
                waiting += entry["optional-dependencies"].get(extra, [])
            yield entry


def test_every_package_but_one_comes_as_a_wheel_for_each_system_and_version_of_python() -> None:
    wheels: dict[str, str] = {}
    for entry in locked(("all", "prebuilt")):
        names = (wheel["url"].rpartition("/")[2] for wheel in entry.get("wheels", ()))
        wheels[entry["name"]] = "\n".join([wheels.get(entry["name"], ""), *names])
    assert len(wheels) > 50
    systems = (r"manylinux\S*x86_64", r"manylinux\S*aarch64", r"macosx\S*(arm64|universal2)", "win")
    tags = r"-(cp3{0}-cp3{0}|cp3({1})-abi3|py3-none|py2\.py3-none)-(any|\S*{2})"
    assert {
        name
        for name, files in wheels.items()
        for minor in range(11, 15)
        for system in systems
        if not re.search(tags.format(minor, "|".join(map(str, range(minor + 1))), system), files)
    } == {"paddock", "llama-cpp-python"}


def test_the_version_stands_in_one_place_and_is_told_everywhere() -> None:
    assert "version" in project()["dynamic"]
    for part in ("bridge", "llm"):
        described = json.loads((ROOT / f"schemas/{part}/openapi.json").read_text("utf-8"))
        assert described["info"]["version"] == VERSION
        done = subprocess.run(
            [sys.executable, "-m", "runtime", part, "--version"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == f"{VERSION}\n"
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION


def test_every_module_can_be_imported_where_there_is_no_posix() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"PACKAGES = {PACKAGES!r}\n{WITHOUT_POSIX}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    count, *failed = done.stdout.splitlines()
    assert int(count) > 400
    assert failed == []


def run_without(package: str, *words: str) -> str:
    """What ``paddock`` says where a package is not installed."""
    hide = f"import sys; sys.modules[{package!r}] = None; from runtime.__main__ import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}sys.exit(main({list(words)!r}))"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    return done.stderr


@pytest.mark.parametrize(
    ("program", "package", "wanted"),
    [("bridge", "cantools", "'paddock[bridge]'"), ("course", "pyromark", "paddock")],
)
def test_a_missing_package_is_named_with_what_brings_it(
    program: str, package: str, wanted: str
) -> None:
    said = run_without(package, program)
    assert said == f"paddock: the package {package} is missing; pip install {wanted} brings it\n"


@pytest.mark.parametrize(
    ("installed", "missing", "alone"),
    [
        ("duckdb", "llm", "bridge"),
        ("onnxruntime", "bridge", "llm"),
        ("", "bridge and llm", "course"),
    ],
)
def test_a_part_of_an_installation_does_not_start_the_others(
    installed: str,
    missing: str,
    alone: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("runtime.__main__.find_spec", lambda name: name == installed or None)
    assert main([]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"paddock: {missing} not installed; pip install 'paddock[all]'")
    assert said.endswith(f"paddock {alone} runs alone\n")
