"""Reads MDF 4 files with asammdf in a child process, see `child_process`."""

import contextlib
import importlib
import io
import sys
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np

from runtime.bridge.can.frames import CLASSIC, EXTENDED, LARGEST_ID, LATEST, LONGEST
from runtime.bridge.formats import child_process
from runtime.bridge.formats.child_process import Refused
from runtime.bridge.session.recording import Numbers

Column: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[Any]]
FRAME: Final = "CAN_DataFrame"
MOST_CHANNELS: Final = 4000
MOST_VALUES: Final = 100_000_000


def load_mdf() -> Callable[[BinaryIO], Any]:
    """Import the class `MDF` of asammdf, an extra that only this process needs."""
    return importlib.import_module("asammdf").MDF  # type: ignore[no-any-return]


def read(load: Callable[[BinaryIO], Any], stream: BinaryIO) -> None:
    """Hand over the contents of a file; *load* is the class that reads it."""
    with contextlib.redirect_stdout(io.StringIO()):
        mdf: Any = load(stream)
        start = mdf.header.start_time
        begun = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
        meta: dict[str, object] = {"created": begun if begun > 0 else None}
        arrays = _read_frames(mdf, max(begun, 0.0), meta)
        channels: Mapping[str, tuple[Numbers, Numbers, str]] = {}
        if arrays is None:
            meta["own"] = True
            channels = _read_channels(mdf, max(begun, 0.0))
            if not channels:
                raise Refused("the MDF file holds neither CAN frames nor channels")
    child_process.write_output(meta, arrays or {}, channels)


def _read_frames(mdf: Any, start: float, meta: dict[str, object]) -> dict[str, Column] | None:
    parts: list[tuple[Column, ...]] = []
    bus = False
    for at, group in enumerate(mdf.groups):
        names = [channel.name for channel in group.channels]
        count = int(group.channel_group.cycles_nr)
        for other, word in (("errors", "CAN_ErrorFrame"), ("remote", "CAN_RemoteFrame")):
            if word in names:
                meta[other] = int(meta.get(other, 0)) + count  # type: ignore[call-overload]
        if FRAME not in names:
            continue
        bus = True
        if count:
            parts.append(_read_group(mdf.get(FRAME, group=at, raw=True), start))
    if not bus:
        return None
    if not parts:
        raise Refused("the MDF file is a bus log without CAN frames")
    width = max(part[3].shape[1] for part in parts)
    padded = [np.pad(part[3], ((0, 0), (0, width - part[3].shape[1]))) for part in parts]
    joined = [np.concatenate([part[at] for part in parts]) for at in (0, 1, 2, 4)]
    names_of = ("t", "key", "length", "bus")
    return {**dict(zip(names_of, joined, strict=True)), "data": np.concatenate(padded)}


def _read_group(signal: Any, start: float) -> tuple[Column, ...]:
    """Return time, key, length, payload and bus of the frames of a group."""
    field: dict[str, Column] = {
        name.removeprefix(f"{FRAME}."): signal.samples[name]
        for name in signal.samples.dtype.names or ()
    }
    raw = field["ID"].astype(np.int64)
    extended = field["IDE"].astype(bool) if "IDE" in field else raw > 0x7FF
    key = np.where(extended, (raw & LARGEST_ID) | EXTENDED, raw & 0x7FF)
    data = np.atleast_2d(field["DataBytes"]).astype(np.uint8)
    width = CLASSIC if data.shape[1] <= CLASSIC else LONGEST
    data = np.pad(data[:, :LONGEST], ((0, 0), (0, max(width - data.shape[1], 0))))
    lengths = field["DataLength" if "DataLength" in field else "DLC"]
    length = np.minimum(lengths.astype(np.int64), width)
    data[np.arange(width) >= length[:, None]] = 0
    bus = field["BusChannel"].astype(np.int64) if "BusChannel" in field else np.zeros_like(raw)
    t = signal.timestamps.astype(np.float64) + start
    return t, key, length, data, bus


def _read_channels(mdf: Any, start: float) -> dict[str, tuple[Numbers, Numbers, str]]:
    """Return the numeric channels in physical values, by unique names."""
    channels: dict[str, tuple[Numbers, Numbers, str]] = {}
    values = 0
    for at, group in enumerate(mdf.groups):
        for place, channel in enumerate(group.channels):
            if len(channels) >= MOST_CHANNELS or place == mdf.masters_db.get(at):
                continue
            try:
                signal = _choose_numeric(mdf.get(group=at, index=place, raw=True))
            except Exception:  # noqa: BLE001, S112 - costs only this channel
                continue
            if signal is None:
                continue
            value = signal.samples.astype(np.float64)
            t = signal.timestamps.astype(np.float64) + start
            valid = np.isfinite(value) & (np.abs(t) < LATEST)  # False for NaN
            values += len(value)
            if values > MOST_VALUES:
                raise Refused(f"the file holds more than {MOST_VALUES} values")
            if valid.any():
                name = channel.name if channel.name not in channels else f"{channel.name}_{at}"
                channels[name] = t[valid], value[valid], str(signal.unit or "")
    return channels


def _choose_numeric(raw: Any) -> Any:
    """Return the physical signal, or the raw one if its values are texts; None without numbers."""
    for signal in (raw.physical(), raw):
        if signal.samples.ndim == 1 and signal.samples.dtype.kind in "biuf":
            return signal
    return None


if __name__ == "__main__":
    sys.exit(child_process.run_child(load_mdf, read))
