"""The page of a spectator, and tokens on the main listener."""

import asyncio
import re

import pytest
from yarl import URL

from runtime.bridge.api import spectators
from runtime.web.pages import POLICY
from tests.bridge.bridgekit import Bridge
from tests.bridge.live.conftest import Begin
from tests.bridge.live.streamkit import Live

HTML = {"Accept": "text/html,*/*;q=0.8"}
FROM_AFAR = {"X-Forwarded-For": "203.0.113.9"}


async def status(bridge: Bridge, path: str, **headers: str) -> tuple[int, str]:
    """Status and code of an answer; empty: it is no refusal."""
    got = await bridge.get(path, headers=headers)
    told = got.headers["Content-Type"].startswith("application/json")
    return got.status, got.json.get("code", "") if told else ""


async def test_the_address_of_a_token_shows_a_page_whose_files_need_none(live: Live) -> None:
    url = (await live.made("s"))["url"]
    for one in (live, live.guest):
        page = await one.get(url, headers=HTML)
        text = page.body.decode()
        assert page.status == 200
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["Content-Security-Policy"] == POLICY
        files = re.findall(r'(?:src|href)="([^"]+)"', text)
        assert len(files) > 4
        for file in files:
            assert file.startswith("/ui/")
            assert (await one.get(file, headers=FROM_AFAR)).status == 200
        assert not re.search(r"https?://|<style|<script>", text)


async def test_other_phones_get_the_address_of_the_listener_that_is_theirs(live: Live) -> None:
    made = await live.made("s")
    address = URL(made["address"])
    assert address.port == live.guests.port
    assert address.raw_path_qs == made["url"]
    for one in (live, live.guest):
        answer = await one.get(made["url"].replace("?", "/app.webmanifest?"))
        assert answer.headers["Content-Type"].startswith("application/manifest+json")
        assert answer.json["start_url"] == made["url"]
        answer = await one.get(made["url"].replace("?", "/code.svg?"))
        assert answer.headers["Content-Type"].startswith("image/svg+xml")
        assert answer.body.startswith(b"<svg")
        assert await status(one, "/spectator/s/code.svg") == (401, "bad_token")
        assert await status(one, "/spectator/s/app.webmanifest") == (401, "bad_token")


async def test_a_page_opens_from_a_link_on_another_site(live: Live) -> None:
    token = await live.token("s")
    headers = {**HTML, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for one in (live, live.guest):
        for path, wanted in (("spectator", 200), ("session", 403)):
            answer = await one.get(f"/{path}/s?token={token}", headers=headers)
            assert answer.status == wanted


async def test_without_a_good_token_the_page_says_so(live: Live) -> None:
    token = await live.token("s")
    for one in (live, live.guest):
        for query in ("", "?token=", "?token=x", f"?token={token}&token={token}"):
            page = await one.get(f"/spectator/s{query}", headers=HTML)
            assert page.status == 401
            assert page.headers["Content-Type"].startswith("text/html")
            assert b"This link is not good" in page.body
            assert await status(one, f"/spectator/s{query}") == (401, "bad_token")
        other = await status(one, f"/spectator/other?token={token}", **HTML)
        assert other == (403, "token_scope")


async def test_a_token_that_is_presented_is_judged_on_the_main_listener(live: Live) -> None:
    token = await live.token("s")
    refused = (403, "token_scope")
    for path in ("/ui/live", "/sessions", "/nothing"):
        assert await status(live, f"{path}?token=x") == (401, "bad_token")
        assert await status(live, path, Authorization="Bearer x") == (401, "bad_token")
        assert (await status(live, path))[0] in (200, 404)
        assert await status(live, f"{path}?token={token}") == refused
        assert await status(live, path, Authorization=f"Bearer {token}") == refused
    assert await status(live, f"/session/s?token={token}") == (404, "unknown_session")


@pytest.mark.parametrize("path", spectators.OPEN)
async def test_what_is_of_no_session_is_open_to_who_sends_a_key_everywhere(
    live: Live, path: str
) -> None:
    for token in ("x", await live.token("s")):
        for query, headers in ((f"?token={token}", {}), ("", {"Authorization": f"Bearer {token}"})):
            assert await status(live, path + query, **headers) == (200, "")
            assert (await status(live.guest, path + query, **headers))[0] in (401, 403)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
async def test_forwarded_requests_need_a_token_where_that_is_set(begin: Begin, header: str) -> None:
    async with begin(require_token_remote=True) as live:
        token = await live.token("s")
        afar = {header: "for=203.0.113.9"}
        assert await status(live, "/health", **afar) == (401, "bad_token")
        assert await status(live, "/health") == (200, "")
        seen = await status(live, f"/session/s?token={token}", **afar)
        assert seen == (404, "unknown_session")
        for path in ("/health", "/session/t", "/nothing", "/sessions"):
            found = await status(live, f"{path}?token={token}", **afar)
            assert found == (403, "token_scope"), path


async def test_forwarded_requests_are_as_any_where_it_is_not(live: Live) -> None:
    assert await status(live, "/health", **FROM_AFAR) == (200, "")


async def test_a_foreign_host_in_the_request_target_gets_nowhere(live: Live) -> None:
    token = await live.token("s")
    for server, path in ((live.main, "/health"), (live.guests, f"/spectator/s?token={token}")):
        for host, wanted in ((b"evil.example", b"403"), (b"127.0.0.1", b"200")):
            reader, writer = await asyncio.open_connection(server.host, server.port)
            target = b"http://%s:8765%s" % (host, path.encode())
            writer.write(b"GET %s HTTP/1.1\r\nHost: 127.0.0.1:8765\r\n\r\n" % target)
            assert (await reader.readline()).split()[1] == wanted
            writer.close()
            await writer.wait_closed()


async def test_a_link_that_other_machines_shall_open_names_this_one(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spectators, "find_own_address", lambda: "192.0.2.7")
    live.service.spectators.lan = True
    address = URL((await live.made("s"))["address"])
    assert (address.host, address.port) == ("192.0.2.7", live.guests.port)
