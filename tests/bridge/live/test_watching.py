"""The page of a spectator, and tokens on the main listener."""

import asyncio
import re

import aiohttp
import pytest
from yarl import URL

from runtime.bridge.api import spectators
from runtime.web.pages import POLICY
from tests.bridge.live.conftest import Begin
from tests.bridge.live.streamkit import Live

HTML = {"Accept": "text/html,*/*;q=0.8"}
FROM_AFAR = {"X-Forwarded-For": "203.0.113.9"}


async def status(http: aiohttp.ClientSession, path: str, **headers: str) -> tuple[int, str]:
    """Status and code of an answer; empty: it is no refusal."""
    async with http.get(path, headers={k.replace("_", "-"): v for k, v in headers.items()}) as got:
        if got.content_type != "application/json":
            return got.status, ""
        return got.status, (await got.json()).get("code", "")


async def test_the_address_of_a_token_shows_a_page_whose_files_need_none(live: Live) -> None:
    async with live.http.post("/spectator/token", json={"session_id": "s"}) as response:
        url = (await response.json())["url"]
    for http in (live.http, live.guest):
        async with http.get(url, headers=HTML) as page:
            text = await page.text()
            assert page.status == 200
            assert page.headers["Content-Type"] == "text/html; charset=utf-8"
            assert page.headers["Referrer-Policy"] == "no-referrer"
            assert page.headers["Cache-Control"] == "no-store"
            assert page.headers["Content-Security-Policy"] == POLICY
        files = re.findall(r'(?:src|href)="([^"]+)"', text)
        assert len(files) > 4
        for file in files:
            assert file.startswith("/ui/")
            async with http.get(file, headers=FROM_AFAR) as got:
                assert got.status == 200
        assert not re.search(r"https?://|<style|<script>", text)


async def test_other_phones_get_the_address_of_the_listener_that_is_theirs(live: Live) -> None:
    async with live.http.post("/spectator/token", json={"session_id": "s"}) as response:
        made = await response.json()
    address = URL(made["address"])
    assert address.port == live.guests.port
    assert address.raw_path_qs == made["url"]
    for http in (live.http, live.guest):
        async with http.get(made["url"].replace("?", "/app.webmanifest?")) as answer:
            assert answer.content_type == "application/manifest+json"
            assert (await answer.json(content_type=None))["start_url"] == made["url"]
        async with http.get(made["url"].replace("?", "/code.svg?")) as answer:
            assert answer.content_type == "image/svg+xml"
            assert (await answer.text()).startswith("<svg")
        assert await status(http, "/spectator/s/code.svg") == (401, "bad_token")
        assert await status(http, "/spectator/s/app.webmanifest") == (401, "bad_token")


async def test_a_page_opens_from_a_link_on_another_site(live: Live) -> None:
    token = await live.token("s")
    headers = {**HTML, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    for http in (live.http, live.guest):
        async with http.get(f"/spectator/s?token={token}", headers=headers) as page:
            assert page.status == 200
        async with http.get(f"/session/s?token={token}", headers=headers) as other:
            assert other.status == 403


async def test_without_a_good_token_the_page_says_so(live: Live) -> None:
    token = await live.token("s")
    for http in (live.http, live.guest):
        for query in ("", "?token=", "?token=x", f"?token={token}&token={token}"):
            async with http.get(f"/spectator/s{query}", headers=HTML) as page:
                assert page.status == 401
                assert page.content_type == "text/html"
                assert "This link is not good" in await page.text()
            assert await status(http, f"/spectator/s{query}") == (401, "bad_token")
        other = await status(http, f"/spectator/other?token={token}", **HTML)
        assert other == (403, "token_scope")


async def test_a_token_that_is_presented_is_judged_on_the_main_listener(live: Live) -> None:
    token = await live.token("s")
    refused = (403, "token_scope")
    for path in ("/health", "/sessions", "/nothing"):
        assert await status(live.http, f"{path}?token=x") == (401, "bad_token")
        assert await status(live.http, path, Authorization="Bearer x") == (401, "bad_token")
        assert (await status(live.http, path))[0] in (200, 404)
        assert await status(live.http, f"{path}?token={token}") == refused
        assert await status(live.http, path, Authorization=f"Bearer {token}") == refused
    assert await status(live.http, f"/session/s?token={token}") == (404, "unknown_session")


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
async def test_forwarded_requests_need_a_token_where_that_is_set(begin: Begin, header: str) -> None:
    async with begin(require_token_remote=True) as live:
        token = await live.token("s")
        afar = {header: "for=203.0.113.9"}
        assert await status(live.http, "/health", **afar) == (401, "bad_token")
        assert await status(live.http, "/health") == (200, "")
        seen = await status(live.http, f"/session/s?token={token}", **afar)
        assert seen == (404, "unknown_session")
        for path in ("/health", "/session/t", "/nothing", "/sessions"):
            found = await status(live.http, f"{path}?token={token}", **afar)
            assert found == (403, "token_scope"), path


async def test_forwarded_requests_are_as_any_where_it_is_not(live: Live) -> None:
    assert await status(live.http, "/health", **FROM_AFAR) == (200, "")


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
    async with live.http.post("/spectator/token", json={"session_id": "s"}) as response:
        address = URL((await response.json())["address"])
    assert (address.host, address.port) == ("192.0.2.7", live.guests.port)
