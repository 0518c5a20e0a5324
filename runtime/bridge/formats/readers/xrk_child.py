"""Reads AiM's files with libxrk in a child process, see `child_process`."""

import contextlib
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

import numpy as np

from runtime.bridge.formats import child_process
from runtime.bridge.formats.child_process import Refused
from runtime.bridge.session.recording import Numbers

_TEXTS: Final = ("Driver", "Vehicle", "Venue", "Session", "Long Comment", "Device Name")
_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})")


def parse_creation_time(metadata: Mapping[str, object]) -> float | None:
    """Parse date and time of the head, month first, as UTC; returns Unix seconds."""
    day = _DATE.search(str(metadata.get("Log Date", "")))
    clock = _TIME.search(str(metadata.get("Log Time", "")))
    if day is None:
        return None
    hour, minute, second = (int(part) for part in clock.groups()) if clock else (0, 0, 0)
    first, middle, year = (int(part) for part in day.groups())
    month, date = (first, middle) if first <= 12 else (middle, first)
    try:
        return datetime(year, month, date, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def load_xrk() -> Callable[[bytes], Any]:
    """Import the reader of libxrk, an extra that only this process needs."""
    from libxrk import aim_xrk

    return aim_xrk


def read(load: Callable[[bytes], Any], stream: BinaryIO) -> None:
    """Hand over the contents of a file; *load* reads it."""
    with contextlib.redirect_stdout(io.StringIO()):
        log = load(stream.read())
    channels: dict[str, tuple[Numbers, Numbers, str]] = {}
    functions: dict[str, str] = {}
    for name, table in log.channels.items():
        value = table.column(name).to_numpy(zero_copy_only=False)
        if value.dtype.kind not in "biuf":
            continue
        t = table.column("timecodes").to_numpy().astype(np.float64) / 1000.0
        value = value.astype(np.float64)
        finite = np.isfinite(value)
        about = table.schema.field(name).metadata or {}
        if finite.any():
            channels[name] = t[finite], value[finite], _decode(about, b"units")
            functions[name] = _decode(about, b"function")
    if not channels:
        raise Refused("the AiM file holds no channel with values")
    lines = [f"{word}: {log.metadata[word]}"[:500] for word in _TEXTS if log.metadata.get(word)]
    meta = {
        "created": parse_creation_time(log.metadata),
        "comments": lines,
        "functions": functions,
        "laps": convert_laps(log.laps.to_pylist() if log.laps is not None else ()),
        "texts": {name: str(log.metadata[name]) for name in _TEXTS if log.metadata.get(name)},
    }
    child_process.write_output(meta, {}, channels)


def convert_laps(rows: Sequence[Mapping[str, object]]) -> list[tuple[float, float, bool]]:
    """Return begin and end (s) of each lap, and whether it goes from line to line."""
    laps = []
    for row in rows:
        begin, end = row.get("start_time"), row.get("end_time")
        if isinstance(begin, int | float) and isinstance(end, int | float) and end > begin >= 0:
            laps.append((begin / 1000.0, end / 1000.0, row.get("lap_type", "full") == "full"))
    return laps


def _decode(about: Mapping[bytes, bytes], key: bytes) -> str:
    return about.get(key, b"").decode("utf-8", "replace")


if __name__ == "__main__":
    sys.exit(child_process.run_child(load_xrk, read))
