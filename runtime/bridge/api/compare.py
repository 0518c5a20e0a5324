"""Comparison of two laps, from one session or two."""

from typing import Final, Literal, NamedTuple

import orjson
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.compare import (
    Circuit,
    Comparison,
    Kind,
    Reference,
    Side,
    compare_sides,
    compose_ideal,
    describe_circuit,
    explain_mismatch,
    measure_side,
    parse_side,
    scale_side,
)
from runtime.bridge.api.analysis import ONE_LAP
from runtime.bridge.api.shapes import AnswerModel, Derived, SessionPath, round_finite, round_values
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.ranking import format_time
from runtime.bridge.session.units import Kmh, Metres, Seconds
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.records import SessionRow
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes, json_bytes
from runtime.web.wire import Wire

LAP_WORDS: Final = (
    "a lap number; <session>:<lap> or <session>:best; best: the best of this session; ideal or "
    "<session>:ideal: the best sectors and mini-sectors; record: the fastest lap ever of the same "
    "driver, car and track, or of the track if driver or car is unknown; a time with a decimal "
    "point, 1:35.200 or 95.2: the best lap scaled to it"
)
MOST_TRIED: Final = 8
"""Sessions that the search for a record tries before it gives up."""
CHANNELS: Final = (("speed_kmh", 1), ("throttle_pct", 1), ("brake_bar", 1), ("g_lat", 3))
routes = Routes("analysis")


class CompareQuery(Wire):
    """The two laps to compare."""

    a: str = Field(max_length=256, description=LAP_WORDS)
    b: str = Field("best", max_length=256, description="the lap that a is compared with, likewise")


class ComparedLap(AnswerModel):
    """One of the compared laps."""

    ref: str = Field(description="as requested")
    kind: Literal["lap", "best", "record", "ideal", "target"]
    session_id: str | None = Field(description="null for ideal and target")
    lap_number: int | None = Field(validation_alias="lap", description="null for ideal and target")
    lap_time_s: Seconds | None = Field(
        validation_alias="time_s", description="s; null: the ideal lap lacks a sector"
    )
    time: str | None = Field(description="lap_time_s as m:ss.mmm")
    driver: str | None
    car: str | None
    derived: Derived = ()


class PartRecord(AnswerModel):
    """A part of the lap, with the time of both laps."""

    name: str
    start_m: Metres = Field(description="m of lap progress from start/finish")
    end_m: Metres = Field(description="m of lap progress")
    a_s: Seconds | None = Field(description="s")
    b_s: Seconds | None = Field(description="s")
    delta_s: Seconds | None = Field(description="s: a minus b, positive: a is slower")


class ComparedCorner(PartRecord):
    """A corner with its approach; one across start/finish counts at both ends of the lap."""

    a_min_speed_kmh: Kmh | None = Field(
        validation_alias="a_min_kmh", description="km/h: lowest on the axis between entry and exit"
    )
    b_min_speed_kmh: Kmh | None = Field(validation_alias="b_min_kmh", description="km/h")


class Pair(Wire):
    """A channel of both laps at each point of the axis."""

    a: list[float | None]
    b: list[float | None]


class CompareAnswer(Wire):
    """Two laps on one axis; null where a channel or a moment was not recorded.

    Laps are scaled to the length of this session's circuit, so that both ends match; the delta at
    the end is the difference of the lap times.
    """

    session_id: str
    a: ComparedLap
    b: ComparedLap
    track: str | None = Field(description="id of the track file")
    length_m: float = Field(description="m: length of the axis")
    step_m: float = Field(description="m: between points; the last step may be shorter")
    delta_s: float | None = Field(description="s: lap time of a minus lap time of b")
    distance_m: list[float] = Field(description="m of lap progress, from 0 to the length")
    time_delta_s: list[float | None] = Field(
        description="s: how much later a reached the point than b, both since the lap's start"
    )
    speed_kmh: Pair
    throttle_pct: Pair
    brake_bar: Pair
    g_lat: Pair = Field(description="g, positive in a right turn")
    sectors: list[PartRecord]
    mini_sectors: list[PartRecord] = Field(description="25 of equal length")
    corners: list[ComparedCorner] = Field(description="in lap order; empty: unknown")


class ChosenLap(NamedTuple):
    """A requested lap and its session."""

    ref: str
    kind: Kind
    row: SessionRow | None
    """None: a target time, which has no session."""
    side: Side


@routes.get("/session/{sid}/compare", errors=ONE_LAP, answers={200: CompareAnswer})
async def compare(
    request: web.Request, *, path: SessionPath, query: CompareQuery
) -> web.StreamResponse:
    """Compare two laps: time, speed and pedals every 5 m, and by corner and mini-sector."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    wanted = [read_reference(name, getattr(query, name)) for name in ("a", "b")]
    where = await service.analytics.of(row, Scope(), describe_circuit)
    a, b = [
        await choose_lap(service, row, name, getattr(query, name), ref, where)
        for name, ref in zip("ab", wanted, strict=True)
    ]
    comparison = compare_sides(a.side, b.side, where)
    return _make_answer(path.sid, a, b, where, comparison)


def read_reference(name: str, text: str) -> Reference:
    """Read the lap reference in the parameter *name*. Raises `BadQuery`."""
    try:
        return parse_side(text)
    except ValueError as problem:
        raise BadQuery(f"{name}: {problem}", param=name) from problem


async def choose_lap(
    service: Service, row: SessionRow, name: str, text: str, ref: Reference, where: Circuit
) -> ChosenLap:
    """Load the lap of a reference. Raises `BadQuery` for a lap on another circuit."""
    analyses = service.analytics
    if ref.time_s is not None:
        side = await analyses.of(row, Scope(), scale_side, ref.time_s)
        return ChosenLap(text, ref.kind, None, side)
    owner, number = row, ref.lap
    if ref.kind == "record":
        owner, number = await _find_record(service, row, where)
    elif ref.session_id is not None and ref.session_id != row.session_id:
        owner = service.session(ref.session_id)
        other = await analyses.of(owner, Scope(), describe_circuit)
        if (why := explain_mismatch(where, other)) is not None:
            raise BadQuery(f"{name}: {why}", param=name)
    if ref.kind == "ideal":
        side = await analyses.of(owner, Scope(), compose_ideal, where)
        return ChosenLap(text, ref.kind, owner, side)
    side = await analyses.of(owner, Scope(), measure_side, number, where)
    return ChosenLap(text, ref.kind, owner, side)


async def _find_record(
    service: Service, row: SessionRow, where: Circuit
) -> tuple[SessionRow, int | None]:
    """Find the fastest complete lap of all sessions on the circuit; the earliest of equal ones.

    If driver and car are known, only their sessions count.
    """
    laps: list[tuple[float, int, str, int]] = []
    place = await service.book.place(row)
    for other in service.db.sessions():
        if await service.book.place(other) != place:
            continue
        if row.driver and row.car and (_identify_driver(other) != _identify_driver(row)):
            continue
        summary = await service.book.find_recent(other)
        best = min(summary.laps, key=lambda lap: lap.time_s, default=None) if summary else None
        if best is not None:
            laps.append((best.time_s, other.started_at, other.session_id, best.number))
    for _, _, session_id, number in sorted(laps)[:MOST_TRIED]:
        if session_id == row.session_id:
            return row, number
        owner = service.session(session_id)
        there = await service.analytics.of(owner, Scope(), describe_circuit)
        if explain_mismatch(where, there) is None:  # else: two different unknown circuits
            return owner, number
    return row, None


def _identify_driver(row: SessionRow) -> tuple[str, str]:
    driver, car = row.driver or "", row.car or ""
    return driver.strip().casefold(), car.strip().casefold()


def _make_answer(
    session_id: str, a: ChosenLap, b: ChosenLap, where: Circuit, both: Comparison
) -> web.StreamResponse:
    channels = {
        name: {
            "a": round_values(getattr(both.a, name), digits),
            "b": round_values(getattr(both.b, name), digits),
        }
        for name, digits in CHANNELS
    }
    body = {
        "session_id": session_id,
        "a": describe_lap(a),
        "b": describe_lap(b),
        "track": where.track,
        "length_m": round(where.length_m, 2),
        "step_m": both.step_m,
        "delta_s": round_finite(both.gap_s, 3),
        "distance_m": round_values(both.distance_m, 2),
        "time_delta_s": round_values(both.delta_s, 3),
        **channels,
        "sectors": [PartRecord.of(part, part.span).model_dump() for part in both.sectors],
        "mini_sectors": [PartRecord.of(part, part.span).model_dump() for part in both.mini_sectors],
        "corners": [
            ComparedCorner.of(corner, corner.part, corner.part.span).model_dump()
            for corner in both.corners
        ],
    }
    return json_bytes(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY))


def describe_lap(lap: ChosenLap) -> dict[str, object]:
    """Convert a lap to its wire form."""
    time_s = lap.side.time_s
    time = None if time_s is None else format_time(time_s)
    row = lap.row if lap.kind != "ideal" else None  # an ideal lap has no driver
    return ComparedLap.of(lap, lap.side, row, time=time).model_dump()
