"""`build.py serve`: the built course on this machine, rebuilt and reloaded after each change."""

from __future__ import annotations

import asyncio
import errno
import logging
import re
import signal
import sys
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from course.options import Options
from course.serve_live import Live
from course.serve_site import Site

HOST: Final = "127.0.0.1"
PORT: Final = 8000
GOODBYE_S: Final = 0.2
_PREFIX: Final = re.compile(r"(?:/(?!\.)[A-Za-z0-9._~-]+)*\Z")
Say = Callable[[str], None]
_LOG: Final = logging.getLogger(__name__)


def _is_ours(record: logging.LogRecord) -> bool:
    """A request that is no HTTP (a browser that tries https) is answered, and no fault of ours."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_LOG.addFilter(_is_ours)


class ServeError(Exception):
    """The server cannot start as asked; the message says what to change."""


@dataclass(frozen=True, slots=True)
class Where:
    """Address, port (0: any free one) and path prefix (``/course`` or empty) of the server."""

    host: str = HOST
    port: int = PORT
    prefix: str = ""


def serve(
    options: Options,
    host: str = HOST,
    port: int = PORT,
    prefix: str = "",
    open_browser: bool = False,
    ready: Say | None = None,
    *,
    watch: bool = True,
    say: Say | None = None,
) -> int:
    """Build, serve ``options.out`` and, with *watch*, rebuild and reload until a signal comes.

    *ready* gets the address once the first build is done (default: printed on standard output),
    *say* one text after each build (default: on standard error).
    Returns 0 after SIGINT or SIGTERM, 2 when the server cannot start.
    """
    tell = say or _to_stderr
    try:
        where = Where(host, port, normal_prefix(prefix))
        show = ready or _to_stdout
        return asyncio.run(_main(options, where, open_browser, watch, show, tell))
    except ServeError as problem:
        tell(f"serve: {problem}")
        return 2
    except KeyboardInterrupt:  # where the event loop takes no signal handlers
        return 0


def normal_prefix(prefix: str) -> str:
    """*prefix* with a slash in front and none behind; raises :class:`ServeError`."""
    path = "/" + prefix.strip("/") if prefix.strip("/") else ""
    if not _PREFIX.match(path):
        raise ServeError(f'the prefix "{prefix}" is not a plain path such as /course')
    return path


async def _main(
    options: Options,
    where: Where,
    open_browser: bool,
    watch: bool,
    ready: Say,
    say: Say,
) -> int:
    stop = asyncio.Event()
    _on_signals(stop.set)
    async with Server(options, where, watch=watch, say=say) as server:
        work = asyncio.create_task(server.run(lambda: _announce(server.url, open_browser, ready)))
        ending = asyncio.create_task(stop.wait())
        await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
        for task in (work, ending):
            task.cancel()
        if work.done() and not work.cancelled():
            work.result()
    return 0


class Server:
    """The listening server; entering it takes the port, :meth:`run` builds and watches."""

    def __init__(self, options: Options, where: Where, *, watch: bool = True, say: Say) -> None:
        self.where = where
        self.watch = watch
        self.live = Live(options, say)
        self.site = Site(self.live, where.host, where.prefix, reload=watch)
        self.url = ""
        self._runner = web.ServerRunner(
            web.Server(self.site.answer, access_log=None, logger=_LOG, handler_cancellation=True),
            shutdown_timeout=GOODBYE_S,
        )

    async def __aenter__(self) -> Server:
        await self._runner.setup()
        site = web.TCPSite(self._runner, self.where.host, self.where.port)
        try:
            await site.start()
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            raise ServeError(_refused(error, self.where)) from error
        port = self._runner.addresses[0][1]
        host = f"[{self.where.host}]" if ":" in self.where.host else self.where.host
        self.url = f"http://{host}:{port}{self.where.prefix}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.live.close()
        await self._runner.cleanup()

    async def run(self, ready: Callable[[], None]) -> None:
        """The first build, *ready*, and then every other one; ends only when cancelled."""
        await self.live.start()
        self.site.open()
        ready()
        if self.watch:
            await self.live.follow()
        await asyncio.Event().wait()


def _announce(url: str, open_browser: bool, ready: Say) -> None:
    ready(url)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _on_signals(stop: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, ValueError, RuntimeError):
            loop.add_signal_handler(number, stop)


def _refused(error: Exception, where: Where) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return (
            f"port {where.port} of {where.host} is in use: "
            "name another one with --port, or 0 for any that is free"
        )
    if number == errno.EACCES:
        return f"port {where.port} needs more rights: name one above 1023 with --port"
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return f"cannot listen on {where.host}, port {where.port}: {why}"


def _to_stdout(url: str) -> None:
    sys.stdout.write(f"the course is at {url}  (Ctrl-C ends it)\n")
    sys.stdout.flush()


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
