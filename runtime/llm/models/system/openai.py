"""A system model behind an OpenAI-compatible daemon, such as llama-server, on this machine."""

import re
import time
from asyncio import sleep
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from runtime.llm.errors import (
    SysmodelBackgroundBlocked,
    SysmodelRuntimeError,
    SysmodelUnavailable,
)
from runtime.llm.inference import ChatCall, Generation, Piece, Turn
from runtime.llm.models.completions import compose_body, read_reply
from runtime.llm.models.daemon import (
    Daemon,
    DaemonTrouble,
    detect_long_prompt,
    member,
    read_error_part,
    read_error_text,
    sanitise,
)
from runtime.llm.models.system.settings import SysmodelSettings
from runtime.llm.models.system.state import (
    MAIN,
    Availability,
    Cell,
    Provider,
    RelayedReply,
    Status,
    fill_cells,
    flatten,
    unknown_state,
)
from runtime.web.errors import ApiError

_WAITING: Final = frozenset(("downloading",))
_BROKEN: Final = frozenset(("failed", "error"))
BACKGROUND_CODE: Final = "30"
_SAYS_BACKGROUND: Final = re.compile(
    r"error ?code:? ?30\b|background usage is blocked|not in (?:the )?foreground", re.IGNORECASE
)
_SERVICE_NAMES: Final = ("sysmodel", "system model")


class OpenAiDaemon(Provider):
    """Uses ``/models`` and ``/chat/completions``. The daemon decides what it loads and when."""

    name = "openai_http"
    chat_path = "/chat/completions"

    def __init__(self, daemon: Daemon, settings: SysmodelSettings) -> None:
        self._daemon = daemon
        self._settings = settings
        self.max_concurrency = settings.max_concurrency

    async def probe(self) -> Availability:
        """Return the state of the configured model, or of the only one on the daemon's list."""
        try:
            return self._state_of(await self._list_models(), self._settings.model)
        except DaemonTrouble as trouble:
            return unknown_state(write_sentence(trouble))

    async def probe_configs(self) -> dict[str, Availability]:
        """Fill the four cells from a single list of models."""
        variants = self._settings.variants
        try:
            models = await self._list_models()
        except DaemonTrouble as trouble:
            return fill_cells(
                dict.fromkeys((MAIN, *variants), unknown_state(write_sentence(trouble)))
            )
        wanted: dict[Cell, str | None] = {MAIN: self._settings.model, **variants}
        return fill_cells({cell: self._state_of(models, model) for cell, model in wanted.items()})

    async def download(self) -> Availability:
        """Raise `SysmodelUnavailable`: this protocol has no downloads."""
        raise SysmodelUnavailable("the system model's daemon manages its own downloads")

    def generate(self, call: ChatCall) -> Generation:
        """Return the streamed reply."""
        return RelayedReply(lambda reply: self._answer(call, reply))

    async def close(self) -> None:
        """Close the connections."""
        await self._daemon.close()

    # --- the daemon's models

    async def _list_models(self) -> dict[str, object]:
        """Map the id of each model to its reported status or None. Raises `DaemonTrouble`."""
        data = member(await self._daemon.get("/models"), "data")
        if not isinstance(data, list):
            raise DaemonTrouble("did not answer with a list of models")
        names = ((member(entry, "id"), entry) for entry in data)
        return {name: _status_of(entry) for name, entry in names if isinstance(name, str)}

    def _state_of(self, models: Mapping[str, object], model: str | None) -> Availability:
        """The state of *model*, or of the only model if *model* is None."""
        if model is None:
            if len(models) != 1:
                reason = "model_not_chosen" if models else "no_model"
                return Availability(Status.UNAVAILABLE, reason)
            (model,) = models
        if model not in models:
            return Availability(Status.UNAVAILABLE, "model_not_listed")
        status = models[model]
        if isinstance(status, int):
            return Availability(status)
        if status in _WAITING:
            return Availability(Status.DOWNLOADING)
        if status in _BROKEN:
            return Availability(Status.UNAVAILABLE, "model_failed")
        return Availability(Status.AVAILABLE)

    # --- a reply

    async def _answer(self, call: ChatCall, reply: RelayedReply) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of a reply; retry a busy daemon after the time that it names."""
        began = time.monotonic()
        while True:
            try:
                body = await self._compose_body(call)
                answer = read_reply(self._daemon, self.chat_path, body, reply.settle)
                async with aclosing(answer) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except DaemonTrouble as trouble:
                waited = time.monotonic() - began
                if trouble.retry_after_s is None or waited > self._daemon.patience.busy_s:
                    raise as_error(trouble) from trouble
                pause = trouble.retry_after_s
            await sleep(pause)

    async def _compose_body(self, call: ChatCall) -> dict[str, object]:
        model = self._settings.model
        if model is None:
            models = await self._list_models()
            if len(models) != 1:
                raise DaemonTrouble("does not have exactly one model; set sysmodel.model")
            (model,) = models
        turns = [Turn("user", flatten(call.turns))] if self._settings.flatten else call.turns
        sampling = call.sampling
        defaults = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "seed": sampling.seed,
        }
        return compose_body(replace(call, model=model, turns=turns, prompt=None), defaults)


def _status_of(entry: object) -> object:
    """A word, a number or None; a router of models writes ``{"value": word}``."""
    status = member(entry, "status")
    if isinstance(status, dict):
        status = status.get("value")
    if isinstance(status, str):
        return status.lower()
    return status if isinstance(status, int) and not isinstance(status, bool) else None


def write_sentence(trouble: DaemonTrouble) -> str:
    """Complete *trouble*'s text to a sentence."""
    return f"the system model's daemon {trouble.text}"


def as_error(trouble: DaemonTrouble) -> ApiError:
    """Convert *trouble* to the error for a chat client."""
    if trouble.body is not None and is_background_block(trouble.body):
        return SysmodelBackgroundBlocked(
            "the program that hosts the system model is in the background and refused to answer"
        )
    too_long = detect_long_prompt(trouble.body)
    if too_long is not None:
        return too_long
    words = sanitise(read_error_text(trouble.body))
    text = write_sentence(trouble)
    return SysmodelRuntimeError(f"{text}: {words}" if words else text)


def is_background_block(body: object) -> bool:
    """Whether a daemon refused because its host program is in the background (code 30)."""
    part = read_error_part(body)
    if isinstance(part, dict):
        codes = [part.get(key) for key in ("code", "errorCode", "error_code")]
        if {str(code) for code in codes} & {BACKGROUND_CODE, "SYSMODEL_BACKGROUND_BLOCKED"}:
            return True
    text = read_error_text(body).lower()
    names_service = "foreground" in text and any(name in text for name in _SERVICE_NAMES)
    return names_service or _SAYS_BACKGROUND.search(text) is not None
