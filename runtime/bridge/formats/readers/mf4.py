"""Reads MDF 4 files: bus frames if the file has any, else its channels."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from runtime.bridge.can.frames import LATEST, Batch
from runtime.bridge.formats import child_process
from runtime.bridge.formats.can_recording import CHUNK, Tally, read_can_log
from runtime.bridge.formats.child_process import ChildOutput
from runtime.bridge.formats.options import Options
from runtime.bridge.formats.recording_builder import build_from_channels
from runtime.bridge.session.recording import Recording


def read_mf4(stream: BinaryIO, options: Options) -> Recording:
    """Read the bus in an MDF file, else its channels. Raises `UnreadableRecording`."""
    contents = child_process.read_in_child(stream, "mf4")
    if not contents.meta.get("own"):
        return read_can_log(
            stream,
            options,
            form="mf4",
            read_frames=lambda _, tally: _read_bus_frames(contents, tally),
        )
    created = _to_float(contents.meta.get("created"))
    return build_from_channels(
        contents.channels, contents.units, form="mf4", created=created, options=options
    )


def _read_bus_frames(contents: ChildOutput, tally: Tally) -> Iterator[Batch]:
    """Yield the frames of the bus by time; channels are bus numbers."""
    tally.created = _to_float(contents.meta.get("created"))
    tally.errors = int(_to_float(contents.meta.get("errors")) or 0)
    tally.remote = int(_to_float(contents.meta.get("remote")) or 0)
    arrays = contents.arrays
    t = arrays["t"].astype(np.float64)
    good = np.abs(t) < LATEST
    tally.malformed += int(np.count_nonzero(~good))
    bus = arrays["bus"].astype(np.int64)
    for number in np.unique(bus[good]).tolist():
        mine = good & (bus == number)
        if not tally.count_and_select(str(number), int(np.count_nonzero(mine))):
            good &= ~mine
    order = np.flatnonzero(good)
    order = order[np.argsort(t[order], kind="stable")]
    key, length, data = arrays["key"], arrays["length"], arrays["data"]
    for at in range(0, len(order), CHUNK):
        rows = order[at : at + CHUNK]
        yield Batch(
            t[rows],
            key[rows].astype(np.int64),
            length[rows].astype(np.uint8),
            data[rows].astype(np.uint8),
        )


def _to_float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
