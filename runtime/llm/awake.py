"""Keep the machine awake while requests run, if the system supports it."""

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import Final

log = logging.getLogger(__name__)

LINGER_S: Final = 5.0
"""How long the machine stays awake after the last request, so that a burst is one period."""
EXIT_S: Final = 2.0


def choose_command(
    platform: str, which: Callable[[str], str | None] = shutil.which
) -> tuple[str, ...] | None:
    """The command that keeps a machine of this `sys.platform` awake while its input is open."""
    holder, wait = which("caffeinate" if platform == "darwin" else "systemd-inhibit"), which("cat")
    if holder is None or wait is None:
        return None
    if platform == "darwin":
        return (holder, "-i", wait)
    return (holder, "--what=idle:sleep", "--who=LLMSVC", "--why=a model is answering", wait)


class KeepAwake:
    """Holds a sleep lock while requests run, through a child that lives while its input is open.

    The pipe closes when this process ends, even by a crash, so the child cannot outlive it. A child
    that cannot start or ends by itself is logged once and not retried. Requests are never delayed.
    """

    def __init__(self, command: Sequence[str] | None, *, linger_s: float = LINGER_S) -> None:
        self._command = command
        self._linger_s = linger_s
        self._held = 0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._over = False

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the machine awake inside the block."""
        self._held += 1
        self._changed.set()
        if self._command is None:
            self._give_up("this system has no command for it")
        elif not self._over and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._keep(self._command), name="keep-awake")
        try:
            yield
        finally:
            self._held -= 1
            self._changed.set()

    async def close(self) -> None:
        """Allow the machine to sleep; later holds have no effect."""
        self._over = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _keep(self, command: Sequence[str]) -> None:
        """Keep the machine awake as long as requests follow each other closely."""
        while self._held and not self._over:
            try:
                child = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                self._give_up(f"{command[0]}: {error.strerror or 'it cannot be started'}")
                return
            try:
                await self._until_quiet()
            finally:
                await self._end(child)

    async def _until_quiet(self) -> None:
        """Return when no request has run for the lingering time."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(None if self._held else self._linger_s):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        if child.returncode is not None:
            self._give_up(f"the command exited by itself with code {child.returncode}")
        if child.stdin is not None:
            child.stdin.close()
        try:
            await asyncio.wait_for(child.wait(), EXIT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    def _give_up(self, why: str) -> None:
        if not self._over:
            log.info("the machine is not kept awake: %s", why)
        self._over = True
