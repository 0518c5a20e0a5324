"""Keeps the machine from going to sleep while requests run, where the system offers a way."""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

log = logging.getLogger(__name__)

LINGER_S: Final = 5.0
"""How long the machine is kept awake after the last request, so that a burst is one period."""
_EXIT_S: Final = 2.0


class Inhibitor:
    """Holds a lock through a child process that lives as long as its standard input is open.

    The pipe closes with this process however it ends, so the child cannot outlive it. A child that
    ends by itself shows that the way does not work here: that is logged once and not tried again.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)
        self._child: asyncio.subprocess.Process | None = None
        self._broken = False

    async def start(self) -> None:
        """Start the child unless one runs or the way is known not to work."""
        if self._broken or self._child is not None:
            return
        try:
            self._child = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(error.strerror or "it cannot be started")

    async def stop(self) -> None:
        """Close the child's input and wait for its end, two seconds at most; then kill it."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.returncode is not None:
            self._give_up(f"it ended by itself with code {child.returncode}")
        if child.stdin is not None:
            child.stdin.close()
        try:
            async with asyncio.timeout(_EXIT_S):
                await child.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    def _give_up(self, why: str) -> None:
        self._broken = True
        log.info("the machine is not kept awake: %s: %s", self._command[0], why)


def inhibitor_for(
    platform: str, which: Callable[[str], str | None] = shutil.which
) -> Inhibitor | None:
    """The way to keep a machine of that `sys.platform` awake; None where there is none."""
    holder, wait = which("caffeinate" if platform == "darwin" else "systemd-inhibit"), which("cat")
    if holder is None or wait is None:
        return None
    if platform == "darwin":
        return Inhibitor((holder, "-i", wait))
    return Inhibitor(
        (holder, "--what=idle:sleep", "--who=LLMSVC", "--why=a model is answering", wait)
    )


class KeepAwake:
    """Counts the requests that run and keeps the machine awake while there are any.

    Never delays or fails a request: the inhibitor works in a task of its own. Belongs to one event
    loop; end it with `close`.
    """

    def __init__(self, inhibitor: Inhibitor | None, *, linger_s: float = LINGER_S) -> None:
        self._inhibitor = inhibitor
        self._linger_s = linger_s
        self._held = 0
        self._busy, self._idle = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._logged = False
        self._closed = False

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Keep the machine awake inside the block."""
        self._enter()
        try:
            yield
        finally:
            self._leave()

    async def close(self) -> None:
        """Let the machine sleep now; later holds do nothing."""
        self._closed = True
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _enter(self) -> None:
        self._held += 1
        self._busy.set()
        self._idle.clear()
        if self._inhibitor is None:
            if not self._logged:
                log.info("the machine is not kept awake: this system offers no way")
                self._logged = True
        elif not self._closed and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._keep(self._inhibitor), name="keep-awake")

    def _leave(self) -> None:
        self._held -= 1
        if self._held == 0:
            self._busy.clear()
            self._idle.set()

    async def _keep(self, inhibitor: Inhibitor) -> None:
        """One period without sleep for as long as requests follow each other closely."""
        while self._held:
            try:
                await inhibitor.start()
                await self._until_quiet()
            finally:
                await inhibitor.stop()

    async def _until_quiet(self) -> None:
        """Return when nothing has run for the lingering time."""
        while True:
            await self._idle.wait()
            try:
                async with asyncio.timeout(self._linger_s):
                    await self._busy.wait()
            except TimeoutError:
                return
