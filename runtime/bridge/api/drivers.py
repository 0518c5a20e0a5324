"""How a driver develops, session by session."""

from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, Field

from runtime.bridge.analysis.driver import ENOUGH, Driven, Progress, Step, progress, steps
from runtime.bridge.api.sessions import READ_ERRORS
from runtime.bridge.api.shapes import iso, rounded
from runtime.bridge.coach.warm.grades import grades
from runtime.bridge.errors import UnknownDriver
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.storage.coaching import driver_events
from runtime.web.routes import Reply, Routes
from runtime.web.wire import Wire

LONGEST_ID: Final = 256
routes = Routes("driver")


def driver_name(text: str) -> str:
    """A name that a driver can have. Raises ValueError for a way through folders and the like."""
    a_way = any(part in text for part in ("/", "\\", ".."))
    if not text.strip() or len(text) > LONGEST_ID or a_way or not text.isprintable():
        raise ValueError(f"no name of a driver: 1 to {LONGEST_ID} printable letters, no way")
    return text


class DriverPath(Wire):
    """The name of a driver."""

    id: Annotated[str, AfterValidator(driver_name)]


class EvolutionQuery(Wire):
    """On which track."""

    track: str | None = Field(None, description="its name or id; absent: the active one")


class SectorBests(Wire):
    """Best time of each sector, seconds."""

    s1: float | None
    s2: float | None
    s3: float | None


class EvolutionStep(Wire):
    """One session."""

    session_id: str
    started_at: str
    session_index: int
    best_lap_s: float | None
    median_lap_s: float | None
    lap_count: int
    sector_pbs: SectorBests


class CornerGainRecord(Wire):
    """The corner whose apex speed rises fastest."""

    corner: str
    delta_kmh: float
    from_session_index: int
    to_session_index: int
    regression_slope_kmh_per_session: float


class EvolutionSummary(Wire):
    """The series in one look."""

    first_best_s: float
    latest_best_s: float
    improvement_s: float
    best_ever_s: float
    plateau: bool
    biggest_corner_gain: CornerGainRecord | None


class Evolution(Wire):
    """The driver's sessions on a track, by their start."""

    driver_id: str
    track: str
    session_count: int
    evolution: list[EvolutionStep]
    summary: EvolutionSummary | None


class BestLap(Wire):
    """The best lap of a session."""

    session_id: str
    lap_s: float


class CornerScore(Wire):
    """How much a corner got better."""

    corner: str
    delta_score: float


class SessionScore(Wire):
    """A corner in one session."""

    session_id: str
    score: float = Field(description="0 to 1")


class Profile(Wire):
    """What is known of a driver; nulls and nothing for an unknown one."""

    driver_id: str
    weakest_recent_corner: str | None
    weakest_recent_score: float | None
    biggest_improvement: CornerScore | None
    best_lap_history: list[BestLap]
    n_recent_grade_events: int
    sessions: int
    plateau: bool
    limit_archetype: Literal["under_limit", "oscillating", "at_limit", "unknown"] = Field(
        description="mean of the scores below 0.75: under_limit; scores of a corner that differ by "
        "more than 0.10: oscillating; no grades: unknown"
    )
    corner_history: dict[str, list[SessionScore]] = Field(
        description="every grade by corner, oldest first"
    )


@routes.get(
    "/driver/{id}/evolution",
    errors=(UnknownDriver, *READ_ERRORS),
    answers={204: None},
)
async def evolution(
    request: web.Request, *, path: DriverPath, query: EvolutionQuery
) -> Evolution | Reply[None]:
    """Show the driver's sessions on a track as a series; 204 for fewer than five."""
    service = request.app[SERVICE]
    own = [row for row in service.db.sessions() if _same(row.driver, path.id)]
    if not own:
        raise UnknownDriver(path.id)
    active = service.active_track.name if service.active_track else ""
    track = query.track if query.track is not None else active
    key = service.library.key
    there = [row.session_id for row in own if key(row.track or "") == key(track)]
    driven = await _driven(service, there)
    if len(driven) < ENOUGH:
        return Reply(None, status=204)
    found = progress(driven)
    return Evolution(
        driver_id=path.id,
        track=track,
        session_count=len(driven),
        evolution=[_step(step) for step in steps(driven)],
        summary=_summary(found) if found else None,
    )


@routes.get("/driver/{id}/profile", errors=READ_ERRORS)
async def profile(request: web.Request, *, path: DriverPath) -> Profile:
    """Show what the driver's sessions tell: best laps, and whether they still get faster."""
    service = request.app[SERVICE]
    own = [row.session_id for row in service.db.sessions() if _same(row.driver, path.id)]
    driven = await _driven(service, own)
    found = progress(driven)
    told = grades(await service.db.read(lambda reader: driver_events(reader, path.id)))
    return Profile(
        driver_id=path.id,
        weakest_recent_corner=told.weakest,
        weakest_recent_score=rounded(told.weakest_score, 3),
        biggest_improvement=CornerScore(
            corner=told.improved, delta_score=round(told.improvement or 0.0, 3)
        )
        if told.improved is not None
        else None,
        best_lap_history=[
            BestLap(session_id=step.session_id, lap_s=round(step.best_s, 3))
            for step in steps(driven)
            if step.best_s is not None
        ],
        n_recent_grade_events=told.recent,
        sessions=len(own),
        plateau=found.plateau if found else False,
        limit_archetype=told.archetype,
        corner_history={
            corner: [
                SessionScore(session_id=one.session_id, score=round(one.score, 4)) for one in known
            ]
            for corner, known in told.corners.items()
        },
    )


async def _driven(service: Service, session_ids: list[str]) -> list[Driven]:
    """Those of the sessions that have telemetry."""
    found = []
    for session_id in session_ids:
        row = service.session(session_id)
        summary = await service.book.seen(row)
        if summary is not None:
            found.append(Driven(session_id, row.started_at, summary))
    return found


def _same(driver: str | None, name: str) -> bool:
    return bool(driver) and (driver or "").strip().casefold() == name.strip().casefold()


def _step(step: Step) -> EvolutionStep:
    s1, s2, s3 = (rounded(time, 3) for time in step.sectors)
    return EvolutionStep(
        session_id=step.session_id,
        started_at=iso(step.started_at) or "",
        session_index=step.index,
        best_lap_s=rounded(step.best_s, 3),
        median_lap_s=rounded(step.median_s, 3),
        lap_count=step.laps,
        sector_pbs=SectorBests(s1=s1, s2=s2, s3=s3),
    )


def _summary(found: Progress) -> EvolutionSummary:
    gain = found.gain
    return EvolutionSummary(
        first_best_s=round(found.first_s, 3),
        latest_best_s=round(found.latest_s, 3),
        improvement_s=round(found.first_s - found.latest_s, 3),
        best_ever_s=round(found.best_s, 3),
        plateau=found.plateau,
        biggest_corner_gain=None
        if gain is None
        else CornerGainRecord(
            corner=gain.corner,
            delta_kmh=round(gain.delta_kmh, 1),
            from_session_index=gain.first,
            to_session_index=gain.last,
            regression_slope_kmh_per_session=round(gain.slope, 3),
        ),
    )
