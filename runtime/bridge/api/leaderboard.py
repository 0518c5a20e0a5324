"""The best lap of every driver, car and track, over all sessions."""

from collections.abc import AsyncIterator
from typing import Annotated

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.sessions import READ_ERRORS, recorded_ms, reported
from runtime.bridge.api.shapes import capped, iso
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.ranking import MAX_ENTRIES, Candidate, Entry, leaderboard
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("leaderboard")


class BoardQuery(Wire):
    """Which laps, and how many places."""

    track: str = Field("", description="name or id of a track; absent: all")
    limit: Annotated[int, capped(MAX_ENTRIES)] = 50


class BoardEntry(Wire):
    """A place on the board."""

    rank: int
    initials: str
    car: str
    track: str
    time: str
    driver: str
    session_id: str
    lap_number: int
    lap_time_s: float
    recorded_at: str


class Board(Wire):
    """Places, the fastest first."""

    entries: list[BoardEntry]
    count: int


@routes.get("/leaderboard", errors=READ_ERRORS)
async def board(request: web.Request, *, query: BoardQuery) -> Board:
    """Rank the best laps of all sessions."""
    service = request.app[SERVICE]
    laps = [lap async for lap in _candidates(service)]
    found = leaderboard(laps, query.track, query.limit, service.library.key)
    return Board(entries=[_entry(entry) for entry in found], count=len(found))


async def _candidates(service: Service) -> AsyncIterator[Candidate]:
    """Complete laps of sessions with telemetry, and reported ones."""
    rows = {row.session_id: row for row in service.db.sessions()}
    for row in rows.values():
        summary = await service.book.seen(row)
        for lap in summary.laps if summary else ():
            yield Candidate(
                driver=row.driver or "",
                car=row.car or "",
                track=row.track or "",
                session_id=row.session_id,
                lap_number=lap.number,
                lap_time_s=lap.time_s,
                recorded_at=recorded_ms(row, lap.t_end),
            )
    for posted in await reported(service):
        owner = rows.get(posted.session_id)
        yield Candidate(
            driver=(owner.driver or "") if owner else "",
            car=(owner.car or "") if owner else "",
            track=(owner.track or "") if owner else "",
            session_id=posted.session_id,
            lap_number=posted.lap_number,
            lap_time_s=posted.lap_time_s,
            recorded_at=posted.recorded_at,
        )


def _entry(entry: Entry) -> BoardEntry:
    lap = entry.lap
    return BoardEntry(
        rank=entry.rank,
        initials=entry.initials,
        car=lap.car,
        track=lap.track,
        time=entry.time,
        driver=lap.driver,
        session_id=lap.session_id,
        lap_number=lap.lap_number,
        lap_time_s=round(lap.lap_time_s, 3),
        recorded_at=iso(lap.recorded_at) or "",
    )
