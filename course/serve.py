"""`build.py serve`: the built course on this machine, rebuilt and reloaded after each change."""

from __future__ import annotations

import asyncio
import errno
import html
import logging
import os
import re
import signal
import sys
import threading
import traceback
import webbrowser
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import orjson
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from course.build import Options, Report, build, plural
from course.diagnostics import Diagnostic
from course.publish.hosting import PAGE
from course.publish.tree import Refusal
from course.read.files import split_number
from course.read.sources import CONTENT
from course.reports import SHOWN, Source, format_block, reader
from course.serve_files import File, find, host_headers, is_allowed_host

GOODBYE_S: Final = 0.2
POLL_S: Final = 0.3
STREAM: Final = "__reload"
SCRIPT: Final = "__reload.js"
_PHASE_FILE: Final = 4  # content/phases/10-phase-id/phase.yaml
HEARTBEAT_S: Final = 15.0
WRITE_S: Final = 5.0
_BUSY: Final = "CFG004"  # another build holds the lock
_PREFIX: Final = re.compile(r"(?:/(?!\.)[A-Za-z0-9._~-]+)*\Z")
_SCRIPT_FILE: Final = Path(__file__).with_name("serve_reload.js")
_NEVER: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_PAGE_HEADERS: Final = {
    **_NEVER,
    "Content-Type": PAGE,
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; connect-src 'self'",
}
Say = Callable[[str], None]
T = TypeVar("T")
_LOG: Final = logging.getLogger(__name__)


def _is_ours(record: logging.LogRecord) -> bool:
    """False for a request that is not HTTP (a browser that tries https): it was answered."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_LOG.addFilter(_is_ours)


class ServeError(Exception):
    """The server cannot start as asked; the message says what to change."""


def serve(
    options: Options,
    host: str = "127.0.0.1",
    port: int = 8000,
    prefix: str = "",
    *,
    open_browser: bool = False,
    watch: bool = True,
    say: Say | None = None,
) -> int:
    """Build, serve ``options.out`` and, with *watch*, rebuild and reload until a signal comes.

    *port* 0 is any free one; *prefix* is a path such as ``/course``; *say* gets one text after
    each build (default: on standard error).
    Returns 0 after SIGINT or SIGTERM, 2 when the server cannot start.
    """
    say = say or _to_stderr
    try:
        server = Server(options, host, port, normal_prefix(prefix), watch=watch, say=say)
        return asyncio.run(_until_signal(server, open_browser))
    except ServeError as problem:
        say(f"serve: {problem}")
        return 2
    except KeyboardInterrupt:  # where the event loop takes no signal handlers
        return 0


def normal_prefix(prefix: str) -> str:
    """*prefix* with a slash in front and none at the end; raises :class:`ServeError`."""
    path = "/" + prefix.strip("/") if prefix.strip("/") else ""
    if not _PREFIX.match(path):
        raise ServeError(f'the prefix "{prefix}" is not a plain path such as /course')
    return path


async def _until_signal(server: Server, open_browser: bool) -> int:
    def announce() -> None:
        sys.stdout.write(f"the course is at {server.url}  (Ctrl-C ends it)\n")
        sys.stdout.flush()
        if open_browser:
            threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, ValueError, RuntimeError):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with server:
        work = asyncio.create_task(server.run(announce))
        ending = asyncio.create_task(stop.wait())
        await asyncio.wait({work, ending}, return_when=asyncio.FIRST_COMPLETED)
        for task in (work, ending):
            task.cancel()
        if work.done() and not work.cancelled():
            work.result()
    return 0


def _to_stderr(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


# -- building ---------------------------------------------------------------------------------


def compute_signature(root: Path) -> str:
    """A digest of name, size, time and inode of everything that a build reads below *root*.

    Drafts and dot files do not count, and no file is read. A folder that cannot be listed counts
    as empty, so that the digest changes when it can be again.
    """
    digest = blake2b(digest_size=16)
    for folder, folders, files in os.walk(root / CONTENT):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        for name in [*folders, *sorted(name for name in files if name[0] not in "._")]:
            with suppress(OSError):
                stat = Path(folder, name).lstat()
                facts: tuple[int, ...] = (stat.st_mode, stat.st_ino)
                if name not in folders:
                    facts += (stat.st_size, stat.st_mtime_ns)
                digest.update(f"{folder}/{name}\0{facts}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class State(NamedTuple):
    """What is served: the digest of the site (empty: none), and why a newer one is not."""

    site: str = ""
    failure: str = ""


class Attempt(NamedTuple):
    """What one build came to.

    ``message`` is for the terminal; ``out`` the folder that is served from now on, that of a draft
    when there are *errors*; ``again`` says to try again although no source changed.
    """

    state: State
    message: str
    out: Path
    errors: Sequence[Diagnostic] = ()
    again: bool = False


class Live:
    """Keeps the site equal to its sources; every method runs on the event loop."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.options = options
        self.say = say
        self.state = State()
        self.out = options.out
        self.errors: Sequence[Diagnostic] = ()
        self.closed = False
        self._changed = asyncio.Event()
        self._seen = ""
        self._retry = False
        self._said = ""

    async def build(self) -> None:
        """Build once, off the event loop, and make the result the state."""
        made = await off_loop(lambda: attempt(self.options))
        if made.message != self._said or not made.state.failure:
            self.say(made.message)
        self._said, self._retry = made.message, made.again
        if made.state.site:
            self.out, self.errors = made.out, made.errors
        self.state = State(made.state.site or self.state.site, made.state.failure)
        self._changed.set()
        if not self.closed:
            self._changed = asyncio.Event()

    async def start(self) -> None:
        """The first build; what changes from here on causes another one."""
        self._seen = await asyncio.to_thread(compute_signature, self.options.root)
        await self.build()

    async def follow(self) -> None:
        """Build again after every change of the sources; goes on for ever, one build at a time."""
        before = self._seen
        while True:
            await asyncio.sleep(POLL_S)
            now = await asyncio.to_thread(compute_signature, self.options.root)
            if now == before and (now != self._seen or self._retry):  # no editor is still saving
                self._seen = now
                await self.build()
            before = now

    async def next(self, previous: State | None, timeout_s: float) -> State | None:
        """The state as soon as it differs from *previous*; None after *timeout_s* or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self.closed:
                    if self.state != previous:
                        return self.state
                    await self._changed.wait()
        return None

    def close(self) -> None:
        """Let every listener go."""
        self.closed = True
        self._changed.set()


def attempt(options: Options) -> Attempt:
    """Build once; with errors as a draft beside the site, and a failure of any kind is a state."""
    out = options.out
    try:
        report = build(options)
        if not report.errors:
            return Attempt(State(report.digest), report.summary(), out)
        message = explain_failure(report, options)
        return _draft(options, report, message) or Attempt(State("", message), message, out)
    except Refusal as refusal:
        failure = f"{refusal.code}: {refusal}\nhint: {refusal.hint}"
        return Attempt(State("", failure), failure, out, again=refusal.code == _BUSY)
    except Exception:  # noqa: BLE001  (a fault of the tool must not end the author's session)
        failure = f"the build failed\n\n{traceback.format_exc()}"
        return Attempt(State("", failure), failure, out)


def _draft(options: Options, report: Report, message: str) -> Attempt | None:
    """The course with the errors of *report* as far as it can be shown; None when it cannot.

    It lies beside the site, so that nobody publishes it by mistake.
    """
    out = options.out.with_name(f".{options.out.name.lstrip('.')}.draft")
    cache = options.cache and options.cache / "draft"
    try:
        drafted = build(replace(options, out=out, cache=cache, draft=True))
    except Exception:  # noqa: BLE001  (no stand-in helped: the report alone is shown)
        return None
    if not drafted.digest:
        return None
    errors = [problem for problem in report.diagnostics if problem.severity == "error"]
    digest = blake2b(f"{drafted.digest}{message}".encode(), digest_size=16).hexdigest()
    return Attempt(State(digest), message, out, errors)


def page_of(file: str) -> str:
    """The folder of the page that the source *file* is shown on; the home page for all others."""
    parts = file.split("/")
    if len(parts) < 3 or parts[1] in ("ui", "media", "templates"):
        return ""
    lesson = parts[1] == "phases" and len(parts) > _PHASE_FILE
    name = parts[3] if lesson else parts[2].removesuffix(".yaml")
    number = split_number(name)
    return f"{'lessons' if lesson else parts[1]}/{number[1] if number else name}/"


def add_banner(page: bytes, path: str, errors: Sequence[Diagnostic], source: Source) -> bytes:
    """*page* (at *path* from the site root) with its *errors* on top, and where others are."""
    here = path.removesuffix("index.html")
    own = [problem for problem in errors if page_of(problem.file) == here]
    rest = Counter(page_of(problem.file) for problem in errors)
    del rest[here]
    root = "../" * path.count("/")
    links = ", ".join(
        f'<a href="{root}{html.escape(page) or "./"}">{html.escape(page) or "home"}</a> ({count})'
        for page, count in sorted(rest.items())
    )
    reports = "".join(
        f'<pre tabindex="0">{html.escape(format_block(problem, source))}</pre>'
        for problem in own[:SHOWN]
    )
    title = f"Draft: {plural(len(own), 'problem')} on this page" if own else "Draft"
    elsewhere = f"<p>Problems elsewhere: {links}</p>" if rest else ""
    banner = (
        '<div class="wrap" data-draft><div class="notice" role="note">'
        f'<p><strong class="planned">{title}</strong> No build publishes this.</p>'
        f"{reports}{elsewhere}</div></div>\n"
    ).encode()
    head, start, tail = page.partition(b'<main id="page-main" tabindex="-1">\n')
    return head + start + banner + tail if start else page


def explain_failure(report: Report, options: Options) -> str:
    """The problems that stopped a build, as text for people: the first ones in full."""
    errors = [problem for problem in report.diagnostics if problem.severity == "error"]
    source = reader(options.root)
    blocks = [format_block(problem, source) for problem in errors[:SHOWN]]
    if len(errors) > SHOWN:
        blocks.append(f"{len(errors) - SHOWN:,} more not shown")
    return "\n\n".join([*blocks, plural(len(errors), "error")])


async def off_loop(work: Callable[[], T]) -> T:
    """Run *work* in a thread of its own that does not hold up the end of the program."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  (handed to whoever awaits)
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=run, name="build", daemon=True).start()
    return await asyncio.wrap_future(done)


# -- answering --------------------------------------------------------------------------------


class Server:
    """The listening server; entering it takes the port, :meth:`run` builds and watches."""

    def __init__(
        self, options: Options, host: str, port: int, prefix: str, *, watch: bool, say: Say
    ) -> None:
        self.live = Live(options, say)
        self.host = host
        self.port = port
        self.prefix = prefix
        self.watch = watch
        self.url = ""
        self._script = _SCRIPT_FILE.read_bytes()
        self._opened = asyncio.Event()
        self._runner: web.ServerRunner

    async def __aenter__(self) -> Server:
        server = web.Server(self.answer, access_log=None, logger=_LOG, handler_cancellation=True)
        self._runner = web.ServerRunner(server, shutdown_timeout=GOODBYE_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self.host, self.port).start()
        except (OSError, OverflowError) as error:
            await self._runner.cleanup()
            raise ServeError(self._explain_refusal(error)) from error
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.url = f"http://{host}:{self._runner.addresses[0][1]}{self.prefix}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.live.close()
        await self._runner.cleanup()

    def _explain_refusal(self, error: Exception) -> str:
        number = error.errno if isinstance(error, OSError) else None
        if number == errno.EADDRINUSE:
            return (
                f"port {self.port} of {self.host} is in use: "
                "name another one with --port, or 0 for any that is free"
            )
        if number == errno.EACCES:
            return f"port {self.port} needs more rights: name one above 1023 with --port"
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return f"cannot listen on {self.host}, port {self.port}: {why}"

    async def run(self, ready: Callable[[], None]) -> None:
        """The first build, *ready*, and then every other one; ends only when cancelled."""
        await self.live.start()
        self._opened.set()  # requests that came before waited
        ready()
        if self.watch:
            await self.live.follow()
        await asyncio.Event().wait()

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """The answer to any request at all."""
        reached = request.transport.get_extra_info("sockname") if request.transport else None
        local = str(reached[0]) if reached else ""
        if not is_allowed_host(request.headers.get("Host", ""), self.host, local):
            return _plain(403, "this server does not answer to that host name\n")
        if request.method not in ("GET", "HEAD"):
            return _plain(405, "only GET and HEAD\n", {"Allow": "GET, HEAD"})
        path, mark, query = request.raw_path.partition("?")
        await self._opened.wait()
        if path == f"{self.prefix}/{STREAM}" and self.watch:
            return await self.stream(request)
        if path == f"{self.prefix}/{SCRIPT}" and self.watch:
            headers = {**_NEVER, "Content-Type": "text/javascript; charset=utf-8"}
            return web.Response(body=self._script, headers=headers)
        if not path.startswith(f"{self.prefix}/"):
            return self.outside(path)
        return await self.file(path.removeprefix(f"{self.prefix}/"), mark + query)

    async def file(self, raw: str, query: str) -> web.Response:
        """A file of the site, or what stands for it; before the first site, the failure."""
        state = self.live.state
        if not state.site:
            return web.Response(status=503, body=self.failure_page(state), headers=_PAGE_HEADERS)
        out = self.live.out
        result, headers = await asyncio.to_thread(_look_up, out, raw)
        if result.status == 301:
            where = f"{self.prefix}/{result.location}{query}"
            return web.Response(status=301, headers={**_NEVER, "Location": where})
        body = result.body
        if self.watch and result.type == PAGE:
            body = self.with_script(body, state.site)
        if result.type == PAGE and self.live.errors:
            body = add_banner(body, result.path, self.live.errors, reader(self.live.options.root))
        headers["Content-Type"] = result.type
        return web.Response(status=result.status, body=body, headers=headers)

    def outside(self, path: str) -> web.Response:
        """A path that the site does not own: its start leads in, everything else is a 404."""
        if path in ("/", self.prefix):
            return web.Response(status=302, headers={**_NEVER, "Location": f"{self.prefix}/"})
        text = (
            "<!doctype html><title>404: outside the prefix</title>"
            f'<p>404: the course is at <a href="{self.prefix}/">{self.prefix}/</a>.</p>\n'
        )
        return web.Response(status=404, body=text.encode(), headers=_PAGE_HEADERS)

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
        return self.with_script(page.encode(), "") if self.watch else page.encode()

    async def stream(self, request: web.BaseRequest) -> web.StreamResponse:
        """Server-sent events: the state now, and again whenever it changes."""
        response = web.StreamResponse(headers={**_NEVER, "Content-Type": "text/event-stream"})
        response.force_close()
        state: State | None = None
        try:
            await response.prepare(request)
            while request.method == "GET" and not self.live.closed:
                changed = await self.live.next(state, HEARTBEAT_S)
                state = changed or state
                frame = b": still here\n\n" if changed is None else _event(changed)
                if not self.live.closed:
                    await asyncio.wait_for(response.write(frame), WRITE_S)
        except (ConnectionError, TimeoutError):
            if request.transport is not None:
                request.transport.abort()
        return response


def _look_up(out: Path, raw: str) -> tuple[File, dict[str, str]]:
    file = find(out, raw)
    return file, host_headers(out, file.path or "404.html")


def _event(state: State) -> bytes:
    return b"event: state\ndata: " + orjson.dumps(state._asdict()) + b"\n\n"


def _plain(status: int, text: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, text=text, headers={**_NEVER, **(headers or {})})
