"""Static pages of a server: a folder that is read once, and a policy that lets nothing else in."""

import hashlib
import mimetypes
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from aiohttp import web

from runtime.web.errors import NotFound
from runtime.web.routes import Routes
from runtime.web.wire import Wire

FILES: Final = "/ui"
"""Below this path lie the files that pages load."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SAFE: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TYPES: Final = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
"""Not left to the system's own table, where Windows may have ``text/plain`` for scripts."""
_HTML: Final = "text/html"
_ELSE: Final = ("application/json", "text/plain")


class FilePath(Wire):
    """A file that a page loads."""

    version: str
    name: str


class Pages:
    """The files of *folder* in memory: pages (``.html``), and what they load.

    A page writes ``{files}`` for the address of the others. That holds a digest of all of them, so
    that browsers keep them for good and modules find each other by relative names.
    """

    def __init__(self, folder: Path) -> None:
        found = sorted(path for path in folder.rglob("*") if path.is_file())
        contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        self.version = _digest(part for name in contents for part in (name.encode(), contents[name]))
        address = f"{FILES}/{self.version}".encode()
        self._pages, self._files = dict[str, bytes](), dict[str, bytes]()
        for name, body in contents.items():
            if name.endswith(".html"):
                self._pages[name] = body.replace(b"{files}", address)
            else:
                self._files[name] = body

    def page(self, request: web.Request, name: str) -> web.Response:
        """The page *name*, or 304 for a browser that has it."""
        body = self._pages[name]
        tag = _digest((body,))
        response = web.Response(headers={**_SAFE, "Cache-Control": "no-cache"})
        response.etag = tag
        if any(known.value in (tag, "*") for known in request.if_none_match or ()):
            response.set_status(304)
        else:
            response.content_type, response.charset = _HTML, "utf-8"
            response.body = body
        return response

    def routes(self) -> Routes:
        """The route of the files that pages load; open, since they hold no data."""
        routes = Routes("pages")

        @routes.get(f"{FILES}/{{version}}/{{name:.+}}", gated=False, quiet=True, text="*/*")
        async def page_file(request: web.Request, *, path: FilePath) -> web.Response:
            """A script, style or picture of a page."""
            body = self._files.get(path.name) if path.version == self.version else None
            if body is None:
                raise NotFound("there is no such file")
            kind = _TYPES.get(Path(path.name).suffix) or mimetypes.guess_type(path.name)[0]
            response = web.Response(body=body, headers=_SAFE)
            response.content_type = kind or "application/octet-stream"
            if response.content_type.startswith("text/"):
                response.charset = "utf-8"
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            return response

        return routes


def asks_for_html(request: web.Request) -> bool:
    """Whether *request* comes from a browser that opens a page: its ``Accept`` names HTML.

    A wildcard is no such wish, and whoever names JSON or plain text with more weight gets that.
    """
    weights = dict(map(_weigh, ",".join(request.headers.getall("Accept", ())).split(",")))
    html = weights.get(_HTML, 0.0)
    return html > 0.0 and html >= max(weights.get(kind, 0.0) for kind in _ELSE)


def _weigh(part: str) -> tuple[str, float]:
    kind, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return kind, float(parameter[2:])
            except ValueError:
                return kind, 0.0
    return kind, 1.0


def _digest(parts: Iterable[bytes]) -> str:
    """16 hex digits of the parts, told apart by their lengths."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d:" % len(part))
        whole.update(part)
    return whole.hexdigest()[:16]
