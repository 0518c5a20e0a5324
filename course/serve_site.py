"""Answers to requests: pages of the site, the reload script and the stream of changes."""

from __future__ import annotations

import asyncio
import html
from pathlib import Path
from typing import Final

import orjson
from aiohttp import web

from course.read.mediatypes import PAGE
from course.serve_files import Found, entity_tag, find, host_headers, names_tag
from course.serve_guard import allowed
from course.serve_live import Live, State

STREAM: Final = "__reload"
SCRIPT: Final = "__reload.js"
HEARTBEAT_S: Final = 15.0
WRITE_S: Final = 5.0
LISTENERS: Final = 64
_SCRIPT_FILE: Final = Path(__file__).with_name("serve_reload.js")
_NEVER: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_ASK: Final = {**_NEVER, "Cache-Control": "no-cache"}
_POLICY: Final = {
    **_NEVER,
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'",
}


class Site:
    """The site of one :class:`Live` under a prefix; with *reload*, pages follow its changes."""

    def __init__(self, live: Live, bound: str, prefix: str, *, reload: bool) -> None:
        self.live = live
        self.bound = bound
        self.prefix = prefix
        self.reload = reload
        self.listeners = 0
        self._script = _SCRIPT_FILE.read_bytes()
        self._opened = asyncio.Event()

    def open(self) -> None:
        """Answer from here on; requests that came before waited."""
        self._opened.set()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to any request at all."""
        transport = request.transport
        local = transport.get_extra_info("sockname") if transport else None
        if not allowed(request.headers.get("Host", ""), self.bound, str((local or [""])[0])):
            return _plain(403, "this server does not answer to that host name\n")
        if request.method not in ("GET", "HEAD"):
            return _plain(405, "only GET and HEAD\n", {"Allow": "GET, HEAD"})
        path, mark, query = request.raw_path.partition("?")
        await self._opened.wait()
        if path == f"{self.prefix}/{STREAM}" and self.reload:
            return await self.stream(request)
        if path == f"{self.prefix}/{SCRIPT}" and self.reload:
            headers = {**_ASK, "Content-Type": "text/javascript; charset=utf-8"}
            return _unless_known(request, self._script, headers)
        if not path.startswith(f"{self.prefix}/"):
            return self.outside(path)
        return await self.file(request, path.removeprefix(f"{self.prefix}/"), mark + query)

    async def file(self, request: web.BaseRequest, raw: str, query: str) -> web.Response:
        """A file of the site, or what stands for it; before the first site, the failure."""
        state = self.live.state
        if not state.site:
            return web.Response(
                status=503, body=self.failure_page(state), headers={**_POLICY, "Content-Type": PAGE}
            )
        out = self.live.options.out
        found, headers = await asyncio.to_thread(_look_up, out, raw)
        if found.status == 301:
            where = f"{self.prefix}/{found.location}{query}"
            return web.Response(status=301, headers={**_NEVER, "Location": where})
        body = found.body
        if self.reload and found.type == PAGE:
            body = self.with_script(body, state.site)
        headers["Content-Type"] = found.type
        if found.status == 200:
            return _unless_known(request, body, headers)
        return web.Response(status=found.status, body=body, headers=headers)

    def outside(self, path: str) -> web.Response:
        """A path that the site does not own: its start leads in, everything else is a 404."""
        if path in ("/", self.prefix):
            return web.Response(status=302, headers={**_NEVER, "Location": f"{self.prefix}/"})
        text = (
            "<!doctype html><title>404: outside the prefix</title>"
            f'<p>404: the course is at <a href="{self.prefix}/">{self.prefix}/</a>.</p>\n'
        )
        return web.Response(
            status=404, body=text.encode(), headers={**_POLICY, "Content-Type": PAGE}
        )

    def with_script(self, page: bytes, site: str) -> bytes:
        """*page* with the reload script at the end of its body."""
        tag = f'<script src="{self.prefix}/{SCRIPT}?site={site}" defer></script>\n'.encode()
        head, end, tail = page.rpartition(b"</body>")
        return head + tag + end + tail if end else page + tag

    def failure_page(self, state: State) -> bytes:
        """The page that stands for every page while there is no site yet."""
        page = (
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="color-scheme" content="light dark">\n'
            "<title>The course does not build</title>\n<body>\n"
            "<h1>The course does not build</h1>\n"
            f"<pre>{html.escape(state.failure)}</pre>\n</body>\n</html>\n"
        )
        return self.with_script(page.encode(), "") if self.reload else page.encode()

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Server-sent events: the state now, and again whenever it changes."""
        if self.listeners >= LISTENERS:
            return _plain(503, "too many open pages\n", {"Retry-After": "5"})
        response = web.StreamResponse(headers={**_NEVER, "Content-Type": "text/event-stream"})
        response.force_close()
        self.listeners += 1
        try:
            await response.prepare(request)
            if request.method == "GET":
                await self._tell(response)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            self.listeners -= 1
        return response

    async def _tell(self, response: web.StreamResponse) -> None:
        known: State | None = None
        while not self.live.closed:
            state = await self.live.next(known, HEARTBEAT_S)
            frame = b": still here\n\n" if state is None else _event(state)
            known = state or known
            if not self.live.closed:
                await asyncio.wait_for(response.write(frame), WRITE_S)


def _look_up(out: Path, raw: str) -> tuple[Found, dict[str, str]]:
    found = find(out, raw)
    return found, host_headers(out, found.path or "404.html")


def _unless_known(request: web.BaseRequest, body: bytes, headers: dict[str, str]) -> web.Response:
    """*body* under the tag of its bytes; 304 without it for whoever has them already."""
    headers["ETag"] = tag = entity_tag(body)
    if names_tag(",".join(request.headers.getall("If-None-Match", [])), tag):
        headers.pop("Content-Type", None)
        return web.Response(status=304, headers=headers)
    return web.Response(body=body, headers=headers)


def _event(state: State) -> bytes:
    return b"event: state\ndata: " + orjson.dumps(state._asdict()) + b"\n\n"


def _plain(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=text, headers={**_NEVER, **(headers or {})})
