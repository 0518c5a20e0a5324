"""Reads AiM's XRK and XRZ files by way of libxrk."""

import contextlib
import io
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.imports import foreign
from runtime.bridge.imports.foreign import Refused
from runtime.bridge.telemetry.values import Numbers

_TOLD: Final = ("Driver", "Vehicle", "Venue", "Session", "Long Comment", "Device Name")
_DATE: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})")


def created_of(metadata: Mapping[str, object]) -> float | None:
    """Unix seconds of the date and time in the head, month first, read as UTC."""
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


def _read(stream: BinaryIO) -> None:
    from libxrk import aim_xrk  # an extra; only this process needs it

    with contextlib.redirect_stdout(io.StringIO()):
        log = aim_xrk(stream.read())
    channels: dict[str, tuple[Numbers, Numbers, str]] = {}
    for name, table in log.channels.items():
        value = table.column(name).to_numpy(zero_copy_only=False)
        if value.dtype.kind not in "biuf":
            continue
        t = table.column("timecodes").to_numpy().astype(np.float64) / 1000.0
        value = value.astype(np.float64)
        known = np.isfinite(value)
        unit = (
            (table.schema.field(name).metadata or {}).get(b"units", b"").decode("utf-8", "replace")
        )
        if known.any():
            channels[name] = t[known], value[known], unit
    if not channels:
        raise Refused("the AiM file holds no channel with values")
    lines = [f"{word}: {log.metadata[word]}"[:500] for word in _TOLD if log.metadata.get(word)]
    foreign.write({"created": created_of(log.metadata), "comments": lines}, {}, channels)


if __name__ == "__main__":
    sys.exit(foreign.main(_read))
