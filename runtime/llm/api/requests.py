"""Routes that list, cancel and unload: requests without their prompts, and engines."""

import time
from typing import Literal

from aiohttp import web

from runtime.llm.chats import Cancelled, LaneName, State, Ticket
from runtime.llm.service import SERVICE
from runtime.web.errors import NotFound
from runtime.web.routes import Reply, Routes
from runtime.web.wire import Wire, absent

routes = Routes("requests")


class RequestRecord(Wire):
    """One chat request; times in milliseconds."""

    id: int
    client: str
    model: str
    lane: LaneName
    state: Literal["queued", "running", "completed", "errored", "cancelled"]
    stream: bool
    created: int
    queue_ms: int
    inference_ms: int
    chunks: int
    position: int | None = absent(
        "of a queued request: its position from 1, counting running requests"
    )
    wait_ms: int | None = absent("of a queued request: estimated wait")
    completion_tokens: int | None = absent("of a completed request")


class RequestList(Wire):
    """Requests by state."""

    running: list[RequestRecord]
    waiting: list[RequestRecord]
    last: list[RequestRecord]


class RequestPath(Wire):
    """Number of a request."""

    id: int


class CancelAnswer(Wire):
    """The request that is being stopped."""

    id: int
    cancelled: Literal[True] = True


class EnginesUnloaded(Wire):
    """Number of engines unloaded; engines in use stay."""

    unloaded: int


@routes.get("/v1/requests")
async def list_requests(request: web.Request) -> RequestList:
    """List running and waiting requests, and the last 50."""
    admission = request.app[SERVICE].admission
    unfinished = [make_record(ticket) for ticket in admission.unfinished]
    return RequestList(
        running=[record for record in unfinished if record.state == "running"],
        waiting=[record for record in unfinished if record.state == "queued"],
        last=[make_record(ticket) for ticket in admission.history],
    )


@routes.delete("/v1/requests/{id}", errors=(NotFound,), status=202)
async def cancel_request(request: web.Request, *, path: RequestPath) -> Reply[CancelAnswer]:
    """Cancel a waiting or running request; its client gets an error."""
    ticket = request.app[SERVICE].admission.find(path.id)
    if ticket is None:
        raise NotFound("no waiting or running request has this number")
    ticket.stop(Cancelled())
    return Reply(CancelAnswer(id=path.id), status=202)


@routes.post("/v1/engines/unload")
async def unload_engines(request: web.Request) -> EnginesUnloaded:
    """Unload all idle engines now."""
    pool = request.app[SERVICE].pool
    pool.unload_idle(0.0, "system")
    return EnginesUnloaded(unloaded=pool.unload_idle(0.0))


def make_record(ticket: Ticket) -> RequestRecord:
    """The current record of a request."""
    now = time.monotonic()
    ended = ticket.ended if ticket.ended is not None else now
    started = ticket.started if ticket.started is not None else ended
    place = ticket.lane.position_of(ticket) if ticket.state is State.QUEUED else None
    return RequestRecord(
        id=ticket.number,
        client=ticket.client,
        model=ticket.model,
        lane=ticket.lane.name,
        state=ticket.state.value,
        stream=ticket.stream,
        created=int(ticket.created),
        queue_ms=round((started - ticket.entered) * 1000),
        inference_ms=round((ended - started) * 1000),
        chunks=ticket.chunks,
        position=place,
        wait_ms=None if place is None else ticket.lane.wait_ms(place),
        completion_tokens=ticket.completion_tokens or None,
    )
