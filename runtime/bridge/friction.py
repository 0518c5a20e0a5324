"""How calling the language model went: latencies, and how often its text could not be used."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from runtime.bridge.session.stats import quantile
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.store import Store

_COLUMNS: Final = (
    "id",
    "session_id",
    "role",
    "mode",
    "backend",
    "prompt_chars",
    "completion_chars",
    "latency_ms",
    "truncated",
    "fell_back",
    "reason",
    "error",
    "emotion",
    "ts",
)
MINUTE_MS: Final = 60_000


class Call(NamedTuple):
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
    ts: int
    """Unix milliseconds."""


class Role(NamedTuple):
    """The calls of one role."""

    name: str
    calls: int
    p50_ms: float | None
    fallback_rate: float


@dataclass(frozen=True)
class Friction:
    """All calls that match, in figures; *rows* are the newest of them."""

    count: int
    p50_ms: float | None
    p95_ms: float | None
    error_rate: float
    fallback_rate: float
    truncation_rate: float
    roles: tuple[Role, ...]
    reasons: tuple[tuple[str, int], ...]
    rows: tuple[Call, ...]


def in_figures(calls: Sequence[Call], limit: int) -> Friction:
    """Sum up *calls*, given newest first."""
    names = sorted({call.role or "" for call in calls})
    reasons = Counter(call.reason for call in calls if call.reason)
    return Friction(
        count=len(calls),
        p50_ms=_latency(calls, 0.5),
        p95_ms=_latency(calls, 0.95),
        error_rate=_share([call.error is not None for call in calls]),
        fallback_rate=_share([call.fell_back for call in calls]),
        truncation_rate=_share([call.truncated for call in calls]),
        roles=tuple(_role(name, calls) for name in names),
        reasons=tuple(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        rows=tuple(calls[:limit]),
    )


async def friction(
    store: Store,
    *,
    session_id: str | None,
    role: str | None,
    since_ms: int,
    limit: int,
) -> Friction:
    """The calls since a moment (Unix milliseconds), of one session and one role where given."""
    tests, values = ["ts >= ?"], [since_ms]
    wanted: list[object] = [*values]
    for column, value in (("session_id", session_id), ("role", role)):
        if value is not None:
            tests.append(f"{column} = ?")
            wanted.append(value)

    def read(connection: Connection) -> list[Call]:
        rows = connection.rows(
            f"SELECT {', '.join(_COLUMNS)} FROM llm_friction"  # noqa: S608 - names of our own
            f" WHERE {' AND '.join(tests)} ORDER BY ts DESC, id DESC",
            wanted,
        )
        return [_call(row) for row in rows]

    return in_figures(await store.read(read), limit)


def _call(row: Sequence[object]) -> Call:
    values = dict(zip(_COLUMNS, row, strict=True))
    for name in ("truncated", "fell_back"):
        values[name] = bool(values[name])
    return Call(**values)  # type: ignore[arg-type] # the columns have the types of the fields


def _role(name: str, calls: Sequence[Call]) -> Role:
    own = [call for call in calls if (call.role or "") == name]
    return Role(name, len(own), _latency(own, 0.5), _share([call.fell_back for call in own]))


def _latency(calls: Sequence[Call], p: float) -> float | None:
    return quantile([call.latency_ms for call in calls if call.latency_ms is not None], p)


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
