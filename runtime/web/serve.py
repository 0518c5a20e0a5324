"""Runs a server: binds, announces the port, serves, and stops within a fixed time."""

import asyncio
import ctypes
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

from aiohttp import web

from runtime.web.door import DOOR, Guard, Limits
from runtime.web.lifecycle import LIFECYCLE

GRACE_S: Final = 10.0
LAST_WORDS_S: Final = 1.0
CLEANUP_S: Final = 2.8
THREADS_S: Final = 0.5
LAST_REQUESTS_S: Final = 0.05
"""Seconds that threads get to end once the loop is closed."""
LEAVE_S: Final = 1.0
"""Seconds for the caller of `run` to end the process if a thread would block the exit."""

TRIM_S: Final = 30.0
"""Seconds between returns of freed memory to the system."""
_HEAP: Final = ((-1, 1 << 30), (-3, 32 << 20))
"""Options of glibc's `mallopt`: the heap keeps freed memory (M_TRIM_THRESHOLD) and holds all but
the largest arrays (M_MMAP_THRESHOLD)."""
_C: Final = ctypes.CDLL(None) if sys.platform == "linux" else None

ALONE: Final[int] = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
"""The option of listening sockets; on Windows SO_REUSEADDR lets two programs share a port."""

Factory = Callable[[], Awaitable[web.Application]]
Drain = Callable[[web.Application], Awaitable[None]]
GUARD: Final = web.AppKey("guard", Guard)
_LOG: Final = logging.getLogger("paddock.serve")


class CannotStart(Exception):
    """The server cannot start; the message is one line for the user, *exit_code* for the shell.

    A factory may raise it too.
    """

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class CannotBind(CannotStart):
    """The address cannot be bound; the message names the setting to change."""


class BindCodes(NamedTuple):
    """Exit codes of a server that cannot bind its address."""

    taken: int = 1
    """Another program listens on the port."""
    impossible: int = 1
    """The address does not exist here or must not be used."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a server shuts down: its hooks and time limits."""

    grace_s: float = GRACE_S
    """Seconds for running requests after the first signal."""
    on_drain: Drain | None = None
    """Called first, for example to refuse waiting requests."""
    on_deadline: Drain | None = None
    """Called if requests still run after the grace period; they have *last_words_s* left."""
    last_words_s: float = LAST_WORDS_S
    """Seconds for handlers to end once their streams are closed."""
    cleanup_s: float = CLEANUP_S
    """Seconds after the grace period until the process ends, whatever still runs."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections."""

    app: web.Application
    host: str
    port: int
    guard: Guard
    accepting: asyncio.Server

    @property
    def url(self) -> str:
        """The URL for clients on this machine."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}"


def run(
    factory: Factory,
    host: str,
    port: int,
    *,
    limits: Limits | None = None,
    ending: Ending | None = None,
    on_ready: Callable[[Running], None] | None = None,
    port_setting: str = "server_port",
    bind_codes: BindCodes = BindCodes(),  # noqa: B008 - a constant
) -> int:
    """Serve until a signal arrives; return the exit code of the process.

    Prints one JSON line to standard output once connections are accepted. The first SIGTERM or
    SIGINT drains: no new connections, ``503`` to new requests, then *ending*, then open streams
    are closed. The second one exits at once. Threads cannot be stopped: if any are left, the
    process ends `LEAVE_S` later with the same exit code.
    """
    ending = ending or Ending()
    watchdog, before, code = _Watchdog(), set(threading.enumerate()), 0
    try:
        with bind(host, port, port_setting, bind_codes) as listener:
            asyncio.run(_run(factory, listener, limits or Limits(), ending, on_ready, watchdog))
    except CannotStart as exc:
        sys.stderr.write(f"{exc}\n")
        code = exc.exit_code
    finally:
        watchdog.stop()
        gc.unfreeze()  # otherwise native code reports leaks on standard error
    if left := _list_leftover_threads(before):
        _LOG.warning("ending threads that still run: %s", ", ".join(left))
        watchdog.start(LEAVE_S, code)
    return code


class _Watchdog:
    """Ends the process at a set time, even while the interpreter waits for a thread."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def start(self, after_s: float, code: int, warning: str = "") -> None:
        self._timer = threading.Timer(after_s, self._bite, [code, warning])
        self._timer.daemon = True
        self._timer.start()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _bite(self, code: int, warning: str) -> None:
        if warning:
            _LOG.warning(warning)
        logging.shutdown()
        os._exit(code)


def _list_leftover_threads(before: set[threading.Thread]) -> list[str]:
    """Names of threads started since *before* that the interpreter would wait for."""
    until = time.monotonic() + THREADS_S
    new = [t for t in threading.enumerate() if t not in before and not t.daemon]
    for thread in new:
        thread.join(max(0.0, until - time.monotonic()))
    return [thread.name for thread in new if thread.is_alive()]


@asynccontextmanager
async def _own_threads() -> AsyncIterator[None]:
    """Run threads for blocking work without waiting for them at the end."""
    loop = asyncio.get_running_loop()
    executor = ThreadPoolExecutor(thread_name_prefix="work")
    loop.set_default_executor(executor)
    try:
        yield
    finally:
        loop.set_default_executor(ThreadPoolExecutor(1))  # idle, so the loop does not wait
        executor.shutdown(wait=False, cancel_futures=True)


def reuse_memory() -> None:
    """Reuse freed memory; it returns to the system half a minute later.

    For servers that compute with long arrays: by default glibc gets each of them from the system,
    which takes as long as computing its content.
    """
    if _C is not None and hasattr(_C, "mallopt"):
        for option, value in _HEAP:
            _C.mallopt(option, value)


@asynccontextmanager
async def _return_memory() -> AsyncIterator[None]:
    """Return freed memory to the system at intervals.

    The C library of Linux keeps a heap for each thread and the free memory in it. Arrays that grow
    from one request to the next never fit into the space left by the last.
    """
    trim = getattr(_C, "malloc_trim", None)
    if trim is None:
        yield
        return

    async def repeat() -> None:
        while True:
            await asyncio.sleep(TRIM_S)
            await asyncio.to_thread(trim, 0)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()


def bind(
    host: str,
    port: int,
    port_setting: str = "server_port",
    codes: BindCodes = BindCodes(),  # noqa: B008 - a constant
) -> socket.socket:
    """Return a listening socket; raises `CannotBind`."""
    where = f"cannot listen on {host} port {port}"
    if not 0 <= port <= 65535:  # getaddrinfo would take the number modulo 65536
        raise CannotBind(f"{where}: no such port; see {port_setting}", codes.impossible)
    try:
        addresses = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_NUMERICSERV
        )
        family, kind, protocol, _, address = addresses[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as exc:
        raise CannotBind(f"cannot listen on {host}: {_reason(exc)}", codes.impossible) from exc
    try:
        listener.setsockopt(socket.SOL_SOCKET, ALONE, 1)
        listener.bind(address)
        listener.listen(1024)
        listener.setblocking(False)
    except OSError as exc:
        listener.close()
        raise CannotBind(
            f"{where}: {_reason(exc)}; choose another with the setting {port_setting}",
            codes.taken if exc.errno == errno.EADDRINUSE else codes.impossible,
        ) from exc
    return listener


def _reason(exc: Exception) -> str:
    return getattr(exc, "strerror", None) or str(exc)


@asynccontextmanager
async def serving(
    app: web.Application,
    listener: socket.socket,
    *,
    limits: Limits | None = None,
    last_words_s: float = LAST_WORDS_S,
) -> AsyncIterator[Running]:
    """Start *app* with its guard on *listener*; at the end, close everything still open."""
    guard = app[GUARD] = Guard(limits or Limits(), app[DOOR].render)
    runner = web.AppRunner(
        app, handler_cancellation=True, shutdown_timeout=last_words_s, access_log=None
    )
    try:
        await runner.setup()
        assert runner.server is not None
        loop = asyncio.get_running_loop()
        factory = guard.factory(runner.server, loop)
        accepting = await loop.create_server(factory, sock=listener, backlog=1024)
        host, port = listener.getsockname()[:2]
        try:
            yield Running(app, host, port, guard, accepting)
        finally:
            accepting.close()
    finally:
        app[LIFECYCLE].close_streams()
        await runner.cleanup()


@asynccontextmanager
async def run_app(app: web.Application, *, limits: Limits | None = None) -> AsyncIterator[Running]:
    """Start *app* with its guard on a free loopback port, for tests and embedding programs."""
    with bind("127.0.0.1", 0) as listener:
        async with serving(app, listener, limits=limits, last_words_s=0.2) as running:
            yield running


async def _run(
    factory: Factory,
    listener: socket.socket,
    limits: Limits,
    ending: Ending,
    on_ready: Callable[[Running], None] | None,
    watchdog: _Watchdog,
) -> None:
    stop = asyncio.Event()
    _on_signals(stop)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(_own_threads())
        await stack.enter_async_context(_return_memory())
        app = await factory()
        running = await stack.enter_async_context(
            serving(app, listener, limits=limits, last_words_s=ending.last_words_s)
        )
        if on_ready is not None:
            on_ready(running)
        # Objects made by imports stay. Scanning them for garbage would delay a response by a tenth
        # of a second.
        gc.freeze()
        _announce(running.port)
        await stop.wait()
        watchdog.start(ending.grace_s + ending.cleanup_s, 0, "the server did not end in time")
        running.accepting.close()
        await _drain(app, ending)


def _announce(port: int) -> None:
    line = json.dumps({"event": "ready", "port": port, "pid": os.getpid()}, separators=(",", ":"))
    # A service manager may have closed standard output; then nobody reads the line.
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


async def _drain(app: web.Application, ending: Ending) -> None:
    loop = asyncio.get_running_loop()
    until = loop.time() + ending.grace_s
    life = app[LIFECYCLE]
    life.drain()
    await _call(ending.on_drain, app, ending.grace_s)
    if await life.wait_idle(max(0.0, until - loop.time())):
        # A client may already have sent its next request: answer it, do not cut it off.
        await asyncio.sleep(LAST_REQUESTS_S)
        if await life.wait_idle(max(0.0, until - loop.time())):
            return
    _LOG.warning("%d requests did not end within %g s", life.in_flight, ending.grace_s)
    await _call(ending.on_deadline, app, ending.last_words_s)
    await life.wait_idle(ending.last_words_s)


async def _call(hook: Drain | None, app: web.Application, limit_s: float) -> None:
    if hook is None:
        return
    try:
        async with asyncio.timeout(limit_s):
            await hook(app)
    except Exception:  # noqa: BLE001 - a hook that fails must not keep the server from ending
        _LOG.exception("a hook of the shutdown failed")


def _on_signals(stop: asyncio.Event) -> None:
    """Stop the server at the first signal and end the process at the second."""
    loop = asyncio.get_running_loop()

    def on_signal(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(name, on_signal, name)
        except NotImplementedError:  # Windows: a plain handler, which wakes the loop itself
            signal.signal(name, lambda number, _: loop.call_soon_threadsafe(on_signal, number))
    with suppress(AttributeError, ValueError):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
