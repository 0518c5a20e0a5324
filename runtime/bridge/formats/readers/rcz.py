"""Reads RaceChrono's .rcz sessions: archives with one file per channel."""

import json
import re
import zipfile
import zlib
from collections.abc import Mapping
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.logger_laps import Lap
from runtime.bridge.formats.number_rows import LARGEST_FILE
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels, select_texts
from runtime.bridge.session.recording import Numbers, Recording, Samples

_MOST_FILES: Final = 4096
_LARGEST_TEXT: Final = 4 * 1024 * 1024
_NAME: Final = re.compile(r"channel2?_(\d{1,9})_(\d{1,9})_(\d{1,9})_(\d{1,9})_(\d{1,2})")
_TIME, _DISTANCE, _PLACE = "1", "2", "3"
_MINUTES: Final = 6_000_000.0
"""Positions are hundred-thousandths of a minute."""
_GPS: Final = "1"
_KINDS: Final = {"2": "acc", "3": "gyro", "5": "obd", "6": "hrm", "8": "magn", "12": "canbus"}
"""Device kinds; others are named by number."""
_NO_VALUE: Final = (2**31 - 1, -(2**31))
_LAPS: Final = 1000


class _Channel(NamedTuple):
    name: str
    unit: str
    scale: float = 0.001
    """Scale of integers; floats are stored unscaled."""


_CHANNELS: Final[Mapping[str, _Channel]] = {
    "4": _Channel("speed", "m/s"),
    "5": _Channel("altitude", "m"),
    "6": _Channel("bearing", "deg"),
    "9": _Channel("x_acc", "m/s2"),
    "10": _Channel("y_acc", "m/s2"),
    "11": _Channel("z_acc", "m/s2"),
    "12": _Channel("x_rotation", "deg/s"),
    "13": _Channel("y_rotation", "deg/s"),
    "14": _Channel("z_rotation", "deg/s"),
    "41": _Channel("heart_rate", "bpm"),
    "1002": _Channel("brake_pos", "%"),
    "1005": _Channel("gearbox_temp", "c"),
    "10024": _Channel("rpm", "rpm"),
    "10025": _Channel("throttle_pos", "%"),
    "10026": _Channel("coolant_temp", "c"),
    "10029": _Channel("intake_temp", "c"),
    "10066": _Channel("engine_oil_temp", "c"),
    "10071": _Channel("accelerator_pos", "%"),
    "30002": _Channel("satellites", "", 1.0),
    "30003": _Channel("fix_type", "", 1.0),
}
"""By the number of the app; the file has no names."""
_FAULTS: Final = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, KeyError,
    NotImplementedError,
)  # fmt: skip
"""What zipfile raises on damaged, encrypted and exotic archives."""


def read_rcz(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read an archive of one session. Raises `UnreadableRecording`."""
    try:
        with zipfile.ZipFile(stream) as archive:
            files = _find_files(archive)
            session = _read_json(archive, files.get("session.json"))
            channels, units = _read_channels(archive, files)
    except UnreadableRecording:
        raise
    except _FAULTS as error:
        raise UnreadableRecording("the file is not a RaceChrono session, or is damaged") from error
    begin = min(float(samples.t[0]) for samples in channels.values())
    name = session.get("trackName")
    return build_from_channels(
        {title: Samples(t - begin, value) for title, (t, value) in channels.items()},
        units,
        form="racechrono_rcz",
        created=begin,
        offset=begin,
        laps=_read_laps(session, begin),
        facts=select_texts({"venue": name} if isinstance(name, str) else {}, {"venue": "venue"}),
        options=options,
    )


def _find_files(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of the session by name in its folder."""
    entries = archive.infolist()
    if len(entries) > _MOST_FILES:
        raise UnreadableRecording(f"the archive has more than {_MOST_FILES} files")
    if sum(entry.file_size for entry in entries) > LARGEST_FILE:
        raise UnreadableRecording(f"the file unpacks to more than {LARGEST_FILE // 2**20} MiB")
    folders = {
        entry.filename.rpartition("/")[0] for entry in entries if "channel" in entry.filename
    }
    if len(folders) > 1:
        raise UnreadableRecording(f"the archive holds {len(folders)} sessions: export one")
    folder = next(iter(folders), "")
    return {
        entry.filename.rpartition("/")[2]: entry
        for entry in entries
        if entry.filename.rpartition("/")[0] == folder
    }


def _read_file(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, most: int) -> bytes:
    """Read a file, at most the size that its entry declares."""
    if entry.file_size > most:
        raise UnreadableRecording("a file of the archive is too large")
    with archive.open(entry) as file:
        return file.read(entry.file_size)


def _read_json(archive: zipfile.ZipFile, entry: zipfile.ZipInfo | None) -> dict[str, object]:
    if entry is None:
        return {}
    try:
        value = json.loads(_read_file(archive, entry, _LARGEST_TEXT))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _read_channels(
    archive: zipfile.ZipFile, files: Mapping[str, zipfile.ZipInfo]
) -> tuple[dict[str, Samples], dict[str, str]]:
    clocks: dict[tuple[str, ...], Numbers] = {}
    channels: dict[str, Samples] = {}
    units: dict[str, str] = {}
    for title in sorted(files):
        match = _NAME.fullmatch(title)
        if match is None or match[4] in (_TIME, _DISTANCE):
            continue
        kind, *_, number, storage = match.groups()
        device = match.groups()[:3]
        if device not in clocks:
            clock = files.get(f"channel_{'_'.join(device)}_1_1")
            if clock is None:
                continue
            ticks = np.frombuffer(_cut_to_whole(_read_file(archive, clock, LARGEST_FILE), 8), "<i8")
            clocks[device] = ticks / 1000.0
        t = clocks[device]
        raw = _read_file(archive, files[title], LARGEST_FILE)
        for name, unit, values in _decode_values(kind, number, storage, raw):
            count = min(len(t), len(values))
            good = (np.abs(values[:count]) < 1e30) & (t[:count] > 0) & (t[:count] < 1e11)
            if good.any():
                own = name if name not in channels else f"{name} {'_'.join(device)}"
                whole = count == len(t) and bool(good.all())
                channels[own] = Samples(t if whole else t[:count][good], values[:count][good])
                units[own] = unit
    if not channels:
        raise UnreadableRecording("the archive holds no channel with values")
    return channels, units


def _cut_to_whole(raw: bytes, size: int) -> bytes:
    return raw[: len(raw) // size * size]


def _decode_values(
    kind: str, number: str, storage: str, raw: bytes
) -> list[tuple[str, str, Numbers]]:
    """Return names, units and values of a file; positions are two channels."""
    if number == _PLACE:
        pairs = np.frombuffer(_cut_to_whole(raw, 8), "<i4").reshape(-1, 2) / _MINUTES
        return [("latitude", "deg", pairs[:, 0]), ("longitude", "deg", pairs[:, 1])]
    name, unit, scale = _CHANNELS.get(number, _Channel(f"channel_{number}", "", 1.0))
    if kind != _GPS:
        name = f"{name}_{_KINDS.get(kind, kind)}"
    if storage == "3":
        return [(name, unit, np.frombuffer(_cut_to_whole(raw, 8), "<f8"))]
    if storage != "0":
        return []
    whole = np.frombuffer(_cut_to_whole(raw, 4), "<i4")
    return [(name, unit, np.where(np.isin(whole, _NO_VALUE), np.nan, whole * scale))]


def _read_laps(session: Mapping[str, object], begin: float) -> list[Lap]:
    """Return the laps timed by the app, in seconds since *begin*."""
    laps = session.get("laps")
    timed = []
    for lap in laps[:_LAPS] if isinstance(laps, list) else ():
        if not isinstance(lap, dict):
            continue
        first, last = lap.get("startTimestamp"), lap.get("finishTimestamp")
        if isinstance(first, int) and isinstance(last, int) and 0 < first < last < 10**14:
            timed.append(Lap(first / 1000.0 - begin, last / 1000.0 - begin, whole=True))
    return timed
