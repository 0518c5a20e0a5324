"""Reads VBO files of any dialect: head, columns, gates and video positions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.column_mapping import (
    TIME,
    VIDEO_FILE,
    Column,
    align_texts,
    find_column,
    make_unique,
    map_columns,
)
from runtime.bridge.formats.corrections import correct_signs
from runtime.bridge.formats.dates import LONGEST, parse_moment
from runtime.bridge.formats.encodings import (
    DAY_S,
    CoordinateEncoding,
    Positions,
    read_clock,
    read_positions,
)
from runtime.bridge.formats.number_rows import LONGEST_LINE, Table, read_table
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.readers.vbo_gates import build_path, read_gates
from runtime.bridge.formats.recording_builder import build_from_columns
from runtime.bridge.session.recording import TIMESTAMP, Numbers, ReadWarning, Recording, VideoFrame

LONGEST_HEAD: Final = 1_048_576
_OPENING: Final = 10
"""Number of first lines that may hold the creation time."""
MOST_COLUMNS: Final = 256
_LONGEST_TITLE: Final = 80
MOST_VIDEO_FRAMES: Final = 500_000
MOST_COMMENTS: Final = 200
LONGEST_COMMENT: Final = 500
FURTHEST_ZONE_S: Final = 14 * 3600.0
_SKIPPED: Final[Mapping[str, str]] = {
    "rows_short": "rows with too few cells are left out",
    "rows_long": "rows with too many cells are left out",
    "rows_unreadable": "rows without any number are left out",
    "values_unreadable": "cells without a valid number become null",
}


class Head(NamedTuple):
    """The decoded lines before the data, by lower-case section name."""

    sections: Mapping[str, Sequence[str]]
    """The empty name holds the lines before the first section."""
    names: tuple[str, ...]
    """One for each column as written, not yet unique."""
    commas: bool
    """The names are divided by commas, and so most likely are the rows."""
    encoding: str
    created: float | None
    """Unix seconds of the time in the first lines, read as UTC."""


def read_vbo(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read a file from a binary stream at its start.

    Unless the options force an encoding of coordinates and times, the numbers of the file decide;
    `Recording.facts` states the choice. Oddities are counted `ReadWarning`s. Timestamps are Unix
    seconds if the file has a date and times of day, else seconds since the first row. Raises only
    `UnreadableRecording` for a file that cannot be read.
    """
    head = read_head(stream)
    table = read_table(stream, len(head.names), commas=head.commas)
    skipped = sorted(table.skipped.items(), key=lambda item: item[0] != "values_unreadable")
    doubts = [ReadWarning(code, _SKIPPED[code], n) for code, n in skipped if n]
    columns = _build_columns(head, table)
    time = find_column(columns, TIME)
    if time is None:
        raise UnreadableRecording("the file has no time column")
    at = next(at for at, column in enumerate(columns) if column is time)
    text = table.first_row[at] if table.first_row else ""
    clock = read_clock(time.values, text, head.created, options.time_encoding)
    t = clock.t
    timed = np.isfinite(t)
    if not timed.any():
        raise UnreadableRecording("no row of the file has a time")
    if not timed.all():
        detail = "rows without a time, or with an inconsistent one, are left out"
        doubts.append(ReadWarning("rows_without_time", detail, int(np.sum(~timed))))
        columns = [column._replace(values=column.values[timed]) for column in columns]
        t = t[timed]
    timeless = [column for column in columns if column.name != time.name]
    kept = map_columns(timeless, t, "vbo", options)
    doubts += kept.doubts
    tall = {**kept.tall, **_split_satellites(kept.tall)}
    positions = _read_positions(t, kept.wide, tall, options.coordinate_encoding)
    doubts += positions.doubts
    if clock.midnights:
        doubts.append(ReadWarning("midnight", "the time of day starts again", clock.midnights))
    if clock.base == "utc" and head.created is not None and _are_days_apart(head.created, t):
        text = "the time in the head fits no time zone of the rows: the date may be wrong"
        doubts.append(ReadWarning("date_uncertain", text))
    comments = [line.strip()[:LONGEST_COMMENT] for line in head.sections.get("comments", ())]
    recording = build_from_columns(
        {**kept.wide, TIMESTAMP: t, "lat": positions.lat, "lon": positions.lon},
        tall,
        unmapped=kept.unmapped,
        facts={
            "format": "vbo",
            "coordinate_encoding": positions.encoding,
            "longitude_positive": "east" if positions.east > 0 else "west",
            "time_encoding": clock.encoding,
            "time_base": clock.base,
            "text_encoding": head.encoding,
        },
        doubts=doubts,
        created=head.created,
        comments=[line for line in comments if line][:MOST_COMMENTS],
    )
    signed = [name for name in ("g_lat", "steering_deg") if name in kept.wide]
    correction = correct_signs(recording.frames.columns, signed)
    index = find_column(columns, VIDEO_FILE)
    video, thinned = _read_video(head, t, tall.get("avitime_ms"), index)
    path = build_path(recording.frames.columns["lat"], recording.frames.columns["lon"])
    lines = head.sections.get("laptiming", ())
    gates = read_gates(lines, path, positions.encoding, positions.east)
    return replace(
        recording,
        frames=correction.frames,
        facts={**recording.facts, **correction.facts},
        doubts=(*recording.doubts, *correction.doubts, *thinned, *gates.doubts),
        video=tuple(video),
        start=gates.start,
        splits=gates.splits,
        mapping=kept.mapping,
        logger=kept.logger,
    )


def read_head(stream: BinaryIO) -> Head:
    """Read up to and including the line ``[data]``; raises `UnreadableRecording` without it."""
    raw = _read_head_bytes(stream)
    text, encoding = _decode(raw)
    sections = _split_sections(text)
    lines = sections.get("column names") or sections.get("channel names") or ()
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise UnreadableRecording("the file names no columns: it has no [column names] section")
    names, commas = _split_names(lines)
    if len(names) > MOST_COLUMNS:
        raise UnreadableRecording(f"the file has more than {MOST_COLUMNS} columns")
    moments = (parse_moment(line.strip()[:LONGEST]).unix for line in sections[""][:_OPENING])
    created = next((moment for moment in moments if moment is not None), None)
    return Head(sections, names, commas, encoding, created)


def _read_head_bytes(stream: BinaryIO) -> bytes:
    lines: list[bytes] = []
    size = 0
    while line := stream.readline(LONGEST_LINE + 2):
        if len(line) > LONGEST_LINE:
            raise UnreadableRecording(f"a line is longer than {LONGEST_LINE} bytes")
        if line.strip().lower() == b"[data]":
            return b"".join(lines)
        lines.append(line)
        size += len(line)
        if size > LONGEST_HEAD:
            break
    raise UnreadableRecording("the file has no [data] section")


def _decode(raw: bytes) -> tuple[str, str]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "cp1252"
    return text, "utf-8" if raw.startswith(b"\xef\xbb\xbf") or not raw.isascii() else "ascii"


def _split_sections(text: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in text.split("\n"):
        line = line.rstrip("\r")
        title = line.strip()
        if len(title) <= _LONGEST_TITLE and title.startswith("[") and title.endswith("]"):
            lines = sections.setdefault(" ".join(title[1:-1].lower().split()), [])
        else:
            lines.append(line)
    return sections


def _split_names(lines: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    commas = "," in lines[0]
    if not commas and "\t" not in lines[0].strip():
        return tuple(word for line in lines for word in line.split()), False
    divider = "," if commas else "\t"
    words = [word.strip() for line in lines for word in line.strip().split(divider)]
    while words and not words[-1]:  # after a trailing comma
        words.pop()
    return tuple("_".join(word.split()) or "unnamed" for word in words), commas


def _are_days_apart(created: float, t: Numbers) -> bool:
    """Return whether the head and the first row differ by more than any time zone.

    Exact midnight means a date without a time.
    """
    return created % DAY_S != 0.0 and abs(created - float(t[0])) > FURTHEST_ZONE_S


def _build_columns(head: Head, table: Table) -> list[Column]:
    count = len(head.names)
    described = [line for line in head.sections.get("header", ()) if line.strip()]
    texts = align_texts(described, count) if len(described) == count else ("",) * count
    units = align_texts(head.sections.get("channel units", ()), count)
    names = make_unique(head.names)
    rows = zip(names, table.columns, units, texts, strict=True)
    columns = [Column(name, values, unit, text) for name, values, unit, text in rows]
    if len(described) == count:
        return columns
    return [_add_description(column, described) for column in columns]


def _add_description(column: Column, described: list[str]) -> Column:
    """Add the line of the head that begins with the name, such as ``velocity knots``."""
    name = column.name.casefold()
    lines = (line.strip() for line in described if line.strip().casefold().startswith(name))
    return column._replace(described=next(lines, ""))


def _split_satellites(tall: Mapping[str, Numbers]) -> dict[str, Numbers]:
    """Split the satellites: six bits count, 64 is the brake trigger, 128 a differential fix."""
    raw = tall.get("satellites")
    if raw is None:
        return {}
    valid = np.isfinite(raw) & (raw >= 0) & (raw < 2**31)
    bits = np.where(valid, raw, 0.0).astype(np.int64)
    columns = {"satellites": np.where(valid, bits & 63, np.nan)}
    for name, bit in (("brake_trigger", 64), ("dgps_fix", 128)):
        if (bits & bit).any() and name not in tall:
            columns[name] = np.where(valid, (bits & bit) / bit, np.nan)
    return columns


def _read_positions(
    t: Numbers,
    wide: Mapping[str, Numbers],
    tall: Mapping[str, Numbers],
    forced: CoordinateEncoding | None,
) -> Positions:
    """Read the positions; null without satellites, when loggers repeat the last position."""
    nothing = np.full(len(t), np.nan)
    if "lat" not in wide or "lon" not in wide:
        doubt = ReadWarning("no_positions", "the file has no columns of latitude and longitude")
        return Positions(nothing, nothing, forced or "minutes", -1.0, (doubt,))
    doubts: list[ReadWarning] = []
    raw, satellites = wide["lat"], tall.get("satellites", nothing)
    blind = satellites == 0
    if blind.any() and np.any(satellites > 0):  # a constant 0 is no count
        text = "rows without a satellite have no position"
        doubts.append(ReadWarning("no_fix", text, int(blind.sum())))
        raw = np.where(blind, np.nan, raw)
    speed, heading = wide.get("speed_ms", nothing), tall.get("heading_deg", nothing)
    positions = read_positions(raw, wide["lon"], t, speed, heading, forced)
    return positions._replace(doubts=(*doubts, *positions.doubts))


def _read_video(
    head: Head, t: Numbers, ms: Numbers | None, index: Column | None
) -> tuple[list[VideoFrame], list[ReadWarning]]:
    """Return each new position in the video files; avitime is in milliseconds."""
    if index is None or ms is None:
        return [], []
    usable = (index.values >= 1) & (index.values < 10_000) & (ms >= 0) & (ms < 2**53)
    at = np.flatnonzero(usable)
    if not len(at):
        return [], []
    fresh = (np.diff(ms[at]) != 0) | (np.diff(index.values[at]) != 0)
    at = at[np.concatenate(([True], fresh))]
    doubts = []
    if len(at) > MOST_VIDEO_FRAMES:
        text = "video places are thinned out"
        doubts.append(ReadWarning("video_frames_thinned", text, len(at) - MOST_VIDEO_FRAMES))
        at = at[np.linspace(0, len(at) - 1, MOST_VIDEO_FRAMES).astype(np.intp)]
    words = [line.strip() for line in head.sections.get("avi", ()) if line.strip()]
    prefix = words[0] if words else ""
    ending = f".{words[1].lstrip('.')}" if len(words) > 1 else ""
    numbers = index.values[at].astype(np.int64).tolist()
    files = {n: f"{prefix}{n:04d}{ending}" for n in set(numbers)}
    rows = zip(t[at].tolist(), ms[at].astype(np.int64).tolist(), numbers, strict=True)
    return [VideoFrame(t, ms, files[number], ms / 1000.0) for t, ms, number in rows], doubts
