"""A download that an Ollama daemon makes for us, followed through its progress lines."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing

from runtime.llm.sysmodel.base import Availability, Status
from runtime.llm.sysmodel.daemon import Daemon, as_json, count, field
from runtime.llm.sysmodel.failures import DaemonTrouble, cleaned, said
from runtime.llm.sysmodel.lines import Lines

STALL_S = 120.0
"""Seconds without progress after which a pull is given up."""

log = logging.getLogger(__name__)


class Pulled:
    """How far a pull is, summed over its layers; pure."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._status: object = None
        self.succeeded = False

    @property
    def done(self) -> int:
        """Bytes of all layers that have arrived."""
        return sum(done for done, _ in self._layers.values())

    @property
    def total(self) -> int:
        """Bytes of the layers named so far."""
        return sum(total for _, total in self._layers.values())

    def feed(self, line: str) -> bool:
        """Take one line in; whether it means progress. Raises `DaemonTrouble` for a failure."""
        event = as_json(line)
        if not isinstance(event, Mapping):
            raise DaemonTrouble("the daemon's progress makes no sense")
        if event.get("error"):
            raise DaemonTrouble("the daemon could not download the model", body=event)
        news, self._status = event.get("status") != self._status, event.get("status")
        self.succeeded = self._status == "success"
        digest, total = field(event, "digest"), count(field(event, "total"))
        if not isinstance(digest, str) or total is None:
            return news
        layer = (min(count(field(event, "completed")) or 0, total), total)
        moved = self._layers.get(digest) != layer
        self._layers[digest] = layer
        return moved


class Pull:
    """One pull, running from the moment it is made; ends when the daemon does or falls silent."""

    def __init__(self, daemon: Daemon, model: str, stall_s: float = STALL_S) -> None:
        self._daemon = daemon
        self._model = model
        self._stall_s = stall_s
        self._progress = Pulled()
        self.failure: str | None = None
        """Why it failed, one machine word; None while it runs and after success."""
        self._task = asyncio.create_task(self._run(), name="sysmodel-pull")

    @property
    def running(self) -> bool:
        """Whether the daemon is at work."""
        return not self._task.done()

    @property
    def state(self) -> Availability:
        """Downloading, as far as the daemon has told."""
        done, total = self._progress.done, self._progress.total
        return Availability(
            Status.DOWNLOADING,
            progress=done / total if total else None,
            bytes_done=done if total else None,
            bytes_total=total or None,
        )

    async def wait(self) -> None:
        """Return when the pull has ended, however it did."""
        await asyncio.wait({self._task})

    async def cancel(self) -> None:
        """Stop following; the daemon stops too and keeps the layers that are complete."""
        if self.running:
            self.failure = "cancelled"
            self._task.cancel()
            await self.wait()

    async def _run(self) -> None:
        try:
            await self._follow()
        except DaemonTrouble as trouble:
            self.failure = "download_failed"
            log.warning("pull failed: %s (%s)", trouble.text, cleaned(said(trouble.body)))
        except TimeoutError:
            self.failure = "stalled"
            log.warning("pull failed: no progress")

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        body = {"model": self._model, "stream": True}
        async with asyncio.timeout(self._stall_s) as limit:
            async with aclosing(self._daemon.stream("/api/pull", body, Lines())) as lines:
                async for line in lines:
                    if self._progress.feed(line):
                        limit.reschedule(loop.time() + self._stall_s)
        if not self._progress.succeeded:
            raise DaemonTrouble("the daemon broke off the download")
