"""How calls of the language model went."""

import time
from typing import Annotated

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.sessions import READ_ERRORS
from runtime.bridge.api.shapes import capped, iso, rounded
from runtime.bridge.friction import MINUTE_MS, Call, friction
from runtime.bridge.service import SERVICE
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("diagnostics")


class FrictionQuery(Wire):
    """Which calls of the model."""

    session_id: str | None = None
    role: str | None = None
    limit: Annotated[int, capped(1000)] = 100
    since_minutes: float = Field(0.0, ge=0, le=1e9, description="0: all")


class RoleFriction(Wire):
    """The calls of one role."""

    role: str
    count: int
    p50_latency_ms: float | None
    fallback_rate: float


class Reason(Wire):
    """Why the model's text was not used."""

    reason: str
    count: int


class FrictionRow(Wire):
    """One call of the model."""

    id: int
    session_id: str | None
    role: str | None
    mode: str | None
    backend: str | None
    prompt_chars: int | None
    completion_chars: int | None
    latency_ms: float | None
    truncated: bool
    fell_back: bool
    reason: str | None
    error: str | None
    emotion: str | None
    ts: str


class FrictionAnswer(Wire):
    """How calling the model went; the figures are of every call that matches."""

    count: int
    p50_latency_ms: float | None
    p95_latency_ms: float | None
    error_rate: float
    fallback_rate: float
    truncation_rate: float
    by_role: list[RoleFriction]
    reasons: list[Reason]
    rows: list[FrictionRow]


@routes.get("/diagnostics/llm_friction", errors=READ_ERRORS)
async def llm_friction(request: web.Request, *, query: FrictionQuery) -> FrictionAnswer:
    """Show how calls of the language model went, the newest first."""
    span = query.since_minutes * MINUTE_MS
    found = await friction(
        request.app[SERVICE].db,
        session_id=query.session_id,
        role=query.role,
        since_ms=int(time.time() * 1000 - span) if span else 0,
        limit=query.limit,
    )
    return FrictionAnswer(
        count=found.count,
        p50_latency_ms=rounded(found.p50_ms, 1),
        p95_latency_ms=rounded(found.p95_ms, 1),
        error_rate=round(found.error_rate, 4),
        fallback_rate=round(found.fallback_rate, 4),
        truncation_rate=round(found.truncation_rate, 4),
        by_role=[
            RoleFriction(
                role=role.name,
                count=role.calls,
                p50_latency_ms=rounded(role.p50_ms, 1),
                fallback_rate=round(role.fallback_rate, 4),
            )
            for role in found.roles
        ],
        reasons=[Reason(reason=name, count=count) for name, count in found.reasons],
        rows=[_row(call) for call in found.rows],
    )


def _row(call: Call) -> FrictionRow:
    return FrictionRow(
        id=call.id,
        session_id=call.session_id,
        role=call.role,
        mode=call.mode,
        backend=call.backend,
        prompt_chars=call.prompt_chars,
        completion_chars=call.completion_chars,
        latency_ms=rounded(call.latency_ms, 1),
        truncated=call.truncated,
        fell_back=call.fell_back,
        reason=call.reason,
        error=call.error,
        emotion=call.emotion,
        ts=iso(call.ts) or "",
    )
