"""The interface between the server and whatever plays the system model on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from runtime.llm.values import Generation, Sampling, Turn


class Status(IntEnum):
    """Availability of the system model."""

    UNAVAILABLE = 0
    DOWNLOADING = 1
    DOWNLOADABLE = 2
    AVAILABLE = 3


def label(code: int) -> str:
    """The word for a status code; ``unknown(n)`` for one outside the four."""
    try:
        return Status(code).name.lower()
    except ValueError:
        return f"unknown({code})"


class ProbeError(Exception):
    """The provider's state cannot be known now; the text says why, without paths."""


@dataclass(frozen=True)
class Availability:
    """What a probe found."""

    code: int
    """A `Status`, or another number that the provider reported."""
    reason: str | None = None
    """One machine word, such as ``not_configured`` or ``checksum_mismatch``."""
    progress: float | None = None
    """0 to 1 while downloading."""
    bytes_done: int | None = None
    bytes_total: int | None = None
    retry_after_s: int | None = None
    """Seconds to completion where the provider can tell."""


@dataclass(frozen=True)
class Limits:
    """What a provider can do."""

    max_concurrency: int = 1
    max_context: int | None = None
    speaks_messages: bool = True
    """False: it takes one flat prompt."""
    reports_usage: bool = False
    top_k: bool = True
    """Whether it takes a top-k; one that does not gets none, nothing is faked."""


@dataclass(frozen=True)
class SystemChat:
    """One request to the system model; always stateless."""

    turns: Sequence[Turn]
    sampling: Sampling
    max_output: int | None
    """Cap on generated tokens; None: the provider's own."""
    max_total: int | None = None
    """Cap on prompt and output together, for a provider that knows the size of its prompt."""


class Provider(Protocol):
    """A system model. Errors of `generate` are those of `runtime.llm.errors`."""

    @property
    def name(self) -> str:
        """The kind of provider, as ``/health`` shows it."""
        ...

    @property
    def limits(self) -> Limits:
        """What it can do."""
        ...

    async def probe(self) -> Availability:
        """The state now: cheap, bounded in time by the caller. Raises `ProbeError`."""
        ...

    async def probe_configs(self) -> dict[str, Availability | ProbeError]:
        """The four cells ``stable|preview / fast|full``."""
        ...

    async def download(self) -> Availability:
        """Start or join a download and return its state at once.

        Raises `runtime.llm.errors.SysmodelUnavailable` where there is nothing to download.
        """
        ...

    def generate(self, chat: SystemChat) -> Generation:
        """The reply; nothing starts before the first piece is asked for."""
        ...

    async def warm(self) -> None:
        """Ask for one real token."""
        ...

    async def idle(self) -> None:
        """Give back memory that an unused model holds; the state stays what it is."""
        ...

    async def close(self) -> None:
        """Stop everything under way."""
        ...
