"""The servers of the comparison: ours, llama-server, and the server of llama-cpp-python."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple

from bench.llm_servers import Kind, Launch

OURS: Final = "Paddock"
LLAMA_SERVER: Final = "llama-server"
LLAMA_CPP_SERVER: Final = "llama_cpp.server"
DEFAULTS: Final = ", defaults"
PASSIVE: Final = {"OMP_WAIT_POLICY": "PASSIVE"}
CONTEXT: Final = "4096"
PACKAGES: Final = (
    "uvicorn>=0.22",
    "fastapi>=0.100",
    "pydantic-settings>=2.0.1",
    "sse-starlette>=1.6.1",
    "starlette-context>=0.3.6,<0.4",
    "PyYAML",
    "typing-extensions",
    "numpy",
    "diskcache",
    "jinja2",
)
BUILD_FLAGS: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_CURL=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_UI=OFF",
)
NO_AMX: Final = "-mno-amx-int8 -mno-amx-tile -mno-amx-bf16"
"""GCC drops stores to AMX' tile configuration: servers built with it die at their first batch."""


class Tools(NamedTuple):
    """Where the peers are; None: not installed."""

    llama_server: Path | None
    peer_python: Path | None
    library: Path | None
    """A folder with libllama.so that our server loads instead of the packaged one."""


def find(folder: Path, llama_server: Path | None, library: Path | None) -> Tools:
    """What is installed: the given program, the built one, or one on the PATH."""
    built = folder / "llama-build" / "bin" / "llama-server"
    on_path = shutil.which("llama-server")
    candidates = [llama_server, built, Path(on_path) if on_path else None]
    program = next((path for path in candidates if path is not None and path.exists()), None)
    python = _peer_python(folder)
    return Tools(program, python if python.exists() else None, library)


def kinds(tools: Tools) -> list[Kind]:
    """Every server that is there, with the common settings and with its defaults."""
    queue = ("--threads", "{threads}", "--max-queue-depth", "100")
    found = _pair(Kind(OURS, _ours, queue, engine(tools.library), keeps_by_name=True), {})
    near: dict[str, str] = {}
    if tools.llama_server is not None:
        same = ("-t", "{threads}", "-tb", "{threads}", "-np", "1", "-c", CONTEXT)
        near = engine(tools.llama_server.resolve().parent)
        found += _pair(Kind(LLAMA_SERVER, _native(tools.llama_server), same, near), PASSIVE)
    if tools.peer_python is not None:
        threads = ("--n_threads", "{threads}", "--n_threads_batch", "{threads}")
        peer = Kind(
            LLAMA_CPP_SERVER,
            _python_server(tools.peer_python),
            (*threads, "--n_ctx", CONTEXT),
            {"PYTHONPATH": str(_engine_path(tools.peer_python)), **near},
            health="/v1/models",
            limit_field="max_tokens",
        )
        found += _pair(peer, PASSIVE)
    return found


def engine(folder: Path | None) -> dict[str, str]:
    """What makes a server load llama.cpp from *folder*, wherever it was built; both peers share."""
    if folder is None or not list(folder.glob("libllama.*")):
        return {}
    return {"LLAMA_CPP_LIB_PATH": str(folder), "LD_LIBRARY_PATH": str(folder)}


def _pair(kind: Kind, environment: Mapping[str, str]) -> list[Kind]:
    """The server with our settings, and as it comes."""
    tuned = kind._replace(environment={**kind.environment, **environment})
    return [tuned, kind._replace(name=kind.name + DEFAULTS, settings=())]


def _ours(launch: Launch) -> list[str]:
    return [
        *(sys.executable, "-m", "runtime.llm", "--port", str(launch.port)),
        *("--data-dir", str(launch.folder / "data"), "--models-dir", str(launch.model.parent)),
        *("--log-level", "warning"),
    ]


def _native(program: Path) -> Callable[[Launch], list[str]]:
    return lambda launch: [str(program), "-m", str(launch.model), "--port", str(launch.port)]


def _python_server(python: Path) -> Callable[[Launch], list[str]]:
    return lambda launch: [
        *(str(python), "-m", "llama_cpp.server", "--host", "127.0.0.1"),
        *("--model", str(launch.model), "--port", str(launch.port)),
    ]


# --- installing them


def install(folder: Path) -> None:
    """Put the server of llama-cpp-python into an environment of its own, with our engine."""
    python = _peer_python(folder)
    if not python.exists():
        _call([sys.executable, "-m", "venv", str(python.parent.parent)])
    _call([str(python), "-m", "pip", "install", "--quiet", *PACKAGES])
    package = importlib.util.find_spec("llama_cpp")
    if package is None or not package.submodule_search_locations:
        raise RuntimeError("llama-cpp-python is not installed")
    link = _engine_path(python) / "llama_cpp"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(package.submodule_search_locations[0], target_is_directory=True)


def build(folder: Path) -> Path:
    """llama-server from the sources inside llama-cpp-python's archive; ten minutes or more."""
    release = version("llama-cpp-python")
    target = folder / "llama-build"
    shutil.rmtree(target, ignore_errors=True)  # cmake refuses a folder of other sources
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        _fetch(release, Path(unpacked))
        source = Path(unpacked) / f"llama_cpp_python-{release}" / "vendor" / "llama.cpp"
        flags = [f"-DCMAKE_{language}_FLAGS={_compiler_flags()}" for language in ("C", "CXX")]
        _call(["cmake", "-S", str(source), "-B", str(target), *BUILD_FLAGS, *flags])
        jobs = str(os.cpu_count() or 1)
        _call(["cmake", "--build", str(target), "--target", "llama-server", "-j", jobs])
    return target / "bin" / "llama-server"


def _fetch(release: str, folder: Path) -> None:
    """The archive as the package index has it, unpacked."""
    wanted = f"llama-cpp-python=={release}"
    options = ["--no-deps", "--no-binary", ":all:", "--quiet"]
    _call([sys.executable, "-m", "pip", "download", *options, "-d", str(folder), wanted])
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")


def _compiler_flags() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    return NO_AMX if "amx_int8" in facts else ""


def _peer_python(folder: Path) -> Path:
    return folder / "llm-venv" / "bin" / "python"


def _engine_path(python: Path) -> Path:
    return python.parent.parent / "engine"


def _call(command: Sequence[str]) -> None:
    """Run an installer; raises RuntimeError when it fails."""
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"{command[0]} failed: {error}") from error
