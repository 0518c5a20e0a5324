"""What was said between drivers and the coach."""

from typing import Annotated, Final

from aiohttp import web
from pydantic import AfterValidator, Field

from runtime.bridge.api.drivers import driver_name
from runtime.bridge.api.sessions import READ_ERRORS, SessionPath
from runtime.bridge.api.shapes import capped, iso
from runtime.bridge.service import SERVICE
from runtime.bridge.storage.coaching import TurnRow, driver_turns, session_turns
from runtime.web.routes import Routes
from runtime.web.wire import Wire

OF_A_SESSION: Final = 1000
routes = Routes("coaching")


class DriverPath(Wire):
    """The name of a driver."""

    driver_id: Annotated[str, AfterValidator(driver_name)]


class HistoryQuery(Wire):
    """How much."""

    limit: Annotated[int, capped(200)] = Field(20, description="1 to 200, the newest")


class Turn(Wire):
    """One text."""

    session_id: str = Field(description="empty: of no session")
    driver_id: str
    role: str = Field(description="coach_brief, coach_debrief, user or assistant")
    text: str
    focus_items: list[str]
    emotion: str
    recorded_at: str


class SessionConversation(Wire):
    """The texts of a session, oldest first: the last 1000."""

    session_id: str
    turns: list[Turn]
    count: int


class DriverConversation(Wire):
    """The texts of a driver, newest first."""

    driver_id: str
    history: list[Turn]
    count: int


@routes.get("/conversations/driver/{driver_id}", errors=READ_ERRORS)
async def of_driver(
    request: web.Request, *, path: DriverPath, query: HistoryQuery
) -> DriverConversation:
    """List what was said with a driver, over all sessions."""
    store = request.app[SERVICE].db
    found = await store.read(lambda reader: driver_turns(reader, path.driver_id, query.limit))
    history = [_turn(one) for one in found]
    return DriverConversation(driver_id=path.driver_id, history=history, count=len(history))


@routes.get("/conversations/{sid}", errors=READ_ERRORS)
async def of_session(request: web.Request, *, path: SessionPath) -> SessionConversation:
    """List what was said about a session; nothing for an unknown one."""
    store = request.app[SERVICE].db
    found = await store.read(lambda reader: session_turns(reader, path.sid, OF_A_SESSION))
    turns = [_turn(one) for one in found]
    return SessionConversation(session_id=path.sid, turns=turns, count=len(turns))


def _turn(one: TurnRow) -> Turn:
    return Turn(
        session_id=one.session_id,
        driver_id=one.driver_id,
        role=one.role,
        text=one.text,
        focus_items=list(one.focus),
        emotion=one.emotion or "neutral",
        recorded_at=iso(one.recorded_at) or "",
    )
