"""Reads MDF 4 files: the frames of a bus where they hold those, else their own channels."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from runtime.bridge.can.frames import LATEST, Batch
from runtime.bridge.formats import child_process
from runtime.bridge.formats.can_recording import CHUNK, Tally, read_can_log
from runtime.bridge.formats.child_process import ChildOutput
from runtime.bridge.formats.options import Options
from runtime.bridge.formats.recording_builder import record_channels
from runtime.bridge.session.recording import Recording


def read_mf4(stream: BinaryIO, options: Options) -> Recording:
    """A recording of the bus in an MDF file, else of its channels. Raises `UnreadableRecording`."""
    found = child_process.read_in_child(stream, "mf4")
    if not found.meta.get("own"):
        return read_can_log(
            stream, options, form="mf4", read_frames=lambda _, tally: _bus_frames(found, tally)
        )
    created = _number(found.meta.get("created"))
    return record_channels(
        found.channels, found.units, form="mf4", created=created, options=options
    )


def _bus_frames(found: ChildOutput, tally: Tally) -> Iterator[Batch]:
    """The frames of the bus by time; a channel is the number of a bus."""
    tally.created = _number(found.meta.get("created"))
    tally.errors = int(_number(found.meta.get("errors")) or 0)
    tally.remote = int(_number(found.meta.get("remote")) or 0)
    arrays = found.arrays
    t = arrays["t"].astype(np.float64)
    good = np.abs(t) < LATEST
    tally.malformed += int(np.count_nonzero(~good))
    bus = arrays["bus"].astype(np.int64)
    for number in np.unique(bus[good]).tolist():
        mine = good & (bus == number)
        if not tally.takes(str(number), int(np.count_nonzero(mine))):
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


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
