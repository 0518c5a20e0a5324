"""A system model behind an OpenAI-compatible daemon on this machine: llama-server and its kin."""

import asyncio
from collections.abc import Mapping

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.sysmodel.base import Availability, Limits, ProbeError, Status, SystemChat
from runtime.llm.sysmodel.cells import MAIN, Cell, every_cell
from runtime.llm.sysmodel.daemon import Daemon, as_json, count, field
from runtime.llm.sysmodel.failures import DaemonTrouble
from runtime.llm.sysmodel.lines import Cutter, Events
from runtime.llm.sysmodel.replies import Characters, Reply, as_messages, one_token, output_cap
from runtime.llm.sysmodel.talk import Cost, Reader, Request, Sleep, talk
from runtime.llm.values import Generation

_WAITING = frozenset(("downloading",))
_BROKEN = frozenset(("failed", "error"))


class OpenAiHttp:
    """Speaks ``/models`` and ``/chat/completions``. The daemon decides what it loads and when."""

    name = "openai_http"

    def __init__(
        self,
        daemon: Daemon,
        *,
        model: str | None = None,
        variants: Mapping[Cell, str] | None = None,
        flat: bool = False,
        max_concurrency: int = 1,
        context_tokens: int | None = None,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._daemon = daemon
        self._model = model
        self._variants = dict(variants or {})
        self._flat = flat
        self._sleep = sleep
        self._limits = Limits(
            max_concurrency=max_concurrency,
            max_context=context_tokens,
            speaks_messages=not flat,
            reports_usage=True,
            top_k=False,
        )

    @property
    def limits(self) -> Limits:
        """No top-k: the plain protocol has none."""
        return self._limits

    async def probe(self) -> Availability:
        """The state of the configured model, or of the only one on the daemon's list."""
        return state_of(await self._listed(), self._model)

    async def probe_configs(self) -> dict[str, Availability | ProbeError]:
        """One look at the list answers all four cells."""
        try:
            listed = await self._listed()
        except ProbeError as failure:
            return every_cell(dict.fromkeys((MAIN, *self._variants), failure))
        named = {cell: state_of(listed, model) for cell, model in self._variants.items()}
        return every_cell({MAIN: state_of(listed, self._model), **named})

    async def download(self) -> Availability:
        """Raises `SysmodelUnavailable`: this protocol cannot ask for a download."""
        raise SysmodelUnavailable("the system model's daemon decides itself what it downloads")

    def generate(self, chat: SystemChat) -> Generation:
        """The reply, streamed."""

        async def request() -> Request:
            return Request("/chat/completions", self._body(chat, await self._chosen()))

        def fresh() -> tuple[Cutter, Reader]:
            return Events(), ChunkReader()

        return Reply(lambda reply: talk(self._daemon, request, fresh, reply, sleep=self._sleep))

    async def warm(self) -> None:
        """Ask for one token."""
        await one_token(self)

    async def idle(self) -> None:
        """The daemon manages its own memory."""

    async def close(self) -> None:
        """Close the connections."""
        await self._daemon.close()

    async def _listed(self) -> dict[str, object]:
        try:
            return models_of(await self._daemon.get("/models"))
        except DaemonTrouble as trouble:
            raise ProbeError(trouble.text) from trouble

    async def _chosen(self) -> str:
        if self._model is not None:
            return self._model
        listed = models_of(await self._daemon.get("/models"))
        if len(listed) != 1:
            raise DaemonTrouble("the daemon does not serve exactly one model; set sysmodel.model")
        return next(iter(listed))

    def _body(self, chat: SystemChat, model: str) -> dict[str, object]:
        body: dict[str, object] = {
            "model": model,
            "messages": as_messages(chat.turns, flat=self._flat),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": chat.sampling.temperature,
            "top_p": chat.sampling.top_p,
            "seed": chat.sampling.seed,
        }
        if (cap := output_cap(chat)) is not None:
            body["max_tokens"] = cap
        return body


def models_of(answer: object) -> dict[str, object]:
    """Id → reported status (None: none) of each model on the list. Raises `DaemonTrouble`."""
    data = field(answer, "data")
    if not isinstance(data, list):
        raise DaemonTrouble("the system model's daemon did not answer with a list of models")
    listed: dict[str, object] = {}
    for entry in data:
        name = field(entry, "id")
        if isinstance(name, str):
            listed[name] = _status_of(entry)
    return listed


def state_of(listed: Mapping[str, object], model: str | None) -> Availability:
    """What the list says about *model*, or about the only model where None is chosen."""
    if model is None:
        if len(listed) != 1:
            reason = "model_not_chosen" if listed else "no_model"
            return Availability(Status.UNAVAILABLE, reason)
        (model,) = listed
    if model not in listed:
        return Availability(Status.UNAVAILABLE, "model_not_listed")
    status = listed[model]
    if isinstance(status, int):
        return Availability(status)
    if status in _WAITING:
        return Availability(Status.DOWNLOADING)
    if status in _BROKEN:
        return Availability(Status.UNAVAILABLE, "model_failed")
    return Availability(Status.AVAILABLE)


def _status_of(entry: object) -> object:
    """A word, a number, or None; a router writes ``{"value": word}``."""
    status = field(entry, "status")
    if isinstance(status, dict):
        status = status.get("value")
    if isinstance(status, str):
        return status.lower()
    return status if isinstance(status, int) and not isinstance(status, bool) else None


class ChunkReader:
    """Understands the chunks of a streamed chat completion."""

    def __init__(self) -> None:
        self._characters = Characters()
        self._finished = False
        self._closed = False
        self._cost = Cost()

    @property
    def ended(self) -> bool:
        """The sentinel came."""
        return self._closed

    @property
    def complete(self) -> bool:
        """The sentinel or at least the finish reason came."""
        return self._closed or self._finished

    @property
    def cost(self) -> Cost:
        """Usage as far as it was told."""
        return self._cost

    def feed(self, event: str) -> str:
        """The text that *event* adds. Raises `DaemonTrouble` for an error or no chunk."""
        if event.strip() == "[DONE]":
            self._closed = True
            return ""
        chunk = as_json(event)
        if not isinstance(chunk, dict):
            raise DaemonTrouble("the system model's daemon sent something that is not a chunk")
        if chunk.get("error"):
            raise DaemonTrouble("the system model's daemon failed while answering", body=chunk)
        self._count(chunk)
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        reason = field(choice, "finish_reason")
        if reason is not None:
            self._finished = True
            self._cost = self._cost._replace(finish="length" if reason == "length" else "stop")
        text = field(choice, "delta", "content")
        return self._characters.feed(text) if isinstance(text, str) else ""

    def _count(self, chunk: Mapping[str, object]) -> None:
        usage = chunk.get("usage")
        if usage is None:
            return
        self._cost = self._cost._replace(
            prompt_tokens=count(field(usage, "prompt_tokens")),
            completion_tokens=count(field(usage, "completion_tokens")),
            cached_tokens=count(field(usage, "prompt_tokens_details", "cached_tokens")) or 0,
        )
