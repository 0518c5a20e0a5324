"""Choose a llama.cpp: the one compiled here, else the one in a prebuilt wheel.

llama-cpp-python declares the functions and structures of llama.cpp. If it was installed without a
compiler, it has no library of its own, and the library in the wheel of xllamacpp, which exports the
same functions, is loaded instead. Structures change between versions of llama.cpp without a trace
in the library, so only the version of that wheel with the same header is accepted.
"""

import ctypes
import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from runtime.llm.engine.worker.resources import Refused

DECLARED: Final = "0.3.36"
"""The version of llama-cpp-python with the same structures as `PREBUILT`."""
PREBUILT: Final = "2026.9.11063"
DEFAULTS: Final[dict[str, dict[str, int | bool | float]]] = {
    "llama_context_default_params": {
        "n_ctx": 512,
        "n_seq_max": 1,
        "yarn_orig_ctx": 0,
        "defrag_thold": -1.0,
        "type_k": 1,
        "type_v": 1,
        "embeddings": False,
        "offload_kqv": True,
        "op_offload": True,
        "swa_full": True,
        "kv_unified": False,
        "n_samplers": 0,
    },
    "llama_model_default_params": {
        "split_mode": 1,
        "main_gpu": 0,
        "vocab_only": False,
        "use_extra_bufts": True,
        "no_host": False,
        "no_alloc": False,
    },
}
"""Defaults of llama.cpp's structures: a misplaced field has a different value."""
_WHEEL: Final = "xllamacpp"


class NoLibrary(Refused):
    """No llama.cpp can be used; the text contains no path."""


class Library(NamedTuple):
    """A loaded llama.cpp."""

    functions: ModuleType
    """The declarations of `llama_cpp.llama_cpp`."""
    name: str
    """Package and version, and whether it was compiled here."""


def load() -> Library:
    """Load the library. Raises `NoLibrary`."""
    folder = _find_declarations()
    version = _read_version(folder, "llama_cpp_python")
    if os.environ.get("LLAMA_CPP_LIB_PATH") or any((folder / "lib").glob("*llama*")):
        name = f"llama-cpp-python {version}, compiled"
    else:
        path, prebuilt = _find_wheel()
        if (version, prebuilt) != (DECLARED, PREBUILT):
            raise NoLibrary(
                f"llama-cpp-python {version} and {_WHEEL} {prebuilt} do not match; this"
                f" server needs {DECLARED} and {PREBUILT}"
            )
        loading = importlib.import_module("llama_cpp._ctypes_extensions")
        loading.__dict__["load_shared_library"] = lambda *_: _Lenient(str(path))
        name = f"{_WHEEL} {prebuilt}, prebuilt"
    try:
        functions = importlib.import_module("llama_cpp.llama_cpp")
    except (OSError, RuntimeError) as error:
        reason = re.sub(r"\S*[\\/]", "", str(error))  # without the folders
        raise NoLibrary(f"{name}: the library cannot be loaded: {reason}") from error
    check_structures(functions, name)
    return Library(functions, name)


def check_structures(functions: ModuleType, name: str) -> None:
    """Raise `NoLibrary` if a field is not where it is declared."""
    for function, fields in DEFAULTS.items():
        filled = getattr(functions, function)()
        for field, value in fields.items():
            if getattr(filled, field) != value:
                raise NoLibrary(f"{name}: its structures differ from the declared ones ({field})")


def _find_declarations() -> Path:
    """Find llama-cpp-python without importing its package, which takes 0.5 s and 26 MB."""
    if "llama_cpp" not in sys.modules:
        package = ModuleType("llama_cpp")
        package.__path__ = [str(_find_package("llama_cpp"))]
        sys.modules["llama_cpp"] = package
    return Path(sys.modules["llama_cpp"].__path__[0])


def _find_package(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise NoLibrary(f"{package} is not installed; `make setup` installs an engine")
    return Path(spec.submodule_search_locations[0])


def _read_version(folder: Path, distribution: str) -> str:
    """The installed version, from the name of its metadata folder: reading it takes 30 ms."""
    names = [path.name for path in folder.parent.glob(f"{distribution}-*.dist-info")]
    return names[0].removesuffix(".dist-info").partition("-")[2] if names else "of unknown version"


def _find_wheel() -> tuple[Path, str]:
    """Find the library in the prebuilt wheel, and its version."""
    folder = _find_package(_WHEEL)
    libraries = sorted(folder.glob(f"{_WHEEL}*.so"))
    if not libraries:  # on Windows it is a .pyd that does not export llama.cpp
        raise NoLibrary(f"{_WHEEL} has no library for this system; llama.cpp must be compiled")
    return libraries[0], _read_version(folder, _WHEEL)


class _Lenient(ctypes.CDLL):
    """A library that may lack functions of llama.cpp: only calling one is an error."""

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if not name.startswith("llama_"):
                raise

            def missing(*_: object) -> object:
                raise OSError(f"this library has no {name}")

            return missing
