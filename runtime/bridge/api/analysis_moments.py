"""Highlights and incidents of a session."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.highlights import Moment, highlights
from runtime.bridge.analysis.incidents import ASSISTS, Active, Incident, activity, incidents
from runtime.bridge.api.analysis_shapes import ONE_LAP, Analytic, LapQuery, analysed, analyses_of
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import rounded
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.units import KMH
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("analysis")


class Highlight(Wire):
    """A moment worth looking at again."""

    id: str = Field(description="h0, h1, … in the order of importance; the same as of its clip")
    title: str
    category: str = Field(
        description="over_limit_in_corner, late_brake_vs_reference, incident, "
        "overbraked_vs_reference, coast_in_corner, slow_exit_vs_reference, slip_oscillation, "
        "best_lap, best_sector, clean_trail_brake, improved_vs_first_pass or telemetry_gap"
    )
    severity: Literal["high", "medium", "positive", "engineering"]
    lap: int = Field(description="complete lap it lies in; 0: outside")
    distance_m: float | None = Field(description="m of the lap; null: not known")
    timestamp_s: float = Field(description="s since the first frame")
    timestamp: float = Field(description="s of the session's clock")
    corner: str | None
    video_in_s: float = Field(description="s since the first frame: 3 s before, 0 at least")
    video_out_s: float = Field(description="s since the first frame: 5 s behind")
    narrative_seed: str = Field(description="a sentence with the numbers")


class Highlights(Analytic):
    """Eight moments at most, the most important first."""

    highlights: list[Highlight]
    count: int


class IncidentRecord(Wire):
    """An event, or several of a kind less than 5 s apart; values are those of its worst frame."""

    timestamp: float = Field(description="s of the session's clock, of the worst frame")
    distance_m: float | None = Field(description="m of the lap; null: not known")
    speed_kmh: float | None = Field(description="km/h")
    combo_g: float | None = Field(description="g, combined acceleration")
    reason: str = Field(description="a sentence")
    frame_idx: int = Field(description="index of the stored frame")
    kind: Literal[
        "over_g", "off_line", "spin", "stopped", "hard_deceleration", "abs_active", "tc_active"
    ] = Field(
        description="over_g: combo_g above 2; off_line: farther from the reference line than half "
        "the track and 8 m for 0.5 s, faster than 5 m/s; spin: course turned by over 120 degrees "
        "in 2 s, 60 of them not with the reference line, and speed down by over 30 %; stopped: "
        "slower than 2 m/s for 3 s; "
        "hard_deceleration: g_long below -1.5 with less than 5 bar; abs_active, tc_active: that "
        "signal above 0.5 for 0.3 s. off_line and stopped in complete laps only"
    )
    lap: int | None = Field(description="complete lap; null: outside")
    t_start: float = Field(description="s of the session's clock")
    t_end: float = Field(description="s of the session's clock")
    severity: Literal["high", "medium", "low"]


class Incidents(Analytic):
    """Incidents by time, then by kind."""

    incidents: list[IncidentRecord]
    count: int


@routes.get("/session/{sid}/highlights", errors=ONE_LAP)
async def get_highlights(request: web.Request, *, path: SessionPath, query: LapQuery) -> Highlights:
    """List the eight moments that are most worth looking at again."""
    service = request.app[SERVICE]
    active = await assistance(service, path.sid)
    references = service.references.current()
    partial, found = await analysed(request, path.sid, query, highlights, references, active)
    shown = [_highlight(one) for one in found]
    return Highlights(session_id=path.sid, partial=partial, highlights=shown, count=len(shown))


@routes.get("/session/{sid}/incidents", errors=ONE_LAP)
async def get_incidents(request: web.Request, *, path: SessionPath, query: LapQuery) -> Incidents:
    """List what went wrong, or nearly did."""
    active = await assistance(request.app[SERVICE], path.sid)
    partial, found = await analysed(request, path.sid, query, _shown, active)
    return Incidents(session_id=path.sid, partial=partial, incidents=list(found), count=len(found))


async def assistance(service: Service, session_id: str) -> tuple[Active, ...]:
    """When assistance systems worked in a session. Raises `UnknownSession`."""
    row = service.session(session_id)
    known = {row.name for row in service.db.registry()}
    names = [name for name in ASSISTS if name in known]
    if not names:
        return ()

    async def find() -> tuple[Active, ...]:
        return activity(await service.db.read_signals(session_id, names))

    return await analyses_of(service).once(row, (ASSISTS, *names), find)


def _highlight(one: Moment) -> Highlight:
    return Highlight(
        id=one.id,
        title=one.title,
        category=one.category,
        severity=one.severity,
        lap=one.lap,
        distance_m=rounded(one.distance_m, 1),
        timestamp_s=round(one.timestamp_s, 3),
        timestamp=round(one.timestamp, 3),
        corner=one.corner,
        video_in_s=round(one.video_in_s, 3),
        video_out_s=round(one.video_out_s, 3),
        narrative_seed=one.narrative_seed,
    )


def _shown(drive: Drive, active: tuple[Active, ...]) -> tuple[IncidentRecord, ...]:
    """The incidents of a session as they are answered."""
    return tuple(_incident(drive, one) for one in incidents(drive, active))


def _incident(drive: Drive, one: Incident) -> IncidentRecord:
    series, at = drive.series, one.frame
    return IncidentRecord(
        timestamp=round(float(series.t[at]), 3),
        distance_m=rounded(float(drive.progress.p[at]), 1),
        speed_kmh=rounded(float(series["speed_ms"][at]) * KMH, 1),
        combo_g=rounded(float(series.combo_g[at]), 3),
        reason=f"{one.reason[:1].upper()}{one.reason[1:]}.",
        frame_idx=int(series.index[at]),
        kind=one.kind,
        lap=one.lap,
        t_start=round(one.t_start, 3),
        t_end=round(one.t_end, 3),
        severity=one.severity,
    )
