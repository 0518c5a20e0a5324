"""The catalogue of signals, what there is of them in a session, and their values on one axis."""

import asyncio
import math
from dataclasses import replace
from typing import Any

import numpy as np
import orjson
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.summary import Summary
from runtime.bridge.api.bus import CanDiagnostics, can_state
from runtime.bridge.api.sessions import READ_ERRORS, WRITE_ERRORS, SessionPath
from runtime.bridge.api.shapes import Flag, iso, rounded
from runtime.bridge.errors import TooManyRows, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session import resample as resampling
from runtime.bridge.session.capabilities import coaching
from runtime.bridge.session.recording import WIDE_SIGNALS
from runtime.bridge.session.resample import Resampled, axis_of, interpolation_of, resample
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.bridge.storage.values import SessionRow
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent, json_bytes

routes = Routes("signals")


class RegistryQuery(Wire):
    """What to add to the catalogue."""

    include_can_state: Flag = False


class SignalRecord(Wire):
    """A signal that may be recorded."""

    signal_id: int
    name: str
    units: str | None
    semantics: str | None
    group: str | None
    expected_hz: float | None
    min_useful_hz: float | None
    discovery: str
    obd2_pid: str | None
    discovered_at: str | None
    n_samples_total: int


class UnknownCanId(Wire):
    """A message of the bus that no database describes."""

    id: int
    can_id: str
    hz: float


class Registry(Wire):
    """Signals by id."""

    count: int
    signals: list[SignalRecord]
    can_state: CanDiagnostics | None = absent("only with include_can_state")
    unknown_can_ids: list[UnknownCanId] | None = absent("only with include_can_state")


class Capability(Wire):
    """How much there is of one signal."""

    name: str
    units: str | None
    group: str | None
    n_samples: int
    mean_hz: float
    t_start: float
    t_end: float
    min_useful_hz: float | None
    useful: bool


class DisabledCoachRecord(Wire):
    """A coach that cannot work on the session."""

    coach_id: str
    name: str
    reason: str
    reasons: list[str]


class Capabilities(Wire):
    """What there is in a session, and which coaches can work with it."""

    session_id: str
    duration_s: float
    signals: list[Capability]
    coaches_available: list[str]
    coaches_disabled: list[DisabledCoachRecord]


class ResampleQuery(Wire):
    """Which signals, and on which axis."""

    names: str = Field("", description="1 to 64 names, separated by commas")
    axis: str = Field("time", description="time, distance, or a signal: its own moments")
    rate_hz: float = Field(0.0, description="0: as recorded; else an even grid, 1000 at most")
    interp: str = Field("previous", description="linear or previous")
    t_from: float | None = None
    t_to: float | None = None
    step_m: float = Field(1.0, description="grid of the distance axis")
    max_age_s: float | None = Field(None, description="a previous sample older than this is null")
    lap: int | None = Field(None, description="only this complete lap")


class ResampleRows(Wire):
    """Signals on one axis."""

    session_id: str
    axis: str
    rate_hz: float
    interp: str
    t_from: float | None
    t_to: float | None
    names: list[str]
    rows: list[dict[str, float | None]] = Field(
        description="t, distance_m on the distance axis, and each name"
    )
    missing: list[str]
    count: int


class RecomputeAnswer(Wire):
    """How many signals the session has."""

    session_id: str
    capabilities_count: int


@routes.get("/signals/registry", errors=READ_ERRORS)
async def registry(request: web.Request, *, query: RegistryQuery) -> Registry:
    """List every signal that is known."""
    service = request.app[SERVICE]
    totals = await service.db.samples_total()
    rows = service.db.registry()
    state = await can_state(service) if query.include_can_state else None
    return Registry(
        count=len(rows),
        signals=[
            SignalRecord(
                signal_id=row.signal_id,
                name=row.name,
                units=row.units,
                semantics=row.semantics,
                group=row.group,
                expected_hz=row.expected_hz,
                min_useful_hz=row.min_useful_hz,
                discovery=row.discovery,
                obd2_pid=row.obd2_pid,
                discovered_at=iso(row.discovered_at),
                n_samples_total=totals.get(row.name, 0),
            )
            for row in rows
        ],
        can_state=state,
        unknown_can_ids=None if state is None else _unknown(state),
    )


def _unknown(state: CanDiagnostics) -> list[UnknownCanId]:
    return [
        UnknownCanId(id=int(one.can_id, 16), can_id=one.can_id, hz=one.hz)
        for one in state.unknown_ids
    ]


@routes.post(
    "/session/{sid}/capabilities/recompute", errors=(UnknownSession, NoRows, *WRITE_ERRORS)
)
async def recompute(request: web.Request, *, path: SessionPath) -> RecomputeAnswer:
    """Count the samples of a session anew."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    count = await service.db.recompute_capabilities(row.session_id)
    if not count:
        raise NoRows("the session has no data", session_id=row.session_id)
    return RecomputeAnswer(session_id=row.session_id, capabilities_count=count)


@routes.get("/session/{sid}/capabilities", errors=(UnknownSession, NoRows, *READ_ERRORS))
async def capabilities(request: web.Request, *, path: SessionPath) -> Capabilities:
    """Tell what was recorded how often, and which coaches can work with it."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    found = await service.db.capabilities(row.session_id)
    if not found:
        raise NoRows("the session has no data", session_id=row.session_id)
    coaches = coaching({one.name: one.mean_hz for one in found})
    span = max(one.t_end for one in found) - min(one.t_start for one in found)
    return Capabilities(
        session_id=row.session_id,
        duration_s=round(span, 3),
        signals=[
            Capability(
                name=one.name,
                units=one.units,
                group=one.group,
                n_samples=one.n_samples,
                mean_hz=rounded(one.mean_hz, 3) or 0.0,
                t_start=one.t_start,
                t_end=one.t_end,
                min_useful_hz=one.min_useful_hz,
                useful=one.useful,
            )
            for one in found
        ],
        coaches_available=list(coaches.available),
        coaches_disabled=[
            DisabledCoachRecord(
                coach_id=coach.coach_id,
                name=coach.name,
                reason=coach.reason,
                reasons=list(coach.reasons),
            )
            for coach in coaches.disabled
        ],
    )


@routes.get(
    "/session/{sid}/signals",
    errors=(BadQuery, UnknownSession, UnknownLap, NoRows, TooManyRows, *READ_ERRORS),
)
async def signals(
    request: web.Request, *, path: SessionPath, query: ResampleQuery
) -> ResampleRows | web.StreamResponse:
    """Put signals on a common axis."""
    service = request.app[SERVICE]
    try:
        wanted = _query(query)
        row = service.session(path.sid)
        if query.lap is not None:
            wanted = _clipped(wanted, await service.book.summary(row), query.lap, row)
        found = await _resampled(service, row, wanted)
    except resampling.TooManyRows as error:
        raise TooManyRows(resampling.MAX_ROWS) from error
    except resampling.BadResample as error:
        raise BadQuery(str(error), param=error.param) from error
    body = await asyncio.to_thread(_body, row.session_id, wanted, found)
    return json_bytes(body)


def _query(query: ResampleQuery) -> resampling.Query:
    """What is asked for; raises `BadResample`."""
    names = tuple(name.strip() for name in query.names.split(",") if name.strip())
    if not names:
        raise resampling.BadResample("names", "names must be given")
    return resampling.Query(
        names=names,
        axis=axis_of(query.axis),
        rate_hz=query.rate_hz,
        interp=interpolation_of(query.interp),
        t_from=query.t_from,
        t_to=query.t_to,
        step_m=query.step_m,
        max_age_s=query.max_age_s,
    )


def _clipped(
    wanted: resampling.Query, summary: Summary | None, lap: int, row: SessionRow
) -> resampling.Query:
    """The query within one lap."""
    found = next((one for one in summary.laps if one.number == lap), None) if summary else None
    if found is None:
        raise UnknownLap(row.session_id)
    t_from = found.t_start if wanted.t_from is None else max(wanted.t_from, found.t_start)
    t_to = found.t_end if wanted.t_to is None else min(wanted.t_to, found.t_end)
    return replace(wanted, t_from=t_from, t_to=max(t_from, t_to))


async def _resampled(service: Service, row: SessionRow, wanted: resampling.Query) -> Resampled:
    store = service.db
    if not row.n_frames and not row.n_signals:
        raise NoRows("the session has no data", session_id=row.session_id)
    known = {one.name: one for one in store.registry()}
    asked = [*wanted.names, *(() if wanted.axis in resampling.AXES else (wanted.axis,))]
    if wanted.axis not in (*resampling.AXES, *known):
        words = "axis must be time, distance or the name of a registered signal"
        raise resampling.BadResample("axis", words)
    if not known.keys() >= set(wanted.names):
        raise resampling.BadResample("names", "names holds a signal that is not registered")
    tall = [name for name in asked if name not in WIDE_SIGNALS]
    frames = await store.read_frames(row.session_id)
    samples = await store.read_signals(row.session_id, tall) if tall else {}
    summary = await service.book.summary(row) if wanted.axis == "distance" else None
    if summary is not None:
        wanted = replace(wanted, track_length_m=summary.length_m)
    discrete = [
        name for name in wanted.names if resampling.is_discrete(name, known[name].semantics)
    ]
    return await asyncio.to_thread(resample, frames, samples, wanted, discrete)


def _body(session_id: str, query: resampling.Query, found: Resampled) -> bytes:
    """The answer as JSON; numbers that there are none of as null."""
    # What was recorded stays as it is; a moment between two frames is known to a millisecond.
    reckoned = query.axis == "distance" and query.rate_hz > 0
    t = np.round(found.t, 3) if reckoned else found.t
    columns: dict[str, list[Any]] = {"t": t.tolist()}
    if found.distance_m is not None:
        columns["distance_m"] = np.round(found.distance_m, 3).tolist()
    for name, values in found.columns.items():
        columns[name] = [None if math.isnan(value) else value for value in values.tolist()]
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return orjson.dumps(
        {
            "session_id": session_id,
            "axis": query.axis,
            "rate_hz": query.rate_hz,
            "interp": query.interp,
            "t_from": found.t_from,
            "t_to": found.t_to,
            "names": list(query.names),
            "rows": rows,
            "missing": list(found.missing),
            "count": len(rows),
        }
    )
