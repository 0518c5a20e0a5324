"""What the routes of session analytics share: which part of a session, guards, and the answer.

A route of an analytic reads: which part of the session, what to compute of it, the model of the
answer. The values of `runtime.bridge.analysis` are written as they are; their annotations say to
how many decimals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Final, Literal, ParamSpec, TypeVar

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.reference import References
from runtime.bridge.api.sessions import READ_ERRORS, SessionPath
from runtime.bridge.api.shapes import Flag, Values
from runtime.bridge.errors import NoCompleteLap, NoGeometry, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.storage.derived import Analyses, Scope
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.bridge.storage.values import SessionRow
from runtime.web.wire import Wire, absent

T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M", bound="Analytic")
GUARD: Final = (UnknownSession, NoRows, NoCompleteLap, *READ_ERRORS)
"""What every analytic may answer instead."""
ONE_LAP: Final = (UnknownLap, *GUARD)
CORNERS: Final = (NoGeometry, *ONE_LAP)
"""What an analytic of corners may answer instead."""


class WholeQuery(Wire):
    """Which session counts."""

    partial: Flag = Field(
        False, description="take a session without a complete lap as one lap instead of refusing it"
    )


class LapQuery(WholeQuery):
    """Which part of the session."""

    lap: int | None = Field(None, description="only this complete lap; absent: the whole session")


class Analytic(Values):
    """A session that was looked at."""

    session_id: str
    partial: Literal[True] | None = absent(
        "the session has no complete lap and was taken as one, as was asked for"
    )


class Cornering(Analytic):
    """An answer about corners."""

    geometry: Literal["detected"] | None = absent("the corners were found in the driven line")


def analyses_of(service: Service) -> Analyses:
    """The analytics of the stored sessions. Raises `NoDatabase`."""
    if service.analyses is None:
        raise service.without_database()
    return service.analyses


@dataclass(frozen=True)
class Subject:
    """The part of a stored session that a request is about."""

    service: Service
    row: SessionRow
    scope: Scope

    @property
    def references(self) -> References:
        """The reference laps as their files are now."""
        return self.service.references.current()

    async def compute(
        self,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What *compute* gives for it; computed once for each state of the session."""
        analyses = analyses_of(self.service)
        return await analyses.of(self.row, self.scope, compute, *args, **kwargs)

    async def drive(self) -> Drive:
        """The session on its circuit, for what depends on more than its frames."""
        await self.compute(_is_whole)  # the guard
        return await analyses_of(self.service).drive(self.row, self.scope)

    async def answer(self, model: type[M], found: object = None, **values: object) -> M:
        """The answer: the fields that *found* has, and *values* beside them."""
        about = await self.head()
        if "geometry" in model.model_fields:
            about["geometry"] = await self.compute(_geometry)
        given = [name for name in model.model_fields if hasattr(found, name)]
        about |= {name: getattr(found, name) for name in given}
        return model.model_validate(about | values)

    async def head(self) -> dict[str, object]:
        """What every answer begins with."""
        whole = self.scope.partial and await self.compute(_is_whole)
        return {"session_id": self.row.session_id, **({"partial": True} if whole else {})}


def subject_of(request: web.Request, path: SessionPath, query: WholeQuery) -> Subject:
    """What a request is about. Raises `UnknownSession`."""
    service = request.app[SERVICE]
    scope = Scope(query.partial, query.lap if isinstance(query, LapQuery) else None)
    return Subject(service, service.session(path.sid), scope)


def _is_whole(drive: Drive) -> bool:
    return drive.partial


def _geometry(drive: Drive) -> Literal["detected"] | None:
    return "detected" if drive.geometry == "detected" else None
