"""Wheels in empty environments: each part alone, and all of them, started and asked.

They need a package index, so `make test-install` runs them and the suite does not.
"""

import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Final

import pytest

from runtime import VERSION
from tests.install.kit import (
    MEASURED,
    ROOT,
    UV,
    Installed,
    Program,
    ask,
    environment,
    pretend_compilers,
    run,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        "PADDOCK_TEST_INSTALL" not in os.environ,
        reason="installs from the package index; `make test-install` runs it",
    ),
]
WHEELS_ONLY: Final = "--only-binary=:all:"
ENGINES: Final = {"llama-cpp-python", "xllamacpp"}
NO_COMPILER: Final = "--config-settings-package=llama-cpp-python:wheel.cmake=false"
"""Leaves llama.cpp uncompiled: the extra ``prebuilt`` brings it. uv keeps such a wheel apart."""
PARTS: Final = ("home", "course", "llm", "bridge")
QUESTION: Final = {"messages": [{"role": "user", "content": "What is trail braking?"}]}


def note(what: str, installed: Installed, program: Program) -> None:
    size, count = installed.size_mb(), len(installed.packages())
    MEASURED.append((what, str(count), f"{size:.0f}", f"{program.seconds:.1f}"))


def test_the_wheel_holds_what_the_programs_read_and_no_more(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert wheel.name == f"paddock-{VERSION}-py3-none-any.whl"
    for needed in (
        "course/schemas/lesson.schema.json",
        "course/publish/assets/reader.js",
        "course/skeletons/init/gitignore",
        "runtime/bridge/coach/wording/messages/de/general.ftl",
        "runtime/bridge/pages/bridge.webmanifest",
        "runtime/llm/pages/documents.js",
        "runtime/share/content/course.yaml",
        "runtime/share/content/ids.lock",
        "runtime/share/data/dbc/paddock-dash.dbc",
        "runtime/share/data/models/paddock-coach.gguf",
        "runtime/share/data/tracks/larkfell.json",
    ):
        assert needed in names
    tops = {name.partition("/")[0] for name in names}
    assert tops <= {"course", "runtime", "paddock", f"paddock-{VERSION}.dist-info"}
    assert [name for name in names if name.endswith(".pyc")] == []


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installed:
    return Installed.make(tmp_path_factory.mktemp("course"), wheel, "", WHEELS_ONLY)


def test_the_course_alone_brings_few_packages_and_begins_a_course(course: Installed) -> None:
    assert course.packages().isdisjoint({"numpy", "duckdb", *ENGINES})
    assert course.run("paddock-course", "--version") == f"{VERSION}\n"
    course.run("paddock-course", "init", "bread", "--title", "Bread")
    with course.started(
        "paddock-course", "serve", "--root", course.home / "bread", "--port", "0"
    ) as program:
        catalog = ask(f"{program.address()}/api/v1/catalog.json")
    assert [phase["id"] for phase in catalog["phases"]] == ["first-steps"]
    note("course", course, program)


def test_what_is_not_installed_is_named(course: Installed) -> None:
    for words, extra in ((["bridge"], "bridge"), (["llm"], "llm")):
        done = subprocess.run(
            [course.program("paddock"), *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert f"pip install 'paddock[{extra}]' brings it\n" in done.stderr
        assert "Traceback" not in done.stderr


def listed_sessions(address: str) -> list[str]:
    return [session["session_id"] for session in ask(f"{address}/sessions")["sessions"]]


def test_a_pit_laptop_gets_the_bridge_without_engine_and_compiler(
    tmp_path: Path, wheel: Path
) -> None:
    bridge = Installed.make(tmp_path, wheel, "[bridge]", WHEELS_ONLY)
    assert bridge.packages().isdisjoint(ENGINES)
    assert bridge.run("paddock-bridge", "--version") == f"{VERSION}\n"
    with bridge.started("paddock-bridge", "--port", "0", "--simulate", "--example") as program:
        address = program.address()
        assert ask(f"{address}/health")["version"] == VERSION
        while "example" not in listed_sessions(address):
            time.sleep(0.2)
        question = {"question": "Where do I lose time?", "session_id": "example"}
        assert ask(f"{address}/coach/ask", question)["answer"]
    kept = bridge.home / "paddock"
    assert (kept / "data/cars/tarnhow-pip-180.yaml").is_file()
    assert (kept / "bridge").exists()
    assert not (kept / "data/models").exists()
    note("bridge", bridge, program)


def test_the_language_model_server_answers_without_a_compiler(tmp_path: Path, wheel: Path) -> None:
    stubs = pretend_compilers(tmp_path / "stubs")
    path = f"{stubs}{os.pathsep}{os.environ['PATH']}"
    llm = Installed.make(tmp_path, wheel, "[llm,prebuilt]", NO_COMPILER, PATH=path)
    assert not (stubs / "called").exists()
    assert llm.run("paddock-llm", "--version") == f"{VERSION}\n"
    with llm.started("paddock-llm", "--port", "0") as program:
        answer = ask(f"{program.address()}/v1/chat/completions", QUESTION)
    assert answer["choices"][0]["message"]["content"]
    assert (llm.home / "paddock").is_dir()
    note("llm", llm, program)


def test_everything_runs_side_by_side(tmp_path: Path, wheel: Path) -> None:
    everything = Installed.make(tmp_path, wheel, "[all,prebuilt]", NO_COMPILER)
    ports = [word for part in PARTS for word in (f"--{part}-port", "0")]
    with everything.started("paddock", *ports, "--no-search") as program:
        text = r"course +(\S+)\n.*OpenAI base URL: (\S+)\).*bridge +(\S+)/ "
        found = program.read_until(re.compile(text, re.DOTALL))
        assert len(ask(f"{found[1]}api/v1/catalog.json")["phases"]) > 5
        assert ask(f"{found[2]}/chat/completions", QUESTION)["choices"]
        concepts = ask(f"{found[3]}/coach/concepts")["concepts"]
    assert concepts[0]["lesson"]["url"].startswith(found[1])
    assert {path.name for path in everything.home.iterdir()} == {"paddock", "paddock.log"}
    note("all", everything, program)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean checkout, without what git does not know."""
    target = tmp_path_factory.mktemp("checkout")
    listed = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, listed):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target / name)
    return target


def test_plain_pip_installs_a_checkout_into_an_empty_environment(
    tmp_path: Path, source: Path
) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    installed = Installed(tmp_path / "venv", tmp_path / "home")
    run(installed.program("python"), "-m", "pip", "install", "--quiet", source)
    assert installed.run("paddock-course", "--version") == f"{VERSION}\n"


def test_uv_installs_a_checkout_as_a_tool(tmp_path: Path, source: Path) -> None:
    places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    env = {**os.environ, **places}
    run(UV, "tool", "install", "--quiet", "--python", sys.executable, ".", cwd=source, env=env)
    commands = {path.stem for path in (tmp_path / "bin").iterdir()}
    assert commands == {"paddock", "paddock-bridge", "paddock-course", "paddock-llm"}
    shown = run(tmp_path / "bin/paddock", "--version", env=environment(tmp_path / "home"))
    assert shown == f"{VERSION}\n"


def offline() -> list[str]:
    """What a command is put behind to have no network, where the system allows that."""
    apart = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        done = subprocess.run([*apart, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return []
    return [] if done.returncode else apart


def test_a_bundle_installs_without_network(tmp_path: Path) -> None:
    out = tmp_path / "dist"
    run(sys.executable, "-m", "tools.bundle", "--out", out, "--no-search-model", cwd=ROOT)
    (archive,) = out.iterdir()
    run("tar", "-xf", archive, "-C", tmp_path)
    (folder,) = tmp_path.glob(f"paddock-{VERSION}-*")
    env = environment(tmp_path / "home", PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL="none:")
    target = tmp_path / "paddock"
    run(*offline(), sys.executable, folder / "install.py", target, env=env)
    installed = Installed(target, tmp_path / "home")
    assert (installed.home / "paddock/site/index.html").is_file()
    with installed.started("paddock-llm", "--port", "0") as program:
        assert ask(f"{program.address()}/v1/chat/completions", QUESTION)["choices"]
    size = archive.stat().st_size / 1e6
    MEASURED.append(("bundle, compressed", "", f"{size:.0f}", ""))
