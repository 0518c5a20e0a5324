"""Two to six laps, of any sessions, with everything that was recorded of them on one axis."""

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
from runtime.bridge.api.shapes import AnswerModel, capped, iso, round_values
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
"""So many significant figures of the largest value of a channel are written."""
DIGITS: Final = {TIME: 3, "delta_s": 3, "lat": 7, "lon": 7}
"""Decimals of the channels to which that rule does not apply."""
routes = Routes("analysis")


class OverlayQuery(Wire):
    """Which laps, which of their channels, and how finely."""

    laps: str = Field(
        max_length=2048,
        description="2 to 6, separated by commas; the first names its session (<session>:<lap> or "
        f"<session>:best), and the rest are compared with it. Each is {LAP_WORDS}. A word without "
        "a session means the first one's",
    )
    points: Annotated[int, capped(5000, least=100)] = Field(
        1000, description="places of the axis, 100 to 5000"
    )
    channels: str = Field(
        "",
        max_length=8192,
        description="only these, separated by commas, besides time_s and delta_s; absent: all",
    )


class OverlaidLap(ComparedLap):
    """A lap with its channels."""

    started_at: str | None = Field(description="ISO 8601: start of its session")
    channels: dict[str, list[float | None]] = Field(
        description="at each place of the axis: time_s since the lap began, delta_s to the first "
        "lap at the same place (positive: later), speed_kmh, the columns of a frame and every "
        "further signal under their own names and in their own units; null where nothing is known"
    )
    missing: list[str] = Field(
        description="what its session did not record, of speed_kmh, the columns of a frame and "
        "what other laps here have"
    )


class PartOfLap(AnswerModel):
    """A lap in a part of the circuit."""

    time_s: Seconds | None = Field(description="s")
    delta_s: Seconds | None = Field(description="s: less that of the first lap")


class CornerOfLap(PartOfLap):
    """A lap in a corner."""

    min_speed_kmh: Kmh | None = Field(description="km/h: lowest between entry and exit")


class OverlaidSector(AnswerModel):
    """A sector, with every lap in the order asked for."""

    name: str
    start_m: Metres = Field(description="m of lap progress from start/finish")
    end_m: Metres = Field(description="m of lap progress")
    laps: tuple[PartOfLap, ...]


class OverlaidCorner(AnswerModel):
    """A corner, with every lap in the order asked for.

    Its time is that from the begin of the approach to the exit; one over start/finish is driven at
    both ends of the same lap.
    """

    name: str
    start_m: Metres = Field(description="m of lap progress: begin of the approach")
    entry_m: Metres = Field(description="m of lap progress")
    apex_m: Metres = Field(description="m of lap progress")
    end_m: Metres = Field(description="m of lap progress: exit")
    laps: tuple[CornerOfLap, ...]


class OverlayAnswer(Wire):
    """Laps on one axis, scaled to the length of the circuit of the first lap's session."""

    track: str | None = Field(description="id of the track file")
    length_m: float = Field(description="m: of the axis")
    axis_m: list[float] = Field(description="m of lap progress, evenly from 0 to the length")
    laps: list[OverlaidLap] = Field(description="in the order asked for")
    corners: list[OverlaidCorner] = Field(description="in lap order; empty: not known")
    sectors: list[OverlaidSector]


class Shown(NamedTuple):
    """A lap that was asked for, with its channels."""

    lap: ChosenLap
    channels: Channels


@routes.get("/compare", errors=ONE_LAP, answers={200: OverlayAnswer})
async def overlay(request: web.Request, *, query: OverlayQuery) -> web.StreamResponse:
    """Lay two to six laps, of any sessions, over each other: time, place and every channel."""
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
    shown = []
    for i, (text, ref) in enumerate(zip(texts, wanted, strict=True)):
        lap = await choose_lap(service, row, f"laps[{i}]", text, ref, where)
        channels = await _channels(service, lap.row or row, lap, query.points, named)
        shown.append(Shown(lap, channels))
    return json_bytes(await asyncio.to_thread(_body, shown, where, query.points, named))


async def _channels(
    service: Service, owner: SessionRow, lap: ChosenLap, points: int, named: Set[str]
) -> Channels:
    """What is shown of a lap of *owner*."""
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
        found = await asyncio.to_thread(ideal_channels, drive, points, signals, discrete)
    else:
        found = await asyncio.to_thread(lap_channels, drive, number, points, signals, discrete)
    if lap.side.time_s is not None and lap.kind == "target":
        found = target_channels(found, drive.best.duration_s / lap.side.time_s)
    return {name: found[name] for name in found if not named or name in (TIME, *named)}


def _body(shown: Sequence[Shown], where: Circuit, points: int, named: Set[str]) -> bytes:
    pairs = [compare_sides(one.lap.side, shown[0].lap.side, where) for one in shown]
    laps = [one.channels for one in shown]
    body = {
        "track": where.track,
        "length_m": round(where.length_m, 2),
        "axis_m": round_values(lap_places(where.length_m, points), 2),
        "laps": [
            {
                **describe_lap(one.lap),
                "started_at": _started_at(one.lap),
                "channels": _written(one.channels, laps[0]),
                "missing": missing_channels(one.channels, named, laps),
            }
            for one in shown
        ],
        "corners": [_corner(where, pairs, at) for at in range(len(where.corners))],
        "sectors": [
            OverlaidSector.of(
                span, laps=tuple(_part(pair.sectors[at]) for pair in pairs)
            ).model_dump()
            for at, span in enumerate(where.sectors)
        ],
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _started_at(lap: ChosenLap) -> str | None:
    driven = lap.row is not None and lap.kind != "ideal"
    return iso(lap.row.started_at) if lap.row is not None and driven else None


def _written(own: Channels, first: Channels) -> dict[str, Numbers]:
    """The channels of a lap in as many decimals as make sense, with the delta to the first."""
    delta = {"delta_s": own[TIME] - first[TIME]} if own else {}
    return {
        name: round_values(values, DIGITS.get(name, _decimals(values)))
        for name, values in {**own, **delta}.items()
    }


def _decimals(values: Numbers) -> int:
    """How many leave the largest value its `FIGURES`."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return max(FIGURES - 1 - floor(log10(largest)), 0) if largest > 0 else 0


def _part(part: PartDelta) -> PartOfLap:
    return PartOfLap.of(part, time_s=part.a_s)


def _corner(where: Circuit, pairs: Sequence[Comparison], at: int) -> dict[str, object]:
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
