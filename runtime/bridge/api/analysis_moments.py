"""Highlights and incidents of a session."""

from aiohttp import web

from runtime.bridge.analysis.highlights import Highlight, highlights
from runtime.bridge.analysis.incidents import (
    ASSISTS,
    Active,
    IncidentRecord,
    activity,
    incidents,
)
from runtime.bridge.api.analysis import ONE_LAP, Analytic, LapQuery, analyses_of, subject_of
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.service import Service
from runtime.web.routes import Routes

routes = Routes("analysis")


class Highlights(Analytic):
    """Eight moments at most, the most important first."""

    highlights: tuple[Highlight, ...]
    count: int


class Incidents(Analytic):
    """Incidents by time, then by kind."""

    incidents: tuple[IncidentRecord, ...]
    count: int


@routes.get("/session/{sid}/highlights", errors=ONE_LAP)
async def get_highlights(request: web.Request, *, path: SessionPath, query: LapQuery) -> Highlights:
    """List the eight moments that are most worth looking at again."""
    subject = subject_of(request, path, query)
    active = await assistance(subject.service, path.sid)
    found = await subject.compute(highlights, subject.references, active)
    return await subject.answer(Highlights, highlights=found, count=len(found))


@routes.get("/session/{sid}/incidents", errors=ONE_LAP)
async def get_incidents(request: web.Request, *, path: SessionPath, query: LapQuery) -> Incidents:
    """List what went wrong, or nearly did."""
    subject = subject_of(request, path, query)
    found = await subject.compute(incidents, await assistance(subject.service, path.sid))
    return await subject.answer(Incidents, incidents=found, count=len(found))


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
