"""Serves the home page of a demo: links to its parts and their state."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web

from runtime.web.access import HostPolicy
from runtime.web.door import Door, install
from runtime.web.errors import ApiError, NotFound
from runtime.web.pages import ASSETS, Pages
from runtime.web.routes import Routes, mount
from runtime.web.serve import bind, serving
from runtime.web.wire import Wire

PAGES: Final = Path(__file__).parent / "pages"
PATIENCE: Final = aiohttp.ClientTimeout(total=2.0)
"""For an answer of the bridge; the page tries again."""
LOADING: Final = aiohttp.ClientTimeout(total=90.0)
"""For the model of the chat; the server itself gives up after a minute."""
GRACE_S: Final = 1.0
"""For requests still running at the end."""


class Parts(NamedTuple):
    """Addresses of the running parts, without a slash at the end."""

    course: str
    llm: str
    bridge: str


class Place(Wire):
    """A page of one of the parts."""

    part: str
    path: str = ""


class Car(Wire):
    """The car that is driving now."""

    frames_per_s: float
    laps: int
    """Complete laps of this session."""
    best_lap_s: float | None


class HomeStatus(Wire):
    """The content of the page, with an address for each part."""

    course: str
    llm: str
    bridge: str
    ready: bool
    """Whether all parts have started."""
    chat: str
    """State of its model: ``loading``, ``ready`` or ``failed``."""
    search: str
    """State of the search in lessons: ``off``, ``loading``, ``ready`` or ``failed``."""
    car: Car | None
    """None while the bridge does not answer."""


class Home:
    """The home page of the *parts*; its owner sets ``ready`` and ``search``."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.ready = False
        self.chat = "loading"
        self.search = "off"
        self._pages = Pages(ASSETS, PAGES)
        self._serving = AsyncExitStack()

    async def start(self, port: int) -> int:
        """Listen on *port* of this machine, 0 for any; returns the port."""
        app = web.Application()
        install(app, Door(_render, HostPolicy.bound_to("127.0.0.1", pages=("/", "/go/*"))))
        mount(app, self._routes(), self._pages.routes())
        listener = self._serving.enter_context(bind("127.0.0.1", port))
        serves = serving(app, listener, last_words_s=GRACE_S)
        return (await self._serving.enter_async_context(serves)).port

    async def try_chat(self) -> None:
        """Load the model of the chat and check that it answers."""
        try:
            async with (
                aiohttp.ClientSession(timeout=LOADING) as client,
                client.post(f"{self.parts.llm}/health/warm") as answer,
            ):
                self.chat = "ready" if answer.ok else "failed"
        except (aiohttp.ClientError, TimeoutError):
            self.chat = "failed"

    async def stop(self) -> None:
        """Close the page."""
        await self._serving.aclose()

    def _routes(self) -> Routes:
        routes = Routes("home")

        @routes.get("/", text="text/html")
        async def home(request: web.Request) -> web.Response:
            """The home page."""
            return self._pages.page(request, "home.html")

        @routes.get("/go/{part}/{path:.*}", text="text/html")
        async def go(request: web.Request, *, path: Place) -> web.Response:
            """Redirect to a page of a part, so that links work without scripts."""
            address = self.parts._asdict().get(path.part)
            if address is None:
                raise NotFound("there is no such part")
            # Undecoded: a decoded character could be mistaken for a separator.
            rest = request.raw_path.split("/", 3)[3].partition("#")[0]
            return web.Response(status=302, headers={"Location": f"{address}/{rest}"})

        @routes.get("/status")
        async def status(_request: web.Request) -> HomeStatus:
            """Return the state of the parts."""
            car = await self._car() if self.ready else None
            addresses = self.parts._asdict()
            return HomeStatus(
                **addresses, ready=self.ready, chat=self.chat, search=self.search, car=car
            )

        return routes

    async def _car(self) -> Car | None:
        """Return the car as the bridge reports it."""
        try:
            async with aiohttp.ClientSession(timeout=PATIENCE) as client:
                health = await _json(client, f"{self.parts.bridge}/health")
                if not health:
                    return None
                name = health["active_session_id"]
                session = await _json(client, f"{self.parts.bridge}/session/{name}") if name else {}
        except (aiohttp.ClientError, TimeoutError):
            return None
        rate = health["can"]["fps"]
        laps, best = session.get("lap_count", 0), session.get("best_lap_s")
        return Car(frames_per_s=rate, laps=laps, best_lap_s=best)


def _render(error: ApiError) -> Mapping[str, object]:
    return {"error": error.message}


async def _json(client: aiohttp.ClientSession, url: str) -> Any:
    async with client.get(url) as answer:
        return await answer.json() if answer.ok else {}
