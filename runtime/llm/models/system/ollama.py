"""An Ollama daemon as the system model: it speaks OpenAI's chat API and can pull models."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Final

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.models.daemon import (
    Daemon,
    DaemonTrouble,
    count,
    member,
    parse_json,
    read_error_text,
    sanitise,
)
from runtime.llm.models.system.openai import OpenAiDaemon
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import Availability, Status

log = logging.getLogger(__name__)

PULL_STALL_S: Final = 120.0
"""A pull without progress fails after this many seconds."""


class Ollama(OpenAiDaemon):
    """Uses ``/v1/chat/completions``, ``/api/tags``, ``/api/ps`` and ``/api/pull``."""

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
        """Return the state of the tag; a running pull of ours takes precedence over the list."""
        if self._pull is not None and self._pull.running:
            return self._pull.state
        return await super().probe()

    async def download(self) -> Availability:
        """Ask the daemon to pull the tag, or join a running pull."""
        model = self._settings.model
        if self._pull is not None and self._pull.running:
            return self._pull.state
        if model is None or not self._may_pull:
            raise SysmodelUnavailable("the settings do not allow downloads through the daemon")
        now = await self.probe()
        if now.error is not None:
            raise SysmodelUnavailable(now.error)
        if now.code != Status.DOWNLOADABLE:
            return now
        self._pull = Pull(self._pulling, model)
        return self._pull.state

    async def close(self) -> None:
        """Stop our pull (the daemon keeps the complete layers) and close the connections."""
        if self._pull is not None:
            await self._pull.cancel()
        await self._pulling.close()
        await super().close()

    async def _list_models(self) -> dict[str, object]:
        """List the tags, and loaded models whose tag was removed, since they still answer."""
        names = _read_names(await self._daemon.get("/api/tags"))
        wanted = (self._settings.model, *self._settings.variants.values())
        if any(model is not None and complete_tag(model) not in names for model in wanted):
            with suppress(DaemonTrouble):
                names += _read_names(await self._daemon.get("/api/ps"))
        return dict.fromkeys(names)

    def _state_of(self, models: Mapping[str, object], model: str | None) -> Availability:
        if self._pull is not None and self._pull.running and model == self._settings.model:
            return self._pull.state
        state = super()._state_of(models, model if model is None else complete_tag(model))
        if state.reason == "model_not_listed" and self._may_pull:
            return Availability(Status.DOWNLOADABLE, self._pull.failure if self._pull else None)
        return state


class Pull:
    """A pull, which starts at once and ends when the daemon finishes or falls silent."""

    def __init__(self, daemon: Daemon, model: str, stall_s: float = PULL_STALL_S) -> None:
        self._daemon = daemon
        self._model = model
        self._stall_s = stall_s
        self._layers: dict[str, tuple[int, int]] = {}
        self._status: object = None
        self.failure: str | None = None
        """Code word for why it failed; None while it runs and after success."""
        self._task = asyncio.create_task(self._run(), name="sysmodel-pull")

    @property
    def running(self) -> bool:
        """Whether the pull is in progress."""
        return not self._task.done()

    @property
    def state(self) -> Availability:
        """The progress over all layers that the daemon has named so far."""
        done = sum(done for done, _ in self._layers.values())
        total = sum(total for _, total in self._layers.values())
        return Availability(
            Status.DOWNLOADING,
            progress=done / total if total else None,
            bytes_done=done if total else None,
            bytes_total=total or None,
        )

    async def wait(self) -> None:
        """Return when the pull has succeeded or failed."""
        await asyncio.wait({self._task})

    async def cancel(self) -> None:
        """Stop the pull; the daemon keeps the complete layers."""
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
                "pull failed: the daemon %s (%s)",
                trouble.text,
                sanitise(read_error_text(trouble.body)),
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
        """Parse a line of the report and return whether it means progress."""
        event = parse_json(line)
        if not isinstance(event, Mapping):
            raise DaemonTrouble("reported its progress in an unknown form")
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


def complete_tag(tag: str) -> str:
    """Add the default version to a tag without one."""
    return tag if ":" in tag.rpartition("/")[2] else f"{tag}:latest"


def _read_names(answer: object) -> list[str]:
    models = member(answer, "models")
    if not isinstance(models, list):
        raise DaemonTrouble("did not answer with a list of models")
    names = (member(entry, "name") or member(entry, "model") for entry in models)
    return [complete_tag(name) for name in names if isinstance(name, str)]
