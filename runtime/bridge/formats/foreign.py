"""Reads formats of others, MF4 and XRK, in a process of its own.

The libraries that know them hold whole files in memory, write into what they read, and are partly
native code: whatever a damaged file does to them must not happen to the bridge. That process runs
``mf4_reader`` or ``xrk_reader``, which import little: a small file takes no longer than that.
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
"""A file that takes longer is given up."""
REFUSED: Final = 3
"""Exit code of a reader that says why it cannot."""
_ROOT: Final = Path(__file__).resolve().parents[3]
_MEMORY: Final = 8 << 30
_MEMORY_BESIDE: Final = 256 << 20
"""Bytes that a file may take beside those of `_MEMORY_SHARE`, up to `_MEMORY` with all else."""
_MEMORY_SHARE: Final = 64
"""Bytes for each one of the file, which may be compressed."""
L = TypeVar("L")
_EXTRAS: Final = {"mf4": ("asammdf", "MDF 4"), "xrk": ("libxrk", "AiM")}


class Foreign(NamedTuple):
    """What a reader of another format found."""

    meta: Mapping[str, object]
    arrays: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]
    channels: Mapping[str, Samples]
    units: Mapping[str, str]


def read_apart(stream: BinaryIO, extra: str) -> Foreign:
    """Read the open file in a process; *extra* is ``mf4`` or ``xrk``. Blocks.

    Raises `FormatNotInstalled` and `UnreadableRecording`.
    """
    package, what = _EXTRAS[extra]
    if importlib.util.find_spec(package) is None:
        raise FormatNotInstalled(
            f"{what} files need the package {package}, which is not installed here: "
            f"install the extra {extra} (pip install {package})"
        )
    with tempfile.TemporaryFile() as found, tempfile.TemporaryFile() as given:
        while part := stream.read(1 << 20):
            given.write(part)
        given.seek(0)
        _run(extra, given, found)
        found.seek(0)
        return _loaded(found)


def _run(extra: str, given: IO[bytes], found: IO[bytes]) -> None:
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"runtime.bridge.formats.{extra}_reader"],
            stdin=given,
            stdout=found,
            stderr=subprocess.PIPE,
            timeout=LONGEST_S,
            check=False,
            cwd=_ROOT,
        )
    except subprocess.TimeoutExpired:
        raise UnreadableRecording("the file takes too long to read") from None
    if done.returncode == REFUSED:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UnreadableRecording(lines[-1][:300] if lines else "the file cannot be read")
    if done.returncode:
        raise UnreadableRecording(
            f"the {_EXTRAS[extra][1]} file is damaged, or of a kind that its reader does not know"
        )


def _loaded(found: IO[bytes]) -> Foreign:
    with np.load(found, allow_pickle=False) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    meta = json.loads(kept.pop("meta").tobytes())
    channels, units = {}, {}
    times: dict[str, Numbers] = {}
    for at, (name, unit, clock) in enumerate(meta.pop("channels", ())):
        times.setdefault(clock, kept[clock])
        channels[name] = Samples(times[clock], kept[f"v{at}"])
        units[name] = unit
    return Foreign(meta, kept, channels, units)


class Refused(Exception):
    """Said to the user as it is."""


def write(
    meta: Mapping[str, object],
    arrays: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]],
    channels: Mapping[str, tuple[Numbers, Numbers, str]],
) -> None:
    """In the reader's process: hand over what was found. *channels*: times, values, unit."""
    kept = dict(arrays)
    clocks: dict[bytes, str] = {}
    told = []
    for at, (name, (t, value, unit)) in enumerate(channels.items()):
        t = np.ascontiguousarray(t, np.float64)
        clock = clocks.setdefault(t.tobytes(), f"t{len(clocks)}")
        kept[clock] = t
        kept[f"v{at}"] = np.ascontiguousarray(value, np.float64)
        told.append((name, unit, clock))
    text = json.dumps({**meta, "channels": told}).encode()
    np.savez(sys.stdout.buffer, allow_pickle=False, meta=np.frombuffer(text, np.uint8), **kept)


def main(load: Callable[[], L], read: Callable[[L, BinaryIO], None]) -> int:
    """Load a library and *read* standard input with it; the exit code of the process."""
    try:
        library = load()
        with open(0, "r+b", closefd=False) as stream:
            _limit_memory(os.fstat(0).st_size)
            read(library, stream)
    except Refused as problem:
        sys.stderr.write(f"{problem}\n")
        return REFUSED
    except Exception:  # noqa: BLE001 - libraries raise what they like at damaged files
        return 1
    return 0


def _limit_memory(size: int) -> None:
    """What a file of *size* bytes takes at most: a damaged one may say that it holds very much."""
    try:
        import resource  # absent on Windows
    except ImportError:
        return
    with contextlib.suppress(OSError, ValueError):  # not every system has these limits
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        wanted = pages * resource.getpagesize() + _MEMORY_BESIDE + _MEMORY_SHARE * size
        most = min(wanted, _MEMORY, *([] if hard == resource.RLIM_INFINITY else [hard]))
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
