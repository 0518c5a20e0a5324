"""The parts that the handlers of the language-model server share."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web

from runtime.llm.awake import KeepAwake
from runtime.llm.chats import Admission, Chats, Ticket
from runtime.llm.documents.store import DocumentStore
from runtime.llm.engine.embedding import Embedder
from runtime.llm.engine.pool import Pool
from runtime.llm.hostinfo import HostInfo
from runtime.llm.inference import Outcome
from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.models.system.benchmark import Benchmark
from runtime.llm.models.system.state import CachedProbe, Provider
from runtime.llm.models.upstreams.fleet import Upstreams
from runtime.llm.settings import LlmSettings
from runtime.web.buckets import RateLimiter
from runtime.web.discovery import Announcer
from runtime.web.errors import NotFound
from runtime.web.metrics import Counts

NAMED_CLIENTS: Final = 32
OTHER: Final = "other"
BOUNDS_S: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


@dataclass
class ClientFigures:
    """Totals of a client's requests."""

    admitted: int = 0
    completed: int = 0
    seconds: float = 0.0


@dataclass
class Tokens:
    """Tokens of completed requests."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0


@dataclass
class Service:
    """The parts of a running server and its counters."""

    settings: LlmSettings
    version: str
    catalog: Catalog
    pool: Pool
    chats: Chats
    upstreams: Upstreams
    admission: Admission
    provider: Provider
    probing: CachedProbe
    benchmark: Benchmark
    limiter: RateLimiter
    awake: KeepAwake
    announcer: Announcer
    host: HostInfo
    embedder: Embedder
    store: DocumentStore | None = None
    """Open while the server runs."""
    started: float = field(default_factory=time.time)
    """Unix seconds; `began` is the same moment on the monotonic clock."""
    began: float = field(default_factory=time.monotonic)
    last_activity: float = field(default_factory=time.monotonic)
    tokens: Tokens = field(default_factory=Tokens)
    clients: OrderedDict[str, ClientFigures] = field(default_factory=OrderedDict)
    rejects: dict[str, int] = field(default_factory=lambda: {"queue": 0, "rate": 0})
    first_token: Counts = field(default_factory=lambda: Counts.empty(BOUNDS_S))
    queue_wait: Counts = field(default_factory=lambda: Counts.empty(BOUNDS_S))
    recent: dict[str, tuple[Entry, float]] = field(default_factory=dict)
    """Recently used embedding models by id, with the time until which they count as fresh."""

    @property
    def documents(self) -> DocumentStore:
        """The document store of a running server."""
        if self.store is None:
            raise RuntimeError("the document store is not open")
        return self.store

    def touch(self) -> None:
        """Note that the server is used; requests for its state do not count."""
        self.last_activity = time.monotonic()

    def count_rejection(self, reason: str) -> None:
        """Count a request that was not admitted."""
        self.rejects[reason] = self.rejects.get(reason, 0) + 1

    def client(self, name: str) -> ClientFigures:
        """The figures of a client; all clients after the first 32 share one entry."""
        figures = self.clients.get(name)
        if figures is None:
            if len(self.clients) >= NAMED_CLIENTS:
                name = OTHER
            figures = self.clients.setdefault(name, ClientFigures())
        return figures

    def count(self, ticket: Ticket, outcome: Outcome) -> None:
        """Count a completed request."""
        ticket.completion_tokens = outcome.completion_tokens or 0
        self.tokens.prompt += outcome.prompt_tokens or 0
        self.tokens.cached += outcome.cached_tokens
        self.tokens.completion += outcome.completion_tokens or 0
        figures = self.client(ticket.client)
        figures.completed += 1
        if ticket.started is not None and ticket.ended is not None:
            figures.seconds += ticket.ended - ticket.started
            self.queue_wait = self.queue_wait.observe(ticket.started - ticket.entered)
        if ticket.first_token_ms is not None:
            self.first_token = self.first_token.observe(ticket.first_token_ms / 1000)


SERVICE: Final = web.AppKey("service", Service)


def require_compat(request: web.Request) -> None:
    """Raise `NotFound` unless `compat` is on, for routes that only general clients need."""
    if not request.app[SERVICE].settings.compat:
        raise NotFound("this route is switched off; the setting compat enables it")


def body_cap(app: web.Application) -> int:
    """Maximum bytes of a request body."""
    return app[SERVICE].settings.body_cap
