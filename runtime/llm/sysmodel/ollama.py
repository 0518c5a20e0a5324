"""A system model behind an Ollama daemon, which can be asked to download it."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import NamedTuple

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.sysmodel.base import Availability, Limits, ProbeError, Status, SystemChat
from runtime.llm.sysmodel.cells import MAIN, Cell, every_cell
from runtime.llm.sysmodel.daemon import Daemon, as_json, count, field
from runtime.llm.sysmodel.failures import DaemonTrouble
from runtime.llm.sysmodel.lines import Cutter, Lines
from runtime.llm.sysmodel.pull import Pull
from runtime.llm.sysmodel.replies import Characters, Reply, as_messages, one_token, output_cap
from runtime.llm.sysmodel.talk import Cost, Reader, Request, Sleep, talk
from runtime.llm.values import Generation

_NS_PER_MS = 1_000_000


class OllamaSettings(NamedTuple):
    """How the daemon is used."""

    model: str | None = None
    """A tag; without a version it means ``:latest``. None: the only one there is."""
    variants: Mapping[Cell, str] = {}
    pull: bool = False
    """Whether a missing tag may be downloaded."""
    flat: bool = False
    max_concurrency: int = 1
    context_tokens: int | None = None


class Ollama:
    """Speaks ``/api/tags``, ``/api/ps``, ``/api/chat`` and ``/api/pull``."""

    name = "ollama"

    def __init__(
        self,
        daemon: Daemon,
        settings: OllamaSettings,
        *,
        pulling: Daemon | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._daemon = daemon
        self._settings = settings
        self._sleep = sleep
        self._pulling = pulling or daemon
        self._pull: Pull | None = None

    @property
    def limits(self) -> Limits:
        """What the daemon takes."""
        return Limits(
            max_concurrency=self._settings.max_concurrency,
            max_context=self._settings.context_tokens,
            speaks_messages=not self._settings.flat,
            reports_usage=True,
        )

    async def probe(self) -> Availability:
        """The state of the tag; our own download under way counts before the list does."""
        if self._pull is not None and self._pull.running:
            return self._pull.state
        tags = await self._tags()
        found = await self._state_of(tags, self._settings.model)
        if found.code == Status.DOWNLOADABLE and self._pull is not None:
            return Availability(Status.DOWNLOADABLE, self._pull.failure)
        return found

    async def probe_configs(self) -> dict[str, Availability | ProbeError]:
        """One look at the tags answers all four cells."""
        wanted = self._settings.variants
        try:
            tags = await self._tags()
            named: dict[Cell, Availability | ProbeError] = {
                cell: await self._state_of(tags, model) for cell, model in wanted.items()
            }
            return every_cell({MAIN: await self.probe(), **named})
        except ProbeError as failure:
            return every_cell(dict.fromkeys((MAIN, *wanted), failure))

    async def download(self) -> Availability:
        """Ask the daemon to pull the tag; joins a pull under way."""
        model = self._settings.model
        if self._pull is not None and self._pull.running:
            return self._pull.state
        if model is None or not self._settings.pull:
            raise SysmodelUnavailable("downloads through the daemon are not permitted by setting")
        try:
            now = await self.probe()
        except ProbeError as failure:
            raise SysmodelUnavailable(str(failure)) from failure
        if now.code != Status.DOWNLOADABLE:
            return now
        self._pull = Pull(self._pulling, model)
        return self._pull.state

    def generate(self, chat: SystemChat) -> Generation:
        """The reply, streamed."""

        async def request() -> Request:
            return Request("/api/chat", self._body(chat, await self._chosen()))

        def fresh() -> tuple[Cutter, Reader]:
            return Lines(), MessageReader()

        def run(reply: Reply) -> AsyncGenerator[str, None]:
            return talk(self._daemon, request, fresh, reply, sleep=self._sleep)

        return Reply(run)

    async def warm(self) -> None:
        """Ask for one token, which makes the daemon load the model."""
        await one_token(self)

    async def idle(self) -> None:
        """The daemon unloads by its own clock; other programs may be using the model."""

    async def close(self) -> None:
        """Stop our pull (the daemon keeps what it has) and close the connections."""
        if self._pull is not None:
            await self._pull.cancel()
        await self._daemon.close()
        await self._pulling.close()

    async def _tags(self) -> list[str]:
        try:
            return names_of(await self._daemon.get("/api/tags"))
        except DaemonTrouble as trouble:
            raise ProbeError(trouble.text) from trouble

    async def _state_of(self, tags: list[str], model: str | None) -> Availability:
        if model is None:
            return _only(tags)
        if full(model) in tags:
            return Availability(Status.AVAILABLE)
        try:
            running = names_of(await self._daemon.get("/api/ps"))
        except DaemonTrouble:
            running = []
        if full(model) in running:  # its tag was removed while it is loaded: it still answers
            return Availability(Status.AVAILABLE)
        if self._settings.pull:
            return Availability(Status.DOWNLOADABLE)
        return Availability(Status.UNAVAILABLE, "model_not_listed")

    async def _chosen(self) -> str:
        if self._settings.model is not None:
            return self._settings.model
        tags = names_of(await self._daemon.get("/api/tags"))
        if len(tags) != 1:
            raise DaemonTrouble("the daemon does not hold exactly one model; set sysmodel.model")
        return tags[0]

    def _body(self, chat: SystemChat, model: str) -> dict[str, object]:
        options: dict[str, object] = {
            "temperature": chat.sampling.temperature,
            "top_p": chat.sampling.top_p,
            "top_k": chat.sampling.top_k,
            "seed": chat.sampling.seed,
        }
        if (cap := output_cap(chat)) is not None:
            options["num_predict"] = cap
        if self._settings.context_tokens is not None:
            options["num_ctx"] = self._settings.context_tokens
        messages = as_messages(chat.turns, flat=self._settings.flat)
        return {"model": model, "messages": messages, "stream": True, "options": options}


def full(tag: str) -> str:
    """*tag* with its version written out."""
    return tag if ":" in tag.rpartition("/")[2] else f"{tag}:latest"


def names_of(answer: object) -> list[str]:
    """The tags on a list of models. Raises `DaemonTrouble`."""
    models = field(answer, "models")
    if not isinstance(models, list):
        raise DaemonTrouble("the system model's daemon did not answer with a list of models")
    names = (field(entry, "name") or field(entry, "model") for entry in models)
    return [full(name) for name in names if isinstance(name, str)]


def _only(tags: list[str]) -> Availability:
    if len(tags) == 1:
        return Availability(Status.AVAILABLE)
    return Availability(Status.UNAVAILABLE, "model_not_chosen" if tags else "no_model")


class MessageReader:
    """Understands the lines of a streamed chat."""

    def __init__(self) -> None:
        self._characters = Characters()
        self._done = False
        self._cost = Cost()

    @property
    def ended(self) -> bool:
        """The line that closes the reply came."""
        return self._done

    @property
    def complete(self) -> bool:
        """As `ended`: a reply without its closing line is cut."""
        return self._done

    @property
    def cost(self) -> Cost:
        """Known with the last line."""
        return self._cost

    def feed(self, event: str) -> str:
        """The text that the line adds. Raises `DaemonTrouble`."""
        line = as_json(event)
        if not isinstance(line, dict):
            raise DaemonTrouble("the system model's daemon sent something that is not a message")
        if line.get("error"):
            raise DaemonTrouble("the system model's daemon failed while answering", body=line)
        if line.get("done") is True:
            self._done = True
            self._cost = Cost(
                finish="length" if line.get("done_reason") == "length" else "stop",
                prompt_tokens=count(line.get("prompt_eval_count")),
                completion_tokens=count(line.get("eval_count")),
                prompt_ms=_ms(line.get("prompt_eval_duration")),
                predicted_ms=_ms(line.get("eval_duration")),
            )
        text = field(line, "message", "content")
        return self._characters.feed(text) if isinstance(text, str) else ""


def _ms(nanoseconds: object) -> float | None:
    known = count(nanoseconds)
    return None if known is None else known / _NS_PER_MS
