"""Two to six laps of any sessions on one axis, with all their recorded channels."""

import asyncio
from collections.abc import Sequence, Set
from math import floor, log10
from typing import Annotated, Final, NamedTuple

import numpy as np
import orjson
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.compare import (
    Circuit,
    Comparison,
    PartDelta,
    compare_sides,
    describe_circuit,
)
from runtime.bridge.analysis.overlay import (
    TIME,
    Channels,
    ideal_channels,
    lap_channels,
    lap_places,
    missing_channels,
    target_channels,
)
from runtime.bridge.api.analysis import ONE_LAP
from runtime.bridge.api.compare import (
    LAP_WORDS,
    ChosenLap,
    ComparedLap,
    choose_lap,
    describe_lap,
    read_reference,
)
from runtime.bridge.api.shapes import AnswerModel, cap_at, format_iso, round_values
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.recording import WIDE_SIGNALS, Numbers
from runtime.bridge.session.resample import is_discrete
from runtime.bridge.session.units import Kmh, Metres, Seconds
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.records import SessionRow
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes, json_bytes
from runtime.web.wire import Wire

LEAST_LAPS: Final = 2
MOST_LAPS: Final = 6
FIGURES: Final = 5
"""Significant figures of a channel's largest value."""
DIGITS: Final = {TIME: 3, "delta_s": 3, "lat": 7, "lon": 7}
"""Decimals of the channels with a fixed number."""
routes = Routes("analysis")


class OverlayQuery(Wire):
    """The laps, their channels, and the resolution."""

    laps: str = Field(
        max_length=2048,
        description="2 to 6, separated by commas; the first names its session (<session>:<lap> or "
        f"<session>:best), and the others are compared with it. Each is {LAP_WORDS}. Without a "
        "session, the first lap's session is meant",
    )
    points: Annotated[int, cap_at(5000, least=100)] = Field(
        1000, description="points of the axis, 100 to 5000"
    )
    channels: str = Field(
        "",
        max_length=8192,
        description="only these besides time_s and delta_s, separated by commas; absent: all",
    )


class OverlaidLap(ComparedLap):
    """A lap with its channels."""

    started_at: str | None = Field(description="ISO 8601: start of its session")
    channels: dict[str, list[float | None]] = Field(
        description="at each point of the axis: time_s since the lap's start, delta_s to the first "
        "lap at the same point (positive: later), speed_kmh, the columns of a frame and every "
        "other signal under its own name and in its own unit; null where nothing was recorded"
    )
    missing: list[str] = Field(
        description="channels that its session did not record, of speed_kmh, the columns of a "
        "frame and the channels of the other laps"
    )


class PartOfLap(AnswerModel):
    """A lap in a part of the circuit."""

    time_s: Seconds | None = Field(description="s")
    delta_s: Seconds | None = Field(description="s: minus the time of the first lap")


class CornerOfLap(PartOfLap):
    """A lap in a corner."""

    min_speed_kmh: Kmh | None = Field(description="km/h: lowest between entry and exit")


class OverlaidSector(AnswerModel):
    """A sector, with every lap in the requested order."""

    name: str
    start_m: Metres = Field(description="m of lap progress from start/finish")
    end_m: Metres = Field(description="m of lap progress")
    laps: tuple[PartOfLap, ...]


class OverlaidCorner(AnswerModel):
    """A corner, with every lap in the requested order.

    Its time runs from the start of the approach to the exit; a corner across start/finish counts at
    both ends of the lap.
    """

    name: str
    start_m: Metres = Field(description="m of lap progress: start of the approach")
    entry_m: Metres = Field(description="m of lap progress")
    apex_m: Metres = Field(description="m of lap progress")
    end_m: Metres = Field(description="m of lap progress: exit")
    laps: tuple[CornerOfLap, ...]


class OverlayAnswer(Wire):
    """Laps on one axis, scaled to the length of the circuit of the first lap's session."""

    track: str | None = Field(description="id of the track file")
    length_m: float = Field(description="m: length of the axis")
    axis_m: list[float] = Field(description="m of lap progress, evenly from 0 to the length")
    laps: list[OverlaidLap] = Field(description="in the requested order")
    corners: list[OverlaidCorner] = Field(description="in lap order; empty: unknown")
    sectors: list[OverlaidSector]


class LoadedLap(NamedTuple):
    """A requested lap with its channels."""

    lap: ChosenLap
    channels: Channels


@routes.get("/compare", errors=ONE_LAP, answers={200: OverlayAnswer})
async def overlay(request: web.Request, *, query: OverlayQuery) -> web.StreamResponse:
    """Overlay two to six laps of any sessions: time, delta and every channel."""
    service = request.app[SERVICE]
    texts = [text.strip() for text in query.laps.split(",")]
    if not LEAST_LAPS <= len(texts) <= MOST_LAPS:
        raise BadQuery(f"laps: must be {LEAST_LAPS} to {MOST_LAPS} laps", param="laps")
    wanted = [read_reference(f"laps[{i}]", text) for i, text in enumerate(texts)]
    if wanted[0].session_id is None:
        raise BadQuery("laps[0]: must be <session>:<lap> or <session>:best", param="laps[0]")
    row = service.session(wanted[0].session_id)
    where = await service.analytics.of(row, Scope(), describe_circuit)
    named = {name.strip() for name in query.channels.split(",")} - {""}
    laps = []
    for i, (text, ref) in enumerate(zip(texts, wanted, strict=True)):
        lap = await choose_lap(service, row, f"laps[{i}]", text, ref, where)
        channels = await _load_channels(service, lap.row or row, lap, query.points, named)
        laps.append(LoadedLap(lap, channels))
    return json_bytes(await asyncio.to_thread(_write_body, laps, where, query.points, named))


async def _load_channels(
    service: Service, owner: SessionRow, lap: ChosenLap, points: int, named: Set[str]
) -> Channels:
    """Load the channels of a lap of *owner*, all or those *named*."""
    drive = await service.analytics.drive(owner, Scope())
    number = lap.side.lap or drive.best.number or 0
    kinds = {signal.name: signal.semantics for signal in service.db.registry()}
    recorded = await service.db.signal_names(owner.session_id)
    further = [name for name in recorded if name not in WIDE_SIGNALS]
    if named:
        further = [name for name in further if name in named]
    signals = await service.db.read_signals(owner.session_id, further)
    discrete = [name for name in further if is_discrete(name, kinds[name])]
    if lap.kind == "ideal":
        channels = await asyncio.to_thread(ideal_channels, drive, points, signals, discrete)
    else:
        channels = await asyncio.to_thread(lap_channels, drive, number, points, signals, discrete)
    if lap.side.time_s is not None and lap.kind == "target":
        channels = target_channels(channels, drive.best.duration_s / lap.side.time_s)
    return {name: channels[name] for name in channels if not named or name in (TIME, *named)}


def _write_body(laps: Sequence[LoadedLap], where: Circuit, points: int, named: Set[str]) -> bytes:
    pairs = [compare_sides(lap.side, laps[0].lap.side, where) for lap, _ in laps]
    loaded = [channels for _, channels in laps]
    body = {
        "track": where.track,
        "length_m": round(where.length_m, 2),
        "axis_m": round_values(lap_places(where.length_m, points), 2),
        "laps": [
            {
                **describe_lap(lap),
                "started_at": _find_start(lap),
                "channels": _round_channels(channels, loaded[0]),
                "missing": missing_channels(channels, named, loaded),
            }
            for lap, channels in laps
        ],
        "corners": [_make_corner(where, pairs, at) for at in range(len(where.corners))],
        "sectors": [
            OverlaidSector.of(
                span, laps=tuple(_make_part(pair.sectors[at]) for pair in pairs)
            ).model_dump()
            for at, span in enumerate(where.sectors)
        ],
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _find_start(lap: ChosenLap) -> str | None:
    driven = lap.row is not None and lap.kind != "ideal"
    return format_iso(lap.row.started_at) if lap.row is not None and driven else None


def _round_channels(own: Channels, first: Channels) -> dict[str, Numbers]:
    """Round the channels of a lap to sensible decimals, and add the delta to the first lap."""
    delta = {"delta_s": own[TIME] - first[TIME]} if own else {}
    return {
        name: round_values(values, DIGITS.get(name, _count_decimals(values)))
        for name, values in {**own, **delta}.items()
    }


def _count_decimals(values: Numbers) -> int:
    """Count the decimals that give the largest value its `FIGURES`."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return max(FIGURES - 1 - floor(log10(largest)), 0) if largest > 0 else 0


def _make_part(part: PartDelta) -> PartOfLap:
    return PartOfLap.of(part, time_s=part.a_s)


def _make_corner(where: Circuit, pairs: Sequence[Comparison], at: int) -> dict[str, object]:
    laps = []
    for pair in pairs:
        corner = pair.corners[at]
        own = CornerOfLap.of(corner.part, time_s=corner.part.a_s, min_speed_kmh=corner.a_min_kmh)
        laps.append(own)
    return OverlaidCorner.of(
        where.corners[at],
        entry_m=where.windows[at].start_m,
        apex_m=where.apexes[at],
        laps=tuple(laps),
    ).model_dump()
