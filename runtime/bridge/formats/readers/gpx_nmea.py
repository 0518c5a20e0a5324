"""Reads the files of GPS receivers and watches: NMEA sentences and GPX tracks."""

import math
import re
from collections import defaultdict
from typing import BinaryIO, Final
from xml.parsers import expat

import numpy as np

from runtime.bridge.formats.dates import parse_day, parse_moment
from runtime.bridge.formats.number_rows import LARGEST_FILE, MOST_ROWS, read_blocks
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.recording_builder import build_from_channels, select_texts
from runtime.bridge.session.recording import ReadWarning, Recording, Samples
from runtime.bridge.session.units import KMH

DAY_S: Final = 86_400.0
_SENTENCE: Final = re.compile(
    rb"\$([A-Z]{2})(RMC|GGA),([ -)+-~]{0,120})(?:\*([0-9A-Fa-f]{2}))?\s*$"
)
_RMC_DATE: Final = re.compile(rb"RMC,(?:[^,\r\n]{0,20},){8}(\d{6})\b")
_NAME: Final = re.compile(r"[\w.-]{1,40}")
_MOST_NAMES: Final = 64
_LONGEST_TEXT: Final = 64
_UNITS: Final = {"latitude": "deg", "longitude": "deg", "speed": "m/s", "course": "deg"}


class _Track:
    """Readings by channel."""

    def __init__(self) -> None:
        self.t: dict[str, list[float]] = defaultdict(list)
        self.value: dict[str, list[float]] = defaultdict(list)
        self.points = 0
        self.odd = 0

    def add(self, t: float, name: str, text: str) -> None:
        """Add a reading if the text is a number."""
        try:
            value = float(text)
        except ValueError:
            return
        if math.isfinite(value) and abs(value) < 1e30:
            self.t[name].append(t)
            self.value[name].append(value)

    def count(self) -> None:
        """Count a point. Raises `UnreadableRecording` for too many."""
        self.points += 1
        if self.points > MOST_ROWS:
            raise UnreadableRecording(f"the file has more than {MOST_ROWS} points")

    def build_samples(self) -> dict[str, Samples]:
        """Return the channels; equal times are shared."""
        clocks: dict[bytes, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
        samples = {}
        for name, values in self.value.items():
            t = np.array(self.t[name])
            samples[name] = Samples(clocks.setdefault(t.tobytes(), t), np.array(values))
        return samples


def read_nmea(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read RMC and GGA sentences; wrong checksums are left out and counted."""
    track = _Track()
    first = _find_first_day(stream)
    day, before = first or 0.0, -math.inf
    for block in read_blocks(stream):
        for line in block.splitlines():
            match = _SENTENCE.search(line)
            if match is None or not _has_valid_checksum(match):
                track.odd += bool(line.strip()) and (match is not None or not line.startswith(b"$"))
                continue
            cells = match[3].decode("ascii").split(",")
            clock = _parse_clock(cells[0])
            if clock is None:
                track.odd += 1
                continue
            track.count()
            if match[2] == b"RMC" and len(cells) > 8 and len(cells[8]) == 6:
                text = _format_date(cells[8])
                day = parse_day(text) or day
            elif clock < before - DAY_S / 2:  # a new day that no sentence has named yet
                day += DAY_S
            before = clock
            t = clock + day
            if match[2] == b"RMC" and len(cells) > 8 and cells[1] == "A":
                _add_place(track, t, "", cells[2:6])
                track.add(t, "speed", _convert_knots(cells[6]))
                track.add(t, "course", cells[7])
            elif match[2] == b"GGA" and len(cells) > 8 and cells[5] not in ("", "0"):
                _add_place(track, t, "gga ", cells[1:5])
                track.add(t, "satellites", cells[6])
                track.add(t, "altitude", cells[8])
    names = track.build_samples()
    if "latitude" not in names:
        names |= {name[4:]: names[name] for name in list(names) if name.startswith("gga ")}
    names = {name: samples for name, samples in names.items() if not name.startswith("gga ")}
    if "latitude" not in names:
        raise UnreadableRecording("the file has no NMEA sentence with a position")
    return _build_recording("nmea", names, track, {}, [], dated=first is not None, options=options)


def _find_first_day(stream: BinaryIO) -> float | None:
    """Return the first date of the file; sentences without a date often precede it."""
    start = stream.read(1 << 20)
    stream.seek(0)
    for match in _RMC_DATE.finditer(start):
        if (day := parse_day(_format_date(match[1].decode("ascii")))) is not None:
            return day
    return None


def _format_date(digits: str) -> str:
    return f"{digits[:2]}/{digits[2:4]}/20{digits[4:]}"


def _has_valid_checksum(match: re.Match[bytes]) -> bool:
    if match[4] is None:
        return True
    total = 0
    for byte in match[0].lstrip(b"$").partition(b"*")[0]:
        total ^= byte
    return total == int(match[4], 16)


def _parse_clock(text: str) -> float | None:
    """Convert hhmmss.ss to seconds of the day."""
    if not re.fullmatch(r"\d{6}(\.\d{1,6})?", text):
        return None
    return int(text[:2]) * 3600.0 + int(text[2:4]) * 60.0 + float(text[4:])


def _convert_knots(text: str) -> str:
    try:
        return str(float(text) * 1.852 / KMH)
    except ValueError:
        return ""


def _add_place(track: _Track, t: float, prefix: str, cells: list[str]) -> None:
    """Add both coordinates, ddmm.mmmm with a letter each, or neither."""
    degrees = []
    for text, letter, digits in ((cells[0], cells[1], 2), (cells[2], cells[3], 3)):
        if not re.fullmatch(rf"\d{{{digits + 2}}}(\.\d{{1,10}})?", text):
            return
        value = int(text[:digits]) + float(text[digits:]) / 60.0
        degrees.append(-value if letter in ("S", "W") else value)
    track.add(t, f"{prefix}latitude", str(degrees[0]))
    track.add(t, f"{prefix}longitude", str(degrees[1]))


class _Gpx:
    """Collects the points of a track while the file is parsed."""

    def __init__(self) -> None:
        self.track = _Track()
        self.place: tuple[str, str] | None = None
        self.values: dict[str, str] = {}
        self.text = ""
        self.name = ""
        self.depth: list[str] = []

    def refuse(self, *_: object) -> None:
        """Refuse a document type, which may define entities; no track needs one."""
        raise UnreadableRecording("the file has a document type, which no GPX track has")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if len(self.depth) >= _MOST_NAMES:
            raise UnreadableRecording("the elements of the file are nested too deeply")
        self.depth.append(name)
        self.text = ""
        if name == "trkpt":
            self.place = attributes.get("lat", ""), attributes.get("lon", "")
            self.values = {}

    def data(self, text: str) -> None:
        if len(self.text) < _LONGEST_TEXT:
            self.text += text

    def end(self, tag: str) -> None:
        name = self.depth.pop()
        text, self.text = self.text.strip()[:_LONGEST_TEXT], ""
        if name == "trkpt" and self.place:
            self._add_point(*self.place)
            self.place = None
        elif self.place and text and _NAME.fullmatch(name) and len(self.values) < _MOST_NAMES:
            self.values.setdefault(name, text)
        elif name == "name" and not self.name:
            self.name = text

    def _add_point(self, lat: str, lon: str) -> None:
        self.track.count()
        day, seconds = parse_moment(self.values.pop("time", ""))
        if day is None or seconds is None:
            self.track.odd += 1
            return
        self.track.add(day + seconds, "latitude", lat)
        self.track.add(day + seconds, "longitude", lon)
        for name, text in self.values.items():
            self.track.add(day + seconds, _GPX_NAMES.get(name, name), text)


_GPX_NAMES: Final = {
    "ele": "altitude",
    "sat": "satellites",
    "siv": "satellites",
    "bearing": "course",
}


def read_gpx(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read the points of all tracks with all their numbers."""
    document = _Gpx()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = document.refuse
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.data
    doubts = []
    size = 0
    try:
        while part := stream.read(1 << 20):
            size += len(part)
            if size > LARGEST_FILE:
                raise UnreadableRecording(f"the file is larger than {LARGEST_FILE // 2**20} MiB")
            parser.Parse(part)
        parser.Parse(b"", True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        if not document.track.points:
            raise UnreadableRecording("the file is not a GPX track") from error
        text = "the file ends in a damaged part, which is left out"
        doubts.append(ReadWarning("log_damaged", text))
    track, name = document.track, document.name
    samples = track.build_samples()
    if "latitude" not in samples or "longitude" not in samples:
        raise UnreadableRecording("the file has no track point with a place and a time")
    facts = {"venue": name} if name else {}
    return _build_recording("gpx", samples, track, facts, doubts, dated=True, options=options)


def _build_recording(
    form: str,
    samples: dict[str, Samples],
    track: _Track,
    facts: dict[str, str],
    doubts: list[ReadWarning],
    *,
    dated: bool,
    options: Options,
) -> Recording:
    """Build a recording with a frame at each position."""
    if track.odd:
        text = "lines and points that cannot be read are left out"
        doubts = [*doubts, ReadWarning("rows_unreadable", text, track.odd)]
    begin = min(float(t.min()) for t, _ in samples.values())
    return build_from_channels(
        {name: Samples(t - begin, value) for name, (t, value) in samples.items()},
        _UNITS,
        form=form,
        created=begin if dated else None,
        offset=begin if dated else 0.0,
        facts=select_texts(facts, {"venue": "venue"}),
        doubts=doubts,
        options=options,
    )
