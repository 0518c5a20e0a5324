"""The live state of a served course: builds after each change, and tells who listens."""

from __future__ import annotations

import asyncio
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

from course import watch
from course.build import build
from course.check.findings import plural, reader
from course.check.formats import block
from course.options import Options, Report
from course.publish.tree import MANIFEST, Refusal

T = TypeVar("T")
POLL_S: Final = 0.3
SHOWN: Final = 50
_BUSY: Final = "CFG004"  # another build holds the lock


class State(NamedTuple):
    """What is served: the digest of the site (empty: none yet), and why a newer one is not."""

    site: str = ""
    failure: str = ""


class Outcome(NamedTuple):
    """What one build came to: the digest of its site or the failure, and what to tell the author.

    ``again`` asks for another try although no source changed.
    """

    site: str
    failure: str
    summary: str = ""
    again: bool = False


class Live:
    """Keeps the site equal to its sources; every method runs on the event loop."""

    def __init__(self, options: Options, say: Callable[[str], None]) -> None:
        self.options = options
        self.say = say
        self.state = State()
        self.closed = False
        self._changed = asyncio.Event()
        self._seen = ""
        self._retry = False

    async def build(self) -> None:
        """Build once, off the event loop, and make the result the state."""
        done = await off_loop(lambda: attempt(self.options))
        if done.summary or done.failure != self.state.failure:
            self.say(done.summary or done.failure)
        self._retry = done.again
        self._set(State(done.site or self.state.site, done.failure))

    async def start(self) -> None:
        """The first build; what changes from here on causes another one."""
        self._seen = await asyncio.to_thread(watch.signature, self.options.root)
        await self.build()

    async def follow(self) -> None:
        """Build again after every change of the sources, and when the site is gone.

        Goes on for ever; one build at a time.
        """
        while True:
            await asyncio.sleep(POLL_S)
            now = await asyncio.to_thread(watch.signature, self.options.root)
            if now != self._seen or self._retry or await asyncio.to_thread(self._lost):
                self._seen = await asyncio.to_thread(watch.settled, self.options.root)
                await self.build()

    def _lost(self) -> bool:
        """Whether somebody has removed the site; a build that fails is not tried for ever."""
        known = self.state.site and not self.state.failure
        return bool(known) and not (self.options.out / MANIFEST).exists()

    async def next(self, known: State | None, timeout_s: float) -> State | None:
        """The state as soon as it differs from *known*; None after *timeout_s* or at the end."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not self.closed:
                    if self.state != known:
                        return self.state
                    await self._changed.wait()
        return None

    def close(self) -> None:
        """Let every listener go."""
        self.closed = True
        self._changed.set()

    def _set(self, state: State) -> None:
        self.state = state
        self._changed.set()
        if not self.closed:
            self._changed = asyncio.Event()


def attempt(options: Options) -> Outcome:
    """Build once; a failure of any kind is an outcome too."""
    try:
        report = build(options)
    except Refusal as refusal:
        failure = f"{refusal.code}: {refusal}\nhint: {refusal.hint}"
        return Outcome("", failure, again=refusal.code == _BUSY)
    except Exception:  # noqa: BLE001  (a fault of the tool must not end the author's session)
        return Outcome("", f"the build broke off\n\n{traceback.format_exc()}")
    if report.errors:
        return Outcome("", explained(report, options))
    return Outcome(report.digest, "", report.summary())


def explained(report: Report, options: Options) -> str:
    """The problems that stopped a build, as text for people: the first ones in full."""
    errors = [one for one in report.diagnostics if one.severity == "error"]
    source = reader(options.root)
    told = [block(one, source) for one in errors[:SHOWN]]
    if len(errors) > SHOWN:
        told.append(f"{len(errors) - SHOWN:,} more not shown")
    return "\n\n".join([*told, plural(len(errors), "error")])


async def off_loop(work: Callable[[], T]) -> T:
    """Run *work* in a thread of its own that does not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if not done.done():
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(result)  # type: ignore[arg-type]  # set when there is no error

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as caught:  # noqa: BLE001  (handed to whoever awaits)
            error = caught
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="build", daemon=True).start()
    return await done
