"""A server in a process of its own: `python -m tests.web.tiny_server PORT MODE`."""

import asyncio
import logging
import sys
import threading

from aiohttp import web

from runtime.web.lifecycle import LIFECYCLE
from runtime.web.logs import logging_to
from runtime.web.serve import CannotStart, Ending, run
from tests.web.sample import make_app

DRAINED = web.AppKey("drained", asyncio.Event)
LATE = web.AppKey("late", asyncio.Event)
LONG_S = 60.0
"""Longer than a test waits: what takes it has failed."""


async def refused() -> web.Application:
    raise CannotStart("another server uses this data directory", exit_code=2)


async def ready() -> web.Application:
    app = make_app()
    app[DRAINED], app[LATE] = asyncio.Event(), asyncio.Event()
    app.router.add_get("/running", running)
    app.router.add_get("/late", late)
    app.router.add_get("/hold", hold)
    app.router.add_get("/longer", longer)
    app.router.add_get("/stuck", stuck)
    app.router.add_get("/thread", in_thread)
    return app


async def clinging() -> web.Application:
    app = await ready()
    app.on_cleanup.append(never)
    return app


async def never(app: web.Application) -> None:
    await asyncio.Event().wait()


async def refused_late() -> web.Application:
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    return await refused()


async def in_thread(request: web.Request) -> web.Response:
    """Waits for a thread that never ends, once it has said so."""
    answer = web.StreamResponse()
    await answer.prepare(request)
    await answer.write(b"started")
    await asyncio.to_thread(threading.Event().wait)
    return web.Response()


async def running(request: web.Request) -> web.Response:
    """How many other requests run."""
    return web.Response(text=str(request.app[LIFECYCLE].in_flight - 1))


async def hold(request: web.Request) -> web.Response:
    """Runs until the server drains."""
    await request.app[DRAINED].wait()
    return web.Response(text="drained")


async def longer(request: web.Request) -> web.Response:
    """Runs on while the server drains."""
    await request.app[DRAINED].wait()
    await asyncio.sleep(0.3)
    return web.Response(text="done")


async def stuck(request: web.Request) -> web.Response:
    """Never ends by itself."""
    await asyncio.sleep(3600)
    return web.Response()


async def late(request: web.Request) -> web.Response:
    """Runs until the grace is over."""
    await request.app[LATE].wait()
    return web.Response(text="cut short")


async def on_drain(app: web.Application) -> None:
    app[DRAINED].set()


async def on_deadline(app: web.Application) -> None:
    app[LATE].set()


async def failing(app: web.Application) -> None:
    raise RuntimeError("a hook that fails")


if __name__ == "__main__":
    port, mode = int(sys.argv[1]), sys.argv[2]
    hook = failing if mode == "failing" else on_drain
    ending = Ending(
        grace_s=LONG_S if mode in {"ready", "failing"} else 0.5,
        on_drain=hook,
        on_deadline=on_deadline,
        last_words_s=0.2 if mode in {"brief", "talking"} else LONG_S,
        cleanup_s=1.5 if mode == "clinging" else LONG_S,
    )
    factory = {"refused": refused, "refused late": refused_late, "clinging": clinging}
    with logging_to():
        code = run(factory.get(mode, ready), "127.0.0.1", port, ending=ending)
        if mode == "talking":
            logging.getLogger("tiny").warning("ended with code %d", code)
    sys.exit(code)
