"""An Ollama daemon as the system model: it chats as OpenAI's API does and can be asked to pull."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Final

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.models.daemon import (
    Daemon,
    DaemonTrouble,
    as_json,
    count,
    error_text,
    member,
    sanitise,
)
from runtime.llm.models.system.openai import OpenAiDaemon
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability, Status

log = logging.getLogger(__name__)

PULL_STALL_S: Final = 120.0
"""Seconds without progress after which a pull is given up."""


class Ollama(OpenAiDaemon):
    """Speaks ``/v1/chat/completions``, and ``/api/tags``, ``/api/ps`` and ``/api/pull``."""

    name = "ollama"
    chat_path = "/v1/chat/completions"

    def __init__(
        self, daemon: Daemon, settings: SysmodelSettings, pulling: Daemon | None = None
    ) -> None:
        super().__init__(daemon, settings)
        self._pulling = pulling or daemon
        self._pull: Pull | None = None
        self._may_pull = settings.pull and not settings.offline

    async def probe(self) -> Availability:
        """The state of the tag; our own pull under way counts before the list does."""
        if self._pull is not None and self._pull.running:
            return self._pull.state
        return await super().probe()

    async def download(self) -> Availability:
        """Ask the daemon to pull the tag; joins a pull under way."""
        model = self._settings.model
        if self._pull is not None and self._pull.running:
            return self._pull.state
        if model is None or not self._may_pull:
            raise SysmodelUnavailable("downloads through the daemon are not permitted by setting")
        now = await self.probe()
        if now.error is not None:
            raise SysmodelUnavailable(now.error)
        if now.code != Status.DOWNLOADABLE:
            return now
        self._pull = Pull(self._pulling, model)
        return self._pull.state

    async def close(self) -> None:
        """Stop our pull (the daemon keeps what it has) and close the connections."""
        if self._pull is not None:
            await self._pull.cancel()
        await self._pulling.close()
        await super().close()

    async def _models(self) -> dict[str, object]:
        """The tags; a loaded model whose tag was removed still answers, so it counts."""
        names = _names(await self._daemon.get("/api/tags"))
        wanted = (self._settings.model, *self._settings.variants.values())
        if any(model is not None and full(model) not in names for model in wanted):
            with suppress(DaemonTrouble):
                names += _names(await self._daemon.get("/api/ps"))
        return dict.fromkeys(names)

    def _state_of(self, models: Mapping[str, object], model: str | None) -> Availability:
        if self._pull is not None and self._pull.running and model == self._settings.model:
            return self._pull.state
        state = super()._state_of(models, model if model is None else full(model))
        if state.reason == "model_not_listed" and self._may_pull:
            return Availability(Status.DOWNLOADABLE, self._pull.failure if self._pull else None)
        return state


class Pull:
    """One pull, running from the moment it is made; ends when the daemon does or falls silent."""

    def __init__(self, daemon: Daemon, model: str, stall_s: float = PULL_STALL_S) -> None:
        self._daemon = daemon
        self._model = model
        self._stall_s = stall_s
        self._layers: dict[str, tuple[int, int]] = {}
        self._status: object = None
        self.failure: str | None = None
        """Why it failed, one machine word; None while it runs and after success."""
        self._task = asyncio.create_task(self._run(), name="sysmodel-pull")

    @property
    def running(self) -> bool:
        """Whether the daemon is at work."""
        return not self._task.done()

    @property
    def state(self) -> Availability:
        """Downloading, as far as the daemon has told, over all layers that it named so far."""
        done = sum(done for done, _ in self._layers.values())
        total = sum(total for _, total in self._layers.values())
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
            log.warning(
                "pull failed: the daemon %s (%s)", trouble.text, sanitise(error_text(trouble.body))
            )
        except TimeoutError:
            self.failure = "stalled"
            log.warning("pull failed: no progress")

    async def _follow(self) -> None:
        loop = asyncio.get_running_loop()
        body = {"model": self._model, "stream": True}
        async with asyncio.timeout(self._stall_s) as limit:
            async with aclosing(self._daemon.stream("/api/pull", body)) as lines:
                async for line in lines:
                    if self._take(line):
                        limit.reschedule(loop.time() + self._stall_s)
        if self._status != "success":
            raise DaemonTrouble("broke off the download")

    def _take(self, line: str) -> bool:
        """Take a line of the report; whether it means progress."""
        event = as_json(line)
        if not isinstance(event, Mapping):
            raise DaemonTrouble("told of a progress that makes no sense")
        if event.get("error"):
            raise DaemonTrouble("could not download the model", body=event)
        news, self._status = event.get("status") != self._status, event.get("status")
        digest, total = member(event, "digest"), count(member(event, "total"))
        if not isinstance(digest, str) or total is None:
            return news
        layer = (min(count(member(event, "completed")) or 0, total), total)
        moved = self._layers.get(digest) != layer
        self._layers[digest] = layer
        return moved


def full(tag: str) -> str:
    """*tag* with its version written out."""
    return tag if ":" in tag.rpartition("/")[2] else f"{tag}:latest"


def _names(answer: object) -> list[str]:
    models = member(answer, "models")
    if not isinstance(models, list):
        raise DaemonTrouble("did not answer with a list of models")
    names = (member(entry, "name") or member(entry, "model") for entry in models)
    return [full(name) for name in names if isinstance(name, str)]
