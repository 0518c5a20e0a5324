"""Pages for browsers; at ``/``, programs get a line about the server."""

from pathlib import Path
from typing import Final

from aiohttp import web

from runtime.llm.service import SERVICE
from runtime.web.door import DOOR
from runtime.web.errors import Unauthorized
from runtime.web.pages import ASSETS, Pages, asks_for_html
from runtime.web.routes import Routes

PATH: Final = "/"
DOCS: Final = "/docs"
PAGES: Final = Pages(ASSETS, Path(__file__).parents[1] / "pages")
routes = Routes("pages")
files = PAGES.routes()


@routes.get(PATH, gated=False, errors=(Unauthorized,), text=("text/plain", "text/html"))
async def index(request: web.Request) -> web.Response:
    """Show the chat page to browsers; tell programs the service and its version."""
    if asks_for_html(request):
        response = PAGES.page(request, "index.html")
    else:
        request.app[DOOR].auth.check(request.headers.get("Authorization"))
        version = request.app[SERVICE].version
        text = f"llmsvc {version}: language-model server; see /openapi.json\n"
        response = web.Response(text=text)
    response.headers["Vary"] = "Accept"
    return response


@routes.get(DOCS, gated=False, text="text/html")
async def docs(request: web.Request) -> web.Response:
    """Show the reference of this API."""
    return PAGES.page(request, "docs.html")
