"""A session in pictures: its map, telemetry synchronised with video, and clips of highlights."""

import asyncio
import math
from dataclasses import asdict
from typing import Annotated

import numpy as np
import orjson
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.highlights import find_highlights
from runtime.bridge.analysis.mapping import (
    NO_GRADE,
    Basis,
    TrackMap,
    corner_colours,
    draw_map,
    draw_outline,
)
from runtime.bridge.analysis.video import (
    WINDOW_S,
    Ask,
    Clip,
    Footage,
    Matched,
    make_clips,
    match_frames,
    sort_footage,
)
from runtime.bridge.api.analysis import (
    GUARD,
    ONE_LAP,
    Analytic,
    LapQuery,
    Subject,
    WholeQuery,
    find_subject,
)
from runtime.bridge.api.shapes import AnswerModel, Flag, SessionPath, cap_at, round_values
from runtime.bridge.api.tracks import CornerPlace, ZoneRecord
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH, Degrees, Metres
from runtime.bridge.track.model import Corner
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes, json_bytes
from runtime.web.wire import Wire

MOST_ROWS = 50_000
CHANNELS = (
    ("distance_m", 1),
    ("speed_ms", 3),
    ("brake_bar", 1),
    ("throttle_pct", 1),
    ("g_lat", 3),
    ("g_long", 3),
)
"""Channels in a row of `sync`, and their decimals."""
routes = Routes("analysis")


class Pin(AnswerModel):
    """A marker of the track file."""

    id: str
    label: str
    kind: str
    corner: str | None
    lat: Degrees | None = Field(description="degrees WGS-84; null: unknown")
    lon: Degrees | None = Field(description="degrees WGS-84")
    distance_m: Metres = Field(description="m of lap progress from start/finish")


class CornerPin(CornerPlace):
    """A corner on a map."""

    colour: str = Field(description="of its grade, #rrggbb")


Point = Annotated[list[float], Field(min_length=2, max_length=2)]


class MapAnswer(Analytic):
    """The circuit and the driven lines; points are [latitude, longitude] in degrees WGS-84."""

    track: str | None = Field(description="name of the circuit; null: unknown")
    track_length_m: float = Field(description="m")
    per_corner_color: dict[str, str] = Field(
        description="#rrggbb of each corner's grade: A+ #1b5e20, A #43a047, B #7cb342, C #fdd835, "
        "D #fb8c00, F #e53935, without a grade #9e9e9e"
    )
    corners: list[CornerPin] = Field(description="in lap order")
    marker_pins: list[Pin] = Field(description="of the track file, by distance")
    danger_zones: list[ZoneRecord] = Field(description="of the track file")
    lap_polylines: dict[str, list[Point]] = Field(
        description="by lap number: positions at least 5 m apart, at most 2000 a lap"
    )
    lap_speeds: dict[str, list[float | None]] = Field(
        description="km/h at each of those points; null: not recorded"
    )
    basis: Basis | None = Field(
        description="source of centerline: the track file, the laps, or the line driven so far, "
        "which need not be closed; null: no centerline"
    )
    centerline: list[Point] = Field(
        description="one lap in steps of 4 m; the start is not repeated at the end"
    )
    bounds: list[Point] | None = Field(
        description="[south, west] and [north, east] of all lines; west is above east across the "
        "date line; null: no positions"
    )


class SyncQuery(WholeQuery):
    """The frames, and the largest distance to a video frame."""

    begin: float | None = Field(None, alias="from", description="s of the session's clock")
    end: float | None = Field(None, alias="to", description="s of the session's clock, included")
    window_s: float = Field(WINDOW_S, description="s: above 0, at most 1; inclusive")
    limit: Annotated[int, cap_at(MOST_ROWS)] = Field(5000, description="rows, at most 50000")
    matched_only: Flag = Field(False, description="omit frames without a video frame")


class SyncRow(Wire):
    """A frame of telemetry and the video frame nearest in time."""

    frame_idx: int
    timestamp: float = Field(description="s of the session's clock, which runs on past midnight")
    distance_m: float | None = Field(description="m as recorded")
    speed_ms: float | None = Field(description="m/s")
    brake_bar: float | None = Field(description="bar")
    throttle_pct: float | None = Field(description="%")
    g_lat: float | None = Field(description="g, positive in a right turn")
    g_long: float | None = Field(description="g, positive accelerating")
    matched: bool = Field(description="whether a video frame lies within the window")
    file_path: str | None = Field(description="path of the video; null without one")
    file_offset_s: float | None = Field(description="s into the file, as recorded")
    avitime_ms: int | None = Field(description="ms: the logger's video time")
    dt_ms: float | None = Field(description="ms from the telemetry frame to the video frame")


class SyncAnswer(Analytic):
    """Telemetry frames in time order, each exactly once."""

    window_s: float
    rows: list[SyncRow]
    count: int = Field(description="rows in this answer")
    more: bool = Field(description="whether the limit cut frames off")


class ClipsAnswer(Analytic):
    """One clip for each highlight, in the order of the highlights."""

    clips: tuple[Clip, ...]
    count: int


@routes.get("/session/{sid}/map", errors=ONE_LAP, answers={200: MapAnswer})
async def session_map(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> web.StreamResponse:
    """Draw the circuit, its corners coloured by grade, and the line of each lap.

    Before the first complete lap: the circuit if it is known, else the line driven so far.
    """
    any_drive = WholeQuery(partial=True)
    subject = find_subject(request, path, any_drive if query.lap is None else query)
    if not subject.row.n_frames:
        where = await subject.service.book.circuit(subject.row)
        if where.track is not None:
            head = {"session_id": subject.row.session_id, "derived": []}
            return json_bytes(_write_json(head | _make_map(draw_outline(where.track), {})))
    drawn = await subject.compute(draw_map)
    whole = find_subject(request, path, any_drive)
    colours = dict(await whole.compute(corner_colours, whole.references))
    body = await subject.head() | _make_map(drawn, colours)
    return json_bytes(await asyncio.to_thread(_write_json, body))


@routes.get("/session/{sid}/sync", errors=GUARD, answers={200: SyncAnswer})
async def sync(request: web.Request, *, path: SessionPath, query: SyncQuery) -> web.StreamResponse:
    """Match each telemetry frame with the video frame nearest in time."""
    if not 0.0 < query.window_s <= 1.0:
        raise BadQuery("window_s: must be above 0 and at most 1", param="window_s")
    if query.begin is not None and query.end is not None and query.begin > query.end:
        raise BadQuery("from: must not be after to", param="from")
    subject = find_subject(request, path, query)
    ask = Ask(query.begin, query.end, query.window_s, query.limit, query.matched_only)
    head = await subject.head()
    drive, video = await _load_footage(subject)
    return json_bytes(await asyncio.to_thread(_write_sync, head, drive, video, ask))


@routes.get("/session/{sid}/clips", errors=GUARD)
async def clips(request: web.Request, *, path: SessionPath, query: WholeQuery) -> ClipsAnswer:
    """List the video clip of each highlight."""
    subject = find_subject(request, path, query)
    moments = await subject.compute(find_highlights, subject.references, await subject.find_aids())
    cuts = make_clips(*await _load_footage(subject), moments)
    return await subject.answer(ClipsAnswer, clips=cuts, count=len(cuts))


async def _load_footage(subject: Subject) -> tuple[Drive, Footage]:
    """Load the session and its video."""
    drive = await subject.drive()

    async def find() -> Footage:
        video = await subject.service.db.video(subject.row.session_id)
        return await asyncio.to_thread(sort_footage, drive, video)

    return drive, await subject.service.analytics.once(subject.row, "footage", find)


def _make_map(drawn: TrackMap, colours: dict[str, str]) -> dict[str, object]:
    return {
        "track": drawn.track,
        "track_length_m": round(drawn.length_m, 2),
        "per_corner_color": colours,
        "corners": [_make_corner(corner, colours) for corner in drawn.corners],
        "marker_pins": [Pin.of(pin).model_dump() for pin in drawn.pins],
        "danger_zones": [asdict(zone) for zone in drawn.danger_zones],
        "lap_polylines": {str(line.lap): _round_points(line.lat, line.lon) for line in drawn.laps},
        "lap_speeds": {str(line.lap): np.round(line.speed_ms * KMH, 1) for line in drawn.laps},
        "basis": drawn.basis,
        "centerline": _round_points(drawn.centre_lat, drawn.centre_lon),
        "bounds": None if drawn.bounds is None else _round_bounds(*drawn.bounds),
    }


def _make_corner(corner: Corner, colours: dict[str, str]) -> dict[str, object]:
    colour = colours.get(corner.name, NO_GRADE)
    return CornerPin.of_corner(corner, colour=colour).model_dump()


def _round_bounds(south: float, west: float, north: float, east: float) -> list[list[float]]:
    return [[round(south, 7), round(west, 7)], [round(north, 7), round(east, 7)]]


def _round_points(lat: Numbers, lon: Numbers) -> Numbers:
    return np.ascontiguousarray(np.column_stack([lat, lon]).round(7))


def _write_sync(head: dict[str, object], drive: Drive, video: Footage, ask: Ask) -> bytes:
    matches = match_frames(drive, video, ask)
    rows = _make_rows(drive, video, matches)
    more = {"rows": rows, "count": len(rows), "more": matches.more}
    return _write_json({**head, "window_s": ask.window_s, **more})


def _make_rows(drive: Drive, video: Footage, matches: Matched) -> list[dict[str, object]]:
    """Make rows of the frames and their video frames."""
    series, frames = drive.series, matches.frames
    has_video = matches.video >= 0
    whole = Footage(
        np.append(video.t, np.nan),
        files=(*video.files, ""),
        file=np.append(video.file, len(video.files)),
        offset=np.append(video.offset, np.nan),
        avitime_ms=np.append(video.avitime_ms, np.nan),
    )
    channels = [round_values(series[name][frames], digits).tolist() for name, digits in CHANNELS]
    rows = zip(
        series.index[frames].tolist(),
        series.t[frames].round(3).tolist(),
        *channels,
        has_video.tolist(),
        [whole.files[i] or None for i in whole.file[matches.video].tolist()],
        round_values(whole.offset[matches.video], 3).tolist(),
        [None if math.isnan(ms) else int(ms) for ms in whole.avitime_ms[matches.video].tolist()],
        round_values(matches.dt_s * 1000.0, 3).tolist(),
        strict=True,
    )
    return [dict(zip(SyncRow.model_fields, row, strict=True)) for row in rows]


def _write_json(body: dict[str, object]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
