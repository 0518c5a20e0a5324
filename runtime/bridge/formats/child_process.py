"""Reads MF4 and XRK files in a child process.

Their libraries hold whole files in memory, write into what they read and are partly native code,
so a damaged file must not be able to harm the bridge. The child runs ``readers.mf4_child`` or
``readers.xrk_child``, which import little to start fast.
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, BinaryIO, Final, NamedTuple, TypeVar

import numpy as np

from runtime.bridge.formats.options import FormatNotInstalled, UnreadableRecording
from runtime.bridge.session.recording import Numbers, Samples

LONGEST_S: Final = 300.0
"""Time limit for one file."""
REFUSED: Final = 3
"""Exit code of a child that wrote the reason to standard error."""
_ROOT: Final = Path(__file__).resolve().parents[3]
_MEMORY: Final = 8 << 30
_BASE_MEMORY: Final = 256 << 20
"""Bytes allowed for any file, in addition to `_MEMORY_PER_BYTE`; `_MEMORY` caps the total."""
_MEMORY_PER_BYTE: Final = 64
"""Bytes allowed for each byte of the file, which may be compressed."""
L = TypeVar("L")
_EXTRAS: Final = {"mf4": ("asammdf", "MDF 4"), "xrk": ("libxrk", "AiM")}


class ChildOutput(NamedTuple):
    """The contents of a file, as the child hands them over."""

    meta: Mapping[str, object]
    arrays: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]
    channels: Mapping[str, Samples]
    units: Mapping[str, str]


def read_in_child(stream: BinaryIO, extra: str) -> ChildOutput:
    """Read an open file in a child process; *extra* is ``mf4`` or ``xrk``. Blocks.

    Raises `FormatNotInstalled` and `UnreadableRecording`.
    """
    package, what = _EXTRAS[extra]
    if importlib.util.find_spec(package) is None:
        raise FormatNotInstalled(
            f"{what} files need the package {package}, which is not installed here: "
            f"install the extra {extra} (pip install {package})"
        )
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as source:
        while part := stream.read(1 << 20):
            source.write(part)
        source.seek(0)
        _run(extra, source, output)
        output.seek(0)
        return _load_output(output)


def _run(extra: str, source: IO[bytes], output: IO[bytes]) -> None:
    try:
        child = subprocess.run(
            [sys.executable, "-m", f"runtime.bridge.formats.readers.{extra}_child"],
            stdin=source,
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=LONGEST_S,
            check=False,
            cwd=_ROOT,
        )
    except subprocess.TimeoutExpired:
        raise UnreadableRecording("the file takes too long to read") from None
    if child.returncode == REFUSED:
        lines = child.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnreadableRecording(lines[-1][:300] if lines else "the file cannot be read")
    if child.returncode:
        raise UnreadableRecording(
            f"the {_EXTRAS[extra][1]} file is damaged, or of a kind that its reader does not know"
        )


def _load_output(output: IO[bytes]) -> ChildOutput:
    with np.load(output, allow_pickle=False) as arrays:
        loaded = {name: arrays[name] for name in arrays.files}
    meta = json.loads(loaded.pop("meta").tobytes())
    channels, units = {}, {}
    times: dict[str, Numbers] = {}
    for at, (name, unit, clock) in enumerate(meta.pop("channels", ())):
        times.setdefault(clock, loaded[clock])
        channels[name] = Samples(times[clock], loaded[f"v{at}"])
        units[name] = unit
    return ChildOutput(meta, loaded, channels, units)


class Refused(Exception):
    """The child cannot read the file; users see the text as it is."""


def write_output(
    meta: Mapping[str, object],
    arrays: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
    channels: Mapping[str, tuple[Numbers, Numbers, str]],
) -> None:
    """Hand over the contents of a file, in the child. *channels*: times, values, unit."""
    saved = dict(arrays)
    clocks: dict[bytes, str] = {}
    listed = []
    for at, (name, (t, value, unit)) in enumerate(channels.items()):
        t = np.ascontiguousarray(t, np.float64)
        clock = clocks.setdefault(t.tobytes(), f"t{len(clocks)}")
        saved[clock] = t
        saved[f"v{at}"] = np.ascontiguousarray(value, np.float64)
        listed.append((name, unit, clock))
    text = json.dumps({**meta, "channels": listed}).encode()
    np.savez(sys.stdout.buffer, allow_pickle=False, meta=np.frombuffer(text, np.uint8), **saved)


def run_child(load: Callable[[], L], read: Callable[[L, BinaryIO], None]) -> int:
    """Load a library, *read* standard input with it, and return the exit code of the process."""
    try:
        library = load()
        with open(0, "r+b", closefd=False) as stream:
            _limit_memory(os.fstat(0).st_size)
            read(library, stream)
    except Refused as problem:
        sys.stderr.write(f"{problem}\n")
        return REFUSED
    except Exception:  # noqa: BLE001 - libraries raise anything on damaged files
        return 1
    return 0


def _limit_memory(size: int) -> None:
    """Cap the memory for a file of *size* bytes: a damaged file may declare huge contents."""
    try:
        import resource  # absent on Windows
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):  # not every system has these limits
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted = pages * resource.getpagesize() + _BASE_MEMORY + _MEMORY_PER_BYTE * size
        most = min(wanted, _MEMORY, *([] if hard == resource.RLIM_INFINITY else [hard]))
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
