"""Static pages of a server: folders read once, and a strict content security policy."""

import hashlib
import mimetypes
from pathlib import Path
from typing import Final

from aiohttp import web

from runtime.web.errors import NotFound
from runtime.web.routes import Routes
from runtime.web.wire import Wire

FILES: Final = "/ui"
"""The files that pages load are below this path."""
FILE: Final = f"{FILES}/{{version}}/{{name:.+}}"
"""The pattern of their paths."""
ASSETS: Final = Path(__file__).parent / "assets"
"""Style sheets and scripts shared by the pages of all servers."""
HEAD: Final = "head.html"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_SAFE: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_TYPES: Final = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".webmanifest": "application/manifest+json",
}
"""These override the system's table, which on Windows may have ``text/plain`` for scripts."""
_HTML: Final = "text/html"


class FilePath(Wire):
    """A file that a page loads."""

    version: str
    name: str


class Pages:
    """The files of *folders* in memory, merged into one folder: pages (``.html``), and their files.

    In a page, ``{head}`` stands for the common start of every head (``head.html``) and ``{files}``
    for the address of the other files. The address has a digest of all files, so browsers may cache
    them for ever, and modules import each other by relative names.
    """

    def __init__(self, *folders: Path) -> None:
        contents = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        whole = b"".join(b"%s %d\n%s" % (n.encode(), len(b), b) for n, b in contents.items())
        self.version = _digest(whole)
        address = self.address("").rstrip("/").encode()
        head = contents.pop(HEAD, b"").rstrip()
        self._pages, self._files = dict[str, bytes](), dict[str, tuple[str, bytes]]()
        for name, body in contents.items():
            if name.endswith(".html"):
                self._pages[name] = body.replace(b"{head}", head).replace(b"{files}", address)
            else:
                self._files[name] = _type_of(name), body

    def address(self, name: str) -> str:
        """The path of the file *name*."""
        return f"{FILES}/{self.version}/{name}"

    def page(self, request: web.Request, name: str) -> web.Response:
        """Return the page *name*, or 304 if the browser has it."""
        body = self._pages[name]
        tag = _digest(body)
        response = web.Response(headers={**_SAFE, "Cache-Control": "no-cache"})
        response.etag = tag
        if any(etag.value in (tag, "*") for etag in request.if_none_match or ()):
            response.set_status(304)
        else:
            response.content_type, response.charset = _HTML, "utf-8"
            response.body = body
        return response

    def routes(self) -> Routes:
        """Return the route of the files that pages load; it needs no key, as they hold no data."""
        routes = Routes("pages")

        @routes.get(FILE, gated=False, quiet=True, text="*/*")
        async def page_file(_request: web.Request, *, path: FilePath) -> web.Response:
            """A script, style or picture of a page."""
            kind, body = self._files.get(path.name, ("", None))
            if body is None or path.version != self.version:
                raise NotFound("there is no such file")
            keep = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Type": kind}
            return web.Response(body=body, headers={**_SAFE, **keep})

        return routes


def asks_for_html(request: web.Request) -> bool:
    """Whether *request* comes from a browser that opens a page; a wildcard does not count."""
    return _HTML in request.headers.get("Accept", "").lower()


def _type_of(name: str) -> str:
    kind = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    kind = kind or "application/octet-stream"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
