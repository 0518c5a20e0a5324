"""Sessions whose clock or distance is out of its mind: every analytic answers, in little memory."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pytest

from runtime.bridge.session.recording import TIMESTAMP, WIDE_SIGNALS, Frames, Numbers
from runtime.bridge.storage.records import SessionMeta
from tests.bridge.analysis.lapkit import OVAL
from tests.bridge.bridgekit import Bridge, Json
from tests.bridge.conftest import Start
from tools.drive import USUAL, drive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is Linux's")

Spoil: TypeAlias = Callable[[dict[str, Numbers]], None]

DRIVEN: Final = drive(OVAL, 3, hz=5.0, seed=1, skill=0.9, noise=USUAL).frames
MOST_BYTES: Final = 40 << 20
"""Of one request, a session of some thousand frames; what a gap of a day once took alone."""
ANSWERED: Final = (200, 204, 400, 404, 413, 422)
CLEAR_PEAK: Final = Path("/proc/self/clear_refs")
"""What is written here sets the highest resident memory back to the present."""
DAY_S: Final = 86_400.0


def later(seconds: float, share: float = 0.2) -> Spoil:
    """The clock jumps by so much after a share of the frames."""

    def spoil(columns: dict[str, Numbers]) -> None:
        at = int(share * len(columns[TIMESTAMP]))
        columns[TIMESTAMP][at:] += seconds

    return spoil


def spread(seconds: float) -> Spoil:
    """The times are any within so many seconds."""

    def spoil(columns: dict[str, Numbers]) -> None:
        chance = np.random.default_rng(7)
        columns[TIMESTAMP][:] = chance.uniform(0.0, seconds, len(columns[TIMESTAMP]))

    return spoil


def rising(seconds: float) -> Spoil:
    """The same in order."""

    def spoil(columns: dict[str, Numbers]) -> None:
        spread(seconds)(columns)
        columns[TIMESTAMP].sort()

    return spoil


def every(seconds: float) -> Spoil:
    """One frame in so many seconds."""

    def spoil(columns: dict[str, Numbers]) -> None:
        columns[TIMESTAMP][:] = seconds * np.arange(len(columns[TIMESTAMP]))

    return spoil


def equal(columns: dict[str, Numbers]) -> None:
    columns[TIMESTAMP][:] = 5.0


def one(name: str, value: float) -> Spoil:
    """A single reading that cannot be."""

    def spoil(columns: dict[str, Numbers]) -> None:
        columns[name][len(columns[name]) // 3] = value

    return spoil


def times(name: str, factor: float) -> Spoil:
    """All readings of a channel so many times too large."""

    def spoil(columns: dict[str, Numbers]) -> None:
        columns[name] *= factor

    return spoil


def bursts(columns: dict[str, Numbers]) -> None:
    """Two frames together, then a year without any."""
    count = len(columns[TIMESTAMP])
    columns[TIMESTAMP][:] = np.arange(count) * 0.5 + np.arange(count) // 3 * 365 * DAY_S


HOSTILE: Final[dict[str, Spoil]] = {
    "a day later": later(DAY_S),
    "a clock that was set": later(1.76e9),
    "a clock that was set at the end": later(1.76e9, 0.999),
    "back by an hour": later(-3600.0),
    "back by ten years": later(-3.2e8, 0.6),
    "random and rising": rising(1e9),
    "all equal": equal,
    "a frame in twelve days": every(1e6),
    "bursts": bursts,
    "a distance beyond all numbers": one("distance_m", 1e300),
    "distances a million times too long": times("distance_m", 1e6),
    "a speed beyond all numbers": one("speed_ms", 1e300),
}


def moved(columns: dict[str, Numbers]) -> None:
    """To where no circuit is known."""
    columns["lat"] -= 7.0


def without(*names: str) -> Spoil:
    def spoil(columns: dict[str, Numbers]) -> None:
        for name in names:
            columns[name][:] = np.nan

    return spoil


OTHER_SESSIONS: Final = (
    moved,
    without("lat", "lon"),
    without("distance_m"),
    without(*(name for name in WIDE_SIGNALS if name not in ("lat", "lon"))),
)
ALL: Final = ("a clock that was set", "distances a million times too long")
"""With these every kind of session is tried."""
NO_NUMBER: Final = re.compile(rb"\b(nan|inf|infinity)\b", re.IGNORECASE)


def spoiled(*spoils: Spoil) -> Frames:
    columns = {name: values.copy() for name, values in DRIVEN.columns.items()}
    with np.errstate(over="ignore"):
        for spoil in spoils:
            spoil(columns)
    return Frames({name: np.where(np.isinf(each), np.nan, each) for name, each in columns.items()})


def reads(bridge: Bridge) -> list[str]:
    """Every address under a session that answers with JSON."""
    found = set()
    for resource in bridge.app.router.resources():
        path = resource.canonical
        methods = {route.method for route in resource}
        if path.startswith("/session/{sid}") and "GET" in methods:
            found.add(path)
    return sorted(found - {"/session/{sid}/export.parquet"})


def asked(bridge: Bridge, sid: str) -> list[tuple[str, str, Json]]:
    """Every request that looks at a session."""
    found: list[tuple[str, str, Json]] = []
    more = {"compare": "?a=best&b=ideal", "signals": "?names=speed_ms,lat"}
    for path in reads(bridge):
        query = more.get(path.rpartition("/")[2], "")
        own = path.replace("{sid}", sid)
        found.append(("GET", f"{own}{query}{'&' if query else '?'}partial=true", None))
    found += [
        ("GET", f"/session/{sid}/signals?names=speed_ms&{how}", None)
        for how in ("rate_hz=10", "rate_hz=10&t_from=0", "axis=distance", "axis=distance&rate_hz=1")
    ]
    found += [
        ("GET", path, None)
        for path in (
            "/sessions",
            "/leaderboard",
            "/insights",
            "/driver/Mia/profile",
            "/driver/Mia/evolution",
            f"/coach/brief?driver=Mia&session_id={sid}",
        )
    ]
    found.append(("POST", "/coach/debrief", {"session_id": sid, "driver_id": "Mia"}))
    for question in ("Where do I lose time?", "Did I spin?"):
        found.append(("POST", "/coach/ask", {"session_id": sid, "question": question}))
    return found


def resident(kind: str) -> int:
    """Bytes of this process in memory: now (``VmRSS``) or at most (``VmHWM``)."""
    found = re.search(rf"{kind}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) << 10


@pytest.mark.parametrize("name", HOSTILE)
async def test_no_clock_and_no_distance_takes_an_analytic_down(start: Start, name: str) -> None:
    sessions = (without(), *(OTHER_SESSIONS if name in ALL else ()))
    wrong = []
    async with start(db_backend="lightweight") as bridge:
        await bridge.ok("POST", "/coach/ask", {"question": "hello"})  # learns its examples once
        await bridge.service.db.append_frames("sound", spoiled(), meta=SessionMeta(driver="Mia"))
        await bridge.request("GET", "/session/sound/lake.zip")  # loads its libraries once
        for at, session in enumerate(sessions):
            sid = f"s{at}"
            await bridge.service.db.append_frames(
                sid, spoiled(HOSTILE[name], session), meta=SessionMeta(driver="Mia")
            )
            for method, path, body in asked(bridge, sid):
                before = resident("VmRSS")
                CLEAR_PEAK.write_text("5")
                options = {} if body is None else {"json": body}
                answer = await bridge.request(method, path, **options)
                taken = resident("VmHWM") - before
                sound = not NO_NUMBER.search(answer.body)
                if answer.status not in ANSWERED or taken > MOST_BYTES or not sound:
                    wrong.append((path, answer.status, taken, answer.body[:200]))
    assert not wrong
