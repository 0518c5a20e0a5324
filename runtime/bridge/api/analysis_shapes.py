"""What the routes of session analytics share: scope, guard, and numbers that add up."""

import math
from collections.abc import Callable, Sequence
from typing import Concatenate, Final, Literal, ParamSpec, TypeVar

from aiohttp import web
from pydantic import Field

from runtime.bridge.analyses import Analyses, Scope
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.laps import Best
from runtime.bridge.api.sessions import READ_ERRORS
from runtime.bridge.api.shapes import Flag, rounded
from runtime.bridge.errors import NoCompleteLap, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.units import KMH
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.web.absent import absent
from runtime.web.wire import Wire

T = TypeVar("T")
P = ParamSpec("P")
GUARD: Final = (UnknownSession, NoRows, NoCompleteLap, *READ_ERRORS)
"""What every analytic may answer instead."""
ONE_LAP: Final = (UnknownLap, *GUARD)


class WholeQuery(Wire):
    """Which session counts."""

    partial: Flag = Field(
        False, description="take a session without a complete lap as one lap instead of refusing it"
    )


class LapQuery(WholeQuery):
    """Which part of the session."""

    lap: int | None = Field(None, description="only this complete lap; absent: the whole session")


class Analytic(Wire):
    """A session that was looked at."""

    session_id: str
    partial: Literal[True] | None = absent(
        "the session has no complete lap and was taken as one, as was asked for"
    )


class PartTime(Wire):
    """The best that was done in a part of the lap."""

    name: str = Field(description="of the sector, corner or straight; the number of a mini-sector")
    time_s: float | None = Field(
        description="s: smallest over the complete laps; null: none has a time there"
    )
    from_lap: int | None = Field(description="number of that lap, the earliest of equals")
    start_m: float = Field(description="m of lap progress from start/finish")
    end_m: float = Field(description="m of lap progress")


def scope_of(query: WholeQuery) -> Scope:
    """The part of the session that is asked about."""
    return Scope(query.partial, query.lap if isinstance(query, LapQuery) else None)


def analyses_of(service: Service) -> Analyses:
    """The analytics of the stored sessions. Raises `NoDatabase`."""
    if service.analyses is None:
        raise service.without_database()
    return service.analyses


async def analysed(
    request: web.Request,
    session_id: str,
    query: WholeQuery,
    compute: Callable[Concatenate[Drive, P], T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> tuple[Literal[True] | None, T]:
    """Whether the session was taken as one lap, and what *compute* gives for it."""
    service = request.app[SERVICE]
    row = service.session(session_id)
    analyses, scope = analyses_of(service), scope_of(query)
    found = await analyses.of(row, scope, compute, *args, **kwargs)
    whole = query.partial and await analyses.of(row, scope, taken_whole)
    return (True if whole else None), found


def taken_whole(drive: Drive) -> bool:
    """Whether the session counts as one lap, having no complete one."""
    return drive.partial


def part_time(best: Best) -> PartTime:
    """A best part as it is answered."""
    return PartTime(
        name=best.part.name,
        time_s=rounded(best.time_s, 3),
        from_lap=best.from_lap,
        start_m=round(best.part.start_m, 1),
        end_m=round(best.part.end_m, 1),
    )


def kmh(speed_ms: float | None, digits: int = 1) -> float | None:
    """A speed in km/h, rounded."""
    return None if speed_ms is None else rounded(speed_ms * KMH, digits)


def summing(values: Sequence[float], total: float, digits: int) -> list[float]:
    """The values rounded so that they add up to the rounded total.

    Each is rounded to its nearest neighbour, but for as few as needed, which take the other one:
    those that were nearest to it.
    """
    unit = 10**digits
    scaled = [value * unit for value in values]
    whole = [math.floor(value + 0.5) for value in scaled]
    short = math.floor(total * unit + 0.5) - sum(whole)
    step = 1 if short > 0 else -1
    order = sorted(range(len(whole)), key=lambda i: (step * (whole[i] - scaled[i]), i))
    for i in order[: abs(short)]:
        whole[i] += step
    return [value / unit for value in whole]


def splits(times: Sequence[float | None], total: float) -> list[float | None]:
    """Times of parts in milliseconds; where all are known, together exactly the total."""
    known = [time for time in times if time is not None]
    if len(known) < len(times) or abs(sum(known) - total) > 0.001:
        return [rounded(time, 3) for time in times]
    return list(summing(known, total, 3))
