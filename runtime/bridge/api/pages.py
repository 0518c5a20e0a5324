"""Pages for people: the sessions at ``/``, one page a purpose below ``/ui``."""

from pathlib import Path
from typing import Final

from aiohttp import web

from runtime.bridge.service import SERVICE
from runtime.web.pages import ASSETS, Pages, asks_for_html
from runtime.web.routes import Routes

START: Final = "/"
PAGES: Final = Pages(ASSETS, Path(__file__).parents[1] / "pages")
routes = Routes("pages")
files = PAGES.routes()
PATHS: Final = (START, "/ui/live", "/ui/session", "/ui/driver", "/ui/car", "/docs")
"""Of pages that links on other sites may open."""


@routes.get(START, text=("text/plain", "text/html"))
async def index(request: web.Request) -> web.Response:
    """Show the sessions to browsers; to programs, name the service and its version."""
    if asks_for_html(request):
        response = PAGES.page(request, "index.html")
    else:
        version = request.app[SERVICE].version
        response = web.Response(text=f"bridge {version}: telemetry bridge; see /openapi.json\n")
    response.headers["Vary"] = "Accept"
    return response


@routes.get("/ui/live", text="text/html")
async def live(request: web.Request) -> web.Response:
    """The pit wall: the car as it drives."""
    return PAGES.page(request, "live.html")


@routes.get("/ui/session", text="text/html")
async def session(request: web.Request) -> web.Response:
    """A stored session: laps over each other, losses, the coach."""
    return PAGES.page(request, "session.html")


@routes.get("/ui/driver", text="text/html")
async def driver(request: web.Request) -> web.Response:
    """A driver: best laps over time, what to work on, the leaderboard."""
    return PAGES.page(request, "driver.html")


@routes.get("/ui/car", text="text/html")
async def car(request: web.Request) -> web.Response:
    """The bus, its messages, and the signals with their last values."""
    return PAGES.page(request, "car.html")


@routes.get("/docs", text="text/html")
async def docs(request: web.Request) -> web.Response:
    """The reference of this API, as a page."""
    return PAGES.page(request, "docs.html")
