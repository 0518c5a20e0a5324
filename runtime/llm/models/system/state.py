"""The system model: states, their errors, providers and replies."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from time import monotonic
from typing import Final, Literal

from runtime.llm.errors import (
    RichError,
    SysmodelDownloadable,
    SysmodelDownloading,
    SysmodelUnavailable,
    SysmodelUnknown,
)
from runtime.llm.inference import ChatCall, Generation, Outcome, Piece, ReplyFormat, Sampling, Turn

FRESH_S: Final = 2.0
WAIT_S: Final = 0.5
LIMIT_S: Final = 10.0
CONFIGS_S: Final = 5.0
_WAIT_FOR_DOWNLOAD_S: Final = 30
SLOW: Final = "the system model's provider did not answer in time"
_WHY: Final = {
    "not_configured": "no system model is configured on this machine",
    "disabled": "the settings disable the system model",
    "offline": "the system model's file is missing, and the settings forbid downloads",
    "file_missing": "the system model's file is missing",
    "disk_full": "there is not enough free space for the system model",
    "size_mismatch": "the system model's file does not have the declared size",
    "checksum_mismatch": "the system model's file does not have the declared checksum",
    "model_not_listed": "the daemon of the system model does not have the configured model",
    "model_not_chosen": "the daemon of the system model has several models; set sysmodel.model",
    "no_model": "the daemon of the system model has no model",
    "model_failed": "the daemon of the system model could not load the model",
    "model_card_unreadable": "the description of the bundled system model cannot be read",
}


class Status(IntEnum):
    """Availability of the system model."""

    UNAVAILABLE = 0
    DOWNLOADING = 1
    DOWNLOADABLE = 2
    AVAILABLE = 3


@dataclass(frozen=True)
class Availability:
    """The result of a probe."""

    code: int
    """A `Status`, or another number reported by the provider."""
    reason: str | None = None
    """A code word, such as ``not_configured`` or ``checksum_mismatch``."""
    progress: float | None = None
    """0 to 1 while downloading."""
    bytes_done: int | None = None
    bytes_total: int | None = None
    retry_after_s: int | None = None
    """Seconds to completion if the provider can tell."""
    error: str | None = None
    """Why the state is unknown; contains no paths."""

    @property
    def label(self) -> str:
        """The word for the state; ``unknown(n)`` for a code other than the four."""
        if self.error is not None:
            return "unavailable"
        try:
            return Status(self.code).name.lower()
        except ValueError:
            return f"unknown({self.code})"


def unknown_state(error: str) -> Availability:
    """The state when it cannot be determined."""
    return Availability(-1, error=error)


Cell = Literal["stable/fast", "stable/full", "preview/fast", "preview/full"]
"""A cell of the detailed status: release stage and preference."""
CELLS: Final[tuple[Cell, ...]] = ("stable/fast", "stable/full", "preview/fast", "preview/full")
MAIN: Final[Cell] = "stable/fast"
"""The cell of a provider that has one model."""


def fill_cells(states: Mapping[Cell, Availability]) -> dict[str, Availability]:
    """Add the missing ones of the four cells as not configured."""
    rest = Availability(Status.UNAVAILABLE, "not_configured")
    return {cell: states.get(cell, rest) for cell in CELLS}


class Provider:
    """Base of the providers of a system model; by itself it is always unavailable."""

    name = "none"
    """The kind of provider as shown by ``/health``."""
    max_concurrency = 1
    """Maximum number of concurrent requests."""
    path: Path | None = None
    """The model file, if this server runs one itself."""
    calls_tools = False
    """Whether it can call tools."""
    holds_formats = False
    """Whether it can enforce a response format or a grammar."""

    def __init__(self, reason: str = "not_configured") -> None:
        self._reason = reason

    async def probe(self) -> Availability:
        """Return the current state; must be cheap, and the caller limits its time."""
        return Availability(Status.UNAVAILABLE, self._reason)

    async def probe_configs(self) -> dict[str, Availability]:
        """Return the four cells ``stable|preview / fast|full``; here only one has a model."""
        return fill_cells({MAIN: await self.probe()})

    async def download(self) -> Availability:
        """Start or join a download and return its state at once.

        Raises `runtime.llm.errors.SysmodelUnavailable` if there is nothing to download.
        """
        raise SysmodelUnavailable("no system model is configured, so there is nothing to download")

    def generate(self, call: ChatCall) -> Generation:
        """Return the reply, which starts when its first piece is requested."""
        raise SysmodelUnavailable("no system model is configured on this machine")

    async def close(self) -> None:
        """Stop all running work."""


class CachedProbe:
    """Caches a probe for two seconds; then callers wait up to half a second for a new one.

    A slower probe continues in the background; meanwhile the last result is used.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._task: asyncio.Task[None] | None = None
        self.last: Availability | None = None
        """Result of the last probe; None before the first."""
        self._stale_at = 0.0

    async def state(self) -> Availability:
        """Return the current state."""
        if self.last is not None and monotonic() < self._stale_at:
            return self.last
        if self._task is None:
            self._task = asyncio.create_task(self._probe(), name="sysmodel-probe")
        await asyncio.wait({self._task}, timeout=WAIT_S)
        return self.last or unknown_state(SLOW)

    async def configs(self) -> dict[str, Availability]:
        """Probe the four cells. Raises `TimeoutError`."""
        async with asyncio.timeout(CONFIGS_S):
            return await self._provider.probe_configs()

    def forget(self) -> None:
        """Discard the cached result, for example after a download has started."""
        self._stale_at = 0.0

    async def preflight(self, *, auto_download: bool = False) -> None:
        """Return if the system model can answer now, else raise the `RichError` of its state.

        With *auto_download*, start the download of a model unless an earlier attempt failed.
        """
        state = await self.state()
        if auto_download and state == Availability(Status.DOWNLOADABLE):
            with suppress(SysmodelUnavailable):  # the earlier state is the error to report
                state = await self._provider.download()
            self.forget()
        if (refused := refusal(state)) is not None:
            raise refused

    async def close(self) -> None:
        """Stop a running probe."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _probe(self) -> None:
        try:
            async with asyncio.timeout(LIMIT_S):
                self.last = await self._provider.probe()
        except TimeoutError:
            self.last = unknown_state(SLOW)
        finally:
            self._stale_at = monotonic() + FRESH_S
            self._task = None


def refusal(state: Availability) -> RichError | None:
    """The error for a chat in this *state*; None if the system model is available."""
    if state.error is not None:
        return SysmodelUnavailable(f"the state of the system model cannot be read: {state.error}")
    match state.code:
        case Status.AVAILABLE:
            return None
        case Status.DOWNLOADABLE:
            after = f" (the last attempt failed: {state.reason})" if state.reason else ""
            return SysmodelDownloadable(
                f"the system model can be downloaded but is not on this machine yet{after}"
            )
        case Status.DOWNLOADING:
            share = f" ({state.progress:.0%})" if state.progress is not None else ""
            text = f"the system model is being downloaded{share}"
            if state.reason == "verifying":
                text = "the system model's file is being verified"
            wait_s = state.retry_after_s or _WAIT_FOR_DOWNLOAD_S
            return SysmodelDownloading(text, retry_after=wait_s)
        case Status.UNAVAILABLE:
            text = _WHY.get(state.reason or "", "this machine has no system model")
            return SysmodelUnavailable(text)
        case code:
            return SysmodelUnknown(code)


# --- replies


# A line that begins like a turn would be read as one. Covers every line end that a model may see.
_LIKE_A_TURN: Final = re.compile(
    r"(\A|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    r"(?=[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(?:system|assistant|user|tool)\s*:)",
    re.IGNORECASE,
)

WARM_UP: Final = ChatCall(
    turns=(Turn("user", "Hi"),),
    sampling=Sampling(temperature=0.0, top_k=1, top_p=1.0, seed=0),
    max_completion_tokens=1,
)
"""The smallest request that makes a model generate a token."""


class RelayedReply:
    """A `runtime.llm.inference.Generation` over an async generator that reports its own outcome.

    The iterating task must also close it; a task that waits for a piece is cancelled.
    """

    def __init__(self, run: Callable[["RelayedReply"], AsyncGenerator[Piece, None]]) -> None:
        self._outcome: Outcome | None = None
        self.format = ReplyFormat()
        self._pieces = run(self)

    @property
    def outcome(self) -> Outcome:
        """The cost of the reply. Raises `RuntimeError` before its end."""
        if self._outcome is None:
            raise RuntimeError("the reply has not ended")
        return self._outcome

    def settle(self, outcome: Outcome) -> None:
        """Set the outcome; the generator calls it last."""
        self._outcome = outcome

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self._pieces

    async def aclose(self) -> None:
        """Stop the generation if it still runs."""
        await self._pieces.aclose()


def flatten(turns: Sequence[Turn]) -> str:
    """Write turns as paragraphs ``role: text`` without blank turns, followed by ``assistant: ``.

    Inside a text, a line that begins like a turn is prefixed with ``> ``, so that nobody can speak
    for another role.
    """
    paragraphs = [
        turn.role + ": " + _LIKE_A_TURN.sub(r"\1> ", turn.content) + "\n\n"
        for turn in turns
        if turn.content.strip()
    ]
    return "".join(paragraphs) + "assistant: "


async def wait_for_token(reply: Generation) -> None:
    """Wait for the first piece of a reply, then stop it. Raises the reply's errors."""
    try:
        async for _ in reply:
            break
    finally:
        await reply.aclose()
