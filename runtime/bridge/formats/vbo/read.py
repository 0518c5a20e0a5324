"""Read a VBO file, in any dialect, into a recording."""

import io
from collections.abc import Mapping
from datetime import datetime
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.formats.vbo.assemble import Parts, clean_motion, record
from runtime.bridge.formats.vbo.clock import TimeEncoding, read_clock
from runtime.bridge.formats.vbo.columns import (
    LAT,
    LON,
    TIME,
    VIDEO_FILE,
    Channel,
    aligned,
    first_of,
    sort_channels,
    unique_names,
)
from runtime.bridge.formats.vbo.errors import VboError
from runtime.bridge.formats.vbo.laptiming import driven_path, read_gates
from runtime.bridge.formats.vbo.position import CoordinateEncoding, Positions, read_positions
from runtime.bridge.formats.vbo.sections import Head, read_head
from runtime.bridge.formats.vbo.shelf import Keeper, Shelf
from runtime.bridge.formats.vbo.table import LARGE, Table, read_table
from runtime.bridge.session.recording import Doubt, Numbers, Recording, VideoFrame

MOST_VIDEO_FRAMES: Final = 500_000
MOST_COMMENTS: Final = 200
LONGEST_COMMENT: Final = 500
FURTHEST_ZONE_S: Final = 14 * 3600.0
_SKIPPED: Final[Mapping[str, str]] = {
    "rows_short": "rows with too few cells are left out",
    "rows_long": "rows with too many cells are left out",
    "rows_unreadable": "rows without any number are left out",
    "values_unreadable": "cells without a number that can be a reading are null",
}


def read(
    data: bytes | bytearray | memoryview | BinaryIO,
    *,
    coordinate_encoding: CoordinateEncoding | None = None,
    time_encoding: TimeEncoding | None = None,
    shelf: Shelf | None = None,
) -> Recording:
    """Read a file from its bytes or from a binary stream at its start.

    The encodings force how coordinates and times are decoded; left out, the file's own numbers
    decide, and `Recording.facts` says how. Whatever was odd is a counted `Doubt`. Timestamps are
    Unix seconds where the file gives a date and times of day, else seconds since its first row.
    The columns of a large file lie on the *shelf*, if there is one, and may not be changed.
    Raises VboError, and nothing else, for a file that cannot be read.
    """
    stream = io.BytesIO(data) if isinstance(data, bytes | bytearray | memoryview) else data
    head = read_head(stream)
    table = read_table(stream, len(head.names), commas=head.commas, shelf=shelf)
    keep = Keeper(shelf if len(table) * len(head.names) >= LARGE else None)
    skipped = sorted(table.skipped.items(), key=lambda one: one[0] != "values_unreadable")
    doubts = [Doubt(code, _SKIPPED[code], n) for code, n in skipped if n]
    channels = _channels(head, table)
    time = _required(channels, TIME, "time")
    text = table.first_row[_at(channels, time)] if table.first_row else ""
    clock = read_clock(time.values, text, head.created, time_encoding)
    del table, time
    channels, t = _timed_rows(channels, keep(clock.t), doubts, keep)
    clock = clock._replace(t=t)
    parts, positions = _parts(channels, t, coordinate_encoding, doubts, keep)
    videos = first_of(channels, VIDEO_FILE)
    del channels  # what was converted is held once from here on
    parts.facts["time_encoding"] = clock.encoding
    parts.facts["time_base"] = clock.base
    parts.facts["text_encoding"] = head.encoding
    if clock.midnights:
        parts.doubts.append(Doubt("midnight", "the time of day starts again", clock.midnights))
    if clock.base == "utc" and head.created and _days_apart(head.created, t):
        text = "the time in the head is of no time zone of the rows: their day may be another one"
        parts.doubts.append(Doubt("date_uncertain", text))
    return _finish(head, parts, videos, positions)


def _days_apart(created: datetime, t: Numbers) -> bool:
    """Whether local time cannot explain how far the head is from the first row.

    Midnight to the second is a date without a time.
    """
    timeless = not (created.hour or created.minute or created.second)
    return not timeless and abs(created.timestamp() - float(t[0])) > FURTHEST_ZONE_S


def _channels(head: Head, table: Table) -> list[Channel]:
    count = len(head.names)
    described = [line for line in head.sections.get("header", ()) if line.strip()]
    texts = aligned(described, count) if len(described) == count else ("",) * count
    units = aligned(head.sections.get("channel units", ()), count)
    names = unique_names(head.names)
    rows = zip(names, table.columns, units, texts, strict=True)
    channels = [Channel(name, values, unit, text) for name, values, unit, text in rows]
    if len(described) == count:
        return channels
    return [_described_by_name(channel, described) for channel in channels]


def _described_by_name(channel: Channel, described: list[str]) -> Channel:
    """Find a line of the head that begins with the column's name, as ``velocity knots`` does."""
    name = channel.name.casefold()
    found = (line.strip() for line in described if line.strip().casefold().startswith(name))
    return channel._replace(described=next(found, ""))


def _required(channels: list[Channel], names: tuple[str, ...], what: str) -> Channel:
    channel = first_of(channels, names)
    if channel is None:
        raise VboError(f"the file has no {what} column")
    return channel


def _at(channels: list[Channel], wanted: Channel) -> int:
    return next(at for at, channel in enumerate(channels) if channel is wanted)


def _timed_rows(
    channels: list[Channel], t: Numbers, doubts: list[Doubt], keep: Keeper
) -> tuple[list[Channel], Numbers]:
    timed = np.isfinite(t)
    if timed.all():
        return channels, t
    if not timed.any():
        raise VboError("no row of the file has a time")
    text = "rows without a time, or with one out of line, are left out"
    doubts.append(Doubt("rows_without_time", text, int(np.sum(~timed))))
    return [channel._replace(values=keep(channel.values[timed])) for channel in channels], keep(
        t[timed]
    )


def _parts(
    channels: list[Channel],
    t: Numbers,
    forced: CoordinateEncoding | None,
    doubts: list[Doubt],
    keep: Keeper,
) -> tuple[Parts, Positions]:
    time, lat, lon = (first_of(channels, names) for names in (TIME, LAT, LON))
    placed = [lat, lon] if lat and lon else []
    special = [channel.name for channel in (time, *placed) if channel]
    kept = sort_channels([channel for channel in channels if channel.name not in special], keep)
    doubts += kept.doubts
    nothing = np.full(len(t), np.nan)
    tall = dict(kept.tall)
    if "satellites" in tall:
        _unpack_satellites(tall, keep)
    speed, heading = kept.wide.get("speed_ms", nothing), tall.get("heading_deg", nothing)
    if lat and lon:
        raw = _without_silence(lat.values, tall, doubts)
        found = read_positions(raw, lon.values, t, speed, heading, forced)
        found = found._replace(lat=keep(found.lat), lon=keep(found.lon))
    else:
        found = Positions(nothing, nothing, forced or "minutes", -1.0)
        doubts.append(Doubt("no_positions", "the file has no columns of latitude and longitude"))
    doubts += found.doubts
    facts: dict[str, str] = {"coordinate_encoding": found.encoding}
    facts["longitude_positive"] = "east" if found.east > 0 else "west"
    wide = dict(kept.wide)
    parts = Parts(t, found.lat, found.lon, wide, tall, kept.unmapped, facts, doubts, keep)
    return parts, found


def _unpack_satellites(tall: dict[str, Numbers], keep: Keeper) -> None:
    """Satellites lie in six bits; 64 marks the brake trigger and 128 a differential fix."""
    raw = tall["satellites"]
    known = np.isfinite(raw) & (raw >= 0) & (raw < 2**31)
    bits = np.where(known, raw, 0.0).astype(np.int64)
    tall["satellites"] = keep(np.where(known, bits & 63, np.nan))
    for name, bit in (("brake_trigger", 64), ("dgps_fix", 128)):
        if (bits & bit).any():
            tall.setdefault(name, keep(np.where(known, (bits & bit) / bit, np.nan)))


def _without_silence(lat: Numbers, tall: dict[str, Numbers], doubts: list[Doubt]) -> Numbers:
    """Null positions while no satellite is seen: loggers then repeat the last one."""
    sats = tall.get("satellites")
    if sats is None or not np.any(sats > 0):  # a logger that always says 0 does not count them
        return lat
    blind = sats == 0
    if not blind.any():
        return lat
    doubts.append(Doubt("no_fix", "rows without a satellite have no position", int(blind.sum())))
    return np.where(blind, np.nan, lat)


def _finish(head: Head, parts: Parts, videos: Channel | None, positions: Positions) -> Recording:
    clean_motion(parts)
    video = _video(head, parts, videos)
    path = driven_path(parts.lat, parts.lon)
    lines = head.sections.get("laptiming", ())
    gates = read_gates(lines, path, positions.encoding, positions.east)
    parts.doubts += gates.doubts
    comments = [line.strip()[:LONGEST_COMMENT] for line in head.sections.get("comments", ())]
    return record(
        parts,
        video=video,
        created=head.created.timestamp() if head.created else None,
        start=gates.start,
        splits=gates.splits,
        comments=[line for line in comments if line][:MOST_COMMENTS],
    )


def _video(head: Head, parts: Parts, index: Channel | None) -> list[VideoFrame]:
    """A place in a video file for each row that has a new one; avitime is in milliseconds."""
    ms = parts.tall.get("avitime_ms")
    if index is None or ms is None:
        return []
    usable = (index.values >= 1) & (index.values < 10_000) & (ms >= 0) & (ms < 2**53)
    at = np.flatnonzero(usable)
    if not len(at):
        return []
    fresh = (np.diff(ms[at]) != 0) | (np.diff(index.values[at]) != 0)
    at = at[np.concatenate(([True], fresh))]
    if len(at) > MOST_VIDEO_FRAMES:
        text = "video places are thinned out"
        parts.doubts.append(Doubt("video_frames_thinned", text, len(at) - MOST_VIDEO_FRAMES))
        at = at[np.linspace(0, len(at) - 1, MOST_VIDEO_FRAMES).astype(np.intp)]
    words = [line.strip() for line in head.sections.get("avi", ()) if line.strip()]
    prefix = words[0] if words else ""
    ending = f".{words[1].lstrip('.')}" if len(words) > 1 else ""
    files = {n: f"{prefix}{n:04d}{ending}" for n in set(index.values[at].astype(np.int64).tolist())}
    rows = zip(
        parts.t[at].tolist(),
        ms[at].astype(np.int64).tolist(),
        index.values[at].astype(np.int64).tolist(),
        strict=True,
    )
    return [VideoFrame(t, ms, files[number], ms / 1000.0) for t, ms, number in rows]
