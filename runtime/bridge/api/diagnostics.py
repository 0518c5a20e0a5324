"""How calls of the language model went."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.sessions import READ_ERRORS
from runtime.bridge.api.shapes import Moment, Values, capped
from runtime.bridge.service import SERVICE
from runtime.bridge.session.stats import quantile
from runtime.bridge.session.units import Decimals, Share
from runtime.bridge.storage.coaching import ModelCall, model_calls
from runtime.web.routes import Routes
from runtime.web.wire import Wire

MINUTE_MS: Final = 60_000
Millis: TypeAlias = Annotated[float, Decimals(1)]
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
    p50_latency_ms: Millis | None
    fallback_rate: Share


class Reason(Wire):
    """Why the model's text was not used."""

    reason: str
    count: int


class FrictionRow(Values):
    """One call of the model."""

    id: int
    session_id: str | None
    role: str | None
    mode: str | None
    backend: str | None
    prompt_chars: int | None
    completion_chars: int | None
    latency_ms: Millis | None
    truncated: bool
    fell_back: bool
    reason: str | None
    error: str | None
    emotion: str | None
    ts: Moment


class FrictionAnswer(Wire):
    """How calling the model went; the figures are of every call that matches."""

    count: int
    p50_latency_ms: Millis | None
    p95_latency_ms: Millis | None
    error_rate: Share
    fallback_rate: Share
    truncation_rate: Share
    by_role: list[RoleFriction]
    reasons: list[Reason]
    rows: list[FrictionRow]


@routes.get("/diagnostics/llm_friction", errors=READ_ERRORS)
async def llm_friction(request: web.Request, *, query: FrictionQuery) -> FrictionAnswer:
    """Show how calls of the language model went, the newest first."""
    span = query.since_minutes * MINUTE_MS
    since = int(time.time() * 1000 - span) if span else 0
    calls = await request.app[SERVICE].db.read(
        lambda reader: model_calls(reader, query.session_id, query.role, since)
    )
    return summarise_calls(calls, query.limit)


def summarise_calls(calls: Sequence[ModelCall], limit: int) -> FrictionAnswer:
    """The figures of *calls*, given newest first, and the newest *limit* of them."""
    reasons = Counter(call.reason for call in calls if call.reason)
    by_role = {role: [c for c in calls if c.role == role] for role in {c.role for c in calls}}
    return FrictionAnswer(
        count=len(calls),
        p50_latency_ms=_latency(calls, 0.5),
        p95_latency_ms=_latency(calls, 0.95),
        error_rate=_share([call.error is not None for call in calls]),
        fallback_rate=_share([call.fell_back for call in calls]),
        truncation_rate=_share([call.truncated for call in calls]),
        by_role=[
            RoleFriction(
                role=role,
                count=len(own),
                p50_latency_ms=_latency(own, 0.5),
                fallback_rate=_share([call.fell_back for call in own]),
            )
            for role, own in sorted(by_role.items())
        ],
        reasons=[
            Reason(reason=name, count=count)
            for name, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        rows=[FrictionRow.model_validate(call) for call in calls[:limit]],
    )


def _latency(calls: Sequence[ModelCall], p: float) -> float | None:
    return quantile([call.latency_ms for call in calls], p)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
