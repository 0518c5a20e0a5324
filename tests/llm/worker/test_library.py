"""Which llama.cpp computes, and that a library that does not fit is refused before it harms."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from runtime.llm.engine.worker import library, native
from runtime.llm.engine.worker.library import DECLARED, DEFAULTS, PREBUILT, NoLibrary
from tests.llm import tinymodel

WORDS = [[f"{word} ".encode() for word in native.EXPECTED.split()]]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages where llama-cpp-python has declarations and no library."""
    monkeypatch.delenv("LLAMA_CPP_LIB_PATH", raising=False)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in [name for name in sys.modules if name.partition(".")[0] == "llama_cpp"]:
        monkeypatch.delitem(sys.modules, name)
    add(tmp_path, "llama_cpp", f"llama_cpp_python-{DECLARED}")
    loader = "def load_shared_library(*_): raise FileNotFoundError('none')\n"
    (tmp_path / "llama_cpp" / "_ctypes_extensions.py").write_text(loader, encoding="ascii")
    text = "from llama_cpp._ctypes_extensions import load_shared_library\nload_shared_library()\n"
    (tmp_path / "llama_cpp" / "llama_cpp.py").write_text(text, encoding="ascii")
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "llama_cpp"]:
        del sys.modules[name]  # monkeypatch brings the real ones back


def add(site: Path, package: str, metadata: str) -> Path:
    folder = site / package
    folder.mkdir()
    (folder / "__init__.py").touch()
    (site / f"{metadata}.dist-info").mkdir()
    return folder


def test_the_library_in_use_has_a_name_and_computes() -> None:
    assert library.DECLARED in native.LIBRARY or library.PREBUILT in native.LIBRARY
    native.check_library()
    assert any(device.startswith("CPU") for device in native.list_devices())


def test_the_model_of_the_selftest_is_the_one_that_answers_its_words(tmp_path: Path) -> None:
    shape = tinymodel.Shape(template=None, context=64)
    made = tinymodel.write_recall(tmp_path / "tiny.gguf", WORDS, width=64, shape=shape)
    assert native.TINY_MODEL.read_bytes() == made.read_bytes()


def test_a_library_that_computes_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native.Sampler, "sample", lambda *_: 65)
    with pytest.raises(native.EngineError, match="fails its self-test"):
        native.check_library()


def test_a_library_whose_structures_lie_elsewhere_is_refused() -> None:
    filled = {name: SimpleNamespace(**fields) for name, fields in DEFAULTS.items()}
    functions = ModuleType("functions")
    for name, fields in filled.items():
        setattr(functions, name, lambda fields=fields: fields)
    library.check_structures(functions, "some wheel")
    filled["llama_context_default_params"].offload_kqv = False  # as one field more before it shows
    with pytest.raises(NoLibrary, match=r"some wheel: .* \(offload_kqv\)"):
        library.check_structures(functions, "some wheel")


def test_without_a_library_of_its_own_or_a_wheel_it_is_said_what_to_do(site: Path) -> None:
    with pytest.raises(NoLibrary, match="xllamacpp is not installed; `make setup`"):
        library.load()


def test_another_version_of_the_wheel_is_not_even_loaded(site: Path) -> None:
    wheel = add(site, "xllamacpp", "xllamacpp-2026.10.11549")
    (wheel / "xllamacpp.abi3.so").write_bytes(b"would end the process")
    with pytest.raises(NoLibrary, match=f"needs {DECLARED} and {PREBUILT}"):
        library.load()


def test_a_wheel_whose_library_cannot_be_loaded_says_why_without_a_path(site: Path) -> None:
    wheel = add(site, "xllamacpp", f"xllamacpp-{PREBUILT}")
    (wheel / "xllamacpp.abi3.so").write_bytes(b"no library")
    with pytest.raises(NoLibrary, match=r"cannot be loaded: xllamacpp\.abi3\.so: ") as refused:
        library.load()
    assert str(site) not in str(refused.value)


def test_the_wheel_for_windows_exports_nothing(site: Path) -> None:
    wheel = add(site, "xllamacpp", f"xllamacpp-{PREBUILT}")
    (wheel / "xllamacpp.pyd").write_bytes(b"")
    with pytest.raises(NoLibrary, match="must be compiled"):
        library.load()
