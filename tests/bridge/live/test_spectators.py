"""Spectators: what a token opens, what it does not, and when it stops."""

import asyncio
import hashlib
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import product

import pytest

from runtime.bridge.api.spectators import OPEN, WATCHED
from runtime.bridge.app import GROUPS
from runtime.bridge.live.spectators import MOST_VIEWS, PREFIX, read_grants
from runtime.bridge.storage.records import NOTHING
from runtime.web.logs import logging_to
from tests.bridge.bridgekit import Json
from tests.bridge.live.conftest import Begin
from tests.bridge.live.streamkit import Live, cue, frame, listening
from tests.waiting import until

STREAM = "/telemetry/stream?session_id=s"


@pytest.fixture
async def watched(begin: Begin, backend: str) -> AsyncIterator[Live]:
    """A bridge on each database, with a session."""
    async with begin(db_backend=backend) as live:
        await live.service.db.start_session(NOTHING, "s", "s", 1)
        yield live


async def refused(live: Live, path: str) -> tuple[int, str]:
    """Status and code of a refusal to a spectator."""
    answer = await live.guest.get(path)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    return answer.status, answer.json["code"]


async def test_a_token_says_what_it_is_for(watched: Live) -> None:
    answer = await watched.post("/spectator/token", {"session_id": "s"})
    assert answer.headers["Cache-Control"] == "no-store"
    made = answer.json
    assert made["url"] == f"/spectator/s?token={made['token']}"
    assert (made["session_id"], made["ttl_s"]) == ("s", 14_400)
    assert isinstance(made["expires_at"], int)
    assert len(made["token"].removeprefix(PREFIX)) * 6 >= 128
    rows = await read_grants(watched.service.db, 0)
    assert [row.digest for row in rows] == [hashlib.sha256(made["token"].encode()).hexdigest()]
    assert rows[0].expires_at == made["expires_at"] * 1000


async def test_a_wrong_wish_for_a_token_is_400(live: Live) -> None:
    bodies: list[Json] = [{}, {"session_id": ""}, {"session_id": "*"}, {"session_id": 7}]
    bodies += [{"session_id": "s", "ttl_s": ttl} for ttl in (59, 86_401, "60", 60.5, None)]
    for body in bodies:
        assert await live.refused("POST", "/spectator/token", body) == (400, "bad_field"), body


async def test_a_session_may_begin_after_its_token(live: Live) -> None:
    token = await live.token("later")
    async with listening(
        live.guest, f"/telemetry/stream?session_id=later&token={token}"
    ) as listener:
        live.hub.publish_frame(frame("later", t=4.0))
        assert (await anext(listener)).data["timestamp"] == 4.0


async def test_a_token_opens_what_its_session_has(watched: Live) -> None:
    token = await watched.token("s")
    for header in (None, {"Authorization": f"Bearer {token}"}):
        query = "" if header else f"token={token}"
        answer = await watched.guest.get(f"/session/s?{query}", headers=header)
        assert answer.status == 200
        assert answer.json["session"]["session_id"] == "s"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        head = await watched.guest.request("HEAD", f"/session/s?{query}", headers=header)
        assert head.status == 200
        path = f"/cues/stream?session_id=s&{query}"
        async with listening(watched.guest, path, header) as listener:
            watched.hub.publish_cue(cue("Brake"))
            assert (await anext(listener)).data["text"] == "Brake"
    answer = await watched.guest.get(f"/session/s/laps?token={token}")
    assert answer.status in (200, 404)  # it has no telemetry
    assert "token" not in answer.json.get("code", "")


async def test_without_a_good_token_nothing_is_told(watched: Live) -> None:
    token = await watched.token("s")
    other = token[:-1] + ("y" if token.endswith("x") else "x")
    wrong = ["", f"?token={other}", "?token=", f"?token={token}&token={token}", "?token=%ff"]
    for path in ("/session/s", "/health", "/nothing", "/spectator/token"):
        for query in wrong:
            assert await refused(watched, path + query) == (401, "bad_token")
    for value in (token, f"Basic {token}", "Bearer", f"Bearer {token} x", "Bearer \xff"):
        answer = await watched.guest.get("/session/s", headers={"Authorization": value})
        assert (answer.status, answer.json["code"]) == (401, "bad_token")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


async def test_a_token_opens_no_other_session(watched: Live) -> None:
    token = await watched.token("s")
    paths = [
        *(f"{kind}/stream?session_id={sid}" for kind in ("/cues", "/telemetry") for sid in "t*"),
        *("/telemetry/stream?session_id=_live", "/telemetry/stream?session_id=SIM"),
        *("/telemetry/stream?session_id=s&session_id=t", "/session/t?", "/session/t/laps?"),
        "/session/s?session_id=t",
    ]
    for path in paths:
        asked = f"{path}&token={token}"
        assert await refused(watched, asked) == (403, "token_scope"), path
    path = f"/telemetry/stream?token={token}"
    assert await refused(watched, path) == (400, "bad_query")


async def test_a_token_opens_nothing_else_of_the_bridge_on_any_listener(watched: Live) -> None:
    token = await watched.token("s")
    others = [
        ("POST", "/session/s"),
        ("OPTIONS", "/session/s"),
        ("GET", "/"),
        ("GET", "/session/t"),
    ]
    for route in (route for group in GROUPS for route in group.routes):
        if (route.method, route.path) not in [("GET", path) for path in (*WATCHED, *OPEN)]:
            path = route.path.replace("{sid}", "s").replace("{", "").replace("}", "")
            others.append((route.method, path))
    assert ("POST", "/session/s/end") in others
    for method, path in others:
        for one, header in product(
            (watched, watched.guest), (None, {"Authorization": f"Bearer {token}"})
        ):
            query = "" if header else f"?token={token}"
            answer = await one.request(method, path + query, headers=header)
            refused = answer.status, answer.json["code"]
            assert refused == (403, "token_scope"), (method, path)
    session = watched.service.db.session("s")
    assert session is not None
    assert (session.ended_at, session.version) == (None, 1)
    assert len(await read_grants(watched.service.db, 0)) == 1


async def test_a_token_survives_a_restart_and_its_end_does_too(begin: Begin, backend: str) -> None:
    async with begin(db_backend=backend) as live:
        kept, gone = await live.token("s"), await live.token("s")
        assert await live.ok("DELETE", f"/spectator/token/{gone}") == {"revoked": True}
    async with begin(db_backend=backend) as live:
        async with listening(live.guest, f"{STREAM}&token={kept}"):
            assert live.service.spectators.views == 1
        assert await refused(live, f"{STREAM}&token={gone}") == (401, "bad_token")
        for token, wanted in ((gone, False), (kept, True), (kept, False), ("nothing", False)):
            assert await live.ok("DELETE", f"/spectator/token/{token}") == {"revoked": wanted}


async def test_a_revoked_token_ends_its_streams_and_no_others(live: Live) -> None:
    token, other = await live.token("s"), await live.token("s")
    async with (
        listening(live.guest, f"{STREAM}&token={token}") as ending,
        listening(live.guest, f"/cues/stream?session_id=s&token={token}") as ending_too,
        listening(live.guest, f"{STREAM}&token={other}") as going_on,
        listening(live, STREAM) as own,
    ):
        assert (await live.ok("DELETE", f"/spectator/token/{token}"))["revoked"]
        async with asyncio.timeout(10):
            assert await ending.ended()
            assert await ending_too.ended()
        live.hub.publish_frame(frame(t=3.0))
        for listener in (going_on, own):
            assert (await anext(listener)).data["timestamp"] == 3.0
        assert live.service.spectators.views == 1
    assert await refused(live, f"{STREAM}&token={token}") == (401, "bad_token")


async def test_a_spectator_that_never_reads_is_cut_off_with_its_token(live: Live) -> None:
    token = await live.token("s")
    async with live.guest.http.get(f"{STREAM}&token={token}") as response:
        connection = response.connection
        assert connection is not None
        assert connection.transport is not None
        connection.transport.pause_reading()
        while not live.hub.dropped:
            live.hub.publish_frame(frame(t=1.0))
            await asyncio.sleep(0)
        assert await live.service.spectators.revoke(token)
        await until(lambda: not live.hub.listeners)


async def test_a_token_ends_with_its_time(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    spectators = live.service.spectators
    now = 1_800_000_000.0
    monkeypatch.setattr(spectators, "_clock", lambda: now)
    made = await spectators.issue("s", 60)
    now = made.expires_at - 0.2
    async with listening(live.guest, f"{STREAM}&token={made.token}") as listener:
        assert await listener.ended()
    now = made.expires_at
    assert await refused(live, f"{STREAM}&token={made.token}") == (401, "bad_token")
    assert await spectators.revoke(made.token) is False
    await spectators.issue("s", 60)
    rows = await read_grants(live.service.db, 0)
    assert len(rows) == 1, "the row of the old one stays"


async def test_spectators_leave_places_for_the_driver(live: Live) -> None:
    token = await live.token("s")
    async with AsyncExitStack() as stack:
        for _ in range(MOST_VIEWS):
            await stack.enter_async_context(listening(live.guest, f"{STREAM}&token={token}"))
        path = f"{STREAM}&token={token}"
        assert await refused(live, path) == (503, "too_many_listeners")
        async with listening(live, STREAM):
            pass


async def test_without_a_database_there_are_no_tokens(live: Live) -> None:
    await live.service.spectators.open(None)
    for method, path in (("POST", "/spectator/token"), ("DELETE", "/spectator/token/x")):
        assert await live.refused(method, path, {"session_id": "s"}) == (503, "no_database")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What the server logs, at every level."""
    text = io.StringIO()
    with logging_to(text, "debug"):
        yield text


async def test_no_token_is_ever_logged(
    live: Live, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await live.token("s")
    tail = token.removeprefix(PREFIX)
    for method in ("GET", "HEAD", "PUT", "OPTIONS", "DELETE"):
        for one in (live, live.guest):
            for path in (
                f"/spectator/token/{token}/",
                f"/spectator/s?token={token}",
                f"/{token}",
                f"/x?a=1%26{token}&TOKEN={token}",
                f"/session/s?token={token}",
            ):
                await one.request(method, path, headers={"User-Agent": token})
    async with listening(live.guest, f"{STREAM}&token={token}"):
        pass

    async def fail(token: str) -> bool:
        raise RuntimeError("broken")

    monkeypatch.setattr(live.service.spectators, "revoke", fail)
    for method in ("GET", "DELETE"):
        assert (await live.request(method, f"/spectator/token/{token}")).status in (405, 500)
    for handler in logging.getLogger().handlers:
        handler.flush()
        handler.close()
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert sum(line["message"] == "request" for line in lines) > 50
    assert any("unexpected failure" in line["message"] for line in lines)
    assert [line for line in lines if tail in str(line)] == []
